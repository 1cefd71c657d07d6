"""Attacks: the knowledge of the attacker, the graphs, and the settings that are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from kgreason.base.argument_checks import check_numbers
from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.parts import beside
from kgreason.isomorphism.arguments import attacked_sizes
from kgreason.language.check.checked_program import CheckedProgram

Sees = Literal["edges", "derived", "rules", "other"]


@dataclass(frozen=True)
class Part:
    """Knowledge of a part X of the graph: a row of Table 4 of the KGISO paper.

    Attributes
    ----------
    name, formula
        What it is called here and in the paper.
    sees
        The edges alone; also what the rules derive from them, without the rules; the rules; or other rules.
    weighted
        Whether what is derived from X is derived with weights.
    """

    name: str
    formula: str
    sees: Sees
    weighted: bool

    @property
    def key(self) -> tuple[Sees, bool]:
        """What decides the candidates: where no rules are run, weights, all of which are changed, tell nothing."""
        return self.sees, self.weighted and self.sees in {"rules", "other"}


PARTS = (
    Part("part:edges", "Gᵘ[X]", "edges", False),
    Part("part:edges+derived", "Σ(Gᵘ[X])", "derived", False),
    Part("part:edges+rules", "(Gᵘ[X],Σ)", "rules", False),
    Part("part:edges+other", "(Gᵘ[X],Σ*)", "other", False),
    Part("part:weights", "G[X]", "edges", True),
    Part("part:weights+derived", "Σ(G[X])", "derived", True),
    Part("part:weights+rules", "(G[X],Σ)", "rules", True),
    Part("part:weights+other", "(G[X],Σ*)", "other", True),
)
"""Table 4, top to bottom."""

VERTEX = ("degree", "neighbourhood", "hubs", "refinement:2", "refinement:4")
"""Knowledge of single vertices in the default panel; ``refinement:I`` goes for every I from 0 to 9."""

SEEDS = "seeds"
LARGEST = 8  # vertices of a known part; canonical forms try all permutations


def _known_as(name: str) -> tuple[str, ...]:
    """Names of the kinds of knowledge that a name stands for; none if it is no name.

    Examples
    --------
    >>> _known_as("degree"), _known_as("refinement"), _known_as("part")[0], _known_as("everything")
    (('degree',), ('refinement:2',), 'part:edges', ())
    """
    parts = tuple(part.name for part in PARTS)
    if name == "all":
        return (*parts, *VERTEX, SEEDS)
    if name == "part":
        return parts
    if name == "refinement":
        return ("refinement:2",)
    rounds = name.removeprefix("refinement:")
    fine = name in (*parts, *VERTEX, SEEDS) or (rounds != name and rounds in set("0123456789"))
    return (name,) if fine else ()


Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class World:
    """One run of an attack.

    Attributes
    ----------
    known
        The graph of which the attacker knows something.
    released
        The graph in which he looks for it.
    truth
        Vertex v of `known` stands at ``truth[v]`` in `released`; int64, shape (n,).
    drawn
        The graph in which a known part is connected: `known`, or what of it the guarantee is about.
    """

    known: KnowledgeGraph
    released: KnowledgeGraph
    truth: Ints
    drawn: KnowledgeGraph


def united(one: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """Put two graphs beside each other, with labels of their own: both may be the same graph.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b")])
    >>> united(graph, graph).labels.tolist()
    ['0', '1', '2', '3']
    """
    labels = np.arange(one.n + other.n).astype(str).astype(object)
    return replace(beside(one, other), labels=labels)


def induced(graph: KnowledgeGraph, vertices: Ints) -> KnowledgeGraph:
    """The subgraph on some vertices, numbered in their order.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")])
    >>> induced(graph, np.array([2, 1])).ends
    (array([1]), array([0]))
    """
    number = np.full(graph.n, -1, dtype=np.int64)
    number[vertices] = np.arange(len(vertices))
    relations = {
        name: kept(
            replace(r, source=number[r.source], target=number[r.target]),
            (number[r.source] >= 0) & (number[r.target] >= 0),
        )
        for name, r in graph.relations.items()
    }
    return KnowledgeGraph(graph.labels[vertices], relations)


def kept(relation: Relation, rows: Flags) -> Relation:
    """Some edges of a relation."""
    weight = None if relation.weight is None else relation.weight[rows]
    return replace(relation, source=relation.source[rows], target=relation.target[rows], weight=weight)


DRAWN = 10  # seeds, if nothing else is said
WORDS = (
    "say all, part, "
    + ", ".join(p.name for p in PARTS)
    + ", degree, neighbourhood, hubs, refinement:2, seeds"
)


@dataclass(frozen=True, eq=False)
class Setting:
    """What is attacked, and how.

    Attributes
    ----------
    original, released, mapping
        As in `kgreason.verify`.
    rules
        The rules of the release as ``"rules"``, and those of an attacker with ``"other"`` ones.
    k, x
        What was promised; x ascending.
    sizes
        Vertices of the parts that attackers know.
    targets
        How many vertices or parts are looked for.
    seeds
        Vertices of the original that somebody knows who spreads from them, or how many are drawn.
    drop
        Share of the released edges that look implausible and are dropped; `None`: as many as are synthetic.
    weights
        Whether who knows weights knows the ``"released"`` or the ``"original"`` ones.
    parts
        Part of each original vertex, where the release gives up the edges between them.
    """

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Ints
    rules: Mapping[str, CheckedProgram]
    k: int
    x: tuple[int, ...]
    sizes: tuple[int, ...]
    targets: int
    seeds: Ints | int
    drop: float | None
    weights: str
    parts: Ints | None = None


def knowledge_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of knowledge, each once.

    Raises
    ------
    AnonymizationError
        Naming one that there is not.

    Examples
    --------
    >>> knowledge_of(["degree", "refinement", "degree"])
    ('degree', 'refinement:2')
    """
    found: dict[str, None] = {}
    for name in (names,) if isinstance(names, str) else tuple(names):
        if not isinstance(name, str) or not (meant := _known_as(name)):
            raise AnonymizationError(f"there is no knowledge {name!r}", hint=WORDS)
        found |= dict.fromkeys(meant)
    if not found:
        raise AnonymizationError("no knowledge is named", hint=WORDS)
    return tuple(found)


def parts_known(known: object, x: Sequence[int], n: int) -> tuple[int, ...]:
    """Numbers of vertices of known parts: those asked for, or what was promised, one less and one more.

    Raises
    ------
    AnonymizationError
        If one is no whole number from 1 to 8.

    Examples
    --------
    >>> parts_known(None, (4,), 100), parts_known(range(2, 4), (4,), 100)
    ((3, 4, 5), (2, 3))
    """
    around = range(max(2, min(x) - 1), min(max(x) + 1, LARGEST) + 1)
    sizes = attacked_sizes(known) if known is not None else tuple(s for s in around if s <= n) or (1,)
    if sizes[-1] > LARGEST:
        raise AnonymizationError(
            f"places of a part of {sizes[-1]} vertices cannot be told apart exactly",
            hint=f"let attackers know parts of at most {LARGEST} vertices: --known {LARGEST}",
        )
    return sizes


def seeds_of(seeds: object, original: KnowledgeGraph) -> Ints | int:
    """Seeds as vertices, or their number, by default 10.

    Raises
    ------
    AnonymizationError
        If a label is none of the original's, or the number is below 1.
    """
    if seeds is None:
        return DRAWN
    if isinstance(seeds, int | np.integer):
        check_numbers(seeds=(int(seeds), 1))
        return int(seeds)
    given = (seeds,) if isinstance(seeds, str) else tuple(seeds) if isinstance(seeds, Iterable) else ()
    number = {label: i for i, label in enumerate(original.labels.tolist())}
    if unknown := next((label for label in given if label not in number), None):
        raise AnonymizationError(
            f"the seed {unknown!r} is no vertex of the original graph",
            hint="seeds are labels of the original graph, not of the release",
        )
    if not given:
        raise AnonymizationError("no seeds are given", hint="say how many, or name some vertices")
    return np.unique(np.array([number[label] for label in given], dtype=np.int64))


def check_effects(
    knowledge: Sequence[str], *, known: object, other_rules: object, weights: str, seeds: object
) -> None:
    """Refuse options that none of the attackers heeds.

    Raises
    ------
    AnonymizationError
        Naming the option.

    Examples
    --------
    >>> check_effects(["degree"], known=3, other_rules=None, weights="released", seeds=None)
    Traceback (most recent call last):
        ...
    kgreason.base.errors.AnonymizationError: --known has no effect: no attacker who knows a part is asked for
      help: leave it out, or add --knowledge part
    """
    parts = any(name.startswith("part:") for name in knowledge)
    others = any(name.endswith("+other") for name in knowledge)
    idle = [
        ("--known", known is not None and not parts, "knows a part", "part"),
        ("--weights original", weights == "original" and not parts, "knows a part", "part"),
        ("--other-rules", other_rules is not None and not others, "has other rules", "part:weights+other"),
        ("--seeds", seeds is not None and SEEDS not in knowledge, "spreads from seeds", SEEDS),
    ]
    for option, useless, who, missing in idle:
        if useless:
            raise AnonymizationError(
                f"{option} has no effect: no attacker who {who} is asked for",
                hint=f"leave it out, or add --knowledge {missing}",
            )


def check_setting(setting: Setting, knowledge: Sequence[str]) -> None:
    """Refuse what cannot be attacked.

    Raises
    ------
    AnonymizationError
        Naming what is wrong.
    ReleaseError
        If the mapping is broken.
    """
    mapping, released = setting.mapping, setting.released
    if not setting.original.n:
        raise AnonymizationError("the graph has no vertices", hint="does the file hold any rows?")
    if len(mapping) != setting.original.n or not ((mapping >= 0) & (mapping < released.n)).all():
        raise ReleaseError("some original vertices have no released vertex", hint="is this another mapping?")
    if len(np.unique(mapping)) != len(mapping):
        raise ReleaseError("some original vertices share a released vertex", hint="is this another mapping?")
    for graph in (setting.original, released):
        if any(r.weight is not None and np.isnan(r.weight).any() for r in graph.relations.values()):
            raise AnonymizationError(
                "some weights are not numbers", hint="look for NaN among the weights of the graph"
            )
    if setting.drop is not None and not 0 <= setting.drop <= 1:
        raise AnonymizationError(f"the share of edges to drop must lie between 0 and 1, not {setting.drop}")
    if setting.weights not in {"released", "original"}:
        raise AnonymizationError(f"weights are 'released' or 'original', not {setting.weights!r}")
    if "other" in setting.rules:
        if not setting.rules["other"].derived:
            raise AnonymizationError("the other rules derive no edges", hint='name some by @derived("...")')
    # where all rows are asked for, those with other rules are left out
    elif any(name.endswith("+other") for name in knowledge) and not {p.name for p in PARTS} <= set(knowledge):
        raise AnonymizationError(
            "which other rules does the attacker have?", hint="name them: --other-rules FILE"
        )
