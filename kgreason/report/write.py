"""A report on disk: ``report.html`` for reading, and ``report.json``, from which the page can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgreason.output.place import replacing
from kgreason.report.data import Report
from kgreason.report.json import PAGE, as_dict

HTML, JSON = "report.html", "report.json"
FILES = (HTML, JSON)
"""What a report is written as."""


def texts(report: Report, data: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """The files of a report by name; `data` is what else stands in the JSON."""
    from kgreason.report.page import page

    whole = {"format": 1, **(data or {}), PAGE: as_dict(report)}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return {HTML: page(report).encode(), JSON: text.encode()}


def write_report(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> None:
    """Write both files into an existing folder."""
    for name, text in texts(report, data).items():
        (folder / name).write_bytes(text)


def write_page(path: Path, report: Report) -> None:
    """Write the page alone, whole or not at all; one that is secret can be read by its owner alone."""
    from kgreason.report.page import page

    with replacing(path) as temporary:
        temporary.touch(mode=0o600 if report.secret else 0o644)
        temporary.write_bytes(page(report).encode())
