"""What the functions on links refuse before they begin, and what they take."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.choices import Strategy
from kgreason.errors import AnonymizationError, CallError
from kgreason.graph.links.model import Released
from kgreason.links.pairs import read_released


def check_links(
    strategy: object, percent: float | None, clustering: str | None, clusters: object | None
) -> None:
    """Refuse options that do not fit together.

    Raises
    ------
    AnonymizationError
        Naming them.
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
    """Refuse a strategy that there is not."""
    if strategy not in get_args(Strategy):
        known = " or ".join(map(str, get_args(Strategy)))
        raise AnonymizationError(f"unknown strategy {strategy!r}", hint=f"choose {known}")


def check_percent(percent: object) -> None:
    """Refuse what is no percentage."""
    if percent is None:
        return
    number = isinstance(percent, int | float | np.integer | np.floating) and not isinstance(percent, bool)
    if not number or not 0 <= percent <= 100:  # type: ignore[operator]
        raise AnonymizationError(f"percent must be a number from 0 to 100, not {percent!r}")


def check_probabilities(**given: object) -> None:
    """Refuse what are no probabilities, by their names."""
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:  # type: ignore[operator]
            raise AnonymizationError(f"{name} must be a probability, from 0 to 1, not {value!r}")


def released_of(released: Released | Path | str) -> Released:
    """A release, also where its folder is given."""
    if isinstance(released, Path | str):
        return read_released(Path(released))
    if not isinstance(released, Released):
        raise CallError(
            f"a release of links is a Released or a folder, not of type {type(released).__name__}",
            hint="of a result of anonymize_links it is result.release.released",
        )
    return released


def sensitive_of(program: CheckedProgram, sensitive: str | None) -> str:
    """The predicate that must not be told: the one that is said, or that rules name.

    Raises
    ------
    AnonymizationError
        If they name none, or several.
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
