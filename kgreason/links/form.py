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

from kgreason.assess.links import conditions
from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.graph.io.plain_tables import found_format, writer_of
from kgreason.graph.labels import fresh
from kgreason.graph.links.model import Released
from kgreason.graph.links.write import NODES, names_of, write_links
from kgreason.links.pairs import BESIDE
from kgreason.links.readme import readme

README, UNVERIFIED = BESIDE
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
    if words:
        return Item("form", False, "the folder holds what kgreason does not write", listing(words))
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
    theirs, ours = (None, None) if there.suffix != ".parquet" else (writer_of(there), writer_of(made))
    if theirs == ours:
        return "the same graph is written otherwise"
    return f"written by {theirs}, while {ours} is here: compare with the pyarrow that wrote it"


def _text(folder: Path, released: Released, format: str) -> Iterator[str]:
    """What is wrong with the texts for people."""
    marked = (folder / UNVERIFIED).exists()
    if marked and (folder / UNVERIFIED).read_bytes():
        yield f"{UNVERIFIED}: it is not empty"
    given = (folder / README).read_bytes()
    claim = _CLAIM.search(given.decode("utf-8", errors="replace"))
    k = int(claim[1]) if claim and conditions.shows_clusters(released) else None
    texts = (readme(released, k, holds=not marked, seeded=seeded, format=format) for seeded in (False, True))
    if given not in [text.encode() for text in texts]:
        yield f"{README}: not the text of this release"
    elif k is not None and not marked and not conditions.clusters(released, k)[0].holds:
        yield f"{README}: it claims clusters of {k:,}, and there are smaller ones"
