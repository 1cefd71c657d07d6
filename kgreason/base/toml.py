"""TOML parsing with a single exception type."""

from __future__ import annotations

import tomllib
from typing import Any


def parsed(text: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises
    ------
    tomllib.TOMLDecodeError
        If the text is not TOML, nests too deeply, or holds an integer too long for Python.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None
