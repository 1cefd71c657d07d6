"""Functions on graphs of people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from kgreason.arguments import check_numbers
from kgreason.choices import PeopleModel
from kgreason.errors import AnonymizationError, CallError

if TYPE_CHECKING:
    from kgreason.assess.people.published import Published
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.graph.people.model import Counts, PeopleGraph
    from kgreason.people.folder import Mapped

    Release = PeopleGraph | Published | Path | str


def verify_people(
    released: Release | Sequence[Release],
    *,
    model: PeopleModel,
    k: int | None = None,
    levels: Mapping[str, int] | Counts | None = None,
    original: PeopleGraph | Sequence[PeopleGraph] | None = None,
    mapping: Mapped | Sequence[Mapped] | None = None,
    removed: Collection[str] | None = None,
    window: int | None = None,
    all_edges: bool = False,
) -> PeopleVerdict:
    """Decide whether a release of a graph of people satisfies a model, or a series of releases.

    Without the original, the definition is decided, which is of the release alone; what only the original could tell is
    in `PeopleVerdict.needs_original`.

    Parameters
    ----------
    released
        The release, a graph or its folder; for ``"kw-tad"`` several, the latest last. Of kgreason.assess, `Published`
        brings its source along.
    model
        ``"paired-k-degree"``: users share out-degrees and in-degrees with k - 1 others. ``"k-ad"``: attribute values,
        too. ``"p-k-ad"``: each user as his own k says. ``"kw-tad"``: what k-ad says of the series over the releases.
        ``"k-degree"``: users of an undirected graph share the degree.
    k
        Users who share, 3 by default.
    levels
        The k of each user, for p-k-ad, in place of `k`: by the names of the original, or of the release if they are
        names of it and the original is not given. Or int64, shape (n,), of the users of the original if it is given,
        else of the release.
    original, mapping
        The original of each release, and the released name of each user in it, `None` or ``""`` for those who are
        removed. Or int64, shape (n,): original user u is released user ``mapping[u]``, -1 removed.
    removed
        Names of the users who may be missing, if not all who are removed in `mapping` may.
    window
        For kw-tad: look at the last so many releases, by default at all.
    all_edges
        For k-degree: ask for all original edges, too, as the construction ``"supergraph"`` keeps them.

    Raises
    ------
    AnonymizationError
        If arguments do not fit together.
    ReleaseError
        If the mapping names a user that is not in the release.

    Examples
    --------
    >>> from kgreason.graph.people.model import PeopleGraph
    >>> original = PeopleGraph.from_triples(["Ken", "Mary"], [("Ken", "age", "18"), ("Mary", "age", "19")])
    >>> both = [(user, "age", age) for user in ("a", "b") for age in ("18", "19")]
    >>> released = PeopleGraph.from_triples(["a", "b"], both)
    >>> verdict = verify_people(
    ...     released, model="k-ad", k=2, original=original, mapping={"Ken": "a", "Mary": "b"}
    ... )
    >>> verdict.holds
    True
    >>> verify_people(original, model="k-ad", k=2)["classes"].witnesses[0]
    'Ken: 1 user in the class, k = 2'
    """
    from kgreason.assess.people.given import demands_of
    from kgreason.assess.people.verify import verify_people as decide

    _check_asked(model, k, levels is not None, window)
    if model != "k-degree" and all_edges:
        raise AnonymizationError(
            f"all_edges has no meaning with {model}", hint="leave it out, or say k-degree"
        )
    releases = _releases(released, original, mapping, removed)
    if model != "kw-tad" and len(releases) != 1:
        raise AnonymizationError(
            f"{model} is of one release, not of {len(releases)}", hint="for several, choose kw-tad"
        )
    if not releases or (window or 1) > len(releases):
        raise AnonymizationError(
            f"a window of {window or 1} needs as many releases, not {len(releases)}", hint="name them all"
        )
    demands = None if levels is None else demands_of(levels, releases[0])
    return decide(releases, model, None if demands else k or 3, demands, window, all_edges=all_edges)


def score_people(original: PeopleGraph, released: PeopleGraph, mapping: Mapped) -> Utility:
    """Measure what information a release of a graph of people keeps.

    Parameters
    ----------
    mapping
        As for `verify_people`.

    Raises
    ------
    AnonymizationError, ReleaseError
        If the mapping does not fit the graphs.

    References
    ----------
    PCKGA, section 6.3; THESIS, Definitions 10 to 16; Liu and Terzi, 2008, section 6, for undirected graphs.
    """
    from kgreason.assess.people.utility import measure
    from kgreason.people.folder import source_of

    numbers = source_of(released, original, mapping).mapping
    return measure(original, released, np.maximum(numbers, -1), rng=np.random.default_rng(0))


def _check_asked(model: object, k: int | None, personal: bool, window: int | None) -> None:
    if model not in get_args(PeopleModel):
        known = " or ".join(map(str, get_args(PeopleModel)))
        raise AnonymizationError(f"unknown model {model!r}", hint=f"choose {known}")
    check_numbers(k=(k, 1), window=(window, 1))
    if k is not None and personal:
        raise AnonymizationError("there is one k for all users, and one for each", hint="give k or levels")
    if model != "p-k-ad" and personal:
        raise AnonymizationError(f"{model} has one k for all users", hint="leave levels out, or say p-k-ad")
    if model != "kw-tad" and window is not None:
        raise AnonymizationError(f"{model} is of one release: no window", hint="leave it out, or say kw-tad")


def _releases(
    released: Release | Sequence[Release],
    original: PeopleGraph | Sequence[PeopleGraph] | None,
    mapping: Mapped | Sequence[Mapped] | None,
    removed: Collection[str] | None,
) -> list[Published]:
    """Each release with its source."""
    from kgreason.assess.people.published import Published
    from kgreason.graph.people.model import PeopleGraph
    from kgreason.people.folder import read_published, source_of

    several = isinstance(released, Sequence) and not isinstance(released, str)
    listed = list(cast("Sequence[Release]", released)) if several else [cast("Release", released)]
    for one in listed:
        if not isinstance(one, PeopleGraph | Published | Path | str):
            raise CallError(
                f"a release of people is a graph or a folder, not of type {type(one).__name__}",
                hint="of a result of anonymize_people it is result.release.graph",
            )
    names = ["the release"] if len(listed) == 1 else [f"release {i}" for i in range(1, len(listed) + 1)]
    found = [
        read_published(Path(r))
        if isinstance(r, str | Path)
        else r
        if isinstance(r, Published)
        else Published(r, name=n)
        for r, n in zip(listed, names, strict=True)
    ]
    if (original is None) != (mapping is None):
        raise AnonymizationError("original and mapping belong together", hint="give both, or neither")
    if original is None or mapping is None:
        return found
    originals = list(original) if isinstance(original, Sequence) else [original]
    mappings = list(mapping) if isinstance(mapping, Sequence) else [mapping]
    if not len(originals) == len(mappings) == len(found):
        raise AnonymizationError(
            f"there are {len(found)} releases, {len(originals)} originals and {len(mappings)} mappings",
            hint="give an original and a mapping for each release, in the same order",
        )
    return [
        replace(r, source=source_of(r.graph, g, m, removed))
        for r, g, m in zip(found, originals, mappings, strict=True)
    ]
