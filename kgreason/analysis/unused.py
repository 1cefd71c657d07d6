"""Warnings of what a program declares or derives and nothing uses."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping

from kgreason.analysis.annotations import Annotations
from kgreason.analysis.findings import Findings
from kgreason.errors import Span
from kgreason.lang.ast import Annotation, Atom, BodyItem, Constraint, Equality, Fact, Negation, Program, Rule
from kgreason.lang.names import suggest

_REFERENCE = re.compile(r"\$\{([^}\n]*)\}")
_COMMENT = re.compile(r'("[^"\\]*(?:\\[\s\S][^"\\]*)*")|%[^\n]*')
_UNNEEDED = {
    "rules": "is derived, but no output and no other rule needs it",
    "facts": "has facts, but no output and no rule needs them",
}


def heads(program: Program) -> dict[str, Span]:
    """Where each predicate is first derived."""
    found: dict[str, Span] = {}
    for clause in program.clauses:
        for atom in clause.head if isinstance(clause, Rule) else ():
            found.setdefault(atom.predicate, atom.span)
    return found


def read_predicates(program: Program) -> dict[str, Span]:
    """Where each predicate is first read."""
    used: dict[str, Span] = {}
    for clause in program.clauses:
        for atom in body_atoms(clause.body) if isinstance(clause, Rule | Equality | Constraint) else ():
            used.setdefault(atom.predicate, atom.span)
    return used


def all_atoms(program: Program) -> Iterator[Atom]:
    """Every atom of a program, in the order of the text."""
    for clause in program.clauses:
        if isinstance(clause, Fact):
            yield clause.atom
        elif isinstance(clause, Rule | Equality | Constraint):
            if isinstance(clause, Rule):
                yield from clause.head
            yield from body_atoms(clause.body)


def body_atoms(body: Iterable[BodyItem]) -> Iterator[Atom]:
    """Atoms of a body, the negated ones included."""
    for item in body:
        if isinstance(item, Atom):
            yield item
        elif isinstance(item, Negation):
            yield item.atom


def check_unused(
    program: Program,
    notes: Annotations,
    arities: Mapping[str, int],
    defined: frozenset[str],
    findings: Findings,
) -> None:
    """Warn of predicates that nothing needs, of sources that nothing reads, of posts without an output."""
    derived, used = heads(program), read_predicates(program)
    shown: set[str | None] = {
        p for n in ("output", "node", "edge", "derived", "query", "sensitive") for p in notes.named[n]
    }
    shown |= {
        suggest(p, arities) for p in notes.named["output"] if p not in arities
    }  # what these are meant for
    elsewhere = _read_elsewhere(program)
    missing = [p for p in used if p not in defined]
    if notes.named["output"]:
        facts = _facts(program, {*derived, *notes.inputs()})
        for what, places in (("rules", derived), ("facts", facts)):
            for predicate, span in places.items():
                if predicate not in shown and predicate not in elsewhere:
                    like = [p for p in missing if arities[p] == arities[predicate]]
                    _unneeded(predicate, what, span, like, findings)
        for predicate, span in notes.named["post"].items():
            if predicate in arities and predicate not in notes.named["output"]:
                findings.add(
                    "W512",
                    f"@post: `{predicate}` is no output",
                    span,
                    note="@post acts on what is given out, never on what other rules read",
                    hint=f'add @output("{predicate}")',
                )
    if derived:
        for name in ("input", "bind", "qbind"):
            for predicate, span in notes.named[name].items():
                if predicate in arities and predicate not in {*used, *shown, *derived}:
                    _unread(name, predicate, span, missing, findings)


def check_parameters(parameters: Mapping[str, Annotation], texts: Iterable[str], findings: Findings) -> None:
    """Warn of parameters that no file takes a value from: their names may be slips."""
    if not parameters:  # texts can hold very many facts
        return
    bare = (_COMMENT.sub(r"\1", text) for text in texts)
    used = {name for text in bare for name in _REFERENCE.findall(text)}
    if used - parameters.keys():  # one without a value is an error that tells what was meant
        return
    for name, clause in parameters.items():
        if name not in used:
            closest = suggest(name, sorted(used))
            findings.add(
                "W514",
                f"@param: nothing takes the value of {name!r}",
                clause.span,
                note=f"a parameter is used as ${{{name}}}, in a rule or in a string",
                hint=f"did you mean {closest!r}?" if closest else "use it, or leave it out",
            )


def _read_elsewhere(program: Program) -> frozenset[str]:
    """Predicates that something else than their own rules reads."""
    found = set()
    for clause in program.clauses:
        if isinstance(clause, Rule | Equality | Constraint):
            own = {a.predicate for a in clause.head} if isinstance(clause, Rule) else set()
            read = {a.predicate for a in body_atoms(clause.body)}
            found |= read - own if len(own) == 1 else read  # of several heads, each may serve the others
    return frozenset(found)


def _facts(program: Program, others: Container[str]) -> dict[str, Span]:
    """Where each predicate but the `others` has its first fact."""
    found: dict[str, Span] = {}
    for clause in program.clauses:
        if isinstance(clause, Fact) and clause.atom.predicate not in others:
            found.setdefault(clause.atom.predicate, clause.atom.span)
    return found


def _unneeded(predicate: str, what: str, span: Span, missing: list[str], findings: Findings) -> None:
    closest = suggest(predicate, missing)
    findings.add(
        "W510",
        f"`{predicate}` {_UNNEEDED[what]}",
        span,
        hint=f"did you mean {closest!r}, which a rule reads and nothing derives?"
        if closest
        else f'show it: @output("{predicate}"), or leave its {what} out',
    )


def _unread(name: str, predicate: str, span: Span, missing: list[str], findings: Findings) -> None:
    closest = suggest(predicate, missing)
    findings.add(
        "W511",
        f"@{name}: no rule reads `{predicate}`",
        span,
        hint=f"did you mean {closest!r}, which a rule reads and nothing defines?"
        if closest
        else "leave the annotation out, or read it in a rule",
    )
