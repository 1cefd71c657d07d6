"""Quotation marks of CSV files that are amiss: one never closed, or text after a closing one.

Arrow reads both in silence, the first by taking the rest of the file for one field.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.io.kernels import marks
from kgreason.graph.io.raw import open_bytes, read_block

_BLOCK = 1 << 20  # so small that it stays in the cache
_SHOWN = 20


def marked(path: Path, quote: str, encoding: str) -> bool:
    """Whether there may be quotation marks at all."""
    if encoding not in ("utf-8", "utf8"):
        return True
    return any(quote.encode() in block for block in _blocks(path))


def doubtful(path: Path, delimiter: str, quote: str) -> bool:
    """Whether quotation marks may be amiss; told by their number and neighbours, much faster than by reading.

    Every second mark closes; a doubled one closes and opens again. So what opens follows a delimiter or a mark,
    and what closes is followed by one. Unquoted fields with marks in them, as ``5"``, upset that although they
    are in order: such a file is doubtful, too.
    """
    inner = np.ones(256, dtype=np.bool_)
    inner[[ord(quote), ord(delimiter), *b"\r\n"]] = False
    seen = 0
    text = b"\n"
    for block in chain(_blocks(path), [b"\n"]):
        text = text[-2:] + block
        seen = marks(np.frombuffer(text, dtype=np.uint8), ord(quote), inner, seen)
        if seen < 0:
            return True
    return seen % 2 == 1


def _blocks(path: Path) -> Iterator[bytes]:
    """Bytes of a file but for a byte-order mark."""
    with open_bytes(path) as stream:
        yield read_block(path, stream, _BLOCK).removeprefix(BOM_UTF8)
        while block := read_block(path, stream, _BLOCK):
            yield block


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
