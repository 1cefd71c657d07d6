"""Whether the rules of a predicate agree on what an aggregated position of it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgreason.analysis.checked import MONOTONIC, Assign, CheckedAtom, Keyed
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Draft
from kgreason.lang.ast import Constant, Skolem, Variable

_NOTE = "an aggregated position of a predicate holds the results of one function"


def check_consistent(drafts: Sequence[Draft], keyed: Mapping[str, Keyed], findings: Findings) -> None:
    """Report positions that different functions fill for the same groups, and nulls beside an aggregate."""
    first: dict[tuple[str, int], list[tuple[CheckedAtom, str]]] = {}
    for head, position, function in _aggregated(drafts):
        others = first.setdefault((head.predicate, position), [])
        kept = head.predicate in keyed and keyed[head.predicate].position == position
        clash = next(
            (
                (atom, name)
                for atom, name in others
                if name != function
                and (_meet(head, atom, position) or (kept and _keeps(name) != _keeps(function)))
            ),
            None,
        )
        if clash:
            findings.add(
                "E119",
                f"argument {position + 1} of `{head.predicate}` is {_article(function)} here "
                f"and {_article(clash[1])} elsewhere",
                head.span,
                note=_NOTE,
                hint="use a predicate for each",
                related=((clash[0].span, f"{_article(clash[1])} here"),),
            )
        others.append((head, function))
    for rule in drafts:
        for head in rule.heads:
            _no_null(head, rule, keyed, findings)


def _aggregated(drafts: Sequence[Draft]) -> Iterator[tuple[CheckedAtom, int, str]]:
    for rule in drafts:
        if rule.aggregate is None or rule.hidden:
            continue
        name = rule.aggregate.node.function
        for head in rule.heads:
            for position in positions_of(rule.aggregate.variable, head):
                yield head, position, name[1:] if name in MONOTONIC else name


def positions_of(variable: str, head: CheckedAtom) -> list[int]:
    """Where a variable stands."""
    return [i for i, t in enumerate(head.terms) if isinstance(t, Variable) and t.name == variable]


def _meet(one: CheckedAtom, other: CheckedAtom, position: int) -> bool:
    """Whether two heads can have a group in common: no constants of them differ."""
    pairs = [p for i, p in enumerate(zip(one.terms, other.terms, strict=False)) if i != position]
    return not any(isinstance(a, Constant) and isinstance(b, Constant) and a != b for a, b in pairs)


def _keeps(function: str) -> str:
    return {"min": "least", "union": "union"}.get(function, "greatest")


def _article(function: str) -> str:
    return f"an {function}" if function[0] in "aeiou" else f"a {function}"


def _no_null(head: CheckedAtom, rule: Draft, keyed: Mapping[str, Keyed], findings: Findings) -> None:
    known = keyed.get(head.predicate)
    term = known.value(head) if known else None
    if not isinstance(term, Variable) or term.name not in _nulls(rule):
        return
    findings.add(
        "E119",
        f"argument {head.terms.index(term) + 1} of `{head.predicate}` is a null here and an aggregate elsewhere",
        term.span,
        note="a null is neither greater nor less than a value, so that none of the two could be kept",
        hint="use a predicate for each",
    )


def _nulls(rule: Draft) -> set[str]:
    steps = (*rule.before, *rule.after)
    made = {s.variable for s in steps if isinstance(s, Assign) and isinstance(s.expression, Skolem)}
    return made | {i.variable for i in rule.inventions}
