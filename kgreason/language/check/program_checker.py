"""Entry points of the checker, from text to a checked program, and restriction of a program to some goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kgreason.base.errors import Diagnostic, Findings, ProgramError, plural, render_all
from kgreason.language.check.affected_positions import nullable_inputs
from kgreason.language.check.annotations import Annotations, read_annotations
from kgreason.language.check.checked_program import Bind, CheckedProgram, Query, Stratum
from kgreason.language.check.declarations import Consistency, first_uses
from kgreason.language.check.file_access import Reach
from kgreason.language.check.includes import Source, read_program, read_text
from kgreason.language.check.strata import Built, build, read_conditions
from kgreason.language.check.wardedness import wardedness, warn_unwarded
from kgreason.language.syntax.syntax_tree import Annotation, Atom, Program


class Examined(NamedTuple):
    """Result of checking a rule file.

    Attributes
    ----------
    program
        `None` if there are errors.
    diagnostics
        Errors and warnings in text order, file by file.
    sources
        Text of every file that was read, by its name in spans.
    """

    program: CheckedProgram | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]

    def __str__(self) -> str:
        return render_all(self.diagnostics, self.sources)

    def checked(self) -> CheckedProgram:
        """The program; raise `ProgramError` with all diagnostics if there are errors."""
        if self.program is None:
            raise ProgramError(self.diagnostics, self.sources)
        return self.program


def load_file(path: str | Path, given: Iterable[str] = (), *, allow_files: bool = False) -> CheckedProgram:
    """Read, parse and check a rule file and those that it includes.

    Parameters
    ----------
    given
        Predicates whose facts are supplied by the caller.
    allow_files
        Whether the rules may name any file and any server; see `kgreason.language.check.file_access`.

    Raises
    ------
    ProgramError
        With all its diagnostics; also if the file cannot be read.
    """
    return _examine_file(path, given, allow_files=allow_files).checked()


def load_text(text: str, *, allow_files: bool = False) -> CheckedProgram:
    """Parse and check a program; relative paths in it are relative to the working directory.

    Parameters
    ----------
    allow_files
        As for `load_file`; if false, files named in the text must lie in the working directory.

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
    return _examine(text, "<text>", None, Reach(Path(), allow_files)).checked()


def examine_file(path: str | Path, *, allow_files: bool = False) -> Examined:
    """Read and check a rule file, returning all diagnostics instead of raising an error.

    Sources and targets that the rules may not reach are errors here. A loaded program may have them, since its data may
    be supplied otherwise; it fails when it uses them.
    """
    found = _examine_file(path, (), allow_files=allow_files)
    if found.program is None or not found.program.beyond:
        return found
    findings = Findings((*found.diagnostics, *found.program.beyond.values()), found.sources)
    return Examined(None, findings.all, found.sources)


def _examine_file(path: str | Path, given: Iterable[str], *, allow_files: bool) -> Examined:
    text, unreadable = read_text(path)
    if unreadable:
        return Examined(None, (unreadable,), {})
    return _examine(text, str(path), Path(path), Reach(Path(path).parent, allow_files), given)


def _examine(text: str, file: str, path: Path | None, reach: Reach, given: Iterable[str] = ()) -> Examined:
    findings = Findings()
    source = read_program(text, file, path, reach, findings)
    findings.files = tuple(source.texts)
    annotations = (c for c in source.program.clauses if isinstance(c, Annotation))
    notes = read_annotations(annotations, source.folders, findings)
    defined = _defined(source.program, notes).union(given)
    program = read_conditions(source.program, defined)
    arities = _arities(program, findings)
    built = build(program, findings)
    Consistency(program, notes, arities, defined, source.whole, findings).check(source.texts.values())
    if findings.errors:
        return Examined(None, findings.all, source.texts)
    return _assemble(source, notes, arities, built, findings, reach)


def _assemble(
    source: Source,
    notes: Annotations,
    arities: Mapping[str, int],
    built: Built,
    findings: Findings,
    reach: Reach,
) -> Examined:
    derived = first_uses(source.program.heads)
    outputs = notes.of("output") or tuple(derived)
    queries = notes.of("query")
    targets = notes.writes(derived)
    nullable = nullable_inputs((*notes.binds, *notes.queries), arities)
    warded = wardedness(built.strata, nullable)
    if not warded.warded:
        warn_unwarded(built.strata, nullable, findings)
    binds = tuple(b for b in notes.binds if b not in targets)
    beyond = Findings()
    for bind in targets:
        reach.check_target(bind, beyond)
    sources: list[Bind | Query] = [*binds, *notes.queries]
    for read in sources:
        reach.check_source(read, beyond)
    binary = tuple(p for p in outputs if p in derived and arities[p] == 2 and p not in queries)
    program = CheckedProgram(
        facts=built.facts,
        strata=built.strata,
        arities={**arities, **built.hidden},
        keyed=built.keyed,
        inputs=notes.of("input"),
        outputs=outputs,
        binds=binds,
        mappings=tuple(notes.mappings),
        nodes=notes.of("node"),
        edges=notes.of("edge"),
        derived=notes.of("derived") or binary,
        queries=queries,
        incoming_sums=notes.incoming_sums,
        warnings=findings.all,
        file=source.program.file,
        text=source.program.text,
        sensitive=notes.of("sensitive"),
        targets=tuple(targets),
        queries_bound=tuple(notes.queries),
        posts=tuple(notes.posts),
        unifications=built.unifications,
        denials=built.denials,
        wardedness=warded,
        sources=source.texts,
        allow_files=reach.allowed,
        beyond={found.span: found for found in beyond.all if found.span},
    )
    return Examined(program, findings.all, source.texts)


def _defined(program: Program, notes: Annotations) -> frozenset[str]:
    """Predicates with rules, facts or a source, whether or not these are valid."""
    written = {a.predicate for a in program.heads} | {f.atom.predicate for f in program.facts}
    sources = {
        str(c.arguments[0].value)
        for c in program.clauses
        if isinstance(c, Annotation) and c.name in ("bind", "qbind") and c.arguments
    }
    return frozenset(written | sources | notes.inputs())


def _arities(program: Program, findings: Findings) -> dict[str, int]:
    first: dict[str, Atom] = {}
    for atom in program.atoms:
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


def restricted(program: CheckedProgram, goals: Iterable[str]) -> CheckedProgram:
    """Keep only what the `goals` depend on; the goals become the outputs."""
    goals = tuple(dict.fromkeys(goals))
    needed = set(goals)
    needed.update(u.predicate for u in program.unifications)
    needed.update(d.predicate for d in program.denials)
    strata: list[Stratum] = []
    for stratum in reversed(program.strata):
        if not needed & stratum.predicates:
            continue
        for rule in stratum.rules:  # members of a component depend on each other
            needed.update(a.predicate for a in rule.body)
        strata.append(stratum)
    strata.reverse()
    found = program.wardedness
    if not found.warded or found.harmful_joins:  # the restricted program may be warded
        found = wardedness(strata, nullable_inputs((*program.binds, *program.queries_bound), program.arities))
    return replace(
        program,
        facts=tuple(a for a in program.facts if a.predicate in needed),
        strata=tuple(strata),
        outputs=goals,
        wardedness=found,
    )
