"""Parsing of delimited text into fields, with the location of malformed records."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import arrow_csv, pa
from kgreason.base.errors import DataError
from kgreason.data.raw_table import arrow_stream, decoded, open_bytes, read_block, texts
from kgreason.data.source_options import Options, other_delimiter


def read_columns(
    path: Path, options: Options, delimiter: str, width: int, *, header: bool, nulls: bool = False
) -> tuple[Any, ...]:
    """Read all fields as text.

    Parameters
    ----------
    width
        Number of fields per line.
    header
        Skip the first line.
    nulls
        Read empty unquoted fields as missing values.

    Raises
    ------
    DataError
        If the file is not valid CSV.
    """
    if header and next(itertools.islice(records(path, options, delimiter), 1, None), None) is None:
        return (pa.chunked_array([], pa.string()),) * width  # Arrow rejects a line without a line end
    quoted, doubtful = _quotation(path, options, delimiter)
    names = [f"f{i}" for i in range(width)]

    def parsed(block: int) -> Any:
        """Table of the file, parsed with the given block size in bytes."""
        with (
            arrow_stream(path, options.encoding) as stream,
            arrow_csv.open_csv(
                stream,
                arrow_csv.ReadOptions(
                    column_names=names,
                    skip_rows=options.skip,
                    skip_rows_after_names=int(header),
                    block_size=block,
                ),
                arrow_csv.ParseOptions(
                    delimiter=delimiter, quote_char=options.quote or False, newlines_in_values=quoted
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=nulls,
                    quoted_strings_can_be_null=False,
                ),
            ) as blocks,
        ):
            parts = []
            for part in blocks:
                memory.look()
                parts.append(part)
            return pa.Table.from_batches(parts, blocks.schema)

    try:
        try:
            table = parsed(_FIELD >> 4)  # Arrow reads a dozen blocks ahead
        except pa.ArrowInvalid:
            table = parsed(_FIELD)  # a line may be longer than a block
    except (pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError) as error:
        raise _explained(path, options, delimiter, width, error) from error
    if doubtful:
        for _ in records(path, options, delimiter):
            pass  # re-reading raises the error, if there is one
    return tuple(table.columns)


def _quotation(path: Path, options: Options, delimiter: str) -> tuple[bool, bool]:
    """Whether a file has quotation marks, and whether some may be unclosed or followed by text."""
    # Arrow reports neither; it reads the rest of the file after an unclosed mark as one field. Every second mark is a
    # closing one; a doubled mark closes and reopens. Therefore an opening mark follows a delimiter or a mark, and a
    # closing one precedes a delimiter or a mark. Valid unquoted fields with marks, such as ``5"``, violate this: such
    # files also count as doubtful.
    if not options.quote:
        return False, False
    mark = ord(options.quote)
    beside = np.isin(np.arange(256), [mark, ord(delimiter), *b"\r\n"])
    seen = 0
    text = b"\n"
    with open_bytes(path) as stream:
        start = read_block(path, stream, _QUOTES).removeprefix(codecs.BOM_UTF8)
        for block in itertools.chain([start], iter(lambda: read_block(path, stream, _QUOTES), b""), [b"\n"]):
            text = text[-2:] + block
            if options.quote.encode() not in text:
                continue
            letters = np.frombuffer(text, dtype=np.uint8)
            marks = np.flatnonzero(letters[1:-1] == mark) + 1
            opens = (seen + np.arange(len(marks))) % 2 == 0
            if not beside[letters[np.where(opens, marks - 1, marks + 1)]].all():
                return True, True
            seen += len(marks)
    return seen > 0, seen % 2 == 1


def _explained(path: Path, options: Options, delimiter: str, width: int, error: Exception) -> DataError:
    """Find the line that Arrow cannot parse in a second, slow pass."""
    for _ in texts(path, options.encoding):
        pass  # raises the error for a byte that is invalid in the encoding
    for line, record in records(path, options, delimiter):
        if len(record) != width:
            hint = other_delimiter(record[0], delimiter) if width == 1 else None
            hint = hint or _ragged(len(record) < width, options, delimiter)
            return DataError(
                str(path),
                f"{len(record)} field{'s' * (len(record) != 1)} where the first line has {width}",
                line,
                hint=hint,
            )
    return DataError(str(path), f"not a CSV file: {error}", hint="is a quoted field left open?")


def _ragged(short: bool, options: Options, delimiter: str) -> str:
    """Hint for a line with too few or too many fields."""
    mark = {"\t": "tab", " ": "blank"}.get(delimiter, repr(delimiter))
    if short:
        return f"look for a {mark} that is missing in this line, or one inside quotation marks"
    if options.quote is None:
        return f"look for a {mark} too many in this line"
    return f"look for a {mark} too many in this line; a field that holds one needs quotation marks ({options.quote})"


def records(path: Path, options: Options, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records with their first line numbers; slow, for samples and messages."""
    with open_bytes(path) as stream:  # checks the encoding of the first lines
        block = read_block(path, stream, 1 << 16)
        decoded(str(path), block[: block.rfind(b"\n") + 1], options.encoding)
    with _text(path, options) as text:
        lines = itertools.islice(_lines(text), options.skip, None)
        if options.quote:
            reader = csv.reader(lines, delimiter=delimiter, quotechar=options.quote, strict=True)
        else:
            reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        csv.field_size_limit(max(_FIELD, csv.field_size_limit()))
        before = 0
        try:
            for record in reader:
                if record:
                    yield options.skip + before + 1, record
                before = reader.line_num
        except csv.Error as error:
            raise _malformed(path, options, delimiter, options.skip + before + 1, error) from error


def _malformed(path: Path, options: Options, delimiter: str, line: int, error: csv.Error) -> DataError:
    if options.quote and "limit" not in str(error):
        with _text(path, options) as text:
            for _ in range(line - 1):
                text.readline()
            found = _misquoted(str(path), text.read(_FIELD), line, delimiter, options.quote)
        if found:
            return found
    hint = "is a quoted field left open? quote=none takes quotation marks as they are"
    return DataError(str(path), f"not a CSV file: {error}", line, hint=hint)


def _text(path: Path, options: Options) -> IO[str]:
    encoding = "utf-8-sig" if options.encoding in ("utf-8", "utf8") else options.encoding
    return io.TextIOWrapper(open_bytes(path), encoding, newline="", errors="replace")


def _lines(text: IO[str]) -> Iterator[str]:
    """Lines of a file; `csv.Error` at a line longer than the field limit."""
    while line := text.readline(_FIELD):
        memory.look()
        if len(line) == _FIELD:
            raise csv.Error(f"line longer than the limit of {_FIELD:,} characters")
        yield line


def _misquoted(file: str, record: str, line: int, delimiter: str, quote: str) -> DataError | None:
    """Error for the first malformed quoted field of a text whose first line is `line`."""
    q, d = re.escape(quote), re.escape(delimiter)
    quoted = re.compile(f"{q}([^{q}]++|{q}{q})*+{q}")
    good = re.compile(f"({quoted.pattern}|(?!{q})[^{d}\r\n]*+){d}")
    place = 0
    column = 1
    while match := good.match(record, place):
        place, column = match.end(), column + 1
    if not record.startswith(quote, place):
        return None
    line += len(re.findall("\r\n?|\n", record[:place]))
    hint = f"inside quotation marks write {2 * quote} for {quote}; quote=none takes them as they are"
    closed = quoted.match(record, place)
    if closed is None:
        shown = _start(record[place + 1 :])
        return DataError(file, f"the quotation mark before {shown} is never closed", line, column, hint)
    line += len(re.findall("\r\n?|\n", closed[0]))
    after = _start(re.split(f"[{d}\r\n]", record[closed.end() :], maxsplit=1)[0])
    return DataError(file, f"{after} stands after the closing quotation mark", line, column, hint)


def _start(text: str) -> str:
    return repr(re.split("[\r\n]", text, maxsplit=1)[0][:_SHOWN])


_FIELD = 1 << 24  # maximum characters of a field, the limit of Arrow


_QUOTES = 1 << 20  # bytes per block when checking quotation marks


_SHOWN = 20  # characters of a field in a message
