"""Traces: all facts on which a goal may depend, with their heights.

The height of a fact is the minimal depth of a proof, counted in rules: 0 for a given fact; for a derived one, one more
than the greatest height of its premises, minimized over its derivations. Negated atoms and conditions do not count. An
aggregate outside recursion depends on all its contributions; one in recursion on those known at that height.

The engine computes heights stratum by stratum. It evaluates a stratum in rounds, and round h derives the facts of
height h, provided that facts of lower strata, and totals, become visible in the round of their own height. This is
controlled by a clock, a predicate that gets one more fact in each round. Of keyed predicates all intermediate values
are kept, with the rounds in which they were derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.records import record
from kgreason.engine.chase.frontiers import NESTING
from kgreason.engine.chase.identities import Identities, Merges
from kgreason.engine.limits import Limits
from kgreason.engine.plan.static_kinds import Kinds, infer
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, stated
from kgreason.engine.relations.relation import KeyedRelation, Relation
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.affected_positions import invents
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Stratum,
    Wardedness,
)
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import NOWHERE, Constant, Variable
from kgreason.provenance.known_facts import Heights, Known, Prepared, Types, prepare


@record
class Trace:
    """All facts on which some predicates may depend, with their heights and the rules that derive them.

    Attributes
    ----------
    known
        Facts by predicate, hidden ones included.
    rules
        Rules by the predicate of the head.
    run
        Number of the run with these facts, if unified nulls caused restarts.
    given
        Given facts of predicates that keep unions: a result may be the union of several.
    """

    program: CheckedProgram
    known: Mapping[str, Known]
    rules: Mapping[str, tuple[Prepared, ...]]
    symbols: Symbols
    run: int
    types: Types
    given: Mapping[str, Codes]

    @property
    def doubles(self) -> frozenset[tuple[str, int]]:
        """Positions of kind ANY whose numbers are all doubles."""
        return self.types.doubles


class Runs:
    """Evaluation with all its runs: the last one, and those that ended with unified nulls.

    The program is restricted to the needs of the goal, unless nulls are created: their numbers must be the same as when
    the outputs of the program are derived. Constraints are not enforced.
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
        used = {predicate, *logging.heads, *(a.predicate for r in scope.rules for a in r.atoms)}
        goals = [g for g in sorted(used) if g in logging.arities or g in self.facts.tables]
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
        pairs = zip(self.scope.strata, self.prepared, strict=True)
        strata = [(stratum, rules) for stratum, rules in pairs if stratum.predicates & needed]
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
            if count := self.result.count(denial.predicate):
                rule, often = denial.rule, "once" if count == 1 else f"{count:,} times"
                name = f'"{rule.label}" ' if rule.label else ""
                violated = f"({rule.span.file}:{rule.span.line}) is violated {often}"
                result.append(f"the constraint {name}{violated}: {' '.join(rule.text.split())}")
        return result

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
        symbols = self.result.symbols
        for predicate, relation in self.merges.relations[run].items():
            if predicate in tables:
                kinds = tables[predicate].kinds
                rows = self.types.doubled(predicate, kinds, relation.buffer[: relation.count], symbols)
                tables[predicate] = Table.of(kinds, rows)
        return Facts(tables, symbols)


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
            tables[predicate] = Table.of(kinds, types.coded(predicate, table, kinds, symbols))
    return Facts(tables, symbols), types


class RoundRecorder:
    """Recorder of the rounds in which the facts of some predicates are derived."""

    def __init__(self, predicates: Sequence[str]) -> None:
        self.predicates = predicates
        self.rounds = 0
        self.rows: dict[str, list[Codes]] = {p: [] for p in predicates}
        self.heights: dict[str, list[Heights]] = {p: [] for p in predicates}
        self.ends: dict[str, list[int]] = {p: [] for p in predicates}
        self.relations: dict[str, Relation] = {}

    def __call__(self, relations: Mapping[str, Relation]) -> None:
        """Record the facts of a round."""
        for predicate in self.predicates:
            relation = self.relations[predicate] = relations[predicate]
            if isinstance(relation, KeyedRelation):
                recent = np.array(relation.recent)
                self.rows[predicate].append(recent)
                self.heights[predicate].append(np.full(len(recent), self.rounds))
            else:
                self.ends[predicate].append(relation.seen)
        self.rounds += 1

    def found(self, predicate: str, arity: int) -> tuple[Codes, Heights]:
        """Facts and their heights."""
        relation = self.relations[predicate]
        if isinstance(relation, KeyedRelation):
            rows = np.concatenate(self.rows[predicate])
            return rows.reshape(-1, arity), np.concatenate(self.heights[predicate])
        sizes = np.diff(self.ends[predicate], prepend=0)
        rows = relation.buffer[: self.ends[predicate][-1]]
        return rows, np.repeat(np.arange(len(sizes)), sizes)


CLOCK, NEXT = "#clock", "#next"


class Levels:
    """Computation of the heights of all facts, stratum by stratum."""

    def __init__(
        self, program: CheckedProgram, facts: Facts, result: Facts, limits: Limits, types: Types
    ) -> None:
        self.program, self.facts, self.result, self.limits = program, facts, result, limits
        self.types = types
        self.symbols = result.symbols
        self.known: dict[str, Known] = {}
        derived = program.heads
        self.known.update({p: Known.given(t) for p, t in result.tables.items() if p not in derived})

    def stratum(self, stratum: Stratum, rules: Sequence[Prepared]) -> None:
        """Compute the heights of all facts of a stratum, after all lower ones."""
        heads = sorted({rule.rule.head.predicate for rule in rules})
        if not any(self.result.count(head) for head in heads):
            self.known.update({head: Known.given(self.result.tables[head]) for head in heads})
            return
        whole = [rule for rule in rules if rule.body.aggregation and not rule.recursive]
        others = [rule for rule in rules if rule not in whole]
        self._rounds(stratum, others, heads, self._totalled(whole))

    def given(self, predicate: str) -> Codes:
        """Given facts of a derived predicate, coded like its results."""
        kinds = self.result.tables[predicate].kinds
        parts = []
        table = self.facts.tables.get(predicate)
        if table is not None and table.length:
            parts.append(self.types.coded(predicate, table, kinds, self.symbols))
        if facts := [f for f in self.program.facts if f.predicate == predicate]:
            rows = stated(facts, kinds, self.symbols)
            parts.append(self.types.doubled(predicate, kinds, rows, self.symbols))
        if not parts:
            return np.empty((0, len(kinds)), dtype=np.int64)
        given = np.concatenate(parts)  # data and rule file may contain the same fact
        return np.unique(given, axis=0) if len(kinds) else given[:1]

    # --- aggregates outside recursion ------------------------------------------------------------------------

    def _totalled(self, rules: Sequence[Prepared]) -> dict[str, list[tuple[Codes, Heights]]]:
        """Heads of rules with aggregates, each with the greatest height of the premises of all contributions."""
        rules = [rule for rule in rules if all(len(self.known[a.predicate]) for a in rule.body.positives)]
        tops = self._run([self._tops(i, rule) for i, rule in enumerate(rules)])
        found = self._run([self._heads(i, rule) for i, rule in enumerate(rules)])
        result: dict[str, list[tuple[Codes, Heights]]] = {}
        for i, rule in enumerate(rules):
            head, aggregation = rule.rule.head.predicate, rule.body.aggregation
            assert aggregation is not None
            table, arity = found[f"#height:{i}"], len(rule.rule.head.terms)
            groups = _greatest(tops[f"#each:{i}"], len(aggregation.group))
            heights = groups.heights[groups.numbers(table.matrix()[:, arity:])]
            result.setdefault(head, []).append((self._rows(head, table, arity), heights))
        return result

    def _rows(self, predicate: str, table: Table, arity: int) -> Codes:
        """The first columns of a table, coded like the results of a predicate."""
        kinds = self.result.tables[predicate].kinds
        own = Table(table.kinds[:arity], table.columns[:arity], table.length)
        return self.types.coded(predicate, own, kinds, self.symbols)

    def _tops(self, number: int, rule: Prepared) -> CheckedRule:
        """Rule that returns the heights of the premises for all contributions of each group."""
        body = rule.body
        assert body.aggregation is not None
        positives, heights = list(body.positives), list[Variable]()
        for i, atom in enumerate(body.positives):
            if self.known[atom.predicate].raised:
                heights.append(Variable(f"#H{i}"))
                positives[i] = CheckedAtom(_at(atom.predicate), (*atom.terms, heights[-1]), atom.span)
        terms = (*map(Variable, body.aggregation.group), *heights)
        head = CheckedAtom(f"#each:{number}", terms, body.head.span)
        return replace(body, head=head, positives=tuple(positives), aggregation=None, after=())

    def _heads(self, number: int, rule: Prepared) -> CheckedRule:
        body = rule.body
        assert body.aggregation is not None
        terms = (*body.head.terms, *map(Variable, body.aggregation.group))
        return replace(body, head=CheckedAtom(f"#height:{number}", terms, body.head.span))

    def _run(self, rules: Sequence[CheckedRule]) -> Mapping[str, Table]:
        if not rules:
            return {}
        tables: dict[str, Table] = {}
        for rule in rules:
            names = dict.fromkeys(a.predicate for a in rule.body if a.predicate not in tables)
            tables.update({name: self._table(name) for name in names})
        strata = tuple(Stratum(frozenset({r.head.predicate}), (r,), recursive=False) for r in rules)
        return self._evaluate(strata, tables, [r.head.predicate for r in rules]).tables

    def _table(self, predicate: str) -> Table:
        """Facts of a lower stratum, with heights if the name asks for them."""
        if predicate.startswith("#at:"):
            known = self.known[predicate[4:]]
            ids = known.finals()
            rows = np.column_stack([known.rows[ids], known.heights[ids]])
            return Table.of((*known.kinds, Kind.INT), rows)
        known = self.known[predicate.removeprefix("#final:")]
        return Table.of(known.kinds, known.rows[known.final])

    def _evaluate(
        self,
        strata: tuple[Stratum, ...],
        tables: Mapping[str, Table],
        goals: Sequence[str],
        watch: RoundRecorder | None = None,
        **changes: object,
    ) -> Facts:
        arities = {p: t.arity for p, t in tables.items()}
        for stratum in strata:
            known = stratum.predicates & self.program.arities.keys()
            arities.update({p: self.program.arities[p] for p in known})
            for rule in stratum.rules:
                arities.update({atom.predicate: len(atom.terms) for atom in rule.atoms})
        base = {p: p.removeprefix("#at:").removeprefix("#final:") for p in (*arities, *tables)}
        program = replace(
            self.program,
            facts=(),
            strata=strata,
            arities=arities,
            unifications=(),
            denials=(),
            **{"keyed": {}, **changes},  # type: ignore[arg-type]
        )
        filled = {p: t for p, t in tables.items() if t.length or p in goals or base[p] in self.types.kinds}
        doubles = {(p, i) for p, same in base.items() for q, i in self.types.doubles if q == same}
        facts = Facts(filled, self.symbols)
        return evaluate(
            program, facts, goals=goals, limits=self.limits, on_round=watch, doubles=doubles
        ).facts

    # --- all others --------------------------------------------------------------------------------------------

    def _rounds(
        self,
        stratum: Stratum,
        rules: Sequence[Prepared],
        heads: Sequence[str],
        totalled: Mapping[str, list[tuple[Codes, Heights]]],
    ) -> None:
        tables: dict[str, Table] = {}
        program: list[CheckedRule] = []
        last = 0
        for head in heads:
            given = self.given(head)
            kinds = self.result.tables[head].kinds
            if head in self.types.kinds:  # also without given facts: the kinds must be those of the results
                tables[head] = Table.of(kinds, given)
            if totalled.get(head):
                rows = np.concatenate([np.column_stack([r, h]) for r, h in totalled[head]])
                tables[_at(head)] = Table.of((*kinds, Kind.INT), rows)
                program.append(_reveal(head, len(kinds)))
                last = max(last, int(rows[:, -1].max(initial=0)))
        lower = {a.predicate for r in rules for a in r.body.positives} - stratum.predicates
        revealed = sorted(p for p in lower if self.known[p].raised)
        for predicate in lower:
            known = self.known[predicate]
            ids = known.finals()
            low = ids[known.heights[ids] == 0]
            tables[predicate] = Table.of(known.kinds, known.rows[low])
            if predicate in revealed:
                high = ids[known.heights[ids] > 0]
                rows = np.column_stack([known.rows[high], known.heights[high] - 1])
                tables[_at(predicate)] = Table.of((*known.kinds, Kind.INT), rows)
                program.append(_reveal(predicate, len(known.kinds)))
                last = max(last, int(rows[:, -1].max(initial=0)))
        one, two = Variable("L"), Variable("M")
        predicates = frozenset((*stratum.predicates, *revealed, CLOCK))
        for rule in rules:
            positives = rule.body.positives
            if not any(a.predicate in predicates for a in positives):  # fires in the first round, not before
                positives = (*positives, CheckedAtom(CLOCK, (Constant(0),), NOWHERE))
            negatives = tuple(replace(a, predicate=f"#final:{a.predicate}") for a in rule.body.negatives)
            tables.update({a.predicate: self._table(a.predicate) for a in negatives})
            program.append(replace(rule.body, positives=positives, negatives=negatives))
        ticks = CheckedAtom(CLOCK, (one,), NOWHERE), CheckedAtom(NEXT, (one, two), NOWHERE)
        program.append(_rule(CheckedAtom(CLOCK, (two,), NOWHERE), ticks))
        tables[CLOCK] = Table.of((Kind.INT,), np.zeros((1, 1), dtype=np.int64))
        steps = np.arange(last + 1)
        tables[NEXT] = Table.of((Kind.INT, Kind.INT), np.column_stack([steps, steps + 1]))
        recorder = RoundRecorder(heads)
        self._evaluate(
            (Stratum(predicates, tuple(program), recursive=True),),
            tables,
            list(heads),
            recorder,
            keyed={p: k for p, k in self.program.keyed.items() if p in heads},
        )
        for head in heads:
            self._take(head, recorder, stratum.recursive)

    def _take(self, head: str, recorder: RoundRecorder, recursive: bool) -> None:
        """Store the derived facts, and which of them are results; without recursion in the order of the results."""
        table = self.result.tables[head]
        rows, heights = recorder.found(head, table.arity)
        rows = self.types.doubled(head, table.kinds, rows, self.symbols)
        if head not in self.program.keyed:
            known = self.known[head] = Known(table.kinds, rows, heights)
            if not recursive:
                rows = table.matrix()
                self.known[head] = Known(table.kinds, rows, known.heights[known.numbers(rows)])
            return
        result = Known.given(table)
        at = result.numbers(rows)
        there = np.zeros(table.length, dtype=np.bool_)
        there[at[at >= 0]] = True
        missing = np.flatnonzero(~there)  # final improvements too small to be propagated
        rows = np.concatenate([rows, result.rows[missing]])
        heights = np.concatenate([heights, np.full(len(missing), recorder.rounds)])
        self.known[head] = Known(table.kinds, rows, heights, np.concatenate([at, missing]) >= 0)


def _at(predicate: str) -> str:
    return f"#at:{predicate}"


def _rule(head: CheckedAtom, positives: tuple[CheckedAtom, ...]) -> CheckedRule:
    return CheckedRule(head, positives, (), (), None, (), str(head), NOWHERE)


def _reveal(predicate: str, arity: int) -> CheckedRule:
    """Rule ``p(X) :- #at:p(X, L), #clock(L)``."""
    terms = tuple(Variable(f"X{i}") for i in range(arity))
    level = Variable("L")
    positives = CheckedAtom(_at(predicate), (*terms, level), NOWHERE), CheckedAtom(CLOCK, (level,), NOWHERE)
    return _rule(CheckedAtom(predicate, terms, NOWHERE), positives)


def _greatest(table: Table, width: int) -> Known:
    """Maximum of the other columns for each value of the first columns."""
    rows = table.matrix()
    heights = rows[:, width:].max(axis=1, initial=0)
    order = np.lexsort((heights, *rows[:, :width].T[::-1])) if len(rows) else np.empty(0, dtype=np.int64)
    rows, heights = rows[order, :width], heights[order]
    if len(rows):
        last = np.append((rows[1:] != rows[:-1]).any(axis=1), True)
        rows, heights = rows[last], heights[last]
    return Known(table.kinds[:width], rows, heights)
