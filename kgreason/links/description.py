"""What ``links.toml`` says of a release of links: how it was made, and what its relations and attributes are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from kgreason.choices import Strategy
from kgreason.errors import DataError
from kgreason.toml import parsed
from kgreason.written import UNCHANGED

_KEYS = {"relations": ("mutual", "directed", "weighted"), "attributes": ("numeric", "categorical")}


@dataclass(frozen=True)
class Description:
    """What is said of the tables.

    Attributes
    ----------
    strategy
        How the release was made.
    mutual, directed
        The relations: whose links have no direction, and the others.
    weighted
        Those of them with weights.
    numeric, categorical
        The attributes.
    """

    strategy: Strategy
    mutual: tuple[str, ...]
    directed: tuple[str, ...]
    weighted: tuple[str, ...]
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]

    @property
    def relations(self) -> tuple[str, ...]:
        """All relations, in the order of their names."""
        return tuple(sorted((*self.mutual, *self.directed)))


def read_description(path: Path) -> Description:
    """Read how a release is to be taken.

    Raises
    ------
    DataError
        If the file is not as `kgreason.graph.links.write` writes it.
    """
    text = _text(path)
    given = _parsed(path, text)
    _check_keys(path, text, given, ("strategy", *_KEYS))
    if given["strategy"] not in get_args(Strategy):
        names = ", ".join(get_args(Strategy))
        raise _error(path, text, "strategy", f"unknown strategy {given['strategy']!r}: there are {names}")
    lists: dict[str, tuple[str, ...]] = {}
    for section, keys in _KEYS.items():
        if not isinstance(given[section], dict):
            raise _error(path, text, section, f"{section} is no section")
        _check_keys(path, text, given[section], keys)
        lists |= {key: _names(path, text, key, given[section][key]) for key in keys}
    for one, other in (("mutual", "directed"), ("numeric", "categorical")):
        if both := sorted(set(lists[one]) & set(lists[other])):
            raise _error(path, text, other, f"{both[0]!r} is in {one} and in {other}")
    if strange := sorted(set(lists["weighted"]) - {*lists["mutual"], *lists["directed"]}):
        raise _error(path, text, "weighted", f"{strange[0]!r} is no relation")
    return Description(given["strategy"], **lists)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(str(path), f"it is not UTF-8 text: {error.reason}", hint=UNCHANGED) from error
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror or error}", hint=UNCHANGED) from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return parsed(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        said = str(error).replace(found[0] if found else "", "").strip()
        line = int(found[1]) if found else None
        raise DataError(str(path), f"not TOML: {said}", line, hint=UNCHANGED) from error


def _check_keys(path: Path, text: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in known:
        if key not in given:
            raise DataError(str(path), f"it does not say {key}", hint=UNCHANGED)
    for key in given:
        if key not in known:
            raise _error(path, text, key, f"unknown key {key!r}")


def _names(path: Path, text: str, key: str, given: Any) -> tuple[str, ...]:
    if not (isinstance(given, list) and all(isinstance(name, str) and name.strip() for name in given)):
        raise _error(path, text, key, f"{key} is a list of names, not {given!r}")
    if len(set(given)) < len(given):
        raise _error(path, text, key, f"a name stands twice in {key}")
    return tuple(given)


def _error(path: Path, text: str, key: str, message: str) -> DataError:
    """Build the error that points at the line of a key or section."""
    place = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}[\"']?\s*[\]=]")
    line = next((i for i, found in enumerate(text.splitlines(), 1) if place.match(found)), None)
    return DataError(str(path), message, line, hint=UNCHANGED)
