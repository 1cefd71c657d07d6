"""What annotations and rules say of each other: arities, definitions, outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from kgreason.analysis.annotations import Annotations
from kgreason.analysis.findings import Findings, plural
from kgreason.errors import Span
from kgreason.lang.functions import BUILT_IN
from kgreason.lang.names import suggest

_WIDTHS: dict[str, tuple[Callable[[int], bool], str]] = {
    "node": (lambda arity: arity >= 1, "a vertex predicate has the vertex as its first argument"),
    "edge": (lambda arity: arity in (2, 3), "an edge predicate has a source, a target and perhaps a weight"),
    "derived": (lambda arity: arity == 2, "a derived edge has a source and a target"),
    "sensitive": (lambda arity: arity == 2, "a sensitive link has a source and a target"),
    "incoming_sum": (lambda arity: arity == 3, "weights are the third argument of an edge predicate"),
}

_LOOKED_UP = 20  # so many undefined predicates are compared with all others for a misspelling


def check_declared(
    notes: Annotations, arities: Mapping[str, int], heads: frozenset[str], whole: bool, findings: Findings
) -> None:
    """Check annotations against the rules.

    Parameters
    ----------
    whole
        Whether every clause of the file could be parsed; if not, nothing is said about what is missing.
    """
    for name, (fits, words) in _WIDTHS.items():
        for predicate, span in notes.named[name].items():
            if predicate in arities and not fits(arities[predicate]):
                findings.add(
                    "E303", f"@{name}: `{predicate}` has {plural(arities[predicate])}", span, note=words
                )
    for mapping in notes.mappings:
        arity = arities.get(mapping.predicate)
        if arity is not None and mapping.position >= arity:
            findings.add(
                "E303",
                f"@mapping: `{mapping.predicate}` has {plural(arity)} and no position {mapping.position}",
                mapping.span,
                note="positions count from 0",
            )
    if whole:
        _check_derived(notes, heads, findings)
        _check_sensitive(notes, heads, findings)
        _check_sums(notes, findings)
        _check_mentioned(notes, arities, findings)


def _check_derived(notes: Annotations, heads: frozenset[str], findings: Findings) -> None:
    for name in ("derived", "query"):
        for predicate, span in notes.named[name].items():
            if predicate not in heads:
                closest = suggest(predicate, heads)
                findings.add(
                    "E304",
                    f"@{name}: no rule derives `{predicate}`",
                    span,
                    hint=f"did you mean {closest!r}?"
                    if closest
                    else f"write a rule with head `{predicate}(...)`",
                )


def _check_sensitive(notes: Annotations, heads: frozenset[str], findings: Findings) -> None:
    linking = {*heads, *notes.named["edge"]}
    for predicate, span in notes.named["sensitive"].items():
        if predicate not in linking:
            closest = suggest(predicate, linking)
            findings.add(
                "E304",
                f"@sensitive: no rule derives `{predicate}`, and it is no edge predicate",
                span,
                hint=f"did you mean {closest!r}?"
                if closest
                else f'write a rule with head `{predicate}(...)`, or add @edge("{predicate}")',
            )


def _check_sums(notes: Annotations, findings: Findings) -> None:
    for predicate, span in notes.named["incoming_sum"].items():
        if predicate not in notes.named["edge"]:
            closest = suggest(predicate, notes.named["edge"])
            findings.add(
                "E304",
                f"@incoming_sum: `{predicate}` is no edge predicate",
                span,
                hint=f"did you mean {closest!r}?" if closest else f'add @edge("{predicate}")',
            )


def _check_mentioned(notes: Annotations, mentioned: Iterable[str], findings: Findings) -> None:
    """Point out annotations of a predicate that nothing but data can know; an output of it is an error."""
    known = frozenset(mentioned)
    sourced = {p for name in ("bind", "qbind", "input") for p in notes.named[name]}
    shown = {p for name in ("output", "edge", "node") for p in notes.named[name]}
    told = {*known, *(sourced & shown), *notes.named["sensitive"]}
    for name in ("edge", "node", "mapping", "bind", "qbind", "post", "input", "output"):
        for predicate, span in notes.named[name].items():
            if predicate in told:
                continue
            told.add(predicate)
            other = "output" if name in ("mapping", "bind", "qbind", "input") else "input"
            closest = suggest(predicate, known)
            findings.add(
                # beside rules, an output that they do not know is a slip, and would pass for an empty one
                "E304" if name == "output" and known else "W503",
                f"@{name}: no rule and no fact mentions `{predicate}`",
                span,
                hint=f"did you mean {closest!r}?"
                if closest
                else f'if only data hold it, say so: @{other}("{predicate}")',
            )


def check_undefined(
    used: Mapping[str, Span],
    notes: Annotations,
    defined: Iterable[str],
    arities: Mapping[str, int],
    findings: Findings,
) -> None:
    """Warn of predicates that have no facts, no rules and no annotation."""
    known = frozenset(defined)
    undefined = [(predicate, span) for predicate, span in used.items() if predicate not in known]
    for i, (predicate, span) in enumerate(undefined):
        arity = arities.get(predicate)
        same = [p for p in known if arities.get(p, arity) == arity] if i < _LOOKED_UP else []
        closest = suggest(predicate, same)
        findings.add(
            "W501",
            f"`{predicate}` has no facts, no rules and no source in this file",
            span,
            hint=f"did you mean {closest!r}?"
            if closest
            else (_function(predicate, arity) if i < _LOOKED_UP else None)
            or _outside(predicate, notes, arities),
        )


def _function(predicate: str, arity: int | None) -> str | None:
    """Ask for the boolean function that an atom with a name of another language probably is."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", predicate).lower()
    fitting = [
        name
        for name, found in BUILT_IN.items()
        if found.result == "boolean" and arity is not None and found.takes(arity)
    ]
    closest = words if words in fitting else suggest(words, fitting)
    return f"did you mean the function {closest}?" if closest else None


def _outside(predicate: str, notes: Annotations, arities: Mapping[str, int]) -> str:
    """Say how to declare facts that are not in the file."""
    if arities.get(predicate) == 1 and notes.named["edge"] and not notes.named["node"]:
        return (
            f'if it holds for every vertex, say so: @node("{predicate}"); '
            f'if its facts come from outside: @input("{predicate}")'
        )
    return f'if its facts come from outside, say so: @input("{predicate}")'
