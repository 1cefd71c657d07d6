"""CSV and TSV files: fields between delimiters, perhaps quoted, perhaps a first line of names."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.cast import ABSENT
from kgreason.graph.io.options import Options, other_delimiter
from kgreason.graph.io.quotes import doubtful, located, marked
from kgreason.graph.io.raw import Raw, arrow_stream, decoded, open_bytes, read_block, whole_lines

_SAMPLE = 200
_FIELD = 1 << 24  # characters of a field; as many as Arrow takes
NUMBER = re.compile(r"\s*[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*")
_TITLE = re.compile(r"[^\W\d][\w .#/()-]*")


def read_csv(path: Path, options: Options) -> Raw:
    """Read a comma-separated file (or `delimiter`); every field stays text."""
    return _read(path, options, options.delimiter or ",")


def read_tsv(path: Path, options: Options) -> Raw:
    """Read a tab-separated file."""
    return _read(path, options, options.delimiter or "\t")


def _read(path: Path, options: Options, delimiter: str) -> Raw:
    for name, character in (("delimiter", delimiter), ("quote", options.quote or "")):
        if not character.isascii():
            raise DataError(
                str(path), f"option {name} cannot be {character!r}", hint="only ASCII characters can"
            )
    sample = list(itertools.islice(records(path, options, delimiter), _SAMPLE))
    if not sample:
        return Raw(str(path), (), (), lambda _: None, named=False)
    from kgreason.data.neo4j import is_header, read_neo4j  # which reads its tables with this module

    first = sample[0][1]
    if options.header is not False and is_header(first):
        raw = read_neo4j(path, options)
        return replace(
            raw, notes=(f"{path}: read as an import file of Neo4j, as its header says", *raw.notes)
        )
    header, doubt = _header(sample, options)
    names = _unique(first) if header else tuple(f"column{i + 1}" for i in range(len(first)))
    columns = read_columns(path, options, delimiter, len(first), header=header)
    read_as = (
        "names: say useHeaders=false if it is data"
        if header
        else "data: say useHeaders=true if it names columns"
    )
    shown = " ".join(delimiter.join(first).split())[:60]
    note = f"{path}: the first line ({shown}) was read as {read_as}" if doubt else None

    def line(row: int) -> int | None:
        found = records(path, options, delimiter)
        return next(itertools.islice(found, row + header, None), (None, ()))[0]

    bare = [name.strip() for name in first] if header else []
    return Raw(
        str(path),
        names,
        columns,
        line,
        named=header,
        doubt=note,
        title_line=sample[0][0] if header else None,
        repeated=tuple(sorted({name for name in bare if name and bare.count(name) > 1})),
    )


def read_columns(
    path: Path, options: Options, delimiter: str, width: int, *, header: bool, nulls: bool = False
) -> tuple[Any, ...]:
    """Read all fields as text.

    Parameters
    ----------
    width
        Fields of a line.
    header
        Pass over the first line.
    nulls
        Empty fields without quotes are missing.

    Raises
    ------
    DataError
        If the file is no CSV.
    """
    import pyarrow as pa

    if header and next(itertools.islice(records(path, options, delimiter), 1, None), None) is None:
        return (pa.chunked_array([], pa.string()),) * width  # Arrow takes a line without an end for broken
    quote = options.quote if options.quote and marked(path, options.quote, options.encoding) else None
    several = quote is not None  # lines may be one record

    def parsed(block: int) -> Any:
        return _table(
            path, options, delimiter, width, skip=int(header), nulls=nulls, several=several, block=block
        )

    try:
        try:
            table = parsed(_FIELD >> 4)  # Arrow reads a dozen blocks ahead
        except pa.ArrowInvalid:
            table = parsed(_FIELD)  # a line may be longer than a block
    except (pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError) as error:
        raise _explained(path, options, delimiter, width, error) from error
    if quote and doubtful(path, delimiter, quote):
        for _ in records(path, options, delimiter):
            pass  # it raises the error, if there is one
    return tuple(table.columns)


def _table(
    path: Path,
    options: Options,
    delimiter: str,
    width: int,
    *,
    skip: int,
    nulls: bool,
    several: bool,
    block: int,
) -> Any:
    """Parse a file by Arrow, so many bytes at once."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [f"f{i}" for i in range(width)]
    parts = []
    with (
        arrow_stream(path, options.encoding) as stream,
        arrow.open_csv(
            stream,
            arrow.ReadOptions(
                column_names=names,
                skip_rows=options.skip,
                skip_rows_after_names=skip,
                block_size=block,
            ),
            arrow.ParseOptions(
                delimiter=delimiter,
                quote_char=options.quote or False,
                newlines_in_values=several,
            ),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                check_utf8=True,
                null_values=[""],
                strings_can_be_null=nulls,
                quoted_strings_can_be_null=False,
            ),
        ) as blocks,
    ):
        for part in blocks:
            memory.look()
            parts.append(part)
    return pa.Table.from_batches(parts, blocks.schema)


def _explained(path: Path, options: Options, delimiter: str, width: int, error: Exception) -> DataError:
    """Find in a second, slow pass what Arrow stumbled over."""
    first = 1
    for block in whole_lines(path):
        decoded(str(path), block, options.encoding, first)
        first += block.count(b"\n")
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
    """Say what to look for in a line of too few fields or too many."""
    mark = {"\t": "tab", " ": "blank"}.get(delimiter, repr(delimiter))
    if short:
        return f"look for a {mark} that is missing in this line, or one inside quotation marks"
    if options.quote is None:
        return f"look for a {mark} too many in this line"
    return f"look for a {mark} too many in this line; a field that holds one needs quotation marks ({options.quote})"


def records(path: Path, options: Options, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records one by one with the line each begins on; slow, for samples and messages."""
    _checked_start(path, options.encoding)
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
    """Name the field that the reader stumbled over, in the record that begins on `line`."""
    if options.quote and "limit" not in str(error):
        with _text(path, options) as text:
            for _ in range(line - 1):
                text.readline()
            found = located(str(path), text.read(_FIELD), line, delimiter, options.quote)
        if found:
            return found
    hint = "is a quoted field left open? quote=none takes quotation marks as they are"
    return DataError(str(path), f"not a CSV file: {error}", line, hint=hint)


def _text(path: Path, options: Options) -> IO[str]:
    encoding = "utf-8-sig" if options.encoding in ("utf-8", "utf8") else options.encoding
    return io.TextIOWrapper(open_bytes(path), encoding, newline="", errors="replace")


def _lines(text: IO[str]) -> Iterator[str]:
    """Lines that are no longer than a field may be."""
    while line := text.readline(_FIELD):
        memory.look()
        if len(line) == _FIELD:
            raise csv.Error(f"line longer than the limit of {_FIELD:,} characters")
        yield line


def _checked_start(path: Path, encoding: str) -> None:
    """Name a wrong encoding before it shows up as odd column names."""
    with open_bytes(path) as stream:
        block = read_block(path, stream, 1 << 16)
        decoded(str(path), block[: block.rfind(b"\n") + 1], encoding)


def _header(sample: Sequence[tuple[int, list[str]]], options: Options) -> tuple[bool, bool]:
    """Judge whether the first record holds names, and whether that is in doubt."""
    first, rest = sample[0][1], [record for _, record in sample[1:]]
    named = set(options.columns or ()) - {str(i + 1) for i in range(len(first))}
    known = bool(named) and named <= set(first)
    number = any(NUMBER.fullmatch(cell) for cell in first)
    if options.header is not None:
        return options.header, options.header and number and not known
    if known or number:
        return known, False
    values = {cell for record in rest for cell in record}
    again = not values.isdisjoint(cell for cell in first if cell.strip())
    absent = [_absent(cell, place, options) for place, cell in enumerate(first)]
    numeric = [_numeric([r[i] for r in rest if i < len(r)]) for i in range(len(first))]
    if any(numeric):  # of what stands above numbers only a name tells names from data
        title = any(n and not a for n, a in zip(numeric, absent, strict=True))
        return title, again or any(absent) or not title
    titles = len(set(first)) == len(first) and all(_TITLE.fullmatch(cell.strip()) for cell in first)
    return titles and not again, True  # without rest: a table that has no rows yet


def _absent(cell: str, place: int, options: Options) -> bool:
    """Whether a cell stands for a missing value; row numbers are written without a name at the first place."""
    if not cell.strip():
        return place > 0
    return cell == options.null_string or ABSENT.fullmatch(cell.strip()) is not None


def _numeric(cells: Sequence[str]) -> bool:
    """Most cells are numbers: a bad one must not turn the line of names into data."""
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(NUMBER.fullmatch(cell) is not None for cell in filled) >= len(filled)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Column names, the second of two equal ones numbered."""
    seen: dict[str, int] = {}
    unique = []
    for position, name in enumerate(names):
        bare = name.strip() or f"column{position + 1}"
        seen[bare] = seen.get(bare, 0) + 1
        unique.append(bare if seen[bare] == 1 else f"{bare}_{seen[bare]}")
    return tuple(unique)
