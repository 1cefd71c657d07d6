"""Goals of explanations: parsing and checking of a fact or pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.errors import Diagnostic, ProgramError, Span, plural
from kgreason.engine.chase.frontiers import nulls_in
from kgreason.engine.plan.expression_kinds import NAMES, join, join_all, kind_of
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.parser import parse
from kgreason.language.syntax.syntax_tree import (
    Atom,
    Binary,
    Collection,
    Constant,
    Expression,
    Fact,
    Unary,
    Variable,
)
from kgreason.language.values import Null, Value, source
from kgreason.language.vocabulary import suggest
from kgreason.provenance.body_matching import encode
from kgreason.provenance.traces import Trace

FORM = 'write one atom, for instance control("a","b"), or control("a",X) for all that fit'


def read_goal(text: str) -> Atom:
    """Parse a goal: one atom, with or without a full stop.

    Raises
    ------
    ProgramError
        If the text is not a single atom.

    Examples
    --------
    >>> str(read_goal('control("a", X)'))
    'control("a", X)'
    """
    text = text.strip()
    plain, nulls = _without_nulls(text)
    try:
        program = parse(plain if plain.endswith(".") else plain + ".", "<goal>")
    except ProgramError as error:
        raise _hinted(error, text) from None
    clause = program.clauses[0] if len(program.clauses) == 1 else None
    if not isinstance(clause, Fact):
        span = Span("<goal>", 1, 1, 1, 1 + len(text.split("\n")[0]))
        note = "an explanation is given of a fact, or of the facts that fit a pattern"
        raise ProgramError((Diagnostic("E521", "this is not one atom", span, note, FORM),), text)
    arguments = tuple(_with_nulls(argument, nulls) for argument in clause.atom.arguments)
    return replace(clause.atom, arguments=arguments)


def _hinted(error: ProgramError, text: str) -> ProgramError:
    """Add the hint that a name in a goal may need quotes."""
    hint = 'a name with signs or blanks in it needs quotes, as in control("a","b & c")'
    return ProgramError(tuple(replace(d, hint=d.hint or hint) for d in error.diagnostics), text)


def _without_nulls(text: str) -> tuple[str, dict[str, Null]]:
    """The goal with nulls replaced by variables of equal length, because the language has no syntax for nulls."""
    nulls: dict[str, Null] = {}

    def variable(found: re.Match[str]) -> str:
        if found["number"] is None:
            return found[0]
        name = f"N__{found['number']}"
        nulls[name] = Null(int(found["number"]))
        return name

    return re.sub(r'"(?:\\.|[^"\\])*"|_:n(?P<number>[0-9]{1,18})', variable, text), nulls


def _with_nulls(node: Expression, nulls: Mapping[str, Null]) -> Expression:
    if isinstance(node, Variable) and node.name in nulls:
        return Constant(nulls[node.name], span=node.span)
    if isinstance(node, Collection):
        return replace(node, elements=tuple(_with_nulls(e, nulls) for e in node.elements))
    return node


def types_meant(goal: Atom, values: Sequence[Value | None], found: Trace) -> list[str]:
    """Notes on constants whose type differs from all values of their column, for columns of kind ANY."""
    result = []
    for i, value in enumerate(values):
        kind = None if value is None else _kind(goal.predicate, i, found)
        if (
            value is None
            or kind is None
            or kind_of(value) is Kind.ANY
            or join(kind_of(value), kind) is not None
        ):
            continue
        where = f"argument {i + 1} of {goal.predicate} is {NAMES[kind]} wherever it is no null"
        hint = _written(value, kind)
        result.append(f"{where}, and {source(value)} is not{f'; {hint}' if hint else ''}")
    return result


def names_meant(goal: Atom, found: Trace) -> list[str]:
    """Notes on variables whose names are values of their column."""
    known = found.known.get(goal.predicate)
    meant: dict[str, None] = {}
    for i, argument in enumerate(goal.arguments):
        if known is None or not isinstance(argument, Variable) or not found.symbols.known(argument.name):
            continue
        cell = encode(argument.name, known.kinds[i], found.symbols)
        if cell is not None and len(known.find((i,), (cell,))):
            meant[argument.name] = None
    return [f'{name} is a variable here, which fits any value; write "{name}" for the name' for name in meant]


def check_goal(goal: Atom, program: CheckedProgram, facts: Facts, text: str) -> None:
    """Check predicate and number of arguments.

    Raises
    ------
    ProgramError
        With a hint at what may be meant.
    """
    arities = {p: t.arity for p, t in facts.tables.items()} | dict(program.arities)
    arity = arities.get(goal.predicate)
    if arity is None:
        known = [p for p in arities if not p.startswith("#")]
        near = suggest(goal.predicate, known)
        hint = f"did you mean {near}?" if near else f"they know {', '.join(sorted(known))}"
        raise _bad("E522", f"the rules know no predicate {goal.predicate}", goal.span, text, hint=hint)
    if arity != goal.arity:
        message = f"{goal.predicate} has {plural(arity)}, not {goal.arity}"
        places = ",".join(f"X{i + 1}" for i in range(arity))
        shape = f"{goal.predicate}({places})" if arity else goal.predicate
        note = "a predicate has one arity"
        raise _bad("E523", message, goal.span, text, note, f"write {shape}; variables stand for any value")


IMPOSSIBLE = -(2**63)
"""Code of a number that a column cannot hold."""


def cells(goal: Atom, values: Sequence[Value | None], found: Trace, text: str) -> list[int | None]:
    """Codes of the constants of a goal in the columns of its predicate, `None` for variables.

    Raises
    ------
    ProgramError
        If a constant has the wrong type, or occurs neither in the data nor in derived facts.
    """
    kinds = found.known[goal.predicate].kinds if goal.predicate in found.known else ()
    result: list[int | None] = []
    for i, (argument, value) in enumerate(zip(goal.arguments, values, strict=True)):
        if value is None:
            result.append(None)
            continue
        kind = kinds[i] if kinds and len(found.known[goal.predicate]) else None
        if isinstance(value, str) and not found.symbols.known(value):
            own = _kind(goal.predicate, i, found)
            if own not in (None, Kind.STRING):
                raise _misfit(goal.predicate, i, own, value, argument.span, text)
            raise _unknown(value, argument, found, text)
        for null in nulls_in(value):
            if not _holds(found, null):
                raise _bad(
                    "E525",
                    f"{null} occurs nowhere in the data and in what is derived",
                    argument.span,
                    text,
                    "nulls have the numbers that kgreason reason prints for the same rules and data",
                )
        cell = (
            None if kind is None else encode(value, kind, found.symbols, (goal.predicate, i) in found.doubles)
        )
        number = kind is Kind.INT and isinstance(value, float)
        if cell is None and kind is not None and kind is not Kind.ANY and not number:
            raise _misfit(goal.predicate, i, kind, value, argument.span, text)
        result.append(IMPOSSIBLE if cell is None else cell)
    return result


def _holds(found: Trace, null: Null) -> bool:
    """Whether a null occurs, possibly only within lists and sets."""
    symbols = found.symbols
    return symbols.known(null) or any(null in nulls_in(v) for v in symbols.values(range(len(symbols))))


def constants(goal: Atom, text: str) -> list[Value | None]:
    """Values of the arguments of a goal, `None` for variables.

    Raises
    ------
    ProgramError
        If an argument is neither a value nor a variable.
    """
    return [None if isinstance(a, Variable) else _value(a, text) for a in goal.arguments]


def _misfit(predicate: str, place: int, kind: Kind, value: Value, span: Span, text: str) -> ProgramError:
    message = f"argument {place + 1} of {predicate} is {NAMES[kind]}, and {source(value)} is not"
    return _bad("E524", message, span, text, "an argument of a predicate has one type", _written(value, kind))


def _written(value: Value, kind: Kind) -> str | None:
    """Hint to write the value with the type of the column, if possible."""
    if kind is Kind.STRING:
        return f'write "{value}"'
    number = r"-?[0-9]+" if kind is Kind.INT else r"-?[0-9]+(\.[0-9]+)?"
    numbers = kind in (Kind.INT, Kind.DOUBLE) and isinstance(value, str) and re.fullmatch(number, value)
    return f"write {value}" if numbers else None


def _kind(predicate: str, place: int, found: Trace) -> Kind | None:
    """Kind of all values in a column except nulls; `None` if there is no common kind."""
    known = found.known.get(predicate)
    if known is None or not len(known):
        return None
    if known.kinds[place] is not Kind.ANY:
        return known.kinds[place]
    values = found.symbols.values(np.unique(known.rows[:, place]).tolist())
    kinds = {kind_of(value) for value in values} - {Kind.ANY}
    return join_all(list(kinds))


def _value(node: Expression, text: str) -> Value:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Unary) and node.operator == "-" and isinstance(node.operand, Constant):
        value = node.operand.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, Collection):
        values = [_value(e, text) for e in node.elements]
        return tuple(values) if node.kind == "list" else frozenset(values)
    what = "an expression" if isinstance(node, Binary) else "no value"
    hint = "write the value, or a variable"
    span = node.span
    named = any(isinstance(part, Variable) for part in walk(node))
    if named and span.file == "<goal>" and span.line == span.end_line:
        name = text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1]
        hint = f'write "{name}" for a name'
    raise _bad("E521", f"{node} is {what}", span, text, "a fact holds values", hint)


def _unknown(value: str, node: Expression, found: Trace, text: str) -> ProgramError:
    values = found.symbols.values(range(len(found.symbols)))
    near = nearest(value, (v for v in values if isinstance(v, str)))
    hint = f'did you mean "{near}"?' if near is not None else "names must be written exactly as in the data"
    return _bad("E525", f'"{value}" occurs nowhere in the data', node.span, text, hint=hint)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Most similar known string: the first that differs only in case or blanks, else one of similar length.

    Examples
    --------
    >>> nearest("adler", ["Dachs", "Adler"]), nearest("Adlr", ["Dachs", "Adler"]), nearest("x", ["Adler"])
    ('Adler', 'Adler', None)
    """
    known = list(known)
    folded = word.casefold().strip()
    for string in known:
        if string.casefold().strip() == folded:
            return string
    similar = [s for s in known if abs(len(s) - len(word)) <= 2 and _shared(s, word) * 2 >= len(word)]
    return suggest(word, similar[:5000]) if similar else None


def _shared(a: str, b: str) -> int:
    """Upper bound on the number of common characters, as a fast measure of similarity."""
    return len(set(a) & set(b)) + max(0, len(b) - len(set(b)))


def _bad(
    code: str, message: str, span: Span, text: str, note: str | None = None, hint: str | None = None
) -> ProgramError:
    return ProgramError((Diagnostic(code, message, span, note, hint),), text)
