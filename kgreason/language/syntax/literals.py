"""Constants of the grammar: numbers, strings, booleans, dates, and parameters used as constants."""

# ruff: noqa: D102  (the grammar says what each callback gets)

from __future__ import annotations

import math
import re
from calendar import month_name, monthrange
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lark import Token, Transformer

from kgreason.base.errors import Diagnostic, Span
from kgreason.language.syntax.syntax_tree import Clause, Constant, Expression, Unary
from kgreason.language.values import Null
from kgreason.language.vocabulary import meant

GREATEST = 2**63 - 1
LONGEST = 1_000_000  # characters that parameters may add to a string: expansion can be exponential
UNKNOWN = Constant(Null(0))
"""Value of a parameter that has none; of a null, no message tells the type."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "$": "$", "/": "/"}
_SPECIAL = re.compile(r'\\([\s\S])|""|\$\{([^}\n]*)\}')
_DATE = re.compile(r"(\d+)-(\d+)-(\d+)(?:[ T](\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?)?(.*)")


def references(token: Token) -> list[str]:
    """Names of the parameters that a token refers to."""
    if token.type == "PARAMETER":
        return [str(token[2:-1])]
    if token.type != "STRING" or "$" not in token:
        return []
    return [m[2] for m in _SPECIAL.finditer(token, 1, len(token) - 1) if m[2] is not None]


class Literals(Transformer[Token, list[Clause]]):
    """Builder of constants; `found` collects diagnostics."""

    def __init__(self) -> None:
        super().__init__()
        self.begin("<text>", "", {})

    def begin(self, file: str, text: str, parameters: Mapping[str, Constant]) -> None:
        """Start a file.

        Parameters
        ----------
        file, text
            Source, for spans and the text of unsupported expressions.
        parameters
            Values of ``${name}``.
        """
        self.file, self.text, self.parameters = file, text, parameters
        self.found: list[Diagnostic] = []
        self._seen: set[Diagnostic] = set()
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.unread = False  # whether a skipped clause may hold predicates
        self.next_clause()

    def next_clause(self, documentation: str = "") -> None:
        """Start a clause."""
        self.documentation = documentation
        self._anonymous = 0
        self._border: dict[Span, Constant] = {}

    def only(self, found: list[Diagnostic]) -> None:
        """Discard all diagnostics but these."""
        self.found = list(found)
        self._seen = set(found)

    def end_clause(self) -> None:
        """Report errors that can be decided only at the end of a clause."""
        for span, constant in self._border.items():
            self._too_large(str(constant.value), span)

    def _span(self, first: Any, last: Any) -> Span:
        start, end = getattr(first, "span", first), getattr(last, "span", last)
        return Span(self.file, start.line, start.column, end.end_line, end.end_column)

    def _source(self, span: Span) -> str:
        starts = self._line_starts
        return self.text[
            starts[span.line - 1] + span.column - 1 : starts[span.end_line - 1] + span.end_column - 1
        ]

    def _report(
        self, code: str, message: str, span: Span, note: str | None = None, hint: str | None = None
    ) -> None:
        finding = Diagnostic(code, message, span, note, hint)
        if finding not in self._seen:  # a string may have the same error a million times
            self._seen.add(finding)
            self.found.append(finding)

    # Numbers and booleans

    def unary(self, children: list[Any]) -> Expression:
        operator, operand = children
        span = self._span(operator, operand)
        if operator == "-" and isinstance(operand, Constant) and type(operand.value) in (int, float):
            self._border.pop(operand.span, None)
            return Constant(-operand.value, span=span)  # type: ignore[operator]
        return Unary(str(operator), operand, span=span)

    def integer(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = int(token) if len(token) < 40 else GREATEST + 2
        if value > GREATEST + 1:
            self._too_large(str(token), span)
            value = 0
        constant = Constant(value, span=span)
        if value > GREATEST:
            self._border[span] = constant  # valid only after a minus
        return constant

    def _too_large(self, shown: str, span: Span) -> None:
        self._report(
            "E005",
            f"the integer {shown if len(shown) <= 40 else shown[:20] + '...'} is too large",
            span,
            note=f"integers have 64 bits: {-GREATEST - 1} to {GREATEST}",
            hint="write it as a double (with a decimal point) or as a string",
        )

    def double(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        value = float(token.rstrip("fF"))
        if math.isinf(value):
            self._report(
                "E005", f"the double {str(token)[:40]} is too large", span, note="doubles end near 1.8e308"
            )
            value = 0.0
        return Constant(value, span=span)

    def boolean(self, children: list[Token]) -> Constant:
        return Constant(children[0] == "#T", span=self._span(children[0], children[0]))

    # Dates

    def date(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        match = _DATE.match(token)
        assert match is not None, token
        *parts, fraction, zone = match.groups("")
        numbers = [int(part or 0) for part in parts]
        if zone or len(fraction) > 6:
            self._report(
                "E014",
                f"the date {token} has {'a time zone' if zone else 'more than six digits of a second'}",
                span,
                note="a date is a day, or a day and a time without a zone, exact to microseconds",
                hint=f"write {token.removesuffix(zone) if zone else token[: 6 - len(fraction)]}",
            )
            return Constant(datetime.min, span=span)
        try:
            value = datetime(*numbers, int(fraction.ljust(6, "0")))  # type: ignore[call-arg, arg-type]
        except ValueError:
            self._report("E014", f"there is no date {token}", span, note=_impossible(*numbers[:3]))
            value = datetime.min
        return Constant(value, span=span)

    # Parameters and strings

    def parameter(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        return Constant(self._parameter(token[2:-1], span).value, span=span)

    def _parameter(self, name: str, span: Span) -> Constant:
        if name in self.parameters:
            return self.parameters[name]
        self._report(
            "E306",
            f"there is no parameter {name!r}",
            span,
            note='`${name}` stands for the value that @param("name", value) gives',
            hint=meant(name, self.parameters, "${{{}}}") or f'add @param("{name}", ...)',
        )
        return UNKNOWN

    def string(self, children: list[Token]) -> Constant:
        token = children[0]
        span = self._span(token, token)
        content = str(token[1:-1])
        if "\\" in content or '"' in content or "$" in content:
            self._room = LONGEST
            content = _SPECIAL.sub(lambda m: self._special(m, span), content)
        return Constant(content, span=span)

    def _special(self, match: re.Match[str], span: Span) -> str:
        escaped, parameter = match.groups()
        if parameter is not None:
            return self._within_string(self._parameter(parameter, span), span)
        if escaped is None:
            return '"'
        if escaped not in _ESCAPES:
            self._report(
                "E011",
                f"unknown escape `\\{escaped}` in a string",
                span,
                note='the escapes are \\n \\t \\r \\" \\\\ and \\$',
                hint="write `\\\\` for a backslash",
            )
        return _ESCAPES.get(escaped, escaped)

    def _within_string(self, constant: Constant, span: Span) -> str:
        if constant == UNKNOWN:
            return ""
        text = constant.value if isinstance(constant.value, str) else str(constant)
        if self._room < 0:
            return ""
        self._room -= len(text)
        if self._room >= 0:
            return text
        self._report(
            "E019",
            f"parameters make this string longer than {LONGEST:,} characters",
            span,
            note="the value of a parameter may hold other parameters, which multiplies its length",
        )
        return ""


def _impossible(year: int, month: int, day: int) -> str:
    """Report which part of a date is out of range."""
    if year < 1:
        return "years run from 0001 to 9999"
    if not 1 <= month <= 12:
        return "a date is written year-month-day, and months run from 01 to 12"
    last = monthrange(year, month)[1]
    if not 1 <= day <= last:
        return f"the days of {month_name[month]} {year} run from 01 to {last}"
    return "hours run from 00 to 23, minutes and seconds from 00 to 59"
