"""Rows of a source that meet a condition on its columns, as ``where=`` gives it.

The language is the part of SQL without functions, arithmetic and subqueries: an expression reads cells of its row and
nothing else.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow, as_numpy
from kgreason.engine.table import Kind
from kgreason.errors import DataError
from kgreason.graph.io.cast import coded, infer, missing, plain
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw
from kgreason.graph.io.sql import quoted
from kgreason.graph.io.values import CastError, Objects, is_text
from kgreason.graph.io.values import text as text_of
from kgreason.lang.names import suggest
from kgreason.lang.values import EXACT, read_date
from kgreason.records import dataclass

if TYPE_CHECKING:
    from lark import Lark

_GRAMMAR = r"""
?either: both ("OR"i both)*
?both: single ("AND"i single)*
?single: NOT single  -> negation
    | "(" either ")"
    | operand OPERATOR operand  -> comparison
    | name  -> truth
    | name "IS"i [NOT] "NULL"i  -> null
    | name [NOT] tail  -> tailed
tail: "IN"i "(" literal ("," literal)* ")"  -> among
    | "BETWEEN"i operand "AND"i operand  -> between
    | LIKE TEXT  -> like
?operand: name | literal
name: WORD | QUOTED
?literal: "DATE"i? TEXT  -> text
    | NUMBER  -> number
    | TRUTH  -> true
NOT: "NOT"i
LIKE: "LIKE"i | "ILIKE"i
TRUTH: "TRUE"i | "FALSE"i
OPERATOR: "<=" | ">=" | "<>" | "!=" | "==" | "=" | "<" | ">"
TEXT: /'(?:[^']|'')*'/
QUOTED: /"(?:[^"]|"")+"/
NUMBER: /-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/
WORD.-1: /:?[^\W\d][\w.:]*/
%ignore /\s+/
"""
_DEEP = 50  # brackets within one another; SQLite has room for 100 levels of an expression
_AS_TEXT = "compare the column with a text, in '...'"
_HELP = (
    "write comparisons of columns with texts in '...' or numbers, IN (...), BETWEEN, LIKE, IS NULL, joined by "
    'AND, OR and NOT; names of other letters stand in "..."; @qbind asks a database for more'
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PLAIN = {"==": "=", "!=": "<>"}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SAID = {
    "WORD": "a column",
    "TEXT": "a text in '...'",
    "NUMBER": "a number",
    "OPERATOR": "a comparison",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": "a comma",
    "$END": "the end",
}


@dataclass(frozen=True)
class Name:
    """A column, as the expression writes it."""

    text: str


Literal: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class Compare:
    """``left operator right``."""

    operator: str
    left: Name
    right: Name | Literal


@dataclass(frozen=True)
class Like:
    """A text that fits a pattern of ``%`` and ``_``."""

    name: Name
    pattern: str
    capitals: bool


@dataclass(frozen=True)
class Null:
    """A missing cell."""

    name: Name


@dataclass(frozen=True)
class Not:
    """What does not hold."""

    part: Condition


@dataclass(frozen=True)
class Joined:
    """All parts hold (AND), or at least one (OR)."""

    all: bool
    parts: tuple[Condition, ...]


Condition: TypeAlias = "Compare | Like | Null | Not | Joined"


class _Wrong(Exception):
    """What is wrong with an expression, and what to do about it."""

    def __init__(self, message: str, hint: str = _HELP) -> None:
        super().__init__(message)
        self.hint = hint


def parse(place: str, expression: str) -> Condition:
    """Read an expression.

    Raises
    ------
    DataError
        If it is none, with the place where it stands.

    Examples
    --------
    >>> parse("own.csv", "type = 'owner'")
    Compare(operator='=', left=Name(text='type'), right='owner')
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

    try:
        try:
            depths = accumulate({"(": 1, ")": -1}.get(token, 0) for token in _parser().lex(expression))
            if max(depths, default=0) > _DEEP:
                raise _Wrong(f"more than {_DEEP} brackets within one another")
            found: Condition = _parser().parse(expression)  # type: ignore[assignment]
            return found
        except UnexpectedCharacters as error:
            raise _Wrong(f"cannot read {expression[error.pos_in_stream :][:20]!r}") from None
        except UnexpectedToken as error:
            raise _Wrong(_expected(error)) from None
        except VisitError as error:
            raise error.orig_exc from None
    except _Wrong as wrong:
        raise _misread(place, expression, wrong) from None


def _misread(place: str, expression: str, wrong: _Wrong) -> DataError:
    return DataError(place, f"where={expression}: {wrong}", hint=wrong.hint)


def _expected(error: Any) -> str:
    """What could stand in the place of a token."""
    shown = error.token if error.token.type != "$END" else "the end"
    if error.token == "(" and error.token_history and error.token_history[-1].type == "WORD":
        return f"{error.token_history[-1]}(...) is a function, and there are none"
    names = [name for name in error.accepts or error.expected if name not in ("QUOTED", "DATE", "TRUTH")]
    said = sorted({_SAID.get(name, name) for name in names})
    *others, last = said or ["the end"]
    return f"expected {', '.join(others)}{' or ' if others else ''}{last}, found {shown}"


@cache
def _parser() -> Lark:
    from lark import Lark, Transformer, v_args

    @v_args(inline=True)
    class Builder(Transformer[Any, Condition]):
        """Builds the condition of a parsed expression; methods are named as the rules of the grammar."""

        def either(self, *parts: Condition) -> Condition:
            return Joined(False, parts)

        def both(self, *parts: Condition) -> Condition:
            return Joined(True, parts)

        def negation(self, _: str, part: Condition) -> Condition:
            return _negated(part)

        def comparison(self, left: Any, sign: str, right: Any) -> Condition:
            return _compared(_PLAIN.get(sign, str(sign)), left, right)

        def truth(self, name: Name) -> Condition:
            return Compare("=", name, True)

        def null(self, name: Name, negation: str | None) -> Condition:
            return _negated(Null(name)) if negation else Null(name)

        def tailed(self, name: Name, negation: str | None, tail: Callable[[Name], Condition]) -> Condition:
            return _negated(tail(name)) if negation else tail(name)

        def among(self, *values: Literal) -> Callable[[Name], Condition]:
            return lambda name: Joined(False, tuple(Compare("=", name, value) for value in values))

        def between(self, low: Any, high: Any) -> Callable[[Name], Condition]:
            return lambda name: Joined(True, (_compared(">=", name, low), _compared("<=", name, high)))

        def like(self, word: str, pattern: str) -> Callable[[Name], Condition]:
            return lambda name: Like(name, self.text(pattern), word.lower() == "like")

        def name(self, token: str) -> Name:
            return Name(token[1:-1].replace('""', '"') if token.startswith('"') else str(token))

        def text(self, token: str) -> str:
            return token[1:-1].replace("''", "'")

        def number(self, token: str) -> float:
            if len(token) < 40 and math.isfinite(float(token)):
                return int(token) if re.fullmatch(r"-?\d+", token) else float(token)
            raise _Wrong(f"expected a smaller number, found {token}")

        def true(self, token: str) -> bool:
            return token.lower() == "true"

    return Lark(_GRAMMAR, start="either", parser="lalr", maybe_placeholders=True, transformer=Builder())


def _negated(part: Condition) -> Condition:
    return part.part if isinstance(part, Not) else Not(part)  # no chain of NOT is deep


def _compared(sign: str, left: Name | Literal, right: Name | Literal) -> Condition:
    if isinstance(left, Name):
        return Compare(sign, left, right)
    if isinstance(right, Name):
        return Compare(_SWAPPED.get(sign, sign), right, left)
    raise _Wrong("a comparison names no column")


def condition(
    place: str,
    expression: str,
    names: Sequence[str],
    *,
    escaped: bool = False,
    insensitive: str | None = None,
) -> str:
    """An expression as SQL writes it, every name of which is a column.

    Parameters
    ----------
    escaped
        As PostgreSQL reads it, where a backslash in a text or a pattern may have a meaning.
    insensitive
        Function that both sides of ILIKE go through where there is no such operator.

    Raises
    ------
    DataError
        If it is none, or names no column of the table.
    """

    def text(value: str) -> str:
        double = value.replace("'", "''")
        return f"E'{double.replace(chr(92), 2 * chr(92))}'" if escaped and "\\" in value else f"'{double}'"

    def operand(part: Name | Literal) -> str:
        if isinstance(part, Name):
            return quoted(_known(part.text, names))
        return text(part) if isinstance(part, str) else text_of(part)

    def write(part: Condition) -> str:
        match part:
            case Compare():
                return f"{operand(part.left)} {part.operator} {operand(part.right)}"
            case Like():
                name, pattern = operand(part.name), text(part.pattern)
                if insensitive and not part.capitals:
                    return f"{insensitive}({name}) LIKE {insensitive}({pattern})"
                like = "LIKE" if part.capitals else "ILIKE"
                return f"{name} {like} {pattern}" + (" ESCAPE ''" if escaped else "")
            case Null():
                return f"{operand(part.name)} IS NULL"
            case Not():
                return f"NOT ({write(part.part)})"
            case Joined():
                return (" AND " if part.all else " OR ").join(f"({write(p)})" for p in part.parts)

    try:
        return write(parse(place, expression))
    except _Wrong as wrong:
        raise _misread(place, expression, wrong) from None


def _known(name: str, names: Sequence[str]) -> str:
    """The column of a name; capitals count only where they tell two apart."""
    alike = [name] if name in names else [n for n in names if n.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    near = suggest(name, names)
    means = f"did you mean {near!r}? " if near else ""
    raise _Wrong(f"there is no column {name!r}", f"{means}there are {', '.join(names[:20])}")


def filtered(raw: Raw, options: Options) -> Raw:
    """Rows of a table that meet the option ``where``; a row of which it is not known does not.

    Raises
    ------
    DataError
        If the expression is none, names no column, or compares what cannot be compared.
    """
    if options.where is None or not raw.columns:
        return raw
    columns = {**raw.extra, **dict(zip(raw.names, raw.columns, strict=True))}
    try:
        found = _Rows(raw, columns, options).mask(parse(raw.file, options.where))
    except _Wrong as wrong:
        raise _misread(raw.file, options.where, wrong) from None
    kept = as_numpy(found.fill_null(False))
    mask, places = as_arrow(kept), np.flatnonzero(kept)

    def taken(column: Column) -> Column:
        return column.filter(mask) if hasattr(column, "filter") else column  # else its values are an error

    told = f"{raw.file}: {len(places):,} of {len(kept):,} rows meet where={options.where}"
    return replace(
        raw,
        columns=tuple(map(taken, raw.columns)),
        extra={name: taken(column) for name, column in raw.extra.items()},
        key_column=None if raw.key_column is None else taken(raw.key_column),
        undirected=None if raw.undirected is None else raw.undirected[kept],
        line=lambda row: raw.line(int(places[row])),
        notes=(*raw.notes, told),
    )


class _Rows:
    """Finds the rows of one table for which conditions hold."""

    def __init__(self, raw: Raw, columns: Mapping[str, Column], options: Options) -> None:
        self.raw, self.columns, self.options = raw, columns, options
        self._plain = cache(self._read)
        self._absent = cache(self._missing)

    def mask(self, part: Condition) -> Column:
        """Truth value of each row; null: it is not known."""
        import pyarrow.compute as pc

        match part:
            case Compare():
                name = self._name(part.left)
                if isinstance(part.right, Name):
                    return self._beside(part.operator, name, self._name(part.right))
                return self._with_value(part.operator, name, part.right)
            case Like():
                wild = {"%": ".*", "_": "."}
                pattern = "".join(wild.get(c) or re.escape(c) for c in part.pattern)
                flags = "s" if part.capitals else "si"
                return pc.match_substring_regex(
                    self._texts(self._name(part.name)), rf"(?{flags})\A(?:{pattern})\z"
                )
            case Null():
                return as_arrow(self._absent(self._name(part.name)))
            case Not():
                return pc.invert(self.mask(part.part))
            case Joined():
                return reduce(pc.and_kleene if part.all else pc.or_kleene, map(self.mask, part.parts))

    def _name(self, name: Name) -> str:
        return _known(name.text, list(self.columns))

    def _read(self, name: str) -> Column:
        try:
            return plain(self.columns[name])
        except CastError as error:
            message = f"{error.value} is not {error.expected}"
            raise self.raw.error(error.row, message, name, error.hint) from error

    def _missing(self, name: str) -> npt.NDArray[np.bool_]:
        return missing(self._plain(name), self.options.null_string, blank=not self.raw.typed)

    def _kind(self, name: str) -> Kind:
        """Kind of the cells, as far as they show it; of no cells, that of a text."""
        column = self._plain(name).filter(as_arrow(~self._absent(name)))
        texts = self.raw.typed or name in self.raw.texts
        if not len(column) or (texts and is_text(column)):
            return Kind.STRING
        return infer(column, self.options.decimal)

    def _values(self, name: str, kind: Kind) -> npt.NDArray[Any]:
        """Cells as numbers, truth values or dates; any value where there is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

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
        if kind is Kind.BOOL:
            return np.not_equal(codes, 0)
        return codes.view({Kind.DOUBLE: "float64", Kind.DATE: "datetime64[us]"}.get(kind, "int64"))

    def _texts(self, name: str) -> Column:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._plain(name)
        if isinstance(column, Objects):
            raise _Wrong(f"the column {name!r} holds lists", "compare another column")
        if pa.types.is_floating(column.type):
            column = pa.array([None if v is None else text_of(v) for v in column.to_pylist()])
        return pc.if_else(as_arrow(self._absent(name)), None, column.cast(pa.large_string()))

    def _truths(self, values: npt.NDArray[Any], *names: str) -> Column:
        """Truth values; null where a cell is missing."""
        import pyarrow.compute as pc

        absent = np.logical_or.reduce([self._absent(name) for name in names])
        return pc.if_else(as_arrow(absent), None, as_arrow(np.asarray(values)))

    def _with_value(self, sign: str, name: str, value: Literal) -> Column:
        """Compare a column with a literal; with a text as texts, but for dates."""
        import pyarrow as pa

        column, compare = self._plain(name), _OPERATORS[sign]
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
            if sign in _SWAPPED and not is_text(column):
                raise _Wrong(f"the column {name!r} is not of texts", "compare with a number, without '...'")
            return _compared_texts(sign, self._texts(name), pa.scalar(value, pa.large_string()))
        if self._kind(name) is Kind.INT:
            whole = value if value == value // 1 else None
            if whole is None and sign in _SWAPPED:  # of integers: below the next one, or at most the last
                whole = math.floor(value) if sign in (">", "<=") else math.ceil(value)
            bound = value if whole is None else int(whole)
            return self._truths(compare(self._values(name, Kind.INT), bound), name)
        if isinstance(value, int) and abs(value) > EXACT and float(value) != value:
            raise _Wrong(f"no double equals {value}", _AS_TEXT)
        return self._truths(compare(self._values(name, Kind.DOUBLE), float(value)), name)

    def _beside(self, sign: str, one: str, other: str) -> Column:
        kinds = {self._kind(one), self._kind(other)}
        if kinds <= {Kind.INT, Kind.DOUBLE} or (len(kinds) == 1 and kinds <= {Kind.BOOL, Kind.DATE}):
            kind = Kind.DOUBLE if len(kinds) > 1 else kinds.pop()
            left, right = self._values(one, kind), self._values(other, kind)
            return self._truths(_OPERATORS[sign](left, right), one, other)
        if sign in _SWAPPED and Kind.STRING not in kinds:
            raise _Wrong(f"the columns {one!r} and {other!r} are of two types")
        return _compared_texts(sign, self._texts(one), self._texts(other))


def _compared_texts(sign: str, left: Column, right: Column) -> Column:
    import pyarrow.compute as pc

    names = {
        "=": "equal",
        "<>": "not_equal",
        "<": "less",
        "<=": "less_equal",
        ">": "greater",
        ">=": "greater_equal",
    }
    return pc.call_function(names[sign], [left, right])
