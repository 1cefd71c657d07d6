"""Names of columns in several languages, by what such columns hold."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OWNERS = _words(
    "owner owners holder shareholder shareholders parent proprietario socio soci azionista titolare partecipante "
    "besitzer eigentümer eigentuemer gesellschafter inhaber aktionär aktionaer mutter anteilseigner propriétaire "
    "proprietaire actionnaire détenteur detenteur propietario accionista titular matriz aandeelhouder eigenaar "
    "acionista controller controllers investor investors stockholder"
)
SOURCES = OWNERS | _words(
    "source src from sender rater subject head origin origine origen start user userid follower citing quelle von "
    "absender mittente desde remitente expéditeur lender creditor payer debtor bron donor donors contributor giver "
    "grantor sponsor seller supplier exporter director"
)
OWNED = _words(
    "company companies owned subsidiary issuer investee firm società societa impresa azienda partecipata emittente "
    "firma gesellschaft unternehmen tochter emittent société societe filiale entreprise empresa sociedad filial "
    "participada emisor bedrijf dochter controlled symbol ticker security child"
)
TARGETS = OWNED | _words(
    "target tgt dst dest destination to receiver recipient rated object tail cible end item movie product followee "
    "cited ziel nach empfänger destinatario destino hacia borrower payee doel naar party grantee candidate buyer "
    "importer friend employer"
)
WEAK = _words(
    "company companies firm firma empresa società societé société bedrijf unternehmen child party user"
)
"""Words that stand for either end where the other column says more: the company of a subsidiary is its owner."""
PREPOSITIONS = (("da", "a"), ("de", "a"), ("de", "à"), ("van", "naar"), ("von", "an"), ("von", "nach"))
"""Words too short to say anything alone: the letter a names the first column of many a table."""
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
COUNTS = _words("count counts units volume quantity qty anzahl stück stueck nombre numero número aantal")
TIMES = _words(
    "time timestamp date datetime year day datum zeit jahr data ora anno année fecha año ano since until"
)
RANKS = _words(
    "rank ranking ranked rang rangordnung rango classement posizione position place platz pos puesto order index idx "
    "row line"
)
RELATIONS = _words(
    "relation relations relationship predicate property verb interaction rel edgetype beziehung relazione relación "
    "relacion prädikat predicato predicado prédicat type typ tipo kind"
)
IDS = _words("id ids key code uid lei isin nr number no nummer nome nom name nombre naam label entity")
LABELS = _words("name nome nom nombre naam label title titel titolo titre título")
"""Of these, words for what a thing is called; a column of ids beside them is of the same things."""

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


_KNOWN = SOURCES | TARGETS | WEIGHTS | COUNTS | TIMES | RANKS | RELATIONS | IDS | LABELS


def is_title(text: str) -> bool:
    """Whether all words of a cell are such as name columns.

    Examples
    --------
    >>> is_title("shareholder_name"), is_title("Acme Company")
    (True, False)
    """
    words = tokens(text)
    return bool(words) and words <= _KNOWN
