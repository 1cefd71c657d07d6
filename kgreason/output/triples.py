"""Facts as RDF; needs the package pyoxigraph.

``p(a, b)`` is the triple ``<base a> <base p> <base b>``, ``p(a)`` says that a is of class ``<base p>``. Facts with more
arguments are nodes of their own, of class ``<base p>``: an edge with a weight has a source, a target and a weight,
others arg1, arg2 and so on (docs/data.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from kgreason.engine.table import Facts, Kind, Table
from kgreason.errors import DataError
from kgreason.graph.io.rdffacts import BASE, ENDS, LABEL, TYPE
from kgreason.graph.io.rdfterms import XSD
from kgreason.graph.io.sql import extra
from kgreason.graph.io.values import text
from kgreason.lang.values import Null, Value
from kgreason.output.target import Target

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
        self._labelled: set[str] = set()
        self._labels: list[tuple[Any, str]] = []
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
        local = quote(words, safe="")
        node = self.name(local)
        if local != words and words not in self._labelled:
            self._labelled.add(words)
            self._labels.append((node, words))
        return node

    def labels(self) -> list[tuple[Any, str]]:
        """Nodes that were named since, and whose IRIs do not show their names as they are."""
        new, self._labels = self._labels, []
        return new

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
    """The triples of a fact follow each other, so that they can be read one fact at a time."""
    triple, kind, table = terms.rdf.Triple, terms.rdf.NamedNode(TYPE), facts.tables[predicate]
    name, label = terms.name(predicate), terms.rdf.NamedNode(LABEL)
    places = [terms.rdf.NamedNode(BASE + place) for place in _places(table)]
    for number, row in enumerate(facts.rows(predicate), 1):
        if table.arity == 1:
            yield triple(terms.node(row[0]), kind, name)
        elif table.arity == 2:
            yield triple(terms.node(row[0]), name, terms.object(row[1], 1))
        else:
            fact = terms.rdf.BlankNode(f"{predicate}{number}")
            yield triple(fact, kind, name)
            for place, value in enumerate(row):
                yield triple(fact, places[place], terms.object(value, place))
        for node, words in terms.labels():
            yield triple(node, label, terms.rdf.Literal(words))


def _places(table: Table) -> Sequence[str]:
    """Names of the arguments; those of an edge with a weight are what a reader would look for."""
    numbers = table.arity == 3 and table.kinds[2] in (Kind.INT, Kind.DOUBLE)
    if numbers and all(kind not in (Kind.INT, Kind.DOUBLE, Kind.BOOL, Kind.DATE) for kind in table.kinds[:2]):
        return ENDS
    return [f"arg{place + 1}" for place in range(table.arity)]
