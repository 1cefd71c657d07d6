"""What `check --explain` says of the nulls of a program, and the warning about rules that are not warded."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kgreason.analysis.affected import Position, affected_positions, nullable_inputs, written
from kgreason.analysis.checked import CheckedProgram, CheckedRule, Stratum, Wardedness
from kgreason.analysis.findings import Findings
from kgreason.analysis.warded import Warding, endless, ward_rule
from kgreason.records import dataclass

_NOTE = (
    "a rule is warded if its dangerous variables (nulls in the body and in the head) stand in one body atom that "
    "shares no nulls with the others; without that the chase might never end, so nulls are nested to a depth (--depth)"
)


@dataclass(frozen=True, slots=True)
class AffectedPosition:
    """A position that can hold nulls; `rule` makes it so, or an input does where it is `None`."""

    predicate: str
    position: int
    rule: CheckedRule | None

    def __str__(self) -> str:
        cause = (
            f"rule {self.rule.number}: {self.rule.text}"
            if self.rule
            else "its source is read with missing=null"
        )
        return f"{self.predicate}[{self.position + 1}]: {cause}"


@dataclass(frozen=True, slots=True)
class WardedReport:
    """The fragment of a program, its affected positions, and the variables of each rule.

    Attributes
    ----------
    ends
        Whether the chase ends by itself, be the program warded or not (it is weakly acyclic).
    positions
        Sorted; positions are 0-based here and counted from 1 in the text.
    rules
        In the order of the text.
    """

    wardedness: Wardedness
    ends: bool
    positions: tuple[AffectedPosition, ...]
    rules: tuple[Warding, ...]

    def __str__(self) -> str:
        lines = [f"fragment: {self.wardedness.fragment}", "affected positions:"]
        lines += [f"  {p}" for p in self.positions] or ["  none"]
        for warding in self.rules:
            lines += [f"rule {warding.rule.number}: {warding.rule.text}", *_lines(warding)]
        return "\n".join(lines)


def _lines(warding: Warding) -> list[str]:
    named = (("harmless", warding.harmless), ("harmful", warding.harmful), ("dangerous", warding.dangerous))
    lines = [f"  {word}: {', '.join(variables)}" for word, variables in named if variables]
    if warding.ward is not None:
        lines.append(f"  ward: {warding.ward}")
    if warding.reason:
        lines.append(f"  not warded: {warding.reason}")
    if warding.joined:
        counted = ", the aggregate counted as one" if warding.aggregates else ""
        lines.append(f"  joins {warding.joined} atoms through nulls{counted}")
    return lines


def explain(program: CheckedProgram) -> WardedReport:
    """Tell which positions of a program can hold nulls, and what that means for each rule.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text("manager(X, Y) :- employee(X). employee(Y) :- manager(X, Y).")
    >>> print(explain(program))
    fragment: linear
    affected positions:
      employee[1]: rule 2: employee(Y) :- manager(X, Y).
      manager[1]: rule 1: manager(X, Y) :- employee(X).
      manager[2]: rule 1: manager(X, Y) :- employee(X).
    rule 1: manager(X, Y) :- employee(X).
      harmful: X
      dangerous: X
      ward: employee(X)
    rule 2: employee(Y) :- manager(X, Y).
      harmful: X, Y
      dangerous: Y
      ward: manager(X, Y)
    """
    nullable = nullable_inputs((*program.binds, *program.queries_bound), program.arities)
    rules = written(program.rules)
    affected = affected_positions(rules, nullable)
    positions = tuple(
        AffectedPosition(predicate, i, None if rule is None else rule.first)
        for (predicate, i), rule in sorted(affected.items(), key=lambda item: item[0])
    )
    wardings = tuple(ward_rule(rule, affected) for rule in sorted(rules, key=lambda r: r.first.number))
    return WardedReport(program.wardedness, not endless(rules, affected), positions, wardings)


def warn_unwarded(strata: Sequence[Stratum], nullable: Collection[Position], findings: Findings) -> None:
    """Name the rules that are not warded, unless the chase ends by itself."""
    rules = written(rule for stratum in strata for rule in stratum.rules)
    affected = affected_positions(rules, nullable)
    if not endless(rules, affected):
        return
    for rule in rules:
        warding = ward_rule(rule, affected)
        if warding.reason:
            findings.add(
                "W509",
                f"this rule is not warded: {warding.reason}",
                warding.rule.span,
                note=_NOTE,
                hint="`kgreason check --explain` tells which positions can hold nulls and why",
            )
