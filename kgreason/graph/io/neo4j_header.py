"""Headers of Neo4j's import files: what each column holds.

References
----------
Neo4j Operations Manual, Import, CSV header format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgreason.errors import DataError
from kgreason.records import dataclass

_CELL = re.compile(
    r"(?P<name>.*?)(?::(?P<type>[A-Za-z][A-Za-z_]*)(?P<array>\[\])?(?:\((?P<space>[^)]*)\))?(?P<rest>\{.*\})?)?"
)
_ROLES = frozenset({"ID", "START_ID", "END_ID", "TYPE", "LABEL", "IGNORE"})
INTEGERS = frozenset({"int", "long", "short", "byte"})
DOUBLES = frozenset({"float", "double"})
DATES = frozenset({"date", "datetime", "localdatetime"})
_TEXTS = frozenset({"string", "char", "time", "localtime", "duration", "point"})
_TYPES = INTEGERS | DOUBLES | DATES | _TEXTS | {"boolean"}


@dataclass(frozen=True)
class Field:
    """A column.

    Attributes
    ----------
    written
        Its cell in the header.
    name
        Of the property; may be empty.
    role
        ``ID``, ``START_ID``, ``END_ID``, ``TYPE``, ``LABEL`` or ``IGNORE``; empty for a mere property.
    type
        Of a property, in lower case.
    array
        Its cells are lists.
    space
        Id space of ids; empty where there is one only.
    """

    written: str
    name: str
    role: str
    type: str
    array: bool
    space: str


def is_header(cells: Sequence[str]) -> bool:
    """Whether a line is the header of an import file: it names ids, or both ends of relationships.

    Examples
    --------
    >>> is_header(["companyId:ID(Company)", "name"]), is_header([":START_ID", ":END_ID"]), is_header(["a:b", "ID"])
    (True, True, False)
    """
    roles = [field.role for field in map(_parsed, cells) if f":{field.role}" in field.written]
    return "ID" in roles or {"START_ID", "END_ID"}.issubset(roles)


def fields_of(file: str, line: int, cells: Sequence[str]) -> tuple[Field, ...]:
    """Understand a header.

    Raises
    ------
    DataError
        If it names no ids, or a type that there is not.
    """
    fields = tuple(map(_parsed, cells))
    for field in fields:
        if not field.role and field.type not in _TYPES:
            raise DataError(
                file,
                f"there is no type {field.type!r}",
                line,
                field.written,
                hint=f"one of {', '.join(sorted(_TYPES))}",
            )
        if field.written.rstrip().endswith("}") and field.type == "datetime" and "timezone" in field.written:
            raise DataError(
                file,
                "time zones of headers are not read",
                line,
                field.written,
                hint="write a zone in each cell",
            )
    roles = [field.role for field in fields]
    for role in ("ID", "START_ID", "END_ID", "TYPE"):
        if roles.count(role) > 1:
            raise DataError(file, f"two columns :{role}", line, hint="leave one of them out, or say :IGNORE")
    if "ID" in roles or {"START_ID", "END_ID"}.issubset(roles):
        return fields
    raise DataError(
        file,
        "this is no header of Neo4j: it names neither :ID nor :START_ID and :END_ID",
        line,
        hint="a header in a file of its own stands first: format=neo4j of nodes-header.csv,nodes.csv",
    )


def _parsed(cell: str) -> Field:
    found = _CELL.fullmatch(cell.strip())
    if found is None:  # a line end in a cell: no header has one
        return Field(cell, cell, "", "string", array=False, space="")
    kind = found["type"] or "string"
    role = kind.upper() if kind.upper() in _ROLES else ""
    return Field(
        cell.strip(), found["name"], role, kind.lower(), found["array"] is not None, found["space"] or ""
    )
