"""The rule library: every file of ``rules/`` has an example in ``examples/library``, and derives what it should.

An example is a folder with the tables of the inputs and, in ``expected/``, the facts of every output. A labelled
null stands there as ``_:n1``; which number it has does not matter.
"""

from __future__ import annotations

import csv
from itertools import permutations
from pathlib import Path

import pytest

import kgreason
from kgreason.lang.values import Null
from tests.conftest import ROOT

RULES = sorted(p.stem for p in (ROOT / "rules").glob("*.vada"))
EXAMPLES = ROOT / "examples" / "library"
Rows = set[tuple[str, ...]]


def expected(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {tuple(row) for row in rows}


def derived(result: kgreason.Reasoned, predicate: str) -> Rows:
    return {
        tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in row) for row in result.rows(predicate)
    }


def rounded(rows: Rows) -> Rows:
    return {tuple(f"{float(v):g}" if v[:1].isdigit() else v for v in row) for row in rows}


def nulls(tables: dict[str, Rows]) -> list[str]:
    return sorted({v for rows in tables.values() for row in rows for v in row if v.startswith("_:n")})


def renamed(tables: dict[str, Rows], names: dict[str, str]) -> dict[str, Rows]:
    return {p: {tuple(names.get(v, v) for v in row) for row in rows} for p, rows in tables.items()}


@pytest.mark.parametrize("topic", RULES)
def test_example(topic: str) -> None:
    folder = EXAMPLES / topic
    data = {p.stem: str(p) for p in folder.glob("*.csv")}
    wanted = {p.stem: rounded(expected(p)) for p in (folder / "expected").glob("*.csv")}
    result = kgreason.reason(ROOT / "rules" / f"{topic}.vada", data)
    found = {predicate: derived(result, predicate) for predicate in result.predicates}
    assert sorted(found) == sorted(wanted)
    labels = nulls(found)
    assert len(labels) == len(nulls(wanted))
    assert any(
        renamed(found, dict(zip(labels, order, strict=True))) == wanted
        for order in permutations(nulls(wanted))
    ), found


@pytest.mark.parametrize("topic", RULES)
def test_documentation(topic: str) -> None:
    program = kgreason.load(ROOT / "rules" / f"{topic}.vada")
    assert [rule.text for rule in program.rules if not rule.documentation and rule.number == 1] == []
    assert not program.warnings
    assert f"`rules/{topic}.vada`" in (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def test_unknown_persons_are_nulls() -> None:
    data = {p.stem: str(p) for p in (EXAMPLES / "significant_control").glob("*.csv")}
    result = kgreason.reason(ROOT / "rules" / "significant_control.vada", data)
    blind = [person for person, company in result.rows("psc") if company == "Blind"]
    assert [type(person) for person in blind] == [Null]
