"""Python API of the links family: anonymize, verify and attack graphs of observed links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import (
    check_numbers,
    check_probabilities,
    check_ranges,
    check_type,
    configured,
    reported,
    setting,
)
from kgreason.links.settings import CLUSTERED, THRESHOLDS, Criterion, Settings, Strategy
from kgreason.reasoning.api import Rules, check_data, load
from kgreason.release.publication import check_folders

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import Vertices
    from kgreason.links.arguments import Mapped
    from kgreason.links.attacks.disclosure import Disclosure
    from kgreason.links.model import LinkGraph, Original, Released
    from kgreason.links.result import LinksAnonymization
    from kgreason.links.verification import LinksVerdict
    from kgreason.people.file_schema import Schema

    Release: TypeAlias = Released | Path | str
    Data: TypeAlias = Original | Schema | Path | str


@dataclass(frozen=True, kw_only=True)
class Call(Settings):
    """What `anonymize` takes besides the data."""

    rules: Rules | None = setting(None, option="", reported=False)
    """Rules whose edges are the observed links."""
    progress: Progress = setting(SILENT, option="", reported=False)
    """Receives the steps."""


@configured(Call)
def anonymize(data: Data | Mapping[str, Any] | None, call: Call) -> LinksAnonymization:
    """Anonymize a graph of links without its sensitive relation, and verify the release.

    Parameters
    ----------
    data
        A graph with its sensitive relation (`kgreason.links.read`, `kgreason.links.of_rules`), its schema, or the file
        of the schema; with rules, a file or table for each predicate, as for `kgreason.reason`.

    Raises
    ------
    DataError
        If the data are invalid.
    AnonymizationError
        If the graph or the settings admit no anonymization, or the output folders exist.

    References
    ----------
    LINKS, section 4.

    Examples
    --------
    >>> from kgreason.links.school import school
    >>> drawn = school(np.random.default_rng(1), students=30)
    >>> result = anonymize(drawn, k=5)
    >>> result.holds, len(result.cluster_sizes), result.utility
    (True, 6, 1.0)
    """
    from kgreason.links.anonymization import Links
    from kgreason.links.arguments import check_options
    from kgreason.people.reading import schema_of
    from kgreason.release import pipeline
    from kgreason.release.plain_tables import check_plain, plain_format
    from kgreason.release.report.sections import Run

    rules, sensitive, percent = call.rules, call.sensitive, call.percent
    seed, folders, progress = call.seed, call.folders, call.progress
    check_options(call)
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
            f"the data hold no relation or value besides {original.sensitive.name}: there is nothing to release",
            hint="name files with other relations, or with values",
        )
    clock.lap("read")
    found, how, least = _clustered(graph, call, rng, progress)
    share = (50 if percent is None else percent) if call.strategy == "partial" else None
    criterion = call.criterion or "random" if call.strategy == "partial" else None
    asked = replace(call, k=least, percent=share, clustering=how, criterion=criterion)
    parameters = {"method": "links", **reported(asked)}
    run = Run(parameters, seed, sampling=np.random.default_rng(seed))
    chosen = None if folders is None else folders.format
    format = chosen or plain_format(_input_format(data, rules))
    family = Links(original, asked, found, format, rng=rng, run=run, clock=clock, progress=progress)
    return pipeline.run(family, folders)


def _input_format(data: object, rules: Rules | None) -> str | None:
    """Format of the first data file; `None` for data in memory."""
    from kgreason.data.format_list import format_of
    from kgreason.data.program_tables import first_files
    from kgreason.people.file_schema import Schema

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
    from kgreason.links.model import Original
    from kgreason.links.reading import read as read_links
    from kgreason.people.file_schema import Schema

    if rules is not None:
        return of_rules(rules, cast("Mapping[str, Any] | None", data), sensitive=sensitive, progress=progress)
    if isinstance(data, Original):
        if sensitive not in (None, data.sensitive.name):
            raise AnonymizationError(
                f"{sensitive!r} is named as sensitive, but the graph has {data.sensitive.name!r}",
                hint="leave it out: the graph says it",
            )
        return data
    check_type(
        data,
        Schema | Path | str,
        "data are what kgreason.links.read returns or a schema",
        "for instance the path of a schema file, or kgreason.people.schema(...) of tables and graphs",
    )
    if sensitive is None:
        raise AnonymizationError("no sensitive relation is named", hint='say sensitive="friends"')
    return read_links(cast("Schema | Path | str", data), sensitive, progress)


def _clustered(
    graph: LinkGraph, settings: Settings, rng: np.random.Generator, progress: Progress
) -> tuple[Vertices | None, str | None, int | None]:
    """Cluster of each entity, name of the clustering and least cluster size; `None` each if clusters have no effect."""
    from kgreason.links.anonymizers import clusters_of, given_clusters
    from kgreason.links.close_clusters import check_given, close_clusters

    strategy, k, clustering, clusters = settings.strategy, settings.k, settings.clustering, settings.clusters
    valued, closeness = any(len(a) for a in graph.attributes.values()), settings.closeness
    if closeness is not None and not valued:
        raise AnonymizationError(
            "closeness changes nothing: the entities have no attributes", hint="leave it out"
        )
    if strategy not in CLUSTERED and not valued:
        for name, value in (("clustering", clustering), ("clusters", clusters), ("k", k)):
            if value is not None:
                raise AnonymizationError(
                    f"{name} changes nothing: {strategy} leaves entities as nodes, and they have no attributes",
                    hint="leave it out, or choose cluster-edge or constrained",
                )
        return None, None, None
    if clusters is not None:
        found = given_clusters(clusters, graph)
        smallest = int(np.bincount(found).min(initial=graph.n)) if graph.n else k or 1
        if k is not None and smallest < k:
            raise AnonymizationError(
                f"a cluster has {smallest:,} entities, fewer than k = {k}",
                hint="give larger clusters, or a smaller k",
            )
        if closeness is not None:
            check_given(graph, found, closeness)
        return found, None, smallest if k is None else k
    how = clustering or ("vac" if valued else "random")
    least = 3 if k is None else k
    found = clusters_of(graph, how, least, rng, progress)
    return found if closeness is None else close_clusters(graph, found, closeness, rng), how, least


def of_rules(
    rules: Rules,
    data: Mapping[str, Any] | None = None,
    *,
    sensitive: str | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Original:
    """Read a graph of links from rules: edges are observed, and one predicate is sensitive.

    Parameters
    ----------
    sensitive
        The sensitive predicate, ground or derived; by default the one that ``@sensitive`` names.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError
        If the rules or the data are invalid.
    AnonymizationError
        If no sensitive predicate is named.
    """
    from kgreason.links.reading import links_of_program

    check_data(data)
    program = load(rules, allow_files=allow_files)
    if sensitive is None:
        if len(program.sensitive) != 1:
            several = f"the rules call {' and '.join(program.sensitive)} sensitive, and one can be"
            what = several if program.sensitive else "no sensitive predicate is named"
            hint = 'name it with sensitive (--sensitive), or write @sensitive("control"). in the rules'
            raise AnonymizationError(what, hint=hint)
        (sensitive,) = program.sensitive
    return links_of_program(program, data or {}, sensitive, progress)


def verify(
    released: Release,
    *,
    original: Original | None = None,
    mapping: Mapped | None = None,
    sensitive: str | None = None,
    k: int | None = None,
    strategy: Strategy | None = None,
    percent: float | None = None,
    criterion: Criterion | None = None,
    closeness: float | None = None,
) -> LinksVerdict:
    """Verify that a release of links matches its strategy and omits the sensitive relation.

    Without the original, only the conditions on the release are decided; `LinksVerdict.needs_original` lists the rest.

    Parameters
    ----------
    released
        The release or its folder; in a folder, each file is checked against what kgreason writes.
    original, mapping
        The original graph, and the released node of each entity: names, numbers, or the private folder.
    sensitive
        Name of the sensitive relation, if the original is not given.
    k
        Least number of entities that share a node or its values, for releases with clusters or values; 3 by default.
    strategy
        Required strategy; by default the one that the release states.
    percent
        For ``"partial"`` with the original: least share of the links of each relation that must be missing.
    criterion
        For ``"partial"``: required criterion; by default the one that the release states.
    closeness
        Largest distance of the values of a node from those of all entities, 0 to 1; by default not examined.

    Raises
    ------
    AnonymizationError
        If the arguments do not fit together.
    DataError, ReleaseError
        If a file is invalid, or the mapping belongs to another release.
    """
    from kgreason.links.arguments import check_judged, check_original, mapping_of, released_of
    from kgreason.links.folder import form
    from kgreason.links.left_links import Source
    from kgreason.links.verification import verify_links as decide

    made = Settings.strategy if strategy is None else strategy
    check_ranges(Settings(k=k, strategy=made, percent=percent, criterion=criterion, closeness=closeness))
    if original is not None:
        check_original(original)
    if (original is None) != (mapping is None):
        raise AnonymizationError("original and mapping belong together", hint="give both, or neither")
    found = released_of(released)
    check_judged(found, original, k, strategy, percent, criterion, closeness)
    source = None
    if original is not None and mapping is not None:
        source = Source(original.graph, mapping_of(mapping, original.graph, found.graph))
        if sensitive is not None and sensitive != original.sensitive.name:
            raise AnonymizationError(
                f"{sensitive!r} is named as sensitive, but the original has {original.sensitive.name!r}",
                hint="leave it out: the original says it",
            )
        sensitive = original.sensitive.name
    return decide(
        found,
        secret=sensitive,
        source=source,
        k=3 if k is None else k,
        strategy=strategy,
        percent=percent,
        criterion=criterion,
        closeness=closeness,
        form=form(Path(released), found) if isinstance(released, Path | str) else None,
    )


def attack(
    released: Release,
    original: Original,
    mapping: Mapped,
    *,
    noise: Mapping[str, float] | None = None,
    leak: float = 0.0,
    rules: Rules | None = None,
    thresholds: Iterable[float] | float = THRESHOLDS,
    sharp: bool = False,
    worlds: int | None = None,
    seed: int | None = None,
    progress: Progress = SILENT,
) -> Disclosure:
    """Infer sensitive links from a release as an attacker would, and compare the predictions with the truth.

    Parameters
    ----------
    released, original, mapping
        As for `verify`.
    noise
        Noisy-or attacker: probability with which a link of each released relation causes a sensitive link.
    leak
        Leak probability: of a sensitive link without any observed cause.
    rules
        Rules of the attacker, in place of `noise`; the weight of a rule's ``@label`` is its probability.
    thresholds
        Pairs whose probability exceeds a threshold are predicted; one threshold or several.
    sharp
        For constrained releases: whether the noisy-or attacker uses more than that of the paper; see docs/links.md.
    worlds, seed
        For an attacker with rules: number of random placements of the links of clusters and of values that several
        entities share (100), and the seed of their generator.

    Raises
    ------
    AnonymizationError
        If there are neither noise nor rules, or both, if an argument has no effect, a number is no probability, the
        release holds the sensitive relation, or the attacker uses a relation that the release does not hold.
    CallError, ReleaseError
        If an argument has the wrong type, or the mapping belongs to another release.

    References
    ----------
    LINKS, sections 6, 7 and 8.2.

    Examples
    --------
    >>> from kgreason.links.api import anonymize
    >>> from kgreason.links.school import school
    >>> drawn = school(np.random.default_rng(1), students=40)
    >>> result = anonymize(drawn, strategy="intact", seed=1)
    >>> found = attack(
    ...     result.release.released,
    ...     drawn,
    ...     result.mapping,
    ...     noise={"classmates": 0.4, "groupmates": 0.6},
    ...     leak=0.2,
    ... )
    >>> found.at[0].recall > found.at[3].recall
    True
    """
    from kgreason.links.arguments import (
        check_noise,
        check_original,
        mapping_of,
        meaningless,
        released_of,
        thresholds_of,
    )
    from kgreason.links.attacks.disclosure import disclosure
    from kgreason.links.attacks.entity_pairs import check_unheld
    from kgreason.links.attacks.noisy_or import Noise, beliefs_of, knowledge_of
    from kgreason.links.attacks.rule_attacker import rule_beliefs

    if (noise is None) == (rules is None):
        raise AnonymizationError(
            "an attacker infers by the noise of relations, or by rules",
            hint="say for instance noise={'classmates': 0.4}, or rules='attacker.vada'",
        )
    check_numbers(worlds=(worlds, 1), seed=(seed, 0))
    check_probabilities(leak=leak)
    above = thresholds_of(thresholds)
    check_original(original)
    found = released_of(released)
    node = mapping_of(mapping, original.graph, found.graph)
    check_unheld(found, original.sensitive.name)
    used = {"sharp": sharp, "worlds": worlds is not None, "seed": seed is not None}
    program = None if rules is None else load(rules)
    for option, why in meaningless(found, program, original.sensitive.name).items():
        if used[option]:
            raise AnonymizationError(f"{option} has no meaning {why}", hint="leave it out")
    mutual, known = original.sensitive.mutual, knowledge_of(original.graph)
    if noise is not None:
        check_noise(noise, found)
        beliefs = beliefs_of(found, Noise(leak, noise), known, mutual, sharp=sharp)
    else:
        assert program is not None
        beliefs = rule_beliefs(
            *(found, program),
            sensitive=original.sensitive.name,
            leak=leak,
            worlds=100 if worlds is None else worlds,
            rng=np.random.default_rng(seed),
            mutual=mutual,
            limits=known.limits,
            progress=progress,
        )
    return disclosure(beliefs, found.graph, original.sensitive, node, above)
