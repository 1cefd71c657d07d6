"""Lazy import of the public names of a package, which keeps ``import kgreason`` fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package from the imports in its stub file.

    Type checkers read the same stub: each public name and its module are written once.

    Parameters
    ----------
    package
        Name of the package.
    file
        Its ``__init__.py``; the stub is ``__init__.pyi`` in the same folder.
    """

    @cache
    def origins() -> dict[str, tuple[str, str]]:
        import ast  # takes 15 ms, which `import kgreason` need not wait for

        stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
        found = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        return {
            alias.asname or alias.name: (str(node.module), alias.name)
            for node in found
            for alias in node.names
        }

    def names() -> list[str]:
        return sorted(origins())

    def objects() -> list[str]:
        return [name for name in names() if origins()[name][0] != package]

    def attribute(name: str) -> Any:
        if name == "__all__":
            return objects()
        if name.startswith("_") or name not in origins():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = origins()[name]
        if module == package:  # a module of the package
            return import_module(f"{module}.{original}")
        found = getattr(import_module(module), original)
        setattr(sys.modules[package], name, found)
        return found

    return attribute, names
