"""RDF in N-Triples, Turtle or RDF/XML; needs the package pyoxigraph.

References
----------
World Wide Web Consortium: RDF 1.1 Concepts and Abstract Syntax, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kgreason.errors import DataError
from kgreason.graph.io.gathered import PIECE, Gathered
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, open_bytes
from kgreason.graph.io.sql import extra
from kgreason.graph.io.values import CastError, arrow_column
from kgreason.lang.names import suggest

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"

_TITLES = ("subject", "predicate", "object")
_INTEGERS = frozenset(
    {"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"}
    | {"negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"}
)
_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".rdf": "RDF_XML", ".owl": "RDF_XML", ".xml": "RDF_XML"}


def read_rdf(path: Path, options: Options) -> Raw:
    """Read triples as rows (subject, predicate, object).

    With `predicate` the rows are its pairs, with `category` the members of a class, one column. IRIs are strings,
    shortened as `base` and `strip` say; blank nodes are strings such as ``_:x``; literals are typed.
    """
    oxigraph = extra("pyoxigraph", "rdf", path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    format = getattr(oxigraph.RdfFormat, _FORMATS.get(suffix, "TURTLE"))
    names = _Names(str(path), options)
    rows = _Rows(str(path), options, names)
    seen: dict[str, None] = {}
    with open_bytes(path) as stream:
        try:
            for triple in oxigraph.parse(stream, format=format, base_iri=options.base):
                seen.setdefault(triple.predicate.value)
                if _wanted(triple, options, names):
                    rows.add(triple)
        except SyntaxError as error:
            raise DataError(
                str(path),
                f"no {format.name}: {_reason(error)}",
                error.lineno,
                hint="is it of another format? N-Triples end in .nt, Turtle in .ttl, RDF/XML in .rdf",
            ) from error
        except (OSError, ValueError) as error:
            raise DataError(
                str(path),
                f"cannot be read as {format.name}: {error}",
                hint="is it of another format? N-Triples end in .nt, Turtle in .ttl, RDF/XML in .rdf",
            ) from error
    raw = rows.raw()
    if options.predicate is not None and not len(raw) and seen:
        raise _no_predicate(str(path), options.predicate, [names.short(p) for p in seen])
    return raw


def _reason(error: SyntaxError) -> str:
    return re.sub(r"^Parser error at .*?: ", "", str(error.args[0]))


class _Names:
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

    def _shorten(self, iri: str) -> str:
        if self.base and iri.startswith(self.base):
            return unquote(iri[len(self.base) :])
        if self.strip:
            return unquote(re.split(r"[#/]", iri.rstrip("#/"))[-1]) or iri
        return iri


def _wanted(triple: Any, options: Options, names: _Names) -> bool:
    predicate = triple.predicate.value
    if options.category is not None:
        value = triple.object.value
        return predicate == TYPE and options.category in (value, names.short(value))
    return options.predicate is None or options.predicate in (predicate, names.short(predicate))


def _no_predicate(file: str, predicate: str, known: list[str]) -> DataError:
    near = suggest(predicate, known)
    means = f"did you mean {near!r}? " if near else ""
    return DataError(
        file,
        f"no triple has the predicate {predicate!r}",
        hint=f"{means}there are {', '.join(known[:10]) or 'none'}",
    )


class _Rows:
    """Takes triples one by one, and keeps the terms that are wanted column by column."""

    def __init__(self, file: str, options: Options, names: _Names) -> None:
        self._names = names
        wanted = (0,) if options.category is not None else (0, 1, 2) if options.predicate is None else (0, 2)
        self._places = {place: Gathered() for place in wanted}
        self._last: list[Any] = []
        self._empty = Raw(file, tuple(_TITLES[p] for p in wanted), (), lambda _: None, named=False)

    def add(self, triple: Any) -> None:
        """Take a triple."""
        self._last.append(triple)
        if len(self._last) == PIECE:
            self._flush()

    def raw(self) -> Raw:
        """The table of all triples."""
        self._flush()
        columns = [
            self._checked(place, column.whole) if len(column) else arrow_column([])
            for place, column in self._places.items()
        ]
        return replace(self._empty, columns=tuple(columns), typed=True)

    def _flush(self) -> None:
        for place, column in self._places.items():
            terms = [getattr(triple, _TITLES[place]) for triple in self._last]
            column.add(self._checked(place, partial(self._values, terms, len(column))))
        self._last = []

    def _checked(self, place: int, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except CastError as error:
            raise self._empty.error(
                error.row, f"{error.value} is not {error.expected}", _TITLES[place]
            ) from error

    def _values(self, terms: Sequence[Any], before: int) -> list[object]:
        return [self._value(term, row) for row, term in enumerate(terms, before)]

    def _value(self, term: Any, row: int) -> object:
        kind = type(term).__name__
        if kind == "NamedNode":
            return self._names.short(term.value)
        if kind == "BlankNode":
            return f"_:{term.value}"
        if kind == "Literal":
            return literal(term.value, term.datatype.value, row)
        raise CastError(row, str(term)[:60], "an IRI, a blank node or a literal")


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
