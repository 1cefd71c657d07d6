"""Valid files of every format and schema, and what reads them."""

from __future__ import annotations

import gzip
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from click import ClickException
from click.testing import CliRunner

import kgreason
from kgreason.base import memory
from kgreason.base.errors import KgreasonError
from kgreason.cli import app
from kgreason.cli.config import find_config
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.first_files import start
from kgreason.data.sources import SourceSpec, parse_file
from kgreason.engine.limits import Limits
from kgreason.language.check.program_checker import load_text
from kgreason.links.reading import read as read_links
from kgreason.people.reading import read as read_people
from tests.conftest import CONTROL, OWNERSHIP
from tests.engine.test_fuzz import REAL, survive

FILES = Path(__file__).parent / "files"
_EDGES = load_text('@edge("t"). @output("near"). near(X, Y) :- t(X, Y, W), W > 0.')
_TABLE = load_text('@input("t"). @output("t").')
_NODES = load_text('@node("t"). @edge("e"). e("a", "b"). @output("two"). two(X, Y) :- e(X, Y), t(X).')


class _Enough(Exception):
    """An evaluation has lasted long enough."""


class _Patience:
    """Ends an evaluation between two of its steps."""

    def __init__(self) -> None:
        self.end = time.process_time() + 2

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        self.advance()

    def advance(self, units: int = 1) -> None:
        if time.process_time() > self.end:
            raise _Enough

    def note(self, message: str) -> None: ...


@dataclass(frozen=True)
class Case:
    """Files in one folder, one of which is mutated.

    Attributes
    ----------
    files
        Contents by name; the first is mutated.
    read
        Reads the files in a folder; raises only errors of users.
    named
        Whether an error must name one of the files.
    """

    name: str
    files: Mapping[str, bytes]
    read: Callable[[Path], None]
    named: bool = True

    @property
    def mutated(self) -> str:
        return next(iter(self.files))


def table(name: str, data: bytes, **options: str) -> Case:
    """A table, read as edges with weights, as facts, as vertices and by `init`; an error is one of all."""
    shown = "&".join(f"{option}={value}" for option, value in options.items())
    said = f"{name}?{shown}" if shown else name

    def read(folder: Path) -> None:
        source = {"t": [SourceSpec(folder / name, None, options)]}
        refused = []
        ways: list[Callable[[], object]] = [partial(way, source) for way in (_as_edges, _as_facts, _as_nodes)]
        for run in (*ways, partial(start, [f"{folder}/{said}"], folder / "made.vada")):
            try:
                run()
            except KgreasonError as error:
                refused.append(error)
        nameless = [error for error in refused if str(folder) not in str(error)]
        if nameless or len(refused) == 4:
            raise (nameless or refused)[0]

    return Case(said, {name: data}, read)


def _as_edges(source: Mapping[str, list[SourceSpec]]) -> None:
    load_graph(_EDGES, source)


def _as_facts(source: Mapping[str, list[SourceSpec]]) -> None:
    list(load_facts(_TABLE, source).rows("t"))


def _as_nodes(source: Mapping[str, list[SourceSpec]]) -> None:
    list(load_facts(_NODES, source).rows("t"))


def _program(folder: Path) -> None:
    """Check a program, and evaluate it for a while: rules may make as many facts as they like."""
    limits = Limits(rounds=50, restarts=5, memory=(memory.held() or 0) + 500_000_000)
    with suppress(_Enough):
        survive(folder / "rules.vada", limits, _Patience())


def _people(folder: Path) -> None:
    read_people(folder / "people.toml")


def _links(folder: Path) -> None:
    read_links(folder / "people.toml", "follows")


def _config(folder: Path) -> None:
    """Parse the options that a file gives to each command, without running it."""
    found = find_config(folder / "kgreason.toml")
    assert found is not None
    _parsed(app, found.defaults(app))


def _parsed(group: Any, defaults: Mapping[str, Any]) -> None:
    for name, command in getattr(group, "commands", {}).items():
        own = defaults.get(name, {})
        if hasattr(command, "commands"):
            _parsed(command, own)
        else:
            with suppress(ClickException), command.make_context(name, [], default_map=own):
                pass


def cases(*, releases: bool = True) -> list[Case]:
    """All cases; binary files, and releases if they are wanted, are written here."""
    return [
        *(*_texts(), *_binary(), *_schemas(), *_options(), *_programs()),
        *(_releases() if releases else ()),
    ]


def _texts() -> Iterator[Case]:
    def text(name: str, **options: str) -> Case:
        return table(name, (FILES / name).read_bytes(), **options)

    yield text("own.csv", columns="owner,company,share")
    yield text("own.csv")
    yield text("own.csv", useHeaders="false", missing="null", nullString="true")
    yield text("own.tsv", quote="none", missing="skip", percent="true")
    latin = (FILES / "own.csv").read_text(encoding="utf-8")
    yield table("latin.csv", latin.encode("latin-1"), encoding="latin-1")
    yield table("gb.csv", latin.encode("gb18030"), encoding="gb18030")
    yield text("own.tsv")
    yield text("nodes.csv", prefix="u:,m:")
    yield text("own.edges", scale="minmax", prefix="u:,m:")
    yield text("rows.json", where="since > 5 OR since IS NULL", missing="null")
    yield text("own.tsv", where="share > 0.1 AND owner <> 'Ann'", names="normalize")
    yield text("own.gml", names="label,normalize")
    yield text("own.bods.json", share="middle", label="name")
    yield text("relations.xml", type="any", where="source <> 'x'")
    for name in ("own.edges", "out.contacts", "own.mtx", "links.mtx", "skew.mtx", "own.gml", "own.graphml"):
        yield text(name)
    yield text("own.mtx", diagonal="keep", scale="minmax")
    yield text("own.gml", names="label")
    yield text("own.graphml", names="label", columns="source,target,open", missing="skip")
    yield text("own.net")
    yield text("own.net", names="id")
    yield text("nodes.csv")
    yield text("relationships.csv")
    yield text("rows.json", missing="null")
    yield text("rows.json", columns="owner,company,share")
    yield text("rows.jsonl")
    yield text("deep.json", path="data.rows")
    yield text("own.ttl")
    yield text("own.ttl", predicate="knows", base="urn:kgreason:")
    yield text("knows.nt")
    yield text("knows.nt", predicate="http://x/knows")
    yield text("knows.rdf")
    yield text("own.bods.json", share="middle")
    yield text("records.bods.jsonl", interest="any")
    yield text("relations.xml", type="any")
    yield text("entities.xml", table="vertices")
    packed = ("own.csv", "own.edges", "own.mtx", "own.gml", "own.graphml", "own.net", "rows.json", "own.ttl")
    for name in (*packed, "own.bods.json", "relations.xml"):
        options = {"own.bods.json": {"share": "middle"}, "rows.json": {"missing": "null"}}.get(name, {})
        yield table(f"{name}.gz", gzip.compress((FILES / name).read_bytes(), mtime=0), **options)


def _columns() -> dict[str, pa.Array]:
    nested = pa.struct([("a", pa.int64()), ("b", pa.string())])
    return {
        "owner": pa.array(["Ann", "Ben", "Adler", "Café"]),
        "company": pa.array(["Adler", "Adler", "Berg", "Ann"]),
        "share": pa.array([0.6, 0.4, 0.7, 1e-3]),
        "count": pa.array([1, 2, None, 2**62], pa.int64()),
        "big": pa.array([1, 2, 3, 2**64 - 1], pa.uint64()),
        "exact": pa.array([Decimal("1.50"), None, Decimal("0.01"), Decimal("99.99")], pa.decimal128(6, 2)),
        "day": pa.array([date(2024, 1, 15), None, date(1, 1, 1), date(9999, 12, 31)]),
        "time": pa.array([datetime(2024, 1, 15, 10, 30, tzinfo=UTC)] * 4, pa.timestamp("ns", "UTC")),
        "kind": pa.array(["a", "b", "a", "a"]).dictionary_encode(),
        "open": pa.array([True, False, None, True]),
        "tags": pa.array([["a", "b"], [], None, ["c"]]),
        "where": pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}, None], nested),
        "raw": pa.array([b"\x00\xff", b"", None, b"abc"]),
        "long": pa.array([1, 2, 3, 4], pa.duration("us")),
    }


def _parquet(columns: Mapping[str, pa.Array], compression: str, **more: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(dict(columns)), sink, compression=compression, **more)
    return bytes(sink.getvalue())


def _binary() -> Iterator[Case]:
    columns = _columns()
    edges = {name: columns[name] for name in ("owner", "company", "share")}
    yield table("own.parquet", _parquet(edges, "none"))
    yield table("own.parquet", _parquet(edges, "gzip", use_dictionary=False, data_page_version="2.0"))
    read = {name: column for name, column in columns.items() if name not in ("big", "where", "raw", "long")}
    for compression in ("snappy", "zstd", "brotli", "lz4"):
        yield table("all.parquet", _parquet(read, compression), missing="null")
    for name, column in columns.items():
        few = {"owner": columns["owner"], "company": columns["company"], name: column}
        yield table("one.parquet", _parquet(few, "none"), missing="null")
    yield table("own.db", _sqlite(), table="own")
    yield table("own.db", _sqlite(), table="everything")
    yield table("own.duckdb", _duckdb(), table="own")
    yield table("own.duckdb", _duckdb(), table="everything")


def _sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            """
            CREATE TABLE own (owner TEXT, company TEXT, share REAL);
            INSERT INTO own VALUES ('Ann', 'Adler', 0.6), ('Ben', 'Adler', 0.4), ('Adler', 'Berg', 1);
            CREATE TABLE everything (n INTEGER, open BOOLEAN, day DATE, tags JSON, mixed);
            INSERT INTO everything VALUES (1, 1, '2024-01-15', '["a", 1]', 'x'),
                (9223372036854775807, 0, '2024-01-16T10:30:00', '[]', 1.5);
            CREATE VIEW seen AS SELECT owner FROM own;
            """
        )
        return connection.serialize()


@cache
def _duckdb() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "own.duckdb"
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute("CREATE TABLE own (owner VARCHAR, company VARCHAR, share DOUBLE)")
            connection.execute("INSERT INTO own VALUES ('Ann', 'Adler', 0.6), ('Ben', 'Adler', 0.4)")
            connection.execute(
                "CREATE TABLE everything AS SELECT 1::HUGEINT h, 2::UBIGINT u, DATE '2024-01-15' d, "
                "TIMESTAMP '2024-01-15 10:30:00' t, TIMESTAMPTZ '2024-01-15 10:30:00+01' z, [1, 2] l, "
                "1.25::DECIMAL(9,2) c, uuid() i, TIME '10:30:00' o, "
                "INTERVAL 3 DAY v, true f, 'a'::ENUM ('a', 'b') e"
            )
        return path.read_bytes()


def _schemas() -> Iterator[Case]:
    names = ("people.toml", "people.csv", "facts.csv", "cities.txt")
    files = {name: (FILES / name).read_bytes() for name in names}
    for first in names:
        whole = {first: files[first], **files}
        yield Case(f"people: {first}", whole, _people)
        yield Case(f"links: {first}", whole, _links)
    columns = {"name": _columns()["owner"], "age": pa.array([1, 2, 3, 4]), "day": _columns()["day"]}
    people = b'[[tables]]\nfiles = ["people.parquet"]\nid = "name"\n[kinds]\nnumeric = ["age"]\n'
    typed = {"people.parquet": _parquet(columns, "none"), "people.toml": people}
    yield Case("people: people.parquet", typed, _people)
    yield Case("kgreason.toml", {"kgreason.toml": (FILES / "kgreason.toml").read_bytes()}, _config)


def _options() -> Iterator[Case]:
    """Options behind the name of a file."""
    condition = "share >= 0.25 AND owner <> 'Ann' OR NOT company IN ('Berg', 'Cord') AND \"owner\" LIKE 'A%'"
    where = f"where={condition} OR share IS NULL OR share BETWEEN 0.1 AND 1"
    integers = f"{where} OR since < 2019.5"
    said = b"columns=owner,company,share&percent=true&encoding=utf-8&delimiter=comma&skip=0&quotemode=all"
    more = b"&missing=skip&nullString=NA&scale=abs&prefix=a:,b:&selectedColumns=[0:2;4]&decimal=point"

    def read(name: str, folder: Path) -> None:
        text = (folder / "options.txt").read_bytes().decode(errors="surrogateescape")
        _as_facts({"t": [parse_file(f"{folder / name}?{text}")]})

    for name, text in (
        ("own.csv", said + more),
        ("own.tsv", where.encode()),
        ("rows.json", integers.encode()),
    ):
        yield Case(
            f"options of {name}",
            {"options.txt": text, name: (FILES / name).read_bytes()},
            partial(read, name),
        )


@cache
def _release() -> Mapping[str, bytes]:
    """An original, its release and the private folder."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "control.vada").write_text(CONTROL, encoding="utf-8")
        rows = "".join(f"{owner},{company},{share}\n" for owner, company, share in OWNERSHIP)
        (folder / "own.csv").write_text(f"owner,company,share\n{rows}", encoding="utf-8")
        folders = kgreason.Folders(folder / "release", folder / "private")
        kgreason.anonymize(folder / "control.vada", method="klone", x=2, trials=1, seed=1, folders=folders)
        found = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _verify(folder: Path) -> None:
    """Check a release by the command line, where a defect is an exception; the release as it was made holds."""
    data = f"own={folder / 'own.csv'}"
    words = ["verify", "--rules", str(folder / "control.vada"), "--data", data, str(folder / "release")]
    words += ["--mapping", str(folder / "private"), "-x", "2"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    if all((folder / name).read_bytes() == content for name, content in _release().items()):
        assert done.exit_code == 0, done.stderr


def _releases() -> Iterator[Case]:
    files = _release()
    for name in files:
        if name != "control.vada" and not name.endswith((".html", ".txt")):
            yield Case(f"release: {name}", {name: files[name], **files}, _verify, named=False)


def _programs() -> Iterator[Case]:
    for number, text in enumerate(REAL):
        yield Case(f"program {number}", {"rules.vada": text.encode()}, _program, named=False)


def weights(found: Sequence[Case]) -> list[float]:
    """How often each case is drawn: of programs there are hundreds, and to check a release takes long."""
    programs = sum(case.mutated == "rules.vada" for case in found)
    rare = {"rules.vada": 0.25 * (len(found) - programs) / max(programs, 1)}
    return [0.3 if case.name.startswith("release: ") else rare.get(case.mutated, 1.0) for case in found]
