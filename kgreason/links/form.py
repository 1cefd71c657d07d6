"""Whether the folder of a release of links is byte for byte what kgreason writes, so that nothing else hides in it.

What a reader takes for the same graph may tell more: comments, the order of rows, quotation marks, zeros in front of
numbers, names of which nothing is said, files beside those that are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from filecmp import cmp
from pathlib import Path
from tempfile import TemporaryDirectory

from kgreason import __version__
from kgreason.assess.links import conditions
from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.errors import ReleaseError
from kgreason.graph.io.plain_tables import found_format, writer_of
from kgreason.graph.labels import fresh
from kgreason.graph.links.model import Released
from kgreason.graph.links.write import NODES, names_of, write_links
from kgreason.links.pairs import BESIDE, REPORT
from kgreason.links.readme import readme

OTHER_WRITER = "which may write the same table in other bytes: verify with that version"
README, UNVERIFIED = BESIDE[:2]
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
        Called ``form``. Tables and ``links.toml`` must be what `write_links` makes of the release, ``README.txt`` one
        of the texts that kgreason writes for it, and ``UNVERIFIED``, if it is there, empty and announced by that text.
    """
    format = found_format(folder, NODES)
    files = tuple(names_of(format).values())
    words = list(_strange(folder, files)) or [
        *_tables(folder, released, format, files),
        *_text(folder, released, format),
        *(f"{label}: no name that kgreason draws" for label in released.graph.labels if not fresh(label)),
    ]
    if words and all(OTHER_WRITER in word for word in words):
        return Item(
            "form", False, "tables are from another version of pyarrow", listing(words), undecided=True
        )
    if words:
        return Item("form", False, "the folder holds what kgreason does not write", listing(words))
    if unlike := list(_reports(folder, released, format)):
        other = _writer(folder)
        if other in ("", __version__):
            return Item("form", False, "the folder holds what kgreason does not write", listing(unlike))
        detail = f"the report was written by kgreason {other}: verify with that version whether anything hides in it"
        return Item("form", False, detail, listing(unlike), undecided=True)
    return Item("form", True, "each file is to the byte what kgreason writes of this release")


def _strange(folder: Path, files: tuple[str, ...]) -> Iterator[str]:
    """What there is besides plain files of the names that are known, and what is missing."""
    for path in sorted(folder.iterdir()):
        if path.name not in (*files, *BESIDE):
            yield f"{path.name}: none of the files of a release"
        elif path.is_symlink() or not path.is_file():
            yield f"{path.name}: no plain file"
    for name in (*files, README):
        if not (folder / name).exists():
            yield f"{name}: it is missing"


def _tables(folder: Path, released: Released, format: str, files: tuple[str, ...]) -> Iterator[str]:
    with TemporaryDirectory() as made:
        write_links(Path(made), released, format)
        for name in files:
            if not cmp(folder / name, Path(made) / name, shallow=False):
                yield f"{name}: {_otherwise(folder / name, Path(made) / name)}"


def _otherwise(there: Path, made: Path) -> str:
    """How a file may come to differ: of Parquet, two versions of Arrow write the same in other bytes."""
    theirs = writer_of(there)
    if theirs == writer_of(made):
        return "the same graph is written otherwise"
    return f"written by {theirs}, {OTHER_WRITER}"


def _text(folder: Path, released: Released, format: str) -> Iterator[str]:
    """What is wrong with the texts for people."""
    marked = (folder / UNVERIFIED).exists()
    if marked and (folder / UNVERIFIED).read_bytes():
        yield f"{UNVERIFIED}: it is not empty"
    given = (folder / README).read_bytes()
    k = _claimed(given, released)
    texts = (readme(released, k, holds=not marked, seeded=seeded, format=format) for seeded in (False, True))
    if given not in [text.encode() for text in texts]:
        yield f"{README}: not the text of this release"
    elif k is not None and not marked and not conditions.clusters(released, k)[0].holds:
        yield f"{README}: it claims clusters of {k:,}, and there are smaller ones"


def _claimed(given: bytes, released: Released) -> int | None:
    """Entities of a cluster at least, as README.txt says."""
    claim = _CLAIM.search(given.decode("utf-8", errors="replace"))
    return int(claim[1]) if claim and conditions.shows_clusters(released) else None


def reports(
    folder: Path, released: Released, k: int | None, *, holds: bool, seeded: bool, format: str = "csv"
) -> dict[str, bytes]:
    """The reports that go with a release whose tables are of a format and stand in a folder, by name."""
    from kgreason.report.links import public_report
    from kgreason.report.write import texts

    names = (*names_of(format).values(), README, *REPORT, *(() if holds else (UNVERIFIED,)))
    return texts(folder, public_report(released, k, confirmed=holds, seeded=seeded, files=names))


def _reports(folder: Path, released: Released, format: str) -> Iterator[str]:
    """Reports, if there are any, that kgreason does not write of this release."""
    marked = (folder / UNVERIFIED).exists()
    there = [name for name in REPORT if (folder / name).exists()]
    if not there:
        return
    k = _claimed((folder / README).read_bytes(), released)
    made = [reports(folder, released, k, holds=not marked, seeded=seeded, format=format) for seeded in (False, True)]
    for name in there:
        if (folder / name).read_bytes() not in [texts[name] for texts in made]:
            yield f"{name}: not the report of this release, as this version of kgreason writes it"


def _writer(folder: Path) -> str:
    """Version of kgreason that wrote the reports, by their own account; empty: they do not say."""
    from kgreason.report.json import read_report
    from kgreason.report.write import JSON

    try:
        return str(read_report(folder / JSON).parameters.get("kgreason", ""))
    except ReleaseError:
        return ""
