"""KGUARD, exact: every attacked subgraph gets its images, most of them without any addition.

Nearly all subgraphs have k - 1 images in the graph itself (*natural cover*). For the others members of their classes
are made: by completing sets of x - 1 vertices where few are lacking, else by copies of a template that holds them all.
What an addition breaks is looked for and mended, until nothing lacks.

References
----------
KGISO, Definition 4.1; docs/anonymization.md, KGUARD.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.assemble import assemble, is_symmetric
from kgreason.anonymizers.base import Augmented, Guarantee
from kgreason.anonymizers.completion import Completer
from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.klone import Klone, check_k
from kgreason.anonymizers.noise import WeightNoising
from kgreason.anonymizers.pieces import Pieces
from kgreason.errors import AnonymizationError
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import Progress
from kgreason.records import dataclass
from kgreason.subgraphs.enumerate import count_connected, small_components, too_many
from kgreason.subgraphs.patterns import LARGEST
from kgreason.subgraphs.pools import MOST

_ATTEMPTS, _EFFORT = 4, 8_000_000  # at adding little: so often, but of no more subgraphs than this in all,
_VERTEX_EFFORT = 50  # where a vertex counts as so many
_LITTLE = 24  # vertices and edges that are not worth another attempt
_FREE, _ROUNDS = 6, 16  # of mending, in the first of which original vertices may get edges
_FEW, _RARE = 64, 8  # lacking subgraphs, and classes of them, for which sets are completed


@dataclass(frozen=True)
class Kguard:
    """The anonymizer for the subgraphs of given sizes.

    Attributes
    ----------
    k
        Images of each attacked subgraph, itself included.
    sizes
        Numbers of vertices of the attacked subgraphs, at most 6; a smaller component counts as a whole.
    trials
        Number M of weight draws, the best of which is kept.
    max_subgraphs
        Graphs with more connected subgraphs of one size are refused.
    """

    k: int = 3
    sizes: tuple[int, ...] = (4,)
    trials: int = 10
    max_subgraphs: int = 1_000_000_000

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for each x in `sizes`.

        Raises
        ------
        AnonymizationError
            If k or a size is out of range, there are more than `max_subgraphs` subgraphs, weights lie outside
            [0, 1], or the graph has vertices but no relation.
        """
        self._check(graph, progress)
        noising = WeightNoising.fit(graph, rules, self.trials)
        noised = noising.originals(rng, progress)
        reasoner = InducedReasoner(noised, rules)
        covers = self._covers(noised, reasoner, rng, progress)
        total = sum(cover.count for cover in covers)
        draft: Draft | None = None
        work = max(1, total + _VERTEX_EFFORT * graph.n)
        for _ in range(max(1, min(_ATTEMPTS, _EFFORT // work))):
            found = self._mended(noised, noising, covers, reasoner, rng, progress, draft)
            draft = found or draft
            if draft is not None and draft.added <= _LITTLE:
                break
        if draft is None:
            progress.note("KLONE adds no more than this would: it is used instead")
            return Klone(self.k, self.trials).augment(graph, rules, rng, progress)
        augmented, fixed = assemble(
            noised, draft.n, draft.edges(), draft.ties, rng, symmetric=draft.symmetric
        )
        _check_degrees(augmented, draft)
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "subgraphs": total,
            "classes": sum(len(cover.catalogue.forms) for cover in covers),
            "vertices_added": augmented.n - graph.n,
            "edges_added": augmented.m - graph.m,
            "synthetic_edges": augmented.m - sum(fixed.values()),
        }
        weighed = noising.synthetic(augmented, fixed, rng, progress)
        *also, x = sorted(self.sizes)
        return Augmented(weighed, Guarantee(self.k, x, tuple(also)), figures, originals=graph.n)

    def _mended(
        self,
        graph: KnowledgeGraph,
        noising: WeightNoising,
        covers: Sequence[Cover],
        reasoner: InducedReasoner,
        rng: np.random.Generator,
        progress: Progress,
        best: Draft | None,
    ) -> Draft | None:
        """Additions after which nothing lacks; `None` if they are more than the best so far, or than KLONE's."""
        rules = noising.program
        bounds, symmetric = rules.incoming_sums, is_symmetric(graph)
        draft = Draft(graph, max(self.sizes), bounds, rng, symmetric=symmetric)
        self._connect(draft, rng)
        pieces = Pieces(noising, graph, reasoner, draft, rng)
        most = (self.k - 1) * (graph.n + graph.m) if best is None else best.added
        for cover in covers:
            cover.forget()
        for turn in range(_ROUNDS):
            progress.step("Looking for images", sum(cover.count for cover in covers))
            lacks = [(cover, cover.lack((draft.inner, draft.outer), progress)) for cover in covers]
            classes = sum(len(np.unique(lack.classes)) for _, lack in lacks)
            if not classes and not any(draft.open):
                progress.note(f"every subgraph has its images, {draft.added:,} vertices and edges added")
                return draft
            progress.note(f"some subgraphs of {classes:,} classes lack images")
            if not classes:
                draft.settle()
                continue
            self._mend(lacks, pieces, rules, reasoner, draft, rng, apart=turn >= _FREE)
            if draft.added >= most:
                return None
        return None

    def _check(self, graph: KnowledgeGraph, progress: Progress) -> None:
        check_k(self.k)
        if self.k - 1 > MOST:
            raise AnonymizationError(
                f"KGUARD handles k up to {MOST + 1}, not {self.k}", hint="KLONE handles every k"
            )
        for x in self.sizes:
            if not 1 <= x <= LARGEST:
                raise AnonymizationError(
                    f"KGUARD handles x from 1 to {LARGEST}, not {x}",
                    hint="choose a smaller x, or KLONE, which protects every x",
                )
            if graph.n and x > graph.n:
                raise AnonymizationError(
                    f"x = {x}, but the graph has only {graph.n} vertices", hint=f"choose x <= {graph.n}"
                )
            progress.step(f"Counting subgraphs of {x} vertices")
            if count_connected(graph, x, self.max_subgraphs) > self.max_subgraphs:
                raise too_many(x, self.max_subgraphs)

    def _covers(
        self, graph: KnowledgeGraph, reasoner: InducedReasoner, rng: np.random.Generator, progress: Progress
    ) -> list[Cover]:
        """One for each size, and for components that are smaller."""
        need, covers = self.k - 1, []
        whole = {rows.shape[1]: rows for rows in small_components(graph, max(self.sizes))}
        for x in sorted({*self.sizes, *whole}):
            progress.step(f"Classifying subgraphs of {x} vertices")
            targets = None if x in self.sizes else whole[x]
            covers.append(Cover(graph, reasoner, x, targets, need, rng))
        return [cover for cover in covers if cover.count]

    def _connect(self, draft: Draft, rng: np.random.Generator) -> None:
        """Tie the components of the graph by random edges to the largest."""
        count, component = draft.graph.components()
        if count < 2:
            return
        largest = int(np.bincount(component).argmax())
        shuffled = rng.permutation(draft.graph.n)
        _, first = np.unique(component[shuffled], return_index=True)
        inside = np.flatnonzero(component == largest)
        for inner in np.delete(shuffled[first], largest).tolist():
            outer = int(rng.choice(inside))
            draft.tie(*((inner, outer) if rng.random() < 0.5 else (outer, inner)))

    def _mend(
        self,
        lacks: Sequence[tuple[Cover, Lack]],
        pieces: Pieces,
        rules: CheckedProgram,
        reasoner: InducedReasoner,
        draft: Draft,
        rng: np.random.Generator,
        *,
        apart: bool,
    ) -> None:
        many = []
        for cover, lack in lacks:
            few = (
                len(lack.members) <= _FEW
                and len(np.unique(lack.classes)) <= _RARE
                and cover.x > 1
                and not apart
            )
            left = Completer(cover, rules, reasoner, draft, rng).mend(lack) if few else lack
            if len(left.members):
                many.append((cover, left))
        if many:
            pieces.make(many, apart=apart)


def _check_degrees(graph: KnowledgeGraph, draft: Draft) -> None:
    """Postcondition: degrees are those for which the images were found."""
    if (graph.in_degree() != draft.inner).any() or (graph.out_degree() != draft.outer).any():
        raise RuntimeError("KGUARD lost count of degrees")
