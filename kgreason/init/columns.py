"""Profiles of columns: the words of their names, in seven languages by role, and what their values look like."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import datetime
from typing import Any

from kgreason.data.cast import ABSENT, COMMA_NUMBER, foreign
from kgreason.data.values import Objects, Unfit

ROWS = 1_000_000
"""First rows of a table, which alone are looked at."""
_MOST = 0.9  # share of the values that decides what a column holds
_POINT = re.compile(r"\s*[+-]?(\d+(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?\s*")
_DATE = re.compile(r"[\"']?([\d#]{1,4}-[\d#]{1,2}-[\d#]{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4})[\"']?")
_WORDS = """
owner: owner owners holder shareholder shareholders parent proprietario socio soci azionista titolare matriz mutter
owner: partecipante besitzer eigentümer eigentuemer gesellschafter inhaber aktionär aktionaer controller controllers
owner: anteilseigner propriétaire proprietaire actionnaire détenteur detenteur propietario accionista titular investor
owner: aandeelhouder eigenaar acionista investors stockholder
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
share: % share shares stake percent percentage pct perc quota quote anteil anteile beteiligung prozent part parts
share: pourcentage percentuale partecipazione partecipazioni porcentaje participación participacion holding holdings
share: ownership aandeel procent participação
weight: weight value amount ratio rating score trust strength fraction probability confidence gewicht betrag wert peso
weight: importo valore poids valeur montant valor monto waarde similarity correlation
count: count counts units volume quantity qty anzahl stück stueck nombre numero número aantal
relation: relation relations relationship predicate property verb interaction rel edgetype beziehung relazione kind
relation: relación relacion prädikat predicato predicado prédicat type typ tipo
id: id ids key code uid lei isin nr number no nummer entity nome nom name nombre naam label title titel titolo titre
time: time timestamp date datetime year day datum zeit jahr data ora anno année fecha año ano since until
rank: rank ranking ranked rang rangordnung rango classement posizione position place platz pos puesto order index row
"""
ROLES: dict[str, frozenset[str]] = {}
"""Words by the role of the columns that are called so."""
for _role, _, _line in (line.partition(": ") for line in _WORDS.strip().splitlines()):
    ROLES[_role] = ROLES.get(_role, frozenset()) | set(_line.split())
SOURCES, TARGETS = ROLES["owner"] | ROLES["source"], ROLES["owned"] | ROLES["target"]


class Column:
    """Profile of a column: texts of its rows, rows of each text that is not blank, and the numbers in these texts.

    Parameters
    ----------
    number
        Its position, from 1.
    cells
        An Arrow array, chunked or not, or the substitute of readers for values that Arrow has no type for.
    named
        The name is in the file, not invented by its reader.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sorted(Column("ownerId_share%", 1, pa.array(["7%"])).words)
    ['%', 'id', 'owner', 'share']
    """

    def __init__(self, name: str, number: int, cells: Any, *, named: bool = True) -> None:
        self.name, self.number = name, number
        words = re.findall(r"[^\W\d_]+|%", re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)) if named else []
        self.words = frozenset(map(str.lower, words))
        kind = None if isinstance(cells, Objects | Unfit) else getattr(cells.type, "storage_type", cells.type)
        self.nested = kind is None or foreign(kind)
        self.texts = [] if self.nested else _texts(cells.slice(0, ROWS))
        self.counts = Counter(self.texts)
        self.missing = self.counts.pop("", 0)
        self.rows, self.distinct = len(self.texts), len(self.counts)
        self.constant, self.unique = self.distinct <= 1 < self.rows, self.distinct == self.rows > 1
        self.comma, self.numbers = _numbers(self.counts)
        self.numeric = bool(self.numbers)
        self.low, self.high = min(self.numbers.values(), default=0.0), max(self.numbers.values(), default=0.0)
        self.others = sorted(self.counts.keys() - self.numbers.keys()) if self.numeric else []
        self.marked = sum("%" in text for text in self.numbers) / max(1, len(self.numbers))
        whole = all(n % 1 == 0 and (self.comma or "." not in t) for t, n in self.numbers.items())
        self.whole = self.numeric and not self.marked and whole
        self.fraction = self.numeric and not self.whole
        self.strong = self.has("share", "weight")
        self.percent = self.marked > 0.5 or any(
            re.match("%|pct|perc|pro[cz]|pourc|porc", w) for w in self.words
        )
        dates = sum(rows for text, rows in self.counts.items() if _DATE.fullmatch(text))
        looks = {
            "lists, objects or bytes": self.nested,
            "one value": self.constant,
            "commas between thousands, which are not read": not self.comma
            and any("," in t for t in self.numbers),
            "a time": (self.has("time") and not self.strong)
            or 0 < dates >= _MOST * (self.rows - self.missing),
            "ranks": self.has("rank") and self.numeric and all(n % 1 == 0 for n in self.numbers.values()),
            "numbers the rows": self.unique
            and self.whole
            and self.high - self.low < 3 * self.rows
            and not self.strong,
            "large numbers": self.whole
            and not self.words
            and self.distinct > 0.3 * self.rows
            and self.high > 1e6,
        }
        self.other = next((what for what, holds in looks.items() if holds), "")

    def __str__(self) -> str:
        """Position and name, as comments show a column."""
        return f"{self.number} ({' '.join(self.name.split())})"

    @property
    def described(self) -> str:
        """The column, and what it looks like."""
        return f"{self} ({self.other or f'{self.distinct:,} different values'})"

    def has(self, *roles: str) -> bool:
        """Whether a word of the name stands for one of some roles."""
        return any(self.words & ROLES[role] for role in roles)

    def lean(self) -> int:
        """Above 0 if the name says source, below if target: by 2, or 1 if its words stand for either."""
        ends = (SOURCES, SOURCES - ROLES["either"], TARGETS, TARGETS - ROLES["either"])
        return sum(sign * bool(self.words & group) for sign, group in zip((1, 1, -1, -1), ends, strict=True))

    def shared(self, other: Column) -> float:
        """Share of the different values of the smaller of two columns that the other has."""
        return len(self.counts.keys() & other.counts.keys()) / max(1, min(self.distinct, other.distinct))


def _texts(cells: Any) -> list[str]:
    try:
        values = cells.to_pylist()
    except (ValueError, OverflowError):  # dates beyond those of Python
        values = cells.cast("string").to_pylist()
    found = ("" if v is None else v.isoformat() if isinstance(v, datetime) else str(v) for v in values)
    return [text if text.strip() else "" for text in found]


def _numbers(counts: Counter[str]) -> tuple[bool, dict[str, float]]:
    """Whether the numbers have decimal commas, and the number of each text."""
    bare = {text: text.strip().replace("%", "") for text in counts}
    points = {t: float(b.replace(",", "")) for t, b in bare.items() if _POINT.fullmatch(t)}
    commas = {
        t: b.replace(".", "").replace(",", ".") for t, b in bare.items() if re.match(COMMA_NUMBER, t.strip())
    }
    comma = len(commas) > len(points) - any(re.search(r",\d{1,2}(\D|$)|,\d{4}", text) for text in commas)
    known = {
        t: n
        for t, n in ({t: float(n) for t, n in commas.items()} if comma else points).items()
        if math.isfinite(n)
    }
    filled = sum(rows for t, rows in counts.items() if t in known or not ABSENT.fullmatch(t.strip()))
    return comma, known if sum(counts[t] for t in known) >= _MOST * filled else {}
