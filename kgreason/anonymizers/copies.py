"""Copies of subgraphs: their edges, and weights of their own from which the rules derive the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.assemble import Edges
from kgreason.anonymizers.between import Between
from kgreason.anonymizers.noise import WeightNoising
from kgreason.graph.model import KnowledgeGraph, Relation

Rows = npt.NDArray[np.int64]
Copied = list[tuple[Rows, Rows]]
"""Rows of models and, row by row and place by place, of their copies: vertices that are in nothing else."""

_ATTEMPTS = 20


def copied_edges(relation: Relation, n: int, copied: Copied) -> Edges:
    """The edges of a relation inside each model, parallel ones and loops too, with ends renamed."""
    between = Between.within(relation, n)
    sources, targets, rows = [], [], []
    for model, copy in copied:
        size = model.shape[1]
        one, other = (np.repeat(m, size, axis=1).ravel() for m in (model, copy))
        pair, row = between.rows(one, np.tile(model, (1, size)).ravel())
        rows.append(row)
        sources.append(other[pair])
        targets.append(np.tile(copy, (1, size)).ravel()[pair])
    none = np.empty(0, dtype=np.int64)
    row = np.concatenate([none, *rows])
    weight = None if relation.weight is None else relation.weight[row]
    return Edges(np.concatenate([none, *sources]), np.concatenate([none, *targets]), weight)


def reweighed(
    graph: KnowledgeGraph,
    copied: Copied,
    edges: Mapping[str, Edges],
    noising: WeightNoising,
    rng: np.random.Generator,
) -> dict[str, Edges]:
    """Draw new weights for the edges of copies, since equal ones would show which subgraphs are copies.

    A draw is kept for those copies from which the rules derive what they derive from the model; the others are
    drawn again, and keep the weights of the model if no draw will do.

    Parameters
    ----------
    graph
        Holds the models.
    edges
        Of the copies, as `copied_edges` gives them.
    """
    weighted = [name for name, e in edges.items() if e.weight is not None and len(e.weight)]
    current = _alone(graph, copied, edges)
    copy_of = np.full(current.n, -1, dtype=np.int64)
    open_ = np.ones(sum(len(copy) for _, copy in copied), dtype=np.bool_)
    numbers = np.split(np.arange(len(open_)), np.cumsum([len(copy) for _, copy in copied]))
    for number, (_, copy) in zip(numbers, copied, strict=False):
        copy_of[copy] = number[:, None]
    wanted = _derived(graph, noising, [model for model, _ in copied])
    for _ in range(_ATTEMPTS if weighted else 0):
        if not open_.any():
            break
        rows = {name: open_[copy_of[edges[name].source]] for name in weighted}
        drawn = noising.copies(current, rng)
        tried = _exchanged(current, drawn, rows)
        found = _derived(tried, noising, [copy for _, copy in copied])
        for number, now, before in zip(numbers, found, wanted, strict=False):
            open_[number] &= (now != before).any(axis=(1, 2, 3))
        settled = {name: row & ~open_[copy_of[edges[name].source]] for name, row in rows.items()}
        current = _exchanged(current, drawn, settled)
    return {name: replace(e, weight=current.relations[name].weight) for name, e in edges.items()}


def _alone(graph: KnowledgeGraph, copied: Copied, edges: Mapping[str, Edges]) -> KnowledgeGraph:
    """The copies without the rest."""
    n = max((int(copy.max(initial=-1)) + 1 for _, copy in copied), default=graph.n)
    relations = {name: Relation(e.source, e.target, e.weight) for name, e in edges.items()}
    return KnowledgeGraph(np.arange(n).astype(object), relations)


def _exchanged(
    graph: KnowledgeGraph, other: KnowledgeGraph, rows: Mapping[str, npt.NDArray[np.bool_]]
) -> KnowledgeGraph:
    """The graph with the weights of another one in the given rows."""
    weights = {}
    for name, row in rows.items():
        old, new = graph.relations[name].weight, other.relations[name].weight
        assert old is not None
        assert new is not None
        weights[name] = np.where(row, new, old)
    return graph.with_weights(weights)


def _derived(
    graph: KnowledgeGraph, noising: WeightNoising, members: list[Rows]
) -> list[npt.NDArray[np.bool_]]:
    from kgreason.graph.facts import InducedReasoner

    if not noising.program.derived:
        return [np.zeros((len(rows), 0, 1, 1), dtype=np.bool_) for rows in members]
    reasoner = InducedReasoner(graph, noising.program)
    return [reasoner.derived(rows) for rows in members]
