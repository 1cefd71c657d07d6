"""Facts as ownership statements (BODS 0.4 JSON): ``own(a, b, w)`` says that a holds the share w of b.

A predicate with one argument is a list of entities, with two arguments relationships without shares. Names are the
identifiers of records; what kind of entity a name is, facts do not say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from kgreason.engine.table import Facts
from kgreason.errors import DataError
from kgreason.graph.io.values import text
from kgreason.lang.values import Value
from kgreason.output.target import Target

VERSION = "0.4"
_SHARE = '"exact": "@"'
_NAMES = uuid5(NAMESPACE_URL, "https://standard.openownership.org/kgreason")


def write_bods(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write an array of statements, or in a file called ``.jsonl`` one a line.

    Raises
    ------
    DataError
        If the predicate has no or more than three arguments, a name is empty, or a share is no number from 0 to 1.
    """
    arity = facts.tables[predicate].arity
    if not 1 <= arity <= 3:
        raise DataError(
            str(target.path),
            f"{predicate} has {arity} arguments, and statements of ownership have an owner, a company and a share",
            hint="write another format, for instance csv",
        )
    today = datetime.now(UTC).date().isoformat()
    statements = _Statements(str(target.path), predicate, today, names)
    lines = statements.lines(facts.rows(predicate), arity)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        if target.path.name.lower().endswith(".jsonl"):
            stream.writelines(line + "\n" for line in lines)
            return
        stream.write("[")
        for number, line in enumerate(lines):
            stream.write(("\n" if not number else ",\n") + line)
        stream.write("\n]\n")


class _Statements:
    """Makes the statements of one predicate, each entity before the first relationship that names it."""

    def __init__(self, file: str, predicate: str, date: str, names: Sequence[str]) -> None:
        self._file, self._predicate, self._date, self._names = file, predicate, date, names
        self._known: set[str] = set()

    def lines(self, rows: Iterator[tuple[Value, ...]], arity: int) -> Iterator[str]:
        """Statements of all facts."""
        for number, row in enumerate(rows, 1):
            ends = [self._name(value, place, number) for place, value in enumerate(row[:2])]
            for name in ends:
                if name not in self._known:
                    self._known.add(name)
                    yield _line(self._entity(name), None)
            if arity > 1:
                share = self._percent(row[2], number) if arity == 3 else None
                yield _line(self._relationship(ends[0], ends[1], number, shared=share is not None), share)

    def _entity(self, name: str) -> dict[str, Any]:
        details = {
            "isComponent": False,
            "entityType": {"type": "unknownEntity"},
            "unspecifiedEntityDetails": {"reason": "informationUnknownToPublisher"},
            "name": name,
        }
        return self._statement("entity", name, name, details)

    def _relationship(self, owner: str, company: str, number: int, *, shared: bool) -> dict[str, Any]:
        interest: dict[str, Any] = {"type": "shareholding", "directOrIndirect": "direct"}
        if shared:
            interest["share"] = {"exact": "@"}
        details = {
            "isComponent": False,
            "subject": company,
            "interestedParty": owner,
            "interests": [interest],
        }
        return self._statement("relationship", company, f"{self._predicate}-{number}", details)

    def _statement(self, kind: str, subject: str, record: str, details: dict[str, Any]) -> dict[str, Any]:
        return {
            "statementId": str(uuid5(_NAMES, f"{self._predicate} {kind} {record}")),
            "statementDate": self._date,
            "declarationSubject": subject,
            "recordId": record,
            "recordType": kind,
            "recordStatus": "new",
            "recordDetails": details,
            "publicationDetails": {
                "publicationDate": self._date,
                "bodsVersion": VERSION,
                "publisher": {"name": "kgreason"},
            },
        }

    def _name(self, value: Value, place: int, number: int) -> str:
        name = text(value)
        if not name:
            raise self._error(number, place, "a record needs a name that is not empty")
        return name

    def _percent(self, value: Value, number: int) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise self._error(number, 2, f"{text(value)} is no share from 0 to 1")
        return format(Decimal(repr(value)) * 100, "f")

    def _error(self, number: int, place: int, message: str) -> DataError:
        where = f"fact {number:,} of {self._predicate}, {self._names[place]}"
        return DataError(self._file, f"{where}: {message}", hint="write another format, for instance csv")


def _line(statement: dict[str, Any], share: str | None) -> str:
    """Write a statement, the share digit by digit: a double of the percentage would not give every share back.

    The place of the share cannot be mistaken, since quotation marks within strings are escaped.
    """
    line = json.dumps(statement, ensure_ascii=False, check_circular=False)
    return line if share is None else line.replace(_SHARE, f'"exact": {share}', 1)
