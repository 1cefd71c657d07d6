"""Written releases that were tampered with: nothing false is said of them, and every change of a byte is told."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import KgreasonError
from kgreason.data.sources import SourceSpec
from kgreason.isomorphism.reading import read_pair
from kgreason.release.digests import differences, imprint
from tests.definition import Graph, decide, read
from tests.isomorphism.test_mutations import release
from tests.mutations import RULES, Case

Edit = Callable[[list[str], Random], list[str]]


def write(folder: Path, case: Case) -> None:
    """Tables of the original in ``original/``, the release in ``release/`` and the mapping in ``private/``."""
    for name, graph in (("original", case.original), ("release", case.released)):
        (folder / name).mkdir()
        for relation in RULES[case.rules][0].edges:
            rows = sorted(edge for edge in graph.edges if edge[0] == relation)
            header = ["source", "target", "weight"][: 3 if relation == "own" else 2]
            cells = [[graph.labels[u], graph.labels[v], w] for _, u, v, w in rows]
            table(folder / name / f"{relation}.csv", [header, *(row[: len(header)] for row in cells)])
    table(folder / "release/nodes.csv", [["vertex"], *([label] for label in case.released.labels)])
    (folder / "private").mkdir()
    pairs = zip(case.original.labels, (case.released.labels[v] for v in case.mapping), strict=True)
    table(folder / "private/mapping.csv", [["original", "released"], *map(list, pairs)])


def table(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def drop(lines: list[str], rng: Random) -> list[str]:
    del lines[rng.randrange(len(lines))]
    return lines


def repeat(lines: list[str], rng: Random) -> list[str]:
    return [*lines, rng.choice(lines)]


def shuffle(lines: list[str], rng: Random) -> list[str]:
    rest = lines[1:]
    rng.shuffle(rest)
    return lines[:1] + rest


def end(lines: list[str], rng: Random) -> list[str]:
    return lines[: rng.randrange(len(lines))]


def tear(lines: list[str], rng: Random) -> list[str]:
    text = "".join(lines)
    return [text[: rng.randrange(len(text))]]


def exchange_cells(lines: list[str], rng: Random) -> list[str]:
    rows = [line.rstrip("\n").split(",") for line in lines]
    a, b = rng.choice(rows), rng.choice(rows)
    column = rng.randrange(len(a))
    if column < len(b):
        a[column], b[column] = b[column], a[column]
    return [",".join(row) + "\n" for row in rows]


def copy_a_cell(lines: list[str], rng: Random) -> list[str]:
    rows = [line.rstrip("\n").split(",") for line in lines]
    rng.choice(rows)[0] = rng.choice(rows)[-1]
    return [",".join(row) + "\n" for row in rows]


def type_over(lines: list[str], rng: Random) -> list[str]:
    text = "".join(lines)
    place = rng.randrange(len(text))
    return [text[:place] + rng.choice('0159.,-ex" \n') + text[place + 1 :]]


def other_line_ends(lines: list[str], rng: Random) -> list[str]:
    mark = rng.choice(["\r\n", "\r", "\n\n"])
    return [line.replace("\n", mark) for line in lines]


def mark(lines: list[str], rng: Random) -> list[str]:
    return ["\ufeff", *lines]


EDITS: list[Edit] = [
    drop,
    repeat,
    shuffle,
    end,
    tear,
    exchange_cells,
    copy_a_cell,
    type_over,
    other_line_ends,
]
EDITS += [mark]


def tampered(folder: Path, edits: list[tuple[Edit, int]]) -> None:
    files = [*sorted((folder / "release").iterdir()), folder / "private/mapping.csv"]
    for edit, source in edits:
        rng = Random(source)
        file = rng.choice(files)
        if lines := file.read_bytes().decode().splitlines(keepends=True):
            file.write_bytes("".join(edit(lines, rng)).encode())


def judged(folder: Path, case: Case) -> tuple[str, dict[str, bool]]:
    """Whether the files were refused or, else, hold, and by which items."""
    program = RULES[case.rules][0]
    tables = [
        {name: [SourceSpec(folder / place / f"{name}.csv")] for name in program.edges}
        for place in ("original", "release")
    ]
    try:
        pair = read_pair(program, *tables, folder / "private")
        graphs = pair.original, pair.released, pair.mapping
        verdict = kgreason.verify(*graphs, program, k=case.k, x=case.x)
    except KgreasonError:
        return "refused", {}
    return "holds" if verdict.holds else "fails", {item.name: item.holds for item in verdict.items}


Read = tuple[Graph, Graph, list[int]]


def reading(folder: Path, case: Case) -> Read | None:
    """What the rows of the files say, if they say something."""
    try:
        return read(folder, RULES[case.rules][0].edges)
    except (ValueError, csv.Error):
        return None


def by_label(found: Read) -> tuple[object, ...]:
    """A release whatever the numbers of its vertices and the order of its rows."""
    original, released, mapping = found
    name = released.labels
    edges = {(relation, name[u], name[v], weight) for relation, u, v, weight in released.edges}
    return edges, set(name), {label: name[v] for label, v in zip(original.labels, mapping, strict=True)}


def told(place: Path, case: Case, edits: list[tuple[Edit, int]]) -> str:
    """What is said of a tampered release: that nothing has changed, that it is refused, holds or fails."""
    write(place, case)
    recorded = {name: imprint(place / name) for name in ("release", "private")}
    before = reading(place, case)
    assert before is not None
    bytes_before = {file: file.read_bytes() for file in place.rglob("*.csv")}
    tampered(place, edits)
    changed = any(file.read_bytes() != data for file, data in bytes_before.items())
    faults = [fault for name, known in recorded.items() for fault in differences(known, place / name)]
    assert bool(faults) == changed
    said, items = judged(place, case)
    after = reading(place, case)
    if after is not None and all(fault.harmless for fault in faults):
        assert by_label(before) == by_label(after)
    if said != "refused":
        assert after is not None
        expected, _ = decide(*after, RULES[case.rules][1], case.k, case.x)
        assert items == expected
    return said if changed else "unchanged"


def compared(examples: int, releases: range, folder: Path) -> Counter[str]:
    """Tampered releases by what is said of them."""
    seen: Counter[str] = Counter()
    edits = st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 2**32)), min_size=1, max_size=2)

    @seed(releases.start)
    @settings(max_examples=examples, deadline=None, database=None)
    @given(st.sampled_from(releases), edits)
    def run(number: int, edits: list[tuple[Edit, int]]) -> None:
        case = release(number)
        with TemporaryDirectory(dir=folder) as made:
            said = told(Path(made), case, edits)
        seen[said] += 1

    run()
    return seen


def test_tampered_files(tmp_path: Path) -> None:
    seen = compared(60, range(30), tmp_path)
    assert all(seen[said] >= 4 for said in ("holds", "fails", "refused")), seen


@pytest.mark.slow
def test_many_tampered_files(tmp_path: Path) -> None:
    """`pytest -rP` shows how many of which kind."""
    seen = compared(600, range(200), tmp_path)
    print(dict(seen))
    assert all(seen[said] >= 30 for said in ("holds", "fails", "refused")), seen
