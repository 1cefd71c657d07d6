"""Results that notebooks show."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """Base of results that `kgreason.notebook` has a view of; a result knows nothing of how it is shown."""

    def _repr_html_(self) -> str:
        return str(import_module("kgreason.notebook").html(self))
