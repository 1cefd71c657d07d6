"""A report on disk: ``report.html`` for reading, and ``report.json``, from which the page can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from kgreason.exchange import replacing
from kgreason.imprint import account, digests
from kgreason.report.data import Report
from kgreason.report.json import PAGE, as_dict

HTML, JSON = "report.html", "report.json"
FILES = (HTML, JSON)
"""What a report is written as."""


def texts(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """The files of a report by name; `data` is what else stands in the JSON, besides digests of the folder's files."""
    from kgreason.report.page import page

    shown = page(report).encode()
    files = {**digests(folder), HTML: sha256(shown).hexdigest()}
    whole = {"format": 1, **(data or {}), PAGE: as_dict(report)}
    return {HTML: shown, JSON: account(whole, dict(sorted(files.items()))).encode()}


def write_report(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> None:
    """Write both files into an existing folder, in which all others stand already."""
    for name, text in texts(folder, report, data).items():
        (folder / name).write_bytes(text)


def write_page(path: Path, report: Report) -> None:
    """Write the page alone, whole or not at all; one that is secret can be read by its owner alone."""
    from kgreason.report.page import page

    with replacing(path) as temporary:
        temporary.touch(mode=0o600 if report.secret else 0o644)
        temporary.write_bytes(page(report).encode())
