"""Observed and sensitive links of a rule file and its data, and remarks on what gives sensitive links away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.data.load import Data, load_facts, load_graph
from kgreason.engine.post import apply_posts
from kgreason.engine.seminaive import evaluate
from kgreason.errors import DataError
from kgreason.graph.links.model import LinkGraph, Observations, Original, Sensitive, observations
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.graph.people.model import Texts
from kgreason.lang.names import suggest
from kgreason.progress import SILENT, Progress

_ALIKE = 0.9  # share of the pairs of either relation that are pairs of both, where one tells the other
_FEWEST = 10  # links that tell whether a relation is mutual
_SHOWN = 3


def tell_amiss(original: Original, progress: Progress) -> None:
    """Note observed relations that are nearly the sensitive one."""
    graph, secret = original.graph, original.sensitive
    hidden = _pairs(graph.n, secret.source, secret.target)
    for name, found in graph.observed.items():
        share = _jaccard(_pairs(graph.n, found.source, found.target), hidden)
        if share >= _ALIKE:
            progress.note(
                f"{name} links nearly the same entities as {secret.name} ({100 * share:.0f} % of the pairs of either): "
                f"it tells {secret.name}. Leave it out, or release no links"
            )


def tell_unknown(labels: Texts, links: int, name: str, progress: Progress) -> None:
    """Note entities that only sensitive links name, and how many of these are left out with them."""
    if not len(labels):
        return
    shown = ", ".join(repr(label) for label in labels[:_SHOWN].tolist())
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    progress.note(
        f"of {shown}{more} nothing is known but {name}: {len(labels):,} entities and {links:,} links of {name} are "
        "left out, for nodes without links and values would tell of them. A table that lists entities keeps them"
    )


def _pairs(n: int, source: Vertices, target: Vertices) -> Vertices:
    """A number for each pair that is linked in any direction, ascending."""
    return np.unique(np.minimum(source, target) * n + np.maximum(source, target))


def _jaccard(one: Vertices, other: Vertices) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / max(len(one) + len(other) - both, 1)


def tell_both_ways(graph: LinkGraph, progress: Progress) -> None:
    """Note relations that may be mutual though nobody said so: all their links run both ways."""
    for name, found in graph.observed.items():
        if _both_ways(found, graph.n):
            progress.note(
                f"each link of {name} has its reverse: if {name} is mutual, say so, or each link counts as two"
            )


def _both_ways(found: Observations, n: int) -> bool:
    """Whether a directed relation has each of its links in both directions."""
    back = np.sort(found.target * n + found.source)
    return (
        not found.mutual and len(found) >= _FEWEST and bool((back == found.source * n + found.target).all())
    )


def links_of_program(
    program: CheckedProgram, data: Data, sensitive: str, progress: Progress = SILENT
) -> Original:
    """Read the ground edges of a program as observed links, and find the links that must not be told.

    Links have a direction, and weights where edges have them; parallel edges of different weights are several. An edge
    from an entity to itself is no link. Entities that only sensitive edges name are left out with these.

    Parameters
    ----------
    data
        Sources of facts; see `kgreason.data.load.load_facts`.
    sensitive
        A predicate: one of the edges, which is then not observed, or one that the rules derive or the data hold, whose
        facts are pairs of entities.
    progress
        Is told what was left out, and what gives sensitive links away.

    Raises
    ------
    DataError
        If there is no such predicate, it holds no pairs of entities, nothing else is observed, or the data are at
        fault.
    ProgramError, EvaluationError
        If rules and data do not go together.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text('@edge("own"). control(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> found = links_of_program(program, {"own": [("A", "B", 0.6), ("A", "C", 0.2)]}, "control")
    >>> found.graph, found.sensitive.source.tolist(), found.sensitive.target.tolist()
    (<LinkGraph with 3 nodes; own 2>, [0], [1])
    """
    _check(program, sensitive)
    others = tuple(edge for edge in program.edges if edge != sensitive)
    rest = {name: some for name, some in data.items() if name != sensitive or name not in program.edges}
    graph = load_graph(replace(program, edges=others), rest, progress)
    observed = {name: _observed(name, relation, progress) for name, relation in graph.relations.items()}
    source, target, left_out = (
        _derived(program, data, graph, sensitive, progress)
        if sensitive not in program.edges or sensitive in program.heads
        else _ground(program, data, graph, sensitive, progress)
    )
    original = Original(
        LinkGraph(graph.labels, observed),
        Sensitive(sensitive, *_distinct(graph.n, source, target, sensitive, progress), left_out=left_out),
    )
    tell_amiss(original, progress)
    return original


def _check(program: CheckedProgram, sensitive: str) -> None:
    arity = program.arities.get(sensitive)
    if arity is None and sensitive not in program.edges:
        near = suggest(sensitive, program.arities)
        known = sorted({*program.edges, *(p for p in program.heads if program.arities[p] == 2)})
        asked = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
        raise DataError(
            program.file, f"there is no predicate {sensitive!r} that could be sensitive", hint=asked
        )
    if arity != 2 and sensitive not in program.edges:
        raise DataError(
            program.file,
            f"{sensitive!r}, which is to be sensitive, has {arity} arguments",
            hint=f"add a rule that leaves two entities, as in pair(X, Y) :- {sensitive}(X, Y, ...)",
        )
    if set(program.edges) == {sensitive}:
        hint = "say with @edge which other links are released"
        raise DataError(program.file, f"besides the sensitive {sensitive!r} there are no edges", hint=hint)


def _observed(name: str, relation: Relation, progress: Progress) -> Observations:
    apart = np.flatnonzero(relation.source != relation.target)
    if loops := len(relation) - len(apart):
        progress.note(f"{name}: {loops:,} edges from an entity to itself are no links, left out")
    weight = None if relation.weight is None else relation.weight[apart]
    return observations(relation.source[apart], relation.target[apart], weight=weight)


def _ground(
    program: CheckedProgram, data: Data, graph: KnowledgeGraph, sensitive: str, progress: Progress
) -> tuple[Vertices, Vertices, int]:
    """Sensitive edges between entities of which something else is known, and how many others there are."""
    own = {name: some for name, some in data.items() if name == sensitive}
    alone = load_graph(replace(program, edges=(sensitive,), nodes=()), own, progress)
    number = {label: i for i, label in enumerate(graph.labels.tolist())}
    entity = np.array([number.get(label, -1) for label in alone.labels.tolist()], dtype=np.int64)
    relation = alone.relations[sensitive]
    source, target = entity[relation.source], entity[relation.target]
    known = (source >= 0) & (target >= 0)
    apart = relation.source != relation.target
    gone = np.unique(np.stack([relation.source, relation.target])[:, ~known & apart], axis=1).shape[1]
    tell_unknown(alone.labels[entity < 0], gone, sensitive, progress)
    return source[known], target[known], gone


def _derived(
    program: CheckedProgram, data: Data, graph: KnowledgeGraph, sensitive: str, progress: Progress
) -> tuple[Vertices, Vertices, int]:
    """Pairs of entities that a predicate holds once the rules have run, and how many facts are none."""
    _tell_probable(program, sensitive, progress)
    facts = load_facts(program, data, SILENT, [sensitive])  # what there is to note is told by the graph
    found = evaluate(program, facts, goals=[sensitive], progress=progress).facts
    rows = list(_vertex_pairs(apply_posts(program, found).rows(sensitive), graph))
    pairs = np.array([pair for pair in rows if pair is not None], dtype=np.int64).reshape(-1, 2)
    if strange := len(rows) - len(pairs):
        if not len(pairs):
            raise DataError(
                program.file,
                f"{sensitive!r}, which is to be sensitive, holds no pairs of entities",
                hint="its arguments must be ends of edges or vertices",
            )
        progress.note(f"{sensitive}: {strange:,} facts are no pairs of entities of the graph, left out")
    return pairs[:, 0].copy(), pairs[:, 1].copy(), strange


def _tell_probable(program: CheckedProgram, sensitive: str, progress: Progress) -> None:
    """Note rules of an adversary that are taken for rules of the truth."""
    probable = [rule for rule in program.rules if rule.weight is not None and rule.weight < 1]
    if probable:
        progress.note(
            f"which {sensitive} are true is derived as if all rules were certain, but @label gives "
            f"{probable[0].label!r} the probability {probable[0].weight:g}. If that is an adversary's, name rules of "
            "the truth by --rules, and his by --other-rules"
        )


def _vertex_pairs(
    rows: Iterable[tuple[object, ...]], graph: KnowledgeGraph
) -> Iterator[tuple[int, int] | None]:
    """Entities of each fact; `None` for those of other values."""
    number = {label: i for i, label in enumerate(graph.labels.tolist())}
    for row in rows:
        source, target = (
            number.get(str(value)) if isinstance(value, str | int) else None for value in row[:2]
        )
        yield None if source is None or target is None else (source, target)


def _distinct(
    n: int, source: Vertices, target: Vertices, name: str, progress: Progress
) -> tuple[Vertices, Vertices]:
    """Pairs in order, each once, without those of an entity and itself."""
    apart = source != target
    if not apart.all():
        progress.note(f"{name}: {int((~apart).sum()):,} pairs of an entity and itself are no links, left out")
    key = np.unique((source * n + target)[apart])
    return key // max(n, 1), key % max(n, 1)
