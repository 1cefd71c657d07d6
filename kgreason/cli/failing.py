"""Errors for programs: what stands on standard output in place of a result if ``--json`` is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from kgreason.cli.run import aloud, complain, running
from kgreason.errors import Diagnostic, KgreasonError, ProgramError, Span
from kgreason.passwords import hidden

Kind = Literal["usage", "input", "file", "memory", "interrupted", "defect"]


def fail(text: str, kind: Kind, code: int, error: BaseException | None = None) -> int:
    """Tell an error: on standard error as text and, if JSON is asked for, on standard output as an object.

    Parameters
    ----------
    text
        As people read it.
    code
        Exit code, which is returned.
    error
        Where more is to be known.
    """
    complain(text)
    give_json(text, kind, code, error)
    return code


def give_json(text: str, kind: Kind, code: int, error: BaseException | None = None) -> None:
    """Print the error as an object, if JSON is asked for and no result has been printed."""
    run = running()
    if not run.wants_json() or run.answered:
        return
    run.answered = True
    told = {"format": 1, "error": {"kind": kind, **_told(error, text), "text": hidden(text)}, "exit": code}
    with suppress(OSError), aloud():  # whoever read it may have gone
        print(json.dumps(told, indent=2, ensure_ascii=False), flush=True)


def _told(error: BaseException | None, text: str) -> Mapping[str, Any]:
    """Message, hint, and place of an error; findings are those of a rule file."""
    first, _, rest = text.partition("\n")
    _, _, hint = rest.partition("help: ")
    told: dict[str, Any] = {
        "message": hidden(first.removeprefix("error: ")),
        "hint": hint or None,
        "file": None,
        "line": None,
        "column": None,
        "findings": [],
    }
    if isinstance(error, ProgramError):
        told["findings"] = [finding(d) for d in error.diagnostics]
        told |= {key: told["findings"][0][key] for key in ("message", "hint", "file", "line", "column")}
    elif isinstance(error, KgreasonError):
        span = getattr(error, "span", None)
        if isinstance(span, Span):
            told |= {"file": span.file, "line": span.line, "column": span.column}
        known = {key: getattr(error, key) for key in told if getattr(error, key, None) is not None}
        told |= {key: hidden(value) if isinstance(value, str) else value for key, value in known.items()}
    return told


def finding(one: Diagnostic) -> dict[str, Any]:
    """A finding on a rule file, for JSON."""
    return {
        "code": one.code,
        "severity": one.severity,
        "file": one.span.file if one.span else None,
        "line": one.span.line if one.span else None,
        "column": one.span.column if one.span else None,
        "message": one.message,
        "note": one.note,
        "hint": one.hint,
    }
