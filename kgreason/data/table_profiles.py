"""Profiles of unknown tables: detection of the file format, and of columns by their names and values."""

from __future__ import annotations

import csv
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.data.format_list import check_content, read_table
from kgreason.data.formats.sql import dotted
from kgreason.data.predicate_rows import position
from kgreason.data.raw_table import Raw, no_file, open_bytes, read_block
from kgreason.data.source_options import normal
from kgreason.data.sources import DATABASES, SourceSpec, parse_file
from kgreason.data.text_conversion import ABSENT, COMMA_NUMBER, NUMBER, foreign
from kgreason.data.value_conversion import Objects, Unfit
from kgreason.language.check.file_access import connection

ROWS = 1_000_000
"""First rows of a table, which alone are looked at."""
_HEAD = 1 << 16  # bytes of a file from which the delimiter is detected
_MOST = 0.9  # share of the values that determines the type of a column
_POINT = re.compile(r"\s*[+-]?(\d+(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?\s*")
_DATE = re.compile(r"[\"']?([\d#]{1,4}-[\d#]{1,2}-[\d#]{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4})[\"']?")
_OF_SQLITE = "SELECT '', name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
_OF_OTHERS = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
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
for _role, _line in (line.split(": ") for line in _WORDS.strip().splitlines()):
    ROLES[_role] = ROLES.get(_role, frozenset()) | set(_line.split())
_TITLES = frozenset().union(*ROLES.values()) - {"%"}
_COMPARED = 1000  # cells whose shapes are compared with the first line
SOURCES, TARGETS = ROLES["owner"] | ROLES["source"], ROLES["owned"] | ROLES["target"]


class Column:
    """Profile of a column: the text of each row, rows of each nonblank text, and the numbers in these texts.

    Parameters
    ----------
    number
        1-based position.
    cells
        Arrow array, chunked or not, or the readers' substitute for values without an Arrow type.
    named
        Whether the name is in the file, not generated by the reader.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sorted(Column("ownerId_share%", 1, pa.array(["7%"])).words)
    ['%', 'id', 'owner', 'share']
    """

    def __init__(self, name: str, number: int, cells: Any, *, named: bool = True) -> None:
        self.name, self.number = name, number
        self.words = words(name) if named else frozenset()
        kind = None if isinstance(cells, Objects | Unfit) else getattr(cells.type, "storage_type", cells.type)
        self.nested = kind is None or foreign(kind)
        self.texts = [] if self.nested else _texts(cells.slice(0, ROWS))
        self.counts = Counter(self.texts)
        self.missing = self.counts.pop("", 0)
        self.rows, self.distinct = len(self.texts), len(self.counts)
        self.constant, self.unique = self.distinct <= 1 < self.rows, self.distinct == self.rows > 1
        self.comma, self.numbers = _numbers(self.counts)
        self.numeric, values = bool(self.numbers), self.numbers.values()
        self.low, self.high = min(values, default=0.0), max(values, default=0.0)
        self.others = sorted(self.counts.keys() - self.numbers.keys()) if self.numeric else []
        self.marked = sum("%" in text for text in self.numbers) / max(1, len(self.numbers))
        points = any("." in text for text in self.numbers) and not self.comma
        whole = self.numeric and all(n % 1 == 0 for n in values)
        self.whole = whole and not self.marked and not points
        self.fraction = self.numeric and not self.whole
        self.strong = self.has("share", "weight")
        percent = re.compile("%|pct|perc|pro[cz]|pourc|porc")
        self.percent = self.marked > 0.5 or any(map(percent.match, self.words))
        dates = sum(rows for text, rows in self.counts.items() if _DATE.fullmatch(text))
        dated = dates > 0 and dates >= _MOST * (self.rows - self.missing)
        run = self.unique and self.whole and self.high - self.low < 3 * self.rows
        large = self.whole and self.distinct > 0.3 * self.rows and self.high > 1e6
        grouped = not self.comma and any("," in text for text in self.numbers)
        looks = {
            "lists, objects or bytes": self.nested,
            "one value": self.constant,
            "commas between thousands, which are not read": grouped,
            "a time": dated or (self.has("time") and not self.strong),
            "ranks": self.has("rank") and whole,
            "numbers the rows": run and not self.strong,
            "large numbers": large and not self.words,
        }
        self.other = next((what for what, holds in looks.items() if holds), "")

    def __str__(self) -> str:
        return f"{self.number} ({' '.join(self.name.split())})"

    @property
    def described(self) -> str:
        """The column and the form of its values."""
        return f"{self} ({self.other or f'{self.distinct:,} different values'})"

    def has(self, *roles: str) -> bool:
        """Whether a word of the name indicates one of the roles."""
        return any(self.words & ROLES[role] for role in roles)

    def lean(self) -> int:
        """Positive if the name indicates a source, negative for a target: 2, or 1 if its words may indicate either."""
        own = self.words - ROLES["either"]
        ends = ((self.words, SOURCES, 1), (own, SOURCES, 1), (self.words, TARGETS, -1), (own, TARGETS, -1))
        return sum(sign * bool(words & group) for words, group, sign in ends)

    def shared(self, other: Column) -> float:
        """Share of the distinct values of the smaller column that occur in the other."""
        return len(self.counts.keys() & other.counts.keys()) / max(1, min(self.distinct, other.distinct))


def _texts(cells: Any) -> list[str]:
    cells = cells.cast("string") if pa.types.is_temporal(cells.type) else cells
    return [text if text.strip() else "" for text in ("" if v is None else str(v) for v in cells.to_pylist())]


def _numbers(counts: Counter[str]) -> tuple[bool, dict[str, float]]:
    """Whether the numbers have decimal commas, and the number of each text."""
    bare = {text: text.strip().replace("%", "") for text in counts}
    points = {t: float(b.replace(",", "")) for t, b in bare.items() if _POINT.fullmatch(t)}
    pointed = {
        t: bare[t].replace(".", "").replace(",", ".") for t in bare if re.match(COMMA_NUMBER, t.strip())
    }
    commas = {t: float(b) for t, b in pointed.items()}
    comma = len(commas) > len(points) - any(re.search(r",\d{1,2}(\D|$)|,\d{4}", text) for text in commas)
    known = {t: n for t, n in (commas if comma else points).items() if math.isfinite(n)}
    filled = sum(rows for t, rows in counts.items() if t in known or not ABSENT.fullmatch(t.strip()))
    return comma, known if sum(counts[t] for t in known) >= _MOST * filled else {}


@dataclass(eq=False)
class Table:
    """A table, its read options, and the inferred roles of its columns."""

    given: str  # name as given by the user
    source: SourceSpec
    raw: Raw
    notes: list[str]  # findings and reasons
    doubts: list[str] = field(default_factory=list)
    error: DataError | None = None  # why it holds neither edges nor vertices
    roles: dict[str, Column] = field(default_factory=dict)  # source, target, weight, kind; key of vertices
    kinds: list[str] = field(default_factory=list)  # edge kinds that become relations
    sure: bool = False  # edges according to column names or the user
    shares: bool = False  # weights are ownership shares
    bounded: bool = False  # shares sum to at most 1 for each target

    def __post_init__(self) -> None:
        self.options = dict(self.source.options)  # given and inferred options
        self.path, self.format, named = self.source.path, self.source.kind(), self.options.get("table", "")
        self.name = self.source.file + (f" ({named})" if named and not self.source.server else "")
        self.stem = named.rpartition(".")[2] or self.path.name.partition(".")[0]
        self.undirected = self.raw.undirected is not None and bool(self.raw.undirected.all())
        self.notes += [note.removeprefix(f"{self.raw.file}: ") for note in self.raw.notes]
        if len(self.raw) > ROWS:
            self.notes.append(f"it is large: these are guesses from its first {ROWS:,} rows")
        pairs = enumerate(zip(self.raw.names, self.raw.columns, strict=True), 1)
        self.columns = [Column(name, i, cells, named=self.raw.named) for i, (name, cells) in pairs]
        self.keys = [c for c in self.columns if c.unique and not c.fraction]  # candidate row keys

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
        """Sources and targets as the rules read them."""
        prefixes = self.options.get("prefix", ",").split(",")
        return [{f"{p}{v}" for v in c.counts} for p, c in zip(prefixes, self.taken[:2], strict=False)]

    def stated(self, option: str) -> list[Column]:
        """Columns that an option names, by name or number."""
        names = parse_file(self.given).options.get(option, "").split(",")
        return [self.columns[position(self.raw, name.strip())] for name in names if name.strip()]

    def called(self, *columns: Column) -> str:
        """Columns as option values: by name if that is plain and unambiguous, else by number."""
        often = Counter(self.raw.names if self.raw.named else ())
        plain = {n for n in often if re.fullmatch(r"[^\W\d]([\w .%()-]*[\w.%()-])?", n) and often[n] == 1}
        return ",".join(c.name if c.name in plain else str(c.number) for c in columns)

    def reading(self, *columns: Column, **options: str) -> str:
        """Command that reads some columns, or sets options."""
        options |= {"columns": self.called(*columns)} if columns else {}
        return f"kgreason init {shlex.quote(_with(self.given, options))}"

    def note(self, text: str, **options: str) -> None:
        """Note a finding, and set the options that it requires."""
        self.options |= options
        self.notes.append(text)

    def doubt(self, text: str, *columns: Column, **options: str) -> None:
        """Note an uncertain finding, and the command for the alternative."""
        self.doubts.append(f"not sure: {text}; the other reading: {self.reading(*columns, **options)}")


def _with(given: str, options: Mapping[str, str]) -> str:
    path, _, tail = given.partition("?")
    kept = [part for part in tail.split("&") if part and part.partition("=")[0] not in options]
    return f"{path}?{'&'.join([*kept, *map('='.join, options.items())])}"


def tables(given: str) -> list[Table]:
    """Open a table, or all tables of a database without the option ``table``.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    spec = parse_file(given)
    if not spec.server and not spec.path.is_file():
        raise no_file(spec.path)
    if spec.path.suffix == ".toml":
        hint = f"it is what kgreason people reads: kgreason people anonymize {spec.path}"
        raise DataError(given, "this is a schema, no table", hint=hint)
    kind, notes = spec.kind("text"), list[str]()
    if kind != "text":
        check_content(spec)
    options = {name: value for name, value in spec.options.items() if name not in ("format", "relation")}
    if kind in DATABASES:
        return _of_database(given, SourceSpec(spec.path, kind, normal(options)))
    if kind in ("csv", "tsv", "edges", "text"):
        kind, form = _form(spec.path, kind, spec.options, notes)
        options = form | options
    source = SourceSpec(spec.path, kind, options)
    try:
        raw = read_table(source)
    except DataError as error:
        if "is not UTF-8 text" not in error.message or "encoding" in options:
            raise
        options["encoding"] = "latin-1"
        notes.append("it is no UTF-8, so it was read as Latin-1")
        raw = read_table(source)
    if raw.doubt and raw.named and not _has_title(raw, given):
        notes.append("its first line looks as the others do, so it is data, not names of columns")
        source = SourceSpec(spec.path, kind, {**options, "useHeaders": "false"})
        raw = read_table(source)
    table = Table(given, source, raw, notes)
    if kind in ("csv", "tsv") and raw.columns:
        table.options.setdefault("useHeaders", str(raw.named).lower())
    return [table]


def _has_title(raw: Raw, given: str) -> bool:
    """Whether the first line holds names; `DataError` if it is ambiguous, as a wrong guess loses or exposes a row."""
    likenesses = []
    for name, cells in zip(raw.names, raw.columns, strict=True):
        texts = [str(v) for v in cells.slice(0, _COMPARED).to_pylist() if v and str(v).strip()]
        shapes = Counter(map(_shape, texts))
        alike = shapes[_shape(name)] >= max(1, 0.2 * len(texts))
        if alike and re.search(r"\d", name):
            return False
        likenesses.append((alike, not alike and bool(texts) and max(shapes.values()) >= 0.8 * len(texts)))
    titles = any(0 < len(found := words(name)) == len(found & _TITLES) for name in raw.names)
    if titles or not len(raw) or any(other or not alike for alike, other in likenesses):
        return True
    first = ", ".join(raw.names)[:60]
    why = f"the first line ({first}) may hold the names of the columns, or be data as the lines below it"
    ways = (f"kgreason init {shlex.quote(_with(given, {'useHeaders': said}))}" for said in ("true", "false"))
    raise DataError(raw.file, why, raw.title_line, hint="say which: of names {}, of data {}".format(*ways))


def _shape(text: str) -> str:
    """Character classes of a cell: ``Aa Aa`` for Ann Smith, ``a9`` for p12, ``a`` for name."""
    kinds = ("9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in text.strip())
    return "".join(kind for kind, _ in itertools.groupby(kinds))


def words(name: str) -> frozenset[str]:
    """Words of a column name, in lower case."""
    parts = re.findall(r"[^\W\d_]+|%", re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name))
    return frozenset(part.lower() for part in parts)


def _of_database(given: str, spec: SourceSpec) -> list[Table]:
    """Table that the options name, or all tables; only the first rows for a database server."""
    kind, schema, names = spec.kind(), spec.options.get("schema"), [spec.options.get("table", "")]
    login = connection(spec.options)
    if not names[0]:
        query = _OF_SQLITE if kind == "sqlite" else _OF_OTHERS
        listed = read_table(SourceSpec(spec.path, kind, login, query))
        pairs = zip(*(cells.to_pylist() for cells in listed.columns), strict=True)
        usual = ("", "main", "public", schema)
        names = [n if space in usual else f"{space}.{n}" for space, n in pairs if schema in (None, space)]
    if not names:
        hint = "name another database, or one that you may read: postgresql://user@host/database?table=own"
        raise DataError(spec.file, "the database has no tables", hint=hint)
    made = []
    for name in names:
        one = SourceSpec(spec.path, kind, {**spec.options, "table": name})
        first = f"SELECT * FROM {dotted(name, schema)} LIMIT {ROWS + 1}"
        raw = read_table(SourceSpec(spec.path, kind, login, first) if spec.server else one)
        made.append(Table(_with(given, {"table": name}), one, raw, []))
    return made


def _form(path: Path, kind: str, given: Mapping[str, str], notes: list[str]) -> tuple[str, dict[str, str]]:
    """Detect the format of a text file, and the options that it needs."""
    with open_bytes(path) as stream:
        start = read_block(path, stream, _HEAD)
    if b"\0" in start:
        hint = "save it as text in UTF-8; if it is in another format, say FILE?format=, as in own.csv?format=parquet"
        raise DataError(str(path), "this is no text, whatever its name says", hint=hint)
    text, options = start.decode("utf-8-sig", errors="replace"), dict[str, str]()
    lines = [line for line in text.splitlines() if line.strip() and line[0] not in "%#"][:200]
    found: list[tuple[float, int, str | None]] = [(0.8, 1, None)]
    for mark in ",;\t|" if lines else "":  # the delimiter that splits most lines into equally many fields
        width, often = Counter(len(row) for row in csv.reader(lines, delimiter=mark)).most_common(1)[0]
        found += [(round(often / len(lines), 2), width, mark)] if width > 1 else []
    delimiter = given.get("delimiter") or max(found)[2]
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
