"""The section of public reports that says what the files of a release are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgreason.release.layout import table_of
from kgreason.report.data import Section, Table

KNOWN = {
    "README": "the guarantee in plain words",
    "report": "this report: report.html for reading, report.json for programs",
    "UNVERIFIED": "a mark: the guarantee was not confirmed",
}


def files_section(names: Iterable[str], known: Mapping[str, str]) -> Section:
    """A row for each file, by its whole name or by that before its first dot."""
    said = {**known, **KNOWN}
    rows = tuple(
        (name, said.get(name) or said.get(table_of(name), "a table of the release")) for name in sorted(names)
    )
    return Section("Files", "How to read the release.", (Table("Files", ("file", "what it is"), rows),))
