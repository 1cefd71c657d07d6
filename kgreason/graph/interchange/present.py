"""Packages that are there only if the user has installed them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kgreason.errors import DataError


def needed(package: str, what: str, asked: str, instead: str = "") -> Any:
    """Import a package that a result of its kind needs.

    Parameters
    ----------
    what
        That result, for the message.
    asked
        The function that was called.
    instead
        What does without, for the hint.

    Raises
    ------
    DataError
        If it is not installed, with the command that installs it.

    Examples
    --------
    >>> needed("graphics_of_tomorrow", "a hologram", "to_hologram", "to_networkx does without")
    Traceback (most recent call last):
    kgreason.errors.DataError: to_hologram: a hologram needs the package graphics_of_tomorrow, which is not installed
      help: pip install graphics_of_tomorrow; to_networkx does without
    """
    try:
        return import_module(package)
    except ModuleNotFoundError:
        hint = f"pip install {package}" + f"; {instead}" * bool(instead)
        message = f"{what} needs the package {package}, which is not installed"
        raise DataError(asked, message, hint=hint) from None
