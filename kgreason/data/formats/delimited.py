"""CSV and TSV files: delimited fields, optionally quoted, optionally with a header line.

The reader uses Arrow. DuckDB takes as long for ten million edges (2.2 s each, 0.8 in place of 0.6 GB) and reports the
line of an unclosed quotation mark, but supports three encodings only and interprets ``*`` in file names as a pattern.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import ArrowArray, arrow_csv, as_arrow, constant, pa, pc, strings
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import chunk_writer, columns_of, write_lines
from kgreason.data.raw_table import Column, Raw, arrow_stream, decoded, open_bytes, read_block, texts
from kgreason.data.source_options import Options, delimiter_of, other_delimiter
from kgreason.data.text_conversion import ABSENT
from kgreason.data.value_conversion import Cells, joined, text
from kgreason.engine.relations.fact_tables import NESTED, Facts, Kind
from kgreason.language.values import Null, Value

if TYPE_CHECKING:
    from kgreason.data.targets import Target

DELIMITERS = {"csv": ",", "tsv": "\t"}
DECIMALS = 6
NUMBER = re.compile(r"\s*[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*")
_SAMPLE = 200  # records that decide whether the first is a header
_START = 1 << 16  # characters of a file that contain its first line
_SMALL = 1 << 20  # bytes up to which a file is read faster than Arrow is imported
# columns, a line a cell, that Arrow would convert to the same numbers, or leave unchanged
_PLAIN = {
    Kind.INT: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,14})\n)++"),
    Kind.DOUBLE: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?\n)++"),
    Kind.STRING: re.compile(r"(?:[^\W\d_](?:.*\S)?\n)++"),
}
_FIELD = 1 << 24  # maximum characters of a field, the limit of Arrow
_QUOTES = 1 << 20  # bytes per block when checking quotation marks
_SHOWN = 20  # characters of a field in a message
_ROWS = 1 << 20  # rows per written block
_QUOTING = {"all": "all_valid", "minimal": "needed", "non_numeric": "needed", "none": "none"}
_TITLE = re.compile(r"[^\W\d][\w .#/()-]*")


def read_csv(path: Path, options: Options) -> Raw:
    """Read a comma-separated file (or with another `delimiter`); every field stays text."""
    return _read(path, options, options.delimiter or DELIMITERS["csv"])


def read_tsv(path: Path, options: Options) -> Raw:
    """Read a tab-separated file."""
    return _read(path, options, options.delimiter or DELIMITERS["tsv"])


def _read(path: Path, options: Options, delimiter: str) -> Raw:
    for name, character in (("delimiter", delimiter), ("quote", options.quote or "")):
        if not character.isascii():
            hint = "only ASCII characters can"
            raise DataError(str(path), f"option {name} cannot be {character!r}", hint=hint)
    sample = list(itertools.islice(records(path, options, delimiter), _SAMPLE))
    if not sample:
        return Raw(str(path), (), (), lambda _: None, named=False)
    title_line, first = sample[0]
    header, doubt = _header(sample, options)
    names = _unique(first) if header else tuple(f"column{i + 1}" for i in range(len(first)))
    columns = plain_cells(path, options, delimiter, len(first), header=header) if options.cells else None
    if columns is None:
        columns = read_columns(path, options, delimiter, len(first), header=header)
    reading = "names: say useHeaders=false if it is data"
    if not header:
        reading = "data: say useHeaders=true if it names columns"
    shown = " ".join(delimiter.join(first).split())[:60]
    bare = [name.strip() for name in first] if header else []
    return Raw(
        str(path),
        names,
        columns,
        lambda row: line_of(path, options, delimiter, row + header),
        named=header,
        doubt=f"{path}: the first line ({shown}) was read as {reading}" if doubt else None,
        title_line=title_line if header else None,
        repeated=tuple(sorted({name for name in bare if name and bare.count(name) > 1})),
    )


def _header(sample: Sequence[tuple[int, list[str]]], options: Options) -> tuple[bool, bool]:
    """Whether the first record holds column names, and whether the decision is uncertain."""
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
    absent = [_absent(cell, position, options) for position, cell in enumerate(first)]
    numeric = [_numeric([r[i] for r in rest if i < len(r)]) for i in range(len(first))]
    if any(numeric):  # above numbers, only a known title distinguishes names from data
        title = any(n and not a for n, a in zip(numeric, absent, strict=True))
        return title, again or any(absent) or not title
    titles = len(set(first)) == len(first) and all(_TITLE.fullmatch(cell.strip()) for cell in first)
    return titles and not again, True  # no further lines: a table without rows


def _absent(cell: str, position: int, options: Options) -> bool:
    """Whether a cell is a missing value; the first column name may be empty, as for row numbers."""
    if not cell.strip():
        return position > 0
    return cell == options.null_string or ABSENT.fullmatch(cell.strip()) is not None


def _numeric(cells: Sequence[str]) -> bool:
    """Whether at least half of the cells are numbers."""
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(NUMBER.fullmatch(cell) is not None for cell in filled) >= len(filled)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    unique = []
    for position, name in enumerate(names):
        bare = name.strip() or f"column{position + 1}"
        counts[bare] = counts.get(bare, 0) + 1
        unique.append(bare if counts[bare] == 1 else f"{bare}_{counts[bare]}")
    return tuple(unique)


def plain_cells(
    path: Path, options: Options, delimiter: str, width: int, *, header: bool
) -> tuple[Cells, ...] | None:
    """Read a small UTF-8 file of unquoted numbers and names without Arrow; `None` for any other file."""
    usual = Options(delimiter=options.delimiter, header=options.header, columns=options.columns, cells=True)
    if replace(options, allow_files=False) != usual or not path.is_file() or path.stat().st_size > _SMALL:
        return None
    try:
        text = path.read_bytes().decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    lines = text.removesuffix("\n")
    if header:
        lines = lines.partition("\n")[2]
    mark = re.escape(delimiter)
    line = rf"(?:[^{mark}\n]*+{mark}){{{width - 1}}}[^{mark}\n]*+"
    if '"' in text or "\r" in text or not re.fullmatch(rf"(?:{line}\n)*+{line}", lines):
        return None
    cells = lines.replace("\n", delimiter).split(delimiter)
    columns = []
    for column in (cells[position::width] for position in range(width)):
        written = "\n".join(column) + "\n"
        kind = next((kind for kind, form in _PLAIN.items() if form.fullmatch(written)), None)
        if kind is None:
            return None
        columns.append(Cells(column, kind))
    return tuple(columns)


def read_columns(
    path: Path, options: Options, delimiter: str, width: int, *, header: bool, nulls: bool = False
) -> tuple[Any, ...]:
    """Read all fields of lines of `width` fields as text; with `nulls`, empty unquoted fields are missing values."""
    if header and next(itertools.islice(records(path, options, delimiter), 1, None), None) is None:
        return (pa.chunked_array([], pa.string()),) * width  # Arrow rejects a line without a line end
    quoted, doubtful = _quotation(path, options, delimiter)
    names = [f"f{i}" for i in range(width)]

    def parsed(block: int) -> Any:
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
    count = 0
    text = b"\n"
    with open_bytes(path) as stream:
        start = read_block(path, stream, _QUOTES).removeprefix(codecs.BOM_UTF8)
        for block in itertools.chain([start], iter(lambda: read_block(path, stream, _QUOTES), b""), [b"\n"]):
            text = text[-2:] + block
            if options.quote.encode() not in text:
                continue
            letters = np.frombuffer(text, dtype=np.uint8)
            marks = np.flatnonzero(letters[1:-1] == mark) + 1
            opens = (count + np.arange(len(marks))) % 2 == 0
            if not beside[letters[np.where(opens, marks - 1, marks + 1)]].all():
                return True, True
            count += len(marks)
    return count > 0, count % 2 == 1


def _explained(path: Path, options: Options, delimiter: str, width: int, error: Exception) -> DataError:
    """Find the line that Arrow cannot parse in a second, slow pass."""
    for _ in texts(path, options.encoding):
        pass  # raises the error for a byte that is invalid in the encoding
    for line, record in records(path, options, delimiter):
        if len(record) != width:
            hint = other_delimiter(record[0], delimiter) if width == 1 else None
            hint = hint or _ragged(len(record) < width, options, delimiter)
            what = f"{len(record)} field{'s' * (len(record) != 1)} where the first line has {width}"
            return DataError(str(path), what, line, hint=hint)
    return DataError(str(path), f"not a CSV file: {error}", hint="is a quoted field left open?")


def _ragged(short: bool, options: Options, delimiter: str) -> str:
    mark = {"\t": "tab", " ": "blank"}.get(delimiter, repr(delimiter))
    if short:
        return f"look for a {mark} that is missing in this line, or one inside quotation marks"
    if options.quote is None:
        return f"look for a {mark} too many in this line"
    return f"look for a {mark} too many in this line; a field that holds one needs quotation marks ({options.quote})"


def line_of(path: Path, options: Options, delimiter: str, record: int) -> int | None:
    """Line number of a record, counted from 0; reads the file again."""
    return next(itertools.islice(records(path, options, delimiter), record, None), (None, ()))[0]


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
    position = 0
    column = 1
    while match := good.match(record, position):
        position, column = match.end(), column + 1
    if not record.startswith(quote, position):
        return None
    line += len(re.findall("\r\n?|\n", record[:position]))
    hint = f"inside quotation marks write {2 * quote} for {quote}; quote=none takes them as they are"
    closed = quoted.match(record, position)
    if closed is None:
        shown = _start(record[position + 1 :])
        return DataError(file, f"the quotation mark before {shown} is never closed", line, column, hint)
    line += len(re.findall("\r\n?|\n", closed[0]))
    after = _start(re.split(f"[{d}\r\n]", record[closed.end() :], maxsplit=1)[0])
    return DataError(file, f"{after} follows the closing quotation mark", line, column, hint)


def _start(text: str) -> str:
    return repr(re.split("[\r\n]", text, maxsplit=1)[0][:_SHOWN])


def write_delimited(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write a header line and one line per fact, in UTF-8; strings are quoted."""
    with delimited_stream(path, predicate, names, target) as write:
        write(facts)


@contextmanager
def delimited_stream(
    path: Path, predicate: str, names: Sequence[str], target: Target
) -> Iterator[Callable[[Facts], None]]:
    """Open a file for facts that are written piece by piece; the function must be called at least once."""
    options = target.options
    delimiter = _delimiter(target)
    quoting = _QUOTING.get(options.get("quotemode", "needed").lower(), "needed")
    header = options.get("useheaders", "true").lower() != "false"
    null_string = options.get("nullstring")
    bare = header and quoting == "none"  # Arrow always quotes column names
    settings = arrow_csv.WriteOptions(
        include_header=header and not bare, delimiter=delimiter, quoting_style=quoting
    )

    def shown(value: Value) -> str:
        return null_string if null_string is not None and isinstance(value, Null) else text(value)

    def converted(facts: Facts) -> pa.Table:
        columns = columns_of(facts, predicate, {Kind.DATE, *NESTED}, shown)
        return pa.Table.from_arrays(columns, names=list(names))

    try:
        with ExitStack() as stack:
            stream = stack.enter_context(path.open("wb"))
            if bare:
                stream.write((delimiter.join(names) + "\n").encode())
            yield chunk_writer(
                predicate,
                converted,
                lambda schema: stack.enter_context(
                    arrow_csv.CSVWriter(stream, schema, write_options=settings)
                ),
            )
    except pa.ArrowInvalid as error:
        what = f"cannot be written without quotes: {error}"
        raise DataError(str(target.path), what, hint="leave out quoteMode=NONE") from error


def _delimiter(target: Target) -> str:
    return delimiter_of(str(target.path), target.options.get("delimiter", DELIMITERS[target.format]))


def delimited_columns(target: Target) -> tuple[str, ...] | None:
    """Column names of a file that an output would replace; `None` if it has no header line."""
    if target.options.get("useheaders", "true").lower() == "false":
        return None
    with io.TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace", newline="") as stream:
        return tuple(next(csv.reader([stream.readline(_START)], delimiter=_delimiter(target)), ()))


def write_csv(
    path: Path, names: Sequence[str], columns: Sequence[npt.ArrayLike | ArrowArray], delimiter: str = ","
) -> None:
    """Write columns of equal length under a header line.

    Parameters
    ----------
    names
        One per column.
    columns
        Arrays of strings, integers, truth values (true and false) or doubles (with up to 6 decimals); strings also as
        Arrow arrays of large strings.
    delimiter
        A comma or a tab.
    """
    arrays = [column if isinstance(column, pa.Array) else np.asarray(column) for column in columns]
    length = len(arrays[0]) if arrays else 0
    if len(names) != len(arrays) or any(len(a) != length for a in arrays):
        raise ValueError("names and columns of a table differ in length")
    title = [np.array([name], dtype=object) for name in names]
    parts = ([a[start : start + _ROWS] for a in arrays] for start in range(0, length, _ROWS))
    with path.open("wb") as stream:
        for some in itertools.chain([title], parts):
            fields = [part for array in some for part in (delimiter, _fields(array, single=len(some) == 1))]
            write_lines(stream, fields[1:])


def _fields(array: npt.NDArray[Any] | ArrowArray, *, single: bool) -> Column:
    large = pa.large_string()
    if isinstance(array, pa.Array):
        return _quoted(array, single=single)
    if array.dtype.kind == "f":
        return _decimals(array)
    if array.dtype.kind in "iub":
        return as_arrow(array).cast(large)
    cells = array.tolist()
    if all(isinstance(cell, str) for cell in cells):
        return _quoted(strings(cells), single=single)
    values = pa.array(cells)
    if pa.types.is_floating(values.type):
        return _decimals(np.array(array, dtype=np.float64))
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    return _quoted(values.cast(large), single=single) if text else values.cast(large)


def _decimals(values: npt.NDArray[np.floating]) -> Column:
    """Doubles as text with at most 6 decimals and no trailing zeros; large numbers in full precision."""
    column = as_arrow(values.astype(np.float64))
    if not (np.abs(values) < 2.0**53 / 10**DECIMALS).all():
        return column.cast(pa.large_string())
    decimals = column.cast(pa.decimal128(38, DECIMALS)).cast(pa.large_string())
    return pc.ascii_rtrim(pc.ascii_rtrim(decimals, "0"), ".")


def _quoted(text: Column, *, single: bool) -> Column:
    special = pc.match_substring_regex(text, r'[",\t\r\n]|^\s|\s$|^\x{FEFF}')
    if single:  # an empty line would not be read as a row
        special = pc.or_(special, pc.equal(text, constant("")))
    if not pc.any(special).as_py():
        return text
    return pc.if_else(special, joined('"', pc.replace_substring(text, '"', '""'), '"'), text)
