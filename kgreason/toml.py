"""TOML, with one kind of error for whatever is wrong with it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_LONG = re.compile(r"[0-9][0-9_]{4300,}")


def parsed(text: str) -> dict[str, Any]:
    """Read a text.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is no TOML; also where lists are nested too deeply, or an integer is longer than Python reads.

    Examples
    --------
    >>> parsed("k = 3")
    {'k': 3}
    >>> parsed("k = " + "9" * 4400)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: an integer of 4,400 digits is not read (at line 1, column 5)
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None
    except ValueError as error:
        found = _LONG.search(text)
        if found is None:
            raise tomllib.TOMLDecodeError(str(error)) from None
        line, column = (
            text.count("\n", 0, found.start()) + 1,
            found.start() - text.rfind("\n", 0, found.start()),
        )
        raise tomllib.TOMLDecodeError(
            f"an integer of {len(found[0]):,} digits is not read (at line {line}, column {column})"
        ) from None
