"""Row filters of sources: conditions on columns, as given by ``where=``.

The language is a subset of SQL without functions, arithmetic and subqueries; an expression only reads cells of its row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from lark import Lark, Token, Transformer, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

from kgreason.base.arrays import as_arrow, as_numpy, pa, pc
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import typed_array
from kgreason.data.formats.sql import quoted
from kgreason.data.raw_table import Column, Raw
from kgreason.data.source_options import Options
from kgreason.data.text_conversion import coded, infer, missing, plain
from kgreason.data.value_conversion import CastError, Objects, is_text
from kgreason.data.value_conversion import text as text_of
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.values import read_date
from kgreason.language.vocabulary import MIRRORED, suggest

_GRAMMAR = r"""
?either: both ("OR"i both)*
?both: single ("AND"i single)*
?single: primary | NOT+ primary  -> negation
?primary: "(" either ")"
    | operand OPERATOR operand  -> comparison
    | name  -> truth
    | name "IS"i [NOT] "NULL"i  -> null
    | name [NOT] "IN"i "(" literal ("," literal)* ")"  -> among
    | name [NOT] "BETWEEN"i operand "AND"i operand  -> between
    | name [NOT] LIKE TEXT  -> like
?operand: name | literal
name: WORD | QUOTED
?literal: _DATE? TEXT  -> text
    | NUMBER  -> number
    | TRUTH  -> true
NOT: /not(?![\w.:])/i
LIKE: "LIKE"i | "ILIKE"i
TRUTH: /(?:true|false)(?![\w.:])/i
_DATE: /date(?=\s*')/i
OPERATOR: "<=" | ">=" | "<>" | "!=" | "==" | "=" | "<" | ">"
TEXT: /'(?:[^']|'')*'/
QUOTED: /"(?:[^"]|"")+"/
NUMBER: /-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/
WORD.-1: /:?[^\W\d][\w.:]*/
%ignore /\s+/
"""
_DEEP = 50  # nested brackets; SQLite allows expressions of depth 100
_AS_TEXT = "compare the column with a text, in '...'"
_HELP = (
    "write comparisons of columns with texts in '...' or numbers, IN (...), BETWEEN, LIKE, IS NULL, joined by "
    'AND, OR and NOT; names of other letters stand in "..."; @qbind asks a database for more'
)
_FUNCTIONS = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""Names of the comparisons in NumPy and Arrow."""
_PLAIN = {"==": "=", "!=": "<>"}
_TOKENS = {
    "WORD": "a column",
    "TEXT": "a text in '...'",
    "NUMBER": "a number",
    "OPERATOR": "a comparison",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": "a comma",
    "$END": "the end",
}


Literal: TypeAlias = str | int | float | bool


class Name(str):
    """A column of the table."""


class _Wrong(Exception):
    def __init__(self, message: str, hint: str = _HELP) -> None:
        super().__init__(message)
        self.hint = hint


def parse(location: str, expression: str) -> Tree[Token]:
    """Parse an expression; invalid syntax is a `DataError` with the position."""
    try:
        depths = accumulate({"(": 1, ")": -1}.get(token, 0) for token in _parser().lex(expression))
        if max(depths, default=0) > _DEEP:
            raise _Wrong(f"more than {_DEEP} brackets within one another")
        return _parser().parse(expression)
    except UnexpectedCharacters as error:
        wrong = _Wrong(f"cannot read {expression[error.pos_in_stream :][:20]!r}")
    except UnexpectedToken as error:
        wrong = _Wrong(_expected(error))
    except _Wrong as error:
        wrong = error
    raise _misread(location, expression, wrong)


def _misread(location: str, expression: str, wrong: _Wrong) -> DataError:
    return DataError(location, f"where={expression}: {wrong}", hint=wrong.hint)


def _expected(error: Any) -> str:
    """Tokens that are allowed at the position of an error."""
    shown = error.token if error.token.type != "$END" else "the end"
    if error.token == "(" and error.token_history and error.token_history[-1].type == "WORD":
        return f"{error.token_history[-1]}(...) is a function, and there are none"
    names = [name for name in error.accepts or error.expected if name not in ("QUOTED", "_DATE", "TRUTH")]
    allowed = sorted({_TOKENS.get(name, name) for name in names})
    *others, last = allowed or ["the end"]
    return f"expected {', '.join(others)}{' or ' if others else ''}{last}, found {shown}"


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, start="either", parser="lalr", maybe_placeholders=True)


class _Meaning(Transformer[Token, Any]):
    """Evaluation of a syntax tree, bottom up; methods are named after the grammar rules."""

    compared: Callable[[str, Name, Name | Literal], Any]
    fits: Callable[[Name, str, bool], Any]
    missing: Callable[[Name], Any]
    inverted: Callable[[Any], Any]
    joined: Callable[[bool, Sequence[Any]], Any]

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__()
        self.columns = columns

    def of(self, location: str, expression: str) -> Any:
        try:
            return self.transform(parse(location, expression))
        except VisitError as error:
            if isinstance(error.orig_exc, _Wrong):
                raise _misread(location, expression, error.orig_exc) from None
            raise error.orig_exc from None

    def either(self, parts: list[Any]) -> Any:
        return self.joined(False, parts)

    def both(self, parts: list[Any]) -> Any:
        return self.joined(True, parts)

    def negation(self, parts: list[Any]) -> Any:
        return parts[-1] if len(parts) % 2 else self.inverted(parts[-1])

    def comparison(self, parts: list[Any]) -> Any:
        left, sign, right = parts
        sign = _PLAIN.get(sign, str(sign))
        if isinstance(left, Name):
            return self.compared(sign, left, right)
        if isinstance(right, Name):
            return self.compared(MIRRORED.get(sign, sign), right, left)
        raise _Wrong("a comparison names no column")

    def truth(self, parts: list[Any]) -> Any:
        return self.compared("=", parts[0], True)

    def null(self, parts: list[Any]) -> Any:
        return self._unless(parts[1], self.missing(parts[0]))

    def among(self, parts: list[Any]) -> Any:
        name, negation, *values = parts
        return self._unless(negation, self.either([self.compared("=", name, value) for value in values]))

    def between(self, parts: list[Any]) -> Any:
        name, negation, low, high = parts
        bounds = [self.compared(">=", name, low), self.compared("<=", name, high)]
        return self._unless(negation, self.both(bounds))

    def like(self, parts: list[Any]) -> Any:
        name, negation, word, pattern = parts
        return self._unless(negation, self.fits(name, self.text([pattern]), word.lower() == "like"))

    def _unless(self, negation: Token | None, part: Any) -> Any:
        return self.inverted(part) if negation else part

    def name(self, parts: list[Token]) -> Name:
        (token,) = parts
        name = token[1:-1].replace('""', '"') if token.type == "QUOTED" else str(token)
        # case matters only to distinguish column names that differ in case
        alike = [name] if name in self.columns else [n for n in self.columns if n.lower() == name.lower()]
        if len(alike) == 1:
            return Name(alike[0])
        near = suggest(name, self.columns)
        means = f"did you mean {near!r}? " if near else ""
        raise _Wrong(f"there is no column {name!r}", f"{means}there are {', '.join(self.columns[:20])}")

    def text(self, parts: list[Token]) -> str:
        return parts[0][1:-1].replace("''", "'")

    def number(self, parts: list[Token]) -> float:
        (token,) = parts
        if len(token) < 40 and math.isfinite(float(token)):
            return int(token) if re.fullmatch(r"-?\d+", token) else float(token)
        raise _Wrong(f"expected a smaller number, found {token}")

    def true(self, parts: list[Token]) -> bool:
        return parts[0].lower() == "true"


def condition(
    location: str,
    expression: str,
    names: Sequence[str],
    *,
    escaped: bool = False,
    insensitive: str | None = None,
) -> str:
    """Translate an expression to SQL, with every name resolved to a column.

    `escaped` is for PostgreSQL, where a backslash in a string or pattern may be an escape character. `insensitive` is a
    function of SQL that is applied to both sides of ILIKE, for databases without this operator.
    """
    written: str = _Sql(names, escaped, insensitive).of(location, expression)
    return written


class _Sql(_Meaning):
    def __init__(self, columns: Sequence[str], escaped: bool, insensitive: str | None) -> None:
        super().__init__(columns)
        self.escaped, self.insensitive = escaped, insensitive

    def compared(self, sign: str, left: Name, right: Name | Literal) -> str:
        return f"{quoted(left)} {sign} {self._operand(right)}"

    def fits(self, name: Name, pattern: str, capitals: bool) -> str:
        cell, like = quoted(name), self._operand(pattern)
        if self.insensitive and not capitals:
            return f"{self.insensitive}({cell}) LIKE {self.insensitive}({like})"
        return f"{cell} {'LIKE' if capitals else 'ILIKE'} {like}" + (" ESCAPE ''" if self.escaped else "")

    def missing(self, name: Name) -> str:
        return f"{quoted(name)} IS NULL"

    def inverted(self, part: str) -> str:
        return f"NOT ({part})"

    def joined(self, all: bool, parts: Sequence[str]) -> str:
        return "(" + (") AND (" if all else ") OR (").join(parts) + ")"

    def _operand(self, part: Name | Literal) -> str:
        if isinstance(part, Name):
            return quoted(part)
        if not isinstance(part, str):
            return text_of(part)
        double = part.replace("'", "''")
        if self.escaped and "\\" in part:
            return f"E'{double.replace(chr(92), 2 * chr(92))}'"
        return f"'{double}'"


def filtered(raw: Raw, options: Options) -> Raw:
    """Rows of a table that satisfy the option ``where``; rows for which the condition is null do not."""
    if options.where is None or not raw.columns:
        return raw
    columns = {**raw.extra, **dict(zip(raw.names, raw.columns, strict=True))}
    found = _Rows(raw, columns, options).of(raw.file, options.where)
    kept = as_numpy(found.fill_null(False))
    mask, rows = as_arrow(kept), np.flatnonzero(kept)

    def taken(column: Column) -> Column:
        return column.filter(mask) if hasattr(column, "filter") else column  # else `Unfit`: an error on use

    note = f"{raw.file}: {len(rows):,} of {len(kept):,} rows meet where={options.where}"
    return replace(
        raw,
        columns=tuple(map(taken, raw.columns)),
        extra={name: taken(column) for name, column in raw.extra.items()},
        key=None if raw.key is None else (raw.key[0], taken(raw.key[1])),
        undirected=None if raw.undirected is None else raw.undirected[kept],
        line=lambda row: raw.line(int(rows[row])),
        notes=(*raw.notes, note),
    )


class _Rows(_Meaning):
    """Condition evaluated on the rows of one table, as an array of truth values; null if unknown."""

    def __init__(self, raw: Raw, columns: Mapping[str, Column], options: Options) -> None:
        super().__init__([*columns])
        self.raw, self.cells, self.options = raw, columns, options
        self._plain = cache(self._read)
        self._absent = cache(
            lambda name: missing(self._plain(name), options.null_string, blank=not raw.typed)
        )

    def compared(self, sign: str, left: Name, right: Name | Literal) -> Column:
        if isinstance(right, Name):
            return self._with_column(sign, left, right)
        return self._with_value(sign, left, right)

    def fits(self, name: Name, pattern: str, capitals: bool) -> Column:
        wild = {"%": ".*", "_": "."}
        expression = "".join(wild.get(c) or re.escape(c) for c in pattern)
        flags = "s" if capitals else "si"
        return pc.match_substring_regex(self._texts(name), rf"(?{flags})\A(?:{expression})\z")

    def missing(self, name: Name) -> Column:
        return as_arrow(self._absent(name))

    def inverted(self, part: Column) -> Column:
        return pc.invert(part)

    def joined(self, all: bool, parts: Sequence[Column]) -> Column:
        return reduce(pc.and_kleene if all else pc.or_kleene, parts)

    def _read(self, name: str) -> Column:
        try:
            return plain(self.cells[name])
        except CastError as error:
            message = f"{error.value} is not {error.expected}"
            raise self.raw.error(error.row, message, name, error.hint) from error

    def _kind(self, name: str) -> Kind:
        """Kind of the cells, inferred from their values; STRING if there are none."""
        column = self._plain(name).filter(as_arrow(~self._absent(name)))
        texts = self.raw.typed or name in self.raw.texts
        if not len(column) or (texts and is_text(column)):
            return Kind.STRING
        return infer(column, self.options.decimal)

    def _values(self, name: str, kind: Kind) -> npt.NDArray[Any]:
        """Cells as numbers, truth values or dates; arbitrary where a cell is missing."""
        column, absent = self._plain(name), as_arrow(self._absent(name))
        nothing = pa.scalar("0" if is_text(column) else 0).cast(column.type)
        try:
            codes = coded(pc.if_else(absent, nothing, column), kind, decimal=self.options.decimal)
        except CastError as error:
            message = f"where={self.options.where}: {error.value!r} is not {error.expected}"
            double = error.value.replace("'", "''")
            text = _AS_TEXT if error.value.endswith("...") else f"compare with a text: {name} = '{double}'"
            hint = error.hint or (text if kind is not Kind.DATE else None)
            raise self.raw.error(error.row, message, name, hint) from error
        return typed_array(kind, codes)

    def _texts(self, name: str) -> Column:
        column = self._plain(name)
        if isinstance(column, Objects):
            raise _Wrong(f"the column {name!r} holds lists", "compare another column")
        if pa.types.is_floating(column.type):
            column = pa.array([None if v is None else text_of(v) for v in column.to_pylist()])
        return pc.if_else(as_arrow(self._absent(name)), None, column.cast(pa.large_string()))

    def _truths(self, values: npt.NDArray[Any], *names: str) -> Column:
        """Truth values; null where a cell is missing."""
        absent = np.logical_or.reduce([self._absent(name) for name in names])
        return pc.if_else(as_arrow(absent), None, as_arrow(np.asarray(values)))

    def _with_value(self, sign: str, name: str, value: Literal) -> Column:
        """Compare a column with a literal; string literals compare as text, except with dates."""
        column, compare = self._plain(name), getattr(np, _FUNCTIONS[sign])
        if isinstance(column, Objects):
            raise _Wrong(f"the column {name!r} holds lists", "compare another column")
        if isinstance(value, bool):
            return self._truths(compare(self._values(name, Kind.BOOL), value), name)
        if isinstance(value, str):
            if not is_text(column) and pa.types.is_timestamp(column.type):
                date = read_date(value)
                if date is None:
                    raise _Wrong(f"{value!r} is no date", "write dates as in '2024-01-15'")
                return self._truths(compare(self._values(name, Kind.DATE), np.datetime64(date, "us")), name)
            if sign in MIRRORED and not is_text(column):
                raise _Wrong(f"the column {name!r} is not of texts", "compare with a number, without '...'")
            return pc.call_function(
                _FUNCTIONS[sign], [self._texts(name), pa.scalar(value, pa.large_string())]
            )
        if self._kind(name) is Kind.INT:
            whole = value if value == value // 1 else None
            if whole is None and sign in MIRRORED:  # of integers: below the next one, or at most the last
                whole = math.floor(value) if sign in (">", "<=") else math.ceil(value)
            bound = value if whole is None else int(whole)
            return self._truths(compare(self._values(name, Kind.INT), bound), name)
        # a column without values can be compared with any number: the result is null
        if isinstance(value, int) and float(value) != value and not self._absent(name).all():
            raise _Wrong(f"no double equals {value}", _AS_TEXT)
        return self._truths(compare(self._values(name, Kind.DOUBLE), float(value)), name)

    def _with_column(self, sign: str, one: str, other: str) -> Column:
        kinds = {self._kind(one), self._kind(other)}
        if kinds <= {Kind.INT, Kind.DOUBLE} or (len(kinds) == 1 and kinds <= {Kind.BOOL, Kind.DATE}):
            kind = Kind.DOUBLE if len(kinds) > 1 else kinds.pop()
            left, right = self._values(one, kind), self._values(other, kind)
            return self._truths(getattr(np, _FUNCTIONS[sign])(left, right), one, other)
        if sign in MIRRORED and Kind.STRING not in kinds:
            raise _Wrong(f"the columns {one!r} and {other!r} are of two types")
        return pc.call_function(_FUNCTIONS[sign], [self._texts(one), self._texts(other)])
