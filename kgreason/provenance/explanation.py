"""Explanation of a goal: the facts that fit it with their proofs, or the reasons why there are none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgreason.base.errors import Diagnostic, ProgramError, Span, plural
from kgreason.base.printable import Displayed
from kgreason.engine.chase.frontiers import nulls_in
from kgreason.engine.limits import Limits
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
    Variable,
)
from kgreason.language.values import Null, Value, identity, source
from kgreason.language.vocabulary import suggest
from kgreason.provenance.body_matching import encode
from kgreason.provenance.equalities import Equations
from kgreason.provenance.proof_search import Search
from kgreason.provenance.proof_tree import FORMAT, Lookup, Proof, WhyNot
from kgreason.provenance.rendering import proof_text, proofs_dot, why_not_dot, why_not_text
from kgreason.provenance.traces import Runs, Trace
from kgreason.provenance.why_not import why_not


@dataclass(frozen=True)
class Explanation(Displayed):
    """Explanation of a goal.

    Attributes
    ----------
    proofs
        Proofs of the first fitting facts, those with minimal proof heights; empty if none fits.
    others
        Number of further fitting facts.
    why_not
        Why no fact fits; `None` if one does.
    notes
        Remarks on the goal and the rules.
    """

    goal: str
    proofs: tuple[Proof, ...]
    others: int = 0
    why_not: WhyNot | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Explanation of {self.goal}: {'holds' if self.holds else 'does not hold'}>"

    @property
    def holds(self) -> bool:
        """Whether some fact fits."""
        return bool(self.proofs)

    def as_dict(self) -> dict[str, Any]:
        """JSON-compatible dictionary; `format` is the version of this layout."""
        return {
            "format": FORMAT,
            "goal": self.goal,
            "holds": self.holds,
            "proofs": [proof.as_dict() for proof in self.proofs],
            "others": self.others,
            "why_not": self.why_not.as_dict() if self.why_not else None,
            "notes": list(self.notes),
        }

    def as_text(self, depth: int | None = None) -> str:
        """Text for a terminal: all proofs, down to a depth, or why there is none."""
        notes = [f"note: {note}" for note in self.notes]
        if self.why_not is not None:
            return "\n\n".join([why_not_text(self.why_not), *notes])
        parts = [proof_text(proof, depth=depth) for proof in self.proofs]
        if self.others:
            n = self.others
            parts.append(f"{n:,} other fact{'s fit' if n > 1 else ' fits'} {self.goal}")
        return "\n\n".join([*parts, *notes])

    def as_dot(self) -> str:
        """Graph in the DOT language of Graphviz."""
        return proofs_dot(self.proofs) if self.why_not is None else why_not_dot(self.why_not)


def explain_fact(
    program: CheckedProgram,
    facts: Facts,
    goal: str | Atom,
    *,
    most: int = 1,
    limits: Limits = Limits(),  # noqa: B008
    sources: Lookup | None = None,
) -> Explanation:
    """Explain a fact, or the facts that fit a pattern.

    Parameters
    ----------
    facts
        Input facts, as for `kgreason.engine.seminaive.evaluation.evaluate`.
    goal
        An atom, for instance ``control("a","b")``; variables fit any value.
    most
        Maximal number of facts to explain, if several fit.
    sources
        Function from the predicate and values of an input fact to its location (``file:line``). Facts in
        the rule file are located without it.

    Raises
    ------
    ProgramError
        If the goal is not an atom, or its predicate or constants are unknown to the rules and the data.
    EvaluationError
        If the rules cannot be evaluated on these data.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> found = explain_fact(program, Facts.from_rows({"e": [(1, 2), (2, 3)]}), "t(3, 1)")
    >>> found.why_not.reasons[0].words
    'there is no e(3,1)'
    """
    text = goal.strip().removesuffix(".") if isinstance(goal, str) else str(goal)
    atom = _read_goal(goal) if isinstance(goal, str) else goal
    _check_goal(atom, program, facts, text)
    values = _constants(atom, text)
    runs = Runs(program, facts, atom.predicate, limits)
    found = runs.trace(runs.last, [atom.predicate])
    notes = [*_names_meant(atom, found), *runs.violations()]
    for i, value in enumerate(values):
        values[i] = None if value is None else runs.identities[runs.last].became(value)
        if value is not None and values[i] != value:
            notes.append(f"{source(value)} has become {source(values[i] or value)}")
    wanted = _cells(atom, values, found, text)
    ids = _fitting(atom, wanted, found)
    lookup = _sources(program, sources)
    equations = Equations(runs, lambda trace, equations: Search(trace, lookup, equations))
    search = Search(found, lookup, equations)
    if not len(ids):
        notes += _types_meant(atom, values, found)
        return Explanation(text, (), 0, why_not(atom, text, values, wanted, search), tuple(notes))
    proofs = search.prove([(atom.predicate, int(n)) for n in ids[:most]])
    return Explanation(text, tuple(proofs), len(ids) - len(proofs), None, tuple(notes))


def _fitting(goal: Atom, wanted: list[int | None], found: Trace) -> np.ndarray[Any, np.dtype[np.int64]]:
    known = found.known.get(goal.predicate)
    if known is None:
        return np.empty(0, dtype=np.int64)
    columns = tuple(i for i, cell in enumerate(wanted) if cell is not None)
    ids = known.find(columns, [cell for cell in wanted if cell is not None])
    ids = ids[known.final[ids]]
    first: dict[str, int] = {}
    for i, term in enumerate(goal.arguments):
        if isinstance(term, Variable) and first.setdefault(term.name, i) != i:
            ids = ids[known.rows[ids, i] == known.rows[ids, first[term.name]]]
    return ids


def _sources(program: CheckedProgram, lookup: Lookup | None) -> Lookup:
    written: dict[object, str] = {}
    for fact in program.facts:
        values = tuple(identity(_number(getattr(t, "value", ""))) for t in fact.terms)
        written.setdefault((fact.predicate, values), f"{fact.span.file}:{fact.span.line}")

    def find(predicate: str, values: tuple[Value, ...]) -> str | None:
        known = written.get((predicate, tuple(identity(_number(v)) for v in values)))
        return known if known is not None or lookup is None else lookup(predicate, values)

    return find


def _number(value: Value) -> Value:
    """Convert integers to doubles, because the text of a fact does not determine which of both a column holds."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read_goal(text: str) -> Atom:
    """Parse a goal: one atom, with or without a full stop; raise `ProgramError` if it is none."""
    text = text.strip()
    plain, nulls = _without_nulls(text)
    try:
        program = parse(plain if plain.endswith(".") else plain + ".", "<goal>")
    except ProgramError as error:
        hint = 'a name with signs or blanks in it needs quotes, as in control("a","b & c")'
        hinted = tuple(replace(d, hint=d.hint or hint) for d in error.diagnostics)
        raise ProgramError(hinted, text) from None
    clause = program.clauses[0] if len(program.clauses) == 1 else None
    if not isinstance(clause, Fact):
        span = Span("<goal>", 1, 1, 1, 1 + len(text.split("\n")[0]))
        note = "an explanation is given of a fact, or of the facts that fit a pattern"
        hint = 'write one atom, for instance control("a","b"), or control("a",X) for all that fit'
        raise _error("E521", "this is not one atom", span, text, note, hint)
    arguments = tuple(_with_nulls(argument, nulls) for argument in clause.atom.arguments)
    return replace(clause.atom, arguments=arguments)


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


def _types_meant(goal: Atom, values: Sequence[Value | None], found: Trace) -> list[str]:
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


def _names_meant(goal: Atom, found: Trace) -> list[str]:
    known = found.known.get(goal.predicate)
    meant: dict[str, None] = {}
    for i, argument in enumerate(goal.arguments):
        if known is None or not isinstance(argument, Variable) or not found.symbols.known(argument.name):
            continue
        cell = encode(argument.name, known.kinds[i], found.symbols)
        if cell is not None and len(known.find((i,), (cell,))):
            meant[argument.name] = None
    return [f'{name} is a variable here, which fits any value; write "{name}" for the name' for name in meant]


def _check_goal(goal: Atom, program: CheckedProgram, facts: Facts, text: str) -> None:
    """Raise `ProgramError` for an unknown predicate or a wrong number of arguments, with a hint."""
    arities = {p: t.arity for p, t in facts.tables.items()} | dict(program.arities)
    arity = arities.get(goal.predicate)
    if arity is None:
        known = [p for p in arities if not p.startswith("#")]
        near = suggest(goal.predicate, known)
        hint = f"did you mean {near}?" if near else f"they know {', '.join(sorted(known))}"
        raise _error("E522", f"the rules know no predicate {goal.predicate}", goal.span, text, hint=hint)
    if arity != goal.arity:
        message = f"{goal.predicate} has {plural(arity)}, not {goal.arity}"
        arguments = ",".join(f"X{i + 1}" for i in range(arity))
        shape = f"{goal.predicate}({arguments})" if arity else goal.predicate
        note = "a predicate has one arity"
        raise _error("E523", message, goal.span, text, note, f"write {shape}; variables match any value")


IMPOSSIBLE = -(2**63)  # code of a number that a column cannot hold


def _cells(goal: Atom, values: Sequence[Value | None], found: Trace, text: str) -> list[int | None]:
    """Codes of the constants of a goal in the columns of its predicate, `None` for variables.

    Raises
    ------
    ProgramError
        If a constant has the wrong type, or occurs neither in the data nor in derived facts.
    """
    known = found.known.get(goal.predicate, ())
    result: list[int | None] = []
    for i, (argument, value) in enumerate(zip(goal.arguments, values, strict=True)):
        if value is None:
            result.append(None)
            continue
        kind = found.known[goal.predicate].kinds[i] if len(known) else None
        if isinstance(value, str) and not found.symbols.known(value):
            own = _kind(goal.predicate, i, found)
            if own not in (None, Kind.STRING):
                raise _misfit(goal.predicate, i, own, value, argument.span, text)
            raise _unknown(value, argument, found, text)
        for null in nulls_in(value):
            if not _occurs(found, null):
                message = f"{null} occurs nowhere in the data and in what is derived"
                note = "nulls have the numbers that kgreason reason prints for the same rules and data"
                raise _error("E525", message, argument.span, text, note)
        doubles = (goal.predicate, i) in found.doubles
        cell = None if kind is None else encode(value, kind, found.symbols, doubles)
        number = kind is Kind.INT and isinstance(value, float)
        if cell is None and kind is not None and kind is not Kind.ANY and not number:
            raise _misfit(goal.predicate, i, kind, value, argument.span, text)
        result.append(IMPOSSIBLE if cell is None else cell)
    return result


def _occurs(found: Trace, null: Null) -> bool:
    symbols = found.symbols
    return symbols.known(null) or any(null in nulls_in(v) for v in symbols.values(range(len(symbols))))


def _constants(goal: Atom, text: str) -> list[Value | None]:
    """Values of the arguments of a goal, `None` for variables; raise `ProgramError` for an expression."""
    return [None if isinstance(a, Variable) else _value(a, text) for a in goal.arguments]


def _misfit(predicate: str, position: int, kind: Kind, value: Value, span: Span, text: str) -> ProgramError:
    message = f"argument {position + 1} of {predicate} is {NAMES[kind]}, and {source(value)} is not"
    note = "an argument of a predicate has one type"
    return _error("E524", message, span, text, note, _written(value, kind))


def _written(value: Value, kind: Kind) -> str | None:
    if kind is Kind.STRING:
        return f'write "{value}"'
    number = r"-?[0-9]+" if kind is Kind.INT else r"-?[0-9]+(\.[0-9]+)?"
    numbers = kind in (Kind.INT, Kind.DOUBLE) and isinstance(value, str) and re.fullmatch(number, value)
    return f"write {value}" if numbers else None


def _kind(predicate: str, position: int, found: Trace) -> Kind | None:
    """Kind of all values in a column except nulls; `None` if there is no common kind."""
    known = found.known.get(predicate)
    if known is None or not len(known):
        return None
    if known.kinds[position] is not Kind.ANY:
        return known.kinds[position]
    values = found.symbols.values(np.unique(known.rows[:, position]).tolist())
    return join_all(list({kind_of(value) for value in values} - {Kind.ANY}))


def _value(node: Expression, text: str) -> Value:
    if isinstance(node, Constant):
        return node.value
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
    raise _error("E521", f"{node} is {what}", span, text, "a fact holds values", hint)


def _unknown(value: str, node: Expression, found: Trace, text: str) -> ProgramError:
    values = found.symbols.values(range(len(found.symbols)))
    near = _nearest(value, (v for v in values if isinstance(v, str)))
    hint = f'did you mean "{near}"?' if near is not None else "names must be written exactly as in the data"
    return _error("E525", f'"{value}" occurs nowhere in the data', node.span, text, hint=hint)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    """Most similar known string: the first that differs only in case or blanks, else one of similar length."""
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


def _error(
    code: str, message: str, span: Span, text: str, note: str | None = None, hint: str | None = None
) -> ProgramError:
    return ProgramError((Diagnostic(code, message, span, note, hint),), text)
