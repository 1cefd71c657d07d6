"""k-Iso, the baseline: k isomorphic blocks without edges between them, whatever the rules derive.

References
----------
J. Cheng, A. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks (SIGMOD 2010);
here for directed multigraphs with several relations. docs/anonymization.md, k-Iso.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.assemble import synthetic_labels
from kgreason.anonymizers.base import Augmented, Guarantee
from kgreason.anonymizers.blocks import arranged
from kgreason.anonymizers.density import GRID, Units
from kgreason.anonymizers.klone import check_k
from kgreason.anonymizers.noise import WeightNoising
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.progress import Progress


@dataclass(frozen=True)
class KIso:
    """The anonymizer that makes k isomorphic blocks of a graph, by edges deleted and inserted.

    Attributes
    ----------
    k
        Number of blocks.
    trials
        Number M of weight draws, the best of which is kept.
    """

    k: int = 3
    trials: int = 10

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make k isomorphic blocks; vertices are added until k divides their number.

        Raises
        ------
        AnonymizationError
            If k is less than 2, or weights lie outside [0, 1].
        """
        check_k(self.k)
        noising = WeightNoising.fit(graph, rules, self.trials)
        place = arranged(graph, self.k, rng, progress)
        noised = noising.originals(rng, progress)
        changed = {name: agreed(r, place, self.k, rng) for name, r in noised.relations.items()}
        labels = [*graph.labels.tolist(), *synthetic_labels(graph, len(place) - graph.n)]
        blocks = KnowledgeGraph(np.array(labels, dtype=object), {n: c.relation for n, c in changed.items()})
        kept = {name: c.kept for name, c in changed.items()}
        weighed = _told_apart(noising.synthetic(blocks, kept, rng, progress), kept, noising)
        deleted = graph.m - sum(kept.values())
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": weighed.n - graph.n,
            "edges_inserted": weighed.m - sum(kept.values()),
            "edges_deleted": deleted,
        }
        guarantee = Guarantee(self.k, None, deleted=deleted, model="k-iso")
        return Augmented(weighed, guarantee, figures, originals=graph.n)


@dataclass(frozen=True, eq=False)
class Agreed:
    """A relation after its blocks agree.

    Attributes
    ----------
    relation
        First the original edges that are left, in their order, then those that are inserted, of weight 0.
    kept
        Number of the former.
    """

    relation: Relation
    kept: int


def agreed(relation: Relation, place: Vertices, k: int, rng: np.random.Generator) -> Agreed:
    """Delete and insert as few edges as possible, given the places of vertices, so that all blocks are alike.

    Edges between blocks go. Between two rows all blocks get the median of the numbers of edges that they have there,
    which changes least; of two medians it is the greater. Which of several parallel edges go is random.

    Parameters
    ----------
    place
        ``row * k + block`` of each vertex, all places taken; int64, shape (n,).

    Examples
    --------
    Of three blocks with one row for two vertices each, two have the edge:

    >>> ends = np.array([0, 2, 4]), np.array([1, 3, 2])
    >>> place = np.array([0, 3, 1, 4, 2, 5])
    >>> found = agreed(Relation(*ends), place, 3, np.random.default_rng(0))
    >>> found.relation.source.tolist(), found.relation.target.tolist(), found.kept
    ([0, 2, 4], [1, 3, 5], 2)
    """
    n = len(place)
    at = np.empty(n, dtype=np.int64)
    at[place] = np.arange(n)
    row, block = np.divmod(place, k)
    inside = np.flatnonzero(block[relation.source] == block[relation.target])
    source, target = relation.source[inside], relation.target[inside]
    pairs, pair = np.unique(row[source] * n + row[target], return_inverse=True)
    group = pair.reshape(-1) * k + block[source]
    counts = np.bincount(group, minlength=len(pairs) * k).reshape(-1, k)
    median = np.sort(counts, axis=1)[:, k // 2]
    kept = inside[_ranks(group, rng) < median[pair.reshape(-1)]]
    lacking = np.maximum(median[:, None] - counts, 0)
    where, of = np.divmod(np.repeat(np.arange(lacking.size), lacking.reshape(-1)), k)
    first, second = np.divmod(pairs[where], max(n, 1))
    weight = relation.weight
    changed = replace(
        relation,
        source=np.concatenate([relation.source[kept], at[first * k + of]]),
        target=np.concatenate([relation.target[kept], at[second * k + of]]),
        weight=None if weight is None else np.concatenate([weight[kept], np.zeros(len(of))]),
    )
    return Agreed(changed, len(kept))


def _ranks(group: Vertices, rng: np.random.Generator) -> Vertices:
    """Number the members of each group from 0, in random order."""
    order = np.lexsort((rng.random(len(group)), group))
    start = np.searchsorted(group[order], group[order])
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[order] = np.arange(len(group)) - start
    return ranks


def _told_apart(graph: KnowledgeGraph, kept: Mapping[str, int], noising: WeightNoising) -> KnowledgeGraph:
    """Lower weights of inserted edges where a parallel one has the same, since two equal rows are one edge."""
    weights = {}
    for name, density in noising.densities.items():
        relation, old = graph.relations[name], noising.graph.relations[name]
        parallel, number = _parallel(relation, graph.n)
        if not parallel.any():
            continue
        units, before = _units(relation), _units(old)
        taken = set(zip((old.source * graph.n + old.target).tolist(), before.tolist(), strict=True))
        for edge in np.flatnonzero(parallel).tolist():
            pair, unit = int(number[edge]), int(units[edge])
            if edge >= kept[name]:
                unit = next(u for u in _below(unit, density.levels) if (pair, u) not in taken)
            taken.add((pair, unit))
            units[edge] = unit
        weights[name] = units / GRID
    return graph.with_weights(weights)


def _parallel(relation: Relation, n: int) -> tuple[npt.NDArray[np.bool_], Vertices]:
    """Whether each edge has parallel ones, and a number for its ends, ``source * n + target``."""
    number = relation.source * n + relation.target
    _, pair, count = np.unique(number, return_inverse=True, return_counts=True)
    return count[pair.reshape(-1)] > 1, number


def _below(unit: int, levels: Units) -> Iterator[int]:
    """The weights to take, in grid units: usual ones below, any below, any above."""
    return chain(levels[levels <= unit][::-1].tolist(), range(unit, 0, -1), range(unit + 1, GRID + 1))


def _units(relation: Relation) -> Units:
    assert relation.weight is not None
    units: Units = np.rint(relation.weight * GRID).astype(np.int64)
    return units
