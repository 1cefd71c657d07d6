"""Utility of a release of a graph of people: information losses and structural changes.

References
----------
PCKGA, section 6.3 (AIL, RRU; the printed formula has intersections where the text, and the results, mean set
differences); THESIS, Definitions 10, 12, 13, sections 3.4.2 (changed edges) and 4.5.4 (associations).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Any, Literal

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.measures import degrees, distances, keys, pairs, triangles
from kgreason.people.model import EMPTY, Attribute, Numbers, PeopleGraph, links_of


def _new_associations(original: PeopleGraph, released: PeopleGraph) -> tuple[int, int]:
    """Number of untruthful associations that only a release has, and of all untruthful pairs of original values."""
    # Pairs of values of one user of the original are truthful; values that only the release has are in no such pair.
    number: dict[tuple[str, str], int] = {}
    for graph in (original, released):
        for name, a in graph.attributes.items():
            for text in a.domain:
                number.setdefault((name, text), len(number))
    before, after = _associations(original, number), _associations(released, number)
    values = sum(len(a.domain) for a in original.attributes.values())
    new = np.setdiff1d(after, before, assume_unique=True)
    return len(new), values * (values - 1) // 2 - len(before)


def _associations(graph: PeopleGraph, number: dict[tuple[str, str], int]) -> Vertices:
    """Pairs of numbered values of one user, as ``smaller * len(number) + greater``, ascending."""
    from scipy.sparse import csr_array, triu

    user, value = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for name, a in graph.attributes.items():
        user.append(a.user)
        value.append(np.array([number[name, text] for text in a.domain], dtype=np.int64)[a.value])
    rows, columns = np.concatenate(user), np.concatenate(value)
    ones = np.ones(len(rows), dtype=np.float32)
    has = csr_array((ones, (rows, columns)), shape=(graph.n, len(number)))
    # one user of those with equal values: classes may be large, and have many values
    ends = has.indptr.tolist()
    alike = {has.indices[first:stop].tobytes(): u for u, (first, stop) in enumerate(pairwise(ends))}
    has = has[list(alike.values())]
    pairs = triu(has.T @ has, k=1).tocoo()
    return np.sort(pairs.row.astype(np.int64) * len(number) + pairs.col)


def _gains(
    original: PeopleGraph, released: PeopleGraph, mapping: Vertices
) -> tuple[Numbers, Numbers, int, int, int]:
    """Losses of users, summed over attributes, and numbers of their values that are added, removed and kept."""
    # The losses are AL' and AM' times the number of attributes (each denominator of AM' is greater by 1); 0 for
    # removed users. The loss of a numeric attribute is the change of both bounds of the range over the largest
    # possible change. A user without a value gains each unit of the new range, out of those of the domain.
    loss, am = np.zeros(original.n), np.zeros(original.n)
    added = removed = kept = 0
    back = np.full(released.n, -1, dtype=np.int64)
    back[mapping[mapping >= 0]] = np.flatnonzero(mapping >= 0)
    for name, old in original.attributes.items():
        new = released.attributes.get(name, EMPTY).renumbered(back)
        ours, theirs, size = _keys(old, new, mapping)
        extra = np.setdiff1d(theirs, ours, assume_unique=True)
        added += len(extra)
        removed += len(np.setdiff1d(ours, theirs, assume_unique=True))
        kept += len(theirs) - len(extra)
        if old.kind == "categorical":
            gained = np.bincount(extra // max(size, 1), minlength=original.n).astype(np.float64)
            room = len(old.domain) - np.bincount(old.user, minlength=original.n).astype(np.float64)
        else:
            gained, room = _widened(original.n, old, new)
        loss += gained / np.maximum(np.maximum(room, gained), np.finfo(np.float64).tiny)
        am += gained / (room + 1)
    return loss, am, added, removed, kept


def _keys(old: Attribute, new: Attribute, mapping: Vertices) -> tuple[Vertices, Vertices, int]:
    """Pairs (user, value) of released users before and after, as numbers, and the number of values."""
    number = {text: i for i, text in enumerate(old.domain)}
    code = np.array([number.setdefault(text, len(number)) for text in new.domain], dtype=np.int64)
    size = len(number)
    stays = mapping[old.user] >= 0
    return old.user[stays] * size + old.value[stays], new.user * size + code[new.value], size


def _widened(n: int, old: Attribute, new: Attribute) -> tuple[Numbers, Numbers]:
    """Change of the range of each user in a numeric attribute, and the largest possible change."""
    (low, high), (new_low, new_high) = old.bounds(n), new.bounds(n)
    least, most = (old.numbers.min(), old.numbers.max()) if len(old.domain) else (0.0, 0.0)
    had, has = low <= high, new_low <= new_high
    room = np.full(n, most - least + 1)
    room[had] = np.abs(low - least)[had] + np.abs(most - high)[had]
    gained = np.zeros(n)
    gained[has & ~had] = (new_high - new_low)[has & ~had] + 1
    both = has & had
    gained[both] = np.abs(new_low[both] - low[both]) + np.abs(new_high[both] - high[both])
    return gained, room


def _degree_changes(
    original: PeopleGraph, released: PeopleGraph, mapping: Vertices, end: Literal["source", "target"]
) -> int:
    """Sum of the changes of the out-degrees (`end` "source") or in-degrees of released users."""
    kept, total = np.flatnonzero(mapping >= 0), 0
    for name, links in original.relations.items():
        before = np.bincount(getattr(links, end), minlength=original.n)
        after = np.bincount(getattr(links_of(released, name), end), minlength=released.n)
        total += int(np.abs(before[kept] - after[mapping[kept]]).sum())
    return total


def linked(graph: PeopleGraph) -> tuple[Vertices, Vertices]:
    """Both ends of the links of all relations, shape (m,)."""
    parts = [np.stack([links.source, links.target]) for links in graph.relations.values()]
    source, target = np.concatenate([np.empty((2, 0), dtype=np.int64), *parts], axis=1)
    return source, target


@dataclass(frozen=True)
class Changes:
    """Changed edges of one relation.

    Attributes
    ----------
    original
        |E|.
    added
        |E' - E|: released edges that are no image of an original one, including those of fake users.
    removed
        |E - E'|: original edges without an image, including those of removed users.
    """

    original: int
    added: int
    removed: int

    @property
    def true_share(self) -> float:
        """Share of the released edges that are original; 1 if none are released."""
        kept = self.original - self.removed
        return kept / (kept + self.added) if kept + self.added else 1.0


def changed_edges(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> dict[str, Changes]:
    """Compare the edges of each relation; `mapping` is as for `measure`."""
    width = max(released.n, 1)
    found = {}
    for name, links in original.relations.items():
        theirs = links_of(released, name)
        source, target = mapping[links.source], mapping[links.target]
        there = (source >= 0) & (target >= 0)
        images, edges = (source * width + target)[there], theirs.source * width + theirs.target
        common = len(np.intersect1d(images, edges, assume_unique=True))
        found[name] = Changes(len(links), len(edges) - common, len(links) - common)
    return found


def clustering(graph: PeopleGraph) -> float:
    """Average clustering coefficient of the directed graph of all relations, without multiple edges.

    The coefficient of a user is the number of directed triangles through the user over the possible number for the
    user's degrees, 0 if none is possible. Takes time O(m^1.5) and memory O(n + m), also for vertices adjacent to all
    others.

    References
    ----------
    Fagiolo, "Clustering in complex directed networks", 2007, equation 8; also `networkx.average_clustering`.
    """
    n = graph.n
    if not n:
        return 0.0
    source, target = linked(graph)
    ways = np.unique((source * n + target)[source != target])
    # an edge in both directions weighs 2: it is part of twice as many directed triangles
    numbers, weight = np.unique(keys(n, *np.divmod(ways, n)), return_counts=True)
    ends = np.stack(np.divmod(numbers, n))
    degree = degrees(n, ends) + (mutual := degrees(n, ends[:, weight == 2]))
    possible = degree * (degree - 1) - 2 * mutual
    # exact sum: the result must not depend on the order of users, which follows the labels
    return fsum((triangles(n, ends, weight) / np.where(possible > 0, possible, 1)).tolist()) / n


EXACT = 3_000  # most users of graphs in which distances are measured from all
SOURCES = 200  # users from whom distances are measured in larger graphs


@record
class Structure:
    """Figures of a graph whose only relation is mutual; each edge counts once.

    Attributes
    ----------
    l1
        Sum of absolute changes of the degrees of released users.
    edges
        Edges of the original.
    added, removed, kept
        Number of edges only in the release, only in the original, and in both.
    clustering, clustering_released
        Average clustering coefficients.
    path_length, path_length_released
        Mean distance of ordered pairs of users that are connected; `None` if none are, or it was not measured.
    connected, connected_released
        Share of the ordered pairs of users that are connected; `None` if there are no pairs, or it was not measured.
    sources
        Number of users from whom distances were measured; `None`: all.
    """

    l1: int
    edges: int
    added: int
    removed: int
    kept: int
    clustering: float
    clustering_released: float
    path_length: float | None
    path_length_released: float | None
    connected: float | None
    connected_released: float | None
    sources: int | None


def structure(
    original: PeopleGraph,
    released: PeopleGraph,
    mapping: Vertices,
    clustering: tuple[float, float],
    rng: np.random.Generator | None,
) -> Structure | None:
    """Compare two undirected graphs; `None` unless the original has exactly one relation, and it is mutual.

    `mapping` and `rng` are as for `measure`; `clustering` are the average coefficients of both graphs.
    """
    if len(original.relations) != 1:
        return None
    ((name, links),) = original.relations.items()
    if not links.mutual:
        return None
    before = pairs(original.n, links.source, links.target)
    theirs = links_of(released, name)
    after = pairs(released.n, theirs.source, theirs.target)
    there = (mapping[before] >= 0).all(axis=0)
    kept = len(np.intersect1d(keys(released.n, *mapping[before[:, there]]), keys(released.n, *after)))
    users = np.flatnonzero(mapping >= 0)
    fall = degrees(original.n, before)[users] - degrees(released.n, after)[mapping[users]]
    sources = _sources(original.n, released.n, mapping, rng)
    path_length, connected = distances(original.n, before, sources[0])
    path_length_released, connected_released = distances(released.n, after, sources[1])
    return Structure(
        l1=int(np.abs(fall).sum()),
        edges=before.shape[1],
        added=after.shape[1] - kept,
        removed=before.shape[1] - kept,
        kept=kept,
        clustering=clustering[0],
        clustering_released=clustering[1],
        path_length=path_length,
        path_length_released=path_length_released,
        connected=connected,
        connected_released=connected_released,
        sources=None if max(original.n, released.n) <= EXACT else len(sources[0]),
    )


def _sources(
    before: int, after: int, mapping: Vertices, rng: np.random.Generator | None
) -> tuple[Vertices, Vertices]:
    """Users from whom distances are measured: all, or in large graphs the same sample in both."""
    if max(before, after) <= EXACT:
        return np.arange(before), np.arange(after)
    kept = np.flatnonzero(mapping >= 0)
    some = kept[:0] if rng is None else rng.choice(kept, min(SOURCES, len(kept)), replace=False)
    return some, mapping[some]


@dataclass(frozen=True)
class Utility(Displayed):
    """Utility of a release of a graph of people; losses are means over users, from 0 (best) to 1.

    Attributes
    ----------
    users, removed, fake
        Number of original users, of those not released, and of released users that are fake.
    ail
        Average information loss, with 1 for removed users: the sum of the next three.
    ail_attributes, ail_degrees, ail_removed
        Components of AIL.
    am, dm_out, dm_in
        Means of AM', DM'o and DM'i over the released original users.
    values
        Number of values of original users.
    values_added, values_removed
        Number of values of users only in the release, and only in the original; without removed users.
    values_true, values_released
        Number of released values (pairs of user and value) that the original has, and of all released values, including
        those of fake users.
    changes
        Added and removed edges of each relation.
    changed_edges
        Sum of all added and removed edges.
    changed_ratio
        `changed_edges` over |E| · |E'|, as in the thesis; 0 if either graph has no edges.
    clustering, clustering_released
        Average clustering coefficients.
    clustering_change
        Relative difference of both coefficients; 0 if both are 0, `None` if only the first is.
    untruthful
        Number of untruthful associations of values that occur only in the release.
    untruthful_ratio
        `untruthful` over all untruthful associations; 0 if there are none.
    structure
        Changes of an undirected graph; `None` unless the original has exactly one relation, and it is mutual.
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
    values_true: int
    values_released: int
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

    @property
    def true_share(self) -> float:
        """Share of the released values that are true; 1 if none are released."""
        return self.values_true / self.values_released if self.values_released else 1.0

    @property
    def added_per_user(self) -> float:
        """Mean number of values that a released original user has only in the release."""
        return self.values_added / max(self.users - self.removed, 1)

    def as_dict(self) -> dict[str, Any]:
        """All figures by name."""
        shares = {name: {"true_share": change.true_share} for name, change in self.changes.items()}
        figures = dataclasses.asdict(self)
        figures["changes"] = {name: of | shares[name] for name, of in figures["changes"].items()}
        more = {"rru": self.rru, "true_share": self.true_share, "added_per_user": self.added_per_user}
        return figures | more


def measure(
    original: PeopleGraph,
    released: PeopleGraph,
    mapping: Vertices,
    rng: np.random.Generator | None = None,
) -> Utility:
    """Measure the utility of a release.

    Parameters
    ----------
    original, released
        The graphs; attributes and relations without released entries may be missing in the release.
    mapping
        Released user of each original one, -1: removed; int64, shape (n,).
    rng
        Draws the users from whom distances are measured in a large undirected graph. `None`: they are not measured.

    Raises
    ------
    AnonymizationError
        If the mapping does not fit the graphs, or the release has other attributes or relations.

    Examples
    --------
    >>> jobs = [("Ken", "job", "Student"), ("Mary", "job", "Teacher"), ("Tom", "job", "Singer")]
    >>> original = PeopleGraph.from_triples(["Ken", "Mary", "Tom"], jobs)
    >>> both = [(user, "job", job) for user in "xy" for job in ("Student", "Teacher")]
    >>> found = measure(original, PeopleGraph.from_triples("xy", both), np.array([0, 1, -1]))
    >>> found.values_added, found.true_share, found.removed, round(found.ail, 4)
    (2, 0.5, 1, 0.5)
    """
    _check(original, released, mapping)
    n, kept = original.n, np.flatnonzero(mapping >= 0)
    loss, am, added, removed, true = _gains(original, released, mapping)
    out, into = (_degree_changes(original, released, mapping, end) for end in ("source", "target"))
    attributes, degrees = max(len(original.attributes), 1), max(len(original.relations), 1) * max(n, 1)
    by_attributes = float(loss.sum()) / (2 * attributes * max(n, 1))
    by_degrees = (out + into) / (2 * 2 * degrees * max(n, 1))
    by_removal = (n - len(kept)) / max(n, 1)
    changes = changed_edges(original, released, mapping)
    changed = sum(c.added + c.removed for c in changes.values())
    edges = [sum(map(len, graph.relations.values())) for graph in (original, released)]
    before, after = clustering(original), clustering(released)
    untruthful, all_untruthful = _new_associations(original, released)
    return Utility(
        users=n,
        removed=n - len(kept),
        fake=released.n - len(kept),
        ail=by_attributes + by_degrees + by_removal,
        ail_attributes=by_attributes,
        ail_degrees=by_degrees,
        ail_removed=by_removal,
        am=float(am.sum()) / (attributes * max(len(kept), 1)),
        dm_out=out / (degrees * max(len(kept), 1)),
        dm_in=into / (degrees * max(len(kept), 1)),
        values=sum(map(len, original.attributes.values())),
        values_added=added,
        values_removed=removed,
        values_true=true,
        values_released=sum(map(len, released.attributes.values())),
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
