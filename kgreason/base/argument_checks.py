"""Argument checks; each error names the argument."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from kgreason.base.errors import AnonymizationError, CallError


def check_type(value: object, kinds: Any, what: str, hint: str) -> None:
    """Raise `CallError` if a value has another type."""
    if not isinstance(value, kinds):
        raise CallError(f"{what}, not of type {type(value).__name__}", hint=hint)


def check_numbers(**given: tuple[int | None, int]) -> None:
    """Raise `AnonymizationError` for options that are not integers or are below their minimum."""
    for name, (value, least) in given.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise AnonymizationError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_probabilities(**given: object) -> None:
    """Raise `AnonymizationError` for values that are not probabilities.

    Examples
    --------
    >>> check_probabilities(leak=2)
    Traceback (most recent call last):
    kgreason.base.errors.AnonymizationError: leak must be a probability, not 2
      help: give a number from 0 to 1, as 0.4
    """
    for name, value in given.items():
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:  # type: ignore[operator]
            what = f"{name} must be a probability, not {f'{value:g}' if number else repr(value)}"
            raise AnonymizationError(what, hint="give a number from 0 to 1, as 0.4")
