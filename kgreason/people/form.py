"""Whether the folder of a release of people is what kgreason writes of it, so that nothing else hides in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kgreason.assess.verdict import Item
from kgreason.form import README, REPORT, UNVERIFIED, Expected, files, is_of_kgreason
from kgreason.graph.io.plain_tables import found_format
from kgreason.graph.labels import fresh
from kgreason.graph.people.model import PeopleGraph
from kgreason.graph.people.write import SCHEMA, TABLES, USERS, write_people
from kgreason.people.readme import Claim, readme


def form(folder: Path, released: PeopleGraph) -> Item:
    """Whether a folder holds the files of a release and nothing else, not even in them.

    Parameters
    ----------
    released
        What was read from it.

    Returns
    -------
    Item
        Called ``files``.
    """
    format = found_format(folder, USERS)
    tables = (*(f"{name}.{format}" for name in TABLES), SCHEMA)

    def texts(holds: bool, seeded: bool) -> Mapping[str, bytes]:
        from kgreason.report.people import public_report
        from kgreason.report.write import texts as report_texts

        made = {README: b"", **dict.fromkeys(REPORT, b"")}
        file = folder / README
        claim = Claim.found(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
        if claim is None:
            return made
        words = readme(claim, valued=bool(released.attributes), holds=holds, seeded=seeded, format=format)
        names = (*tables, *made, *(() if holds else (UNVERIFIED,)))
        report = public_report(released, claim, confirmed=holds, seeded=seeded, files=names)
        return {README: words.encode(), **report_texts(folder, report)}

    labels = released.labels.tolist() if is_of_kgreason(folder) else []
    told = (f"{label}: no name that kgreason draws" for label in labels if not fresh(label))
    return files(folder, Expected(tables, lambda place: write_people(place, released, format), texts), told)
