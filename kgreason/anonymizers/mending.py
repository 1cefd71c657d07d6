"""Make images for the subgraphs that lack them, until none does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.assemble import is_symmetric
from kgreason.anonymizers.completion import Completer
from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.noise import WeightNoising
from kgreason.anonymizers.pieces import Pieces
from kgreason.anonymizers.standing import Standing
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import Progress

_ATTEMPTS = 4  # at adding little, if there is time
_LITTLE = 24  # vertices and edges that are not worth another attempt
_FREE, _ROUNDS = 6, 16  # of mending, in the first of which original vertices may get edges
_FEW, _RARE = 64, 8  # lacking subgraphs, and classes of them, for which sets are completed

Lacks = Sequence[tuple[Cover, Lack]]


@dataclass(frozen=True, eq=False)
class Mending:
    """What to mend: a graph with its new weights, and the subgraphs that are attacked.

    Attributes
    ----------
    covers
        The attacked subgraphs, by size.
    k
        Images of each, itself included.
    """

    noising: WeightNoising
    graph: KnowledgeGraph
    reasoner: InducedReasoner
    covers: Sequence[Cover]
    k: int
    rng: np.random.Generator
    progress: Progress

    def least(self, attempts: int) -> Draft | None:
        """Try some times and take what adds least; `None` if KLONE adds less."""
        best: Draft | None = None
        attempts = max(1, min(_ATTEMPTS, attempts))
        ties = list(self._ties())
        first = self._lacks(self._draft(ties))
        for number in range(attempts):
            self.progress.step(f"Making images, attempt {number + 1} of {attempts}")
            best = self._attempt(self._draft(ties), first, best) or best
            if best is not None and best.added <= _LITTLE:
                break
        if best is not None:
            vertices = best.n - self.graph.n
            self.progress.note(f"{vertices:,} vertices and {best.added - vertices:,} edges make all images")
        return best

    def _draft(self, ties: Sequence[tuple[int, int]]) -> Draft:
        graph, bounds = self.graph, self.noising.program.incoming_sums
        x = max(cover.x for cover in self.covers)
        draft = Draft(graph, x, bounds, self.rng, symmetric=is_symmetric(graph))
        for tie in ties:
            draft.tie(*tie)
        return draft

    def _lacks(self, draft: Draft) -> Lacks:
        degrees = draft.inner, draft.outer
        return [(cover, cover.lack(degrees, self.progress)) for cover in self.covers]

    def _attempt(self, draft: Draft, lacks: Lacks, best: Draft | None) -> Draft | None:
        """Additions after which nothing lacks; `None` if they are more than the best so far, or than KLONE's.

        Parameters
        ----------
        draft, lacks
            What ties the graph together, and what lacks then.
        """
        graph = self.graph
        pieces = Pieces(self.noising, graph, self.reasoner, draft, self.rng)
        most = (self.k - 1) * (graph.n + graph.m) if best is None else best.added
        for cover in self.covers:
            cover.forget()
        originals = np.arange(graph.n, dtype=np.int64)
        for turn in range(_ROUNDS):
            lacking = any(len(lack.members) for _, lack in lacks)
            if not lacking and not any(draft.open):
                return draft
            for cover, lack in lacks:
                cover.rely(lack)
            draft.standing = Standing.of(draft, lacks, originals)
            if lacking:
                self._mend(lacks, pieces, draft, apart=turn >= _FREE)
            else:
                draft.settle()
            if draft.added >= most:
                return None
            lacks = self._lacks(draft)
        return None

    def _mend(self, lacks: Lacks, pieces: Pieces, draft: Draft, *, apart: bool) -> None:
        """Complete sets where few subgraphs lack images, and copy a template for the others."""
        rest = []
        for cover, lack in lacks:
            few = len(lack.members) <= _FEW and len(np.unique(lack.classes)) <= _RARE
            if len(lack.members) and few and cover.x > 1 and not apart:
                lack = Completer(cover, self.noising, self.reasoner, draft, self.rng).mend(lack)
            rest.append((cover, lack))
        if any(len(lack.members) for _, lack in rest):
            pieces.make(rest, apart=apart)

    def _ties(self) -> Iterator[tuple[int, int]]:
        """Random edges that tie the components of the graph to the largest."""
        rng = self.rng
        count, component = self.graph.components()
        if count < 2:
            return
        largest = int(np.bincount(component).argmax())
        shuffled = rng.permutation(self.graph.n)
        _, first = np.unique(component[shuffled], return_index=True)
        inside = np.flatnonzero(component == largest)
        for inner in np.delete(shuffled[first], largest).tolist():
            outer = int(rng.choice(inside))
            yield (inner, outer) if rng.random() < 0.5 else (outer, inner)
