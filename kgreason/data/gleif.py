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
from kgreason.data.options import Options
from kgreason.data.raw import Raw
from kgreason.data.vertex_names import called, edges
from kgreason.data.xml_blocks import parse
from kgreason.errors import DataError

_DIRECT = "IS_DIRECTLY_CONSOLIDATED_BY"
_VOID = frozenset({"ANNULLED", "CANCELLED", "DUPLICATE", "ERRONEOUS", "RETIRED", "TRANSFERRED"})
_PARENT, _CHILD, _TYPE = "EndNode/NodeID", "StartNode/NodeID", "Relationship/RelationshipType"
_STATUS, _REGISTERED = "Relationship/RelationshipStatus", "Registration/RegistrationStatus"
_QUANTIFIER, _LEI, _NAME = "RelationshipQuantifier/QuantifierAmount", "LEIRecord/LEI", "Entity/LegalName"
_TAKEN = frozenset({_PARENT, _CHILD, _TYPE, _STATUS, _REGISTERED, _QUANTIFIER, _LEI, _NAME})
_AGAIN = "download the file from GLEIF again"


def read_gleif(path: Path, options: Options) -> Raw:
    """Read relationships that are active and validly registered, by default direct consolidation; the rest is told.

    Edges have no weight: a parent that consolidates its child controls it, and quantifiers are rare and of no one
    meaning (a whole child is 100 to one registrar, 1 to another). They are the column ``quantifier``, for who asks.
    """
    import pyarrow.compute as pc

    raw = _read(path, options.type or _DIRECT)
    if options.labels is not None and raw.vertices is not None:
        known = _read(path.parent / options.labels, _DIRECT).vertices
        assert known is not None
        leis, labels = raw.vertices.columns
        names = known.columns[1].take(pc.index_in(leis, value_set=known.columns[0]))
        raw = replace(raw, vertices=replace(raw.vertices, columns=(leis, pc.coalesce(names, labels))))
    return called(raw, options)


def _read(path: Path, type: str) -> Raw:
    records = _Records(str(path), type)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, _: records.start(tag.rpartition(" ")[2])
    parser.EndElementHandler = lambda _: records.end(parser.CurrentLineNumber)
    parser.CharacterDataHandler = records.texts.append
    parse(path, parser, f"is the file whole? {_AGAIN}")
    return records.raw()


class _Records:
    """Follows the elements of one file; a record counts when it ends.

    Attributes
    ----------
    texts
        Parts of the text of the element that is open.
    """

    def __init__(self, file: str, type: str) -> None:
        self.texts: list[str] = []
        self._file, self._type = file, type
        self._open: list[str] = []
        self._record: dict[str, str] = {}
        self._names: dict[str, str] = {}  # of entities by LEI; empty where only relationships name it
        self._number: dict[str, int] = {}
        self._parents, self._children, self._lines = array("q"), array("q"), array("q")
        self._quantifiers = array("d")
        self._left: Counter[str] = Counter()

    def start(self, name: str) -> None:
        """Enter an element."""
        if not self._open and name not in ("RelationshipData", "LEIData"):
            message = f"the file holds <{name}>, not records of GLEIF"
            raise DataError(self._file, message, hint="other formats: say format=")
        self._open.append(name)
        self.texts.clear()

    def end(self, line: int) -> None:
        """Leave an element."""
        name = self._open.pop()
        place = f"{self._open[-1]}/{name}" if self._open else name
        if place in _TAKEN:
            self._record[place] = "".join(self.texts).strip()
        elif name == "RelationshipRecord":
            self._relationship(line)
            self._record.clear()
        elif name == "LEIRecord":
            lei = self._taken(_LEI, line)
            self._vertex(lei)
            self._names[lei] = self._record.get(_NAME, "")
            self._record.clear()
        self.texts.clear()

    def _taken(self, place: str, line: int) -> str:
        if not (value := self._record.get(place, "")):
            what = f"the record that ends here has no {place}"
            raise DataError(self._file, what, line, hint=f"take the record out, or {_AGAIN}")
        return value

    def _vertex(self, lei: str) -> int:
        return self._number.setdefault(lei, len(self._number))

    def _relationship(self, line: int) -> None:
        child, parent, type = (self._taken(place, line) for place in (_CHILD, _PARENT, _TYPE))
        status = self._record.get(_STATUS, "ACTIVE")
        registered = self._record.get(_REGISTERED, "PUBLISHED")
        amount = self._record.get(_QUANTIFIER, "nan")
        try:
            quantifier = float(amount)
        except ValueError:
            message = f"the quantifier {amount!r} is no number"
            raise DataError(self._file, message, line, hint="mend the record") from None
        if self._type not in ("any", type):
            self._left[f"records of another type ({type}; type=any takes all)"] += 1
        elif status != "ACTIVE":
            self._left[f"records of relationships that are {status.lower()}"] += 1
        elif registered in _VOID:
            self._left[f"records that are {registered.lower()}"] += 1
        else:
            self._parents.append(self._vertex(parent))
            self._children.append(self._vertex(child))
            self._lines.append(line)
            self._quantifiers.append(quantifier)

    def raw(self) -> Raw:
        """Table of the relationships, with that of the entities beside it."""
        import pyarrow as pa

        leis = pa.array(self._number, pa.large_string())
        labels = pa.array([self._names.get(lei) or lei for lei in self._number], pa.large_string())
        ends = [leis.take(as_arrow(np.array(end))) for end in (self._parents, self._children)]
        quantifiers = np.array(self._quantifiers)
        return edges(
            self._file,
            ends,
            self._lines.__getitem__,
            typed=True,
            vertices=Raw(self._file, ("id", "label"), (leis, labels), lambda _: None, typed=True),
            extra={"quantifier": pa.array(quantifiers, pa.float64(), mask=np.isnan(quantifiers))},
            notes=tuple(f"{self._file}: left out {what}: {count:,}" for what, count in self._left.items()),
        )
