"""kgreason: reason over knowledge graphs, anonymize them against derived edges, and prove it.

Examples
--------
>>> import kgreason
>>> rules = '''
... @edge("own"). @node("company"). @output("control").
... control(X, X) :- company(X).
... control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
... '''
>>> facts = kgreason.reason(rules, {"own": [("A", "D", 0.6), ("D", "E", 0.8)]})
>>> sorted(facts.rows("control"))
[('A', 'A'), ('A', 'D'), ('A', 'E'), ('D', 'D'), ('D', 'E'), ('E', 'E')]
"""

from __future__ import annotations

from functools import cache
from typing import Any

__version__ = "0.1.0"


@cache
def _origins() -> dict[str, str]:
    """Module of each public name, as the stub beside this file tells type checkers."""
    import ast
    from pathlib import Path

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that ``import kgreason`` takes 0.02 s and not 0.3 s."""
    from importlib import import_module

    if name == "estimators":
        return import_module("kgreason.estimators")
    if name == "__all__":
        return sorted(_origins().keys() - {"estimators"})
    if name.startswith("_") or name not in _origins():
        raise AttributeError(f"module 'kgreason' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_origins()[name]), name)
    return found


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
