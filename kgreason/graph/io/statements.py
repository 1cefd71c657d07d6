"""Statements of the Beneficial Ownership Data Standard, versions 0.1 to 0.4, in one form.

Up to 0.3 each statement is a thing of its own, which later ones may replace; from 0.4 on statements tell the history of
records, of which the last one counts. Shares are percentages.

References
----------
Open Ownership: Beneficial Ownership Data Standard, https://standard.openownership.org
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kgreason.records import dataclass

UNSPECIFIED = ""
"""Party of an interest that nobody names."""
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
LEVELS = ("direct", "indirect", "unknown")
_HUNDRED = Decimal(100)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII)
_OTHERWISE = "plain rows of JSON are read with format=json"
_MEND = "mend the statement, or take it out"


class Malformed(ValueError):
    """What is wrong with a statement, and what to do about it."""

    def __init__(self, message: str, hint: str = _MEND) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement says.

    Attributes
    ----------
    kind
        ``entity``, ``person`` or ``relationship``.
    record
        What it is about: its record or, up to 0.3, itself.
    replaces
        Earlier statements that it takes the place of.
    date
        ISO date, empty if there is none.
    closed
        Whether the record ends with it.
    name
        Of an entity or a person.
    details
        Of a relationship: subject, interested party, interests.
    """

    kind: str
    record: str
    replaces: tuple[str, ...]
    date: str
    closed: bool
    name: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interest:
    """One interest of a relationship; shares are None or parts of 1."""

    type: str
    level: str
    ended: bool
    exact: float | None
    minimum: float | None
    maximum: float | None


def statement(given: Any) -> Statement:
    """Understand a statement.

    Raises
    ------
    Malformed
        If it is none, with the reason.
    """
    if not isinstance(given, dict):
        raise Malformed("this is no statement of BODS but another value of JSON", _OTHERWISE)
    if "recordType" in given:
        record, kind = _text(given, "recordId"), _text(given, "recordType")
        details = given.get("recordDetails")
        if not isinstance(details, dict):
            raise Malformed("the statement has no recordDetails")
        replaces: tuple[str, ...] = ()
    elif "statementType" in given:
        record = _text(given, "statementID")
        kind = _KINDS.get(_text(given, "statementType").lower(), "")
        details, replaces = given, tuple(_replaced(given))
    else:
        raise Malformed(
            "this is no statement of BODS: it has neither a statementType nor a recordType", _OTHERWISE
        )
    if kind not in ("entity", "person", "relationship"):
        raise Malformed(
            f"unknown type of statement {given.get('recordType') or given.get('statementType')!r}"
        )
    closed = given.get("recordStatus") == "closed"
    return Statement(kind, record, replaces, _date(given), closed, _name(details), details)


def _replaced(given: Mapping[str, Any]) -> Iterator[str]:
    for old in _list(given, "replacesStatements"):
        if not isinstance(old, str):
            raise Malformed(f"replacesStatements holds {_shown(old)}, which is no id of a statement")
        yield old


def _date(given: Mapping[str, Any]) -> str:
    date = given.get("statementDate") or ""
    if date and not (isinstance(date, str) and _DATE.fullmatch(date)):
        raise Malformed(f"the statementDate {_shown(date)} is no ISO date", "write it as in 2024-01-15")
    return str(date)


def parties(details: Mapping[str, Any]) -> tuple[str, str]:
    """Interested party and subject of a relationship; `UNSPECIFIED` where nobody is named."""
    return _party(details.get("interestedParty")), _party(details.get("subject"))


def interests(details: Mapping[str, Any]) -> Iterator[Interest]:
    """Interests of a relationship.

    Raises
    ------
    Malformed
        If they are no list of interests, or a share is no percentage.
    """
    for given in _list(details, "interests"):
        if not isinstance(given, dict):
            raise Malformed(f"the interest {_shown(given)} is no object")
        share = given.get("share") or {}
        if not isinstance(share, dict):
            raise Malformed(
                f"the share {_shown(share)} is no object", 'write it as in "share": {"exact": 25}'
            )
        level = given.get("directOrIndirect") or given.get("interestLevel") or "unknown"
        if level not in LEVELS:
            raise Malformed(
                f"the level of an interest cannot be {_shown(level)}", f"one of {', '.join(LEVELS)}"
            )
        yield Interest(
            normal(str(given.get("type") or "unknownInterest")),
            str(level),
            bool(given.get("endDate")),
            _part(share, "exact"),
            _part(share, "minimum", "exclusiveMinimum"),
            _part(share, "maximum", "exclusiveMaximum"),
        )


def normal(type: str) -> str:
    """Type of an interest as all versions write it.

    Examples
    --------
    >>> normal("voting-rights") == normal("votingRights"), normal("settlor-of-trust")
    (True, 'settlor')
    """
    bare = type.replace("-", "").replace("_", "").lower()
    return _OF_TRUSTS.get(bare, bare)


def _part(share: Mapping[str, Any], *names: str) -> float | None:
    for name in names:
        value = share.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise Malformed(f"the {name} share {_shown(value)} is no number", "write it without quotes: 25")
        if not 0 <= value <= _HUNDRED:
            raise Malformed(f"a share of {_shown(value)} is no percentage", "shares go from 0 to 100")
        return float(Decimal(str(value)) / _HUNDRED)
    return None


def _party(given: Any) -> str:
    """Record or statement that is named; a reason why nobody is named is an object, too."""
    if isinstance(given, dict):
        given = given.get("describedByEntityStatement") or given.get("describedByPersonStatement")
    if given is not None and not isinstance(given, str):
        raise Malformed(f"a party cannot be {_shown(given)}", "name it by its record or statement")
    return given or UNSPECIFIED


def _name(details: Mapping[str, Any]) -> str:
    if details.get("name"):
        return str(details["name"])
    for given in _list(details, "names"):
        if isinstance(given, dict) and given.get("fullName"):
            return str(given["fullName"])
    return ""


def _list(given: Mapping[str, Any], key: str) -> list[Any]:
    found = given.get(key)
    if found is not None and not isinstance(found, list):
        raise Malformed(f"{key} is no list but {_shown(found)}")
    return found or []


def _shown(value: Any) -> str:
    """Value in a message, not at any length."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise Malformed(f"the statement has no {key}")
    return value
