"""Words in names of columns, in seven languages, by the role of the column."""

from __future__ import annotations

import re

_WORDS = """
owner: owner owners holder shareholder shareholders parent proprietario socio soci azionista titolare partecipante
owner: besitzer eigentümer eigentuemer gesellschafter inhaber aktionär aktionaer mutter anteilseigner propriétaire
owner: proprietaire actionnaire détenteur detenteur propietario accionista titular matriz aandeelhouder eigenaar
owner: acionista controller controllers investor investors stockholder
source: source src from sender rater subject head origin origine origen start user userid follower citing quelle von
source: absender mittente desde remitente expéditeur lender creditor payer debtor bron donor donors contributor giver
source: grantor sponsor seller supplier exporter director
owned: company companies owned subsidiary issuer investee firm società societa impresa azienda partecipata emittente
owned: firma gesellschaft unternehmen tochter emittent société societe filiale entreprise empresa sociedad filial
owned: participada emisor bedrijf dochter controlled symbol ticker security child
target: target tgt dst dest destination to receiver recipient rated object tail cible end item movie product followee
target: cited ziel nach empfänger destinatario destino hacia borrower payee doel naar party grantee candidate buyer
target: importer friend employer
either: company companies firm firma empresa società societé société bedrijf unternehmen child party user
share: share shares stake percent percentage pct perc quota quote anteil anteile beteiligung prozent part parts
share: pourcentage percentuale partecipazione partecipazioni porcentaje participación participacion holding holdings
share: ownership aandeel procent participação
weight: weight value amount ratio rating score trust strength fraction probability confidence gewicht betrag wert peso
weight: importo valore poids valeur montant valor monto waarde similarity correlation
percent: percent percentage pct perc prozent pourcentage percentuale porcentaje procent
count: count counts units volume quantity qty anzahl stück stueck nombre numero número aantal
time: time timestamp date datetime year day datum zeit jahr data ora anno année fecha año ano since until
rank: rank ranking ranked rang rangordnung rango classement posizione position place platz pos puesto order index idx
rank: row line
relation: relation relations relationship predicate property verb interaction rel edgetype beziehung relazione
relation: relación relacion prädikat predicato predicado prédicat type typ tipo kind
label: name nome nom nombre naam label title titel titolo titre título
id: id ids key code uid lei isin nr number no nummer nome nom name nombre naam label entity
"""


def _of(*roles: str) -> frozenset[str]:
    lines = (line.partition(": ") for line in _WORDS.strip().splitlines())
    return frozenset(word for role, _, words in lines if role in roles for word in words.split())


OWNERS, OWNED = _of("owner"), _of("owned")
SOURCES, TARGETS = _of("owner", "source"), _of("owned", "target")
EITHER = _of("either")  # the name of the other column decides: the company of a subsidiary is its owner
PREPOSITIONS = (("da", "a"), ("de", "a"), ("de", "à"), ("van", "naar"), ("von", "an"), ("von", "nach"))
SHARES, WEIGHTS, PERCENTS = _of("share"), _of("share", "weight") | {"%"}, _of("percent") | {"%"}
COUNTS, TIMES, RANKS, RELATIONS = _of("count"), _of("time"), _of("rank"), _of("relation")
IDS, LABELS = _of("id"), _of("label")
_TITLES = (SOURCES | TARGETS | WEIGHTS | COUNTS | TIMES | RANKS | RELATIONS | IDS | LABELS) - {"%"}


def words(name: str) -> frozenset[str]:
    """Words of a column's name, in lower case.

    Examples
    --------
    >>> sorted(words("ownerId_share%"))
    ['%', 'id', 'owner', 'share']
    """
    parted = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)
    return frozenset(word.lower() for word in re.findall(r"[^\W\d_]+|%", parted))


def is_title(cell: str) -> bool:
    """Whether a cell consists of words that name columns.

    Examples
    --------
    >>> is_title("shareholder_name"), is_title("Acme Company")
    (True, False)
    """
    return bool(found := words(cell)) and found <= _TITLES
