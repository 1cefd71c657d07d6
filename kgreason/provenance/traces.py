"""Traces: all facts on which a goal may depend, with their heights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgreason.engine.chase.frontiers import NESTING
from kgreason.engine.chase.identities import Identities, Merges
from kgreason.engine.limits import Limits
from kgreason.engine.plan.static_kinds import Kinds, infer
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.affected_positions import invents
from kgreason.language.check.checked_program import CheckedProgram, Wardedness
from kgreason.language.check.restriction import restricted
from kgreason.language.values import Value
from kgreason.provenance.heights import Levels
from kgreason.provenance.known_facts import Known, Types
from kgreason.provenance.traced_rules import Prepared, prepare


@dataclass(frozen=True)
class Trace:
    """All facts on which some predicates may depend, with their heights and the rules that derive them.

    Attributes
    ----------
    program
        The checked program, restricted to what the goal needs.
    known
        Facts by predicate, hidden ones included.
    rules
        Rules by the predicate of the head.
    run
        Number of the run with these facts, if unified nulls caused restarts.
    """

    program: CheckedProgram
    known: Mapping[str, Known]
    rules: Mapping[str, tuple[Prepared, ...]]
    symbols: Symbols
    run: int
    types: Types
    given: Mapping[str, Codes]
    """Given facts of predicates that keep unions: a result may be the union of several."""

    @property
    def doubles(self) -> frozenset[tuple[str, int]]:
        """Positions of kind ANY whose numbers are all doubles."""
        return self.types.doubles


class Runs:
    """Evaluation with all its runs: the last one, and those that ended with unified nulls.

    The program is restricted to the needs of the goal, unless nulls are created: their numbers must be the
    same as when the outputs of the program are derived. Constraints are not enforced.

    Raises
    ------
    ProgramError, EvaluationError
        As `kgreason.engine.seminaive.evaluation.evaluate`.
    """

    def __init__(self, program: CheckedProgram, facts: Facts, predicate: str, limits: Limits) -> None:
        whole = restricted(program, (*program.outputs, predicate))
        self.facts, types = _kinded(program, facts)
        self.program = restricted(program, [predicate])
        self.limits = limits
        self.merges = Merges()
        inventive = any(invents(rule) for rule in self.program.rules)
        scope = replace(whole if inventive else self.program, denials=())
        logging, self.prepared = prepare(scope)
        self.scope = scope
        used = {a.predicate for r in scope.rules for a in (r.head, *r.positives, *r.negatives)}
        goals = sorted({predicate, *used, *(r.head.predicate for r in logging.rules)})
        goals = [g for g in goals if g in logging.arities or g in self.facts.tables]
        self.types = _types(logging, infer(logging, self.facts, types.doubles))
        merges = self.merges if inventive or scope.unifications else None
        self.result = evaluate(
            logging, self.facts, goals=goals, limits=limits, merges=merges, doubles=types.doubles
        ).facts
        self.last = len(self.merges.relations)
        self.starts = [len(self.merges.links)] * (self.last + 1)
        for number, link in reversed(list(enumerate(self.merges.links))):
            self.starts[link.run] = number
        self.identities = [Identities(self.facts.symbols), *self.merges.roots]

    def trace(self, run: int, predicates: Sequence[str]) -> Trace:
        """Compute the heights of all facts of a run on which some predicates depend."""
        free = replace(self.scope, unifications=(), denials=(), wardedness=Wardedness())
        needed = {p for s in restricted(free, predicates).strata for p in s.predicates}
        strata = [
            (s, r) for s, r in zip(self.scope.strata, self.prepared, strict=True) if s.predicates & needed
        ]
        program = replace(self.scope, strata=tuple(s for s, _ in strata))
        levels = Levels(program, self._rooted(run), self._results(run), self.limits, self.types)
        by_head: dict[str, list[Prepared]] = {}
        for stratum, rules in strata:
            levels.stratum(stratum, rules)
            for rule in rules:
                by_head.setdefault(rule.rule.head.predicate, []).append(rule)
        rules_by_head = {p: tuple(r) for p, r in by_head.items()}
        unions = [p for p, k in program.keyed.items() if k.keep == "union" and p in levels.known]
        given = {p: levels.given(p) for p in unions}
        return Trace(program, levels.known, rules_by_head, self.result.symbols, run, self.types, given)

    def violations(self) -> list[str]:
        """Notes on violated constraints."""
        result = []
        for denial in self.program.denials:
            count = self.result.count(denial.predicate)
            if count:
                rule, often = denial.rule, "once" if count == 1 else f"{count:,} times"
                name = f'"{rule.label}" ' if rule.label else ""
                where = f"{rule.span.file}:{rule.span.line}"
                result.append(
                    f"the constraint {name}({where}) is violated {often}: {' '.join(rule.text.split())}"
                )
        return result

    def became(self, value: Value, run: int) -> Value:
        """Current value of a value at the start of a run."""
        return self.identities[run].became(value)

    def rooted(self, predicate: str, table: Table, kinds: Sequence[Kind], run: int) -> Codes:
        """Given rows of a predicate, coded by `kinds`, with the values at the start of a run."""
        symbols = self.facts.symbols
        rows = table.converted(kinds, symbols).matrix()
        for i, kind in enumerate(table.kinds):
            if kind in NESTING:
                rows[:, i] = self.identities[run].find(rows[:, i])
        return self.types.doubled(predicate, kinds, rows, symbols)

    def _rooted(self, run: int) -> Facts:
        if not self.identities[run].unified:
            return self.facts
        tables = {
            p: Table.of(t.kinds, self.rooted(p, t, t.kinds, run))
            for p, t in self.facts.tables.items()
            if t.length
        }
        return Facts({**self.facts.tables, **tables}, self.facts.symbols)

    def _results(self, run: int) -> Facts:
        if run == self.last:
            return self.result
        tables = dict(self.result.tables)
        for predicate, relation in self.merges.relations[run].items():
            if predicate in tables:
                rows = relation.buffer[: relation.count]
                kinds = tables[predicate].kinds
                tables[predicate] = Table.of(
                    kinds, self.types.doubled(predicate, kinds, rows, self.result.symbols)
                )
        return Facts(tables, self.result.symbols)


def _types(program: CheckedProgram, found: Kinds) -> Types:
    kinds = {}
    for predicate, arity in program.arities.items():
        known = [found.positions.get((predicate, i)) for i in range(arity)]
        if None not in known:
            kinds[predicate] = tuple(kind for kind in known if kind is not None)
    return Types(kinds, found.double_positions)


def _kinded(program: CheckedProgram, facts: Facts) -> tuple[Facts, Types]:
    """Convert the facts to the kinds that the whole program gives them."""
    # Rules that the goal does not need may turn integers into doubles; a division must have the same result
    # with and without them.
    types = _types(program, infer(program, facts))
    tables, symbols = dict(facts.tables), facts.symbols
    for predicate, kinds in types.kinds.items():
        table = tables.get(predicate, types.table(predicate))
        if table is not None and table.arity == len(kinds):
            rows = table.converted(kinds, symbols).matrix()
            tables[predicate] = Table.of(kinds, types.doubled(predicate, kinds, rows, symbols))
    return Facts(tables, symbols), types
