"""Rows of a source that meet a condition on its columns, as ``where=`` gives it.

The language is the part of SQL without functions, arithmetic and subqueries: an expression reads cells of its row and
nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

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

ORDERS = ("<", "<=", ">", ">=")
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PLAIN = {"==": "=", "!=": "<>"}
_FUNCTIONS = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_AS_TEXT = "compare the column with a text, in '...'"
_DEEP = 50  # brackets and NOT within one another
_WORDS = frozenset(["and", "or", "not", "in", "between", "like", "ilike", "is", "null", "true", "false"])
_TOKEN = re.compile(
    r"(?P<blank>\s+)|'(?P<text>(?:[^']|'')*)'|\"(?P<quoted>(?:[^\"]|\"\")+)\"|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<mark><=|>=|<>|!=|==|[=<>(),])|(?P<word>:?[^\W\d][\w.:]*)"
)
_HELP = (
    "write comparisons of columns with texts in '...' or numbers, IN (...), BETWEEN, LIKE, IS NULL, joined by "
    'AND, OR and NOT; names of other letters stand in "..."; @qbind asks a database for more'
)


@dataclass(frozen=True)
class Name:
    """A column, as the expression writes it."""

    text: str


@dataclass(frozen=True)
class Literal:
    """A text, a number or a truth value."""

    value: str | int | float | bool


Operand: TypeAlias = "Name | Literal"


@dataclass(frozen=True)
class Compare:
    """``left operator right``, one of which is a column."""

    operator: str
    left: Operand
    right: Operand


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
    """What holds all (AND) or at all (OR)."""

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
    Compare(operator='=', left=Name(text='type'), right=Literal(value='owner'))
    """
    try:
        return _Parser(expression).read()
    except _Wrong as wrong:
        raise DataError(place, f"where={expression}: {wrong}", hint=wrong.hint) from None


class _Parser:
    """Takes tokens one by one."""

    def __init__(self, expression: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._next = self._depth = 0
        at = 0
        while at < len(expression):
            found = _TOKEN.match(expression, at)
            if found is None:
                raise _Wrong(f"cannot read {expression[at : at + 20]!r}")
            if found.lastgroup != "blank":
                self._tokens.append((str(found.lastgroup), str(found[str(found.lastgroup)])))
            at = found.end()

    def read(self) -> Condition:
        """Take the whole expression."""
        if not self._tokens:
            raise _Wrong("there is no expression")
        found = self._either()
        if self._next < len(self._tokens):
            self._refuse("the expression should end")
        return found

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Joined(False, tuple(parts))

    def _both(self) -> Condition:
        parts = [self._single()]
        while self._take("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else Joined(True, tuple(parts))

    def _single(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEP:
            raise _Wrong(f"more than {_DEEP} brackets or NOT within one another")
        if self._take("not"):
            found: Condition = Not(self._single())
        elif self._take("("):
            found = self._either()
            self._need(")")
        else:
            found = self._comparison()
        self._depth -= 1
        return found

    def _comparison(self) -> Condition:
        left = self._operand()
        kind, token = self._peek()
        operator = _PLAIN.get(token, token)
        if kind == "mark" and operator in _FUNCTIONS:
            self._next += 1
            return self._compared(operator, left, self._operand())
        if not isinstance(left, Name):
            self._refuse("expected a comparison")
        if self._take("is"):
            wanted = not self._take("not")
            self._need("null")
            return Null(left) if wanted else Not(Null(left))
        if self._take("not"):
            return Not(self._listed(left) or self._refuse("expected IN, BETWEEN or LIKE"))
        return self._listed(left) or Compare("=", left, Literal(True))

    def _listed(self, left: Name) -> Condition | None:
        if self._take("in"):
            self._need("(")
            parts = [self._compared("=", left, self._literal())]
            while self._take(","):
                parts.append(self._compared("=", left, self._literal()))
            self._need(")")
            return Joined(False, tuple(parts))
        if self._take("between"):
            low = self._operand()
            self._need("and")
            return Joined(
                True, (self._compared(">=", left, low), self._compared("<=", left, self._operand()))
            )
        for word in ("like", "ilike"):
            if self._take(word):
                kind, token = self._peek()
                if kind != "text":
                    self._refuse("expected a pattern in '...'")
                self._next += 1
                return Like(left, token.replace("''", "'"), word == "like")
        return None

    def _compared(self, operator: str, left: Operand, right: Operand) -> Condition:
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise _Wrong("a comparison names no column")
        if isinstance(left, Literal):
            return Compare(_SWAPPED.get(operator, operator), right, left)
        return Compare(operator, left, right)

    def _operand(self) -> Operand:
        kind, token = self._peek()
        if kind == "quoted":
            self._next += 1
            return Name(token.replace('""', '"'))
        if kind == "word" and token.lower() not in _WORDS:
            self._next += 1
            if self._peek() == ("mark", "("):
                raise _Wrong(f"{token}(...) is a function, and there are none")
            if token.lower() == "date" and self._peek()[0] == "text":
                return self._literal()
            return Name(token)
        return self._literal()

    def _literal(self) -> Literal:
        kind, token = self._peek()
        self._next += 1
        if kind == "text":
            return Literal(token.replace("''", "'"))
        if kind == "number":
            if not re.fullmatch(r"-?\d+", token):
                if math.isfinite(value := float(token)):
                    return Literal(value)
            elif len(token) < 40:
                return Literal(int(token))
            self._next -= 1
            return self._refuse("expected a smaller number")
        if kind == "word" and token.lower() in ("true", "false"):
            return Literal(token.lower() == "true")
        self._next -= 1
        return self._refuse("expected a column, a text in '...' or a number")

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "")

    def _take(self, wanted: str) -> bool:
        kind, token = self._peek()
        found = kind in ("word", "mark") and token.lower() == wanted
        self._next += found
        return found

    def _need(self, wanted: str) -> None:
        if not self._take(wanted):
            self._refuse(f"expected {wanted.upper()}")

    def _refuse(self, expected: str) -> NoReturn:
        kind, token = self._peek()
        shown = {"text": f"'{token}'", "quoted": f'"{token}"', "end": "the end"}.get(kind, token)
        raise _Wrong(f"{expected}, found {shown}")


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
    found = parse(place, expression)
    escape = " ESCAPE ''" if escaped else ""

    def text(value: str) -> str:
        double = value.replace("'", "''")
        return f"E'{double.replace(chr(92), 2 * chr(92))}'" if escaped and "\\" in value else f"'{double}'"

    def operand(part: Operand) -> str:
        if isinstance(part, Name):
            return quoted(_known(part.text, names))
        value = part.value
        return text(value) if isinstance(value, str) else text_of(value)

    def write(part: Condition) -> str:
        match part:
            case Compare():
                return f"{operand(part.left)} {part.operator} {operand(part.right)}"
            case Like():
                name, pattern = operand(part.name), text(part.pattern)
                if insensitive and not part.capitals:
                    return f"{insensitive}({name}) LIKE {insensitive}({pattern})"
                return f"{name} {'LIKE' if part.capitals else 'ILIKE'} {pattern}{escape}"
            case Null():
                return f"{operand(part.name)} IS NULL"
            case Not():
                return f"NOT ({write(part.part)})"
            case Joined():
                return (" AND " if part.all else " OR ").join(f"({write(p)})" for p in part.parts)

    try:
        return write(found)
    except _Wrong as wrong:
        raise DataError(place, f"where={expression}: {wrong}", hint=wrong.hint) from None


def _known(name: str, names: Sequence[str]) -> str:
    """The column of a name; capitals count only where they tell two apart."""
    if name in names:
        return name
    alike = [n for n in names if n.lower() == name.lower()]
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
    rows = _Rows(raw, options)
    try:
        found = rows.mask(parse(raw.file, options.where))
    except _Wrong as wrong:
        raise DataError(raw.file, f"where={options.where}: {wrong}", hint=wrong.hint) from None
    kept = as_numpy(found.fill_null(False))
    mask, places = as_arrow(kept), np.flatnonzero(kept)
    told = f"{raw.file}: {len(places):,} of {len(kept):,} rows meet where={options.where}"
    return replace(
        raw,
        columns=tuple(_taken(column, mask) for column in raw.columns),
        extra={name: _taken(column, mask) for name, column in raw.extra.items()},
        key_column=None if raw.key_column is None else _taken(raw.key_column, mask),
        undirected=None if raw.undirected is None else raw.undirected[kept],
        line=lambda row: raw.line(int(places[row])),
        notes=(*raw.notes, told),
    )


def _taken(column: Column, mask: Column) -> Column:
    return column.filter(mask) if hasattr(column, "filter") else column  # else its values are an error


class _Rows:
    """Finds the rows of one table for which conditions hold."""

    def __init__(self, raw: Raw, options: Options) -> None:
        self._raw, self._options = raw, options
        self._columns: Mapping[str, Column] = {**raw.extra, **dict(zip(raw.names, raw.columns, strict=True))}
        self._cells: dict[str, Column] = {}
        self._holes: dict[str, npt.NDArray[np.bool_]] = {}

    def mask(self, part: Condition) -> Column:
        """Truth value of each row; null: it is not known."""
        import pyarrow.compute as pc

        match part:
            case Compare():
                return self._compared(part)
            case Like():
                return self._like(part)
            case Null():
                return as_arrow(self._absent(self._name(part.name)))
            case Not():
                return pc.invert(self.mask(part.part))
            case Joined():
                join = pc.and_kleene if part.all else pc.or_kleene
                found = self.mask(part.parts[0])
                for other in part.parts[1:]:
                    found = join(found, self.mask(other))
                return found

    def _name(self, name: Name) -> str:
        return _known(name.text, list(self._columns))

    def _plain(self, name: str) -> Column:
        if name not in self._cells:
            try:
                self._cells[name] = plain(self._columns[name])
            except CastError as error:
                message = f"{error.value} is not {error.expected}"
                raise self._raw.error(error.row, message, name, error.hint) from error
        return self._cells[name]

    def _absent(self, name: str) -> npt.NDArray[np.bool_]:
        if name not in self._holes:
            null = self._options.null_string
            self._holes[name] = missing(self._plain(name), null, blank=not self._raw.typed)
        return self._holes[name]

    def _spread(self, name: str, values: Column) -> Column:
        """Values of the cells that have one, with nulls for the others."""
        import pyarrow as pa

        absent = self._absent(name)
        if not absent.any():
            return values
        place = np.cumsum(~absent) - 1
        return (
            values.take(pa.array(place, mask=absent)) if len(values) else pa.nulls(len(absent), values.type)
        )

    def _present(self, name: str) -> Column:
        return self._plain(name).filter(as_arrow(~self._absent(name)))

    def _kind(self, name: str) -> Kind:
        """Kind of the cells, as far as they show it; of no cells, that of a text."""
        column = self._present(name)
        texts = self._raw.typed or name in self._raw.texts
        if not len(column) or (texts and is_text(column)):
            return Kind.STRING
        return infer(column, self._options.decimal)

    def _values(self, name: str, kind: Kind) -> Column:
        """Cells as numbers, truth values or dates."""
        import pyarrow as pa

        column = self._present(name)
        try:
            codes = coded(column, kind, decimal=self._options.decimal)
        except CastError as error:
            row = int(np.flatnonzero(~self._absent(name))[error.row])
            message = f"where={self._options.where}: {error.value!r} is not {error.expected}"
            double = error.value.replace("'", "''")
            cut = error.value.endswith("...")
            text = _AS_TEXT if cut else f"compare with a text: {name} = '{double}'"
            hint = error.hint or (text if kind is not Kind.DATE else None)
            raise self._raw.error(row, message, name, hint) from error
        forms: dict[Kind, Callable[[], Column]] = {
            Kind.DOUBLE: lambda: as_arrow(codes.view(np.float64)),
            Kind.BOOL: lambda: as_arrow(codes != 0),
            Kind.DATE: lambda: as_arrow(codes.view("datetime64[us]")),
        }
        made = forms.get(kind, lambda: as_arrow(codes))()
        return self._spread(name, made if len(made) else pa.nulls(0, made.type))

    def _texts(self, name: str) -> Column:
        import pyarrow as pa

        column = self._plain(name)
        if isinstance(column, Objects):
            raise _Wrong(f"the column {name!r} holds lists", "compare another column")
        if is_text(column):
            return self._spread(name, self._present(name))
        if pa.types.is_floating(column.type):
            return pa.array(
                [None if v is None else text_of(v) for v in column.to_pylist()], pa.large_string()
            )
        return column.cast(pa.large_string())

    def _compared(self, part: Compare) -> Column:
        left = part.left
        assert isinstance(left, Name)
        name, right = self._name(left), part.right
        if isinstance(right, Name):
            return self._beside(part.operator, name, self._name(right))
        value = right.value
        if isinstance(self._plain(name), Objects):
            raise _Wrong(f"the column {name!r} holds lists", "compare another column")
        if isinstance(value, bool):
            return _hold(part.operator, self._values(name, Kind.BOOL), value)
        if isinstance(value, str):
            return self._with_text(part.operator, name, value)
        kind = self._kind(name)
        if kind not in (Kind.INT, Kind.DOUBLE):
            kind = Kind.DOUBLE  # the error names the first cell that is no number
        cells = self._values(name, kind)
        return (
            _hold(part.operator, cells, value) if kind is Kind.DOUBLE else _whole(part.operator, cells, value)
        )

    def _with_text(self, operator: str, name: str, value: str) -> Column:
        import pyarrow as pa

        column = self._plain(name)
        if not is_text(column) and pa.types.is_timestamp(column.type):
            date = read_date(value)
            if date is None:
                raise _Wrong(f"{value!r} is no date", "write dates as in '2024-01-15'")
            return _hold(operator, self._values(name, Kind.DATE), date)
        if operator in ORDERS and not is_text(column):
            raise _Wrong(f"the column {name!r} is not of texts", "compare with a number, without '...'")
        return _hold(operator, self._texts(name), value)

    def _beside(self, operator: str, one: str, other: str) -> Column:
        import pyarrow as pa

        kinds = {self._kind(one), self._kind(other)}
        numbers = kinds <= {Kind.INT, Kind.DOUBLE}
        if numbers or (len(kinds) == 1 and kinds <= {Kind.BOOL, Kind.DATE}):
            kind = Kind.DOUBLE if len(kinds) > 1 else kinds.pop()
            return _hold(operator, self._values(one, kind), self._values(other, kind))
        if operator in ORDERS and Kind.STRING not in kinds:
            raise _Wrong(f"the columns {one!r} and {other!r} are of two types")
        large = pa.large_string()
        return _hold(operator, self._texts(one).cast(large), self._texts(other).cast(large))

    def _like(self, part: Like) -> Column:
        import pyarrow.compute as pc

        wild = {"%": ".*", "_": "."}
        pattern = "".join(wild.get(c) or re.escape(c) for c in part.pattern)
        capitals = "" if part.capitals else "i"
        return pc.match_substring_regex(
            self._texts(self._name(part.name)), rf"(?s{capitals})\A(?:{pattern})\z"
        )


def _hold(operator: str, left: Column, right: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(right, int) and not isinstance(right, bool) and abs(right) > EXACT:
        if float(right) != right:
            raise _Wrong(f"no double equals {right}", _AS_TEXT)
        right = float(right)  # Arrow makes no double of such an integer
    try:
        return pc.call_function(_FUNCTIONS[operator], [left, right])
    except pa.ArrowInvalid:  # of two columns
        raise _Wrong("a column of integers without doubles meets one of doubles", _AS_TEXT) from None


def _whole(operator: str, cells: Column, value: float) -> Column:
    """Compare integers with a number, exactly."""
    import pyarrow as pa
    import pyarrow.compute as pc

    low = int(value // 1)
    if low == value and -(2**63) <= low < 2**63:
        return pc.call_function(_FUNCTIONS[operator], [cells, pa.scalar(low, pa.int64())])
    if operator in ("=", "<>") or not -(2**63) <= low < 2**63:
        least = operator == "<>" or (operator in ("<", "<=") if value > 0 else operator in (">", ">="))
        return pc.if_else(pc.is_valid(cells), least and operator != "=", None)
    up = operator in (">", ">=")  # above the integer below, or at most that
    return pc.call_function("greater" if up else "less_equal", [cells, pa.scalar(low, pa.int64())])
