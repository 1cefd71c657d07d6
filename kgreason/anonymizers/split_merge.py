"""Split & merge: parts of a graph are anonymized on their own, in parallel, and put together without the edges between.

What this gives up is named: the edges between parts are lost (item 1 of Definition 4.1), and what holds holds for the
graph without them.

References
----------
KGISO, split & merge; docs/anonymization.md, Split & merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.assemble import assemble, is_symmetric
from kgreason.anonymizers.base import Anonymizer, Augmented, Guarantee
from kgreason.anonymizers.klone import check_vertices
from kgreason.anonymizers.merge import Mask, joints, merge, total, with_one_constant
from kgreason.anonymizers.noise import WeightNoising
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.graph.parts import Piece, inside, pieces
from kgreason.processes import in_processes
from kgreason.progress import SILENT, Progress

_ROOM = 0.99  # of a bound: vertices whose incoming weights sum to more take no joint if others can


@dataclass(frozen=True, eq=False)
class SplitMerge:
    """The anonymizer of graphs that are too large or too dense as a whole.

    Attributes
    ----------
    inner
        Anonymizes the parts.
    parts
        Part of each vertex, from 0, none left out (`kgreason.anonymizers.partition`); int64, shape (n,).
    """

    inner: Anonymizer
    parts: Vertices

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Augment the parts, each with its own random numbers, and join them; edges between parts are left out.

        Raises
        ------
        AnonymizationError
            If a part admits no anonymization, or the parts cannot be joined.
        """
        divided = pieces(graph, self.parts)
        progress.step("Anonymizing parts", len(divided), "parts")

        def work(task: tuple[Piece, np.random.Generator]) -> Augmented:
            return self.inner.augment(task[0].graph, rules, task[1], SILENT)

        found = in_processes(work, list(zip(divided, rng.spawn(len(divided)), strict=True)), progress.advance)
        check_vertices(sum(a.graph.n for a in found))
        progress.step("Joining the parts")
        merged, numbers = merge(graph, divided, [a.graph for a in found])
        part = np.empty(merged.n, dtype=np.int64)
        for i, vertices in enumerate(numbers):
            part[vertices] = i
        noising = WeightNoising.fit(graph, rules, 1)
        merged = with_one_constant(merged, noising)
        symmetric = is_symmetric(graph) and is_symmetric(merged)  # parts without edges get one-way ones
        ends = joints(
            merged,
            part,
            _between(graph, self.parts, merged.n),
            _full(merged, rules),
            rng,
            symmetric=symmetric,
        )
        joined, fixed = assemble(merged, merged.n, {}, ends, rng, symmetric=symmetric)
        cut = graph.m - inside(graph, self.parts).m
        figures = total(found) | {
            "parts": len(divided),
            "cut_edges": cut,
            "joints": len(ends[0]),
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": joined.n - graph.n,
            "edges_added": joined.m - (graph.m - cut),
        }
        weighed = noising.synthetic(joined, fixed, rng, progress)
        guarantee = replace(Guarantee.of_all([part.guarantee for part in found]), cut=cut)
        return Augmented(weighed, guarantee, figures, graph.n, self.parts, _copies(found, numbers, graph.n))


def _copies(found: Sequence[Augmented], numbers: Sequence[Vertices], n: int) -> Vertices | None:
    """The copies of all vertices, if every part was copied as a whole."""
    copied = [a.copies for a in found if a.copies is not None]
    if len(copied) < len(found):
        return None
    copies = np.empty((len(copied[0]), n), dtype=np.int64)
    for part, vertices in zip(copied, numbers, strict=True):
        copies[:, vertices[: part.shape[1]]] = vertices[part]
    return copies


def _between(graph: KnowledgeGraph, parts: Vertices, n: int) -> Vertices:
    """Edges between parts, either way, as ``source * n + target``, ascending."""
    source, target = graph.ends
    cut = parts[source] != parts[target]
    source, target = source[cut], target[cut]
    return np.unique(np.concatenate([source * n + target, target * n + source]))


def _full(graph: KnowledgeGraph, rules: CheckedProgram) -> Mask:
    """Vertices whose incoming weights leave little room under a bound."""
    full = np.zeros(graph.n, dtype=np.bool_)
    for name, bound in rules.incoming_sums.items():
        r = graph.relations.get(name)
        if r is not None and r.weight is not None:
            full |= np.bincount(r.target, weights=r.weight, minlength=graph.n) > _ROOM * bound
    return full
