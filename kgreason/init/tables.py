"""Tables of an unknown form: what delimiter, names and encoding they have, and profiles of their columns."""

from __future__ import annotations

import csv
import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kgreason.analysis.reach import connection, table_of
from kgreason.data.cast import ABSENT, COMMA_NUMBER, NUMBER, foreign
from kgreason.data.formats import check_content, read_table
from kgreason.data.options import normal
from kgreason.data.raw import Raw, no_file, open_bytes, read_block
from kgreason.data.source import DATABASES, SourceSpec, parse_file
from kgreason.data.sql import quoted
from kgreason.data.values import Objects, Unfit
from kgreason.errors import DataError
from kgreason.lang.names import suggest

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


_HEAD = 1 << 16  # bytes that tell the delimiter
_NAMES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
_OF_SQLITE = "SELECT '', name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"


@dataclass(eq=False)
class Table:
    """A table, how it is read, and what is guessed of it."""

    given: str  # the name as the user writes it
    source: SourceSpec
    options: dict[str, str]  # of the source, and those that were guessed
    raw: Raw
    notes: list[str]  # what was found out, and why
    doubts: list[str] = field(default_factory=list)
    error: DataError | None = None  # why it holds neither edges nor vertices
    roles: dict[str, Column] = field(default_factory=dict)  # source, target, weight, kind; key of vertices
    kinds: list[str] = field(default_factory=list)  # of edges that are relations of their own
    sure: bool = False  # names tell that these are edges, or the user does
    shares: bool = False  # weights are shares in something owned
    bounded: bool = False  # which sum to 1 at most for each target

    def __post_init__(self) -> None:
        """Profile the columns."""
        self.path, self.format = self.source.path, self.source.kind()
        within = f" ({self.options['table']})" if "table" in self.options and not self.source.server else ""
        self.name = self.source.file + within
        self.stem = self.options.get("table") or self.path.name.partition(".")[0]
        self.relation = parse_file(self.given).options.get("relation")  # the column of kinds of edges
        self.undirected = self.raw.undirected is not None and bool(self.raw.undirected.all())
        self.notes += [note.removeprefix(f"{self.raw.file}: ") for note in self.raw.notes]
        if len(self.raw) > ROWS:
            self.notes.append(f"it is large: these are guesses from its first {ROWS:,} rows")
        pairs = enumerate(zip(self.raw.names, self.raw.columns, strict=True), 1)
        self.columns = [Column(name, i, cells, named=self.raw.named) for i, (name, cells) in pairs]

    @property
    def taken(self) -> list[Column]:
        """Source, target and weight."""
        return [self.roles[role] for role in ("source", "target", "weight") if role in self.roles]

    @property
    def unread(self) -> list[Column]:
        """Columns without a role."""
        return [c for c in self.columns if c not in self.roles.values()]

    @property
    def ends(self) -> list[set[str]]:
        """Sources and targets, as rules see them."""
        prefixes = self.options.get("prefix", ",").split(",")
        return [{f"{p}{v}" for v in c.counts} for p, c in zip(prefixes, self.taken[:2], strict=False)]

    def column(self, name: str) -> Column:
        """Find a column by its name, or by its number from 1.

        Raises
        ------
        DataError
            If there is no such column.
        """
        known = {str(c.number): c for c in self.columns} | {c.name: c for c in self.columns}
        if name not in known:
            near, there = suggest(name, known), f"there are {', '.join(self.raw.names[:20])}"
            hint = f"did you mean {near}? {there}" if near else there
            raise DataError(self.name, f"there is no column {name!r}", hint=hint)
        return known[name]

    def called(self, *columns: Column) -> str:
        """Columns as options name them: by a name if that is plain and unmistakable, else by a number."""
        names = self.raw.names if self.raw.named else ()
        plain = {name for name in names if re.fullmatch(r"[^\W\d]([\w .%()-]*[\w.%()-])?", name)}
        return ",".join(
            c.name if c.name in plain and names.count(c.name) == 1 else str(c.number) for c in columns
        )

    def reading(self, *columns: Column, **options: str) -> str:
        """The command that reads some columns, or takes options."""
        options |= {"columns": self.called(*columns)} if columns else {}
        return f"kgreason init {shlex.quote(_with(self.given, options))}"

    def doubt(self, text: str, *columns: Column, **options: str) -> None:
        """Note what is not sure, and the command for the other reading."""
        self.doubts.append(f"not sure: {text}; the other reading: {self.reading(*columns, **options)}")


def _with(given: str, options: Mapping[str, str]) -> str:
    """The name of a table with other options."""
    path, _, tail = given.partition("?")
    kept = [part for part in tail.split("&") if part and part.partition("=")[0] not in options]
    return f"{path}?{'&'.join([*kept, *map('='.join, options.items())])}"


def tables(given: str) -> list[Table]:
    """Open a table; of a database without the option ``table``, all its tables.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    spec = parse_file(given)
    path, options, notes = spec.path, dict(spec.options), list[str]()
    if not spec.server and not path.is_file():
        raise no_file(path)
    if path.suffix == ".toml":
        hint = f"it goes with --schema: kgreason anonymize --method pckga --schema {path}"
        raise DataError(given, "this is a schema, no table", hint=hint)
    kind = spec.kind("text")
    if kind != "text":
        check_content(spec)
    options.pop("format", None)
    options.pop("relation", None)
    if kind in DATABASES:
        return _of_database(given, SourceSpec(path, kind, normal(options)))
    if kind in ("csv", "tsv", "edges", "text"):
        kind, form = _form(path, kind, spec.options, notes)
        options = form | options
    try:
        raw = read_table(SourceSpec(path, kind, options))
    except DataError as error:
        if "is not UTF-8 text" not in error.message or "encoding" in options:
            raise
        options["encoding"] = "latin-1"
        notes.append("it is no UTF-8, so it was read as Latin-1")
        raw = read_table(SourceSpec(path, kind, options))
    table = Table(given, SourceSpec(path, kind, options), options, raw, notes)
    if raw.doubt and "useHeaders" not in options:
        said, other = ("names", "false") if raw.named else ("data", "true")
        table.doubt(f"its first line was read as {said}", useHeaders=other)
    if kind in ("csv", "tsv") and raw.columns:
        options.setdefault("useHeaders", str(raw.named).lower())
    return [table]


def _of_database(given: str, spec: SourceSpec) -> list[Table]:
    """The table that the options name, or all; of a server their first rows."""
    kind, login, named = spec.kind(), connection(spec.options), spec.options.get("table", "")
    rows = [("", named)]
    if named and spec.server:
        rows = [table_of(spec.options, named).rpartition(".")[::2]]
    elif not named:
        listed = read_table(SourceSpec(spec.path, kind, login, _OF_SQLITE if kind == "sqlite" else _NAMES))
        rows = [*zip(*(cells.to_pylist() for cells in listed.columns), strict=True)]
    made = []
    for schema, name in rows:
        if spec.options.get("schema", schema) == schema:
            own = {"schema": schema} if spec.server and schema not in ("", "public") else {}
            one = SourceSpec(spec.path, kind, {**spec.options, "table": name, **own})
            place = ".".join(quoted(part) for part in (schema, name) if part)
            first = SourceSpec(spec.path, kind, login, f"SELECT * FROM {place} LIMIT {ROWS + 1}")
            raw = read_table(first if spec.server else one)
            made.append(Table(_with(given, {"table": name}), one, dict(one.options), raw, []))
    if not made:
        hint = "name another database, or one that you may read: postgresql://user@host/database?table=own"
        raise DataError(spec.file, "the database has no tables", hint=hint)
    return made


def _form(path: Path, kind: str, given: Mapping[str, str], notes: list[str]) -> tuple[str, dict[str, str]]:
    """Find out the format of a text file, and the options that it needs."""
    with open_bytes(path) as stream:
        start = read_block(path, stream, _HEAD)
    if b"\0" in start:
        hint = "save it as text in UTF-8; if it is in another format, say FILE?format=, as in own.csv?format=parquet"
        raise DataError(str(path), "this is no text, whatever its name says", hint=hint)
    text, options = start.decode("utf-8-sig", errors="replace"), dict[str, str]()
    lines = [line for line in text.splitlines() if line.strip() and line[0] not in "%#"][:200]
    found = []  # delimiters that split most lines into as many fields
    for mark in ",;\t|" if lines else "":
        width, often = Counter(len(row) for row in csv.reader(lines, delimiter=mark)).most_common(1)[0]
        found += (
            [(round(often / len(lines), 2), width, mark)] if width > 1 and often >= 0.8 * len(lines) else []
        )
    delimiter = given.get("delimiter") or max(found, default=(0, 0, None))[2]
    first = text.partition("\n")[0].strip()
    if "skip" not in given and first.isdecimal() and lines[1:] and len(lines[1].split(delimiter)) > 1:
        options["skip"] = "1"
        notes.append(f"its first line ({first}) is a count, so it is passed over")
    usual = {"csv": ",", "tsv": "\t"}
    listed = delimiter is None or text[:1] == "%" or (kind == "edges" and delimiter == ",")
    if kind not in usual and listed:
        numbers = [any(re.match(NUMBER, cell) for cell in line.split(delimiter)) for line in lines[:20]]
        return "edges", options | ({"useHeaders": "true"} if any(numbers) and not numbers[0] else {})
    kind = kind if kind in usual else "tsv" if delimiter == "\t" else "csv"
    if delimiter not in (None, usual[kind]):
        options["delimiter"] = "tab" if delimiter == "\t" else str(delimiter)
        notes.append(f"its fields are separated by {options['delimiter']!r}")
    return kind, options
