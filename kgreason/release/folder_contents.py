"""Condition ``files``: a release folder holds the files that kgreason writes of the release in it, and nothing else.

What a reader takes for the same graph may tell more: files beside those that are read, comments, metadata, pages of a
database that nobody reads, bytes behind the end, the order of rows, quotation marks, digits. So the files are written
once more from what was read, and compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.arrays import pq
from kgreason.base.errors import ReleaseError
from kgreason.base.version import VERSION
from kgreason.release.digests import ACCOUNT, BINARY, changes, imprint_of, not_of_account
from kgreason.release.opaque_labels import fresh
from kgreason.release.verdicts import Item, listing

if TYPE_CHECKING:
    from kgreason.release.report.report_data import Report

README, UNVERIFIED, REPORT = "README.txt", "UNVERIFIED", ("report.html", "report.json")
BESIDE = (README, UNVERIFIED, *REPORT)
"""What stands in a release folder besides the tables and what says how they are to be taken."""
FILES = "files"
OTHER_WRITER = "which may write the same table in other bytes: verify with that version"
HIDES = "the folder holds what kgreason does not write"
FOREIGN = (
    "the folder is not of kgreason and its tables are written otherwise, so whether they tell more than a graph is not "
    "known: name its table in place of the folder to judge the graph alone"
)

_UNVERIFIED = """UNVERIFIED

What is said below was checked{asked} and does NOT hold, or was not decided. Do not publish this.

"""
_EXPERIMENT = """EXPERIMENT

Made with a fixed seed: it can be computed again. Do not publish this.

"""


@dataclass(frozen=True)
class Contents:
    """What kgreason writes into the release folder of one graph.

    Attributes
    ----------
    tables
        Names of the files with the release itself.
    write
        Writes them into a folder.
    readme
        Text of ``README.txt`` for a release that holds or not; `None`: the one in the folder claims nothing that
        kgreason claims.
    report
        The report for everybody, from the keywords ``confirmed``, ``seeded`` and ``files``.
    rules
        Names of the files of rules, which `write` writes, too.
    rows
        Number of rows of all tables, in a database.
    asked
        For what the release was checked, as ``" for x = 4"``.
    """

    tables: Sequence[str]
    write: Callable[[Path], object]
    readme: Callable[[bool], str] | None
    report: Callable[..., Report]
    rules: Sequence[str] = ()
    rows: int = 0
    asked: str = ""

    @property
    def names(self) -> list[str]:
        """Names of all files that may stand in the folder."""
        return [*self.tables, *self.rules, *BESIDE]

    def texts(self, folder: Path, *, holds: bool, seeded: bool) -> Iterator[tuple[str, bytes]]:
        """Make ``README.txt`` and the two reports, which hold digests of the other files in the folder."""
        from kgreason.release.report.report_json import texts

        if self.readme is None:
            yield from dict.fromkeys((README, *REPORT), b"").items()
            return
        heading = _UNVERIFIED.format(asked=self.asked) * (not holds) + _EXPERIMENT * seeded
        yield README, (heading + self.readme(holds)).encode()
        names = [name for name in self.names if name != UNVERIFIED or not holds]
        report = self.report(confirmed=holds, seeded=seeded, files=names)
        yield from texts(folder, report).items()

    def publish(self, folder: Path, *, holds: bool, seeded: bool) -> None:
        """Write the texts into a folder in which the tables stand."""
        if not holds:
            (folder / UNVERIFIED).touch()
        for name, text in self.texts(folder, holds=holds, seeded=seeded):
            (folder / name).write_bytes(text)


def is_of_kgreason(folder: Path) -> bool:
    """Whether a folder has one of the texts that kgreason writes beside the tables of a release."""
    return any((folder / name).exists() for name in (*BESIDE, "rules.vada"))


def said(folder: Path) -> str:
    """Text of the README.txt of a release folder, empty where there is none."""
    file = folder / README
    return file.read_bytes().decode("utf-8", errors="replace") if file.is_file() else ""


def not_drawn(labels: Iterable[str]) -> Iterator[str]:
    """Labels that are none of kgreason, in words."""
    return (f"{label}: no name that kgreason draws" for label in labels if not fresh(label))


def files(folder: Path, contents: Contents, told: Iterable[str] = ()) -> Item:
    """Whether a folder holds the files of a release and nothing else, not even in them.

    Parameters
    ----------
    told
        What else was found of the release that kgreason does not write.
    """
    if strange := list(_strange(folder, contents)):
        return Item(FILES, False, HIDES, listing(strange))
    words = [*told]
    with TemporaryDirectory() as made:
        try:
            contents.write(Path(made))
        except OSError as error:
            message = f"{made}: the tables cannot be written there to be compared: {error.strerror or error}"
            raise ReleaseError(message, hint="make room there, or set TMPDIR to another folder") from error
        for name in contents.tables:
            words += (
                f"{name}: {said}" for said in _differences(folder / name, Path(made) / name, contents.rows)
            )
    if not is_of_kgreason(folder):
        if words:
            return Item(FILES, False, FOREIGN, listing(words), undecided=True)
        return Item(
            FILES, True, "there is nothing but the tables, and they are to the byte as kgreason writes them"
        )
    if words and all(OTHER_WRITER in word for word in words):
        return Item(FILES, False, "tables are from another version", listing(words), undecided=True)
    if words:
        return Item(FILES, False, HIDES, listing(words))
    if unlike := list(_texts(folder, contents)):
        other = _version(folder)
        if other in ("", VERSION):
            return Item(FILES, False, HIDES, listing(unlike))
        detail = f"the texts were written by kgreason {other}: verify with that version whether anything hides in them"
        return Item(FILES, False, detail, listing(unlike), undecided=True)
    return Item(FILES, True, "each file is to the byte what kgreason writes of this release")


def both(one: Item, other: Item) -> Item:
    """What two looks at the files have found."""
    found = [item for item in (one, other) if not item.holds] or [one, other]
    return Item(
        FILES,
        one.holds and other.holds,
        "; ".join(item.detail for item in found),
        one.witnesses + other.witnesses,
        undecided=all(item.undecided for item in found),
    )


def _strange(folder: Path, contents: Contents) -> Iterator[str]:
    """What there is besides plain files of the names that are known, and what is missing."""
    known = contents.names
    for path in sorted(folder.iterdir()):
        if path.name not in known:
            yield f"{path.name}: none of the files of a release"
        elif path.is_symlink() or not path.is_file():
            yield f"{path.name}: no plain file"
    needed = set(known) - {UNVERIFIED, *REPORT} if is_of_kgreason(folder) else contents.tables
    for name in sorted(needed):
        if not (folder / name).exists():
            yield f"{name}: it is missing"


def _differences(there: Path, made: Path, rows: int) -> Iterator[str]:
    """How a table differs from how it should be written."""
    if there.name.endswith(".bods.json"):
        _set_date(there, made)
    if cmp(there, made, shallow=False):
        return
    if not there.name.endswith(BINARY):
        yield from (f"{f.kind}: {f.message}" for f in changes(imprint_of(made.read_bytes()), there))
        return
    theirs = _writer(there)
    if theirs != _writer(made):
        yield f"written by {theirs}, {OTHER_WRITER}"
    elif there.suffix != ".duckdb" or not _same_duckdb(there.read_bytes(), made.read_bytes(), rows):
        yield "the same graph is written otherwise, or there is more in the file"


def _set_date(there: Path, made: Path) -> None:
    """Give statements of BODS, which tell the day of writing, the day that the first of others tells."""
    days = [_DAY.search(path.read_bytes()) for path in (there, made)]
    if all(days):
        before, now = (day[1] for day in days if day)
        made.write_bytes(made.read_bytes().replace(b'"' + now + b'"', b'"' + before + b'"'))


_DAY = re.compile(rb'"statementDate": ?"([0-9]{4}-[0-9]{2}-[0-9]{2})"')


def _writer(path: Path) -> str:
    """What wrote a file, as it says itself."""
    if path.suffix == ".parquet":
        return str(pq.read_metadata(path).created_by)
    with path.open("rb") as stream:
        head = stream.read(100)
    if path.suffix == ".sqlite":
        return f"SQLite {int.from_bytes(head[96:100], 'big')}"
    return f"DuckDB {head[_VERSION].rstrip(bytes(1)).decode(errors='replace')}"


_VERSION = slice(52, 84)
_HEADER, _HEADERS, _BLOCK = 4096, 3, 262144
_IDENTIFIER = slice(124, 140)
_CHECKSUM = 8


def _same_duckdb(there: bytes, made: bytes, rows: int) -> bool:
    """Whether two DuckDB files are the same, but for what it draws at random or leaves as it was in memory."""
    # Each header has a random identifier of the database; headers and blocks have checksums; behind the
    # values of some 2048 rows of a column up to seven bytes are not written.
    if len(there) != len(made):
        return False
    unlike = np.frombuffer(there, dtype=np.uint8) != np.frombuffer(made, dtype=np.uint8)
    for start in range(0, _HEADERS * _HEADER, _HEADER):
        unlike[start : start + _CHECKSUM] = False
        unlike[start : start + _HEADER][_IDENTIFIER] = False
    for start in range(_HEADERS * _HEADER, len(unlike), _BLOCK):
        unlike[start : start + _CHECKSUM] = False
    return int(unlike.sum()) <= 16 + rows // 50


def _texts(folder: Path, contents: Contents) -> Iterator[str]:
    marked = (folder / UNVERIFIED).exists()
    if marked and (folder / UNVERIFIED).read_bytes():
        yield f"{UNVERIFIED}: it is not empty"
    if changed := not_of_account(folder):
        yield from (f"{name}: not as it was written, by the account in {ACCOUNT}" for name in changed)
        return
    unlike: list[list[str]] = []
    for seeded in (False, True):
        made = dict(contents.texts(folder, holds=not marked, seeded=seeded))
        there = [name for name in made if (folder / name).exists()]
        unlike.append([name for name in there if (folder / name).read_bytes() != made[name]])
        if not unlike[-1]:
            return
    yield from (f"{name}: not what kgreason writes of this release" for name in min(unlike, key=len))


def _version(folder: Path) -> str:
    """Version of kgreason that wrote the texts, by their own account; empty: they do not say."""
    from kgreason.release.report.report_json import read_report

    try:
        return str(read_report(folder / "report.json").parameters.get("kgreason", ""))
    except ReleaseError:
        return ""
