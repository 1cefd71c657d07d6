"""Whether the folder of a release of links is what kgreason writes of it, so that nothing else hides in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kgreason.assess.links import conditions
from kgreason.assess.verdict import Item
from kgreason.form import README, REPORT, UNVERIFIED, Expected, files
from kgreason.graph.io.plain_tables import found_format
from kgreason.graph.labels import fresh
from kgreason.graph.links.model import Released
from kgreason.graph.links.write import NODES, names_of, write_links
from kgreason.links.readme import readme

_CLAIM = re.compile(r"at least ([0-9]{1,18})\b")


def form(folder: Path, released: Released) -> Item:
    """Whether a folder holds the files of a release and nothing else, not even in them.

    Parameters
    ----------
    released
        What was read from it.

    Returns
    -------
    Item
        Called ``files``. Tables and ``links.toml`` must be what `write_links` makes of the release, ``README.txt`` one
        of the texts that kgreason writes for it, and ``UNVERIFIED``, if it is there, empty and announced by that text.
    """
    format = found_format(folder, NODES)
    claimed = _claimed(folder, released)

    def texts(holds: bool, seeded: bool) -> Mapping[str, bytes]:
        text = readme(released, claimed, holds=holds, seeded=seeded, format=format).encode()
        made = reports(folder, released, claimed, holds=holds, seeded=seeded, format=format)
        return {README: text, **made}

    expected = Expected(
        tuple(names_of(format).values()), lambda place: write_links(place, released, format), texts
    )
    return files(folder, expected, _told(folder, released, claimed))


def _told(folder: Path, released: Released, claimed: int | None) -> Iterator[str]:
    """Names that say something, and claims that are not so."""
    yield from (
        f"{label}: no name that kgreason draws" for label in released.graph.labels if not fresh(label)
    )
    if claimed is None or (folder / UNVERIFIED).exists():
        return
    if not conditions.clusters(released, claimed)[0].holds:
        yield f"{README}: it claims clusters of {claimed:,}, and there are smaller ones"


def _claimed(folder: Path, released: Released) -> int | None:
    """Entities of a cluster at least, as README.txt says."""
    file = folder / README
    given = file.read_bytes().decode("utf-8", errors="replace") if file.is_file() else ""
    claim = _CLAIM.search(given)
    return int(claim[1]) if claim and conditions.shows_clusters(released) else None


def reports(
    folder: Path, released: Released, k: int | None, *, holds: bool, seeded: bool, format: str = "csv"
) -> dict[str, bytes]:
    """The reports that go with a release whose tables are of a format and stand in a folder, by name."""
    from kgreason.report.links import public_report
    from kgreason.report.write import texts

    names = (*names_of(format).values(), README, *REPORT, *(() if holds else (UNVERIFIED,)))
    return texts(folder, public_report(released, k, confirmed=holds, seeded=seeded, files=names))
