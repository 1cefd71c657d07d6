"""Explanation of a goal: the facts that fit it with their proofs, or the reasons why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.base.printable import Displayed
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.syntax.syntax_tree import Atom, Variable
from kgreason.language.values import Value, identity, source
from kgreason.provenance.equalities import Equations
from kgreason.provenance.goal import cells, check_goal, constants, names_meant, read_goal, types_meant
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
    goal
        The parsed goal.
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
        """Text for a terminal: all proofs, down to a depth, or why there is none.

        Examples
        --------
        >>> from kgreason.language.check.program_checker import load_text
        >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z). e(1, 2). e(2, 3).")
        >>> print(explain_fact(program, Facts.from_rows({}), "t(1, 3)").as_text())
        t(1,3)       by rule 2 (<text>:1): t(X, Z) :- t(X, Y), e(Y, Z).
        ├─ t(1,2)    by rule 1 (<text>:1): t(X, Y) :- e(X, Y).
        │  └─ e(1,2) <text>:1
        └─ e(2,3)    <text>:1
        """
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
    >>> found = explain_fact(program, Facts.from_rows({"e": [(1, 2), (2, 3)]}), "t(1, 3)")
    >>> found.proofs[0].height, [p.fact for p in found.proofs[0].premises]
    (2, ['t(1,2)', 'e(2,3)'])
    >>> found = explain_fact(program, Facts.from_rows({"e": [(1, 2), (2, 3)]}), "t(3, 1)")
    >>> found.why_not.reasons[0].words
    'there is no e(3,1)'
    """
    text = goal.strip().removesuffix(".") if isinstance(goal, str) else str(goal)
    atom = read_goal(goal) if isinstance(goal, str) else goal
    check_goal(atom, program, facts, text)
    values = constants(atom, text)
    runs = Runs(program, facts, atom.predicate, limits)
    found = runs.trace(runs.last, [atom.predicate])
    notes = [*names_meant(atom, found), *runs.violations()]
    for i, value in enumerate(values):
        values[i] = None if value is None else runs.became(value, runs.last)
        if value is not None and values[i] != value:
            notes.append(f"{source(value)} has become {source(values[i] or value)}")
    wanted = cells(atom, values, found, text)
    ids = _fitting(atom, wanted, found)
    lookup = _sources(program, sources)
    equations = Equations(runs, lambda trace, equations: Search(trace, lookup, equations))
    search = Search(found, lookup, equations)
    if not len(ids):
        notes += types_meant(atom, values, found)
        return Explanation(text, (), 0, why_not(atom, text, values, wanted, search), tuple(notes))
    proofs = search.prove([(atom.predicate, int(n)) for n in ids[:most]])
    return Explanation(text, tuple(proofs), len(ids) - len(proofs), None, tuple(notes))


def explain(
    program: CheckedProgram,
    facts: Facts,
    goal: str | Atom,
    *,
    limits: Limits = Limits(),  # noqa: B008
    sources: Lookup | None = None,
) -> Proof | WhyNot:
    """Prove the first fact that fits the goal, or explain why there is none; see `explain_fact`.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> explain(load_text("p(X) :- q(X). q(1)."), Facts.from_rows({}), "p(1)")
    <Proof of p(1), height 1>
    """
    found = explain_fact(program, facts, goal, limits=limits, sources=sources)
    if found.proofs:
        return found.proofs[0]
    assert found.why_not is not None
    return found.why_not


def _fitting(goal: Atom, wanted: list[int | None], found: Trace) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Numbers of the results that fit the goal, by height; a repeated variable requires equal values."""
    known = found.known.get(goal.predicate)
    if known is None:
        return np.empty(0, dtype=np.int64)
    columns = tuple(i for i, cell in enumerate(wanted) if cell is not None)
    ids = known.find(columns, [cell for cell in wanted if cell is not None])
    ids = ids[known.final[ids]]
    places: dict[str, int] = {}
    for i, term in enumerate(goal.arguments):
        if isinstance(term, Variable) and places.setdefault(term.name, i) != i:
            ids = ids[known.rows[ids, i] == known.rows[ids, places[term.name]]]
    return ids


def _sources(program: CheckedProgram, lookup: Lookup | None) -> Lookup:
    """Location of a given fact: in the rule file, or else from `lookup`."""
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
