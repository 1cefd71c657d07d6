"""Argument checks and conversions of the functions on links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from kgreason.base.argument_checks import check_probabilities
from kgreason.base.errors import AnonymizationError, CallError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.vocabulary import suggest
from kgreason.links.anonymizers import read_clusters
from kgreason.links.folder import read_released
from kgreason.links.model import LinkGraph, Original, Released
from kgreason.links.settings import CLUSTERED, Clusters, Strategy
from kgreason.release.mapping import checked_numbers, names_of, numbers_of, read_mapping, whole_numbers

Mapped = Mapping[str, str] | Vertices | Path | str
"""The released node of each entity: names, numbers, or the private folder."""


def clusters_of(given: Clusters, graph: LinkGraph) -> Vertices:
    """Cluster of each entity, 0 .. c-1, int64, shape (n,).

    Raises
    ------
    DataError
        If a table names an unknown entity, or repeats one.
    AnonymizationError
        If an entity has no cluster.
    """
    if isinstance(given, Path | str):
        return read_clusters(given, graph)
    if not isinstance(given, Mapping):
        numbers = whole_numbers(given)
        if numbers is None or numbers.shape != (graph.n,):
            raise AnonymizationError(
                f"the clusters are no {graph.n:,} whole numbers",
                hint="give one for each entity, in their order",
            )
        return _numbered(numbers.tolist())
    known = set(graph.labels.tolist())
    if strange := [name for name in given if name not in known]:
        raise AnonymizationError(
            f"there is no entity {strange[0]!r} in the graph, of which a cluster is given",
            hint="use the names of the data",
        )
    lacking = [label for label in graph.labels.tolist() if label not in given]
    if lacking:
        more = f", and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        raise AnonymizationError(
            f"the entity {lacking[0]!r} is in no cluster{more}", hint="name a cluster for each entity"
        )
    clusters = [given[label] for label in graph.labels.tolist()]
    for cluster in clusters:
        try:
            hash(cluster)
        except TypeError as error:
            what = f"the name of a cluster cannot be of type {type(cluster).__name__}"
            raise AnonymizationError(what, hint="use texts or whole numbers") from error
    return _numbered(clusters)


def mapping_of(given: Mapped, original: LinkGraph, released: LinkGraph) -> Vertices:
    """Released node of each entity, int64, shape (n,).

    Raises
    ------
    CallError
        If the mapping has neither names nor numbers.
    ReleaseError
        If an entity or node does not exist, or an entity has no node.
    """
    names = read_mapping(Path(given)) if isinstance(given, Path | str) else names_of(given)
    if names is None:
        return checked_numbers(given, original.labels, released.n)
    return numbers_of(names, original.labels, released.labels, "entity")


def _numbered(names: Iterable[object]) -> Vertices:
    number: dict[object, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)


def check_links(
    strategy: object, percent: float | None, clustering: str | None, clusters: object | None
) -> None:
    """Reject options of `anonymize` that do not fit together.

    Raises
    ------
    AnonymizationError
        If two options exclude each other.
    """
    check_strategy(strategy)
    check_percent(percent)
    if strategy != "partial" and percent is not None:
        hint = "leave percent out, or choose partial"
        raise AnonymizationError(f"{strategy} does not leave out a percentage of the links", hint=hint)
    if clustering is not None and clusters is not None:
        raise AnonymizationError(
            "there is a clustering, and clusters are given", hint="leave one of them out"
        )


def check_strategy(strategy: object) -> None:
    """Raise `AnonymizationError` for an unknown strategy."""
    if strategy not in get_args(Strategy):
        known = " or ".join(map(str, get_args(Strategy)))
        raise AnonymizationError(f"unknown strategy {strategy!r}", hint=f"choose {known}")


def check_percent(percent: object) -> None:
    """Raise `AnonymizationError` for anything but a number from 0 to 100, or `None`."""
    if percent is None:
        return
    number = isinstance(percent, int | float | np.integer | np.floating) and not isinstance(percent, bool)
    if not number or not 0 <= percent <= 100:  # type: ignore[operator]
        raise AnonymizationError(f"percent must be a number from 0 to 100, not {percent!r}")


def check_judged(
    released: Released,
    original: Original | None,
    k: int | None,
    strategy: Strategy | None,
    percent: float | None,
) -> None:
    """Reject options of `verify` that have no effect on the release.

    Raises
    ------
    AnonymizationError
        Names the option.
    """
    from kgreason.links.verification import shows_clusters

    made = strategy or released.strategy
    if percent is not None and made != "partial":
        raise AnonymizationError(
            f"percent decides nothing: {made} does not leave out a percentage of the links",
            hint="leave it out; it is of partial releases",
        )
    if percent is not None and original is None:
        raise AnonymizationError(
            "percent decides nothing without the original: how many links there were is not known",
            hint="leave it out, or name the original, too",
        )
    if k is not None and made not in CLUSTERED and not shows_clusters(released):
        raise AnonymizationError(
            f"k decides nothing: {made} leaves entities as nodes, and they have no attributes",
            hint="leave it out; it is of releases with clusters or values",
        )


def check_attack(
    released: Released, *, by_rules: bool, sharp: bool, worlds: int | None, seed: int | None
) -> None:
    """Reject options of `attack` that have no effect on the release.

    Raises
    ------
    AnonymizationError
        Names the option.
    """
    given = {"sharp": sharp, "worlds": worlds is not None, "seed": seed is not None}
    for option, why in meaningless(released, by_rules=by_rules).items():
        if given[option]:
            raise AnonymizationError(f"{option} has no meaning {why}", hint="leave it out")


def meaningless(released: Released, *, by_rules: bool) -> dict[str, str]:
    """Options of `attack` without effect on the release, each with the reason."""
    from kgreason.links.attacks.rule_adversary import is_certain

    found = {}
    if by_rules:
        found["sharp"] = "for an adversary with rules"
    elif released.strategy != "constrained":
        found["sharp"] = f"for a release made by {released.strategy}; it is of constrained ones"
    if not by_rules:
        found |= dict.fromkeys(("worlds", "seed"), "for an adversary with noise, who draws none")
    elif is_certain(released):
        found |= dict.fromkeys(("worlds", "seed"), "for a release that says which entities are linked")
    return found


def check_noise(noise: object, released: Released) -> None:
    """Reject noise for relations that the release does not hold.

    Raises
    ------
    CallError
        If the noise is not a mapping.
    AnonymizationError
        Names the relation.
    """
    if not isinstance(noise, Mapping):
        raise CallError(
            f"noise is a mapping from relations to probabilities, not of type {type(noise).__name__}",
            hint="for instance {'classmates': 0.4}",
        )
    known = released.graph.observed
    for name in noise:
        if name not in known:
            near = suggest(str(name), known)
            raise AnonymizationError(
                f"there is noise of {name!r}, which is no relation of the release "
                f"(there are: {', '.join(known) or 'none'})",
                hint=f"did you mean {near!r}?" if near else "leave it out",
            )


def thresholds_of(given: object) -> tuple[float, ...]:
    """Thresholds as a tuple, from one or several probabilities.

    Raises
    ------
    AnonymizationError
        If there is none, or a number is no probability.
    """
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    found: tuple[Any, ...] = tuple(given) if several else (given,)  # type: ignore[arg-type]
    if not found:
        raise AnonymizationError("no threshold is given", hint="say for instance thresholds=[0.2, 0.4]")
    for threshold in found:
        check_probabilities(**{"a threshold": threshold})
    return tuple(map(float, found))


def check_original(original: object) -> None:
    """Reject objects that are not an `Original`.

    Raises
    ------
    CallError
        Names the type.
    """
    if not isinstance(original, Original):
        raise CallError(
            f"an original is what kgreason.links.read returns, not of type {type(original).__name__}",
            hint='say for instance kgreason.links.read(schema, sensitive="friends")',
        )


def released_of(released: Released | Path | str) -> Released:
    """The release itself, read from its folder if a path is given."""
    if isinstance(released, Path | str):
        return read_released(Path(released))
    if not isinstance(released, Released):
        raise CallError(
            f"a release of links is a Released or a folder, not of type {type(released).__name__}",
            hint="of a result of links.anonymize it is result.release.released",
        )
    return released


def sensitive_of(program: CheckedProgram, sensitive: str | None) -> str:
    """The sensitive predicate: the given one, or the one that the rules declare.

    Raises
    ------
    AnonymizationError
        If the rules declare none, or several.
    """
    if sensitive is not None:
        return sensitive
    if len(program.sensitive) != 1:
        several = f"the rules call {' and '.join(program.sensitive)} sensitive, and one can be"
        what = several if program.sensitive else "it is not said which predicate is sensitive"
        raise AnonymizationError(
            what, hint='name it with sensitive (--sensitive), or write @sensitive("control"). in the rules'
        )
    return program.sensitive[0]
