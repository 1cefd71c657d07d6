"""Rules of an attacker that read values: against groundings enumerated one by one, and values dealt in all ways."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, ProgramError
from kgreason.cli import app
from kgreason.engine.relations.symbols import Symbols
from kgreason.language.check.program_checker import load_text
from kgreason.links.attacks.entity_facts import Hands, dealt, hands, sharing
from kgreason.links.attacks.entity_pairs import Beliefs
from kgreason.links.attacks.rule_attacker import draws_worlds, rule_beliefs
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.links.settings import Strategy
from kgreason.people.model import Attribute, attribute
from tests.examples import inputs

Pair = tuple[int, int]
Fact = tuple[str, object, object]
LAND = '@label("same land", 0.3) friends(X, Y) :- country(X, C), country(Y, C), X != Y.'


def values(kind: str, sets: list[set[str]]) -> Attribute:
    user = [node for node, own in enumerate(sets) for _ in own]
    text = [value for own in sets for value in sorted(own)]
    return attribute(kind, np.array(user, dtype=np.int64), np.array([*text, None], dtype=object)[:-1])  # type: ignore[arg-type]


def graph(
    countries: list[set[str]],
    ages: list[set[str]] | None = None,
    size: list[int] | None = None,
    **observed: Observations,
) -> LinkGraph:
    labels = np.array([*(f"v{i}" for i in range(len(countries))), None], dtype=object)[:-1]
    attributes = {"country": values("categorical", countries)}
    if ages is not None:
        attributes["age"] = values("numeric", ages)
    return LinkGraph(labels, observed, attributes, np.array(size or [1] * len(countries)))


def believed(
    made: LinkGraph,
    text: str,
    strategy: Strategy = "intact",
    leak: float = 0.0,
    worlds: int = 1,
    seed: int = 0,
) -> dict[Pair, float]:
    found: Beliefs = rule_beliefs(
        Released(made, strategy),
        load_text(text),
        sensitive="friends",
        leak=leak,
        worlds=worlds,
        rng=np.random.default_rng(seed),
        mutual=True,
    )
    pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
    return dict(zip(pairs, found.probability.tolist(), strict=True))


# --- every grounding, one by one ---------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule of positive atoms; capital letters are variables, `condition` is a comparison of two of them."""

    weight: float
    body: tuple[tuple[str, str, str], ...]
    condition: str = ""

    def __str__(self) -> str:
        atoms = [f"{p}({a}, {b})" for p, a, b in self.body]
        return f'@label("r", {self.weight}) friends(X, Y) :- {", ".join([*atoms, *filter(None, [self.condition])])}.'

    def groundings(self, facts: list[Fact]) -> Iterator[tuple[Pair, frozenset[Fact]]]:
        for chosen in product(facts, repeat=len(self.body)):
            at: dict[str, object] = {}
            for (predicate, a, b), fact in zip(self.body, chosen, strict=True):
                terms = zip((a, b), fact[1:], strict=True)
                if predicate != fact[0] or not all(self._meets(term, value, at) for term, value in terms):
                    break
            else:
                if not self.condition or eval(self.condition, {}, at):
                    yield tuple(sorted((at["X"], at["Y"]))), tuple(sorted(chosen, key=repr))  # type: ignore[misc, type-var]

    @staticmethod
    def _meets(term: str, value: object, at: dict[str, object]) -> bool:
        known = at.setdefault(term, value) if term[0].isupper() else eval(term)
        return bool(known == value)


RULES = (
    Rule(0.3, (("country", "X", "C"), ("country", "Y", "C")), "X != Y"),
    Rule(0.2, (("country", "X", '"DE"'), ("country", "Y", '"FR"'))),
    Rule(0.5, (("country", "X", '"DE"'), ("country", "Y", '"DE"')), "X != Y"),
    Rule(0.4, (("age", "X", "A"), ("age", "Y", "B")), "A < B"),
    Rule(0.6, (("age", "X", "21"), ("age", "Y", "21")), "X != Y"),
    Rule(0.7, (("classmates", "X", "Y"), ("country", "X", "C"), ("country", "Y", "C"))),
    Rule(0.1, (("classmates", "X", "Y"), ("country", "X", '"FR"'), ("age", "Y", "A")), "A > 20"),
)


def naive(facts: list[Fact], rules: list[Rule]) -> dict[Pair, float]:
    """Noisy-or of the distinct causes of each pair: rules with the facts that they read."""
    ends = {"classmates": lambda fact: (fact[0], *sorted(fact[1:]))}
    fails: dict[Pair, float] = {}
    for rule in rules:
        causes = {
            (head, tuple(sorted((ends.get(f[0], tuple)(f) for f in body), key=repr)))  # type: ignore[operator]
            for head, body in rule.groundings(facts)
        }
        for head, _ in causes:
            fails[head] = fails.get(head, 1.0) * (1 - rule.weight)
    return {head: 1 - p for head, p in fails.items() if head[0] != head[1]}


COUNTRIES = st.sets(st.sampled_from(["DE", "FR", "IT"]), max_size=2)
AGES = st.sets(st.sampled_from(["20", "21", "21.0", "22"]), max_size=2)


@settings(max_examples=inputs(90), deadline=None)
@given(
    st.lists(st.tuples(COUNTRIES, AGES), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=3, unique=True),
    st.integers(0, 99),
)
def test_every_grounding_counts(
    people: list[tuple[set[str], set[str]]], pairs: list[Pair], rules: list[Rule], seed: int
) -> None:
    """Values shared by several entities are dealt by the same generator for both."""
    n = len(people)
    ends = np.array([p for p in pairs if max(p) < n and p[0] != p[1]], dtype=np.int64).reshape(-1, 2)
    ends = np.unique(np.sort(ends, axis=1), axis=0)
    classmates = observations(ends[:, 0], ends[:, 1], mutual=True)
    made = graph([c for c, _ in people], [a for _, a in people], classmates=classmates)
    read = {atom[0] for rule in rules for atom in rule.body}
    symbols = Symbols()
    tables = dealt(hands(Released(made, "intact"), read, symbols), np.random.default_rng(seed))
    facts: list[Fact] = [("classmates", *e) for u, v in ends.tolist() for e in ((u, v), (v, u))]
    for name, table in tables.items():
        entity, code = table.columns
        text = code.view(np.float64).tolist() if name == "age" else symbols.values(code.tolist())
        facts += [(name, e, v) for e, v in zip(entity.tolist(), text, strict=True)]
    text = " ".join(map(str, rules))
    assert believed(made, text, seed=seed) == pytest.approx(naive(facts, rules), abs=1e-9)


def test_values_of_one_entity_are_certain() -> None:
    made = graph([{"DE", "FR"}, {"FR", "IT", "DE"}, {"IT"}])
    assert believed(made, LAND) == pytest.approx({(0, 1): 1 - 0.7**2, (1, 2): 0.3})
    assert not draws_worlds(Released(made, "intact"), load_text(LAND), "friends")


def test_values_that_no_rule_reads_are_not_dealt() -> None:
    made = graph([{"DE", "FR"}] * 2, [{"20"}] * 2)
    by_age = "friends(X, Y) :- age(X, A), age(Y, A), X != Y."
    for text, drawn in ((LAND, True), (by_age, False), (LAND.replace("friends", "near") + by_age, False)):
        assert draws_worlds(Released(made, "intact"), load_text(text), "friends") == drawn
    assert (
        draws_worlds(Released(graph([{"DE"}] * 2, size=[2, 2]), "cluster-edge"), load_text(LAND), "friends")
        is False
    )


# --- worlds -------------------------------------------------------------------------------


def ways(size: int, own: list[str]) -> Counter[tuple[frozenset[str], ...]]:
    """How often each deal of the values comes about, over all equally likely ways."""
    found: Counter[tuple[frozenset[str], ...]] = Counter()
    spare = max(size - len(own), 0) if own else 0
    for entities in permutations(range(size)):
        for order in permutations(own):
            for rest in product(own, repeat=spare):
                held: list[set[str]] = [set() for _ in range(size)]
                for turn, value in enumerate([*order, *rest]):
                    held[entities[turn % size]].add(value)
                found[tuple(map(frozenset, held))] += 1
    return found


@pytest.mark.parametrize(
    ("size", "own"), [(3, "ab"), (2, "abc"), (2, "ab"), (3, "a"), (2, ""), (1, "abc"), (4, "ab")]
)
def test_values_are_dealt_in_all_ways(size: int, own: str) -> None:
    """Chi-square against the enumeration, with 4 standard deviations to spare; another group comes before."""
    expected = ways(size, list(own))
    symbols = Symbols()
    node = np.array([0, 0] + [1] * size)
    one = Hands(values("categorical", [{"x", "y"}, set(own)]), node, node, symbols)
    assert not one.certain
    rng, runs = np.random.default_rng(5), 2000
    found: Counter[tuple[frozenset[str], ...]] = Counter()
    for _ in range(runs):
        entity, code = one.deal(rng)
        held: list[set[str]] = [set() for _ in range(size + 2)]
        for e, text in zip(entity.tolist(), symbols.decode(code.tolist()), strict=True):
            assert text not in held[e]
            held[e].add(text)
        assert held[0] | held[1] == {"x", "y"}
        found[tuple(map(frozenset, held[2:]))] += 1
    assert set(found) <= set(expected)
    scale = runs / expected.total()
    statistic = sum((found[way] - many * scale) ** 2 / (many * scale) for way, many in expected.items())
    free = len(expected) - 1
    assert statistic <= free + 4 * np.sqrt(2 * free) + 1e-9


def expected_of(sets: list[set[str]], size: list[int]) -> dict[Pair, float]:
    """Mean probability of friendship by `LAND`, over all deals, of the pairs of two nodes."""
    found: dict[Pair, float] = {}
    for one in range(len(sets)):
        for other in range(one, len(sets)):
            total, pairs = 0.0, 0.0
            for first, many in ways(size[one], sorted(sets[one])).items():
                for second, more in (
                    ways(size[other], sorted(sets[other])).items() if other > one else [(first, 1)]
                ):
                    both = [
                        (a, b)
                        for i, a in enumerate(first)
                        for j, b in enumerate(second)
                        if other > one or i < j
                    ]
                    total += many * more * sum(1 - 0.7 ** len(a & b) for a, b in both)
                    pairs += many * more * len(both)
            if total:
                found[one, other] = total / pairs
    return found


def test_worlds_converge_to_the_mean_of_all_deals() -> None:
    sets, size = [{"DE", "FR"}, {"FR", "IT", "AT"}, {"DE"}, {"IT", "AT"}], [3, 2, 2, 1]
    made = graph(sets, size=size)
    found = believed(made, LAND, "cluster-edge", worlds=200)
    assert found == pytest.approx(expected_of(sets, size), abs=0.02)
    # entities that have the values of their class, 0 to 2 and 3 to 4
    shared = [sets[0]] * 3 + [sets[1]] * 2 + [sets[2]] * 2 + [sets[3]]
    one, other = (sharing(Released(g, s)) for g, s in ((graph(shared), "intact"), (made, "constrained")))
    assert (np.equal.outer(one, one) == np.equal.outer(other, other)).all()
    alone = believed(graph(shared), LAND, "intact", worlds=200)
    within = expected_of(sets, size)
    assert alone[0, 1] == pytest.approx(within[0, 0], abs=0.05)
    assert alone[0, 3] == pytest.approx(within[0, 1], abs=0.05)
    assert alone[5, 6] == pytest.approx(0.3)
    assert (3, 5) not in alone


def test_after_removal_values_are_left() -> None:
    made = graph([{"DE"}, {"DE"}, {"FR"}], classmates=observations(np.array([0]), np.array([2]), mutual=True))
    rules = LAND + '@label("class", 0.4) friends(X, Y) :- classmates(X, Y).'
    assert believed(made, rules, "removed") == pytest.approx({(0, 1): 0.3})
    assert believed(made, rules, "intact") == pytest.approx({(0, 1): 0.3, (0, 2): 0.4})


@pytest.mark.parametrize("declared", ['@edge("country"). ', '@node("country"). '])
def test_attributes_that_rules_declare_are_values(declared: str) -> None:
    """What rules declare of the graph is ignored."""
    rule = 'friends(X, Y) :- country(X, "it"), country(Y, "it"), X != Y.'
    assert believed(graph([{"it"}, {"it"}, {"fr"}]), declared + rule) == {(0, 1): 1.0}


def test_rules_may_add_to_values() -> None:
    """Students have the countries of their classmates, too: all of them have all three."""
    classmates = observations(np.array([0, 1]), np.array([1, 2]), mutual=True)
    made = graph([{"DE"}, {"FR"}, {"IT"}], classmates=classmates)
    found = believed(made, "country(X, C) :- classmates(X, Y), country(Y, C). " + LAND)
    assert found == pytest.approx(dict.fromkeys([(0, 1), (0, 2), (1, 2)], 1 - 0.7**3))


# --- what is refused ----------------------------------------------------------------------


def test_what_is_no_attribute_is_refused() -> None:
    made = graph([{"DE"}, {"DE"}], classmates=observations(np.array([0]), np.array([1]), mutual=True))
    with pytest.raises(
        AnonymizationError, match="'country' has 3 arguments in the rules of the attacker"
    ) as error:
        believed(made, "friends(X, Y) :- country(X, Y, 1), classmates(X, Y).")
    assert error.value.hint == "an attribute has an entity and a value"
    with pytest.raises(
        AnonymizationError, match=r"no relation or attribute .*are: classmates, country\)"
    ) as error:
        believed(made, "friends(X, Y) :- land(X, C), country(Y, C).")
    with pytest.raises(AnonymizationError, match="'country' is a relation and an attribute of the release"):
        believed(graph([{"DE"}], country=observations(np.array([0]), np.array([0]))), LAND)
    with pytest.raises(ProgramError, match="E501") as wrong:
        believed(graph([{"DE"}], [{"20"}]), "friends(X, Y) :- country(X, C), age(Y, C).")
    assert str(wrong.value).count("E501") == 1
    assert "cause" not in str(wrong.value)
    with pytest.raises(ProgramError, match="E403"):
        believed(made, 'friends(X, Y) :- classmates(X, Y), country("Ann", C), country(X, C).')
    with pytest.raises(ProgramError, match="E40"):
        believed(made, "friends(X, Y) :- country(X, Y).")
    # facts are those of the release, as with relations
    assert believed(made, 'country("Ann", "FR"). ' + LAND) == pytest.approx({(0, 1): 0.3})


# --- commands -----------------------------------------------------------------------------


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


KINDS = ("--attributes", "land", "--numeric", "age", "--mutual", "knows,likes", "--sensitive", "likes")


def test_values_from_the_command_line(tmp_path: Path) -> None:
    facts, rules = tmp_path / "facts.csv", tmp_path / "attacker.vada"
    rows = [f"p{i},land,{'DE' if i % 2 else 'FR'}" for i in range(12)] + [
        f"p{i},age,{20 + i % 3}" for i in range(12)
    ]
    rows += [f"p{i},knows,p{(i + 1) % 12}" for i in range(12)]
    rows += [f"p{i},likes,p{j}" for i in range(12) for j in range(i) if (i - j) % 2 == 0]
    facts.write_text("\n".join([*rows, ""]), encoding="utf-8")
    rules.write_text(LAND.replace("country", "land").replace("friends", "likes"), encoding="utf-8")

    def attack(place: str, *more: object) -> Result:
        folders = ("--mapping", tmp_path / place / "private", "--original", facts, *KINDS)
        return run("links", "attack", tmp_path / place / "release", *folders, *more, "--thresholds", 0.25)

    for strategy, k in (("intact", 2), ("cluster-edge", 3), ("removed", 2)):
        folders = ("--release", tmp_path / strategy / "release", "--private", tmp_path / strategy / "private")
        made = run("links", "anonymize", facts, *KINDS, "--strategy", strategy, "-k", k, *folders)
        assert made.exit_code == 0, made.stderr
    found = attack("removed", "--rules", rules, "--json")
    assert json.loads(found.stdout)["thresholds"][0]["recall"] == 1.0  # the lands say it all
    assert json.loads(found.stdout)["thresholds"][0]["precision"] == 1.0
    assert "the attacker's rules do not read knows, age, which the release holds" in found.stderr
    for place in ("intact", "removed"):  # both entities of a class have one land
        said = attack(place, "--rules", rules, "--worlds", 9)
        assert said.exit_code == 2
        assert (
            "--worlds has no meaning for a release that says which entities are linked, and have"
            in said.stderr
        )
    assert attack("cluster-edge", "--rules", rules, "--worlds", 9).exit_code == 0
    said = attack("intact", "--noise", "knows=0.1", "--noise", "land=0.1")
    assert said.exit_code == 2
    assert "there is noise of 'land', which is an attribute: noise is of links" in said.stderr
    assert "write a rule: ... :- land(X, V), land(Y, V), X != Y." in said.stderr
