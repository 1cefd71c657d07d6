"""Quotation marks of CSV files that are amiss: one never closed, or text after a closing one.

Arrow reads both in silence, the first by taking the rest of the file for one field.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.io.raw import whole_lines

_BLOCK = 1 << 20  # so small that the arrays stay in the cache
_TAIL = 1 << 13  # bytes of the end of a file, enough for _END characters
_END = 1000
_SHOWN = 20


def doubtful(path: Path, encoding: str, delimiter: str, quote: str, last: str) -> bool:
    """Whether quotation marks may be amiss; told by their neighbours, so much faster than by reading fields.

    It is never false where they are amiss, but for a quoted field closed after a delimiter or at the start of
    a line and followed by text, as ``"a,"b``: that looks like the start of a field. It is true without need
    where unquoted fields have quotation marks inside, as ``5"x``.

    Parameters
    ----------
    last
        The last field of the last row, as Arrow read it: the only one that can be open.
    """
    mark = ord(quote)
    inner = np.ones(256, dtype=np.bool_)
    inner[[mark, ord(delimiter), *b"\r\n"]] = False
    tail = b""
    for number, block in enumerate(whole_lines(path, _BLOCK)):
        tail = (tail + block[-_TAIL:])[-_TAIL:]
        if mark not in block:
            continue
        lines = b"\n" + (block if number else block.removeprefix(BOM_UTF8)) + b"\n"
        codes = np.frombuffer(lines, dtype=np.uint8)
        marks = np.flatnonzero(codes == mark)
        breaks = np.flatnonzero(np.diff(marks) != 1)
        first, final = marks[np.append(0, breaks + 1)], marks[np.append(breaks, -1)]
        within, even = inner[codes[first - 1]], (final - first) % 2 == 1
        if (inner[codes[final + 1]] & (within != even)).any():
            return True
    rest = quote + last.replace(quote, 2 * quote)
    return tail.decode(encoding, "replace").endswith(rest[-_END:])


def located(file: str, record: str, line: int, delimiter: str, quote: str) -> DataError | None:
    """Build the error that names the field of a record whose quotation marks are amiss; `None`: there is none.

    Parameters
    ----------
    record
        Text from the start of the record on, perhaps more than the record.
    line
        The line it begins on.
    """
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
        shown = _shown(record[place + 1 :])
        return DataError(file, f"the quotation mark before {shown} is never closed", line, column, hint)
    line += len(re.findall("\r\n?|\n", closed[0]))
    after = _shown(re.split(f"[{d}\r\n]", record[closed.end() :], maxsplit=1)[0])
    return DataError(file, f"{after} stands after the closing quotation mark", line, column, hint)


def _shown(text: str) -> str:
    return repr(re.split("[\r\n]", text, maxsplit=1)[0][:_SHOWN])
