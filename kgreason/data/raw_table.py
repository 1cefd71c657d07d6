"""Raw tables of sources: column names, untyped columns, and the line of each row."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.language.vocabulary import suggest

if TYPE_CHECKING:
    from xml.parsers import expat

UNPACKING = (EOFError, gzip.BadGzipFile, zlib.error)
"""What the standard library raises at a damaged gzip file."""
AGAIN = "is the file damaged? fetch it again, or write it anew with the program that made it"


@contextmanager
def damaged(file: str) -> Iterator[None]:
    """Convert exceptions of libraries that read a file to a `DataError` that names the file.

    Readers report the line where they can; this handles the remaining exceptions. Defects of kgreason (a `TypeError`, a
    `KeyError`) are not converted.
    """
    try:
        yield
    except MemoryError as error:
        what = f"there is not enough memory to read it{f': {error}' if str(error) else ''}"
        hint = "allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))"
        raise DataError(file, what, hint=hint) from None
    except UNPACKING as error:
        raise DataError(file, f"the gzip file is damaged: {error}", hint="fetch or pack it again") from error
    except UnicodeError as error:
        raise DataError(file, f"text is damaged, or of another encoding: {error}", hint=AGAIN) from error
    except OSError as error:
        raise DataError(file, f"cannot be read: {error.strerror or error}", hint=AGAIN) from error


Column = Any  # a pyarrow array or chunked array

BLOCK = 1 << 24
_LISTED = 5  # files of a folder
_COPIES = 10  # simultaneous copies of a block of lines, as text and as fields


@record
class Raw:
    """Rows of a source."""

    file: str  # name in messages
    names: tuple[str, ...]  # column names; generated where the file has none (`named` is then False)
    columns: tuple[Column, ...]  # Arrow arrays of equal length: strings for text files, any type for others
    # line number of a row in the file, for messages; `None` if the format has no lines
    line: Callable[[int], int | None]
    named: bool = True
    graph: bool = False  # whether the format defines the columns as source, target and possibly more
    # whether each row is an undirected edge; `None`: all are directed
    undirected: npt.NDArray[np.bool_] | None = None
    vertices: Raw | None = None  # vertices (id, label) declared by a graph file
    notes: tuple[str, ...] = ()  # messages for the user on how the file was read
    # note that the first line was taken for column names; dropped if the rules use these names
    doubt: str | None = None
    memory: bool = False  # whether the table was passed in memory, so that file options are not suggested
    attributes: tuple[str, ...] = ()  # edge attributes of an in-memory graph that no column contains
    # columns that are read only if requested by name
    extra: Mapping[str, Column] = field(default_factory=dict)
    typed: bool = False  # whether strings stay strings, even if they are empty or look like numbers
    texts: frozenset[str] = frozenset()  # names of further columns whose strings stay strings
    # for vertices: the column with vertex names, and its title; `None`: the first column
    key: tuple[str, Column] | None = None
    title_line: int | None = None  # line of the file that was read as column names
    ordered: bool = True  # whether row numbers are meaningful; tables of a database server have no order
    percent: bool = False  # whether plain numbers in the weights were taken for percentages
    # column names that occur more than once in the file; in `names` later ones have a number appended
    repeated: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def error(self, row: int, message: str, column: str | None = None, hint: str | None = None) -> DataError:
        """Error at the location of a row."""
        line = self.line(row)
        where = "" if line is not None or not self.ordered else f"row {row + 1}: "
        return DataError(self.file, where + message, line, column, hint)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressing gzip (detected by its first bytes, not its name)."""
    return cast(IO[bytes], gzip.open(path, "rb")) if _packed(path) else path.open("rb")


def arrow_stream(path: Path, encoding: str) -> Any:
    """Open a file as an Arrow stream of UTF-8.

    An Arrow-native stream is required: a thread of Arrow may release the stream during interpreter shutdown, which
    aborts the process if the stream is a Python object.
    """
    if encoding in ("utf-8", "utf8"):
        return pa.input_stream(str(path), compression="gzip" if _packed(path) else None)
    sink = pa.BufferOutputStream()
    for text in texts(path, encoding):
        sink.write(text.encode())
    return pa.BufferReader(sink.getvalue())


def no_file(path: Path) -> DataError:
    """Error for a missing file; the hint suggests a similar file name or lists the folder."""
    if os.path.isdir(path):
        return DataError(str(path), "this is a folder, no file", hint=_listed(path))
    return DataError(str(path), "there is no such file", hint=similar(path) or _listed(path.parent))


def similar(path: Path) -> str | None:
    """Suggestion of a file with a similar name in the same folder, if any."""
    try:
        near = suggest(path.name, [p.name for p in path.parent.iterdir() if p.is_file()])
    except OSError:  # missing or unreadable folder
        return None
    return f"did you mean {near}?" if near else None


def _listed(folder: Path) -> str:
    try:
        there = sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    except FileNotFoundError:
        return f"there is no folder {folder} either"
    except OSError:
        return f"the folder {folder} cannot be read"
    more = ", ..." if len(there) > _LISTED else ""
    return f"the folder holds {', '.join(there[:_LISTED])}{more}" if there else "the folder holds no files"


def _packed(path: Path) -> bool:
    try:
        with path.open("rb") as plain:
            return plain.read(2) == b"\x1f\x8b"
    except FileNotFoundError:
        raise no_file(path) from None
    except (OSError, ValueError) as error:  # ValueError: NUL byte in the name
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise DataError(str(path), what, hint="name a file that you may read") from error


def whole_lines(path: Path, size: int = BLOCK) -> Iterator[bytes]:
    """Blocks of a file, each ending at a line end."""
    with open_bytes(path) as stream:
        rest: list[bytes] = []
        while block := read_block(path, stream, size):
            head, newline, tail = block.rpartition(b"\n")
            if not newline:
                rest.append(block)
                continue
            memory.claim(_COPIES * (sum(map(len, rest)) + len(head)))
            yield b"".join([*rest, head, newline])
            rest = [tail]
        memory.claim(_COPIES * sum(map(len, rest)))
        if any(rest):
            yield b"".join(rest)


def read_block(path: Path, stream: IO[bytes], size: int = BLOCK) -> bytes:
    """Read the next block; a broken gzip file is a `DataError`."""
    memory.look()  # compressed data can expand without bound
    with damaged(str(path)):
        return stream.read(size)


def texts(path: Path, encoding: str, size: int = BLOCK) -> Iterator[str]:
    """Text of a file, block by block; a block may end within a line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    first, begun = 1, False
    with open_bytes(path) as stream:
        while True:
            block = read_block(path, stream, size)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise _undecodable(str(path), encoding, error, first) from error
            if text:
                yield text if begun else text.removeprefix("\ufeff")
                begun = True
            if not block:
                return
            first += text.count("\n")


def decoded(file: str, block: bytes, encoding: str, first_line: int = 1) -> str:
    """Decode a block that begins on `first_line`, without a byte-order mark; an invalid byte is a `DataError`."""
    try:
        text = block.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(file, encoding, error, first_line) from error
    return text.removeprefix("\ufeff") if first_line == 1 else text


def _undecodable(file: str, encoding: str, error: UnicodeDecodeError, first_line: int) -> DataError:
    block = bytes(error.object)
    line = first_line + block.count(b"\n", 0, error.start)
    what = f"byte 0x{block[error.start]:02X} is not {encoding.upper()} text"
    hint = "if the file is Latin-1, say encoding=latin-1"
    if first_line == 1 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = "it looks like UTF-16: save it as UTF-8"
    elif error.reason == "unexpected end of data":
        hint = "the file ends within a letter: is it cut off?"
    return DataError(file, what, line, hint=hint)


_BLOCK = 1 << 20  # bytes; expat keeps unparsed input
_LONGEST = 1 << 25  # bytes of a tag: expat rescans it with each block
_BUILT_IN = frozenset({"utf-8", "utf-16", "iso-8859-1", "us-ascii"})
_ZIP = b"PK\x03\x04"


def parse_xml(path: Path, parser: expat.XMLParserType, hint: str) -> None:
    """Parse an XML file with the handlers of a parser; entity declarations are refused.

    `hint` is for a file that is not well-formed.
    """
    from xml.parsers import expat

    file = str(path)

    def refuse_entity(name: str, *_: object) -> None:  # nested entities expand without bound
        hint = "write its text where the file names it"
        raise DataError(file, f"the file defines an entity {name!r}", parser.CurrentLineNumber, hint=hint)

    parser.EntityDeclHandler = refuse_entity
    parser.XmlDeclHandler = lambda _, encoding, __: _check_encoding(file, encoding)
    with open_bytes(path) as stream:
        try:
            while block := read_block(path, stream, _BLOCK):
                if block.startswith(_ZIP):
                    raise DataError(file, "this is a zip file", hint="unpack it first")
                parser.Parse(block, False)
                if stream.tell() - parser.CurrentByteIndex > _LONGEST:
                    what = "no well-formed XML: a tag is longer than 16 MB"
                    raise DataError(file, what, hint="is a quotation mark left open?")
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            what = f"no well-formed XML: {expat.ErrorString(error.code)}"
            raise DataError(file, what, error.lineno, hint=hint) from error


def _check_encoding(file: str, encoding: str | None) -> None:
    """Accept only encodings built into expat or with one byte per character."""
    if encoding is None or encoding.lower() in _BUILT_IN:
        return
    try:
        letters = len(bytes(range(256)).decode(encoding, "replace"))
    except (LookupError, ValueError):  # unknown codec, not a text encoding, or invalid name
        letters = 0
    if letters != 256:
        hint = 'save it as UTF-8, and declare that: <?xml version="1.0" encoding="UTF-8"?>'
        raise DataError(file, f"the file declares the encoding {encoding!r}, which is not read", 1, hint=hint)
