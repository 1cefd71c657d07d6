"""Condition ``files``: a release folder contains only the files of the release, exactly as kgreason writes them.

Files that represent the same graph may contain more information: additional files, comments, metadata, unused database
pages, trailing bytes, row order, quoting, digits. The files are therefore rewritten from the parsed release and
compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from filecmp import cmp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.arrays import pq
from kgreason.base.errors import ReleaseError
from kgreason.base.records import record
from kgreason.base.resources import VERSION
from kgreason.release.digests import BINARY, JSON, changed_files, changes, imprint_of
from kgreason.release.mapping import fresh
from kgreason.release.table_layout import BESIDE, README, REPORT, UNVERIFIED
from kgreason.release.verdicts import Item, listing

if TYPE_CHECKING:
    from kgreason.release.report.report_data import Report


FILES = "files"
OTHER_WRITER = "which may write the same table in other bytes: verify with that version"
HIDES = "the folder holds what kgreason does not write"
FOREIGN = (
    "kgreason did not write this folder and writes its tables otherwise, so whether they hold more than a graph is not "
    "known: name its table in place of the folder to judge the graph alone"
)

_UNVERIFIED = """UNVERIFIED

The statements below were checked{asked} and do NOT hold, or were not decided. Do not publish this.

"""
_EXPERIMENT = """EXPERIMENT

Made with a fixed seed: it can be computed again. Do not publish this.

"""

_DAY = re.compile(rb'"statementDate": ?"([0-9]{4}-[0-9]{2}-[0-9]{2})"')
# of a DuckDB file: where its version and its random identifier stand, and sizes of headers, blocks and checksums
_VERSION = slice(52, 84)
_HEADER, _HEADERS, _BLOCK = 4096, 3, 262144
_IDENTIFIER = slice(124, 140)
_CHECKSUM = 8


@record
class Contents:
    """Expected content of the release folder of one graph.

    Attributes
    ----------
    tables
        Names of the table files.
    write
        Writes the tables, and the rule files, into a folder.
    readme
        Text of ``README.txt`` for a release that holds or does not hold; `None`: the existing one makes no claims of
        kgreason.
    report
        Public report, from the keywords ``confirmed``, ``seeded`` and ``files``.
    rules
        Names of the rule files.
    rows
        Number of rows of all tables, for databases.
    asked
        Parameters of the check, such as ``" for x = 4"``.
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
        """Names of all files allowed in the folder."""
        return [*self.tables, *self.rules, *BESIDE]

    def texts(self, folder: Path, *, holds: bool, seeded: bool) -> Iterator[tuple[str, bytes]]:
        """Content of ``README.txt`` and the two reports, which contain digests of the other files in the folder."""
        from kgreason.release.report.html_page import texts

        if self.readme is None:
            yield from dict.fromkeys((README, *REPORT), b"").items()
            return
        heading = _UNVERIFIED.format(asked=self.asked) * (not holds) + _EXPERIMENT * seeded
        yield README, (heading + self.readme(holds)).encode()
        names = [name for name in self.names if name != UNVERIFIED or not holds]
        report = self.report(confirmed=holds, seeded=seeded, files=names)
        yield from texts(folder, report).items()

    def publish(self, folder: Path, *, holds: bool, seeded: bool) -> None:
        """Write the texts into a folder that contains the tables."""
        if not holds:
            (folder / UNVERIFIED).touch()
        for name, text in self.texts(folder, holds=holds, seeded=seeded):
            (folder / name).write_bytes(text)


def is_of_kgreason(folder: Path) -> bool:
    """Whether a folder has one of the texts that kgreason writes next to the tables of a release."""
    return any((folder / name).exists() for name in (*BESIDE, "rules.vada"))


def readme_text(folder: Path) -> str:
    """Text of the README.txt of a release folder; empty if there is none."""
    file = folder / README
    return file.read_bytes().decode("utf-8", errors="replace") if file.is_file() else ""


def not_drawn(labels: Iterable[str]) -> Iterator[str]:
    """Messages for labels that kgreason cannot have generated."""
    return (f"{label}: no name that kgreason draws" for label in labels if not fresh(label))


def files(folder: Path, contents: Contents, deviations: Iterable[str] = ()) -> Item:
    """Check that a folder contains exactly the files of a release, byte for byte; `deviations` were found before."""
    if strange := list(_strange(folder, contents)):
        return Item(FILES, False, HIDES, listing(strange))
    words = [*deviations]
    with TemporaryDirectory() as made:
        try:
            contents.write(Path(made))
        except OSError as error:
            message = f"{made}: the tables cannot be written there to be compared: {error.strerror or error}"
            raise ReleaseError(message, hint="make room there, or set TMPDIR to another folder") from error
        for name in contents.tables:
            found = _differences(folder / name, Path(made) / name, contents.rows)
            words += (f"{name}: {difference}" for difference in found)
    if not is_of_kgreason(folder):
        if words:
            return Item(FILES, False, FOREIGN, listing(words), undecided=True)
        holds = "there is nothing but the tables, and they are to the byte as kgreason writes them"
        return Item(FILES, True, holds)
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
    """Combine two results for the condition ``files``."""
    found = [item for item in (one, other) if not item.holds] or [one, other]
    return Item(
        FILES,
        one.holds and other.holds,
        "; ".join(item.detail for item in found),
        one.witnesses + other.witnesses,
        undecided=all(item.undecided for item in found),
    )


def _strange(folder: Path, contents: Contents) -> Iterator[str]:
    """Entries that are not regular files with expected names, and missing files."""
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
    """Set the dates of rewritten BODS statements, which are writing dates, to the first date of the existing file."""
    days = [_DAY.search(path.read_bytes()) for path in (there, made)]
    if all(days):
        before, now = (day[1] for day in days if day)
        made.write_bytes(made.read_bytes().replace(b'"' + now + b'"', b'"' + before + b'"'))


def _writer(path: Path) -> str:
    """Program that wrote a file, according to its metadata."""
    if path.suffix == ".parquet":
        return str(pq.read_metadata(path).created_by)
    with path.open("rb") as stream:
        head = stream.read(100)
    if path.suffix == ".sqlite":
        return f"SQLite {int.from_bytes(head[96:100], 'big')}"
    return f"DuckDB {head[_VERSION].rstrip(bytes(1)).decode(errors='replace')}"


def _same_duckdb(there: bytes, made: bytes, rows: int) -> bool:
    """Whether two DuckDB files are equal, except for random and uninitialized bytes."""
    # Headers contain a random database identifier; headers and blocks have checksums; up to seven bytes after the
    # values of 2048 rows of a column are uninitialized.
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
    changed = changed_files(folder)
    if changed is None and (folder / JSON).is_file():
        changed = [JSON]
    if changed:
        yield from (f"{name}: not as it was written, by the digests in {JSON}" for name in changed)
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
    """Version of kgreason according to the texts; empty if not stated."""
    from kgreason.release.report.report_data import read_report

    try:
        return str(read_report(folder / "report.json").parameters.get("kgreason", ""))
    except ReleaseError:
        return ""
