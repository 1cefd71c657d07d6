"""Whose k is which, from names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.assess.people.published import Published
from kgreason.assess.people.verify import Demands
from kgreason.errors import AnonymizationError
from kgreason.graph.people.model import Counts, PeopleGraph


def demands_of(levels: Mapping[str, int] | Counts, release: Published) -> Demands:
    """The k of each user, by name or in the order of the users.

    Names are those of the original, or of the release if all its users are among them and the original is not known or
    not all of its users are.

    Raises
    ------
    AnonymizationError
        If a user has no k, or one that is no whole number of at least 1.
    """
    original = None if release.source is None else release.source.graph
    if not isinstance(levels, Mapping):
        return _checked(levels, original or release.graph, original is not None)
    asked = release.graph.labels.tolist() if original is None else original.labels.tolist()
    lacking = [label for label in asked if label not in levels]
    if not lacking:
        return _checked([levels[label] for label in asked], original or release.graph, original is not None)
    if original is None and not levels.keys() & set(asked) and len(levels) >= len(asked):
        return _checked(list(levels.values()), None, True)
    if original is not None and levels.keys() >= set(release.graph.labels.tolist()):
        return _checked(
            [levels[label] for label in release.graph.labels.tolist()], release.graph, original=False
        )
    more = f" ({len(lacking):,} such of {len(asked):,} users)" if len(lacking) > 1 else ""
    raise AnonymizationError(
        f"the user {lacking[0]!r} has no k{more}", hint="name the k of every user, 1 for who asks for nothing"
    )


def _checked(levels: Sequence[int] | Counts, graph: PeopleGraph | None, original: bool) -> Demands:
    found = np.asarray(levels if len(levels) else np.zeros(0, dtype=np.int64))
    if graph is not None and found.shape != (graph.n,):
        raise AnonymizationError(
            f"there are {len(found):,} values of k for {graph.n:,} users",
            hint="give one for each user, in their order",
        )
    if found.dtype.kind not in "iu" or (found < 1).any():
        raise AnonymizationError("every k must be a whole number of at least 1")
    return Demands(found.astype(np.int64), original)
