"""What is said of files that are not as they were written, from digests alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgreason.release.digests import (
    BLOCKS,
    JSON,
    changed_files,
    changes,
    differences,
    digests,
    imprint,
    imprint_of,
    json_text,
    with_digests,
)
from tests.examples import inputs

TABLE = ["owner,company,share", *(f"a{i},b{i % 7},0.{i + 10}" for i in range(60))]
MAPPING = ["original,released", *(f"É{i},r{i}" for i in range(9))]
NODES = ["company", *(f"r{i}" for i in range(9))]
RULES = ['@edge("own").', "", "p(X) :- own(X,_,_).", "", '@output("p").']


def written(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def without(lines: list[str], *places: int) -> list[str]:
    return [line for i, line in enumerate(lines) if i not in places]


def replaced(lines: list[str], place: int, line: str) -> list[str]:
    return [*lines[:place], line, *lines[place + 1 :]]


ALL = written(TABLE)
CASES: list[tuple[str, list[str], bytes, list[tuple[str, int | None]], str]] = [
    ("nothing", TABLE, ALL, [], ""),
    (
        "a row is missing",
        TABLE,
        written(without(TABLE, 4)),
        [("missing rows", 5)],
        "1 of 61 lines are missing",
    ),
    (
        "rows are missing",
        TABLE,
        written(without(TABLE, 4, 9)),
        [("missing rows", 5)],
        "between lines 5 and 10",
    ),
    ("the header is missing", TABLE, written(TABLE[1:]), [("missing rows", 1)], "in line 1"),
    ("a row more", TABLE, written([*TABLE[:5], "x,y,1", *TABLE[5:]]), [("added rows", 6)], "in line 6"),
    ("a row at the end", TABLE, written([*TABLE, "x,y,1"]), [("added rows", 62)], "in line 62"),
    ("a row twice", TABLE, written([*TABLE, TABLE[3]]), [("duplicated rows", 62)], "1 lines were added"),
    ("rows twice", TABLE, written([*TABLE[:8], *TABLE[2:]]), [("duplicated rows", 9)], "6 lines were added"),
    ("the header twice", TABLE, written([TABLE[0], *TABLE]), [("duplicated rows", 2)], ""),
    ("the header below", TABLE, written([*TABLE[1:], TABLE[0]]), [("reordered rows", 1)], ""),
    ("other order", TABLE, written([*TABLE[:3], *TABLE[:2:-1]]), [("reordered rows", 4)], "lines 4 and 61"),
    ("a weight", TABLE, written(replaced(TABLE, 7, "a6,b6,0.99")), [("edited weights", 8)], "in line 8"),
    ("an end", TABLE, written(replaced(TABLE, 7, "a6,b5,0.16")), [("edited rows", 8)], "others in line 8"),
    ("cut in a row", TABLE, ALL[:-5], [("truncated", 61)], "within line 61, where it had 61 lines"),
    ("cut before", TABLE, ALL[: len(ALL) // 2 + 3], [("truncated", 31)], "ends within line 31, where"),
    ("cut after a row", TABLE, written(TABLE[:30]), [("truncated", 30)], "ends after line 30"),
    ("cut, and edited", TABLE, written(replaced(TABLE[:30], 3, "x")), [("missing rows", 4)], ""),
    ("empty", TABLE, b"", [("truncated", None)], "the file is empty"),
    ("only the header", TABLE, written(TABLE[:1]), [("truncated", 1)], "after line 1"),
    ("no last line end", TABLE, ALL[:-1], [("other line ends", None)], "the same lines with other line ends"),
    (
        "CRLF",
        TABLE,
        ALL.replace(b"\n", b"\r\n"),
        [("other line ends", None)],
        "the same lines with other line ends",
    ),
    (
        "some CRLF",
        TABLE,
        ALL.replace(b"\n", b"\r\n", 3),
        [("other line ends", None)],
        "some lines end with CR",
    ),
    (
        "CR",
        TABLE,
        ALL.replace(b"\n", b"\r"),
        [("other line ends", None)],
        "the same lines with other line ends",
    ),
    ("a mark", TABLE, b"\xef\xbb\xbf" + ALL, [("other encoding", None)], "byte-order mark"),
    ("UTF-16", MAPPING, written(MAPPING).decode().encode("utf-16"), [("other encoding", None)], "UTF-16"),
    ("Latin-1", MAPPING, written(MAPPING).decode().encode("latin-1"), [("other encoding", None)], "Latin-1"),
    ("gzip", TABLE, gzip.compress(ALL), [("other encoding", None)], "gzip"),
    (
        "gzip cut off",
        TABLE,
        gzip.compress(ALL)[:120],
        [("other encoding", None), ("truncated", None)],
        "where it had 61 lines",
    ),
    ("cut in a letter", MAPPING, written(MAPPING)[:-4], [("truncated", 10)], "within line 10"),
    (
        "Latin-1, CRLF and a row less",
        MAPPING,
        "\r\n".join([*without(MAPPING, 3), ""]).encode("latin-1"),
        [("other encoding", None), ("other line ends", None), ("missing rows", 4)],
        "1 of 10 lines are missing",
    ),
    (
        "swapped",
        MAPPING,
        written([*MAPPING[:2], "É1,r4", *MAPPING[3:5], "É4,r1", *MAPPING[6:]]),
        [("swapped mapping", 3)],
        "paired otherwise between lines 3 and 6",
    ),
    ("other labels", MAPPING, written(replaced(MAPPING, 2, "É1,q")), [("edited rows", 3)], ""),
    ("mapping in order", MAPPING, written([*MAPPING[:1], *MAPPING[:0:-1]]), [("reordered rows", 2)], ""),
    ("a vertex less", NODES, written(without(NODES, 3)), [("missing rows", 4)], ""),
    ("another vertex", NODES, written(replaced(NODES, 3, "q")), [("edited rows", 4)], ""),
    ("rules", RULES, written(replaced(RULES, 2, "p(X) :- own(_,X,_).")), [("edited rows", 3)], ""),
    ("an empty line less", RULES, written(without(RULES, 3)), [("missing rows", 4)], ""),
]


HARMLESS = {"other encoding", "other line ends", "reordered rows", "duplicated rows"}


@pytest.mark.parametrize(("name", "lines", "now", "kinds", "words"), CASES, ids=[case[0] for case in CASES])
def test_faults_are_named(
    name: str, lines: list[str], now: bytes, kinds: list[tuple[str, int | None]], words: str, tmp_path: Path
) -> None:
    entry = json.loads(json.dumps(imprint_of(written(lines))))
    file = tmp_path / "table.csv"
    file.write_bytes(now)
    faults = changes(entry, file)
    lost = [(fault.kind, None if name == "gzip cut off" else fault.line) for fault in faults]
    assert lost == kinds
    assert words in "".join(map(str, faults))
    for fault in faults:
        assert str(fault).startswith(f"{file}:")
        assert "\n  help: " in str(fault)
    harmless = {kind for kind, _ in kinds} <= HARMLESS and name not in (
        "the header twice",
        "the header below",
        "gzip",
        "some CRLF",
    )
    assert all(fault.harmless for fault in faults) == harmless


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(ALL)
    (tmp_path / "mapping.csv").write_bytes(written(MAPPING))
    recorded = imprint(tmp_path)
    assert set(recorded) == {"own.csv", "mapping.csv"}
    (tmp_path / "certificate.json").write_text(json.dumps(recorded), encoding="utf-8")
    (tmp_path / "report.json").touch()
    assert differences(recorded, tmp_path) == []
    (tmp_path / "own.csv").rename(tmp_path / "knows.csv")
    (tmp_path / "mapping.csv").write_bytes(written(MAPPING[:-1]))
    assert [(fault.kind, Path(fault.file).name) for fault in differences(recorded, tmp_path)] == [
        ("truncated", "mapping.csv"),
        ("missing file", "own.csv"),
        ("added file", "knows.csv"),
    ]
    assert {fault.kind for fault in differences(recorded, tmp_path / "gone")} == {"missing file"}


def plain_digests(text: str) -> dict[str, str]:
    """Digests of lines and their parts, with the means of Python."""
    lines = text.removesuffix("\n").split("\n") if text else []
    separator = "\t" if "\t" in "".join(lines[:1]) else ","
    parts = [line.rpartition(separator) for line in lines]
    orders = {
        "all": sorted(lines),
        "distinct": sorted(set(lines)),
        "without_last_field": sorted(head for head, _, _ in parts),
        "last_field": sorted(last for _, _, last in parts),
        "first": lines[:1],
        "last": lines[-1:],
    }
    found = {name: sha256("\n".join(order).encode()).hexdigest() for name, order in orders.items()}
    blocks = [lines[i : i + max(1, -(-len(lines) // BLOCKS))] for i in range(len(lines))]
    step = len(blocks[0]) if blocks else 1
    found["blocks"] = "".join(sha256("\n".join(b).encode()).hexdigest()[:8] for b in blocks[::step])
    return found


@settings(max_examples=inputs(200), deadline=None)
@given(st.text(st.sampled_from("ab,\t\n\0é\U0001d11e"), max_size=40))
@example("")
@example("\n")
@example("a,b\n\n,\nc")
def test_lines_are_sorted_and_parted_as_by_python(text: str) -> None:
    entry, plain = imprint_of(text.encode()), plain_digests(text)
    assert {name: entry[name] for name in plain} == plain


def test_an_imprint_is_small() -> None:
    lines = [f"vertex{i},vertex{i + 1},0.5" for i in range(20_000)]
    assert len(json.dumps(imprint_of(written(lines)))) < 3_000


@pytest.mark.parametrize(
    ("place", "block"), [(1, (1, 79)), (5_000, (4_978, 5_056)), (20_000, (19_988, 20_000))]
)
def test_blocks_of_large_files(tmp_path: Path, place: int, block: tuple[int, int]) -> None:
    lines = [f"v{i},w{i},0.5" for i in range(20_000)]
    lines[0] = "owner,company,share"
    entry, file = imprint_of(written(lines)), tmp_path / "own.csv"
    file.write_bytes(written(replaced(lines, place - 1, f"{lines[place - 1]}1")))
    (fault,) = changes(entry, file)
    assert (fault.kind, fault.line) == ("edited weights", block[0])
    assert f"between lines {block[0]:,} and {block[1]:,}" in fault.message
    file.write_bytes(written(without(lines, place - 1)))
    (fault,) = changes(entry, file)
    assert fault.kind == ("truncated" if place == 20_000 else "missing rows")
    file.write_bytes(written(lines[:place]))
    assert [fault.kind for fault in changes(entry, file)] == ["truncated"][: place < 20_000]
    assert BLOCKS == 256


KINDS = [
    *("missing rows", "duplicated rows", "added rows", "edited weights", "edited rows", "truncated"),
    "reordered rows",
]


def _edit(lines: list[str], kind: str, rng: Random) -> list[str]:
    place = rng.randrange(1, len(lines))
    if kind == "missing rows":
        return without(lines, min(place, len(lines) - 2))
    if kind == "duplicated rows":
        return [*lines[:place], lines[rng.randrange(place)], *lines[place:]]
    if kind == "added rows":
        return [*lines[:place], "new,new,1", *lines[place:]]
    if kind == "edited weights":
        return replaced(lines, place, lines[place] + "7")
    if kind == "edited rows":
        return replaced(lines, place, "x" + lines[place])
    if kind == "truncated":
        return lines[:place]
    other = place % (len(lines) - 1) + 1
    exchanged = replaced(lines, place, lines[other])
    return replaced(exchanged, other, lines[place])


@given(
    st.integers(3, 700),
    st.sampled_from(KINDS),
    st.randoms(use_true_random=False),
)
def test_every_change_is_named_and_lies_within_its_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: int, kind: str, rng: Random
) -> None:
    lines = ["owner,company,share", *(f"a{i},b,0.5" for i in range(rows))]
    now = _edit(lines, kind, rng)
    file = tmp_path_factory.mktemp("written") / "own.csv"
    file.write_bytes(written(now))
    (fault,) = changes(imprint_of(written(lines)), file)
    assert fault.kind == kind
    differs = next((i for i, pair in enumerate(zip(lines, now, strict=False)) if len(set(pair)) > 1), None)
    at = 1 + (min(len(lines), len(now)) if differs is None else differs)
    assert fault.line is not None
    if kind == "truncated":
        assert fault.line == len(now)
    else:
        assert fault.line <= at < fault.line + -(-len(lines) // BLOCKS)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("files"), inner, max_size=3)
    ),
)


@settings(max_examples=inputs(60))
@given(data=st.dictionaries(st.text(), TREES, min_size=1, max_size=4), place=st.integers(min_value=0))
def test_a_report_lists_the_files_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object], place: int
) -> None:
    data.pop("files", None)
    data["format"] = 1
    folder = tmp_path_factory.mktemp("folder")
    (folder / "own.csv").write_text("a,b,0.7\n")
    text = with_digests(data, digests(folder))
    own = sha256(json_text(data).encode()).hexdigest()
    assert text == json_text({**data, "files": {**digests(folder), JSON: own}})
    (folder / JSON).write_bytes(text.encode())
    assert changed_files(folder) == []
    at = place % len(text)
    (folder / JSON).write_bytes((text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]).encode())
    assert changed_files(folder) != []


def listed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda text: text, []),
        (lambda text: text + "\n", [JSON]),
        (lambda text: text.removesuffix("\n"), [JSON]),
        (lambda text: text.replace("\n", "\r\n"), [JSON]),
        (lambda text: "\ufeff" + text, [JSON]),
        (lambda text: text.replace('"a"', '"b"'), [JSON]),
        (lambda text: text.replace('  "format"', '  "files": {},\n  "format"'), [JSON]),
        (lambda text: text[: len(text) // 2], None),
        (lambda text: json.dumps(json.loads(text)), None),
        (lambda text: json_text(dict(reversed(listed(text).items()))), None),
        (lambda text: text.replace(listed(text)["files"]["own.csv"], 64 * "0"), ["own.csv"]),
        (lambda _: "", None),
    ],
)
def test_edits_of_the_report(tmp_path: Path, edit: Callable[[str], str], expected: list[str] | None) -> None:
    (tmp_path / "own.csv").write_text("a,b,0.7\n")
    text = with_digests({"format": 1, "name": "a"}, digests(tmp_path))
    (tmp_path / JSON).write_bytes(edit(text).encode())
    assert changed_files(tmp_path) == expected
