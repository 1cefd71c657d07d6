"""Heights of facts: the minimal depth of a proof, counted in rules.

The height of a given fact is 0; that of a derived fact is one more than the greatest height of its premises,
minimized over its derivations. Negated atoms and conditions do not count. An aggregate outside recursion
depends on all its contributions; one in recursion on those known at that height.

The engine computes heights stratum by stratum. It evaluates a stratum in rounds, and round h derives the
facts of height h, provided that facts of lower strata, and totals, become visible in the round of their own
height. This is controlled by a clock, a predicate that gets one more fact in each round. Of keyed predicates
all intermediate values are kept, with the rounds in which they were derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, stated
from kgreason.engine.relations.relation import KeyedRelation, Relation
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.language.syntax.syntax_tree import NOWHERE, Constant, Variable
from kgreason.provenance.known_facts import Heights, Known, Types
from kgreason.provenance.traced_rules import Prepared


class Watch:
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
NOTHING: Heights = np.empty(0, dtype=np.int64)


class Levels:
    """Heights by stratum."""

    def __init__(
        self,
        program: CheckedProgram,
        facts: Facts,
        result: Facts,
        limits: Limits,
        types: Types,
    ) -> None:
        self.program, self.facts, self.result, self.limits = program, facts, result, limits
        self.types = types
        self.symbols = result.symbols
        self.known: dict[str, Known] = {}
        derived = program.heads
        for predicate, table in result.tables.items():
            if predicate not in derived:
                zeros = np.zeros(table.length, dtype=np.int64)
                self.known[predicate] = Known(table.kinds, table.matrix(), zeros)

    def stratum(self, stratum: Stratum, rules: Sequence[Prepared]) -> None:
        """Compute the heights of all facts of a stratum, after all lower ones."""
        if not any(self.result.count(r.rule.head.predicate) for r in rules):
            for rule in rules:
                table = self.result.tables[rule.rule.head.predicate]
                self.known[rule.rule.head.predicate] = Known(table.kinds, table.matrix(), NOTHING)
            return
        whole = [rule for rule in rules if rule.body.aggregation and not rule.recursive]
        others = [rule for rule in rules if rule not in whole]
        heads = sorted({rule.rule.head.predicate for rule in rules})
        self._rounds(stratum, others, heads, self._totalled(whole))

    def given(self, predicate: str) -> Codes:
        """Given facts of a derived predicate, coded like its results."""
        kinds = self.result.tables[predicate].kinds
        parts = []
        table = self.facts.tables.get(predicate)
        if table is not None and table.length:
            parts.append(table.converted(kinds, self.facts.symbols).matrix())
        facts = [f for f in self.program.facts if f.predicate == predicate]
        if facts:
            parts.append(stated(facts, kinds, self.symbols))
        if not parts:
            return np.empty((0, len(kinds)), dtype=np.int64)
        given = np.concatenate(parts)  # data and rule file may contain the same fact
        given = self.types.doubled(predicate, kinds, given, self.symbols)
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
            heights = groups.heights[groups.places(table.matrix()[:, arity:])]
            result.setdefault(head, []).append((self._rows(head, table, arity), heights))
        return result

    def _rows(self, predicate: str, table: Table, arity: int) -> Codes:
        """The first columns of a table, coded like the results of a predicate."""
        kinds = self.result.tables[predicate].kinds
        own = Table(table.kinds[:arity], table.columns[:arity], table.length)
        rows = own.converted(kinds, self.symbols).matrix()
        return self.types.doubled(predicate, kinds, rows, self.symbols)

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
        """Rule with the group variables appended to its head."""
        body = rule.body
        assert body.aggregation is not None
        terms = (*body.head.terms, *map(Variable, body.aggregation.group))
        return replace(body, head=CheckedAtom(f"#height:{number}", terms, body.head.span))

    def _run(self, rules: Sequence[CheckedRule]) -> Mapping[str, Table]:
        """Evaluate rules that read only known facts."""
        if not rules:
            return {}
        tables: dict[str, Table] = {}
        for rule in rules:
            for atom in (*rule.positives, *rule.negatives):
                if atom.predicate not in tables:
                    tables[atom.predicate] = self._table(atom.predicate)
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
        watch: Watch | None = None,
        **changes: object,
    ) -> Facts:
        arities = {p: t.arity for p, t in tables.items()}
        for stratum in strata:
            arities.update(
                {p: self.program.arities[p] for p in stratum.predicates & self.program.arities.keys()}
            )
            for rule in stratum.rules:
                for atom in (rule.head, *rule.positives, *rule.negatives):
                    arities[atom.predicate] = len(atom.terms)
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
        span = NOWHERE
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
                positives = (*positives, CheckedAtom(CLOCK, (Constant(0),), span))
            negatives = tuple(replace(a, predicate=f"#final:{a.predicate}") for a in rule.body.negatives)
            tables.update({a.predicate: self._table(a.predicate) for a in negatives})
            program.append(replace(rule.body, positives=positives, negatives=negatives))
        program.append(
            replace(
                _reveal(CLOCK, 1),
                head=CheckedAtom(CLOCK, (two,), span),
                positives=(CheckedAtom(CLOCK, (one,), span), CheckedAtom(NEXT, (one, two), span)),
            )
        )
        tables[CLOCK] = Table.of((Kind.INT,), np.zeros((1, 1), dtype=np.int64))
        steps = np.arange(last + 1)
        tables[NEXT] = Table.of((Kind.INT, Kind.INT), np.column_stack([steps, steps + 1]))
        watch = Watch(heads)
        self._evaluate(
            (Stratum(predicates, tuple(program), recursive=True),),
            tables,
            list(heads),
            watch,
            keyed={p: k for p, k in self.program.keyed.items() if p in heads},
        )
        for head in heads:
            self._take(head, watch, stratum.recursive)

    def _take(self, head: str, watch: Watch, recursive: bool) -> None:
        """Store the derived facts, and which of them are results; without recursion in the order of the results."""
        table = self.result.tables[head]
        rows, heights = watch.found(head, table.arity)
        rows = self.types.doubled(head, table.kinds, rows, self.symbols)
        if head not in self.program.keyed:
            known = self.known[head] = Known(table.kinds, rows, heights)
            if not recursive:
                rows = table.matrix()
                self.known[head] = Known(table.kinds, rows, known.heights[known.places(rows)])
            return
        result = Known(table.kinds, table.matrix(), np.zeros(table.length, dtype=np.int64))
        at = result.places(rows)
        there = np.zeros(table.length, dtype=np.bool_)
        there[at[at >= 0]] = True
        missing = np.flatnonzero(~there)  # final improvements too small to be propagated
        rows = np.concatenate([rows, result.rows[missing]])
        heights = np.concatenate([heights, np.full(len(missing), watch.rounds)])
        self.known[head] = Known(table.kinds, rows, heights, np.concatenate([at, missing]) >= 0)


def _at(predicate: str) -> str:
    return f"#at:{predicate}"


def _reveal(predicate: str, arity: int) -> CheckedRule:
    """Rule ``p(X) :- #at:p(X, L), #clock(L)``."""
    terms = tuple(Variable(f"X{i}") for i in range(arity))
    level = Variable("L")
    head = CheckedAtom(predicate, terms, NOWHERE)
    positives = (CheckedAtom(_at(predicate), (*terms, level), NOWHERE), CheckedAtom(CLOCK, (level,), NOWHERE))
    return CheckedRule(head, positives, (), (), None, (), str(head), NOWHERE)


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
