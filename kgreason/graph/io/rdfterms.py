"""Terms of RDF as values: IRIs and blank nodes are strings, literals are typed.

References
----------
World Wide Web Consortium: RDF 1.1 Concepts and Abstract Syntax, 2014.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import numpy as np

from kgreason import memory
from kgreason.arrays import as_arrow
from kgreason.errors import DataError
from kgreason.graph.io.cast import claim_texts
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column
from kgreason.graph.io.values import CastError, arrow_column

XSD = "http://www.w3.org/2001/XMLSchema#"

_MANY = 1 << 16
_BYTES = 200  # that a term takes, about
_INTEGERS = frozenset(
    {"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"}
    | {"negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"}
)


class Names:
    """Shortens IRIs, and sees that two do not become one."""

    def __init__(self, file: str, options: Options) -> None:
        self.file, self.base, self.strip = file, options.base, options.strip
        self._full: dict[str, str] = {}
        self._short: dict[str, str] = {}

    def short(self, iri: str) -> str:
        """Name of an IRI.

        Raises
        ------
        DataError
            If another IRI has that name.
        """
        found = self._short.get(iri)
        if found is None:
            found = self._short[iri] = self._shorten(iri)
            other = self._full.setdefault(found, iri)
            if other != iri:
                raise DataError(
                    self.file,
                    f"<{other}> and <{iri}> would both be {found!r}",
                    hint="shorten names by base= alone" if self.strip else "leave out base=",
                )
        return found

    def bare(self, iri: str) -> str:
        """Name of an IRI that is no value: another may have it, too."""
        return self._short.get(iri) or self._shorten(iri)

    def _shorten(self, iri: str) -> str:
        if self.base and iri.startswith(self.base):
            return unquote(iri[len(self.base) :])
        if self.strip:
            return unquote(re.split(r"[#/]", iri.rstrip("#/"))[-1]) or iri
        return iri


class Terms:
    """A column in the making: each term is kept once, and a double as eight bytes."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._codes = array("q")
        self._numbers = array("d")
        self._known: dict[object, int] = {}
        self._values: list[object] = []
        self._iris: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, term: Any) -> None:
        """Take the term of the next row.

        Raises
        ------
        CastError
            If a literal is not of its type.
        """
        kind = type(term).__name__
        if kind == "NamedNode":
            code = self._known.get(term.value)
            if code is None:
                code = self._new(term.value, self._names.short(term.value))
                self._iris[code] = term.value
        elif kind == "Literal":
            value = literal(term.value, term.datatype.value, len(self))
            if type(value) is float:
                code = -1 - len(self._numbers)
                self._numbers.append(value)
            else:
                key = (type(value), value)
                code = self._known[key] if key in self._known else self._new(key, value)
        elif kind == "BlankNode":
            name = f"_:{term.value}"
            code = self._known[name] if name in self._known else self._new(name, name)
        else:
            raise CastError(len(self), str(term), "an IRI, a blank node or a literal")
        self._codes.append(code)

    @property
    def iris(self) -> Iterable[str]:
        """All IRIs, each once."""
        return self._iris.values()

    def _new(self, key: object, value: object) -> int:
        code = self._known[key] = len(self._values)
        if code % _MANY == 0:
            memory.claim(_MANY * _BYTES)
        self._values.append(value)
        return code

    def column(self, labels: Mapping[str, str] | None = None) -> Column:
        """The column.

        Parameters
        ----------
        labels
            Names of vertices by IRI, to take in place of it.

        Raises
        ------
        CastError
            If a value is none of the language.
        """
        codes, numbers = np.array(self._codes, dtype=np.int64), np.array(self._numbers, dtype=np.float64)
        values = list(self._values)
        for code, iri in self._iris.items() if labels else ():
            values[code] = labels.get(iri, values[code]) if labels else values[code]
        if len(numbers) == len(codes) and np.isfinite(numbers).all():
            import pyarrow as pa

            return pa.array(numbers + 0.0, pa.float64())  # no zero has a sign
        if len(numbers):
            return arrow_column([values[c] if c >= 0 else float(numbers[-1 - c]) for c in codes.tolist()])
        try:
            column, places = arrow_column(values), as_arrow(codes)
            claim_texts(column, places)
            return column.take(places)
        except CastError as error:
            error.row = int(np.argmax(codes == error.row))
            raise


def literal(text: str, datatype: str, row: int) -> object:
    """Value of a literal; of a type that the language does not have, its text.

    Raises
    ------
    CastError
        If the text is not of the type.
    """
    name = datatype.removeprefix(XSD) if datatype.startswith(XSD) else ""
    convert = int if name in _INTEGERS else _CONVERSIONS.get(name)
    if convert is None:
        return text
    try:
        return convert(text.strip())
    except (ValueError, KeyError):
        raise CastError(row, repr(text), f"of type xsd:{name}") from None


def _date(text: str) -> datetime:
    """A date; with a time zone, the time in UTC (which `arrow_column` makes of it)."""
    return datetime.fromisoformat(re.sub(r"^(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)$", r"\1", text))


_CONVERSIONS: dict[str, Callable[[str], object]] = {
    "decimal": float,
    "double": lambda text: float(text.replace("INF", "inf")),
    "float": lambda text: float(text.replace("INF", "inf")),
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text],
    "date": _date,
    "dateTime": _date,
    "dateTimeStamp": _date,
}
