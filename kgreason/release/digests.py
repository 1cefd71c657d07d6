"""Digests of release files, and classification of later changes to them.

An imprint is a small function of the files: for each file a digest of its bytes, order-independent digests of its lines
(all, distinct, without the last field, last fields only), and digests of consecutive blocks of lines. They identify the
type of a change and its location: the line for files of up to 256 lines. The imprint complements the certificate: of 30
edits of one row in a release table (a register of 291 companies, 2,009 lines, KLONE, x = 2; a row removed or its weight
changed), `verify` detects all with the imprint but only one without it, since no image needs the other rows.
"""

from __future__ import annotations

import json
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgreason.base.arrays import (
    ArrowArray,
    as_arrow,
    as_numpy,
    constant,
    pc,
    split_at,
    string_buffers,
    strings,
    texts_of,
)
from kgreason.base.errors import ReleaseError
from kgreason.base.records import record

Kind = Literal[
    "missing file",
    "added file",
    "truncated",
    "other encoding",
    "other line ends",
    "reordered rows",
    "duplicated rows",
    "missing rows",
    "added rows",
    "edited weights",
    "edited rows",
    "swapped mapping",
    "other content",
]
Entry = Mapping[str, str | int]

BLOCKS = 256
_DIGITS = 8  # hexadecimal digits of a block digest
JSON = "report.json"  # it holds, under "files", the digests of all files of its folder as they were written
OWN = frozenset({"certificate.json", JSON, "report.html"})  # files of a private folder without an imprint
BINARY = (".parquet", ".sqlite", ".duckdb")  # extensions of files without lines
ROWS = (".jsonl", ".nt")  # extensions of files in which every line is a row
SECRET = "mapping.csv"
PACKED = "packed with gzip"
AS_WRITTEN = "take the file as it was written, or anonymize again"
NOTHING_LOST = "nothing is lost by that"


@record
class Fault:
    """Difference of a file from its imprint.

    `line` is the 1-based line at which the difference begins, if known; a `harmless` difference leaves the content
    equivalent: the same graph, or the same mapping.
    """

    kind: Kind
    file: str
    message: str
    line: int | None = None
    hint: str = AS_WRITTEN
    harmless: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.kind}: {self.message}\n  help: {self.hint}"


def imprint(folder: Path) -> dict[str, dict[str, str | int]]:
    r"""Imprint of the files in a folder, as plain data for JSON.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     file = Path(place) / "own.csv"
    ...     _ = file.write_text("owner,company,share\na,b,0.7\nc,b,0.1\n")
    ...     written = imprint(Path(place))
    ...     _ = file.write_text("owner,company,share\na,b,0.7\nc,b,0.2\n")
    ...     (fault,) = differences(written, Path(place))
    >>> fault.kind, fault.line
    ('edited weights', 3)
    """
    return {
        path.name: imprint_of(path.read_bytes(), lines=not path.name.endswith(BINARY))
        for path in _files(folder)
    }


def differences(recorded: Mapping[str, Entry], files: Path | Mapping[str, Path]) -> list[Fault]:
    """Differences between files and their imprint; `files`: their folder, or the current path of each file by name."""
    if isinstance(files, Path):
        there = {path.name: path for path in _files(files)} if files.is_dir() else {}
        files = {name: files / name for name in recorded} | there
    faults = []
    for name, path in files.items():
        if name not in recorded:
            words, hint = "this file was not written with the others", "take it out: nothing is known of it"
            faults.append(Fault("added file", str(path), words, hint=hint))
        elif path.is_file():
            faults += changes(recorded[name], path)
        else:
            faults.append(Fault("missing file", str(path), "there is no such file any more"))
    return faults


def changes(entry: Entry, path: Path) -> list[Fault]:
    """Differences between a file and its imprint entry."""
    data, file = path.read_bytes(), str(path)
    if _digest(data) == entry["sha256"]:
        return []
    if "lines" not in entry:
        before = int(entry["bytes"])
        words = f"the file has {len(data):,} bytes" if len(data) != before else "the file has as many bytes"
        return [Fault("other content", file, f"{words}, where it had {before:,}, and they are not the same")]
    text, encoding = _decoded(data)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    faults = []
    if encoding:
        words, hint = f"the file is {encoding}, where it was plain UTF-8", "save it as UTF-8 without a mark"
        # the gzip header may contain names, times and other data
        faults.append(Fault("other encoding", file, words, hint=hint, harmless=encoding != PACKED))
    whole = (
        plain if plain.endswith("\n") or _digest(f"{plain}\n".encode()) != entry["sha256"] else f"{plain}\n"
    )
    if whole != text:
        alike = text in (plain.replace("\n", "\r\n"), plain.replace("\n", "\r"), whole[:-1])
        # The choice of lines that end with CR may encode information.
        words = "the same lines with other line ends" if alike else "some lines end with CR"
        faults.append(Fault("other line ends", file, words, hint=NOTHING_LOST, harmless=alike))
    return faults if _digest(whole.encode()) == entry["sha256"] else [*faults, _changed(entry, file, plain)]


# --- files listed in report.json ------------------------------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    """Digests of the files in a folder, except `JSON`."""
    files = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink())
    return {path.name: _digest_of(path) for path in files if path.name != JSON}


def with_digests(data: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """Content of `JSON`: `data`, at least one entry, file digests, and a digest of `data` itself."""
    body = json_text(data)
    return _with_files(body, {**files, JSON: _digest(body.encode())})


def _with_files(body: str, files: Mapping[str, str]) -> str:
    """Text of a JSON object with a further entry ``"files"``, as `json_text` writes it."""
    return body.removesuffix("\n}\n") + ",\n" + json_text({"files": files}).removeprefix("{\n")


def changed_files(folder: Path) -> list[str] | None:
    """Names of files in a folder that differ from those written; `None` without a `JSON` that ends with their list."""
    try:
        text = (folder / JSON).read_text(encoding="utf-8")
        # the text itself is compared: to parse and write a private report takes 0.02 s
        before, _, after = text.rpartition(',\n  "files": ')
        files = dict(json.loads(f'{{"files": {after}')["files"])
        body = before + "\n}\n"
        intact = files.get(JSON) == _digest(body.encode()) and text == _with_files(body, files)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    files[JSON] = _digest(text.encode()) if intact else None
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.is_symlink() or not path.is_file() or _digest_of(path) != files.get(path.name)
    ]


def renewed_digests(folder: Path, name: str) -> str | None:
    """Content of `JSON` after a file was rewritten; `None` if the folder has none."""
    data = json.loads((folder / JSON).read_text(encoding="utf-8"))
    if (files := data.pop("files", None)) is None:
        return None
    del files[JSON]
    return with_digests(data, {**files, name: _digest_of(folder / name)})


def parsed_json(path: Path, kind: str, hint: str) -> Any:
    """Parse a JSON file of a release; `kind` is what it should be, such as ``"report"``, and `hint` how to restore it.

    Raises
    ------
    ReleaseError
        If the file cannot be read or is not valid JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReleaseError(f"{path}: cannot be read: {error.strerror or error}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise ReleaseError(f"{path}: is no {kind}: it is not in UTF-8", hint=hint) from error
    except json.JSONDecodeError as error:
        what = f"is no {kind}: it ends early or was edited ({error.msg})"
        raise ReleaseError(f"{path}:{error.lineno}: {what}", hint=hint) from error
    except RecursionError as error:
        raise ReleaseError(f"{path}: is no {kind}: it is nested too deep", hint=hint) from error


def json_text(data: Mapping[str, Any]) -> str:
    """Text of a private report or table of digests."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _digest_of(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


# --- digests ------------------------------------------------------------------------------------------------


def imprint_of(data: bytes, *, lines: bool = True) -> dict[str, str | int]:
    """Imprint entry of one file; `lines` states whether it is a text file."""
    whole = _digest(data)
    if not lines:
        return {"sha256": whole, "bytes": len(data)}
    found = _lines(_decoded(data)[0])
    del data  # as large as the lines
    title = found[0].as_py() if len(found) else ""
    kind = "weights" if title.count(_separator(found)) == 2 else "text"
    return {
        "sha256": whole,
        "lines": len(found),
        "holds": "mapping" if title == "original,released" else kind,
        **_orderless(found),
        "first": _joined(found[:1]),
        "last": _joined(found[-1:]),
        "blocks": "".join(block[:_DIGITS] for block in _blocks(found, _size(len(found)))),
    }


def _orderless(lines: ArrowArray) -> dict[str, str]:
    """Digests of all lines, of the distinct ones, and of parts of all lines, each in sorted order."""
    # Arrow sorts bytes as Python sorts characters, in half the memory, and does not hold up other threads.
    ordered = _sorted(lines)
    new = np.append(True, as_numpy(pc.not_equal(ordered[1:], ordered[:-1])))[: len(ordered)]
    every = _joined(ordered)
    distinct = every if new.all() else _joined(ordered.filter(as_arrow(new)))
    offsets, letters = string_buffers(ordered)
    start, end = offsets[:-1], offsets[1:]
    places = np.flatnonzero(letters == ord(_separator(lines)))
    cut = np.append(places, -1)[
        np.searchsorted(places, end) - 1
    ]  # the last separator, perhaps of an earlier line
    several = cut >= start
    cut = np.where(several, cut, start)
    part = np.repeat(
        np.tile(np.arange(3, dtype=np.uint8), len(cut)),
        np.stack([cut - start, several, end - cut - several], axis=1).ravel(),
    )
    del ordered, places
    without = _joined(_sorted(texts_of(cut - start, letters[part == 0])))
    last = _joined(_sorted(texts_of(end - cut - several, letters[part == 2])))
    return {"all": every, "distinct": distinct, "without_last_field": without, "last_field": last}


def _sorted(lines: ArrowArray) -> ArrowArray:
    return lines.take(pc.sort_indices(lines))


def _separator(lines: ArrowArray) -> str:
    return "\t" if len(lines) and "\t" in lines[0].as_py() else ","


def _digest(data: bytes | memoryview) -> str:
    return sha256(data).hexdigest()


def _joined(lines: ArrowArray) -> str:
    """Digest of lines with line ends between them."""
    return next(_blocks(lines, max(1, len(lines))), _digest(b""))


def _size(lines: int) -> int:
    return max(1, -(-lines // BLOCKS))


def _blocks(lines: ArrowArray, size: int) -> Iterator[str]:
    """Digests of so many lines each, with line ends between them."""
    ends, letters = string_buffers(pc.binary_join_element_wise(lines, constant(""), constant("\n")))
    for first in range(0, len(lines), size):
        yield _digest(letters[ends[first] : ends[min(first + size, len(lines))] - 1].data)


def _lines(text: str) -> ArrowArray:
    letters = np.frombuffer(text.removesuffix("\n").encode(), dtype=np.uint8)
    return split_at(letters, letters == ord("\n")) if text else strings([])


def _files(folder: Path) -> list[Path]:
    """All files of a folder, except those of a private folder that are written after the imprint."""
    own = OWN if (folder / SECRET).is_file() else {"certificate.json"}
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name not in own)


# --- classification of changes --------------------------------------------------------------------------


def _changed(entry: Entry, file: str, text: str) -> Fault:
    lines, before = _lines(text), int(entry["lines"])
    first, last = _range(entry, lines)
    torn, size = not text.endswith("\n"), _size(before)
    whole = len(lines) - torn
    # all remaining lines are original, but the end is missing
    kept = whole < before and first > whole // size * size and _joined(lines[-1:]) != entry["last"]
    if kept or not len(lines):
        where = f"ends {'within' if torn else 'after'} line {len(lines):,}" if len(lines) else "is empty"
        words = f"the file {where}, where it had {before:,} lines"
        return Fault("truncated", file, words, len(lines) or None)
    now = _orderless(lines)
    same, more = {name for name, digest in now.items() if digest == entry[name]}, len(lines) - before
    # the header line is unchanged and occurs only once
    titles = pc.sum(pc.equal(lines, lines[0])).as_py()
    headed = file.endswith(ROWS) or (_joined(lines[:1]) == entry["first"] and titles == 1)
    pairs, where = {"without_last_field", "last_field"}, _between(first, last)
    above = f"there are {more:,} more lines than the {before:,} that were written"
    changes: tuple[tuple[bool, Kind, str], ...] = (
        ("all" in same, "reordered rows", f"the same rows are in another order {where}"),
        (
            "distinct" in same and more > 0,
            "duplicated rows",
            f"{more:,} lines were added, each a repetition of another",
        ),
        (more < 0, "missing rows", f"{-more:,} of {before:,} lines are missing; they stood {where}"),
        (more > 0, "added rows", f"{above}, {_between(first, last + more)}"),
        (
            entry["holds"] == "mapping" and pairs <= same,
            "swapped mapping",
            f"the same originals and released vertices are paired otherwise {where}",
        ),
        (
            entry["holds"] == "weights" and "without_last_field" in same,
            "edited weights",
            f"the edges are the same, but not their weights {where}",
        ),
        (True, "edited rows", f"as many lines as were written, but others {where}"),
    )
    kind, words = next((kind, words) for holds, kind, words in changes if holds)
    harmless = headed and kind in ("reordered rows", "duplicated rows")
    return Fault(kind, file, words, first, NOTHING_LOST if harmless else AS_WRITTEN, harmless=harmless)


def _range(entry: Entry, lines: ArrowArray) -> tuple[int, int]:
    """First and last original line of the range of blocks that changed."""
    before, blocks = int(entry["lines"]), str(entry["blocks"])
    size, more = _size(before), len(lines) - before
    known = [blocks[i : i + _DIGITS] for i in range(0, len(blocks), _DIGITS)]
    blocks_now = (block[:_DIGITS] for block in _blocks(lines, size))
    pairs = enumerate(zip_longest(blocks_now, known))
    front = next((i for i, (mine, theirs) in pairs if mine != theirs), len(known))
    back = len(known)
    while back > front and (back - 1) * size + more >= 0:
        start, end = (back - 1) * size + more, min(back * size, before) + more
        if _joined(lines[start:end])[:_DIGITS] != known[back - 1]:
            break
        back -= 1
    return front * size + 1, min(back * size, before)


def _between(first: int, last: int) -> str:
    return f"in line {first:,}" if first >= last else f"between lines {first:,} and {last:,}"


def _decoded(data: bytes) -> tuple[str, str | None]:
    """Text of a file, and its encoding if not plain UTF-8; a truncated character at the end is dropped."""
    if data.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)  # accepts truncated files
            return unpacking.decompress(data).decode(errors="ignore"), PACKED
        return "", PACKED
    if data.startswith(BOM_UTF8):
        return data.decode("utf-8-sig", errors="replace"), "UTF-8 with a byte-order mark"
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return getincrementaldecoder("utf-8")().decode(data), None
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1, or damaged"
