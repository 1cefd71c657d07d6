"""Values of JSON text, one by one, from blocks: no more of the file is held than the value at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from kgreason import memory

_BLANK = re.compile(r"[ \t\n\r]*")
_ENDED = (str, list, dict)  # values that tell by themselves where they end
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DEEPEST = 200  # levels of a value
_LONG = 1 << 21  # characters of a value that is long
_BYTES = 32  # that a character may take: two make an empty list
_LEAST = 64  # characters behind a number that tell where it ends


class _NoNumber(ValueError):
    """``NaN``, ``Infinity`` or an integer that Python refuses to read; says so."""


class Malformed(ValueError):
    """Text that is no JSON, with its line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def _refused(name: str) -> None:
    raise _NoNumber(f"{name} is no value of JSON")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python reads no longer ones
        raise _NoNumber(f"an integer of {len(text):,} digits is not read") from None


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than functions that call themselves can follow."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [
            part.values() if isinstance(part, dict) else part
            for part in level
            if isinstance(part, list | dict)
        ]
        level = [inner for part in parts for inner in part]
    return bool(level)


class Scanner:
    """Reads values from blocks of text.

    Parameters
    ----------
    parse_float
        Makes a number of its text, as in :func:`json.loads`.

    Examples
    --------
    >>> scan = Scanner(iter(['[1, {"a"', ': 2}]']))
    >>> scan.take("["), scan.value(), scan.take(","), scan.value(), scan.take("]"), scan.ended()
    (True, 1, True, {'a': 2}, True, True)
    """

    def __init__(self, blocks: Iterator[str], parse_float: Callable[[str], Any] | None = None) -> None:
        self._blocks, self._more = blocks, True
        self._text, self._at = "", 0
        self._known, self._line = 0, 1  # place whose line is known, and that line
        self._decoder = json.JSONDecoder(parse_float=parse_float, parse_int=_integer, parse_constant=_refused)

    @property
    def line(self) -> int:
        """Line of the next character that is no blank."""
        self._skip()
        self._line += self._text.count("\n", self._known, self._at)
        self._known = self._at
        return self._line

    def ended(self) -> bool:
        """Whether nothing but blanks is left."""
        self._skip()
        return self._at == len(self._text)

    def next(self) -> str:
        """The next character that is no blank; nothing at the end."""
        self._skip()
        return self._text[self._at : self._at + 1]

    def take(self, mark: str) -> bool:
        """Take a character if it comes next, blanks aside."""
        found = self.next() == mark
        self._at += found
        return found

    def value(self) -> Any:
        """Take a value.

        Raises
        ------
        Malformed
            If there is none.
        """
        self._skip()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._read():
                    raise self.wrong(error.msg.lower(), error.pos) from error
                continue
            except _NoNumber as error:
                raise self.wrong(str(error)) from error
            except RecursionError as error:
                raise self.wrong("nested too deeply") from error
            if sum(self._text.count(mark, self._at, end) for mark in "[{") > _DEEPEST and _too_deep(found):
                raise self.wrong("nested too deeply")
            if _SURROGATE.search(self._text, self._at, end) and not _encodable(found):
                raise self.wrong("a text holds half of a surrogate pair, which is no letter")
            if len(self._text) - end < _LEAST and not isinstance(found, _ENDED) and self._read():
                continue  # a number may go on in the next block
            self._at = end
            return found

    def wrong(self, message: str, at: int | None = None) -> Malformed:
        """Build the error of the place that comes next."""
        place = self._at if at is None else at
        return Malformed(message, self._line + self._text.count("\n", self._known, place))

    def _skip(self) -> None:
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            if self._at < len(self._text) or not self._read():
                return

    def _read(self) -> bool:
        """Read on; what is done is dropped. Values that are longer than a block take as many as double its length."""
        if not self._more:
            return False
        wanted, read = max(1, len(self._text) - self._at), list[str]()
        while sum(map(len, read)) < wanted and self._more:
            block = next(self._blocks, None)
            self._more = block is not None
            read.append(block or "")
        if not any(read):
            return False
        self._line += self._text.count("\n", self._known, self._at)
        if wanted > _LONG:
            memory.claim(_BYTES * 2 * wanted)
        self._text, self._at, self._known = "".join([self._text[self._at :], *read]), 0, 0
        return True
