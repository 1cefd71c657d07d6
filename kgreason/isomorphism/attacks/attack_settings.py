"""Settings of attacks: knowledge of the attacker, graphs, and checks of the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.base.records import record
from kgreason.base.setting_fields import check_numbers
from kgreason.graph.knowledge_graph import KnowledgeGraph, beside
from kgreason.isomorphism.arguments import attacked_sizes
from kgreason.language.check.checked_program import CheckedProgram

Sees = Literal["edges", "derived", "rules", "other"]
# Knowledge of single vertices in the default panel; ``refinement:I`` goes for every I from 0 to 9.
VERTEX = ("degree", "neighbourhood", "hubs", "refinement:2", "refinement:4")
SEEDS = "seeds"
LARGEST = 8  # vertices of a known x-subgraph; canonical forms try all permutations
Ints = npt.NDArray[np.int64]
DRAWN = 10  # default number of seeds


@record
class Part:
    """Knowledge of an x-subgraph X: a row of Table 4 of the KGISO paper."""

    name: str
    formula: str  # in the paper
    sees: Sees  # known besides the ground edges: nothing, derived edges without rules, the rules, or other rules
    weighted: bool  # whether the edges of X are known with weights

    @property
    def key(self) -> tuple[Sees, bool]:
        """Determinant of the candidates: all weights are changed, so without rules they do not matter."""
        return self.sees, self.weighted and self.sees in {"rules", "other"}


# Table 4, top to bottom.
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


def _known_as(name: str) -> tuple[str, ...]:
    """Kinds of knowledge that a name denotes; empty if the name is unknown."""
    parts = tuple(part.name for part in PARTS)
    if name == "all":
        return (*parts, *VERTEX, SEEDS)
    if name == "part":
        return parts
    if name == "refinement":
        return ("refinement:2",)
    prefix, _, rounds = name.rpartition(":")
    known = name in (*parts, *VERTEX, SEEDS) or (prefix == "refinement" and rounds in set("0123456789"))
    return (name,) if known else ()


@record(eq=False)
class World:
    """Graphs of one run of an attack."""

    known: KnowledgeGraph  # graph that the attacker knows in part
    released: KnowledgeGraph  # graph that the attacker searches
    truth: Ints  # vertex v of `known` is vertex ``truth[v]`` of `released`
    drawn: KnowledgeGraph  # in it a known x-subgraph is connected: `known`, or the part that the guarantee covers


def united(one: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """Disjoint union of two graphs with new labels; both may be the same graph.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b")])
    >>> united(graph, graph).labels.tolist()
    ['0', '1', '2', '3']
    """
    labels = np.arange(one.n + other.n).astype(str).astype(object)
    return replace(beside(one, other), labels=labels)


def induced(graph: KnowledgeGraph, vertices: Ints) -> KnowledgeGraph:
    """Subgraph induced by some vertices, numbered in their order.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")])
    >>> induced(graph, np.array([2, 1])).ends
    (array([1]), array([0]))
    """
    number = np.full(graph.n, -1, dtype=np.int64)
    number[vertices] = np.arange(len(vertices))
    relations = {}
    for name, r in graph.relations.items():
        edges = r.take((number[r.source] >= 0) & (number[r.target] >= 0))
        relations[name] = replace(edges, source=number[edges.source], target=number[edges.target])
    return KnowledgeGraph(graph.labels[vertices], relations)


WORDS = f"say all, part, {', '.join(p.name for p in PARTS)}, degree, neighbourhood, hubs, refinement:2, seeds"


@record(eq=False)
class Setting:
    """Target and parameters of the attacks."""

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Ints  # as in `kgreason.verify`
    # of the release as "rules", of an attacker with other rules as "other"
    rules: Mapping[str, CheckedProgram]
    k: int
    x: tuple[int, ...]  # ascending
    sizes: tuple[int, ...]  # of the known x-subgraphs
    targets: int  # number of target vertices or x-subgraphs
    seeds: Ints | int  # original vertices known to the seed attacker, or the number of them to draw
    drop: float | None  # share of edges dropped as implausible; `None`: the share of synthetic edges
    weights: str  # known to attackers who know weights: "released" or "original"
    parts: Ints | None = None  # of the original vertices if the release leaves out the edges between parts


def knowledge_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of knowledge that are named, without duplicates; `AnonymizationError` if a name is unknown.

    Examples
    --------
    >>> knowledge_of(["degree", "refinement", "degree"])
    ('degree', 'refinement:2')
    """
    found: dict[str, None] = {}
    for name in (names,) if isinstance(names, str) else tuple(names):
        if not isinstance(name, str) or not (kinds := _known_as(name)):
            raise AnonymizationError(f"there is no knowledge {name!r}", hint=WORDS)
        found |= dict.fromkeys(kinds)
    if not found:
        raise AnonymizationError("no knowledge is named", hint=WORDS)
    return tuple(found)


def parts_known(known: object, x: Sequence[int], n: int) -> tuple[int, ...]:
    """Sizes of known x-subgraphs, integers from 1 to 8; by default x - 1, x and x + 1.

    Examples
    --------
    >>> parts_known(None, (4,), 100), parts_known(range(2, 4), (4,), 100)
    ((3, 4, 5), (2, 3))
    """
    around = range(max(2, min(x) - 1), min(max(x) + 1, LARGEST) + 1)
    sizes = attacked_sizes(known) if known is not None else tuple(s for s in around if s <= n) or (1,)
    if sizes[-1] > LARGEST:
        raise AnonymizationError(
            f"places of a part of {sizes[-1]} vertices cannot be distinguished exactly",
            hint=f"let attackers know subgraphs of at most {LARGEST} vertices: --known {LARGEST}",
        )
    return sizes


def seeds_of(seeds: object, original: KnowledgeGraph) -> Ints | int:
    """Seeds as vertices, or their number, at least 1 and by default 10."""
    if seeds is None:
        return DRAWN
    if isinstance(seeds, int | np.integer):
        check_numbers(seeds=(int(seeds), 1))
        return int(seeds)
    labels = (seeds,) if isinstance(seeds, str) else tuple(seeds) if isinstance(seeds, Iterable) else ()
    number = {label: i for i, label in enumerate(original.labels.tolist())}
    if unknown := next((label for label in labels if label not in number), None):
        raise AnonymizationError(
            f"the seed {unknown!r} is no vertex of the original graph",
            hint="seeds are labels of the original graph, not of the release",
        )
    if not labels:
        raise AnonymizationError("no seeds are given", hint="say how many, or name some vertices")
    return np.unique(np.array([number[label] for label in labels], dtype=np.int64))


def check_effects(
    knowledge: Sequence[str], *, known: object, other_rules: object, weights: str, seeds: object
) -> None:
    """Refuse options that have no effect on any of the attackers.

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
    """Raise `AnonymizationError` for an invalid setting, `ReleaseError` for a broken mapping."""
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
    # if all parts are asked for, those with other rules are left out silently
    elif any(name.endswith("+other") for name in knowledge) and not {p.name for p in PARTS} <= set(knowledge):
        raise AnonymizationError(
            "which other rules does the attacker have?", hint="name them: --other-rules FILE"
        )
