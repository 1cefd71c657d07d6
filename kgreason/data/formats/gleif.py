"""GLEIF legal entity relationships (RR-CDF XML) as edges from parent to child.

A record states that its start node is consolidated by, managed by, or a fund of its end node; the end node is the
parent. Level 1 files (LEI-CDF) contain the entities and their names.

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

from kgreason.base.arrays import as_arrow, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.formats.vertex_names import called, edges
from kgreason.data.raw_table import Raw, parse_xml
from kgreason.data.source_options import Options

_DIRECT = "IS_DIRECTLY_CONSOLIDATED_BY"
_VOID = frozenset({"ANNULLED", "CANCELLED", "DUPLICATE", "ERRONEOUS", "RETIRED", "TRANSFERRED"})
_PARENT, _CHILD, _TYPE = "EndNode/NodeID", "StartNode/NodeID", "Relationship/RelationshipType"
_STATUS, _REGISTERED = "Relationship/RelationshipStatus", "Registration/RegistrationStatus"
_QUANTIFIER, _LEI, _NAME = "RelationshipQuantifier/QuantifierAmount", "LEIRecord/LEI", "Entity/LegalName"
_TAKEN = frozenset({_PARENT, _CHILD, _TYPE, _STATUS, _REGISTERED, _QUANTIFIER, _LEI, _NAME})
_AGAIN = "download the file from GLEIF again"


def read_gleif(path: Path, options: Options) -> Raw:
    """Read active, validly registered relationships, by default direct consolidation; others are counted in a note.

    Edges have no weight: a parent that consolidates its child controls it, and quantifiers are rare and ambiguous (a
    wholly owned child is 100 at one registrar, 1 at another). They are available as the column ``quantifier``:
    ``columns=source,target,quantifier``. LEI-CDF files give entities, ``table=vertices`` their names.
    """
    raw = _read(path, options.type or _DIRECT)
    if options.labels is not None and raw.vertices is not None:
        known = _read(path.parent / options.labels, _DIRECT).vertices
        assert known is not None
        leis, labels = raw.vertices.columns
        names = known.columns[1].take(pc.index_in(leis, value_set=known.columns[0]))
        raw = replace(raw, vertices=replace(raw.vertices, columns=(leis, pc.coalesce(names, labels))))
    return called(raw, options)


def _read(path: Path, type: str) -> Raw:
    """Table of the relationships, with the table of entities."""
    file = str(path)
    names: dict[str, str] = {}  # entity names by LEI; empty if only relationships mention the entity
    number: dict[str, int] = {}
    rows, quantifiers, left = array("q"), array("d"), Counter[str]()
    opened: list[str] = []
    record: dict[str, str] = {}
    words: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(name: str, _: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not opened and tag not in ("RelationshipData", "LEIData"):
            message = f"the file holds <{tag}>, not records of GLEIF"
            raise DataError(file, message, hint="other formats: say format=")
        opened.append(tag)
        words.clear()

    def end(_: str) -> None:
        tag = opened.pop()
        element = f"{opened[-1]}/{tag}" if opened else tag
        if element in _TAKEN:
            record[element] = "".join(words).strip()
        elif tag in ("RelationshipRecord", "LEIRecord"):
            relationship = tag == "RelationshipRecord"
            for element in (_CHILD, _PARENT, _TYPE) if relationship else (_LEI,):
                if not record.get(element):
                    what = f"the record that ends here has no {element}"
                    hint = f"take the record out, or {_AGAIN}"
                    raise DataError(file, what, parser.CurrentLineNumber, hint=hint)
            if relationship:
                add_relationship()
            else:
                number.setdefault(record[_LEI], len(number))
                names[record[_LEI]] = record.get(_NAME, "")
            record.clear()
        words.clear()

    def add_relationship() -> None:
        line, amount = parser.CurrentLineNumber, record.get(_QUANTIFIER, "nan")
        try:
            quantifier = float(amount)
        except ValueError:
            message = f"the quantifier {amount!r} is no number"
            raise DataError(file, message, line, hint="mend the record") from None
        status, registered = record.get(_STATUS, "ACTIVE"), record.get(_REGISTERED, "PUBLISHED")
        if type not in ("any", record[_TYPE]):
            left[f"records of another type ({record[_TYPE]}; type=any takes all)"] += 1
        elif status != "ACTIVE":
            left[f"records of relationships that are {status.lower()}"] += 1
        elif registered in _VOID:
            left[f"records that are {registered.lower()}"] += 1
        else:
            rows.extend(number.setdefault(record[element], len(number)) for element in (_PARENT, _CHILD))
            rows.append(line)
            quantifiers.append(quantifier)

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words.append
    parse_xml(path, parser, f"is the file whole? {_AGAIN}")
    leis = pa.array(number, pa.large_string())
    labels = pa.array([names.get(lei) or lei for lei in number], pa.large_string())
    *ends, lines = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return edges(
        file,
        [leis.take(as_arrow(vertices)) for vertices in ends],
        lines.item,
        typed=True,
        vertices=Raw(file, ("id", "label"), (leis, labels), lambda _: None, typed=True),
        extra={"quantifier": pa.array(quantifiers, pa.float64(), mask=np.isnan(quantifiers))},
        notes=tuple(f"{file}: left out {what}: {count:,}" for what, count in left.items()),
    )
