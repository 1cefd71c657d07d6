"""The rule library: every file of ``rules/`` has an example in ``examples/library``, and derives what it should.

An example is a folder with the tables of the inputs and, in ``expected/``, the facts of every output. A labelled
null stands there as ``_:n1``; which number it has does not matter.
"""

from __future__ import annotations

import csv
from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest

import kgreason
from kgreason.language.values import Null
from tests.folders import ROOT

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


@pytest.mark.parametrize("topic", [t for t in RULES if t != "significant_control"])  # it orders names
def test_ids_that_are_integers_stay_integers(topic: str) -> None:
    texts = {p.stem: pd.read_csv(p) for p in (EXAMPLES / topic).glob("*.csv")}
    names = {n for t in texts.values() for n in t.select_dtypes(exclude="number").to_numpy().flat}
    codes: dict[object, object] = {name: number for number, name in enumerate(sorted(names), 1000)}
    numbers = {p: t.map(lambda value: codes.get(value, value)).infer_objects() for p, t in texts.items()}
    wanted, found = (kgreason.reason(ROOT / "rules" / f"{topic}.vada", t) for t in (texts, numbers))
    for predicate in wanted.predicates:
        rows = {tuple(codes.get(value, value) for value in row) for row in wanted.rows(predicate)}
        assert set(map(repr, found.rows(predicate))) == set(map(repr, rows))


def test_ids_are_strings_where_a_table_beside_the_graph_has_strings() -> None:
    own, person = pd.DataFrame([(1, 2, 0.6), (2, 3, 0.7)]), pd.DataFrame({"person": ["1", "Anna"]})
    rules = '@edge("own"). @output("led"). led(P, Y) :- person(P), own(P, Y, W).'
    assert kgreason.reason(rules, {"own": own, "person": person}).rows("led") == [("1", "2")]


@pytest.mark.parametrize("topic", RULES)
def test_documentation(topic: str) -> None:
    program = kgreason.load(ROOT / "rules" / f"{topic}.vada")
    assert [rule.text for rule in program.rules if not rule.documentation and rule.number == 1] == []
    assert not program.warnings


def test_unknown_persons_are_nulls() -> None:
    data = {p.stem: str(p) for p in (EXAMPLES / "significant_control").glob("*.csv")}
    result = kgreason.reason(ROOT / "rules" / "significant_control.vada", data)
    blind = [person for person, company in result.rows("psc") if company == "Blind"]
    assert [type(person) for person in blind] == [Null]


@pytest.mark.parametrize(
    ("own", "company"),
    [
        ([("H", "A", 0.7), ("A", "B", 0.2), ("H", "B", 0.06)], "B"),
        ([("H", "A", 0.18), ("A", "B", 0.5), ("B", "A", 0.2)], "A"),  # 0.18 / (1 - 0.5 * 0.2)
        ([("H", "A", 0.15), ("A", "B", 0.5), ("B", "A", 0.5)], "A"),  # 0.15 / (1 - 0.5 * 0.5)
    ],
)
def test_20_percent_are_enough(own: list[tuple[str, str, float]], company: str) -> None:
    assert ("H", company) in kgreason.reason(ROOT / "rules" / "close_links.vada", {"own": own}).rows(
        "close_link"
    )


def test_several_loans_of_one_pair_are_not_lost() -> None:
    data = {"exposure": [("B", "A", 3), ("B", "A", 4)], "capital": [("A", 3), ("B", 5)], "shock": [("A",)]}
    with pytest.raises(kgreason.EvaluationError, match="are to be summed in the data"):
        kgreason.reason(ROOT / "rules" / "default_propagation.vada", data)


@pytest.mark.parametrize(
    ("bids", "words"),
    [
        ([("Invest", "Fund", "Grid", 0.2), ("Invest", "Fund", "Grid", 0.3)], "are to be summed in the data"),
        ([("Invest", "Fund", "Grid", 0.9)], "No party can sell more than its share"),
        ([("Invest", "Fun", "Grid", 0.5)], "No party can sell more than its share"),
    ],
)
def test_impossible_bids(bids: list[tuple[str, str, str, float]], words: str) -> None:
    folder = EXAMPLES / "golden_power"
    data = {p: str(folder / f"{p}.csv") for p in ("own", "strategic", "foreign")}
    with pytest.raises(kgreason.EvaluationError, match=words):
        kgreason.reason(ROOT / "rules" / "golden_power.vada", {**data, "bid": bids})


def test_names_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("owner,company,share\n1,10,0.6\n10,11,0.7\n", encoding="utf-8")
    (tmp_path / "person.csv").write_text("person\n1\n", encoding="utf-8")
    rules = tmp_path / "mine.vada"
    mine = '@include("significant_control").\n@mapping("person", 0, "person", "string").\n'
    rules.write_text(mine, encoding="utf-8")
    data = {p: str(tmp_path / f"{p}.csv") for p in ("own", "person")}
    assert set(kgreason.reason(rules, data).rows("psc")) == {("1", "10"), ("1", "11")}
    with pytest.raises(
        kgreason.ProgramError, match=r'as strings: @mapping\("person", 0, "<column>", "string"\)'
    ):
        kgreason.reason(ROOT / "rules" / "significant_control.vada", data)
