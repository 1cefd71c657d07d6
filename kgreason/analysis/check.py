"""From text to a checked program: the only place where a `CheckedProgram` is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kgreason.analysis.aggregation import finish, keyed_positions
from kgreason.analysis.annotations import read_annotations
from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Keyed, Stratum
from kgreason.analysis.declared import check_declared, check_undefined, plural
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Draft, checked_atom, draft
from kgreason.analysis.strata import components, dependencies, report_unstratified
from kgreason.errors import Diagnostic, ProgramError, Span
from kgreason.lang.ast import (
    Annotation,
    Atom,
    Fact,
    Negation,
    Program,
    Rule,
    UnsupportedClause,
    Variable,
)
from kgreason.lang.parser import read


def load_file(path: str | Path) -> CheckedProgram:
    """Read, parse and check a rule file.

    Raises
    ------
    ProgramError
        With all its diagnostics; also if the file cannot be read.
    """
    text, unreadable = _read_file(path)
    if unreadable:
        raise ProgramError((unreadable,), "")
    return _load(text, str(path), Path(path).parent)


def load_text(text: str, file: str = "<text>") -> CheckedProgram:
    """Parse and check a program; relative paths in it are relative to the current folder.

    Raises
    ------
    ProgramError
        With all its diagnostics.

    Examples
    --------
    >>> program = load_text("reach(X,Y) :- own(X,Y,W), W > 0. reach(X,Z) :- reach(X,Y), own(Y,Z,W), W > 0.")
    >>> program.outputs, program.strata[0].recursive
    (('reach',), True)
    """
    return _load(text, file, Path())


def check_file(path: str | Path) -> tuple[Diagnostic, ...]:
    """All diagnostics of a rule file, warnings included."""
    text, unreadable = _read_file(path)
    if unreadable:
        return (unreadable,)
    _, diagnostics = _check(text, str(path), Path(path).parent)
    return diagnostics


def _load(text: str, file: str, folder: Path) -> CheckedProgram:
    program, diagnostics = _check(text, file, folder)
    if program is None:
        raise ProgramError(diagnostics, text)
    return program


def _read_file(path: str | Path) -> tuple[str, Diagnostic | None]:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return "", Diagnostic("E007", f"cannot read {path}: {reason}")
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", Diagnostic(
            "E008",
            f"{path}: line {line} is not UTF-8 text (byte 0x{data[error.start]:02x})",
            note="rule files are UTF-8",
            hint="save the file as UTF-8",
        )


def _check(text: str, file: str, folder: Path) -> tuple[CheckedProgram | None, tuple[Diagnostic, ...]]:
    """Run all checks; the program is `None` if there are errors."""
    program, syntax = read(text, file)
    findings = Findings(syntax)
    if not program.clauses and not syntax:
        findings.add("E009", f"{file} holds no fact, no rule and no annotation", None)
    notes = read_annotations([c for c in program.clauses if isinstance(c, Annotation)], folder, findings)
    arities = _arities(program, findings)
    facts = _facts(program, findings)
    defined = _defined(program) | notes.inputs()
    drafts = _drafts(program, defined, findings)
    heads = frozenset(_heads(program))
    check_declared(notes, arities, heads, not syntax, findings)
    if not syntax:
        check_undefined(_used(program), notes, defined, arities, findings)
    strata, keyed = _strata(program, drafts, findings)
    if findings.errors:
        return None, findings.all
    outputs = notes.of("output") or tuple(_heads(program))
    queries = notes.of("query")
    binary = tuple(p for p in outputs if p in heads and arities[p] == 2 and p not in queries)
    checked = CheckedProgram(
        facts=facts,
        strata=strata,
        arities=arities,
        keyed=keyed,
        inputs=notes.of("input"),
        outputs=outputs,
        binds=tuple(notes.binds),
        mappings=tuple(notes.mappings),
        nodes=notes.of("node"),
        edges=notes.of("edge"),
        derived=notes.of("derived") or binary,
        queries=queries,
        incoming_sums=notes.incoming_sums,
        warnings=findings.all,
        file=file,
        text=text,
    )
    return checked, findings.all


def _atoms(program: Program) -> Iterator[Atom]:
    for clause in program.clauses:
        if isinstance(clause, Fact):
            yield clause.atom
        elif isinstance(clause, Rule):
            yield from clause.head
            for item in clause.body:
                if isinstance(item, Atom):
                    yield item
                elif isinstance(item, Negation):
                    yield item.atom


def _heads(program: Program) -> dict[str, None]:
    return dict.fromkeys(a.predicate for c in program.clauses if isinstance(c, Rule) for a in c.head)


def _defined(program: Program) -> frozenset[str]:
    """Predicates with rules, facts or a source, be they right or wrong."""
    facts = {c.atom.predicate for c in program.clauses if isinstance(c, Fact)}
    sources = {
        str(c.arguments[0].value)
        for c in program.clauses
        if isinstance(c, Annotation) and c.name == "bind" and c.arguments
    }
    return frozenset(_heads(program)) | facts | sources


def _used(program: Program) -> dict[str, Span]:
    """Where each predicate is first read."""
    used: dict[str, Span] = {}
    for clause in program.clauses:
        for item in clause.body if isinstance(clause, Rule) else ():
            if isinstance(item, Atom | Negation):
                atom = item if isinstance(item, Atom) else item.atom
                used.setdefault(atom.predicate, atom.span)
    return used


def _arities(program: Program, findings: Findings) -> dict[str, int]:
    first: dict[str, Atom] = {}
    for atom in _atoms(program):
        known = first.setdefault(atom.predicate, atom)
        if known.arity != atom.arity:
            findings.add(
                "E104",
                f"`{atom.predicate}` has {plural(atom.arity)} here and {known.arity} elsewhere",
                atom.span,
                note="a predicate has the same number of arguments everywhere",
                related=((known.span, f"with {plural(known.arity)}"),),
            )
    return {predicate: atom.arity for predicate, atom in first.items()}


def _facts(program: Program, findings: Findings) -> tuple[CheckedAtom, ...]:
    facts: dict[CheckedAtom, None] = {}
    for clause in program.clauses:
        if not isinstance(clause, Fact):
            continue
        atom = checked_atom(clause.atom, findings)
        if atom is None:
            continue
        for term in atom.terms:
            if isinstance(term, Variable):
                findings.add(
                    "E102",
                    f"the fact holds the variable {term}",
                    term.span,
                    note="a fact consists of constants",
                    hint=f'write "{term}" for a string, or give the clause a body',
                )
                break
        facts.setdefault(atom)
    return tuple(facts)


def _drafts(program: Program, defined: frozenset[str], findings: Findings) -> list[Draft]:
    drafts = []
    for clause in program.clauses:
        if isinstance(clause, UnsupportedClause):
            findings.add("E205", f"{clause.feature}: not supported by this version", clause.span)
        elif isinstance(clause, Rule):
            rule = draft(clause, defined, findings)
            if rule is not None:
                drafts.append(rule)
    return drafts


def _strata(
    program: Program, drafts: list[Draft], findings: Findings
) -> tuple[tuple[Stratum, ...], dict[str, Keyed]]:
    edges = dependencies(c for c in program.clauses if isinstance(c, Rule))
    parts = components(edges, _heads(program))
    report_unstratified(parts, edges, findings)
    number = {predicate: i for i, part in enumerate(parts) for predicate in part}
    loops = [_loops(rule, number) for rule in drafts]
    keyed = keyed_positions(drafts, loops, findings)
    rules: list[list[CheckedRule]] = [[] for _ in parts]
    for rule, recursive in zip(drafts, loops, strict=True):
        aggregation = finish(rule, recursive, keyed, findings)
        for head in rule.heads:
            rules[number[head.predicate]].append(
                CheckedRule(
                    head=head,
                    positives=rule.positives,
                    negatives=rule.negatives,
                    before=rule.before,
                    aggregation=aggregation,
                    after=rule.after,
                    text=rule.text,
                    span=rule.span,
                )
            )
    return tuple(_stratum(part, members) for part, members in zip(parts, rules, strict=True)), keyed


def _loops(rule: Draft, number: dict[str, int]) -> bool:
    """Whether some head of the rule needs itself through this rule."""
    below = {number.get(atom.predicate) for atom in rule.positives}
    return any(number[head.predicate] in below for head in rule.heads)


def _stratum(part: frozenset[str], rules: list[CheckedRule]) -> Stratum:
    recursive = any(atom.predicate in part for rule in rules for atom in rule.positives)
    return Stratum(part, tuple(rules), recursive)
