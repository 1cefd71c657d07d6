"""Facts in RDF: the vocabulary of kgreason, labels of vertices, and files of others."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_writing import write_output
from kgreason.data.sources import SourceSpec
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Value
from tests.examples import inputs

pytest.importorskip("pyoxigraph")

OWN = "<urn:kgreason:own>"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


class Told(list[str]):
    """Collects notes."""

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...

    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.append(message)


def rows(file: Path, arity: int = 3, told: Told | None = None, **options: str) -> list[tuple[Value, ...]]:
    program = load_text(f"q(V1) :- own({', '.join(f'V{i + 1}' for i in range(arity))}).")
    told = Told() if told is None else told
    return list(load_facts(program, {"own": [SourceSpec(file, None, options)]}, told).rows("own"))


def written(folder: Path, facts: Sequence[tuple[Any, ...]], target: str) -> Path:
    found = Target.parse(f"{folder}/{target}")  # a path would take one of two slashes out
    write_output(Facts.from_rows({"own": list(facts)}), "own", found)
    return found.path


def text(folder: Path, *lines: str, name: str = "own.nt") -> Path:
    (folder / name).write_text("".join(f"{line} .\n" for line in lines), encoding="utf-8")
    return folder / name


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(lambda t: not t.startswith("_:"))
weights = st.floats(allow_nan=False, allow_infinity=False) | st.just(0.5)


@pytest.mark.parametrize("name", ["own.nt", "own.ttl"])
@settings(max_examples=inputs(20), deadline=None)
@given(edges=st.sets(st.tuples(names, names, weights), min_size=1, max_size=6))
def test_weighted_edges_come_back_without_options(
    tmp_path_factory: pytest.TempPathFactory, name: str, edges: set[tuple[str, str, float]]
) -> None:
    file = written(tmp_path_factory.mktemp("rdf"), sorted(edges), name)
    assert set(rows(file)) == edges


@pytest.mark.parametrize("name", ["own.nt", "own.ttl", "own.nt?base=http://x/"])
@pytest.mark.parametrize(
    "facts",
    [
        [("a", "b", 3), ("b", "c", -(2**62))],
        [("a", "b", "c"), ("x y", "ä", "<&>")],
        [("a", 7, True, "z"), ("b", 8, False, "")],
        [("a", "b", 0.5, "since"), ("a", "c", 1e300, "until")],
        [tuple("abcdefghijkl")],
        [("a", "b"), ("source", "weight")],
        [("arg1",), ("own",), ("ä b",)],
    ],
)
def test_facts_of_any_arity_come_back(tmp_path: Path, name: str, facts: list[tuple[Value, ...]]) -> None:
    file = written(tmp_path, facts, name)
    key = "predicate" if len(facts[0]) > 1 else "class"
    options = {"base": "http://x/", key: "own"} if "?" in name else {}
    assert sorted(rows(file, len(facts[0]), **options), key=str) == sorted(facts, key=str)
    if len(facts[0]) > 2:
        base = options.get("base", "urn:kgreason:")
        assert sorted(rows(file, len(facts[0]), **{"class": "own"}, base=base), key=str) == sorted(
            facts, key=str
        )


def test_what_was_understood_is_told(tmp_path: Path) -> None:
    told = Told()
    rows(written(tmp_path, [("a", "b", 0.5)], "own.nt"), 3, told)
    assert [t for t in told if "read as kgreason writes own (base=urn:kgreason:&class=own)" in t]
    both = text(
        tmp_path, f"<urn:kgreason:a> {OWN} <urn:kgreason:b>", "<urn:kgreason:a> <urn:kgreason:owes> <urn:x:c>"
    )
    told = Told()
    assert ("urn:kgreason:a", "urn:kgreason:owes", "urn:x:c") in rows(both, 3, told)
    assert not told
    assert rows(both, 2, predicate="own", base="urn:kgreason:") == [("a", "b")]


def lines_of(edges: int) -> list[str]:
    found = []
    for i in range(edges):
        found += [
            f"_:e{i} {TYPE} {OWN}",
            f"_:e{i} <urn:kgreason:source> <urn:kgreason:v{i}>",
            f"_:e{i} <urn:kgreason:target> <urn:kgreason:v{i + 1}>",
            f'_:e{i} <urn:kgreason:weight> "{i / 4}"^^<http://www.w3.org/2001/XMLSchema#double>',
        ]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_triples_is_of_no_matter(tmp_path: Path, seed: int) -> None:
    lines = lines_of(5)
    if seed == 0:
        lines.sort(key=lambda line: line.split()[1])  # as a database writes them: property by property
    elif seed == 1:
        lines.sort(key=lambda line: line.split()[1], reverse=True)
    else:
        random.Random(seed).shuffle(lines)
    lines.append(f"_:z {TYPE} <urn:kgreason:owes>")
    expected = {(f"v{i}", f"v{i + 1}", i / 4) for i in range(5)}
    file = text(tmp_path, *lines)
    for how in ({"class": "own"}, {"predicate": "own"}):
        assert set(rows(file, base="urn:kgreason:", **how)) == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (lines_of(2)[:-2], "the fact _:e1 has source, others have source, target, weight"),
        ([*lines_of(1), lines_of(1)[2].replace("v1", "v9")], "the fact _:e0 has two values"),
        (
            [f"_:a {TYPE} {OWN}", "_:a <urn:kgreason:arg1> <x:a>", "_:a <urn:kgreason:arg3> <x:b>"],
            "facts have arg1, arg3, but no arg2",
        ),
        ([*lines_of(1), f"<urn:kgreason:c> {TYPE} {OWN}"], "has no arguments"),
    ],
)
def test_facts_that_are_not_whole(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match="help: ") as caught:
        rows(text(tmp_path, *lines))
    assert message in str(caught.value)


def test_labels(tmp_path: Path) -> None:
    lines = [
        *("<http://x/1> <http://x/own> <http://x/2>", "<http://x/2> <http://x/own> <http://x/3>"),
        *(f'<http://x/1> {LABEL} "Eins"@de', f'<http://x/1> {LABEL} "One"@en-GB'),
        *(
            f'<http://x/2> {LABEL} "Two"@en',
            f'<http://x/2> {LABEL} "2 AG"',
            '<http://x/3> <http://x/name> "Three"',
        ),
        *(f'<http://x/9> {LABEL} "2 AG"', f'_:b {LABEL} "One"'),
    ]
    file = text(tmp_path, *lines, name="a.nt")
    how = {"predicate": "own", "base": "http://x/"}
    assert rows(file, 2, names="label", **how) == [("One", "2 AG"), ("2 AG", "3")]
    assert rows(file, 2, names="name", **how) == [("1", "2"), ("2", "Three")]
    assert rows(file, 2, names="id", **how) == rows(file, 2, **how) == [("1", "2"), ("2", "3")]
    with pytest.raises(DataError, match="no vertex has a name by 'nom'\n  help: leave out names="):
        rows(file, 2, names="nom", **how)
    twins = text(tmp_path, *lines, f'<http://x/3> {LABEL} "One"')
    with pytest.raises(
        DataError, match="<http://x/1> and <http://x/3> would both be 'One'\n  help: leave out"
    ):
        rows(twins, 2, names="label", **how)


def test_names_that_iris_hide_are_labels(tmp_path: Path) -> None:
    file = written(tmp_path, [("Bär & Söhne", "B", 0.5), ("B", "Bär & Söhne", 0.25)], "own.nt")
    assert file.read_text(encoding="utf-8").count(f'{LABEL} "Bär & Söhne"') == 1
    edges = [("B", "Bär & Söhne", 0.25), ("Bär & Söhne", "B", 0.5)]
    assert sorted(rows(file)) == edges
    assert sorted(rows(file, names="label")) == edges


def test_numbers_that_are_none(tmp_path: Path) -> None:
    double = "<http://www.w3.org/2001/XMLSchema#double>"
    for wrong in ("NaN", "INF", "1e999"):
        file = text(tmp_path, f'<x:a> <x:p> "0.5"^^{double}', f'<x:b> <x:p> "{wrong}"^^{double}')
        with pytest.raises(DataError, match="row 2: "):
            rows(file, 2, predicate="x:p")
    file = text(
        tmp_path, f'<x:a> <x:p> "5"^^{double}', '<x:b> <x:p> "7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    )
    found = rows(file, 2, predicate="x:p")
    assert found == [("x:a", 5.0), ("x:b", 7.0)]
    assert all(isinstance(n, float) and math.isfinite(n) for _, n in found)
