"""A mapping that hides in a release folder: beside the release, in its texts, and in its tables of any format."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import kgreason
from kgreason.data.targets import FORMATS
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.folder import Claim as Statement
from kgreason.isomorphism.folder import claim_of, form
from kgreason.isomorphism.reading import read_release
from kgreason.isomorphism.report import public_report
from kgreason.isomorphism.report_words import NOTHING_ADDED, Promise, synthetic_note, synthetic_words
from kgreason.language.check.program_checker import load_text
from kgreason.people.result import Claim
from kgreason.release.digests import changed_files, with_digests
from kgreason.release.folder_contents import Contents, _same_duckdb, files
from kgreason.release.publication import Folders
from kgreason.release.report.report_data import Report
from kgreason.release.table_layout import Layout
from tests.needs import quick
from tests.release.test_release_formats import OWNERSHIP, RULES, given, need, ownership, put, run

WRITTEN = [name for name in (*FORMATS, "ttl") if name != "postgresql"]
SECRET = b"Adler,k3m9xw4b2a\nBiber,h7c2q8d5ve\n"
Hide = Callable[[Path], object]


def behind(name: str, data: bytes = SECRET) -> Hide:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + data)


def beside(name: str, data: bytes = SECRET) -> Hide:
    return lambda folder: (folder / name).write_bytes(data)


def packed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mapping.csv", SECRET)
    return stream.getvalue()


def below(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "mapping.csv").write_bytes(SECRET)


def named_gzip(name: str) -> Hide:
    def hide(folder: Path) -> None:
        stream = io.BytesIO()
        with gzip.GzipFile(SECRET.decode("latin-1"), "wb", fileobj=stream) as packed:
            packed.write((folder / name).read_bytes())
        (folder / name).write_bytes(stream.getvalue())

    return hide


def in_place(name: str, old: bytes, new: bytes) -> Hide:
    def hide(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old in data
        (folder / name).write_bytes(data.replace(old, new, 1))

    return hide


def told(folder: Path) -> None:
    """A member more in the report, which is told in its account."""

    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    files = data.pop("files")
    del files["report.json"]
    (folder / "report.json").write_text(
        with_digests(data | {"more": SECRET.decode()}, files), encoding="utf-8"
    )


ANYWHERE: dict[str, Hide] = {
    "an archive": beside("backup.zip", packed()),
    "a hidden file": beside(".hidden"),
    "a note": beside("notes.txt"),
    "an empty file with a name that tells": beside("Adler-k3m9xw4b2a", b""),
    "a folder": below,
    "an empty folder": lambda folder: (folder / "more").mkdir(),
    "behind the text": behind("README.txt"),
    "in the text": in_place("README.txt", b"\n", b"\n" + SECRET),
    "behind the page": behind("report.html", b"<!-- " + SECRET + b" -->"),
    "behind the report": behind("report.json", b" " * 100),
    "in the report": told,
    "in the mark": beside("UNVERIFIED"),
}


def parquet_metadata(folder: Path, name: str) -> None:
    table = pq.read_table(folder / name)
    pq.write_table(table.replace_schema_metadata({"who": SECRET.decode()}), folder / name)


def parquet_column(folder: Path, name: str) -> None:
    table = pq.read_table(folder / name)
    field = table.schema.field(0).with_metadata({"who": SECRET.decode()})
    pq.write_table(table.cast(table.schema.set(0, field)), folder / name, store_schema=True)


def parquet_gap(folder: Path, name: str) -> None:
    """Bytes between the pages and the footer, which no reader looks at."""
    data = (folder / name).read_bytes()
    size = struct.unpack("<I", data[-8:-4])[0]
    footer = len(data) - 8 - size
    (folder / name).write_bytes(data[:footer] + SECRET + data[footer:])


def sqlite_(folder: Path, name: str, *statements: str) -> None:
    with closing(sqlite3.connect(folder / name)) as base:
        base.execute("PRAGMA secure_delete = OFF")
        for statement in statements:
            base.execute(statement)
        base.commit()


def duckdb_(folder: Path, name: str, *statements: str) -> None:
    import duckdb

    with closing(duckdb.connect(str(folder / name))) as base:
        for statement in statements:
            base.execute(statement)


FREE = ("CREATE TABLE t AS SELECT 'Adler,k3m9xw4b2a' AS who", "DROP TABLE t")


def ways(name: str, files: tuple[str, ...]) -> Iterator[tuple[str, Hide]]:
    """Ways to hide something in the tables of a format."""
    for file in files:
        yield f"behind {file}", behind(file)
        yield f"blanks behind {file}", behind(file, b"\n")
        yield f"{file} in gzip with a name", named_gzip(file)
    table = files[-1]
    if name == "parquet":
        yield "metadata of the file", lambda f: parquet_metadata(f, table)
        yield "metadata of a column", lambda f: parquet_column(f, table)
        yield "between the pages", lambda f: parquet_gap(f, table)
        yield "the maker", in_place(table, b"parquet-cpp-arrow", b"Adler=k3m9xw4b2ax")
    elif name == "sqlite":
        yield "free pages", lambda f: sqlite_(f, table, *FREE)
        yield "a version", lambda f: sqlite_(f, table, "PRAGMA user_version = 4711")
        yield "an index", lambda f: sqlite_(f, table, "CREATE INDEX adler_k3m9xw4b2a ON own (source)")
        yield "a view", lambda f: sqlite_(f, table, "CREATE VIEW v AS SELECT 'Adler,k3m9xw4b2a'")
        yield (
            "a trigger",
            lambda f: sqlite_(
                f, table, "CREATE TRIGGER t AFTER DELETE ON own BEGIN SELECT 'Adler,k3m9xw4b2a'; END"
            ),
        )
    elif name == "duckdb":
        yield "free pages", lambda f: duckdb_(f, table, *FREE)
        yield "a comment", lambda f: duckdb_(f, table, "COMMENT ON TABLE own IS 'Adler,k3m9xw4b2a'")
        yield "a view", lambda f: duckdb_(f, table, "CREATE VIEW v AS SELECT 'Adler,k3m9xw4b2a'")
        yield "a macro", lambda f: duckdb_(f, table, "CREATE MACRO m() AS 'Adler,k3m9xw4b2a'")
        yield "a schema", lambda f: duckdb_(f, table, "CREATE SCHEMA adler_k3m9xw4b2a")
    elif name == "graphml":
        yield "a comment", in_place(table, b"<graph ", b"<!-- Adler,k3m9xw4b2a --><graph ")
        yield "an attribute", in_place(table, b"<node ", b'<node who="Adler" ')
    elif name == "gml":
        yield "a comment", in_place(table, b"graph", b"# Adler,k3m9xw4b2a\ngraph")
        yield "a key", in_place(table, b"node [", b'node [ who "Adler"')
    elif name == "net":
        yield "a comment", in_place(table, b"*", b"% Adler,k3m9xw4b2a\n*")
    elif name == "mtx" or name == "konect":
        yield "a comment", in_place(table, b"\n", b"\n% Adler,k3m9xw4b2a\n")
    elif name == "edges":
        yield "a comment", lambda f: (f / table).write_bytes(b"# Adler\n" + (f / table).read_bytes())
    elif name == "bods":
        yield "a day", in_place(table, b'Date": "20', b'Date": "19')
        yield "a member", in_place(table, b"{", b'{"who": "Adler", ')
    elif name == "json":
        yield "a member", in_place(table, b"}", b',"who":"Adler"}')
        yield "a blank", in_place(table, b"{", b"{ ")
    elif name in ("rdf", "ttl"):
        yield (
            "a comment",
            lambda f: (f / table).write_bytes(b"# Adler,k3m9xw4b2a\n" + (f / table).read_bytes()),
        )
        if name == "ttl":
            yield (
                "a prefix",
                lambda f: (f / table).write_bytes(
                    b"@prefix adler: <urn:k3m9xw4b2a> .\n" + (f / table).read_bytes()
                ),
            )
    elif name in ("csv", "tsv"):
        yield "quotation marks", lambda f: quoted(f / table)
        yield "digits", lambda f: digits(f / table)


def quoted(file: Path) -> None:
    head, first, *rest = file.read_text().splitlines(keepends=True)
    sign = "\t" if file.suffix == ".tsv" else ","
    name, _, others = first.partition(sign)
    file.write_text("".join([head, f'"{name}"{sign}{others}', *rest]))


def digits(file: Path) -> None:
    head, first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([head, first.rstrip("\n") + "0\n", *rest]))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Releases of the small graph by format, each made once."""
    known: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in known:
            place = tmp_path_factory.mktemp(name)
            file = put(place / "in", name)
            words = [
                "--rules",
                place / "in/rules.vada",
                "--data",
                given(file),
                "-k",
                2,
                "-x",
                2,
                "--trials",
                1,
            ]
            found = run("anonymize", *words, "--release", place / "release", "--private", place / "private")
            assert found.exit_code == 0, found.output
            known[name] = place
        return known[name]

    return make


def judged(place: Path, *words: object) -> dict[str, Any]:
    found = run(
        "verify", *words, place / "release", "--rules", place / "in/rules.vada", "-k", 2, "-x", 2, "--json"
    )
    assert found.exit_code in (0, 1, 2), found.output
    assert found.exception is None or isinstance(found.exception, SystemExit)
    if found.exit_code == 2:
        return {"state": "refused", "files": "refused", "said": found.output}
    verdict = json.loads(found.stdout)
    (files,) = [item for item in verdict["items"] if item["name"] == "files"]
    return {"state": verdict["state"], "files": files["state"], "exit": found.exit_code, "said": files}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "csv" else [pytest.mark.slow]) for n in WRITTEN]
)
def test_nothing_hides_in_a_release_of_a_graph(
    tmp_path: Path, made: Callable[[str], Path], name: str
) -> None:
    need("rdf" if name == "ttl" else name)
    place = made(name)
    known = ["--data", given(place / "in" / Layout.of({"own": name}).edges["own"].file)]
    mapping = ["--mapping", place / "private"]
    for words in ([], [*known, *mapping], [*known, *mapping, "--certificate", place / "private"]):
        found = judged(place, *words)
        assert found["files"] == "holds", (name, found)
        assert found["state"] == "holds" or not words, (name, found)  # alone, images may be undecided
    files = Layout.of({"own": name}).files
    hidden = dict(ways(name, files))
    for what, hide in {**(ANYWHERE if name == "csv" else {}), **hidden}.items():
        copy = tmp_path / what.replace("/", " ")
        shutil.copytree(place, copy)
        hide(copy / "release")
        found = judged(copy)
        assert found["files"] in ("fails", "undecided", "refused"), (name, what, found)
        assert found["files"] != "undecided" or "maker" in what or "version" in str(found), (
            name,
            what,
            found,
        )
        assert found["state"] != "holds", (name, what)
    if name == "csv":  # with the original, the mapping and the certificate as well
        for what, hide in ANYWHERE.items():
            copy = tmp_path / f"{what} with all"
            shutil.copytree(place, copy)
            hide(copy / "release")
            found = judged(copy, *known, *mapping, "--certificate", copy / "private")
            assert found["files"] == "fails", (what, found)


@pytest.mark.parametrize("method", ["klone", "kguard", "k-iso"])
@pytest.mark.parametrize("seed", [None, 1])
def test_what_is_written_has_the_form(tmp_path: Path, method: str, seed: int | None) -> None:
    rules = load_text(RULES)
    folders = Folders(tmp_path / "release", tmp_path / "private")
    x = range(2, 4) if method == "kguard" else 2
    kgreason.anonymize(
        rules,
        ownership("csv"),
        method=method,
        k=2,
        x=x,
        trials=1,
        seed=seed,
        folders=folders,  # type: ignore[arg-type]
    )
    pair = read_release(rules, ownership("csv"), folders.release, folders.private / "mapping.csv")
    assert form(folders.release, pair.released, rules, (pair.original, pair.mapping)).holds
    (folders.release / "UNVERIFIED").touch()
    assert form(folders.release, pair.released, rules).state == "fails"


def test_a_release_that_does_not_hold_has_the_form(tmp_path: Path) -> None:
    """What the marked release says was checked is read back from its README.txt."""
    rules, folders = load_text(RULES), Folders(tmp_path / "release", tmp_path / "private")
    found = kgreason.anonymize(rules, ownership("csv"), mode="published", k=3, x=2, seed=1, folders=folders)
    assert not found.holds
    assert (folders.release / "UNVERIFIED").exists()
    pair = read_release(rules, ownership("csv"), folders.release, folders.private / "mapping.csv")
    assert form(folders.release, pair.released, rules, (pair.original, pair.mapping)).holds


@pytest.mark.parametrize("method", ["klone", "kguard", "k-iso"])
def test_stated_synthetic_shares_are_those_of_the_release(tmp_path: Path, method: Any) -> None:
    rules, graph = load_text(RULES), ownership("csv")
    folders = Folders(tmp_path / "release", tmp_path / "private")
    made = kgreason.anonymize(rules, graph, method=method, k=2, x=2, trials=1, folders=folders)
    pair = read_release(rules, graph, folders.release, folders.private / "mapping.csv")
    readme = folders.release / "README.txt"
    claim = claim_of(readme.read_text())
    assert claim is not None
    synthetic = pair.released.m - graph.m + made.release.guarantee.deleted
    share = f"about {100 * synthetic / pair.released.m:.0f} %" if synthetic else "none"
    assert claim.synthetic.startswith(f"{share} of the edges, ")
    assert claim.synthetic != NOTHING_ADDED
    assert "NOT PROTECTED: " in readme.read_text()
    readme.write_text(readme.read_text().replace(claim.synthetic, NOTHING_ADDED))
    found = form(folders.release, pair.released, rules, (pair.original, pair.mapping))
    assert found.state == "fails"
    assert f"README.txt: synthetic are {claim.synthetic}, and not {NOTHING_ADDED}" in found.witnesses


def test_a_release_without_additions_says_so() -> None:
    graph = KnowledgeGraph.from_edges([(f"a{i}", f"b{i // 3}") for i in range(9)], relation="e")
    assert synthetic_words(graph, graph.m, graph.n) == NOTHING_ADDED
    promise = Promise("(2,1)-isomorphism", 2, "x = 1", ("e",), synthetic=NOTHING_ADDED)
    report = public_report(graph, promise, confirmed=True, seeded=False)
    for other in (replace(promise, baseline=True), replace(promise, within_parts=True)):
        assert "released as it is" not in synthetic_note(other), "original edges are missing"
    (limits,) = (section.items[0] for section in report.sections if section.title == "Limits")
    assert "released as it is, under other labels" in dict(limits.rows)["Synthetic edges and vertices"]  # type: ignore[union-attr]


def test_names_of_columns_are_those_of_the_original(tmp_path: Path) -> None:
    rules, graph = load_text(RULES), ownership("csv")
    folders = Folders(tmp_path / "release", tmp_path / "private")
    kgreason.anonymize(rules, graph, method="klone", k=2, x=2, trials=1, folders=folders)
    table = folders.release / "own.csv"
    table.write_text(table.read_text().replace("weight", "weight of Adler", 1))
    for name in ("README.txt", "rules.vada", "report.html", "report.json"):
        (folders.release / name).unlink()
    released = kgreason.isomorphism.reading.read_released(
        rules, {"own": [kgreason.data.sources.SourceSpec(folders.release)]}
    )
    assert form(folders.release, released, rules).holds
    found = form(folders.release, released, rules, (graph, np.arange(graph.n)))
    assert found.state == "undecided"
    assert "weight of Adler" in found.witnesses[0]


def test_rules_that_tell_more_are_not_decided(tmp_path: Path, made: Callable[[str], Path]) -> None:
    shutil.copytree(made("csv"), tmp_path, dirs_exist_ok=True)
    rules = tmp_path / "release/rules.vada"
    rules.write_text(rules.read_text() + "% Adler is k3m9xw4b2a\n")
    found = judged(tmp_path)
    assert (found["files"], found["exit"]) == ("undecided", 1)


@pytest.mark.parametrize(("text", "state"), [(b"", "holds"), (SECRET, "fails")])
def test_a_mark_holds_no_text(tmp_path: Path, text: bytes, state: str) -> None:
    """Not even where the account tells of it, as whoever writes the folder can make it."""
    told = Report("Nothing", False, "fails", "nothing was confirmed", "", "", ())
    contents = Contents((), lambda _: None, lambda _: "Nothing was confirmed.", lambda **_: told)
    (tmp_path / "UNVERIFIED").write_bytes(text)
    contents.publish(tmp_path, holds=False, seeded=False)
    assert changed_files(tmp_path) == []
    found = files(tmp_path, contents)
    assert (found.name, found.state) == ("files", state)
    assert ("UNVERIFIED: it is not empty" in str(found.witnesses)) == bool(text)


@pytest.mark.parametrize("page", range(3))
def test_header_pages_of_duckdb_hold_no_text(tmp_path: Path, page: int) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "graph.duckdb"
    duckdb_(tmp_path, file.name, "CREATE TABLE own AS SELECT 'a' AS source, 'b' AS target")
    data = file.read_bytes()
    hidden = bytearray(data)
    text = SECRET.ljust(40, b" ")
    at = page * 4096 + 2048
    hidden[at : at + 80] = 2 * text  # words that come twice leave the checksum as it was
    file.write_bytes(hidden)
    with closing(duckdb.connect(str(file), read_only=True)) as base:
        assert base.execute("SELECT * FROM own").fetchall() == [("a", "b")]
    assert _same_duckdb(data, data, 1)
    assert not _same_duckdb(bytes(hidden), data, 1)


def test_a_folder_of_another_program(tmp_path: Path) -> None:
    """Its tables may be written otherwise, and then only they are judged, by their names."""
    place = tmp_path
    put(place / "in", "csv")
    folder = place / "release"
    folder.mkdir()
    edges = [(a, b, w) for a, b, w in OWNERSHIP]
    labels = sorted({end for row in edges for end in row[:2]})
    (folder / "own.csv").write_text("a,b,w\n" + "".join(f"{a},{b},{w}\n" for a, b, w in edges))
    (folder / "nodes.csv").write_text("company\n" + "".join(f"{label}\n" for label in labels))
    assert judged(place)["files"] == "holds"
    (folder / "own.csv").write_text("a,b,w\n" + "".join(f'"{a}",{b},{w}\n' for a, b, w in edges))
    found = judged(place)
    assert found["files"] == "undecided"
    assert "name its table" in found["said"]["detail"]
    table = run("verify", folder / "own.csv", "--rules", place / "in/rules.vada", "-k", 2, "-x", 2, "--json")
    assert "files" not in [item["name"] for item in json.loads(table.stdout)["items"]]
    (folder / "notes.txt").write_bytes(SECRET)
    assert judged(place)["files"] == "fails"


def test_claims_of_a_text() -> None:
    for guarantee in (
        Guarantee(3, 4),
        Guarantee(3, 4, (2, 3)),
        Guarantee(3, None, cut=1),
        Guarantee(2, None),
        Guarantee(2, None, model="k-iso"),
        Guarantee(3, 4, (2,), further=("degree",)),
        Guarantee(2, None, cut=1, further=("degree", "neighbours")),
    ):
        text = f"Guarantee: {guarantee}, for the edges own.\nConfirmed by an exact check for x = 2, 4."
        assert claim_of(text) == Statement(guarantee, "x = 2, 4", "")
        shares = "less than 1 % of the edges, about 67 % of the vertices"
        assert claim_of(f"{text}\nSynthetic: {shares}. More.") == Statement(guarantee, "x = 2, 4", shares)
        assert claim_of(f"{text}\nSynthetic: many of the edges, none of the vertices.") == claim_of(text)
    for told in (
        "(3,9)-isomorphism",
        "(3,x)-isomorphism for x = 4, 2",
        "(3,x)-isomorphism for x = 2, 2",
        "(3,4)-isomorphism with 2-anonymous degrees",
        "(3,4)-isomorphism with 3-anonymous neighbours",
        "none",
    ):
        assert claim_of(f"Guarantee: {told}, for the edges own.") is None
    assert Claim.found("Guarantee: l-diversity with k = 3.") is None


# --- people and links ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session", params=quick(1, ["csv", "tsv", "parquet"]))
def others(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    from tests.release.test_release_formats_people import kinds
    from tests.release.test_release_formats_people import put as put_people

    place = tmp_path_factory.mktemp(request.param)
    file = put_people(place, request.param)
    for name, words in (
        ("people", ["--method", "ckga", "-k", 2]),
        ("links", ["--sensitive", "likes", "-k", 2]),
    ):
        found = run(
            *(name, "anonymize", *kinds(file), *words, "--release", place / name / "release"),
            *("--private", place / name / "private"),
        )
        assert found.exit_code == 0, found.output
    return place, request.param


@pytest.mark.parametrize(
    ("kind", "model"), [("people", ["--model", "k-ad"]), ("links", ["--sensitive", "likes"])]
)
def test_nothing_hides_in_other_releases(
    tmp_path: Path, others: tuple[Path, str], kind: str, model: list[str]
) -> None:
    from tests.release.test_release_formats_people import kinds

    place, format = others
    file = place / f"facts.{format}"

    def judge(release: Path, *known: object) -> tuple[int, str]:
        found = run(kind, "verify", release, *model, "-k", 2, *known, "--json")
        assert found.exit_code in (0, 1, 2), found.output
        if found.exit_code == 2:
            return 2, "refused"
        states = {i["name"]: i["state"] for i in json.loads(found.stdout)["items"]}
        return found.exit_code, states["files"]

    whole = place / kind / "release"
    assert judge(whole) == (0, "holds")
    assert judge(whole, "--original", *kinds(file), "--mapping", place / kind / "private") == (0, "holds")
    tables = [p.name for p in whole.iterdir() if p.suffix == f".{format}"]
    hidden = {**ANYWHERE, **{f"{t}: {w}": h for t in tables for w, h in ways(format, (t,))}}
    hidden["a comment"] = behind("people.toml" if kind == "people" else "links.toml", b"# Adler\n")
    for what, hide in hidden.items():
        copy = tmp_path / what.replace("/", " ")
        shutil.copytree(whole, copy)
        hide(copy)
        code, state = judge(copy)
        assert code > 0, (kind, what)
        assert state != "holds", (kind, what)


def test_weights_of_any_name_come_back_from_files_of_neo4j(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("owner,company,share\nA,B,0.6\nB,C,0.7\nC,D,0.6\n", encoding="utf-8")
    rules = ["--rules", "rules/control.vada"]
    own = ["--data", f"own={tmp_path / 'own.csv'}", "-k", 2, "-x", 2]
    folders = ["--release", tmp_path / "r", "--private", tmp_path / "p", "--format", "neo4j", "--trials", 1]
    made = run("anonymize", *rules, *own, "--method", "klone", *folders)
    assert made.exit_code == 0, made.output
    found = run("verify", tmp_path / "r", *rules, *own, "--mapping", tmp_path / "p")
    assert (found.exit_code, "files" in found.output) == (0, True), found.output
