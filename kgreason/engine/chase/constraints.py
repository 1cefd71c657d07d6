"""Equality-generating dependencies and constraints over the facts of a finished stratum."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kgreason.base.errors import EvaluationError, InexactError
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.relations.fact_tables import Kind, any_codes, decode, sought
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols, rank, whole
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Denial,
    Stratum,
    Unification,
)
from kgreason.language.syntax.syntax_tree import Constant, Variable
from kgreason.language.values import Value, source

SHOWN = 10  # violations of one constraint that a message lists

Relations = Mapping[str, Relation]
Kinds = Mapping[str, Sequence[Kind]]


def hidden(program: CheckedProgram) -> frozenset[str]:
    """Internal predicates of unifications and constraints, hidden from users."""
    unified = frozenset(u.predicate for u in program.unifications)
    return unified | frozenset(d.predicate for d in program.denials)


def promptly(strata: Sequence[Stratum], early: Collection[str]) -> tuple[Stratum, ...]:
    """Order strata so that those of the predicates `early` follow as soon as their inputs are complete.

    Unifications then take effect before negation or aggregation uses facts that they change.
    """
    ordered: list[Stratum] = []
    waiting = [s for s in strata if s.predicates & set(early)]
    derived = {p for s in strata for p in s.predicates}
    complete: set[str] = set()
    for stratum in (None, *(s for s in strata if s not in waiting)):
        if stratum is not None:
            ordered.append(stratum)
            complete |= stratum.predicates
        reads = [{a.predicate for r in s.rules for a in (*r.positives, *r.negatives)} for s in waiting]
        ready = [
            s for s, read in zip(waiting, reads, strict=True) if read & derived - s.predicates <= complete
        ]
        ordered += ready
        waiting = [s for s in waiting if s not in ready]
    return (*ordered, *waiting)


def unify(
    unification: Unification,
    relations: Relations,
    kinds: Kinds,
    nulls: Nulls,
    doubles: Collection[tuple[str, int]],
) -> bool:
    """Merge the values that a dependency equates; returns whether any of them were different.

    `doubles` are the positions of kind ANY whose numbers are doubles. Raises EvaluationError if two different constants
    are equated, directly or through nulls.
    """
    rule, messages = unification.rule, _Messages(relations, kinds, nulls.symbols, {})
    rows, types = messages.rows(unification.predicate), kinds[unification.predicate]
    left, right = (any_codes(rows[:, i], types[i], nulls.symbols) for i in range(2))
    if (unification.predicate, 0) in doubles:
        try:
            left, right = nulls.symbols.doubled(left), nulls.symbols.doubled(right)
        except InexactError as error:
            raise EvaluationError(error.message, rule.text, rule.span, error.hint) from None
    different = np.flatnonzero(left != right)
    for done, i in enumerate(different.tolist()):
        a, b = int(left[i]), int(right[i])
        if not nulls.identities.merge(a, b):
            before = different[:done]
            chain = _chain(left[before], right[before], (a, b), nulls)
            matched = rows[[*before[chain].tolist(), i]]
            raise messages.clash(rule, nulls.identities.roots(a, b), matched)
        if nulls.merges is not None:
            nulls.merges.link(a, b, unification.predicate, rows[i])
    return len(different) > 0


def _chain(left: Codes, right: Codes, ends: tuple[int, int], nulls: Nulls) -> list[int]:
    """Equalities by which two values became constants: a shortest path from each value to its constant."""
    links = list(zip(left.tolist(), right.tolist(), strict=True))
    roots = nulls.identities.roots(*ends)
    ways = (shortest_chain(links, end, root) or [] for end, root in zip(ends, roots, strict=True))
    return list(dict.fromkeys(number for way in ways for number in way))


def shortest_chain(links: Sequence[tuple[int, int]], start: int, end: int) -> list[int] | None:
    """Links on a shortest path between two values; `None` if there is no path.

    Examples
    --------
    >>> shortest_chain([(1, 2), (3, 2), (4, 5)], 1, 3), shortest_chain([(1, 2)], 1, 3)
    ([0, 1], None)
    """
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    for number, (one, other) in reversed(list(enumerate(links))):  # of parallel links the first counts
        graph.add_edge(one, other, number=number)
    if start not in graph or end not in graph or not nx.has_path(graph, start, end):
        return None
    path = nx.shortest_path(graph, start, end)
    return [graph.edges[pair]["number"] for pair in pairwise(path)]


def deny(
    denials: Iterable[Denial],
    relations: Relations,
    kinds: Kinds,
    symbols: Symbols,
    names: Mapping[str, str] | None = None,
) -> None:
    """Check constraints; EvaluationError with the first violations of each violated constraint.

    `names` are the names of predicates in messages, where these differ.
    """
    messages = _Messages(relations, kinds, symbols, names or {})
    violated = [d for d in denials if relations[d.predicate].count]
    errors = [messages.violation(d.rule, messages.rows(d.predicate)) for d in violated]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        each = "".join(f"\n\n{error}" for error in errors)
        raise EvaluationError(f"{len(errors)} constraints are violated{each}")


class _Messages(NamedTuple):
    """Error messages for violated dependencies and constraints."""

    relations: Relations
    kinds: Kinds
    symbols: Symbols
    names: Mapping[str, str]

    def rows(self, predicate: str) -> Rows:
        relation = self.relations[predicate]
        return relation.buffer[: relation.count]

    def violation(self, rule: CheckedRule, rows: Rows) -> EvaluationError:
        count = len(rows)
        name = f' "{rule.label}"' if rule.label else ""
        message = f"the constraint{name} is violated" + (f" {count} times" if count > 1 else "")
        message += "".join(f"\n  {line}" for line in rule.documentation.splitlines())
        for row in rows[:SHOWN]:
            binding = self._binding(rule, row)
            message += f"\n  with {_written(binding)}" if binding else ""
            message += self._matched(rule, binding, "    " if binding else "  ")
        if count > SHOWN:
            message += f"\n  and {count - SHOWN} more"
        return EvaluationError(message, rule.text, rule.span)

    def clash(self, rule: CheckedRule, constants: tuple[int, int], rows: Rows) -> EvaluationError:
        """Error for two constants that some rows of a dependency equate."""
        left, right = sorted((whole(self.symbols.value(c)) for c in constants), key=rank)
        message = f"{source(left)} and {source(right)} cannot be one value"
        shown = [*rows[:SHOWN], *rows[-1:]] if len(rows) > SHOWN else list(rows)
        for i, row in enumerate(shown):
            binding = self._binding(rule, row)
            message += f", with {_written(binding)}" if i == 0 else f"\n  and with {_written(binding)}"
            message += self._matched(rule, binding)
        hint = "correct one of the facts, or derive a difference instead of demanding equality"
        return EvaluationError(message, rule.text, rule.span, hint)

    def _binding(self, rule: CheckedRule, row: Rows) -> dict[str, Value]:
        return {
            term.name: decode(kind, row[i : i + 1], self.symbols)[0]
            for i, (term, kind) in enumerate(
                zip(rule.head.terms, self.kinds[rule.head.predicate], strict=True)
            )
            if isinstance(term, Variable)
        }

    def _matched(self, rule: CheckedRule, binding: Mapping[str, Value], indent: str = "  ") -> str:
        """Body facts of a violation; for an aggregate over a single plain atom, the contributing facts."""
        more, atoms, most = "", rule.positives, 1
        plain = len(atoms) == 1 and not rule.negatives and not rule.before and not _repeats(atoms[0])
        if rule.aggregation is not None and plain:
            most = SHOWN
            count = len(self._matching(atoms[0], binding))
            more = f"\n{indent}and {count - most} more facts" if count > most else ""
        elif rule.aggregation is not None:
            atoms = tuple(a for a in atoms if all(v in binding or v.startswith("_") for v in a.variables))
            more = f"\n{indent}(the facts that contribute to {rule.aggregation.variable} are not listed)"
        facts = [fact for atom in atoms for fact in self._facts(atom, binding, most)]
        return "".join(f"\n{indent}fact: {fact}" for fact in dict.fromkeys(facts)) + more

    def _facts(self, atom: CheckedAtom, binding: Mapping[str, Value], most: int) -> list[str]:
        """Text of the first facts that match an atom under a binding."""
        rows, types = self._matching(atom, binding)[:most], self.kinds[atom.predicate]
        if not len(rows):
            return [str(atom)]
        name = self.names.get(atom.predicate, atom.predicate)
        if not types:
            return [name]
        columns = [decode(kind, rows[:, i], self.symbols) for i, kind in enumerate(types)]
        return [f"{name}({', '.join(map(source, row))})" for row in zip(*columns, strict=True)]

    def _matching(self, atom: CheckedAtom, binding: Mapping[str, Value]) -> Rows:
        rows = self.rows(atom.predicate)
        for i, (term, kind) in enumerate(zip(atom.terms, self.kinds[atom.predicate], strict=True)):
            if isinstance(term, Constant) or term.name in binding:
                value = term.value if isinstance(term, Constant) else binding[term.name]
                rows = rows[rows[:, i] == sought(value, kind, self.symbols)]
        return rows


def _written(binding: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {source(value)}" for name, value in binding.items())


def _repeats(atom: CheckedAtom) -> bool:
    return len(atom.variables) < sum(isinstance(term, Variable) for term in atom.terms)
