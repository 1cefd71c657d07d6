"""Statements of the Beneficial Ownership Data Standard, versions 0.1 to 0.4, in one form.

Up to 0.3 each statement is a thing of its own, which later ones may replace; from 0.4 on statements tell the history of
records, of which the last one counts. Shares are percentages.

References
----------
Open Ownership: Beneficial Ownership Data Standard, https://standard.openownership.org
"""

from __future__ import annotations

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
_HUNDRED = Decimal(100)


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
    ValueError
        If it is none, with the reason.
    """
    if not isinstance(given, dict):
        raise ValueError("this is no statement of BODS but another value of JSON")
    if "recordType" in given:
        record, kind = _text(given, "recordId"), _text(given, "recordType")
        details = given.get("recordDetails")
        if not isinstance(details, dict):
            raise ValueError("the statement has no recordDetails")
        replaces: tuple[str, ...] = ()
    elif "statementType" in given:
        record = _text(given, "statementID")
        kind = _KINDS.get(_text(given, "statementType").lower(), "")
        details, replaces = given, tuple(given.get("replacesStatements") or ())
    else:
        raise ValueError("this is no statement of BODS: it has neither a statementType nor a recordType")
    if kind not in ("entity", "person", "relationship"):
        raise ValueError(
            f"unknown type of statement {given.get('recordType') or given.get('statementType')!r}"
        )
    closed = given.get("recordStatus") == "closed"
    return Statement(
        kind, record, replaces, str(given.get("statementDate") or ""), closed, _name(details), details
    )


def parties(details: Mapping[str, Any]) -> tuple[str, str]:
    """Interested party and subject of a relationship; `UNSPECIFIED` where nobody is named."""
    return _party(details.get("interestedParty")), _party(details.get("subject"))


def interests(details: Mapping[str, Any]) -> Iterator[Interest]:
    """Interests of a relationship.

    Raises
    ------
    ValueError
        If a share is no percentage.
    """
    for given in details.get("interests") or ():
        share = given.get("share") or {}
        level = given.get("directOrIndirect") or given.get("interestLevel") or "unknown"
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
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            if not 0 <= value <= _HUNDRED:
                raise ValueError(f"a share of {value} is no percentage")
            return float(Decimal(str(value)) / _HUNDRED)
    return None


def _party(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        found = given.get("describedByEntityStatement") or given.get("describedByPersonStatement")
        return str(found) if found else UNSPECIFIED
    return UNSPECIFIED


def _name(details: Mapping[str, Any]) -> str:
    if details.get("name"):
        return str(details["name"])
    for given in details.get("names") or ():
        if isinstance(given, dict) and given.get("fullName"):
            return str(given["fullName"])
    return ""


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"the statement has no {key}")
    return value
