"""Facts as RDF; needs the package pyoxigraph.

``p(a, b)`` is the triple ``<base a> <base p> <base b>``, ``p(a)`` says that a is of class ``<base p>``. Facts with more
arguments are nodes of their own, of class ``<base p>``, with the arguments as ``<base arg1>``, ``<base arg2>``
and so on (docs/data.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from kgreason.engine.table import Facts
from kgreason.errors import DataError
from kgreason.graph.io.rdf import TYPE, XSD
from kgreason.graph.io.sql import extra
from kgreason.graph.io.values import text
from kgreason.lang.values import Null, Value
from kgreason.output.target import Target

BASE = "urn:kgreason:"

_ABSOLUTE = re.compile(r"""[a-z][a-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`]+""", re.ASCII)
_BLANK = re.compile(r"_:([A-Za-z0-9_]+)", re.ASCII)


def write_rdf(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write Turtle if the file is called ``.ttl``, else N-Triples.

    Raises
    ------
    DataError
        If pyoxigraph is missing, or an option does not fit.
    """
    oxigraph = extra("pyoxigraph", "rdf", target.path)
    terms = _Terms(oxigraph, target, names)
    format = (
        oxigraph.RdfFormat.TURTLE if target.path.suffix.lower() == ".ttl" else oxigraph.RdfFormat.N_TRIPLES
    )
    oxigraph.serialize(_triples(facts, predicate, terms), str(path), format=format)


class _Terms:
    """Makes RDF terms of values."""

    def __init__(self, oxigraph: ModuleType, target: Target, names: Sequence[str]) -> None:
        self.rdf, self.base = oxigraph, target.options.get("base", BASE)
        if not _ABSOLUTE.fullmatch(self.base):
            raise DataError(
                str(target.path),
                f"option base cannot be {self.base!r}",
                hint="for instance base=http://example.org/",
            )
        given = [c.strip() for c in target.options.get("literals", "").split(",") if c.strip()]
        places = {name: i for i, name in enumerate(names)} | {str(i + 1): i for i in range(len(names))}
        for column in given:
            if column not in places:
                raise DataError(
                    str(target.path),
                    f"there is no column {column!r}",
                    hint=f"the columns are {', '.join(names)}",
                )
        self.literals = frozenset(places[c] for c in given)

    def node(self, value: Value) -> Any:
        """IRI or blank node; a name that is no IRI follows the base."""
        if isinstance(value, Null):
            return self.rdf.BlankNode(f"n{value.number}")
        words = text(value)
        blank = _BLANK.fullmatch(words)
        if blank:
            return self.rdf.BlankNode(blank[1])
        if _ABSOLUTE.fullmatch(words) and not words.startswith(self.base):
            try:
                return self.rdf.NamedNode(words)
            except ValueError:
                pass  # it has the look of an IRI only
        return self.name(quote(words, safe=""))

    def name(self, local: str) -> Any:
        """IRI of the vocabulary."""
        return self.rdf.NamedNode(self.base + local)

    def object(self, value: Value, place: int) -> Any:
        """Literal of a number, truth value, date, list or set, or of a column of literals; else a node."""
        if isinstance(value, str) and place in self.literals:
            return self.rdf.Literal(value)
        if isinstance(value, (str, Null)):
            return self.node(value)
        if isinstance(value, datetime):
            return self._typed(value.isoformat(), "dateTime")
        if isinstance(value, bool):
            return self._typed(text(value), "boolean")
        if isinstance(value, int):
            return self._typed(str(value), "integer")
        if isinstance(value, float):
            return self._typed(repr(value), "double")
        return self.rdf.Literal(text(value))

    def _typed(self, words: str, type: str) -> Any:
        return self.rdf.Literal(words, datatype=self.rdf.NamedNode(XSD + type))


def _triples(facts: Facts, predicate: str, terms: _Terms) -> Iterator[Any]:
    triple, kind, arity = terms.rdf.Triple, terms.rdf.NamedNode(TYPE), facts.tables[predicate].arity
    name = terms.name(predicate)
    for number, row in enumerate(facts.rows(predicate), 1):
        if arity == 1:
            yield triple(terms.node(row[0]), kind, name)
        elif arity == 2:
            yield triple(terms.node(row[0]), name, terms.object(row[1], 1))
        else:
            fact = terms.rdf.BlankNode(f"{predicate}{number}")
            yield triple(fact, kind, name)
            for place, value in enumerate(row):
                yield triple(fact, terms.name(f"arg{place + 1}"), terms.object(value, place))
