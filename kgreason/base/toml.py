"""TOML, with one kind of error for whatever is wrong with it."""

from __future__ import annotations

import tomllib
from typing import Any


def parsed(text: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is no TOML, nests too deeply, or holds an integer that is longer than Python reads.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None
