"""Python API of the people family: measure risks, anonymize, verify, attack and score graphs of people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast, get_args

import numpy as np

from kgreason.base.errors import AnonymizationError, CallError, ReleaseError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_numbers, configured, reported, setting
from kgreason.people.settings import Levels, PeopleModel, Settings
from kgreason.release.publication import check_folders

if TYPE_CHECKING:
    from kgreason.people.attacks import UserAttacks
    from kgreason.people.file_schema import Schema
    from kgreason.people.folder import Mapped
    from kgreason.people.model import Counts, PeopleGraph
    from kgreason.people.result import PeopleAnonymization
    from kgreason.people.user_risks import PeopleRisk
    from kgreason.people.utility import Utility
    from kgreason.people.verification.verdict import PeopleVerdict, Published
    from kgreason.release.publication import Folders

    Release: TypeAlias = PeopleGraph | Published | Path | str


LARGEST = np.iinfo(np.int64).max  # k


@dataclass(frozen=True, kw_only=True)
class Call(Settings):
    """What `anonymize` takes besides the data."""

    progress: Progress = setting(SILENT, option="", reported=False)
    """Receives the steps."""


@configured(Call)
def anonymize(data: PeopleGraph | Schema | Path | str, call: Call) -> PeopleAnonymization:
    """Anonymize a graph of people, verify the release and measure its utility.

    Parameters
    ----------
    data
        A graph, its schema, or the file of the schema.

    Raises
    ------
    DataError
        If the data are invalid.
    AnonymizationError
        If the graph or the settings admit no anonymization, a setting has no meaning for the method, or the output
        folders exist.

    References
    ----------
    THESIS, chapters 3 to 5; PCKGA, section 3; KDEGREE.

    Examples
    --------
    >>> from kgreason.people.model import PeopleGraph
    >>> graph = PeopleGraph.from_triples(
    ...     ["Ken", "Mary", "Tom", "Jane"],
    ...     [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")],
    ...     [("Ken", "follows", "Tom")],
    ... )
    >>> result = anonymize(graph, k=2)
    >>> result.holds, result.removed, result.utility.rru
    (True, [], 0.0)
    """
    from kgreason.people.anonymization import People
    from kgreason.people.model import PeopleGraph
    from kgreason.people.reading import read as read_people
    from kgreason.people.reading import schema_of
    from kgreason.release import pipeline
    from kgreason.release.plain_tables import check_plain, plain_format
    from kgreason.release.report.sections import Run

    k, k_values, seed, folders, progress = call.k, call.k_values, call.seed, call.folders, call.progress
    call.refuse_unused()
    own = "each user's own" if k_values is not None else k or 3
    run = Run({**reported(call, call.unused()), "k": own}, seed, sampling=np.random.default_rng(0))
    if folders is not None:
        check_plain(folders.format)
        check_folders(folders, progress)
    clock, rng = pipeline.Clock(), np.random.default_rng(seed)
    kept = None
    if not isinstance(data, PeopleGraph):
        _check_data(data)
        data = schema_of(data)
        kept = data.format
    graph = data if isinstance(data, PeopleGraph) else read_people(data, progress)
    if k_values is not None and call.method != "pckga":
        raise AnonymizationError(
            f"{call.method} has one k for all users", hint="leave out the k of each, or take pckga"
        )
    levels = _own_k(graph, k, k_values)
    if unprotected := int((levels == 1).sum()):
        progress.note(f"users with k = 1, which gives no protection: {unprotected:,}")
    before = _before(call, folders)
    format = plain_format(kept) if folders is None or folders.format is None else folders.format
    clock.lap("read")
    family = People(
        *(graph, call, levels, before, k or 3, format),
        rng=rng,
        run=run,
        clock=clock,
        progress=progress,
    )
    return pipeline.run(family, folders)


def _check_data(data: object) -> None:
    from kgreason.people.file_schema import Schema

    if not isinstance(data, Schema | Path | str):
        raise CallError(
            f"data are a PeopleGraph or a schema, not of type {type(data).__name__}",
            hint="for instance the path of a schema file, or kgreason.people.schema(...) of tables and graphs",
        )


def _before(settings: Settings, folders: Folders | None) -> Path | None:
    """Private folder of the previous release, checked."""
    if settings.after is None:
        return None
    before = Path(settings.after)
    if settings.method != "ctkga":
        raise AnonymizationError(
            f"{settings.method} makes single releases, none after another",
            hint="leave out after, or take ctkga",
        )
    if not (before / "history.json").is_file():
        what = "no release of a series has its secret there" if before.exists() else "there is no such folder"
        hint = "name the private folder of the release before, made by ctkga"
        raise ReleaseError(f"{before}: {what}", hint=hint)
    if folders is not None and before.resolve() == folders.private.resolve():
        raise ReleaseError(
            f"the release after {before} cannot have its private files in the same folder",
            hint="each release of a series keeps folders of its own: choose another private folder",
        )
    return before


def _own_k(graph: PeopleGraph, k: int | None, k_values: Levels | None) -> Counts:
    from kgreason.people.anonymity_levels import read_levels

    _check_k(k=k)
    if k_values is None:
        return np.full(graph.n, 3 if k is None else k, dtype=np.int64)
    if not isinstance(k_values, Mapping):
        return read_levels(k_values, graph, k)
    if unknown := sorted(map(str, set(k_values) - set(graph.labels))):
        raise AnonymizationError(
            f"there is no user {unknown[0]!r} in the graph, although a k is given",
            hint="use the names of the data",
        )
    lacking = [label for label in graph.labels if label not in k_values]
    if lacking and k is None:
        raise AnonymizationError(
            f"{len(lacking):,} users have no k, such as {lacking[0]!r}",
            hint="give a k for every user, or k for the others",
        )
    for label, own in k_values.items():
        _check_k(**{f"the k of {label!r}": own})
    return np.array([k_values.get(label, k) for label in graph.labels], dtype=np.int64)


def _check_k(**given: int | None) -> None:
    check_numbers(**{name: (k, 1) for name, k in given.items()})
    for name, k in given.items():
        if k is not None and k > LARGEST:
            raise AnonymizationError(
                f"{name} must be at most {LARGEST:,}, not {k:,}", hint="no class is as large"
            )


def verify(
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
    """Verify that a release of a graph of people, or a series of releases, satisfies an anonymity model.

    Without the original, only the definition of the model is decided, which concerns the release alone;
    `PeopleVerdict.needs_original` lists the other conditions.

    Parameters
    ----------
    released
        The release, a graph or its folder; for ``"kw-tad"`` several, latest last. A `Published` includes its original.
    model
        ``"paired-k-degree"``: each user shares out-degrees and in-degrees with k - 1 others. ``"k-ad"``: attribute
        values as well. ``"p-k-ad"``: k-ad with a k for each user. ``"kw-tad"``: k-ad for the series over several
        releases. ``"k-degree"``: users of an undirected graph share the degree.
    k
        Least number of users that are alike, 3 by default.
    levels
        The k of each user, for p-k-ad, in place of `k`: by name of the original, or of the release if they are its
        names and the original is not given. Or int64, shape (n,), for the users of the original if given, else of the
        release.
    original, mapping
        The original of each release, and the released name of each of its users, `None` or ``""`` for removed users. Or
        int64, shape (n,): original user u is released user ``mapping[u]``, -1: removed.
    removed
        Names of users that may be missing; by default all that `mapping` marks as removed.
    window
        For kw-tad: number of latest releases to check, by default all.
    all_edges
        For k-degree: require all original edges, as the construction ``"supergraph"`` keeps them.

    Raises
    ------
    AnonymizationError
        If the arguments do not fit together.
    ReleaseError
        If the mapping names a user that is not in the release.

    Examples
    --------
    >>> from kgreason.people.model import PeopleGraph
    >>> original = PeopleGraph.from_triples(["Ken", "Mary"], [("Ken", "age", "18"), ("Mary", "age", "19")])
    >>> both = [(user, "age", age) for user in ("a", "b") for age in ("18", "19")]
    >>> released = PeopleGraph.from_triples(["a", "b"], both)
    >>> verdict = verify(
    ...     released, model="k-ad", k=2, original=original, mapping={"Ken": "a", "Mary": "b"}
    ... )
    >>> verdict.holds
    True
    >>> verify(original, model="k-ad", k=2)["classes"].witnesses[0]
    'Ken: 1 user in the class, k = 2'
    """
    from kgreason.people.verification.checker import demands_of
    from kgreason.people.verification.checker import verify_people as decide

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


def score(original: PeopleGraph, released: PeopleGraph, mapping: Mapped) -> Utility:
    """Measure the utility of a release of a graph of people; `mapping` is as for `verify`.

    Raises
    ------
    AnonymizationError, ReleaseError
        If the mapping does not fit the graphs.

    References
    ----------
    PCKGA, section 6.3; THESIS, Definitions 10 to 16; Liu and Terzi, 2008, section 6, for undirected graphs.
    """
    from kgreason.people.folder import source_of
    from kgreason.people.utility import measure

    numbers = source_of(released, original, mapping).mapping
    return measure(original, released, np.maximum(numbers, -1), rng=np.random.default_rng(0))


def attack(
    original: PeopleGraph | Sequence[PeopleGraph],
    released: Release | Sequence[Release],
    mapping: Mapped | Sequence[Mapped],
    *,
    k: int | None = None,
    k_values: Levels | None = None,
    targets: int | None = None,
    sensitive: Sequence[str] = (),
    confidence: float | None = None,
    seed: int | None = None,
) -> UserAttacks:
    """Look up each user of the original in its release, with different knowledge of an attacker.

    As a control the attacker looks up persons who are not in the data: their values of each attribute, and their
    numbers of links in each relation, are those of random users.

    Parameters
    ----------
    original, released, mapping
        As for `verify`. Of several releases, the latest last, attackers know the series of information, and who is in
        which release.
    k, k_values
        Least number of candidates of each user; 3 by default. As for `anonymize`. If each user has an own k, attackers
        may know it, and that the class of the user has as many members.
    targets
        Number of users to draw as targets; by default all. Rates then have a 95 % confidence interval.
    sensitive, confidence
        Attributes whose values attackers conclude from the class of a user, and the confidence that should not be
        exceeded; of all users, also if targets are drawn.
    seed
        Seed of the targets and of the control; by default from the operating system.

    Raises
    ------
    AnonymizationError, ReleaseError
        If the mapping does not fit the graphs, a k is missing, or users change their names between releases.

    References
    ----------
    THESIS, Definitions 6 to 8 and 18 to 21; PCKGA, section 3.

    Examples
    --------
    >>> from kgreason.people.model import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs)
    >>> result = anonymize(graph, k=2)
    >>> found = attack(graph, result.release.graph, result.release.mapping, k=2)
    >>> found.holds, found.seen[0].before.unique
    (True, 2)
    """
    from kgreason.people.attacks import attack_users

    _check_k(k=k)
    check_numbers(targets=(targets, 1), seed=(seed, 0))
    _check_beliefs(sensitive, confidence)
    if bool(sensitive) != (confidence is not None):
        raise AnonymizationError(
            "sensitive attributes and a confidence belong together", hint="give both, or neither"
        )
    releases = _releases(released, original, mapping, None)
    if not releases:
        raise AnonymizationError("no release is given", hint="give a release, or several")
    several = len(releases) > 1
    if several and (k_values is not None or sensitive):
        what = "a k for each user" if k_values is not None else "sensitive attributes"
        raise AnonymizationError(f"{what} belong to one release, not to {len(releases)}", hint="leave it out")
    sources = [release.source for release in releases if release.source is not None]
    if several:
        names = {label for source in sources for label in source.graph.labels.tolist()}
        levels = np.full(len(names), 3 if k is None else k, dtype=np.int64)
    else:
        levels = _own_k(sources[0].graph, k, k_values)
    return attack_users(
        releases,
        levels,
        np.random.default_rng(seed),
        personal=k_values is not None,
        targets=targets,
        sensitive=sensitive,
        confidence=1.0 if confidence is None else confidence,
    )


def risk(
    data: PeopleGraph | Schema | Path | str,
    *,
    k: int | None = None,
    k_values: Levels | None = None,
    confidence: float | None = None,
    sensitive: Sequence[str] = (),
    progress: Progress = SILENT,
) -> PeopleRisk:
    """Measure the risks of users before any anonymization, and recommend a k to users who do not know theirs.

    Parameters
    ----------
    data
        As for `anonymize`.
    k, k_values
        Users with fewer candidates are at risk; 3 by default. As for `anonymize`. If each user has an own k, the result
        tells as well whether these k depend on values or numbers of links.
    confidence
        Recommend for each user the least k for which attackers conclude nothing with a higher confidence; above 0, at
        most 1. That an attacker finds the user is guaranteed; what the attacker concludes on values is an estimate.
    sensitive
        Attributes whose values attackers should not conclude from the class of a user; with `confidence`.

    Raises
    ------
    DataError, AnonymizationError
        If the data are invalid, a k is missing, there is no such attribute, or there are fewer than 1 / `confidence`
        users.

    References
    ----------
    THESIS, Definition 8; PCKGA, Theorem 1 and section 7 (recommended levels, attacks by public levels).

    Examples
    --------
    >>> from kgreason.people.model import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs)
    >>> found = risk(graph, confidence=0.5)
    >>> found.seen[-1].before.unique, found.risks.tolist(), found.recommended.least
    (2, [0.5, 0.5, 1.0, 1.0], 2)
    """
    from kgreason.people.level_dependence import dependences
    from kgreason.people.model import PeopleGraph
    from kgreason.people.reading import read as read_people
    from kgreason.people.recommended_levels import recommended
    from kgreason.people.user_risks import PeopleRisk, seen_in

    _check_k(k=k)
    _check_beliefs(sensitive, confidence)
    if sensitive and confidence is None:
        raise AnonymizationError("sensitive attributes need a confidence", hint="say for instance 0.2")
    if not isinstance(data, PeopleGraph):
        _check_data(data)
        data = read_people(data, progress)
    graph = data
    if not graph.n:
        raise AnonymizationError("the graph has no users", hint="do the files hold any rows?")
    levels = _own_k(graph, k, k_values)
    progress.step("Counting candidates")
    seen = seen_in(graph, levels if k_values is not None else None)
    advice = None
    if confidence is not None:
        progress.step("Looking for the least k of each user")
        advice = recommended(graph, confidence, tuple(sensitive))
    dependent = None
    if k_values is not None:
        progress.step("Comparing the k of users with their data")
        dependent = dependences(graph, levels, np.random.default_rng(0))
    return PeopleRisk(graph, levels, seen, advice, dependent)


def _check_beliefs(sensitive: Sequence[str], confidence: float | None) -> None:
    if isinstance(sensitive, str):
        raise AnonymizationError(
            "sensitive is a list of attributes, not one name", hint=f"say [{sensitive!r}]"
        )
    if confidence is None:
        return
    number = isinstance(confidence, Real) and not isinstance(confidence, bool)
    if not number or not 0 < confidence <= 1:
        shown = f"{confidence:g}" if number else repr(confidence)
        raise AnonymizationError(
            f"a confidence is above 0 and at most 1, not {shown}", hint="0.2 is that of k = 5"
        )


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
    from kgreason.people.folder import source_of

    several = isinstance(released, Sequence) and not isinstance(released, str)
    listed = list(cast("Sequence[Release]", released)) if several else [cast("Release", released)]
    names = ["the release"] if len(listed) == 1 else [f"release {i}" for i in range(1, len(listed) + 1)]
    found = list(map(_published, listed, names))
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


def _published(release: Release, name: str) -> Published:
    from kgreason.people.folder import read_published
    from kgreason.people.model import PeopleGraph
    from kgreason.people.verification.verdict import Published

    if isinstance(release, Published):
        return release
    if isinstance(release, str | Path):
        return read_published(Path(release))
    if isinstance(release, PeopleGraph):
        return Published(release, name=name)
    raise CallError(
        f"a release of people is a graph or a folder, not of type {type(release).__name__}",
        hint="of a result of people.anonymize it is result.release.graph",
    )
