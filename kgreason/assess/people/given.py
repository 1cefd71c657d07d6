"""Who is who, and whose k is which, from names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from kgreason.assess.people.published import REMOVED, UNLISTED, Published, Source
from kgreason.assess.people.verify import Demands
from kgreason.errors import AnonymizationError, ReleaseError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, PeopleGraph

Mapped = Mapping[str, str | None] | Vertices
"""Released names by original ones, `None` or nothing for who is removed; or the numbers, -1 for who is removed."""
OTHER_RELEASE = "is this of another release?"


def source_of(
    released: PeopleGraph,
    original: PeopleGraph,
    mapping: Mapped,
    removed: Collection[str] | None = None,
    file: str = "mapping",
    lines: Mapping[str, int] | None = None,
) -> Source:
    """The original of a release, with the released user of each of its users.

    Parameters
    ----------
    removed
        Names of those who may be missing; `None`: all whom the mapping says to be removed.
    file, lines
        Where each original user stands, for messages.

    Raises
    ------
    ReleaseError
        If the mapping names somebody whom the original or the release does not have.
    """
    if isinstance(mapping, Mapping):
        numbers = _numbers(released, original, mapping, file, lines or {})
    else:
        numbers = np.array(mapping, dtype=np.int64)
    if removed is not None and len(numbers) == original.n:
        listed = np.isin(original.labels.astype(str), np.array(list(removed), dtype=str))
        numbers[numbers < 0] = np.where(listed, REMOVED, UNLISTED)[numbers < 0]
    return Source(original, numbers)


def _numbers(
    released: PeopleGraph,
    original: PeopleGraph,
    mapping: Mapping[str, str | None],
    file: str,
    lines: Mapping[str, int],
) -> Vertices:
    known = {label: i for i, label in enumerate(original.labels.tolist())}
    number = {label: i for i, label in enumerate(released.labels.tolist())}
    found = np.full(original.n, UNLISTED, dtype=np.int64)
    for label, name in mapping.items():
        where = f"{file}:{lines[label]}" if label in lines else file
        if label not in known:
            raise ReleaseError(f"{where}: {label!r} is no user of the original", hint=OTHER_RELEASE)
        if name and name not in number:
            what = f"{label!r} is mapped to {name!r}, whom the release does not have"
            raise ReleaseError(f"{where}: {what}", hint=OTHER_RELEASE)
        found[known[label]] = number[name] if name else REMOVED
    return found


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
