"""RDF in N-Triples, Turtle or RDF/XML; needs the package pyoxigraph.

References
----------
World Wide Web Consortium: RDF 1.1 Concepts and Abstract Syntax, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgreason import memory
from kgreason.errors import DataError
from kgreason.graph.io.damaged import UNPACKING
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw, open_bytes
from kgreason.graph.io.rdffacts import BASE, ENDS, LABEL, TYPE, Nodes, Scattered, place_of
from kgreason.graph.io.rdfterms import Names, Terms
from kgreason.graph.io.sql import extra
from kgreason.graph.io.values import CastError
from kgreason.lang.names import suggest

_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".rdf": "RDF_XML", ".owl": "RDF_XML", ".xml": "RDF_XML"}
_OTHER = "is it of another format? N-Triples end in .nt, Turtle in .ttl, RDF/XML in .rdf"
_TITLES = ("subject", "predicate", "object")


class _Several(Exception):
    """The file holds more than one relation of kgreason."""


def read_rdf(path: Path, options: Options) -> Raw:
    """Read triples as rows (subject, predicate, object).

    With `predicate` the rows are its pairs, or the facts of the class of that name; with `category` the members of a
    class, or its facts. A file that holds one relation as kgreason writes it needs neither. IRIs are strings,
    shortened as `base` and `strip` say; blank nodes are strings such as ``_:x``; literals are typed.
    """
    found, note = _own(path, options)
    if note:
        try:
            return replace(_read(path, found, alone=True), notes=(note,))
        except _Several:
            pass
    return _read(path, options, alone=False)


def _read(path: Path, options: Options, *, alone: bool) -> Raw:
    try:
        return _Reader(path, options, alone=alone, scattered=False).read()
    except Scattered:
        return _Reader(path, options, alone=alone, scattered=True).read()


def _own(path: Path, options: Options) -> tuple[Options, str]:
    """The relation that the first triple is of, if kgreason wrote it, and what to say of it."""
    if (options.predicate, options.category, options.base, options.strip) != (None, None, None, False):
        return options, ""
    for triple in _triples(path, None):
        type = triple.predicate.value == TYPE
        iri = triple.object.value if type and hasattr(triple.object, "value") else triple.predicate.value
        if not iri.startswith(BASE) or place_of(iri, None):
            break
        found = replace(options, base=BASE, **{"category" if type else "predicate": iri})
        name = iri.removeprefix(BASE)
        what = f"class={name}" if type else f"predicate={name}"
        return (
            found,
            f"{path}: read as kgreason writes {name} (base={BASE}&{what}); base= alone reads all triples",
        )
    return options, ""


def _triples(path: Path, base: str | None) -> Iterator[Any]:
    """Triples of a file, one by one.

    Raises
    ------
    DataError
        If it is not of its format.
    """
    oxigraph = extra("pyoxigraph", "rdf", path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    format = getattr(oxigraph.RdfFormat, _FORMATS.get(suffix, "TURTLE"))
    with open_bytes(path) as stream:
        try:
            yield from oxigraph.parse(stream, format=format, base_iri=base)
        except SyntaxError as error:
            reason = re.sub(r"^Parser error at .*?: ", "", str(error.args[0]))
            raise DataError(str(path), f"no {format.name}: {reason}", error.lineno, hint=_OTHER) from error
        except (*UNPACKING, memory.Exhausted):
            raise  # the same words as for all formats
        except MemoryError as error:  # of the parser, which takes so much for the rest of a file
            hint = "is a quotation mark or a bracket left open?"
            raise DataError(str(path), "a term is longer than 16 MB", hint=hint) from error
        except (OSError, ValueError) as error:
            raise DataError(str(path), f"cannot be read as {format.name}: {error}", hint=_OTHER) from error


class _Reader:
    """Reads one relation of a file, or all triples."""

    def __init__(self, path: Path, options: Options, *, alone: bool, scattered: bool) -> None:
        self._path, self._options, self._alone = path, options, alone
        self._names = Names(str(path), options)
        self._all = options.predicate is None and options.category is None
        self._columns = [Terms(self._names) for _ in _TITLES]
        self._facts = Nodes(str(path), self._names, scattered=scattered)
        self._labels = _Labels(options, self._names)
        self._places: dict[str, str | None] = {}
        self._wanted: dict[tuple[str | None, str], bool] = {}

    def read(self) -> Raw:
        """Read the file."""
        for triple in _triples(self._path, self._options.base):
            memory.look()
            self._labels.add(triple)
            try:
                self._add(triple)
            except CastError as error:
                raise self._error(error, "object" if len(self._columns[0]) else None) from error
        try:
            places = {} if self._all else self._facts.end()
        except CastError as error:
            raise self._error(error) from error
        return self._table(places)

    def _add(self, triple: Any) -> None:
        predicate = triple.predicate.value
        if self._all:
            for column, term in zip(self._columns, triple, strict=False):
                column.add(term)
            return
        self._facts.of(triple.subject)
        if predicate not in self._places:
            self._places[predicate] = place_of(predicate, self._options.base)
        if predicate == TYPE:
            name = self._options.category or self._options.predicate
            member = self._is(name, getattr(triple.object, "value", ""))
            self._several(not member)
            self._facts.member(member)
        elif (place := self._places[predicate]) is not None:
            self._facts.argument(place, triple.object)
        elif self._is(self._options.predicate, predicate):
            for number in (0, 2):
                self._columns[number].add(triple[number])
        else:
            self._several(predicate != LABEL)

    def _several(self, other: bool) -> None:
        if other and self._alone:
            raise _Several

    def _is(self, wanted: str | None, iri: str) -> bool:
        """Whether an IRI is the one that is named, in full or shortened."""
        found = self._wanted.get((wanted, iri))
        if found is None:
            found = wanted is not None and (wanted == iri or wanted == self._names.bare(iri))
            if found:
                self._names.short(iri)
            self._wanted[wanted, iri] = found
        return found

    def _table(self, places: Mapping[str, Terms]) -> Raw:
        if self._all:
            return self._raw(dict(zip(_TITLES, self._columns, strict=True)))
        if places:
            if len(self._columns[0]):
                raise DataError(
                    str(self._path),
                    f"{self._options.predicate} stands both between pairs and over facts of its class",
                    hint="class= reads the facts alone",
                )
            return self._raw(places, tuple(place for place in places if place != "weight"))
        if self._options.category is not None:
            return self._raw({"subject": self._facts.members})
        if not len(self._columns[0]) and self._wanted:
            known = [self._names.bare(iri) for _, iri in self._wanted if iri != TYPE]
            raise self._no_predicate(list(dict.fromkeys(known)))
        return self._raw({"subject": self._columns[0], "object": self._columns[2]})

    def _raw(self, columns: Mapping[str, Terms], ends: Sequence[str] = ("subject", "object")) -> Raw:
        found = []
        labels = self._labels.chosen(
            {iri: 0 for title in ends if title in columns for iri in columns[title].iris}
        )
        for title, terms in columns.items():
            try:
                found.append(terms.column(labels if title in ends else None))
            except CastError as error:
                raise self._error(error, title) from error
        graph = tuple(columns)[:2] == ENDS[:2]
        return Raw(
            str(self._path),
            tuple(columns),
            tuple(found),
            lambda _: None,
            named=False,
            typed=True,
            graph=graph,
        )

    def _error(self, error: CastError, title: str | None = None) -> DataError:
        hint = "mend the literal, or leave out its type: it is text then"
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        return DataError(str(self._path), message, column=title, hint=error.hint or hint)

    def _no_predicate(self, known: list[str]) -> DataError:
        predicate = str(self._options.predicate)
        near = suggest(predicate, known)
        means = f"did you mean {near!r}? " if near else ""
        return DataError(
            str(self._path),
            f"no triple has the predicate {predicate!r}",
            hint=f"{means}there are {', '.join(known[:10]) or 'none'}",
        )


class _Labels:
    """Names of vertices that a property gives; of several the one without a language, else English, else the first."""

    def __init__(self, options: Options, names: Names) -> None:
        self._wanted = None if options.names == "id" else options.names
        self._names = names
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, triple: Any) -> None:
        """Look whether a triple names its subject."""
        if self._wanted is None:
            return
        iri = triple.predicate.value
        full = LABEL if self._wanted == "label" else self._wanted
        if full not in (iri, self._names.bare(iri)) or not hasattr(triple.object, "datatype"):
            return
        subject = triple.subject
        if not hasattr(subject, "value") or type(subject).__name__ != "NamedNode":
            return
        tongue = triple.object.language
        rank = 0 if tongue is None else 1 if tongue.partition("-")[0] == "en" else 2
        before = self._found.get(subject.value)
        if before is None or rank < before[0]:
            self._found[subject.value] = rank, triple.object.value

    def chosen(self, iris: Iterable[str]) -> dict[str, str]:
        """Names by IRI, of some vertices.

        Raises
        ------
        DataError
            If none has a name, or two would have the same.
        """
        if self._wanted is None:
            return {}
        labels = {iri: self._found[iri][1] for iri in iris if iri in self._found}
        if not labels:
            file, what = self._names.file, f"no vertex has a name by {self._wanted!r}"
            raise DataError(file, what, hint="leave out names=, or name a property of the vertices")
        taken: dict[str, str] = {}
        for iri in iris:
            name = labels.get(iri) or self._names.short(iri)
            other = taken.setdefault(name, iri)
            if other != iri:
                hint = "leave out names=, or give each vertex a name of its own"
                raise DataError(self._names.file, f"<{other}> and <{iri}> would both be {name!r}", hint=hint)
        return labels
