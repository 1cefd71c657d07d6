"""Plausibility of synthetic edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.sorted_keys import Ints

Reals = npt.NDArray[np.float64]
Degrees = tuple[Ints, Ints]  # in- and out-degree of each vertex

_BITS = 6  # of the number of a degree's interval
_OBSERVED = 0.9  # weight of observed counts; the rest is for combinations that do not occur


def interval(degrees: Ints) -> Ints:
    """Number of the interval of each degree: 0, 1, 2, 3 to 4, 5 to 6, 7 to 10, ...; two for each doubling."""
    return np.minimum(2 * np.log2(degrees + 1.0), (1 << _BITS) - 1).astype(np.int64)


@record(eq=False)
class Counts:
    """Number of occurrences of keys."""

    keys: Ints
    count: Ints

    @classmethod
    def of(cls, keys: Ints) -> Counts:
        return cls(*np.unique(keys, return_counts=True))

    def at(self, keys: Ints) -> Reals:
        if not len(self.keys):
            return np.zeros(keys.shape)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.count[place], 0.0)


@record(eq=False)
class End:
    pair: Counts
    one: tuple[Counts, Counts]
    total: int

    @classmethod
    def of(cls, kinds):
        return cls(Counts.of(kinds), (Counts.of(kinds >> _BITS), Counts.of(kinds & (1 << _BITS) - 1)), max(1, len(kinds)))

    def at(self, kinds):
        apart = self.one[0].at(kinds >> _BITS) * self.one[1].at(kinds & (1 << _BITS) - 1)
        return _OBSERVED * self.pair.at(kinds) + (1 - _OBSERVED) * apart / self.total


@record(eq=False)
class EdgeKinds:
    source: End
    target: End
    joint: Counts

    @classmethod
    def of(cls, source, target):
        return cls(End.of(source), End.of(target), Counts.of(source << 2 * _BITS | target))

    def at(self, source, target):
        apart = self.source.at(source) * self.target.at(target) / self.source.total
        return _OBSERVED * self.joint.at(source << 2 * _BITS | target) + (1 - _OBSERVED) * apart


@record(eq=False)
class EdgePlausibility:
    original: EdgeKinds
    synthetic: EdgeKinds

    @classmethod
    def fit(cls, degrees, original, synthetic):
        kinds = kind(degrees)
        return cls(*(EdgeKinds.of(*(kinds[e] for e in ends)) for ends in (original, synthetic)))

    def of(self, source: Degrees, target: Degrees):
        ends = kind(source), kind(target)
        return np.log(self.original.at(*ends) + 1e-3) - np.log(self.synthetic.at(*ends) + 1)


def kind(degrees):
    return interval(degrees[0]) << _BITS | interval(degrees[1])


_EACH, _POOL, _BATCHES = 4, 32, 16


def joins(graph: KnowledgeGraph, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Random edges that join every other component to the largest one, at plausible ends."""
    count, component = graph.components()
    none = np.empty(0, dtype=np.int64)
    if count < 2:
        return none, none
    largest = int(np.bincount(component).argmax())
    ins, outs = graph.in_degree(), graph.out_degree()
    shuffled = rng.permutation(graph.n)
    order = shuffled[np.argsort(component[shuffled], kind="stable")]
    start = np.searchsorted(component[order], np.arange(count))
    rank = np.arange(graph.n) - start[component[order]]
    every = order[(component[order] != largest) & (rank < _EACH)]
    pools = [e[component[e] == largest] for e in graph.ends]
    if not len(pools[0]):
        pools = [np.flatnonzero(component == largest)]*2
    sources, targets = none, none
    others = rng.permutation(np.delete(np.arange(count), largest))
    for batch in np.array_split(others, min(_BATCHES, len(others))):
        model = EdgePlausibility.fit((ins, outs), graph.ends, (sources, targets))
        inner = every[np.isin(component[every], batch)]
        value, s, t = [], [], []
        for side in range(2):
            outer = pools[side][rng.integers(len(pools[side]), size=(len(inner), _POOL))]
            mine = np.broadcast_to(inner[:, None], outer.shape)
            a, b = (outer, mine) if side == 0 else (mine, outer)
            value.append(model.of((ins[a], outs[a] + 1), (ins[b] + 1, outs[b])))
            s.append(a); t.append(b)
        value, s, t = (np.concatenate(x, axis=1).ravel() for x in (value, s, t))
        c = np.repeat(component[inner], 2 * _POOL)
        o = np.lexsort((rng.random(len(c)), -value, c))
        first = o[np.append(True, c[o][1:] != c[o][:-1])]
        sources, targets = np.append(sources, s[first]), np.append(targets, t[first])
        outs += np.bincount(s[first], minlength=graph.n)
        ins += np.bincount(t[first], minlength=graph.n)
    return sources, targets
