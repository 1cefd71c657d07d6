"""Functions that make releases of graphs of people: anonymize_people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgreason.arguments import check_folders, check_numbers
from kgreason.choices import Construction, LeftOut, Loss, Mode, Partition, PeopleMethod, Sequence
from kgreason.errors import AnonymizationError, CallError, ReleaseError
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.anonymizers.people.settings import Settings
    from kgreason.graph.people.model import Counts, PeopleGraph
    from kgreason.graph.people.sources import Schema
    from kgreason.people.release import PeopleAnonymization
    from kgreason.release.publication import Folders

Levels = Mapping[str, int] | Path | str


def anonymize_people(
    data: PeopleGraph | Schema | Path | str,
    *,
    method: PeopleMethod = "pckga",
    k: int | None = None,
    k_values: Levels | None = None,
    mode: Mode = "exact",
    loss: Loss = "adm",
    alpha: float = 0.5,
    clustering: str | None = None,
    partition: Partition | None = None,
    tau: float = 1.0,
    removal_price: float = 1.0,
    omega: float = 0.01,
    epsilon: int | None = None,
    dimensions: int = 50,
    window: int = 3,
    left_out: LeftOut = "withhold",
    sequence: Sequence = "dp",
    construction: Construction = "relaxed",
    tries: int = 100,
    after: Path | str | None = None,
    seed: int | None = None,
    folders: Folders | None = None,
    progress: Progress = SILENT,
) -> PeopleAnonymization:
    """Make an anonymous version of a graph of people, prove it, and score it.

    Parameters
    ----------
    data
        A graph, or the schema that says where it is, or its file.
    method
        ``"cdga"`` for degrees alone, ``"ckga"`` for attributes and degrees with one k, ``"pckga"`` with a k for each
        user, ``"ctkga"`` for a sequence of releases, ``"k-degree"`` for the degrees of an undirected graph.
    k
        How many users must look like each user, he included; at least 2, and 3 by default.
    k_values
        Of ``"pckga"``: each user's own k, at least 1; a mapping, or a table ``user,k``. `k`, if given, is of those whom
        it does not name.
    mode, loss, alpha, clustering, partition, tau, removal_price, omega, epsilon, dimensions, window, left_out
        See `kgreason.anonymizers.people.settings.Settings`.
    sequence, construction, tries
        As these, of ``"k-degree"``.
    after
        Of ``"ctkga"``: the private folder of the release before; `None` for the first.
    seed
        For experiments only: a release that can be computed again must not be published. Without it the operating
        system seeds the generator.
    folders
        Where to write the release and its secret; what is then verified and scored is what was written, read back.

    Raises
    ------
    DataError
        If the data are at fault.
    AnonymizationError
        If the graph or the parameters admit no anonymization, a parameter has no meaning for the method, or the folders
        exist.

    References
    ----------
    THESIS, chapters 3 to 5; PCKGA, section 3; KDEGREE.

    Examples
    --------
    >>> from kgreason.graph.people.model import PeopleGraph
    >>> graph = PeopleGraph.from_triples(
    ...     ["Ken", "Mary", "Tom", "Jane"],
    ...     [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")],
    ...     [("Ken", "follows", "Tom")],
    ... )
    >>> result = anonymize_people(graph, k=2)
    >>> result.holds, result.removed, result.utility.rru
    (True, [], 0.0)
    """
    from kgreason.anonymizers.people.settings import Settings
    from kgreason.graph.io.plain_tables import check_plain, plain_format
    from kgreason.graph.people.model import PeopleGraph
    from kgreason.graph.people.read import read_people, schema_of
    from kgreason.graph.people.sources import Schema
    from kgreason.people.release import People
    from kgreason.release import pipeline
    from kgreason.report.run import Run

    check_numbers(k=(k, 2), seed=(seed, 0), epsilon=(epsilon, 1), dimensions=(dimensions, 1))
    check_numbers(window=(window, 1), tries=(tries, 1))
    settings = Settings(
        *(
            method,
            mode,
            loss,
            alpha,
            clustering,
            partition,
            tau,
            removal_price,
            omega,
            epsilon,
            dimensions,
            window,
            left_out,
        ),
        *(sequence, construction, tries),
    )
    settings.refuse_unused()
    chosen = {name: value for name, value in vars(settings).items() if name not in settings.unused()}
    own = "each user's own" if k_values is not None else k or 3
    run = Run({**chosen, "k": own}, seed, sampling=np.random.default_rng(0))
    if folders is not None:
        check_plain(folders.format)
        check_folders(folders, progress)
    clock, rng = pipeline.Clock(), np.random.default_rng(seed)
    if not isinstance(data, PeopleGraph | Schema | Path | str):
        raise CallError(
            f"data are a PeopleGraph or a schema, not of type {type(data).__name__}",
            hint="for instance the path of a schema file, or kgreason.people_schema(...) of tables and graphs",
        )
    kept = None
    if not isinstance(data, PeopleGraph):
        data = schema_of(data)
        kept = data.format
    graph = data if isinstance(data, PeopleGraph) else read_people(data, progress)
    levels = _levels(graph, k, k_values, settings)
    if unprotected := int((levels == 1).sum()):
        progress.note(f"users who ask for k = 1, which protects nobody: {unprotected:,}")
    before = _before(after, settings, folders)
    format = plain_format(kept) if folders is None or folders.format is None else folders.format
    clock.lap("read")
    family = People(
        *(graph, settings, levels, before, rng, run),
        asked=k or 3,
        format=format,
        clock=clock,
        progress=progress,
    )
    return pipeline.run(family, folders, seeded=seed is not None)


def _before(after: Path | str | None, settings: Settings, folders: Folders | None) -> Path | None:
    """The private folder of the release before."""
    if after is None:
        return None
    before = Path(after)
    if settings.method != "ctkga":
        raise AnonymizationError(
            f"{settings.method} makes single releases, none after another",
            hint="leave out after, or take ctkga",
        )
    if not (before / "history.json").is_file():
        what = (
            "there is no such folder"
            if not before.exists()
            else "no release of a series has its secret there"
        )
        raise ReleaseError(
            f"{before}: {what}", hint="name the private folder of the release before, made by ctkga"
        )
    if folders is not None and before.resolve() == folders.private.resolve():
        raise ReleaseError(
            f"the release after {before} cannot have its secret in the same place",
            hint="each release of a series keeps folders of its own: choose another private folder",
        )
    return before


def _levels(graph: PeopleGraph, k: int | None, k_values: Levels | None, settings: Settings) -> Counts:
    """The k of each user."""
    from kgreason.graph.people.levels import read_levels

    if k_values is None:
        return np.full(graph.n, 3 if k is None else k, dtype=np.int64)
    if settings.method != "pckga":
        raise AnonymizationError(
            f"{settings.method} has one k for all users", hint="leave out the k of each, or take pckga"
        )
    if not isinstance(k_values, Mapping):
        return read_levels(k_values, graph, k)
    if unknown := sorted(map(str, set(k_values) - set(graph.labels))):
        raise AnonymizationError(
            f"there is no user {unknown[0]!r} in the graph, of whom a k is given",
            hint="use the names of the data",
        )
    lacking = [label for label in graph.labels if label not in k_values]
    if lacking and k is None:
        raise AnonymizationError(
            f"{len(lacking):,} users have no k, such as {lacking[0]!r}",
            hint="give a k for every user, or k for the others",
        )
    for label, own in k_values.items():
        check_numbers(**{f"the k of {label!r}": (own, 1)})
    return np.array([k_values.get(label, k) for label in graph.labels], dtype=np.int64)
