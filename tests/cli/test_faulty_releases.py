"""Releases whose files were cut off, edited or exchanged: what `kgreason verify` says of them, and how it ends."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kgreason
from kgreason.cli import app
from tests.conftest import CONTROL, OWNERSHIP

RELEASED, NODES, MAPPING, PARTS = (
    "release/own.csv",
    "release/nodes.csv",
    "private/mapping.csv",
    "private/parts.csv",
)
ORIGINAL = "own.csv"
COPY = "take an unchanged copy"

Change = Callable[[Path], object]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of one graph, whose first vertex has a letter of two bytes."""
    folder = tmp_path_factory.mktemp("whole")
    rows = [*OWNERSHIP, ("Érable", "Adler", 0.1)]
    text = "".join(f"{owner},{company},{share}\n" for owner, company, share in rows)
    (folder / ORIGINAL).write_text(f"owner,company,share\n{text}", encoding="utf-8")
    (folder / "control.vada").write_text(CONTROL, encoding="utf-8")
    for seed, names in ((1, ("release", "private")), (2, ("release2", "private2"))):
        folders = kgreason.Folders(*(folder / name for name in names))
        made = kgreason.anonymize(
            folder / "control.vada", method="klone", x=2, trials=1, seed=seed, folders=folders
        )
        assert made.holds
    return folder


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verify(place: Path, release: str = "release") -> Result:
    arguments = [
        "verify",
        "--rules",
        "control.vada",
        "--data",
        f"own={ORIGINAL}",
        release,
        "--mapping",
        "private",
        "-x",
        "2",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return CliRunner().invoke(app, arguments)


# --- ways to change a file ----------------------------------------------------------------------------------


def data(file: str, change: Callable[[bytes], bytes]) -> Change:
    return lambda place: (place / file).write_bytes(change((place / file).read_bytes()))


def lines(file: str, change: Callable[[list[str]], list[str]]) -> Change:
    """Change lines without their ends."""

    def run(before: bytes) -> bytes:
        return "".join(f"{line}\n" for line in change(before.decode().splitlines())).encode()

    return data(file, run)


def recoded(file: str, encoding: str) -> Change:
    return data(file, lambda b: b.decode().encode(encoding))


def line(file: str, place: int, change: Callable[[str], str]) -> Change:
    return lines(file, lambda rows: [change(r) if i == place else r for i, r in enumerate(rows, start=1)])


def weight(text: str) -> Change:
    return line(RELEASED, 4, lambda row: f"{row.rpartition(',')[0]},{text}")


def swapped(rows: list[str]) -> list[str]:
    (a, p), (b, q) = rows[2].split(","), rows[5].split(",")
    return [*rows[:2], f"{a},{q}", *rows[3:5], f"{b},{p}", *rows[6:]]


def turned(row: str) -> str:
    source, target, share = row.split(",")
    return f"{target},{source},{share}"


def onto_one(rows: list[str]) -> list[str]:
    return [*rows[:2], f"{rows[2].split(',')[0]},{rows[3].split(',')[1]}", *rows[3:]]


def exchanged(one: str, other: str) -> Change:
    return lambda place: shutil.copy(place / other, place / one)


def written(file: str, text: str) -> Change:
    return lambda place: (place / file).write_text(text, encoding="utf-8")


def removed(file: str) -> Change:
    return lambda place: (place / file).unlink()


def part_of_each(part: str, more: str = "") -> Change:
    def run(place: Path) -> None:
        rows = (place / MAPPING).read_text(encoding="utf-8").splitlines()[1:]
        text = "".join(f"{row.split(',')[0]},{part}\n" for row in rows)
        (place / PARTS).write_text(f"original,part\n{more}{text}", encoding="utf-8")

    return run


def named_to_a_copy(place: Path) -> None:
    known = (place / MAPPING).read_text(encoding="utf-8")
    synthetic = [v for v in (place / NODES).read_text(encoding="utf-8").split()[1:] if v not in known]
    (place / MAPPING).write_text(f"{known}Nobody,{synthetic[0]}\n", encoding="utf-8")


# --- what cannot be read ------------------------------------------------------------------------------------

UNREADABLE: list[tuple[str, Change, str, str]] = [
    # the released table
    (
        "cut in a row",
        data(RELEASED, lambda b: b"\n".join(b.split(b"\n")[:28])[:-3]),
        f"{RELEASED}:28: the last line has no end",
        COPY,
    ),
    (
        "cut in a weight",
        data(RELEASED, lambda b: b[:-2]),
        f"{RELEASED}:65: the last line has no end",
        "end the line",
    ),
    ("a table is empty", data(RELEASED, lambda _: b""), f"{RELEASED}: the file is empty", COPY),
    (
        "a table has no header",
        lines(RELEASED, lambda r: r[1:]),
        f"{RELEASED}:1: this line was read as the names",
        COPY,
    ),
    (
        "a header twice",
        lines(RELEASED, lambda r: r[:1] + r),
        f"{RELEASED}:2: column 'share': 'share' is not",
        COPY,
    ),
    (
        "a table in UTF-16",
        recoded(RELEASED, "utf-16"),
        f"{RELEASED}:1: byte 0xFF is not UTF-8",
        "save it as UTF-8",
    ),
    (
        "no mark",
        recoded(RELEASED, "utf-16-le"),
        f"{RELEASED}:1: a byte is zero: the file is damaged, or UTF-16",
        COPY,
    ),
    ("zeros", data(RELEASED, lambda b: b[:-40] + bytes(40)), f"{RELEASED}:64: a byte is zero", COPY),
    (
        "a packed table cut off",
        data(RELEASED, lambda b: gzip.compress(b)[:99]),
        f"{RELEASED}: the gzip file is",
        COPY,
    ),
    (
        "a field less",
        line(RELEASED, 4, lambda r: r[: r.rindex(",")]),
        f"{RELEASED}:4: 2 fields where the first",
        COPY,
    ),
    (
        "a field more",
        line(RELEASED, 4, lambda r: f"{r},7"),
        f"{RELEASED}:4: 4 fields where the first line has 3",
        COPY,
    ),
    (
        "an open quote",
        line(RELEASED, 4, lambda r: f'"{r}'),
        f"{RELEASED}:4: column 1: the quotation mark",
        COPY,
    ),
    (
        "an empty label",
        line(RELEASED, 4, lambda r: r[r.index(",") :]),
        f"{RELEASED}:4: column 'owner': the cell",
        COPY,
    ),
    (
        "semicolons",
        lines(RELEASED, lambda r: [s.replace(",", ";") for s in r]),
        "the file 1 column",
        "delimiter=;",
    ),
    ("no table", removed(RELEASED), f"{RELEASED}: there is no such file", COPY),
    (
        "a table more",
        written("release/knows.csv", "a,b\np,q\n"),
        "release/knows.csv: the rules have no edges knows",
        "",
    ),
    (
        "a packed table more",
        written("release/x.tsv.gz", ""),
        "release/x.tsv.gz: the rules have no edges x",
        "take it",
    ),
    (
        "another table",
        exchanged(RELEASED, "release2/own.csv"),
        f"{NODES}: the vertex ",
        "of another release?",
    ),
    (
        "blanks",
        lines(RELEASED, lambda r: [s.replace(",", ", ") for s in r]),
        f"{NODES}: the vertex ' ",
        "edited",
    ),
    ("not a number", weight("nan"), f"{RELEASED}:4: column 'share': 'nan' is not a number", COPY),
    ("infinite", weight("inf"), f"{RELEASED}:4: column 'share': 'inf' is not a number", COPY),
    ("too large", weight("1e400"), f"{RELEASED}:4: column 'share': '1e400' is not a finite number", COPY),
    ("negative", weight("-0.1"), f"{RELEASED}:4: column 'share': the weight -0.1 is outside [0,1]", COPY),
    ("above 1", weight("1.5"), f"{RELEASED}:4: column 'share': the weight 1.5 is outside [0,1]", COPY),
    ("a decimal comma", weight("1,5"), f"{RELEASED}:4: 4 fields where the first line has 3", COPY),
    ("a quoted comma", weight('"0,5"'), f"{RELEASED}:4: column 'share': '0,5' is not a number", "decimal=,"),
    ("no weight", weight(""), f"{RELEASED}:4: column 'share': the cell is empty", COPY),
    # the released vertices
    ("no vertices", removed(NODES), f"{NODES}: there is no such file", "with all vertices"),
    (
        "vertices are a folder",
        lambda p: ((p / NODES).unlink(), (p / NODES).mkdir()),
        f"{NODES}: there is no",
        "",
    ),
    ("vertices cut off", data(NODES, lambda b: b[:-5]), f"{NODES}:26: the last line has no end", COPY),
    ("fewer vertices", lines(NODES, lambda r: r[:-2]), f"{NODES}: the vertex '", "(2 such vertices)"),
    (
        "a vertex less",
        lines(NODES, lambda r: r[:4] + r[5:]),
        "of own.csv is not in it\n",
        "is one of the two cut off",
    ),
    ("vertices without header", lines(NODES, lambda r: r[1:]), "of own.csv is not in it\n", COPY),
    ("only their header", lines(NODES, lambda r: r[:1]), "of own.csv is not in it (25 such vertices)", COPY),
    (
        "their header twice",
        lines(NODES, lambda r: r[:1] + r),
        f"{NODES}:2: the name of the column, 'company'",
        COPY,
    ),
    (
        "vertices in two columns",
        lines(NODES, lambda r: [f"{v},1" for v in r]),
        f"{NODES}:1: 2 columns where",
        COPY,
    ),
    (
        "other vertices",
        exchanged(NODES, "release2/nodes.csv"),
        "of own.csv is not in it (25 such",
        "another release",
    ),
    # the mapping
    ("no mapping", removed(MAPPING), f"{MAPPING}: cannot be read: No such file", "name the private folder"),
    (
        "an empty mapping",
        data(MAPPING, lambda _: b""),
        f"{MAPPING}:1: the header must be original,released",
        "empty",
    ),
    (
        "a mapping without header",
        lines(MAPPING, lambda r: r[1:]),
        f"{MAPPING}:1: the header must be",
        "not 'Adler,",
    ),
    (
        "its header twice",
        lines(MAPPING, lambda r: r[:1] + r),
        f"{MAPPING}:2: 'original' is mapped to 'released'",
        "row",
    ),
    (
        "only its header",
        lines(MAPPING, lambda r: r[:1]),
        "'Adler' has no row (8 such of 8 vertices)",
        "is it cut off?",
    ),
    ("a mapping cut off", data(MAPPING, lambda b: b[:-3]), f"{MAPPING}:9: 'Érable' is mapped to", "edited?"),
    (
        "cut in a letter",
        data(MAPPING, lambda b: b[: b.index(b"\xc3") + 1]),
        f"{MAPPING}:9: byte 0xC3 is not",
        COPY,
    ),
    (
        "a mapping in Latin-1",
        recoded(MAPPING, "latin-1"),
        f"{MAPPING}:9: byte 0xC9 is not UTF-8",
        "save it as UTF-8",
    ),
    (
        "a mapping in UTF-16",
        recoded(MAPPING, "utf-16"),
        f"{MAPPING}:1: byte 0xFF is not",
        "looks like UTF-16",
    ),
    ("it has no mark", recoded(MAPPING, "utf-16-be"), f"{MAPPING}:1: a byte is zero", "save it as UTF-8"),
    (
        "a packed mapping",
        data(MAPPING, gzip.compress),
        f"{MAPPING}: the file is packed with gzip",
        "unpack it",
    ),
    (
        "a row less",
        lines(MAPPING, lambda r: r[:3] + r[4:]),
        "the original vertex 'Dachs' has no row\n",
        "cut off?",
    ),
    (
        "a row twice",
        lines(MAPPING, lambda r: r + r[2:3]),
        f"{MAPPING}:10: the original vertex 'Biber' stands twice",
        "",
    ),
    (
        "it lacks a field",
        line(MAPPING, 4, lambda r: r[:5]),
        f"{MAPPING}:4: a row needs two fields",
        "cut off?",
    ),
    ("it lacks a label", line(MAPPING, 4, lambda r: r[5:]), f"{MAPPING}:4: a row needs two fields", "not 1"),
    ("its open quote", line(MAPPING, 4, lambda r: f'"{r}'), f"{MAPPING}:4: not a CSV file", "never closed"),
    (
        "an unknown label",
        line(MAPPING, 3, lambda _: "Biber,zz"),
        f"{MAPPING}:3: 'Biber' is mapped to 'zz'",
        "edited?",
    ),
    (
        "another mapping",
        exchanged(MAPPING, "private2/mapping.csv"),
        "(8 such of 8 vertices)",
        "of another release?",
    ),
    # the parts
    (
        "other parts",
        written(PARTS, "original,part\nAdler,0\n"),
        f"{PARTS}: the original vertex 'Dachs'",
        "another",
    ),
    (
        "a part more",
        part_of_each("0", "Nobody,0\n"),
        f"{PARTS}:2: 'Nobody' is no vertex of the original",
        "another",
    ),
    ("a huge part", part_of_each("9" * 30), f"{PARTS}:2: '999999", "is no number of an x-subgraph"),
    ("a foreign digit", part_of_each("٣"), f"{PARTS}:2: '٣' is no number of an x-subgraph", ""),
    (
        "empty parts",
        written(PARTS, ""),
        f"{PARTS}:1: the header must be original,part, not an empty file",
        "",
    ),
    # the original
    (
        "an original without rows",
        lines(ORIGINAL, lambda r: r[:1]),
        f"{ORIGINAL}: the original has no edges",
        "cut off?",
    ),
    (
        "an empty original",
        data(ORIGINAL, lambda _: b""),
        f"{ORIGINAL}: the original has no edges",
        "cut off?",
    ),
    (
        "its letter cut",
        data(ORIGINAL, lambda b: b[: b.index(b"\xc3") + 1]),
        f"{ORIGINAL}:10: byte 0xC3",
        "cut off?",
    ),
    ("an original in Latin-1", recoded(ORIGINAL, "latin-1"), f"{ORIGINAL}:10: byte 0xC9", "encoding=latin-1"),
]


@pytest.mark.parametrize(("name", "change", "words", "mending"), UNREADABLE, ids=[u[0] for u in UNREADABLE])
def test_what_cannot_be_read_is_named(
    place: Path, name: str, change: Change, words: str, mending: str
) -> None:
    change(place)
    result = verify(place)
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert mending in result.output
    assert "error: " in result.output
    assert "Traceback" not in result.output


# --- what can be read but does not hold ---------------------------------------------------------------------

VIOLATED: list[tuple[str, Change, str, str]] = [
    ("rows are missing", lines(RELEASED, lambda r: r[: len(r) // 2]), "images", "subgraph of"),
    ("no rows", lines(RELEASED, lambda r: r[:1]), "augmentation", "1 in the original, 0 in the release"),
    (
        "a vertex more",
        lines(NODES, lambda r: [*r, "zzzzzzzzzz"]),
        "connected",
        "1 vertices, for instance zzzzzzzzzz",
    ),
    ("turned round", lines(RELEASED, lambda r: [turned(s) for s in r]), "augmentation", "0 in the release"),
    ("swapped rows", lines(MAPPING, swapped), "augmentation", "(original Falke)"),
    ("two onto one", lines(MAPPING, onto_one), "mapping", "Dachs, Biber all are "),
]


@pytest.mark.parametrize(("name", "change", "item", "witness"), VIOLATED, ids=[v[0] for v in VIOLATED])
def test_what_does_not_hold_is_named(place: Path, name: str, change: Change, item: str, witness: str) -> None:
    change(place)
    result = verify(place)
    assert result.exit_code == 1, result.output
    assert f"{item}: " in result.output
    assert witness in result.output


# --- what is harmless ---------------------------------------------------------------------------------------


def reordered(rows: list[str]) -> list[str]:
    return rows[:1] + rows[:0:-1]


HARMLESS: list[tuple[str, Change, str]] = [
    *[(f"{file}: other order", lines(file, reordered), "") for file in (MAPPING, ORIGINAL)],
    *[
        (f"{file}: {mark!r}", data(file, lambda b, mark=mark: b.replace(b"\n", mark)), "")
        for file in (MAPPING, ORIGINAL)
        for mark in (b"\r\n", b"\r", b"\n\n")
    ],
    *[(f"{file}: a mark", data(file, lambda b: b"\xef\xbb\xbf" + b), "") for file in (MAPPING, ORIGINAL)],
    (f"{ORIGINAL}: packed", data(ORIGINAL, gzip.compress), ""),
    ("one part", part_of_each("0"), ""),
]


@pytest.mark.parametrize(("name", "change", "note"), HARMLESS, ids=[h[0] for h in HARMLESS])
def test_what_changes_nothing_holds(place: Path, name: str, change: Change, note: str) -> None:
    change(place)
    result = verify(place)
    assert result.exit_code == 0, result.output
    assert note in result.output
    assert verify(place, RELEASED).exit_code == 0


# the release protects these, too, but the synthetic shares that it states are those of the true original
OTHER_ORIGINALS: list[tuple[str, Change, str]] = [
    (
        "an original cut off",
        lines(ORIGINAL, lambda r: r[:-1]),
        f"{MAPPING}:9: 1 vertices of the mapping have no edge",
    ),
    (
        "an original vertex more",
        named_to_a_copy,
        "('Nobody'); if they should have edges, rows of its table are",
    ),
]


@pytest.mark.parametrize(("name", "change", "note"), OTHER_ORIGINALS, ids=[o[0] for o in OTHER_ORIGINALS])
def test_another_original_differs_in_synthetic_shares(
    place: Path, name: str, change: Change, note: str
) -> None:
    change(place)
    result = verify(place)
    assert result.exit_code == 1, result.output
    assert note in result.output
    assert "README.txt: synthetic are about" in result.output
    assert verify(place, RELEASED).exit_code == 0


OTHERWISE: list[tuple[str, Change, str]] = [
    *[
        (f"{file}: {what}", data(file, change), words)
        for file in (RELEASED, NODES)
        for what, change, words in (
            ("CRLF", lambda b: b.replace(b"\n", b"\r\n"), "other line ends"),
            ("CR", lambda b: b.replace(b"\n", b"\r"), "other line ends"),
            ("a CR", lambda b: b.replace(b"\n", b"\r\n", 1), "some lines end with CR"),
            ("blank lines", lambda b: b.replace(b"\n", b"\n\n"), "added rows"),
            ("a mark", lambda b: b"\xef\xbb\xbf" + b, "byte-order mark"),
            ("packed", gzip.compress, "packed with gzip"),
        )
    ],
    ("other order of vertices", lines(NODES, reordered), "nodes.csv: reordered rows"),
    ("other order of edges", lines(RELEASED, reordered), "own.csv: not as it was written"),
    ("a row twice", lines(RELEASED, lambda r: r + r[2:3]), "own.csv: duplicated rows"),
    ("a vertex twice", lines(NODES, lambda r: r + r[2:3]), "nodes.csv: duplicated rows"),
    ("the marking", written("release/UNVERIFIED", ""), "UNVERIFIED: not as it was written"),
    ("no rules", removed("release/rules.vada"), "rules.vada: it is missing"),
    ("no text", removed("release/README.txt"), "README.txt: it is missing"),
]


@pytest.mark.parametrize(("name", "change", "words"), OTHERWISE, ids=[o[0] for o in OTHERWISE])
def test_a_folder_is_to_the_byte_what_was_written(place: Path, name: str, change: Change, words: str) -> None:
    change(place)
    result = verify(place)
    assert result.exit_code == 1, result.output
    assert "files: the folder holds what kgreason does not write" in result.output
    assert words in " ".join(result.output.split())
    assert verify(place, RELEASED).exit_code == 0


def test_a_table_alone_needs_no_vertices(place: Path) -> None:
    (place / NODES).unlink()
    (place / "release/knows.csv").touch()
    assert verify(place, RELEASED).exit_code == 0


def test_vertices_of_rules_without_node_predicates(place: Path) -> None:
    (place / "control.vada").write_text('@edge("own").\n@output("self").\nself(X) :- own(X, X, _).\n')
    assert verify(place, RELEASED).exit_code == 0
    other = verify(place)
    assert other.exit_code == 1
    assert "rules.vada holds other rules than the named ones" in " ".join(other.output.split())
    with (place / NODES).open("a") as file:
        file.write("zzzzzzzzzz\n")
    result = verify(place)
    assert result.exit_code == 1
    assert "1 vertices, for instance zzzzzzzzzz" in result.output
