"""How much information of a graph of people survives its anonymization.

References
----------
PCKGA, section 6.3 (AIL, RRU), of whose formula the printed text shows intersections where the words, and the results,
mean set differences; THESIS, Definitions 10, 12, 13, sections 3.4.2 (changed edges) and 4.5.4 (associations).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.assess.people.associations import Truth, new_associations
from kgreason.assess.people.clustering import clustering
from kgreason.assess.people.edges import Changes, changed_edges
from kgreason.assess.people.gains import gains
from kgreason.assess.people.structure import Structure, structure
from kgreason.displayed import Displayed
from kgreason.errors import AnonymizationError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph


@dataclass(frozen=True)
class Utility(Displayed):
    """What a release of a graph of people keeps; losses are means over users, between 0 and 1, and 0 is best.

    Attributes
    ----------
    users, removed, fake
        Users of the original, those of them that are not released, and released ones that are no original.
    ail
        Average information loss, of removed users 1: the sum of the next three.
    ail_attributes, ail_degrees, ail_removed
        Its parts.
    am, dm_out, dm_in
        Means of AM', DM'o and DM'i over the users that remain.
    values
        Values that users of the original have.
    values_added, values_removed
        Values that users have only in the release, and only in the original; removed users do not count.
    changes
        Added and removed edges of each relation.
    changed_edges
        Sum of all of them.
    changed_ratio
        The same over |E| · |E'|, as in the text; 0 without edges on either side.
    clustering, clustering_released
        Average clustering coefficients.
    clustering_change
        Relative difference of the second from the first; 0 if both are 0, `None` if only the first is.
    untruthful
        Associations of values that somebody has only in the release and that are untruthful.
    untruthful_ratio
        The same over all untruthful ones; 0 if there are none.
    structure
        What becomes of an undirected graph; `None` if the original has not just one relation, or that has a direction.
    """

    users: int
    removed: int
    fake: int
    ail: float
    ail_attributes: float
    ail_degrees: float
    ail_removed: float
    am: float
    dm_out: float
    dm_in: float
    values: int
    values_added: int
    values_removed: int
    changes: dict[str, Changes]
    changed_edges: int
    changed_ratio: float
    clustering: float
    clustering_released: float
    clustering_change: float | None
    untruthful: int
    untruthful_ratio: float
    structure: Structure | None = None

    def __repr__(self) -> str:
        return f"<Utility: AIL {self.ail:.4f}, RRU {self.rru:.4f}; {self.changed_edges:,} links changed>"

    @property
    def rru(self) -> float:
        """Ratio of removed users, 0 if there are no users."""
        return self.removed / self.users if self.users else 0.0

    def as_dict(self) -> dict[str, Any]:
        """All figures by name."""
        return dataclasses.asdict(self) | {"rru": self.rru}


def measure(
    original: PeopleGraph,
    released: PeopleGraph,
    mapping: Vertices,
    truth: Truth | None = None,
    rng: np.random.Generator | None = None,
) -> Utility:
    """Measure what a release keeps of its original.

    Parameters
    ----------
    original, released
        The graphs; an attribute or relation of which nothing is released may be missing there.
    mapping
        Released user of each original one, -1: removed; int64, shape (n,).
    truth
        Which ordered pairs of values of the original are truthful associations, shape (p, p), values being numbered
        through its attributes. `None`: those of values that somebody has in the original.
    rng
        Draws the users whose distances to others are measured in a large undirected graph. `None`: they are not.

    Raises
    ------
    AnonymizationError
        If the mapping does not fit the graphs, or the release has attributes or relations of its own.

    Examples
    --------
    >>> jobs = [("Ken", "job", "Student"), ("Mary", "job", "Teacher"), ("Tom", "job", "Singer")]
    >>> original = PeopleGraph.from_triples(["Ken", "Mary", "Tom"], jobs)
    >>> both = [(user, "job", job) for user in "xy" for job in ("Student", "Teacher")]
    >>> found = measure(original, PeopleGraph.from_triples("xy", both), np.array([0, 1, -1]))
    >>> found.values_added, found.removed, round(found.ail, 4)
    (2, 1, 0.5)
    """
    _check(original, released, mapping)
    n, kept = original.n, np.flatnonzero(mapping >= 0)
    gained = gains(original, released, mapping)
    out = _changes(original.out_degrees(), released, released.out_degrees(), original, mapping)
    in_ = _changes(original.in_degrees(), released, released.in_degrees(), original, mapping)
    attributes, degrees = max(len(original.attributes), 1), max(len(original.relations), 1) * max(n, 1)
    by_attributes = float(gained.loss.sum()) / (2 * attributes * max(n, 1))
    by_degrees = float(out.sum() + in_.sum()) / (2 * 2 * degrees * max(n, 1))
    by_removal = (n - len(kept)) / max(n, 1)
    changes = changed_edges(original, released, mapping)
    changed = sum(c.added + c.removed for c in changes.values())
    edges = [sum(map(len, graph.relations.values())) for graph in (original, released)]
    before, after = clustering(original), clustering(released)
    untruthful, all_untruthful = new_associations(original, released, truth)
    return Utility(
        users=n,
        removed=n - len(kept),
        fake=released.n - len(kept),
        ail=by_attributes + by_degrees + by_removal,
        ail_attributes=by_attributes,
        ail_degrees=by_degrees,
        ail_removed=by_removal,
        am=float(gained.am.sum()) / (attributes * max(len(kept), 1)),
        dm_out=float(out.sum()) / (degrees * max(len(kept), 1)),
        dm_in=float(in_.sum()) / (degrees * max(len(kept), 1)),
        values=sum(map(len, original.attributes.values())),
        values_added=gained.added,
        values_removed=gained.removed,
        changes=changes,
        changed_edges=changed,
        changed_ratio=changed / (edges[0] * edges[1]) if edges[0] and edges[1] else 0.0,
        clustering=before,
        clustering_released=after,
        clustering_change=(after - before) / before if before else None if after else 0.0,
        untruthful=untruthful,
        untruthful_ratio=untruthful / all_untruthful if all_untruthful else 0.0,
        structure=structure(original, released, mapping, (before, after), rng),
    )


def _check(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> None:
    hint = "is this the mapping of this release?"
    if mapping.shape != (original.n,):
        raise AnonymizationError(
            f"the mapping names {len(mapping):,} users, but the original has {original.n:,}", hint
        )
    images = mapping[mapping >= 0]
    if len(images) and images.max() >= released.n:
        raise AnonymizationError("the mapping names users that the release does not have", hint)
    if len(np.unique(images)) < len(images):
        raise AnonymizationError("the mapping gives one released user to several originals", hint)
    for kind, ours, theirs in (
        ("attribute", original.attributes, released.attributes),
        ("relation", original.relations, released.relations),
    ):
        for name in theirs:
            if name not in ours:
                raise AnonymizationError(
                    f"the release has {kind} {name!r}, which the original does not have", hint
                )


def _changes(
    old: npt.NDArray[np.int64],
    released: PeopleGraph,
    new: npt.NDArray[np.int64],
    original: PeopleGraph,
    mapping: Vertices,
) -> npt.NDArray[np.int64]:
    """How far the degrees of the users that remain have changed, shape (remaining, relations)."""
    kept = np.flatnonzero(mapping >= 0)
    place = {name: i for i, name in enumerate(released.relations)}
    changes = old[kept].copy()
    for column, name in enumerate(original.relations):
        if name in place:
            changes[:, column] -= new[mapping[kept], place[name]]
    return np.abs(changes)
