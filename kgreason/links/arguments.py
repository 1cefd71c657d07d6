"""Argument checks and conversions of the functions on links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kgreason.base.errors import AnonymizationError
from kgreason.base.setting_fields import check_probabilities, check_ranges, check_type
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.vocabulary import suggest
from kgreason.links.folder import read_released
from kgreason.links.model import LinkGraph, Original, Released
from kgreason.links.settings import CLUSTERED, Criterion, Settings, Strategy
from kgreason.links.verification import shows_clusters
from kgreason.release.mapping import checked_numbers, names_of, numbers_of, read_mapping

Mapped = Mapping[str, str] | Vertices | Path | str
"""The released node of each entity: names, numbers, or the private folder."""


def mapping_of(given: Mapped, original: LinkGraph, released: LinkGraph) -> Vertices:
    """Released node of each entity, int64, shape (n,); errors as `checked_numbers` and `numbers_of`."""
    names = read_mapping(Path(given)) if isinstance(given, Path | str) else names_of(given)
    if names is None:
        return checked_numbers(given, original.labels, released.n)
    return numbers_of(names, original.labels, released.labels, "entity")


def check_options(settings: Settings) -> None:
    """Reject settings of `anonymize` that are out of range or exclude each other (`AnonymizationError`)."""
    check_ranges(settings)
    if settings.strategy != "partial" and settings.percent is not None:
        hint = "leave percent out, or choose partial"
        what = f"{settings.strategy} does not leave out a percentage of the links"
        raise AnonymizationError(what, hint=hint)
    if settings.strategy != "partial" and settings.criterion is not None:
        what = f"{settings.strategy} does not choose links to leave out"
        raise AnonymizationError(what, hint="leave criterion out, or choose partial")
    if settings.clustering is not None and settings.clusters is not None:
        raise AnonymizationError(
            "there is a clustering, and clusters are given", hint="leave one of them out"
        )


def check_judged(
    released: Released,
    original: Original | None,
    k: int | None,
    strategy: Strategy | None,
    percent: float | None,
    criterion: Criterion | None,
    closeness: float | None,
) -> None:
    """Reject options of `verify` that have no effect on the release (`AnonymizationError`)."""
    made = strategy or released.strategy
    if percent is not None and made != "partial":
        raise AnonymizationError(
            f"percent has no effect: {made} does not leave out a percentage of the links",
            hint="leave it out; it is of partial releases",
        )
    if percent is not None and original is None:
        raise AnonymizationError(
            "percent has no effect without the original: how many links there were is not known",
            hint="leave it out, or name the original, too",
        )
    if criterion is not None and made != "partial":
        raise AnonymizationError(
            f"criterion has no effect: {made} does not choose links to leave out",
            hint="leave it out; it is of partial releases",
        )
    if closeness is not None and not any(len(a) for a in released.graph.attributes.values()):
        raise AnonymizationError(
            "closeness has no effect: the release has no values",
            hint="leave it out; it is of releases with attributes",
        )
    if k is not None and made not in CLUSTERED and not shows_clusters(released):
        raise AnonymizationError(
            f"k has no effect: {made} leaves entities as nodes, and they have no attributes",
            hint="leave it out; it is of releases with clusters or values",
        )


def meaningless(released: Released, rules: CheckedProgram | None, sensitive: str) -> dict[str, str]:
    """Options of `attack` without effect on the release, each with the reason; `rules` of the attacker, if any."""
    from kgreason.links.attacks.rule_attacker import draws_worlds

    found = {}
    if rules is not None:
        found["sharp"] = "for an attacker with rules"
    elif released.strategy != "constrained":
        found["sharp"] = f"for a release made by {released.strategy}; it is of constrained ones"
    if rules is None:
        found |= dict.fromkeys(("worlds", "seed"), "for an attacker with noise, but this one draws none")
    elif not draws_worlds(released, rules, sensitive):
        why = "for a release that says which entities are linked, and have the values that rules read"
        found |= dict.fromkeys(("worlds", "seed"), why)
    return found


def check_noise(noise: Mapping[str, float], released: Released) -> None:
    """Reject noise for relations that the release does not hold (`AnonymizationError`)."""
    what, hint = "noise is a mapping from relations to probabilities", "for instance {'classmates': 0.4}"
    check_type(noise, Mapping, what, hint)
    known = released.graph.observed
    for name in noise:
        if name in released.graph.attributes:
            raise AnonymizationError(
                f"there is noise of {name!r}, which is an attribute: noise is of links",
                hint=f"write a rule: ... :- {name}(X, V), {name}(Y, V), X != Y.",
            )
        if name not in known:
            near = suggest(str(name), known)
            raise AnonymizationError(
                f"there is noise of {name!r}, which is no relation of the release "
                f"(there are: {', '.join(known) or 'none'})",
                hint=f"did you mean {near!r}?" if near else "leave it out",
            )


def thresholds_of(given: object) -> tuple[float, ...]:
    """Thresholds as a tuple, from one or several probabilities; `AnonymizationError` for anything else."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    found: tuple[Any, ...] = tuple(given) if several else (given,)  # type: ignore[arg-type]
    if not found:
        raise AnonymizationError("no threshold is given", hint="say for instance thresholds=[0.2, 0.4]")
    for threshold in found:
        check_probabilities(**{"a threshold": threshold})
    return tuple(map(float, found))


def check_original(original: object) -> None:
    """Raise `CallError` for anything but an `Original`."""
    hint = 'say for instance kgreason.links.read(schema, sensitive="friends")'
    check_type(original, Original, "an original is what kgreason.links.read returns", hint)


def released_of(released: Released | Path | str) -> Released:
    """The release itself, read from its folder if a path is given; `CallError` for other types."""
    if isinstance(released, Path | str):
        return read_released(Path(released))
    hint = "of a result of links.anonymize it is result.release.released"
    check_type(released, Released, "a release of links is a Released or a folder", hint)
    return released
