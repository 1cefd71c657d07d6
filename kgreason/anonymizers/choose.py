"""The algorithms by name."""

from __future__ import annotations

from kgreason.anonymizers.base import Anonymizer
from kgreason.anonymizers.kguard import Kguard
from kgreason.anonymizers.klone import Klone
from kgreason.anonymizers.published import PublishedKguard
from kgreason.choices import Method, Mode
from kgreason.errors import AnonymizationError


def choose(method: Method, mode: Mode, k: int, x: int, trials: int, max_subgraphs: int) -> Anonymizer:
    """Choose the algorithm by its name.

    Raises
    ------
    AnonymizationError
        If there is none of this name, or it has no such mode.
    """
    if mode not in ("exact", "published"):
        raise AnonymizationError(f"unknown mode {mode!r}", hint="choose exact or published")
    if method == "klone":
        return Klone(k, trials)
    if method == "kguard" and mode == "exact":
        return Kguard(k, (x,), trials, max_subgraphs)
    if method == "kguard":
        return PublishedKguard(k, x, trials, max_subgraphs)
    raise AnonymizationError(f"unknown method {method!r}", hint="choose kguard or klone")
