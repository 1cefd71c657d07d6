"""Frequent degrees in KGUARD: at least k vertices of an augmentation have each pair of in- and out-degree.

References
----------
docs/methods/kguard.md, frequent degrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kgreason.graph.sorted_keys import Ints
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.degree_fillers import filled, joined
from kgreason.isomorphism.anonymizers.degree_raises import DegreeRaises, Pair, pair_counts


class FrequentDegrees:
    """Edges and vertices that make degrees of an augmentation frequent, and change no attacked subgraph or image."""

    def __init__(self, augmentation: Augmentation, k: int, rng: np.random.Generator) -> None:
        self._augmentation, self._k, self._rng = augmentation, k, rng

    def raise_rare(self) -> bool:
        """Raise vertices outside images so that few pairs of degrees are rare; returns whether any degree changed.

        Raised vertices are tied to each other, or else to vertices whose pair of degrees and the next one are frequent.
        Images may then be invalid, and have to be checked again. Ends stay promised that new vertices with pairs that
        are still rare will need; at least one, which ties them to the graph.
        """
        augmentation, symmetric = self._augmentation, self._augmentation.symmetric
        before = augmentation.inner + augmentation.outer
        raises = _SafeRaises(augmentation, self._k)
        raises.run(self._rng)
        augmentation.raise_to(raises.inner, raises.outer)
        fits, promised = augmentation.fits, augmentation.raised
        edges, (heads, tails) = joined(promised, augmentation.n, fits, self._rng, symmetric=symmetric)
        for source, target in zip(*(ends.tolist() for ends in edges), strict=True):
            augmentation.put(source, target)
        pairs, _, counts = pair_counts(augmentation.inner, augmentation.outer)
        into, out = (np.maximum(self._k - counts, 0) @ pairs).tolist()
        kept = heads[:out] + self._tied_to_usual(heads[out:], incoming=True)
        if symmetric:
            augmentation.raised = kept, list(kept)
        else:
            augmentation.raised = kept, tails[:into] + self._tied_to_usual(tails[into:], incoming=False)
        if into + out and not any(augmentation.raised):
            self._promise_one()
        return bool((augmentation.inner + augmentation.outer != before).any())

    def _promise_one(self) -> None:
        """Promise an outgoing edge of a vertex for which the pair of degrees and the next one are frequent, if any."""
        augmentation = self._augmentation
        usual, _, more = self._usual(incoming=True)
        for v in self._rng.permutation(usual).tolist():
            then = int(augmentation.inner[v]) + more[0], int(augmentation.outer[v]) + more[1]
            if augmentation.may_have(v, *then):
                augmentation.inner[v], augmentation.outer[v] = then
                augmentation.raised = [v] * more[0], [v]
                return

    def _usual(self, *, incoming: bool) -> tuple[Ints, dict[Pair, int], Pair]:
        """Vertices whose pair of degrees, and the next one, are frequent; counts of all pairs; the step to the next.

        The edge to be added is `incoming` for the other vertex.
        """
        pairs, number, counts = pair_counts(self._augmentation.inner, self._augmentation.outer)
        found = {(a, b): count for (a, b), count in zip(pairs.tolist(), counts.tolist(), strict=True)}
        symmetric = self._augmentation.symmetric
        more = int(symmetric or not incoming), int(symmetric or incoming)
        onward = np.array([found.get((a + more[0], b + more[1]), 0) for a, b in pairs.tolist()])
        return np.flatnonzero(((counts > self._k) & (onward >= self._k))[number]), found, more

    def _tied_to_usual(self, ends: Sequence[int], *, incoming: bool) -> list[int]:
        """Tie promised ends to vertices whose pair of degrees, and the next one, are frequent; returns those left."""
        if not ends:
            return []
        augmentation, left = self._augmentation, list[int]()
        usual, found, more = self._usual(incoming=incoming)
        inner, outer = augmentation.inner, augmentation.outer
        for v, lack in Counter(ends).items():
            apart = np.setdiff1d(usual, list(augmentation.around(v)))
            for partner in self._rng.permutation(apart).tolist():
                now = int(inner[partner]), int(outer[partner])
                then = now[0] + more[0], now[1] + more[1]
                if not lack:
                    break
                frequent = found[now] > self._k and found.get(then, 0) >= self._k
                if frequent and augmentation.may_have(partner, *then):
                    augmentation.put(*((partner, v) if incoming else (v, partner)))
                    inner[partner], outer[partner] = then
                    found[now] -= 1
                    found[then] += 1
                    lack -= 1
            left += [v] * lack
        return left

    def complete(self) -> None:
        """Add what is still promised, and new vertices with the pairs of degrees that are still rare, if possible."""
        augmentation = self._augmentation
        degrees, symmetric = (augmentation.inner, augmentation.outer), augmentation.symmetric
        several = (
            filled(degrees, augmentation.raised, k, augmentation.fits, self._rng, symmetric=symmetric)
            for k in (self._k, 1)
        )
        found = next(one for one in several if one is not None)
        augmentation.raised = [], []
        augmentation.add_vertices(len(found.inner) - augmentation.n)
        augmentation.inner, augmentation.outer = found.inner, found.outer
        for source, target in zip(*(ends.tolist() for ends in found.edges), strict=True):
            augmentation.put(source, target)


class _SafeRaises(DegreeRaises):
    """Raises of vertices outside images that invalidate no made image."""

    def __init__(self, augmentation: Augmentation, k: int) -> None:
        movable = ~augmentation.in_copies(np.arange(augmentation.n))
        degrees = augmentation.inner, augmentation.outer
        super().__init__(*degrees, k, movable=movable, symmetric=augmentation.symmetric)
        self._augmentation = augmentation

    def may_have(self, vertex: int, pair: Pair, others: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether no made image forbids the degrees."""
        return self._augmentation.may_have(vertex, *pair)
