"""Values of a JSON file one by one, without the whole of it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.jsonscan import Malformed, Scanner
from kgreason.graph.io.raw import texts

BLOCK = 1 << 20
HINT = "is the file whole, and JSON? format= says what else it is"


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
    scan = Scanner(texts(path, encoding, BLOCK), parse_float)
    try:
        yield from _elements(scan) if scan.take("[") else _following(scan)
    except Malformed as error:
        raise DataError(str(path), f"no JSON: {error.message}", error.line, hint=HINT) from error


def _following(scan: Scanner) -> Iterator[tuple[Any, int]]:
    while not scan.ended():
        line = scan.line
        yield scan.value(), line


def _elements(scan: Scanner) -> Iterator[tuple[Any, int]]:
    first = True
    while not scan.take("]"):
        if scan.ended():
            raise scan.wrong("the array is not closed: is the file cut off?")
        if not first and not scan.take(","):
            raise scan.wrong("expected a comma or a bracket")
        line = scan.line
        yield scan.value(), line
        first = False
    if not scan.ended():
        raise scan.wrong("something follows the array")
