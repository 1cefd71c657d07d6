"""Aggregates of one predicate in several rules.

Positions that hold a monotonic aggregate have one final value per group; sums and counts contributed by several rules
or facts to one group are not added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from kgreason.base.errors import Findings, Span
from kgreason.language.check.aggregates import dependent, monotonic_name, named_contributors
from kgreason.language.check.body_order import OrderedRule
from kgreason.language.check.call_types import article
from kgreason.language.check.checked_program import Aggregation, Assign, CheckedAtom, Filter, Keyed
from kgreason.language.check.expressions import names
from kgreason.language.syntax.syntax_tree import Binary, Constant, Skolem, Term, Variable
from kgreason.language.vocabulary import MONOTONIC

_KEEP: dict[str, Literal["greatest", "least", "union"]] = {"mmin": "least", "munion": "union"}
_IDEMPOTENT = frozenset({"mmin", "mmax", "min", "max", "munion", "union"})
"""Aggregates that a contribution repeated by another contributor does not change."""


def keyed_positions(
    ordered: Sequence[OrderedRule], recursive: Sequence[bool], number: Mapping[str, int], findings: Findings
) -> dict[str, Keyed]:
    """Head positions that hold a monotonic aggregate, or a copy of one that its own stratum still improves.

    A rule that copies the aggregate of a predicate of its own stratum copies every intermediate value. Its head
    therefore keeps one value per key as well: the best of all values of its rules and facts.

    Parameters
    ----------
    recursive
        For each rule, whether its head and its body are in one stratum.
    number
        Stratum of each derived predicate.
    """
    search = _KeyedSearch(number, findings)
    for rule, loops in zip(ordered, recursive, strict=True):
        name = monotonic_name(rule.aggregate.node.function, loops) if rule.aggregate else None
        for head in rule.heads if name and not rule.hidden else ():
            search.add(head, rule, str(name), loops)
    search.extend([rule for rule, loops in zip(ordered, recursive, strict=True) if loops])
    search.check_functions(ordered)
    for rule in ordered:
        for head in rule.heads:
            search.check_nulls(head, rule)
    return search.keyed


class _Improving(NamedTuple):
    """A variable that holds a keyed value of the rule's own stratum, or a value computed from one."""

    atom: CheckedAtom
    value: str
    keep: Literal["greatest", "least", "union"]
    computed: Assign | None = None

    @property
    def related(self) -> tuple[Span, str]:
        return self.atom.span, f"{self.value} is an aggregate of `{self.atom.predicate}`"


class _KeyedSearch:
    def __init__(self, number: Mapping[str, int], findings: Findings) -> None:
        self.number, self.findings = number, findings
        self.keyed: dict[str, Keyed] = {}

    def add(self, head: CheckedAtom, rule: OrderedRule, name: str, loops: bool) -> None:
        """Add the position of an aggregate with this monotonic name in a head."""
        assert rule.aggregate is not None
        variable = rule.aggregate.variable
        computed = dependent(variable, rule.after) - {variable}
        if loops and computed & set(head.variables):
            self.findings.add(
                "E116",
                f"the head of a recursive rule holds a value computed from the aggregate {variable}",
                head.span,
                note="an aggregate in recursion improves step by step, and only its own value is replaced",
                hint=f"put {variable} into the head, and compute in a rule that reads `{head.predicate}`",
            )
        positions = _positions(variable, head)
        if positions:
            old = self.keyed.setdefault(head.predicate, Keyed(positions[0], _KEEP.get(name, "greatest")))
            if len(positions) > 1 or old.position != positions[0]:
                self._inconsistent(head)

    def _inconsistent(self, head: CheckedAtom, *related: tuple[Span, str]) -> None:
        self.findings.add(
            "E115",
            f"`{head.predicate}` has aggregates in more than one way",
            head.span,
            note="a predicate with a monotonic aggregate has one value for each key, at one position in all "
            "of its rules, and either always the greatest value or always the least",
            hint="use a predicate for each",
            related=related,
        )

    def extend(self, rules: Sequence[OrderedRule]) -> None:
        """Add the positions to which recursive rules copy keyed values, until nothing changes, and check them."""
        size = -1
        while size < len(self.keyed):
            size = len(self.keyed)
            for head, position, origin in self._copies(rules):
                if origin.computed is None:
                    self.keyed.setdefault(head.predicate, Keyed(position, origin.keep))
        for head, position, origin in self._copies(rules):
            known = self.keyed.get(head.predicate)
            if origin.computed is None and known != Keyed(position, origin.keep):
                self._inconsistent(head, origin.related)
            elif origin.computed is not None and (known is None or known.position != position):
                self._report_computed(head, origin, origin.computed)
        for rule in rules:
            if rule.aggregate is None or rule.aggregate.node.function in _IDEMPOTENT:
                continue
            contributors, node = named_contributors(rule.aggregate), rule.aggregate.node
            for head in rule.heads:  # a value replaced by a better one would still count as a contribution
                origins = self._improving(rule, head)
                for origin in [o for name in contributors or () for o in origins.get(name, ())]:
                    self.findings.add(
                        "E118",
                        f"`{node}` distinguishes contributions by an aggregate that still improves",
                        node.span,
                        note="each value on the way to the last would contribute",
                        hint="distinguish them by other variables of the body, or aggregate in a rule outside the "
                        "recursion",
                        related=(origin.related,),
                    )

    def _report_computed(self, head: CheckedAtom, origin: _Improving, computed: Assign) -> None:
        function = {"greatest": "mmax", "least": "mmin", "union": "munion"}[origin.keep]
        expression, null = computed.expression, isinstance(computed.expression, Skolem)
        made = computed.variable if not computed.variable.startswith("_") else f"`{expression}`"
        self.findings.add(
            "E116",
            f"the head of a recursive rule holds {made}, "
            f"{'a null of' if null else 'computed from'} the aggregate {origin.value}",
            head.span,
            note="an aggregate in recursion improves step by step, and what is computed from it stays",
            hint="make the null in a rule outside of the recursion"
            if null
            else f"if it grows with {origin.value}, write `{computed.variable.lstrip('_')} = {function}({expression})`",
            related=(origin.related,),
        )

    def _copies(self, rules: Sequence[OrderedRule]) -> Iterator[tuple[CheckedAtom, int, _Improving]]:
        """Head positions that improving values reach: the head, the position, the value."""
        for rule in rules:
            for head in rule.heads:
                origins = self._improving(rule, head)
                for position, term in enumerate(head.terms):
                    for origin in origins.get(term.name, ()) if isinstance(term, Variable) else ():
                        yield head, position, origin

    def _improving(self, rule: OrderedRule, head: CheckedAtom) -> dict[str, list[_Improving]]:
        """Variables of a rule that improve while the stratum of `head` is evaluated."""
        origins: dict[str, list[_Improving]] = {}
        for atom in rule.positives:
            known = self.keyed.get(atom.predicate)
            term = known.value(atom) if known else None
            same_stratum = self.number[head.predicate] == self.number.get(atom.predicate)
            if known and isinstance(term, Variable) and same_stratum:
                origins.setdefault(term.name, []).append(_Improving(atom, term.name, known.keep))
        nulls = (  # existential variables as functions of the frontier
            Assign(i.variable, Skolem(i.variable, tuple(map(Variable, i.frontier))), rule.written.clause.span)
            for i in rule.inventions
        )
        for step in (*rule.steps, *nulls) if origins else ():
            if isinstance(step, Assign):
                found = [o for name in sorted(names(step.expression)) for o in origins.get(name, ())]
                if not isinstance(step.expression, Variable):
                    found = [o._replace(computed=step) for o in found]
                origins.setdefault(step.variable, []).extend(found)
        return origins

    def check_functions(self, ordered: Sequence[OrderedRule]) -> None:
        """Report positions that different functions fill for the same groups."""
        first: dict[tuple[str, int], list[tuple[CheckedAtom, str]]] = {}
        for head, position, function in _aggregated(ordered):
            others = first.setdefault((head.predicate, position), [])
            known = self.keyed.get(head.predicate)
            kept = known is not None and known.position == position
            for atom, name in others:
                unlike = kept and _KEEP.get(f"m{name}") != _KEEP.get(f"m{function}")
                if name != function and (unlike or _common_group(head, atom, position)):
                    self.findings.add(
                        "E119",
                        f"argument {position + 1} of `{head.predicate}` is {article(function)} here "
                        f"and {article(name)} elsewhere",
                        head.span,
                        note="an aggregated position of a predicate holds the results of one function",
                        hint="use a predicate for each",
                        related=((atom.span, f"{article(name)} here"),),
                    )
                    break
            others.append((head, function))

    def check_nulls(self, head: CheckedAtom, rule: OrderedRule) -> None:
        """Report a null at a position that holds an aggregate elsewhere."""
        known = self.keyed.get(head.predicate)
        term = known.value(head) if known else None
        made = {s.variable for s in rule.steps if isinstance(s, Assign) and isinstance(s.expression, Skolem)}
        if isinstance(term, Variable) and term.name in made | {i.variable for i in rule.inventions}:
            self.findings.add(
                "E119",
                f"argument {head.terms.index(term) + 1} of `{head.predicate}` is a null here and an aggregate "
                "elsewhere",
                term.span,
                note="a null is neither greater nor less than a value, so that none of the two could be kept",
                hint="use a predicate for each",
            )


def _aggregated(ordered: Sequence[OrderedRule]) -> Iterator[tuple[CheckedAtom, int, str]]:
    for rule in ordered:
        if rule.aggregate and not rule.hidden:
            name = rule.aggregate.node.function
            for head in rule.heads:
                for position in _positions(rule.aggregate.variable, head):
                    yield head, position, name[1:] if name in MONOTONIC else name


def _positions(variable: str, head: CheckedAtom) -> list[int]:
    return [i for i, t in enumerate(head.terms) if isinstance(t, Variable) and t.name == variable]


def _common_group(one: CheckedAtom, other: CheckedAtom, position: int) -> bool:
    """Whether two heads can have a common group, i.e. their constants do not differ."""
    pairs = [p for i, p in enumerate(zip(one.terms, other.terms, strict=False)) if i != position]
    return not any(isinstance(a, Constant) and isinstance(b, Constant) and a != b for a, b in pairs)


_ADDED = {"sum": "added up", "prod": "multiplied", "count": "counted together"}
_COMPARED = 100  # maximum of rules per predicate that are compared with each other
_Key = tuple[int, str] | Constant


class _Source(NamedTuple):
    """A head or a fact of a predicate; `late` are the variables that hold the aggregate."""

    head: CheckedAtom
    span: Span
    late: frozenset[str] = frozenset()
    rule: OrderedRule | None = None

    def key(self, term: Term) -> _Key:
        """Key of a term that distinguishes variables of the two sources."""
        return (id(self), term.name) if isinstance(term, Variable) else term


def check_split(
    ordered: Sequence[OrderedRule],
    facts: Sequence[CheckedAtom],
    keyed: Mapping[str, Keyed],
    findings: Findings,
) -> None:
    """Warn of rules that separately sum up contributions to what may be the same group of a predicate.

    If a predicate keeps one value per group, facts and rules without an aggregate count as well.
    """
    sources: dict[tuple[str, str], list[_Source]] = {}
    reported: set[tuple[str, str]] = set()
    for rule in ordered:
        for kind, source in _added(rule):
            group = (source.head.predicate, kind)
            earlier = sources.setdefault(group, [])
            if group in reported or len(earlier) > _COMPARED:
                continue
            other = next((o for o in earlier if o.rule is not rule and _can_meet(o, source)), None)
            if other is not None:
                reported.add(group)
                _report_split(kind, "several rules contribute", other, source, keyed, findings)
            earlier.append(source)
    sums = {
        group: [s for s in found if (v := _value(s, keyed)) is not None and names(v) & s.late]
        for group, found in sources.items()
    }
    plain = _plain(ordered, facts, {p for (p, _), found in sums.items() if found})
    for (predicate, kind), found in sums.items():
        others = plain.get(predicate, ())[:_COMPARED] if (predicate, kind) not in reported else ()
        for other in others if found else ():
            if kind != "prod" and _value(other, keyed) == Constant(0):
                continue  # the value for an empty sum
            aggregate = next((s for s in found if _can_meet(s, other)), None)
            if aggregate is not None:
                what = "rules without an aggregate" if other.rule else "facts"
                _report_split(kind, f"{what} contribute", aggregate, other, keyed, findings)
                break


def _added(rule: OrderedRule) -> Iterator[tuple[str, _Source]]:
    """Heads of a rule that hold a sum, a product or a count, or a value computed from it."""
    if rule.aggregate is None or rule.hidden:
        return
    kind = rule.aggregate.node.function.removeprefix("m")
    late = frozenset(dependent(rule.aggregate.variable, rule.after))
    for head in rule.heads if kind in _ADDED else ():
        if late.intersection(head.variables):
            yield kind, _Source(head, rule.aggregate.node.span, late, rule)


def _value(source: _Source, keyed: Mapping[str, Keyed]) -> Term | None:
    """Term at the position where the predicate keeps one value."""
    known = keyed.get(source.head.predicate)
    return known.value(source.head) if known else None


def _plain(
    ordered: Sequence[OrderedRule], facts: Sequence[CheckedAtom], wanted: set[str]
) -> dict[str, list[_Source]]:
    """Facts of the `wanted` predicates, and heads of rules without aggregates."""
    rules = (r for r in ordered if r.aggregate is None and not r.inventions)
    found: dict[str, list[_Source]] = {}
    for source in (
        *(_Source(head, head.span, rule=rule) for rule in rules for head in rule.heads),
        *(_Source(fact, fact.span) for fact in facts if wanted),
    ):
        if source.head.predicate in wanted:
            found.setdefault(source.head.predicate, []).append(source)
    return found


def _report_split(
    kind: str, who: str, first: _Source, second: _Source, keyed: Mapping[str, Keyed], findings: Findings
) -> None:
    predicate = second.head.predicate
    findings.add(
        "W513",
        f"what {who} to `{predicate}` is not {_ADDED[kind]}",
        second.span,
        note="each rule aggregates the matches of its own body; of two values for one group "
        + ("the greater counts" if predicate in keyed else "both are facts"),
        hint="let the rules derive their contributions into one predicate, and aggregate that once, "
        "as rules/integrated_ownership.vada does",
        related=((first.span, "the other aggregate" if second.late else "the aggregate"),),
    )


def _can_meet(one: _Source, other: _Source) -> bool:
    """Whether two rules can give values to one group, judging by heads, `!=` and `not`."""
    same = _Same()
    for left, right in zip(one.head.terms, other.head.terms, strict=False):
        if names(left) & one.late or names(right) & other.late:
            continue
        if not same.join(one.key(left), other.key(right)):
            return False
    pairs = (one, other), (other, one)
    return not any(_unequal(a, same) or _opposed(a, b, same) for a, b in pairs)


class _Same:
    """Union-find of terms of two heads that are equal for one group."""

    def __init__(self) -> None:
        self._above: dict[_Key, _Key] = {}

    def find(self, key: _Key) -> _Key:
        while key in self._above:
            key = self._above[key]
        return key

    def join(self, left: _Key, right: _Key) -> bool:
        """Unify two terms; false if they are different constants."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            return False
        self._above[left] = right
        return True


def _unequal(source: _Source, same: _Same) -> bool:
    """Whether the rule requires two terms to differ that are unified."""
    for step in source.rule.steps if source.rule else ():
        match step:
            case Filter(Binary("!=", Variable() | Constant() as left, Variable() | Constant() as right)):
                if same.find(source.key(left)) == same.find(source.key(right)):
                    return True
    return False


def _opposed(one: _Source, other: _Source, same: _Same) -> bool:
    """Whether one rule requires an atom that the other negates."""

    def key(source: _Source, atom: CheckedAtom) -> tuple[str, tuple[_Key, ...]]:
        return atom.predicate, tuple(same.find(source.key(t)) for t in atom.terms)

    negated = {key(other, atom) for atom in (other.rule.negatives if other.rule else ())}
    return any(key(one, atom) in negated for atom in (one.rule.positives if one.rule else ()))


def finish(
    rule: OrderedRule, recursive: bool, keyed: Mapping[str, Keyed], findings: Findings
) -> Aggregation | None:
    """Determine the contributors and the monotonic form."""
    aggregate = rule.aggregate
    if aggregate is None:
        return None
    node = aggregate.node
    name = monotonic_name(node.function, recursive)
    if name not in (None, node.function):
        findings.add(
            "W502",
            f"`{node.function}` in recursion is read as `{name}`",
            node.span,
            note="only a monotonic aggregate has a meaning in recursion",
            hint=f"write `{name}`",
        )
    function = name or node.function
    argument = None if function in ("mcount", "count") else node.argument
    contributors = named_contributors(aggregate)
    if contributors is None:
        values = {known.value(a) for a in rule.positives if (known := keyed.get(a.predicate)) is not None}
        matched = dict.fromkeys(v for atom in rule.positives for v in atom.variables)
        contributors = tuple(v for v in matched if Variable(v) not in values)
    monotonic = name is not None
    variable, group = aggregate.variable, aggregate.group
    return Aggregation(variable, function, argument, contributors, group, monotonic, node.span)
