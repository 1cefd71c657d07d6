"""RDF in N-Triples, Turtle or RDF/XML, read and written with pyoxigraph.

``p(a, b)`` is the triple ``<base a> <base p> <base b>``; ``p(a)`` states that a has class ``<base p>``. Facts with more
arguments are nodes of class ``<base p>``: a weighted edge has the properties source, target and weight, other facts
arg1, arg2 etc. (docs/reference/formats.md).

References
----------
World Wide Web Consortium: RDF 1.1 Concepts and Abstract Syntax, 2014.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import as_arrow, as_numpy, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.formats.sql import extra
from kgreason.data.raw_table import UNPACKING, Column, Raw, open_bytes
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.text_conversion import claim_texts
from kgreason.data.value_conversion import BATCH, CastError, Objects, arrow_column, text
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.language.values import Null, Value
from kgreason.language.vocabulary import suggest

BASE = "urn:kgreason:"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_ENDS = ("source", "target", "weight")
_ARGUMENT = re.compile(r"arg([1-9][0-9]*)", re.ASCII)
_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".rdf": "RDF_XML", ".owl": "RDF_XML", ".xml": "RDF_XML"}
_OTHER = "is it of another format? N-Triples end in .nt, Turtle in .ttl, RDF/XML in .rdf"
_NODE = ("", None)  # marks IRIs and blank nodes, in place of datatype and language
_BYTES = 200  # approximate bytes of a distinct term

Rows = npt.NDArray[np.signedinteger[Any]]


def _double(words: str) -> float:
    return float(words.replace("INF", "inf"))


def _date(words: str) -> datetime:
    """Parse a date; a time with a time zone is converted to UTC (later, by `arrow_column`)."""
    return datetime.fromisoformat(re.sub(r"^(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)$", r"\1", words))


_CONVERSIONS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("decimal", "double", "float"), _double),
    **dict.fromkeys(("date", "dateTime", "dateTimeStamp"), _date),
    **dict.fromkeys(("integer", "int", "long", "short", "byte"), int),
    **dict.fromkeys(("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"), int),
    **dict.fromkeys(("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"), int),
    "boolean": lambda words: {"true": True, "1": True, "false": False, "0": False}[words],
}
"""What makes values of the literals of a type of XML Schema; those of other types are text."""


def read_rdf(path: Path, options: Options) -> Raw:
    """Read triples as rows (subject, predicate, object).

    With `predicate`, the rows are the pairs of this predicate, or the facts of the class of that name; with `category`,
    the members of a class, or its facts. Neither is needed for a file with one relation written by kgreason. IRIs are
    strings, shortened by `base` and `strip`; blank nodes are strings such as ``_:x``; literals are typed.

    Files of kgreason with the default base (``urn:kgreason:``) and one relation need no options; others need `base` and
    `predicate`. Triples grouped by fact need less memory. Facts without all arguments are errors.

    In other files, ``names=label`` names the ends of edges by ``rdfs:label``: without language, else English, else the
    first. Any property is possible. Vertices without it keep their IRIs; equal names of two vertices are an error.
    """
    chosen = (options.predicate, options.category, options.base, options.strip) != (None, None, None, False)
    own = None if chosen else _own(path, options)
    if own is not None:
        reader = _Reader(path, own)
        if reader.single():
            name = (own.predicate or own.category or "").removeprefix(BASE)
            given = f"base={BASE}&{'predicate' if own.predicate else 'class'}={name}"
            note = f"{path}: read as kgreason writes {name} ({given}); base= alone reads all triples"
            return replace(reader.relation(), notes=(note,))
    reader = _Reader(path, options)
    return reader.everything() if reader.all else reader.relation()


def _own(path: Path, options: Options) -> Options | None:
    """Options that select the relation of the first triple, if kgreason wrote the file."""
    for triple in islice(_triples(path, None), 1):
        type = triple.predicate.value == _TYPE
        iri = getattr(triple.object, "value", "") if type else triple.predicate.value
        if iri.startswith(BASE) and not _argument(iri, None):
            given = replace(options, base=BASE)
            return replace(given, category=iri) if type else replace(given, predicate=iri)
    return None


def _triples(path: Path, base: str | None) -> Iterator[Any]:
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
            raise  # already a message common to all formats
        except MemoryError as error:  # raised by the parser if an unclosed term spans the rest of the file
            hint = "is a quotation mark or a bracket left open?"
            raise DataError(str(path), "a term is longer than 16 MB", hint=hint) from error
        except (OSError, ValueError) as error:
            raise DataError(str(path), f"cannot be read as {format.name}: {error}", hint=_OTHER) from error


def _argument(iri: str, base: str | None) -> str | None:
    """Argument name of a property; `None` if it is not one."""
    for start in {BASE, base or BASE}:
        name = iri[len(start) :] if iri.startswith(start) else ""
        if name in _ENDS or _ARGUMENT.fullmatch(name):
            return name
    return None


class _Reader:
    """Triples of a file as columns, from which tables are built."""

    def __init__(self, path: Path, options: Options) -> None:
        self._file, self._options = str(path), options
        self._full: dict[str, str] = {}  # IRIs by short name
        self.all = options.predicate is None and options.category is None
        self._predicates: dict[str, int] = {}
        self._kinds: dict[tuple[str, str | None], int] = {_NODE: 0}
        cells: tuple[list[str], list[str]] = ([], [])
        chunks: tuple[list[Column], list[Column]] = ([], [])
        predicates, kinds = array("i"), array("i")
        taken: dict[str, bool] = {}

        def flush() -> None:
            for words, made in zip(cells, chunks, strict=True):
                made.append(self._strings(words).dictionary_encode())
                words.clear()

        for triple in _triples(path, self._options.base):
            memory.look()
            iri = triple.predicate.value
            if iri not in taken:
                taken[iri] = self.all or self._counts(iri)
                self._predicates[iri] = len(self._predicates)
            if not taken[iri]:
                continue
            cells[0].append(self._term(triple.subject)[0])
            word, kind = self._term(triple.object)
            cells[1].append(word)
            kinds.append(kind)
            predicates.append(self._predicates[iri])
            if len(kinds) % BATCH == 0:
                flush()
        flush()
        whole = (pa.chunked_array(column).unify_dictionaries().combine_chunks() for column in chunks)
        self._subjects, self._objects = whole
        self._predicate, self._kind = np.array(predicates), np.array(kinds)

    def _term(self, term: Any) -> tuple[str, int]:
        kind = type(term).__name__
        if kind == "NamedNode":
            return term.value, 0
        if kind == "Literal":
            known = term.datatype.value, term.language
            return term.value, self._kinds.setdefault(known, len(self._kinds))
        if kind == "BlankNode":
            return f"_:{term.value}", 0
        raise self._wrong(f"{term} is not an IRI, a blank node or a literal", "take the triple out")

    def _short(self, iri: str) -> str:
        """Unique short name of an IRI that is a value."""
        name = self._bare(iri)
        other = self._full.setdefault(name, iri)
        if other != iri:
            hint = "shorten names by base= alone" if self._options.strip else "leave out base="
            raise self._wrong(f"<{other}> and <{iri}> would both be {name!r}", hint)
        return name

    def _bare(self, iri: str) -> str:
        base = self._options.base
        if base and iri.startswith(base):
            return unquote(iri[len(base) :])
        if self._options.strip:
            return unquote(re.split(r"[#/]", iri.rstrip("#/"))[-1]) or iri
        return iri

    def _counts(self, iri: str) -> bool:
        """Whether triples with a predicate belong to the relation, or name vertices."""
        argument = _argument(iri, self._options.base) is not None
        return iri == _TYPE or argument or self._is(iri, self._options.predicate) or self._labels(iri)

    def _is(self, iri: str, wanted: str | None) -> bool:
        return wanted is not None and wanted in (iri, self._bare(iri))

    def _labels(self, iri: str) -> bool:
        names = self._options.names
        return names not in (None, "id") and self._is(iri, _LABEL if names == "label" else names)

    def _of(self, test: Callable[[str], object]) -> Rows:
        codes = [code for iri, code in self._predicates.items() if test(iri)]
        return np.flatnonzero(np.isin(self._predicate, codes))

    def _typed(self) -> tuple[Rows, list[str]]:
        """Rows that assign nodes to the class, and all classes in the file."""
        rows = self._of(_TYPE.__eq__)
        codes = as_numpy(self._objects.indices)[rows]
        wanted = self._options.category or self._options.predicate
        classes = {self._objects.dictionary[code].as_py(): code for code in np.unique(codes).tolist()}
        found = [iri for iri in classes if self._is(iri, wanted)]
        for iri in found:
            self._short(iri)
        mask = np.isin(codes, [classes[iri] for iri in found])
        return rows[mask], [iri for iri in classes if iri not in found]

    def single(self) -> bool:
        """Whether the file holds only one relation and vertex names."""
        others = [iri for iri in self._predicates if not self._counts(iri) and iri != _LABEL]
        return not others and not self._typed()[1]

    def everything(self) -> Raw:
        iris = self._strings(list(self._predicates))
        predicates = pa.DictionaryArray.from_arrays(as_arrow(self._predicate), iris)
        nodes = np.zeros_like(self._kind)
        columns = {
            "subject": (self._subjects, nodes),
            "predicate": (predicates, nodes),
            "object": (self._objects, self._kind),
        }
        return self._raw(columns)

    def relation(self) -> Raw:
        """Table of one relation: its pairs, its facts or the members of its class."""
        pairs = self._of(lambda iri: iri != _TYPE and self._is(iri, self._options.predicate))
        for iri in self._predicates:
            if self._is(iri, self._options.predicate):
                self._short(iri)
        rows, others = self._typed()
        arguments = self._arguments(rows)
        if arguments:
            if len(pairs):
                what = f"{self._options.predicate} is both a predicate of pairs and a class of facts"
                raise self._wrong(what, "class= reads the facts alone")
            columns = {argument: self._cells(found) for argument, found in arguments.items()}
            return self._raw(columns, [argument for argument in arguments if argument != "weight"])
        if self._options.category is not None:
            members = np.sort(np.unique(as_numpy(self._subjects.indices)[rows], return_index=True)[1])
            return self._raw({"subject": self._nodes(rows[members])})
        if not len(pairs) and self._predicates:
            iris = [*(iri for iri in self._predicates if iri != _TYPE), *others]
            known = list(dict.fromkeys(map(self._bare, iris)))
            near = suggest(str(self._options.predicate), known)
            means = f"did you mean {near!r}? " if near else ""
            hint = f"{means}there are {', '.join(known[:10]) or 'none'}"
            raise self._wrong(f"no triple has the predicate {self._options.predicate!r}", hint)
        return self._raw({"subject": self._nodes(pairs), "object": self._cells(pairs)})

    def _nodes(self, rows: Rows) -> tuple[Column, Rows]:
        return self._subjects.take(as_arrow(rows)), np.zeros(len(rows), dtype=np.int32)

    def _cells(self, rows: Rows) -> tuple[Column, Rows]:
        return self._objects.take(as_arrow(rows)), self._kind[rows]

    def _arguments(self, members: Rows) -> dict[str, Rows]:
        """For each argument, the rows with its value for each member of the class, in the same order."""
        codes, objects = (as_numpy(c.indices) for c in (self._subjects, self._objects))
        number = np.full(len(self._subjects.dictionary), -1)  # numbers of facts in file order
        first = members[np.sort(np.unique(codes[members], return_index=True)[1])]
        number[codes[first]] = np.arange(len(first))
        found: dict[str, Rows] = {}
        for iri in self._predicates:
            argument, rows = _argument(iri, self._options.base), self._of(iri.__eq__)
            rows = rows[number[codes[rows]] >= 0]
            if argument is None or not len(rows):
                continue
            mine, facts = found.setdefault(argument, np.full(len(first), -1)), number[codes[rows]]
            new = mine[facts] < 0
            mine[facts[new]] = rows[new]
            same = mine[facts]
            twice = (objects[rows] != objects[same]) | (self._kind[rows] != self._kind[same])
            if twice.any():
                fact = self._subjects[rows[np.argmax(twice)]]
                raise self._wrong(f"the fact {fact} has two values as {argument}", "one fact is one node")
        if not found:
            return {}
        lacking = np.flatnonzero(np.any([rows < 0 for rows in found.values()], axis=0))
        if len(lacking):
            own = ", ".join(sorted(argument for argument, rows in found.items() if rows[lacking[0]] >= 0))
            what = f"the fact {self._subjects[first[lacking[0]]]} has {own or 'no arguments'}"
            what += f", others have {', '.join(found)}"
            raise self._wrong(what, "give each the same arguments, or take the node out")
        named = any(argument in _ENDS for argument in found)
        expected = _ENDS[: max(len(found), 2)] if named else [f"arg{i + 1}" for i in range(len(found))]
        if set(expected) != set(found):
            missing = next((argument for argument in expected if argument not in found), "others")
            what = f"facts have {', '.join(sorted(found))}, but no {missing}"
            raise self._wrong(what, "number them from arg1 on")
        return {argument: found[argument] for argument in expected}

    def _raw(
        self, columns: Mapping[str, tuple[Column, Rows]], ends: Sequence[str] = ("subject", "object")
    ) -> Raw:
        labels = self._vertex_names([columns[title] for title in ends if title in columns])
        names = tuple(columns)
        found = tuple(self._column(name, *columns[name], labels if name in ends else {}) for name in names)
        graph = names[:2] == _ENDS[:2]
        return Raw(self._file, names, found, lambda _: None, named=False, typed=True, graph=graph)

    def _column(self, title: str, words: Column, kinds: Rows, labels: Mapping[str, str]) -> Column:
        """Column of values; each distinct term is converted once."""
        datatypes = [datatype.removeprefix(_XSD) for datatype, _ in self._kinds]
        present = np.unique(kinds)
        if len(present) == 1 and datatypes[present[0]] in ("decimal", "double", "float"):
            try:
                numbers = pc.add(words.dictionary_decode().cast(pa.float64()), 0.0)  # normalizes -0.0
                if pc.all(pc.is_finite(numbers)).as_py():
                    return numbers
            except pa.ArrowInvalid:
                pass
        texts = words.dictionary
        codes = kinds.astype(np.int64) * len(texts) + as_numpy(words.indices)
        distinct, indices = np.unique(codes, return_inverse=True)
        memory.claim(len(distinct) * _BYTES)
        values: list[object] = []
        try:
            for code in distinct.tolist():
                kind, word = divmod(code, len(texts))
                values.append(self._value(texts[word].as_py(), datatypes[kind], kind, labels, len(values)))
            column = arrow_column(values)
        except CastError as error:
            row = int(np.argmax(indices == error.row))
            hint = error.hint or "mend the literal, or leave out its type: it is text then"
            message = f"row {row + 1}: {error.value} is not {error.expected}"
            raise DataError(self._file, message, column=title, hint=hint) from error
        if isinstance(column, Objects):
            return arrow_column([values[index] for index in indices.tolist()])
        claim_texts(column, as_arrow(indices))
        return column.take(as_arrow(indices))

    def _value(self, word: str, datatype: str, kind: int, labels: Mapping[str, str], row: int) -> object:
        if not kind:
            return word if word.startswith("_:") else labels.get(word) or self._short(word)
        convert = _CONVERSIONS.get(datatype)
        try:
            return convert(word.strip()) if convert else word
        except (ValueError, KeyError):
            raise CastError(row, repr(word), f"of type xsd:{datatype}") from None

    def _vertex_names(self, columns: Sequence[tuple[Column, Rows]]) -> dict[str, str]:
        """Vertex names from a property; preference: without language, English, first."""
        if self._options.names in (None, "id"):
            return {}
        best: dict[str, tuple[int, str]] = {}
        rows = self._of(self._labels)
        languages = [language for _, language in self._kinds]
        kinds = self._kind[rows].tolist()
        ends = (column.take(as_arrow(rows)).to_pylist() for column in (self._subjects, self._objects))
        for subject, name, kind in zip(*ends, kinds, strict=True):
            language = languages[kind]
            rank = 0 if language is None else 1 if language.partition("-")[0] == "en" else 2
            if kind and rank < best.get(subject, (3, ""))[0]:
                best[subject] = rank, name
        nodes = (words.filter(as_arrow(kinds == 0)).unique().to_pylist() for words, kinds in columns)
        iris = [iri for iri in dict.fromkeys(iri for some in nodes for iri in some) if iri[:2] != "_:"]
        names = {iri: best[iri][1] for iri in iris if iri in best}
        if not names:
            what = f"no vertex has a name by {self._options.names!r}"
            raise self._wrong(what, "leave out names=, or name a property of the vertices")
        taken: dict[str, str] = {}
        for iri in iris:
            name = names.get(iri) or self._short(iri)
            if (other := taken.setdefault(name, iri)) != iri:
                what = f"<{other}> and <{iri}> would both be {name!r}"
                raise self._wrong(what, "leave out names=, or give each vertex a name of its own")
        return names

    def _strings(self, words: Sequence[str]) -> Column:
        return pa.array(words, pa.large_string())

    def _wrong(self, message: str, hint: str) -> DataError:
        return DataError(self._file, message, hint=hint)


_ABSOLUTE = re.compile(r"""[a-z][a-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`]+""", re.ASCII)
_BLANK = re.compile(r"_:([A-Za-z0-9_]+)", re.ASCII)


def write_rdf(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write Turtle if the file name ends with ``.ttl``, else N-Triples.

    ``company("a")`` is ``<base a>`` of class ``<base company>``; ``own("a", "b")`` is the triple ``<base a> <base own>
    <base b>``. A weighted edge is a blank node of class ``<base own>`` with ``<urn:kgreason:source>``,
    ``<urn:kgreason:target>`` and ``<urn:kgreason:weight>``; another fact one with ``<urn:kgreason:arg1>`` etc. `base`
    is ``urn:kgreason:`` by default.

    Numbers, truth values and dates are typed literals; strings are nodes, except in the columns that `literals` names,
    as ``literals=2``. Names are percent-encoded and get an ``rdfs:label``; IRIs are kept.

    Raises
    ------
    DataError
        If pyoxigraph is missing, or an option is invalid.
    """
    oxigraph = extra("pyoxigraph", "rdf", target.path)
    terms = _Written(oxigraph, target, names)
    turtle = target.path.suffix.lower() == ".ttl"
    format = oxigraph.RdfFormat.TURTLE if turtle else oxigraph.RdfFormat.N_TRIPLES
    oxigraph.serialize(_facts(facts, predicate, terms), str(path), format=format)


class _Written:
    def __init__(self, oxigraph: ModuleType, target: Target, names: Sequence[str]) -> None:
        self.rdf, self.base = oxigraph, target.options.get("base", BASE)
        if not _ABSOLUTE.fullmatch(self.base):
            what = f"option base cannot be {self.base!r}"
            raise DataError(str(target.path), what, hint="for instance base=http://example.org/")
        given = [c.strip() for c in target.options.get("literals", "").split(",") if c.strip()]
        positions = {name: i for i, name in enumerate(names)} | {str(i + 1): i for i in range(len(names))}
        for column in given:
            if column not in positions:
                hint = f"the columns are {', '.join(names)}"
                raise DataError(str(target.path), f"there is no column {column!r}", hint=hint)
        self.labels: list[Any] = []  # pending triples with names that the IRI does not contain
        self._labelled: set[str] = set()
        self.literals = frozenset(positions[c] for c in given)

    def node(self, value: Value) -> Any:
        """IRI or blank node; a name that is not an IRI is appended to the base."""
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
                pass  # looks like an IRI, but is invalid
        local = quote(words, safe="")
        node = self.rdf.NamedNode(self.base + local)
        if local != words and words not in self._labelled:
            self._labelled.add(words)
            self.labels.append(self.rdf.Triple(node, self.rdf.NamedNode(_LABEL), self.rdf.Literal(words)))
        return node

    def object(self, value: Value, position: int) -> Any:
        """Literal for a number, truth value, date, list, set, or value of a literal column; else a node."""
        if isinstance(value, str) and position in self.literals:
            return self.rdf.Literal(value)
        if isinstance(value, (str, Null)):
            return self.node(value)
        if isinstance(value, float):  # pyoxigraph would write up to 300 digits
            return self.rdf.Literal(repr(value), datatype=self.rdf.NamedNode(_XSD + "double"))
        if isinstance(value, datetime):
            words = value.isoformat()
            return self.rdf.Literal(words, datatype=self.rdf.NamedNode(_XSD + "dateTime"))
        return self.rdf.Literal(value if isinstance(value, int) else text(value))


def _facts(facts: Facts, predicate: str, terms: _Written) -> Iterator[Any]:
    """Triples of facts; the triples of a fact are contiguous, so that facts can be read one at a time."""
    triple, kind, table = terms.rdf.Triple, terms.rdf.NamedNode(_TYPE), facts.tables[predicate]
    name = terms.rdf.NamedNode(terms.base + predicate)
    properties = [terms.rdf.NamedNode(BASE + name) for name in _arguments(table)]
    for number, row in enumerate(facts.rows(predicate), 1):
        if table.arity == 1:
            yield triple(terms.node(row[0]), kind, name)
        elif table.arity == 2:
            yield triple(terms.node(row[0]), name, terms.object(row[1], 1))
        else:
            fact = terms.rdf.BlankNode(f"{predicate}{number}")
            yield triple(fact, kind, name)
            for position, value in enumerate(row):
                yield triple(fact, properties[position], terms.object(value, position))
        yield from terms.labels
        terms.labels.clear()


def _arguments(table: Table) -> Sequence[str]:
    """Argument names; for a weighted edge those that readers expect."""
    numbers = table.arity == 3 and table.kinds[2] in (Kind.INT, Kind.DOUBLE)
    if numbers and all(kind not in (Kind.INT, Kind.DOUBLE, Kind.BOOL, Kind.DATE) for kind in table.kinds[:2]):
        return _ENDS
    return [f"arg{position + 1}" for position in range(table.arity)]
