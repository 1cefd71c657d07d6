"""Names of columns in several languages, by what such columns hold."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OWNERS = _words(
    "owner owners holder shareholder shareholders parent proprietario socio soci azionista titolare partecipante "
    "besitzer eigentümer eigentuemer gesellschafter inhaber aktionär aktionaer mutter anteilseigner propriétaire "
    "proprietaire actionnaire détenteur detenteur propietario accionista titular matriz aandeelhouder eigenaar "
    "acionista"
)
SOURCES = OWNERS | _words(
    "source src from sender rater subject head origin origine origen start user userid follower citing quelle von "
    "absender da mittente desde remitente expéditeur lender creditor payer debtor bron van de"
)
OWNED = _words(
    "company companies owned subsidiary issuer investee firm società societa impresa azienda partecipata emittente "
    "firma gesellschaft unternehmen tochter emittent société societe filiale entreprise empresa sociedad filial "
    "participada emisor bedrijf dochter"
)
TARGETS = OWNED | _words(
    "target tgt dst dest destination to receiver recipient rated object tail cible end item movie product followee "
    "cited ziel nach an empfänger a destinatario destino hacia à borrower payee doel naar"
)
SHARES = _words(
    "share shares stake percent percentage pct perc quota quote anteil anteile beteiligung prozent part parts "
    "pourcentage percentuale partecipazione partecipazioni porcentaje participación participacion holding holdings "
    "ownership aandeel procent participação"
)
WEIGHTS = SHARES | _words(
    "weight value amount ratio rating score trust strength fraction probability confidence gewicht betrag wert peso "
    "importo valore poids valeur montant valor monto waarde similarity correlation"
)
PERCENTS = _words("percent percentage pct perc prozent pourcentage percentuale porcentaje procent")
TIMES = _words(
    "time timestamp date datetime year day datum zeit jahr data ora anno année fecha año ano since until"
)
IDS = _words("id ids key code uid lei isin nr number no nummer nome nom name nombre naam label entity")

_TOKEN = re.compile(r"[^\W\d_]+|%")


def tokens(name: str) -> frozenset[str]:
    """Words of a column's name, in lower case.

    Examples
    --------
    >>> sorted(tokens("ownerId_share%"))
    ['%', 'id', 'owner', 'share']
    """
    parted = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)
    return frozenset(word.lower() for word in _TOKEN.findall(parted))
