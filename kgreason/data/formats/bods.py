"""Beneficial ownership statements (BODS JSON) as edges from interested party to subject, weighted by share.

Versions 0.1 to 0.4 are read. Up to 0.3 each statement is independent and may be replaced by later statements; from 0.4
on statements form the history of records, and the last statement of a record is valid. Shares are percentages. Facts
are written as version 0.4.

References
----------
Open Ownership: Beneficial Ownership Data Standard, https://standard.openownership.org
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from kgreason.base.arrays import as_arrow, pa
from kgreason.base.errors import DataError
from kgreason.data.formats.json_rows import JsonFile, write_values
from kgreason.data.formats.vertex_names import called, edges
from kgreason.data.raw_table import Column, Raw
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.values import Value

VERSION = "0.4"
_KINDS = {
    "entitystatement": "entity",
    "personstatement": "person",
    "ownershiporcontrolstatement": "relationship",
}
_OF_TRUSTS = {
    "settloroftrust": "settlor",
    "trusteeoftrust": "trustee",
    "protectoroftrust": "protector",
    "beneficiaryoftrust": "beneficiaryoflegalarrangement",
}
_LEVELS = ("direct", "indirect", "unknown")
_HUNDRED = Decimal(100)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII)
_OTHERWISE = "plain rows of JSON are read with format=json"
_NAMES = uuid5(NAMESPACE_URL, "https://standard.openownership.org/kgreason")
_SHARE = '"exact": "@"'


class _Malformed(ValueError):
    def __init__(self, message: str, hint: str = "mend the statement, or take it out") -> None:
        super().__init__(message)
        self.hint = hint


def read_bods(path: Path, options: Options) -> Raw:
    """Read the interests that are currently valid; omitted interests are reported.

    Versions 0.1 to 0.4 are read. The last statement of each record is valid, replaced statements are not. Vertices
    are records (up to 0.3 statements) of entities and persons, with their names as labels.
    """
    file = JsonFile(path, options.encoding)
    prefix = "item" if file.array else ""
    statements = _Statements(options)
    for number, given in enumerate(file.values(prefix, exact=True)):
        try:
            statements.add(given, number)
        except _Malformed as error:
            raise DataError(str(path), str(error), file.line(prefix, number), hint=error.hint) from error
    return called(statements.raw(file, prefix), options)


class _Statements:
    """Interests in arrays, one row each; vertices, records and statements are numbered."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._wanted = None if options.interest == "any" else _normal(options.interest)
        self._number: dict[str, int] = {}  # vertex numbers
        self._names: dict[int, tuple[str, str, int]] = {}  # vertex: name, date and statement
        self._later: dict[str, str] = {}  # statement: its replacement
        self._last: dict[str, tuple[str, int]] = {}  # record: date and number of its last statement
        self._closed: set[int] = set()
        self._rows = array("q")  # source, target and statement of each interest
        self._shares = array("d")
        self._left: Counter[str] = Counter()

    def add(self, given: Any, number: int) -> None:
        kind, record, details = _parts(given)
        date = given.get("statementDate") or ""
        if date and not (isinstance(date, str) and _DATE.fullmatch(date)):
            raise _Malformed(f"the statementDate {_shown(date)} is no ISO date", "write it as in 2024-01-15")
        order = sys.intern(re.sub(r"\D", "", date)[:14].ljust(14, "0"))
        if details is given:
            for old in _list(given, "replacesStatements"):
                if not isinstance(old, str):
                    raise _Malformed(f"replacesStatements holds {_shown(old)}, which is no id of a statement")
                self._later[old] = record
        if kind != "relationship":
            vertex = self._vertex(record)
            if vertex not in self._names or date >= self._names[vertex][1]:
                self._names[vertex] = _name(details), date, number
            return
        if (order, number) > self._last.get(record, ("", -1)):
            self._last[record] = order, number
        if given.get("recordStatus") == "closed":
            self._closed.add(number)
        ends = _party(details.get("interestedParty")), _party(details.get("subject"))
        if "" in ends:
            self._left["relationships in which a party is not named"] += 1
            return
        for interest in _list(details, "interests"):
            if not isinstance(interest, dict):
                raise _Malformed(f"the interest {_shown(interest)} is no object")
            share, reason = self._share(interest), self._reason(interest)
            if reason is None:
                self._rows.extend((*map(self._vertex, ends), number))
                self._shares.append(share)
            else:
                self._left[reason] += 1

    def _vertex(self, record: str) -> int:
        return self._number.setdefault(record, len(self._number))

    def _reason(self, interest: Mapping[str, Any]) -> str | None:
        """Reason for which an interest is not read as an edge; `None`: it is one."""
        type = _normal(str(interest.get("type") or "unknownInterest"))
        level = interest.get("directOrIndirect") or interest.get("interestLevel") or "unknown"
        if level not in _LEVELS:
            hint = f"one of {', '.join(_LEVELS)}"
            raise _Malformed(f"the level of an interest cannot be {_shown(level)}", hint)
        if interest.get("endDate"):
            return "interests that have ended"
        if self._wanted is not None and type != self._wanted:
            return f"interests of another type ({type}; interest=any takes all)"
        if self._options.level is None and level == "indirect":
            return "indirect interests (level=any takes them)"
        if self._options.level not in (None, "any", level):
            return f"interests of another level ({level})"
        return None

    def _share(self, interest: Mapping[str, Any]) -> float:
        """Share from 0 to 1; NaN if there is none; infinite for a range without option ``share``."""
        given = interest.get("share") or {}
        if not isinstance(given, dict):
            hint = 'write it as in "share": {"exact": 25}'
            raise _Malformed(f"the share {_shown(given)} is no object", hint)
        exact = _part(given, "exact")
        low = _part(given, "minimum", "exclusiveMinimum")
        high = _part(given, "maximum", "exclusiveMaximum")
        if exact is not None or low is high is None:
            return math.nan if exact is None else exact
        if self._options.share is None:
            return math.inf
        low, high = 0.0 if low is None else low, 1.0 if high is None else high
        chosen = {"minimum": low, "maximum": high, "middle": (low + high) / 2}
        return chosen.get(self._options.share, math.nan)

    def raw(self, file: JsonFile, prefix: str) -> Raw:
        """Table of the valid edges, with the table of vertices."""
        path = str(file.path)
        last = (number for record, (_, number) in self._last.items() if record not in self._later)
        current = [number for number in last if number not in self._closed]
        rows, shares = np.array(self._rows, dtype=np.int64).reshape(-1, 3), np.array(self._shares)
        kept = np.isin(rows[:, 2], current)
        what = "interests of statements that later ones replace or that end their record"
        self._left[what] += int((~kept).sum())
        (sources, targets, statements), shares = rows[kept].T, shares[kept]
        ranges = np.flatnonzero(np.isinf(shares))
        if len(ranges):
            what = f"the share is a range, not a number ({len(ranges):,} such interest{'s' * (len(ranges) != 1)})"
            hint = "share=minimum, maximum or middle takes one; share=exact with missing=skip leaves such rows out"
            raise DataError(path, what, file.line(prefix, int(statements[ranges[0]])), hint=hint)
        vertices, names = self._vertices(file, prefix)
        ids = vertices.columns[0]
        columns: list[Column] = [ids.take(as_arrow(names[end])) for end in (sources, targets)]
        without = np.isnan(shares)
        if not without.all():
            columns.append(pa.array(shares, pa.float64(), mask=without))
        return edges(
            path,
            columns,
            lambda row: file.line(prefix, int(statements[row])),
            typed=True,
            vertices=vertices,
            notes=tuple(f"{path}: left out {what}: {n:,}" for what, n in self._left.items() if n),
        )

    def _vertices(self, file: JsonFile, prefix: str) -> tuple[Raw, np.ndarray[Any, np.dtype[np.int64]]]:
        """Valid vertices, and for each vertex its own index among them, or that of its replacement."""
        kept: dict[str, int] = {}
        number = np.empty(len(self._number), dtype=np.int64)
        for record, vertex in self._number.items():
            replaced = {record}
            while record in self._later and self._later[record] not in replaced:
                record = self._later[record]
                replaced.add(record)
            number[vertex] = kept.setdefault(record, len(kept))
        ids = list(kept)
        last = [("", "", -1)] * len(ids)  # name, date and statement
        for vertex, named in self._names.items():
            if named[1] >= last[number[vertex]][1]:
                last[number[vertex]] = named
        labels = [name or id for id, (name, _, _) in zip(ids, last, strict=True)]

        def line(row: int) -> int | None:
            return file.line(prefix, last[row][2]) if last[row][2] >= 0 else None

        columns = pa.array(ids, pa.large_string()), pa.array(labels, pa.large_string())
        return Raw(str(file.path), ("id", "label"), columns, line, typed=True), number


def _parts(given: Any) -> tuple[str, str, Mapping[str, Any]]:
    """Kind, record and details of a statement; up to 0.3 the statement is its own record and contains the details."""
    if not isinstance(given, dict):
        raise _Malformed("this is no statement of BODS but another value of JSON", _OTHERWISE)
    if "recordType" in given:
        record, kind = _text(given, "recordId"), _text(given, "recordType")
        details = given.get("recordDetails")
        if not isinstance(details, dict):
            raise _Malformed("the statement has no recordDetails")
    elif "statementType" in given:
        record, details = _text(given, "statementID"), given
        kind = _KINDS.get(_text(given, "statementType").lower(), "")
    else:
        message = "this is no statement of BODS: it has neither a statementType nor a recordType"
        raise _Malformed(message, _OTHERWISE)
    if kind not in _KINDS.values():
        written = given.get("recordType") or given.get("statementType")
        raise _Malformed(f"unknown type of statement {written!r}")
    return kind, record, details


def _normal(type: str) -> str:
    """Interest type in the spelling common to all versions."""
    bare = type.replace("-", "").replace("_", "").lower()
    return _OF_TRUSTS.get(bare, bare)


def _part(share: Mapping[str, Any], *names: str) -> float | None:
    value = next((share[name] for name in names if share.get(name) is not None), None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise _Malformed(f"the {names[0]} share {_shown(value)} is no number", "write it without quotes: 25")
    if not 0 <= value <= _HUNDRED:
        raise _Malformed(f"a share of {_shown(value)} is no percentage", "shares go from 0 to 100")
    return float(Decimal(value) / _HUNDRED)


def _party(given: Any) -> str:
    """Record or statement of a party; empty if a reason is given instead."""
    if isinstance(given, dict):
        given = given.get("describedByEntityStatement") or given.get("describedByPersonStatement")
    if given is not None and not isinstance(given, str):
        raise _Malformed(f"a party cannot be {_shown(given)}", "name it by its record or statement")
    return given or ""


def _name(details: Mapping[str, Any]) -> str:
    names = [given.get("fullName") for given in _list(details, "names") if isinstance(given, dict)]
    return str(details.get("name") or next(filter(None, names), ""))


def _list(given: Mapping[str, Any], key: str) -> list[Any]:
    found = given.get(key)
    if found is not None and not isinstance(found, list):
        raise _Malformed(f"{key} is no list but {_shown(found)}")
    return found or []


def _shown(value: Any) -> str:
    words = str(value) if isinstance(value, Decimal) else repr(value)
    return words if len(words) <= 60 else f"{words[:57]}..."


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise _Malformed(f"the statement has no {key}")
    return value


def write_bods(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write an array of statements or, if the file name ends with ``.jsonl``, one statement per line.

    ``own(a, b, w)`` states that a holds the share w of b. A unary predicate is written as entities, a binary one as
    relationships without shares. Vertex names are record identifiers; the type of an entity is not known from the
    facts.
    """
    arity = facts.tables[predicate].arity
    if not 1 <= arity <= 3:
        what = f"{predicate} has {arity} arguments, and statements of ownership have an owner, a company and a share"
        raise DataError(str(target.path), what, hint="write another format, for instance csv")
    statements = _written(facts.rows(predicate), str(target.path), predicate, names)
    write_values(path, statements, array=not target.path.name.lower().endswith(".jsonl"))


def _written(
    rows: Iterator[tuple[Value, ...]], file: str, predicate: str, names: Sequence[str]
) -> Iterator[str]:
    """Statements of facts; each entity before the first relationship that names it."""
    today = datetime.now(UTC).date().isoformat()
    known = set[str]()

    def wrong(number: int, position: int, message: str) -> DataError:
        where = f"fact {number:,} of {predicate}, {names[position]}"
        return DataError(file, f"{where}: {message}", hint="write another format, for instance csv")

    def statement(kind: str, subject: str, record: str, details: dict[str, Any]) -> str:
        made = {
            "statementId": str(uuid5(_NAMES, f"{predicate} {kind} {record}")),
            "statementDate": today,
            "declarationSubject": subject,
            "recordId": record,
            "recordType": kind,
            "recordStatus": "new",
            "recordDetails": {"isComponent": False, **details},
            "publicationDetails": {
                "publicationDate": today,
                "bodsVersion": VERSION,
                "publisher": {"name": "kgreason"},
            },
        }
        return json.dumps(made, ensure_ascii=False, check_circular=False)

    for number, row in enumerate(rows, 1):
        ends = [text(value) for value in row[:2]]
        for position, name in enumerate(ends):
            if not name:
                raise wrong(number, position, "a record needs a name that is not empty")
            if name not in known:
                known.add(name)
                details = {
                    "entityType": {"type": "unknownEntity"},
                    "unspecifiedEntityDetails": {"reason": "informationUnknownToPublisher"},
                    "name": name,
                }
                yield statement("entity", name, name, details)
        if len(row) == 1:
            continue
        interest: dict[str, Any] = {"type": "shareholding", "directOrIndirect": "direct"}
        if len(row) == 3:
            interest["share"] = {"exact": "@"}
            if isinstance(row[2], bool) or not isinstance(row[2], int | float) or not 0 <= row[2] <= 1:
                raise wrong(number, 2, f"{text(row[2])} is no share from 0 to 1")
        relationship = {"subject": ends[1], "interestedParty": ends[0], "interests": [interest]}
        line = statement("relationship", ends[1], f"{predicate}-{number}", relationship)
        if len(row) == 3:
            # decimal digits, since a double percentage would not round-trip every share; the replaced text is
            # unambiguous, since quotation marks within strings are escaped
            line = line.replace(_SHARE, f'"exact": {format(Decimal(repr(row[2])) * 100, "f")}', 1)
        yield line
