"""Python files that define functions for rules, and what to say of the errors in them."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType

from kgreason.errors import DataError
from kgreason.lang import functions


def run_definitions(path: str | Path) -> None:
    """Run a Python file, so that the `kgreason.function` definitions in it are known.

    Raises
    ------
    DataError
        If the file cannot be read or is no Python, or fails: with its line.
    """
    file = Path(path)
    if file.suffix != ".py":
        hint = "functions of rules stand in a file FILE.py"
        raise DataError(str(path), "this is no Python file", hint=hint)
    try:
        text = file.read_bytes()
    except OSError as error:
        raise DataError(
            str(path), error.strerror or str(error), hint="name a Python file that you may read"
        ) from None
    module = ModuleType(f"kgreason_functions_{file.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and annotations look names up
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        if error.filename != str(path):  # of a module that it imports
            raise DataError(str(path), told(error), _line(error, str(path))) from None
        line = f": `{error.text.strip()}`" if error.text else ""
        raise DataError(str(path), f"{error.msg}{line}", error.lineno or None) from None
    except (Exception, SystemExit) as error:  # whatever a user's code raises is an error of that file
        ours = traceback.extract_tb(error.__traceback__)[-1].filename == functions.__file__
        raise DataError(str(path), str(error) if ours else told(error), _line(error, str(path))) from None


def told(error: BaseException) -> str:
    """Type and text of an exception that is not ours.

    Examples
    --------
    >>> told(KeyError("a")), told(SystemExit())
    ("KeyError: 'a'", 'SystemExit')
    """
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # even the text of a user's exception may fail
        text = ""
    return f"{name}: {text}" if text else name


def _line(error: BaseException, file: str) -> int | None:
    """Line of a file at which an exception passed through it last."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
