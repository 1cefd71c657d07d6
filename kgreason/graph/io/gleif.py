"""Relationships of legal entities as GLEIF publishes them (RR-CDF XML): edges from the parent to its child.

A record says that its start node is consolidated by, or managed by, or a fund of its end node; the end node is the
parent. Files of level 1 (LEI-CDF) give the entities and their names.

References
----------
GLEIF: Relationship Record Common Data File format 2.1; LEI-CDF format 3.1, https://www.gleif.org
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.parsers import expat

import numpy as np

from kgreason.arrays import as_arrow
from kgreason.data.vertex_names import called
from kgreason.errors import DataError
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.xmlparse import parse

DIRECT = "IS_DIRECTLY_CONSOLIDATED_BY"
_VOID = frozenset({"ANNULLED", "CANCELLED", "DUPLICATE", "ERRONEOUS", "RETIRED", "TRANSFERRED"})
_TAKEN = frozenset(
    {
        *("StartNode/NodeID", "EndNode/NodeID", "Relationship/RelationshipType"),
        *("Relationship/RelationshipStatus", "Registration/RegistrationStatus"),
        "RelationshipQuantifier/QuantifierAmount",
        *("LEIRecord/LEI", "Entity/LegalName"),
    }
)


def read_gleif(path: Path, options: Options) -> Raw:
    """Read relationships that are active and validly registered, by default direct consolidation; the rest is told.

    Edges have no weight: a parent that consolidates its child controls it, and quantifiers are rare and of no one
    meaning (a whole child is 100 to one registrar, 1 to another). They are the column ``quantifier``, for who asks.
    """
    records = _Records(path, options.type or DIRECT)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, _: records.start(tag)
    parser.EndElementHandler = lambda _: records.end(parser.CurrentLineNumber)
    parser.CharacterDataHandler = records.text
    parse(path, parser, "is the file whole? take it from GLEIF once more")
    raw = records.raw()
    return called(raw if options.labels is None else _named(raw, path.parent / options.labels), options)


def _named(raw: Raw, file: Path) -> Raw:
    """Take the names of entities from a file of level 1."""
    import pyarrow.compute as pc

    known = read_gleif(file, Options()).vertices
    assert known is not None
    assert raw.vertices is not None
    leis, labels = raw.vertices.columns
    names = known.columns[1].take(pc.index_in(leis, value_set=known.columns[0]))
    vertices = replace(raw.vertices, columns=(leis, pc.coalesce(names, labels)))
    return replace(raw, vertices=vertices)


class _Records:
    """Follows the elements of one file; a record counts when it ends."""

    def __init__(self, path: Path, type: str) -> None:
        self._file, self._type = str(path), type
        self._open: list[str] = []
        self._texts: list[str] = []
        self._record: dict[str, str] = {}
        self._number: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._columns = {name: array("q") for name in ("source", "target", "line")}
        self._quantifiers = array("d")
        self._left: Counter[str] = Counter()
        self._root = ""

    def start(self, tag: str) -> None:
        """Enter an element."""
        name = tag.rpartition(" ")[2]
        if not self._open:
            self._root = name
            if name not in ("RelationshipData", "LEIData"):
                raise DataError(
                    self._file,
                    f"the file holds <{name}>, not records of GLEIF",
                    hint="other formats: say format=",
                )
        self._open.append(name)
        self._texts.clear()

    def text(self, text: str) -> None:
        """Collect the text of an element."""
        self._texts.append(text)

    def end(self, line: int) -> None:
        """Leave an element."""
        name = self._open.pop()
        place = f"{self._open[-1]}/{name}" if self._open else name
        if place in _TAKEN:
            self._record[place] = "".join(self._texts).strip()
        elif name == "RelationshipRecord":
            self._relationship(line)
        elif name == "LEIRecord":
            self._entity(line)
        self._texts.clear()

    def _taken(self, place: str, line: int) -> str:
        value = self._record.get(place, "")
        if not value:
            raise DataError(
                self._file,
                f"the record that ends here has no {place}",
                line,
                hint="take the record out, or the file from GLEIF once more",
            )
        return value

    def _relationship(self, line: int) -> None:
        child, parent = (self._taken(f"{end}Node/NodeID", line) for end in ("Start", "End"))
        type = self._taken("Relationship/RelationshipType", line)
        status = self._record.get("Relationship/RelationshipStatus", "ACTIVE")
        registered = self._record.get("Registration/RegistrationStatus", "PUBLISHED")
        quantifier = self._quantifier(line)
        self._record = {}
        if self._type not in ("any", type):
            self._left[f"records of another type ({type}; type=any takes all)"] += 1
        elif status != "ACTIVE":
            self._left[f"records of relationships that are {status.lower()}"] += 1
        elif registered in _VOID:
            self._left[f"records that are {registered.lower()}"] += 1
        else:
            for column, value in zip(
                self._columns.values(), (self._vertex(parent), self._vertex(child), line), strict=True
            ):
                column.append(value)
            self._quantifiers.append(quantifier)

    def _quantifier(self, line: int) -> float:
        amount = self._record.get("RelationshipQuantifier/QuantifierAmount")
        if amount is None:
            return float("nan")
        try:
            return float(amount)
        except ValueError:
            raise DataError(
                self._file, f"the quantifier {amount!r} is no number", line, hint="mend the record"
            ) from None

    def _entity(self, line: int) -> None:
        vertex = self._vertex(self._taken("LEIRecord/LEI", line))
        self._names[vertex] = self._record.get("Entity/LegalName", "")
        self._record = {}

    def _vertex(self, lei: str) -> int:
        return self._number.setdefault(lei, len(self._number))

    def raw(self) -> Raw:
        """Table of the relationships, with that of the entities beside it."""
        import pyarrow as pa

        leis = pa.array(list(self._number), pa.large_string())
        labels = [self._names.get(number) or lei for lei, number in self._number.items()]
        source, target, lines = (np.array(c, dtype=np.int64) for c in self._columns.values())
        quantifiers = np.array(self._quantifiers, dtype=np.float64)
        without = np.isnan(quantifiers)
        return Raw(
            self._file,
            ("source", "target"),
            (leis.take(as_arrow(source)), leis.take(as_arrow(target))),
            lambda row: int(lines[row]),
            named=False,
            graph=True,
            typed=True,
            vertices=Raw(
                self._file,
                ("id", "label"),
                (leis, pa.array(labels, pa.large_string())),
                lambda _: None,
                typed=True,
            ),
            extra={"quantifier": pa.array(quantifiers, pa.float64(), mask=without)},
            notes=tuple(f"{self._file}: left out {what}: {count:,}" for what, count in self._left.items()),
        )
