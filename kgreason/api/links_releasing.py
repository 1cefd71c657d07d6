"""Function that makes releases of links: anonymize_links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kgreason.api.links import links_of_rules
from kgreason.api.reasoning import Rules, load
from kgreason.arguments import check_data, check_folders, check_numbers
from kgreason.choices import CLUSTERED, Strategy
from kgreason.errors import AnonymizationError, CallError
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.graph.links.model import LinkGraph, Original
    from kgreason.graph.model import Vertices
    from kgreason.graph.people.sources import Schema
    from kgreason.links.given import Clusters
    from kgreason.links.release import LinksAnonymization
    from kgreason.release.publication import Folders

    Data = Original | Schema | Path | str


def anonymize_links(
    data: Data | Mapping[str, Any] | None,
    *,
    rules: Rules | None = None,
    sensitive: str | None = None,
    strategy: Strategy = "cluster-edge",
    k: int | None = None,
    percent: float | None = None,
    clustering: str | None = None,
    clusters: Clusters | None = None,
    seed: int | None = None,
    folders: Folders | None = None,
    progress: Progress = SILENT,
) -> LinksAnonymization:
    """Make a version of a graph of links without its sensitive relation, and check it.

    Parameters
    ----------
    data
        A graph with its secret (`kgreason.read_links`, `kgreason.links_of_rules`), or the schema of one, or its file;
        with rules, a file or table for each predicate, as for `kgreason.reason`.
    rules
        Rules whose edges are the observed links.
    sensitive
        The relation that must not be told, where `data` is a schema; with rules, a predicate of theirs, by default the
        one that ``@sensitive`` names.
    strategy
        ``"intact"``: all observed links stay. ``"partial"``: `percent` of each relation are left out at random.
        ``"cluster-edge"``: clusters become nodes, with the numbers of links between them. ``"constrained"``: with the
        largest number that two of their entities have. ``"removed"``: no links stay.
    k
        Least number of entities of a cluster; 3 by default, or the size of the smallest of `clusters`.
    percent
        Of ``"partial"``; 50 by default.
    clustering
        ``"random"``, ``"vac"`` (by values), or another of docs/links.md; by default ``"vac"``, or ``"random"`` where
        there are no attributes. Entities that remain nodes are clustered only if they have attributes, whose values
        those of a cluster then share.
    clusters
        Cluster of each entity, in place of a clustering: names, a table ``user,cluster``, or int64, shape (n,).
    seed
        For experiments only: a release that can be computed again must not be published.
    folders
        Where to write the release and its secret; what is then verified is what was written, read back.

    Raises
    ------
    DataError
        If the data are at fault.
    AnonymizationError
        If the graph or the parameters admit no anonymization, or the folders exist.

    References
    ----------
    LINKS, section 4.

    Examples
    --------
    >>> from kgreason.graph.links.school import school
    >>> drawn = school(np.random.default_rng(1), students=30)
    >>> result = anonymize_links(drawn, k=5)
    >>> result.holds, len(result.cluster_sizes), result.utility
    (True, 6, 1.0)
    """
    from kgreason.graph.io.plain_tables import check_plain, plain_format
    from kgreason.graph.people.read import schema_of
    from kgreason.links.arguments import check_links
    from kgreason.links.release import Asked, Links
    from kgreason.release import pipeline
    from kgreason.report.run import Run

    check_links(strategy, percent, clustering, clusters)
    check_numbers(k=(k, 1), seed=(seed, 0))
    if folders is not None:
        check_plain(folders.format)
        check_folders(folders, progress)
    clock, rng = pipeline.Clock(), np.random.default_rng(seed)
    if rules is None and sensitive is not None and isinstance(data, Path | str):
        data = schema_of(data)
    original = _original(data, rules, sensitive, progress)
    graph = original.graph
    if not graph.n:
        raise AnonymizationError(
            f"nothing is known of anybody but {original.sensitive.name}: there is nothing to release",
            hint="name files with other relations, or with values",
        )
    clock.lap("read")
    found, how, least = _clustered(graph, strategy, k, clustering, clusters, rng, progress)
    asked = Asked(
        strategy, least, (50 if percent is None else percent) if strategy == "partial" else None, how
    )
    parameters = {"method": "links", **vars(asked)}
    run = Run(parameters, seed, sampling=np.random.default_rng(seed))
    chosen = None if folders is None else folders.format
    format = chosen or plain_format(_kept(data, rules))
    family = Links(original, asked, found, rng, run, format, clock=clock, progress=progress)
    return pipeline.run(family, folders, seeded=seed is not None)


def _kept(data: object, rules: Rules | None) -> str | None:
    """Format of the first file of the data, if they are files."""
    from kgreason.graph.io.kept import first_files, format_of
    from kgreason.graph.people.sources import Schema

    if isinstance(data, Schema):
        return data.format
    if rules is None:
        return None
    files = first_files(load(rules), data if isinstance(data, Mapping) else {})
    first = next(iter(files.values()), None)
    return None if first is None else format_of(first)


def _original(
    data: Data | Mapping[str, Any] | None, rules: Rules | None, sensitive: str | None, progress: Progress
) -> Original:
    from kgreason.graph.links.model import Original
    from kgreason.graph.people.sources import Schema

    if rules is not None:
        check_data(data)
        return links_of_rules(
            rules, cast("Mapping[str, Any] | None", data), sensitive=sensitive, progress=progress
        )
    if isinstance(data, Original):
        if sensitive not in (None, data.sensitive.name):
            raise AnonymizationError(
                f"{sensitive!r} is said to be sensitive, but the graph has {data.sensitive.name!r}",
                hint="leave it out: the graph says it",
            )
        return data
    if not isinstance(data, Schema | Path | str):
        raise CallError(
            f"data are what kgreason.read_links returns or a schema, not of type {type(data).__name__}",
            hint="for instance the path of a schema file, or kgreason.people_schema(...) of tables and graphs",
        )
    if sensitive is None:
        raise AnonymizationError("it is not said which relation is sensitive", hint='say sensitive="friends"')
    from kgreason.graph.links.read import read_links

    return read_links(data, sensitive, progress)


def _clustered(
    graph: LinkGraph,
    strategy: Strategy,
    k: int | None,
    clustering: str | None,
    clusters: Clusters | None,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Vertices | None, str | None, int | None]:
    """Cluster of each entity, how they were found, and how many entities each has at least; none if none show."""
    from kgreason.anonymizers.links.clusters import clusters_of
    from kgreason.links.given import clusters_of as given

    valued = any(len(a) for a in graph.attributes.values())
    if strategy not in CLUSTERED and not valued:
        for name, value in (("clustering", clustering), ("clusters", clusters), ("k", k)):
            if value is not None:
                raise AnonymizationError(
                    f"{name} changes nothing: {strategy} leaves entities as nodes, and they have no attributes",
                    hint="leave it out, or choose cluster-edge or constrained",
                )
        return None, None, None
    if clusters is not None:
        found = given(clusters, graph)
        smallest = int(np.bincount(found).min(initial=graph.n)) if graph.n else k or 1
        if k is not None and smallest < k:
            raise AnonymizationError(
                f"a cluster has {smallest:,} of the {k:,} entities that are asked for",
                hint="give larger clusters, or a smaller k",
            )
        return found, None, smallest if k is None else k
    how = clustering or ("vac" if valued else "random")
    least = 3 if k is None else k
    return clusters_of(graph, how, least, rng, progress), how, least
