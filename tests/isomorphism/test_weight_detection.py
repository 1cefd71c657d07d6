"""Whether the weight of a released edge, and nothing else, tells if the edge is original.

The attacker has another release of the same graph and knows all of that one: a classifier is trained on it and tested
on the release. It sees the weight, its digits, how often it occurs, and the gaps to the weights next to it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

import kgreason
from kgreason.base.progress import SILENT
from kgreason.graph.generators import ownership, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymization import choose
from kgreason.isomorphism.anonymizers.weight_density import GRID
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.arguments import anonymizable
from kgreason.isomorphism.settings import Method, Settings
from kgreason.language.check.program_checker import load_text
from kgreason.reasoning.api import load
from tests.needs import quick

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Released = tuple[Doubles, Flags]

UNREAD = load_text('@edge("own"). @derived("d"). d(X,Y) :- own(X,Y,W), W > 0.')
COMPARED = load_text('@edge("own"). @derived("d"). @query("d"). d(X,Y) :- own(X,Y,W), W > 0.5.')
ADDED = load_text('@edge("own"). @query("d"). d(Y) :- own(X,Y,W), V = msum(W, <X>), V > 0.5.')
MULTIPLIED = load_text('@edge("own"). @query("d"). d(X,Z) :- own(X,Y,W), own(Y,Z,V), W * V > 0.2.')
ONE_PLAN: dict[Method, dict[str, int]] = {"klone": {}, "kguard": {"plans": 1}}
PROGRAMS = {"unread": UNREAD, "compared": COMPARED, "added": ADDED, "multiplied": MULTIPLIED}

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Doubles]] = {
    "constant": lambda _, m: np.ones(m),
    "nearly constant": lambda rng, m: np.where(rng.random(m) < 0.995, 1.0, rng.random(m)),
    "constant inside": lambda rng, m: np.where(rng.random(m) < 0.996, 0.53, rng.random(m)),
    "ties": lambda rng, m: np.round(rng.random(m), 1).clip(0.1),
    "few values": lambda rng, m: rng.choice([0.25, 0.5, 0.75, 1.0], m),
    "two values": lambda rng, m: rng.choice([0.1, 0.9], m, p=[0.3, 0.7]),
    "bounds": lambda rng, m: rng.choice([0.0, 1.0], m, p=[0.4, 0.6]),
    "Pareto": lambda rng, m: np.minimum(1.0, 0.001 * (1 + rng.pareto(1.2, m))),
    "lognormal": lambda rng, m: np.minimum(1.0, np.exp(rng.normal(-5, 2, m))),
    "uniform": lambda rng, m: rng.random(m),
    "Beta": lambda rng, m: rng.beta(0.4, 2, m),
    "fine": lambda rng, m: 0.5 + rng.random(m) * 1e-4,
}
FIRST = ["nearly constant", "ties", "few values", "Pareto", "uniform", "fine"]
OTHERS = [name for name in DISTRIBUTIONS if name not in FIRST]
CASES = [
    *product(["unread"], FIRST),
    *product(["compared", "added", "multiplied"], FIRST),
    *product(["added"], OTHERS),
]
"""All rules with the distributions that differ most, and one of them with the others."""


def weighted(name: str, n: int, seed: int = 1) -> KnowledgeGraph:
    rng = np.random.default_rng(seed)
    graph = scale_free(n, 2.5, rng)
    own = graph.relations["own"]
    weight = DISTRIBUTIONS[name](rng, len(own))
    return KnowledgeGraph(graph.labels, {"own": Relation(own.source, own.target, weight)})


def features(weight: Doubles, k: int) -> Doubles:
    units = np.rint(weight * GRID).astype(np.int64)
    values, place, count = np.unique(units, return_inverse=True, return_counts=True)
    gaps = np.diff(values, prepend=-GRID, append=2 * GRID)
    digits = np.array([len(str(v).rstrip("0")) for v in values.tolist()])
    seen = [values, count, count / len(units), count % k, gaps[:-1], gaps[1:], digits]
    return np.stack(seen, axis=1)[place].astype(np.float64)


def told(known: Released, attacked: Released, k: int = 1) -> dict[str, float]:
    """AUC of a forest, of the share of synthetic edges by value, and of the weight itself."""
    (weight, truth), (other, secret) = known, attacked
    # both kinds weigh as much, as in the AUC
    balance = np.where(truth, (~truth).sum() / truth.sum(), 1.0)
    forest = ExtraTreesClassifier(40, min_samples_leaf=5, max_features=None, random_state=0)
    forest.fit(features(weight, k), truth, balance)
    values, place = np.unique(np.append(weight, other).round(6), return_inverse=True)
    here = place[: len(weight)]
    each, synthetic = (np.bincount(here, w, len(values)) for w in (balance, np.where(truth, balance, 0.0)))
    share = ((synthetic + 1) / (each + 2))[place[len(weight) :]]
    guesses = {
        "forest": forest.predict_proba(features(other, k))[:, 1],
        "value": share,
        "weight": other,
    }
    return {name: float(roc_auc_score(secret, guess)) for name, guess in guesses.items()}


def hardly(found: dict[str, float]) -> bool:
    return all(abs(auc - 0.5) <= 0.05 for auc in found.values())


def test_the_attack_finds_values_and_gaps() -> None:
    """It must see what an ordering by weight does not."""
    rng = np.random.default_rng(0)
    truth = rng.random(4_000) < 0.5
    inside = np.where(truth & (rng.random(4_000) < 0.4), 0.53, np.round(rng.random(4_000), 2))
    odd = np.where(truth, np.round(rng.random(4_000), 3), np.round(rng.random(4_000), 2))
    for weight in (inside, odd):
        half = np.arange(4_000) < 2_000
        found = told((weight[half], truth[half]), (weight[~half], truth[~half]))
        assert abs(found["weight"] - 0.5) < 0.05
        assert found["forest"] > 0.65


@pytest.mark.parametrize(("program", "name"), quick(4, CASES))
def test_edges_between_copies_of_klone(name: str, program: str) -> None:
    """Copies have the weights of the first, so that is compared with the edges that were added."""
    graph = weighted(name, 1_000)
    released = []
    for seed in range(2):
        augmented = choose(Settings(method="klone", mode="exact", k=3, trials=3), (3,)).augment(
            graph, PROGRAMS[program], np.random.default_rng(seed), SILENT
        )
        weight = augmented.graph.relations["own"].weight
        truth = np.arange(len(weight)) >= 3 * graph.m
        assert truth.sum() > 4_000
        assert np.array_equal(weight[: graph.m], weight[graph.m : 2 * graph.m])
        released.append((weight, truth))
    assert hardly(told(*released, k=3))


@pytest.mark.parametrize(("program", "name"), quick(4, CASES))
def test_copied_and_synthetic_edges_of_kguard(name: str, program: str) -> None:
    """As many copied and as many synthetic edges as original ones; copies of all, so each side is as frequent."""
    graph = weighted(name, 1_500)
    own, m = graph.relations["own"], graph.m
    released = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        noising = WeightNoising.fit(graph, PROGRAMS[program], 3)
        noised = noising.originals(rng, SILENT)
        copied = noising.copies(noised, rng).relations["own"].weight
        both = np.concatenate([noised.relations["own"].weight, copied, np.zeros(m)])
        ends = (
            np.concatenate([own.source, own.source + graph.n, own.target]),
            np.concatenate([own.target, own.target + graph.n, own.source + graph.n]),
        )
        labels = np.arange(2 * graph.n).astype(str).astype(object)
        augmented = KnowledgeGraph(labels, {"own": Relation(*ends, both)})
        weight = noising.synthetic(augmented, {"own": 2 * m}, rng, SILENT).relations["own"].weight
        released.append(weight)
    kind = np.repeat(np.arange(3), m)
    for other in (1, 2):
        rows = (kind == 0) | (kind == other)
        assert hardly(told(*((weight[rows], kind[rows] > 0) for weight in released)))


@pytest.mark.parametrize("name", quick(1, ["ties", "Pareto", "uniform"]))
def test_copies_of_small_graphs_repeat_no_weights(name: str) -> None:
    """As many copied as original edges, made a few at a time: values of copies occur no more often."""
    graph = weighted(name, 60)
    own, m = graph.relations["own"], graph.m
    weights, kinds = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noising = WeightNoising.fit(graph, UNREAD, 3)
        weight = [noising.originals(rng, SILENT).relations["own"].weight]
        for rows in np.array_split(rng.permutation(m), 8):
            part = Relation(own.source[rows], own.target[rows], weight[0][rows])
            copied = noising.copies(KnowledgeGraph(graph.labels, {"own": part}), rng)
            weight.append(copied.relations["own"].weight)
        weights.append(features(np.concatenate(weight), 1))
        kinds.append(np.arange(2 * m) >= m)
    often, kind = np.concatenate(weights)[:, 1], np.concatenate(kinds)
    assert abs(roc_auc_score(kind, often) - 0.5) <= 0.05


@pytest.mark.parametrize(
    # KLONE adds five edges for each original one, so nine of ten are synthetic anyhow
    ("method", "nearly_all", "most"),
    quick(1, [("klone", 0.98, 0.04), ("kguard", 0.9, 0.1)]),
)
def test_values_of_synthetic_edges_where_sums_are_bounded(
    method: Method, nearly_all: float, most: float
) -> None:
    """Where little room is left, the few original weights that fit must not become marks of synthetic edges."""
    rules = load(Path(kgreason.__file__).parents[1] / "examples" / "ownership" / "control.vada")
    graph, rules = ownership(300, np.random.default_rng(20)), anonymizable(rules)
    shares = []
    for seed in (1, 5, 6):
        rng = np.random.default_rng(seed)
        released = (
            choose(Settings(method=method, mode="exact", k=3, trials=10, **ONE_PLAN[method]), (4,))
            .augment(graph, rules, rng, SILENT)
            .graph
        )
        _, place, count = np.unique(
            np.rint(released.relations["own"].weight * GRID), return_inverse=True, return_counts=True
        )
        synthetic = np.bincount(place[graph.m :], minlength=len(count))
        marks = (count >= 6) & (synthetic >= nearly_all * count)
        shares.append(synthetic[marks].sum() / synthetic.sum())
    assert np.mean(shares) < most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Beta", "uniform"])
def test_edges_that_kguard_adds(name: str) -> None:
    """Whole releases: how many edges of copies are above a number of the rules is of rare parts, no more is told."""
    graph = weighted(name, 100)
    weights, kinds = [], []
    for seed in range(36):
        rng = np.random.default_rng(seed)
        released = choose(Settings(method="kguard", mode="exact", k=3, trials=3, plans=1), (3,)).augment(
            graph, COMPARED, rng, SILENT
        )
        weight = released.graph.relations["own"].weight
        weights.append(features(weight, 1)[:, [0, 1, 4, 6]])
        kinds.append(np.arange(len(weight)) >= graph.m)
    seen, kind = np.concatenate(weights), np.concatenate(kinds)
    for side in (seen[:, 0] > GRID / 2, seen[:, 0] <= GRID / 2):
        assert kind[side].sum() > 300
        for column in seen.T:
            assert abs(roc_auc_score(kind[side], column[side]) - 0.5) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("method", ["klone", "kguard"])
def test_ninety_nine_of_a_hundred_ones(method: Method) -> None:
    """The weight of nearly all edges before is that of few released ones, synthetic or not."""
    graph = weighted("nearly constant", 150)
    ones = np.zeros(2)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        augmented = choose(
            Settings(method=method, mode="exact", k=3, trials=3, **ONE_PLAN[method]), (3,)
        ).augment(graph, COMPARED, rng, SILENT)
        weight = augmented.graph.relations["own"].weight
        ones += [(weight[: graph.m] == 1).mean(), (weight[graph.m :] == 1).mean()]
    assert (ones / 6 < 0.02).all()
