"""Grounding of an attacker's rules: released links as causes of sensitive links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError, ProgramError
from kgreason.base.jit import Doubles
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, doubles
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.language.check.restriction import restricted
from kgreason.language.syntax.syntax_tree import Constant, Term, Variable
from kgreason.links.attacks.noisy_or import Causes
from kgreason.links.model import Observations, observations

Ints = npt.NDArray[np.int64]


class Seen:
    """Links of one relation as facts, in both directions if mutual, with the number of links of each fact."""

    def __init__(self, found: Observations, entities: int, arity: int) -> None:
        if arity == 2 and found.weight is not None:
            found = observations(found.source, found.target, count=found.count, mutual=found.mutual)
        self.mutual, self._entities = found.mutual, entities
        back = (found.source != found.target) if found.mutual else np.zeros(len(found), dtype=np.bool_)
        source = np.concatenate([found.source, found.target[back]])
        target = np.concatenate([found.target, found.source[back]])
        self._columns = [source, target]
        if arity == 3:
            weight = np.ones(len(found)) if found.weight is None else found.weight
            self._columns.append(doubles(np.concatenate([weight, weight[back]])))
        self._counts = np.concatenate([found.count, found.count[back]])
        self._single = bool((self._counts == 1).all())
        self._weights = np.unique(self._columns[2]) if arity == 3 else np.empty(0, dtype=np.int64)
        if not self._single:
            keys = self._keys(np.stack(self._columns, axis=1))
            order = np.argsort(keys)
            self._sorted, self._ordered = keys[order], self._counts[order]

    def table(self) -> Table:
        """The facts as a table of source, target and, with three arguments, weight."""
        return _facts_table(self._columns)

    def _keys(self, rows: Ints) -> Ints:
        keys: Ints = self._entities * rows[:, 0] + rows[:, 1]
        if rows.shape[1] == 3:
            at = np.searchsorted(self._weights, rows[:, 2])
            known = self._weights[np.minimum(at, len(self._weights) - 1)] == rows[:, 2]
            keys = np.where(known, keys * len(self._weights) + at, -1)
        return keys

    def count(self, rows: Ints) -> Ints:
        """Number of links of each fact; 1 for derived facts."""
        if self._single or not len(rows):  # also if there is no link at all
            return np.ones(len(rows), dtype=np.int64)
        keys = self._keys(rows)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        found = self._sorted[at] == keys
        return np.where(found, self._ordered[at], 1)


def _facts_table(columns: Sequence[Ints]) -> Table:
    """Table of two entity columns and an optional weight column."""
    kinds = (Kind.INT, Kind.INT, Kind.DOUBLE)[: len(columns)]
    return Table(kinds, tuple(columns), len(columns[0]))


def packed(rows: Ints) -> Ints:
    """Row identifiers: at least 0, equal for equal rows; shape (m,).

    Examples
    --------
    >>> packed(np.array([[1, 2], [0, 1], [1, 2]])).tolist()
    [5, 1, 5]
    """
    key = np.zeros(len(rows), dtype=np.int64)
    for given in rows.T:
        column = given
        if (
            column.min(initial=0) < 0
            or (int(key.max(initial=0)) + 1) * (int(column.max(initial=0)) + 1) >> 60
        ):
            key, column = (np.unique(c, return_inverse=True)[1] for c in (key, column))
        key = key * (column.max(initial=0) + 1) + column
    return key


@dataclass(frozen=True, eq=False)
class Grounded:
    """All causes of sensitive links.

    Attributes
    ----------
    source, target
        Pairs with a cause, int64, shape (n,), ordered; source <= target if the relation is mutual. Loops are included:
        they are no links, but rule bodies may need them.
    causes
        One for each rule; pairs are referred to by number.
    """

    source: Ints
    target: Ints
    causes: tuple[Causes, ...]


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule for the sensitive relation and a predicate that lists its groundings."""

    # The arguments of the predicate are those of the head, then all variables of the positive atoms; for a rule
    # with an aggregate, those of the head alone.

    predicate: str
    rule: CheckedRule
    terms: tuple[Term, ...]

    def listing(self) -> CheckedRule:
        head = CheckedAtom(self.predicate, self.terms, self.rule.head.span)
        return replace(self.rule, head=head, text=f"{self.rule.text} ({self.predicate})")

    def arguments(self, atom: CheckedAtom, rows: Ints) -> Ints:
        """Arguments of an atom in each grounding, shape (rows, arity); weights as codes of doubles."""
        column = {term.name: i for i, term in enumerate(self.terms) if isinstance(term, Variable)}
        found = [
            np.full(len(rows), _code(term)) if isinstance(term, Constant) else rows[:, column[term.name]]
            for term in atom.terms
        ]
        return np.stack(found, axis=1) if found else np.empty((len(rows), 0), dtype=np.int64)


def _code(term: Constant) -> np.int64:
    """Code of a constant as a weight; constants that are not numbers share one code."""
    weight = term.value if isinstance(term.value, int | float) else 0.0
    return np.int64(doubles(np.array([weight], dtype=np.float64))[0])


class Grounder:
    """Finds the causes of sensitive links by evaluating the rules.

    Parameters
    ----------
    program
        The attacker's rules, with the relations of the release as edges; see `relevant`.
    sensitive
        The sensitive relation, which some rule derives.
    mutual
        Whether the sensitive relation is symmetric. Then bodies read its links in both directions, and groundings of a
        pair in either direction that read the same links are one cause.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation.
    ProgramError
        If the rules depend on names of entities, create labelled nulls, or need data beyond the graph.
    """

    def __init__(self, program: CheckedProgram, sensitive: str, *, mutual: bool) -> None:
        self._sensitive, self._mutual = sensitive, mutual
        rules = adversary(program, sensitive)
        own = [rule for rule in rules.rules if rule.head.predicate == sensitive]
        self._rules = tuple(_Rule(f"cause {i}", rule, _terms(rule)) for i, rule in enumerate(own))
        listed = tuple(Stratum(frozenset({r.predicate}), (r.listing(),), False) for r in self._rules)
        strata = tuple(map(self._both_ways, rules.strata)) if mutual else rules.strata
        self._program = replace(
            rules,
            strata=(*strata, *listed),
            outputs=tuple(r.predicate for r in self._rules),
            arities={**rules.arities, **{r.predicate: len(r.terms) for r in self._rules}},
        )

    def _both_ways(self, stratum: Stratum) -> Stratum:
        """Add the symmetry rule of the sensitive relation to a recursive stratum that derives it."""
        if self._sensitive not in stratum.predicates or not stratum.recursive:
            return stratum
        first = next(rule for rule in stratum.rules if rule.head.predicate == self._sensitive)
        ends = (Variable("X"), Variable("Y"))
        head, body = (CheckedAtom(self._sensitive, e, first.span) for e in (ends, ends[::-1]))
        back = CheckedRule(head, (body,), (), (), None, (), f"{head} :- {body}.", first.span)
        return replace(stratum, rules=(*stratum.rules, back))

    def ground(self, observed: Mapping[str, Observations], entities: int) -> Grounded:
        """Find all causes.

        Parameters
        ----------
        observed
            Links between entities.

        Raises
        ------
        AnonymizationError
            If the rules use a relation with arguments other than two ends and an optional weight.
        ProgramError, EvaluationError
            As `kgreason.reason`.
        """
        from kgreason.engine.seminaive.evaluation import evaluate

        seen = {p: Seen(found, entities, arity) for p, found, arity in self._read(observed)}
        tables = {p: s.table() for p, s in seen.items()}
        tables |= dict.fromkeys(self._program.nodes, _facts_table([np.arange(entities, dtype=np.int64)]))
        found = evaluate(self._program, Facts(tables), goals=self._program.outputs).facts
        parts = [self._part(rule, _rows(found.tables[rule.predicate]), seen) for rule in self._rules]
        return self._grounded(parts, entities)

    def _grounded(self, parts: list[_Part], entities: int) -> Grounded:
        heads = [entities * part.head[:, 0] + part.head[:, 1] for part in parts]
        pairs = np.sort(np.concatenate(heads))
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # several times as fast as np.unique, which hashes
        causes = tuple(
            Causes(np.searchsorted(pairs, head), part.weight, part.count, part.needs(pairs, entities))
            for part, head in zip(parts, heads, strict=True)
        )
        return Grounded(pairs // max(entities, 1), pairs % max(entities, 1), causes)

    def _read(self, observed: Mapping[str, Observations]) -> list[tuple[str, Observations, int]]:
        found = [
            (p, links, self._program.arities[p])
            for p, links in observed.items()
            if p in self._program.arities
        ]
        for predicate, _, arity in found:
            if arity not in (2, 3):
                raise AnonymizationError(
                    f"{predicate!r} has {arity} arguments in the rules of the adversary",
                    hint="links have a source, a target and perhaps a weight",
                )
        return found

    def _part(self, rule: _Rule, rows: Ints, seen: Mapping[str, Seen]) -> _Part:
        """Groundings of one rule, without those whose body contains the head."""
        weight = 1.0 if rule.rule.weight is None else rule.rule.weight
        if rule.rule.aggregation is not None:
            head = np.unique(self._ends(rows[:, :2]), axis=0)
            return _Part(head, weight, np.ones(len(head)), ())
        rows = self._once(rule, rows, seen)
        own = [a for a in rule.rule.positives if a.predicate == self._sensitive]
        head, body = self._ends(rows[:, :2]), [self._ends(rule.arguments(a, rows)) for a in own]
        new = np.ones(len(rows), dtype=np.bool_)
        for ends in body:
            new &= (ends != head).any(axis=1)
        count = np.ones(len(rows))  # floats: products of large counts overflow int64
        for atom in rule.rule.positives:
            if atom.predicate in seen:
                count *= seen[atom.predicate].count(rule.arguments(atom, rows))
        return _Part(head[new], weight, count[new], tuple(ends[new] for ends in body))

    def _ends(self, pairs: Ints) -> Ints:
        return np.sort(pairs, axis=1) if self._mutual else pairs

    def _once(self, rule: _Rule, rows: Ints, seen: Mapping[str, Seen]) -> Ints:
        """Keep one of the groundings that are the same cause of a mutual link."""
        if not self._mutual or not len(rows):
            return rows
        atoms = rule.rule.positives
        predicates = list(dict.fromkeys(a.predicate for a in atoms))
        facts = np.empty((len(rows), len(atoms)), dtype=np.int64)
        for number, predicate in enumerate(predicates):
            at = [i for i, a in enumerate(atoms) if a.predicate == predicate]
            given = np.concatenate([rule.arguments(atoms[i], rows) for i in at])
            if predicate == self._sensitive or (predicate in seen and seen[predicate].mutual):
                given[:, :2] = np.sort(given[:, :2], axis=1)
            facts[:, at] = (len(predicates) * packed(given) + number).reshape(len(at), -1).T
        read = np.sort(facts, axis=1)
        same = packed(np.concatenate([self._ends(rows[:, :2]), read], axis=1))
        return rows[np.unique(same, return_index=True)[1]]


@dataclass(frozen=True, eq=False)
class _Part:
    """Groundings of one rule: head pairs (m, 2), and the pairs of each body atom of the sensitive relation."""

    head: Ints
    weight: float
    count: Doubles
    body: tuple[Ints, ...]

    def needs(self, pairs: Ints, entities: int) -> Ints:
        """Numbers of the body pairs, shape (m, atoms)."""
        needs = np.empty((len(self.head), len(self.body)), dtype=np.int64)
        for i, ends in enumerate(self.body):
            needs[:, i] = np.searchsorted(pairs, entities * ends[:, 0] + ends[:, 1])
        return needs


def relevant(program: CheckedProgram, sensitive: str, relations: Iterable[str] = ()) -> CheckedProgram:
    """The rules that derive a sensitive relation, without the data of the program.

    Parameters
    ----------
    relations
        Relations of the release; they are edges even if the program does not declare them.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation.
    """
    if sensitive not in program.heads or program.arities[sensitive] != 2:
        raise AnonymizationError(
            f"no rule of the adversary derives {sensitive!r} of two arguments",
            hint=f'write one, as @label("name", 0.4). {sensitive}(X, Y) :- ...',
        )
    edges = dict.fromkeys((*program.edges, *(p for p in relations if p in program.arities)))
    program = replace(program, edges=tuple(edges))
    return replace(restricted(program.without_graph(), (sensitive,)), derived=(sensitive,), queries=())


def adversary(program: CheckedProgram, sensitive: str) -> CheckedProgram:
    """The rules that derive a sensitive relation, checked to be applicable to any graph.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation.
    ProgramError
        If the rules depend on names of entities, create labelled nulls, or need data beyond the graph.
    """
    from kgreason.language.check.genericity import check_generic

    rules = relevant(program, sensitive)
    # the sensitive relation links entities, even if only recursion or node predicates derive it
    rules = replace(rules, edges=tuple(dict.fromkeys((*rules.edges, sensitive))))
    if diagnostics := check_generic(rules):
        raise ProgramError(diagnostics, program.sources or program.text)
    return rules


def _terms(rule: CheckedRule) -> tuple[Term, ...]:
    if rule.aggregation is not None:
        return rule.head.terms
    names = dict.fromkeys(v for atom in rule.positives for v in atom.variables)
    return (*rule.head.terms, *map(Variable, names))


def _rows(table: Table) -> Ints:
    return np.stack(table.columns, axis=1) if table.length else np.empty((0, table.arity), np.int64)
