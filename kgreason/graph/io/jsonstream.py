"""Values of a JSON file one by one, without the whole of it in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from kgreason.errors import DataError
from kgreason.graph.io.raw import open_bytes, read_block

BLOCK = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")


def values(
    path: Path, encoding: str = "utf-8", parse_float: Callable[[str], Any] | None = None
) -> Iterator[tuple[Any, int]]:
    """Elements of an array, or values on end, each with the line that it begins on.

    Parameters
    ----------
    parse_float
        Makes a number of its text, as in :func:`json.loads`.

    Raises
    ------
    DataError
        If the file is no JSON, or not in this encoding.
    """
    with open_bytes(path) as stream:
        text = _Text(path, stream, encoding)
        decoder = json.JSONDecoder(parse_float=parse_float, parse_constant=text.refuse)
        array = text.next() == "["
        if array:
            text.at += 1
        first = True
        while (mark := text.next()) and not (array and mark == "]"):
            if array and not first:
                if mark != ",":
                    raise text.error("expected a comma or a bracket")
                text.at += 1
                text.next()
            line = text.line()
            yield text.value(decoder), line
            first = False
        if array:
            if not mark:
                raise text.error("the array is not closed: is the file cut off?")
            text.at += 1
            if text.next():
                raise text.error("something follows the array")


class _Text:
    """A window on the text of a file that moves on as values are taken."""

    def __init__(self, path: Path, stream: IO[bytes], encoding: str) -> None:
        self.at = 0
        self._path, self._stream = path, stream
        self._decoder = codecs.getincrementaldecoder(
            "utf-8-sig" if encoding in ("utf-8", "utf8") else encoding
        )()
        self._buffer = ""
        self._lines = 1  # of the place up to which lines are counted
        self._counted = 0
        self._ended = False

    def next(self) -> str:
        """Pass over blanks; the character that follows, empty at the end."""
        while True:
            found = _BLANK.match(self._buffer, self.at)
            assert found is not None
            self.at = found.end()
            if self.at < len(self._buffer):
                return self._buffer[self.at]
            if not self._more():
                return ""

    def value(self, decoder: json.JSONDecoder) -> Any:
        """Take the value that begins here."""
        while True:
            try:
                value, end = decoder.raw_decode(self._buffer, self.at)
            except json.JSONDecodeError as error:
                if self._more():
                    continue
                self.at = min(error.pos, len(self._buffer))
                raise self.error(error.msg.lower()) from error
            except RecursionError as error:
                raise self.error("nested too deeply") from error
            if end == len(self._buffer) and self._more():
                continue  # a number may go on
            self.at = end
            return value

    def line(self) -> int:
        """Line of the place where we are."""
        self._lines += self._buffer.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._lines

    def refuse(self, word: str) -> None:
        """Refuse ``NaN`` and ``Infinity``, which are no values of JSON."""
        raise self.error(f"{word} is no value of JSON")

    def error(self, message: str) -> DataError:
        """Build the error that points here."""
        hint = "is the file whole, and JSON? format= says what else it is"
        return DataError(str(self._path), f"no JSON: {message}", self.line(), hint=hint)

    def _more(self) -> bool:
        """Move the window on by a block, or by as much as it holds if a value is larger."""
        if self._ended:
            return False
        block = read_block(self._path, self._stream, max(BLOCK, len(self._buffer) - self.at))
        self._ended = not block
        try:
            text = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            raise DataError(
                str(self._path),
                f"a byte is not {error.encoding.upper()} text",
                self.line() + self._buffer.count("\n", self.at),
                hint="if the file is Latin-1, say encoding=latin-1",
            ) from error
        self.line()
        self._buffer = self._buffer[self.at :] + text
        self.at = self._counted = 0
        return True
