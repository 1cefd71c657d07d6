"""Consistency of annotations and rules: arities, definitions, unused predicates, and targets of outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kgreason.base.errors import Findings, Span, plural
from kgreason.language.check.annotations import Annotations, check_posts
from kgreason.language.check.checked_program import Bind, Query
from kgreason.language.check.expressions import grown
from kgreason.language.check.file_access import Place, database_identity, place_of
from kgreason.language.functions import BUILT_IN
from kgreason.language.syntax.syntax_tree import Atom, Program, Rule, atoms
from kgreason.language.vocabulary import ARITIES, DATABASES, SERVERS, TARGETS, meant, suggest

_WIDTHS: dict[str, tuple[Callable[[int], bool], str]] = {
    "node": (lambda arity: arity >= 1, "a vertex predicate has the vertex as its first argument"),
    "edge": (lambda arity: arity in (2, 3), "an edge predicate has a source, a target and perhaps a weight"),
    "derived": (lambda arity: arity == 2, "a derived edge has a source and a target"),
    "sensitive": (lambda arity: arity == 2, "a sensitive link has a source and a target"),
    "incoming_sum": (lambda arity: arity == 3, "weights are the third argument of an edge predicate"),
}

_COMPARED = 20  # undefined predicates that are compared with all others for misspellings
_REFERENCE = re.compile(r"\$\{([^}\n]*)\}")
_COMMENT = re.compile(r'("[^"\\]*(?:\\[\s\S][^"\\]*)*")|%[^\n]*')
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def first_uses(found: Iterable[Atom]) -> dict[str, Span]:
    """First occurrence of each predicate."""
    spans: dict[str, Span] = {}
    for atom in found:
        spans.setdefault(atom.predicate, atom.span)
    return spans


class Consistency(NamedTuple):
    """Checks of the annotations of a program against its rules.

    Attributes
    ----------
    notes
        The annotations.
    defined
        Predicates with rules, facts or a source.
    whole
        Whether every file could be parsed; if not, missing definitions are not reported.
    """

    program: Program
    notes: Annotations
    arities: Mapping[str, int]
    defined: frozenset[str]
    whole: bool
    findings: Findings

    def check(self, texts: Iterable[str]) -> None:
        """Carry out all checks; `texts` are those of all files."""
        self._check_arities()
        if self.whole:
            self._check_kinds()
            self._check_mentioned()
        check_posts(self.notes.posts, self.arities, self.findings)
        self._check_targets()
        if self.whole:
            self._check_undefined()
            self._check_unused()
            self._check_parameters(texts)

    def _check_arities(self) -> None:
        for name, (fits, words) in _WIDTHS.items():
            for predicate, span in self.notes.named[name].items():
                if predicate in self.arities and not fits(self.arities[predicate]):
                    message = f"@{name}: `{predicate}` has {plural(self.arities[predicate])}"
                    self.findings.add("E303", message, span, note=words)
        for mapping in self.notes.mappings:
            arity = self.arities.get(mapping.predicate)
            if arity is not None and mapping.position >= arity:
                self.findings.add(
                    "E303",
                    f"@mapping: `{mapping.predicate}` has {plural(arity)} and no position {mapping.position}",
                    mapping.span,
                    note="positions count from 0",
                )

    def _check_kinds(self) -> None:
        """Check that predicates are derived, or edges, where an annotation requires it."""
        heads = frozenset(atom.predicate for atom in self.program.heads)
        edges = frozenset(self.notes.named["edge"])
        rule, edge = "write a rule with head `{0}(...)`", 'add @edge("{0}")'
        neither = "no rule derives `{0}`, and it is no edge predicate"
        for name, known, message, otherwise in (
            ("derived", heads, "no rule derives `{0}`", rule),
            ("query", heads, "no rule derives `{0}`", rule),
            ("sensitive", heads | edges, neither, f"{rule}, or {edge}"),
            ("incoming_sum", edges, "`{0}` is no edge predicate", edge),
        ):
            for predicate, span in self.notes.named[name].items():
                if predicate not in known:
                    hint = meant(predicate, known) or otherwise.format(predicate)
                    self.findings.add("E304", f"@{name}: {message.format(predicate)}", span, hint=hint)

    def _check_mentioned(self) -> None:
        """Report annotations of a predicate that no rule or fact mentions; for an output this is an error."""
        sourced = {p for name in ("bind", "qbind", "input") for p in self.notes.named[name]}
        shown = {p for name in ("output", "edge", "node") for p in self.notes.named[name]}
        reported = {*self.arities, *(sourced & shown), *self.notes.named["sensitive"]}
        for name in ("edge", "node", "mapping", "bind", "qbind", "post", "input", "output"):
            for predicate, span in self.notes.named[name].items():
                if predicate in reported:
                    continue
                reported.add(predicate)
                other = "output" if name in ("mapping", "bind", "qbind", "input") else "input"
                hint = f'if only data hold it, say so: @{other}("{predicate}")'
                self.findings.add(
                    # an output that the rules do not mention is a misspelling, and would look like an empty result
                    "E304" if name == "output" and self.arities else "W503",
                    f"@{name}: no rule and no fact mentions `{predicate}`",
                    span,
                    hint=meant(predicate, self.arities) or hint,
                )

    def _read(self) -> dict[str, Span]:
        """First occurrences of predicates in bodies."""
        return first_uses(atom for clause in self.program.bodied for atom in atoms(clause.body))

    def _check_undefined(self) -> None:
        """Warn of predicates that occur in rules but have no facts, no rules and no annotation."""
        undefined = [(p, span) for p, span in self._read().items() if p not in self.defined]
        for i, (predicate, span) in enumerate(undefined):
            hint, arity = None, self.arities.get(predicate)
            if i < _COMPARED:
                same = [p for p in self.defined if self.arities.get(p, arity) == arity]
                hint = meant(predicate, same) or _function(predicate, arity)
            self.findings.add(
                "W501",
                f"`{predicate}` has no facts, no rules and no source in this file",
                span,
                hint=hint or self._declaration(predicate),
            )

    def _declaration(self, predicate: str) -> str:
        if self.arities.get(predicate) == 1 and self.notes.named["edge"] and not self.notes.named["node"]:
            vertex = f'if it holds for every vertex, say so: @node("{predicate}")'
            return f'{vertex}; if its facts come from outside: @input("{predicate}")'
        return f'if its facts come from outside, say so: @input("{predicate}")'

    def _check_unused(self) -> None:
        """Warn of unused predicates, unused sources, and posts without an output."""
        derived, used = first_uses(self.program.heads), self._read()
        named, arities = self.notes.named, self.arities
        annotated = ("output", "node", "edge", "derived", "query", "sensitive")
        shown: set[str | None] = {p for name in annotated for p in named[name]}
        # predicates that misspelt outputs probably mean
        shown |= {suggest(p, arities) for p in named["output"] if p not in arities}
        missing = [p for p in used if p not in self.defined]
        if named["output"]:
            elsewhere = _read_elsewhere(self.program)
            others = {*derived, *self.notes.inputs()}
            facts = first_uses(f.atom for f in self.program.facts if f.atom.predicate not in others)
            for what, spans, needless in (
                ("rules", derived, "is derived, but no output and no other rule needs it"),
                ("facts", facts, "has facts, but no output and no rule needs them"),
            ):
                for predicate in [p for p in spans if p not in shown and p not in elsewhere]:
                    like = [p for p in missing if arities[p] == arities[predicate]]
                    self.findings.add(
                        "W510",
                        f"`{predicate}` {needless}",
                        spans[predicate],
                        hint=meant(predicate, like, "{!r}, which a rule reads and nothing derives")
                        or f'show it: @output("{predicate}"), or leave its {what} out',
                    )
            for predicate, span in named["post"].items():
                if predicate in arities and predicate not in named["output"]:
                    self.findings.add(
                        "W512",
                        f"@post: `{predicate}` is no output",
                        span,
                        note="@post acts on what is given out, never on what other rules read",
                        hint=f'add @output("{predicate}")',
                    )
        for name in ("input", "bind", "qbind") if derived else ():
            for predicate, span in named[name].items():
                if predicate in arities and predicate not in {*used, *shown, *derived}:
                    self.findings.add(
                        "W511",
                        f"@{name}: no rule reads `{predicate}`",
                        span,
                        hint=meant(predicate, missing, "{!r}, which a rule reads and nothing defines")
                        or "leave the annotation out, or read it in a rule",
                    )

    def _check_parameters(self, texts: Iterable[str]) -> None:
        """Warn of parameters that no file uses: their names may be misspelt."""
        parameters = self.notes.parameters
        if not parameters:  # texts can be very long
            return
        used = {name for text in texts for name in _REFERENCE.findall(_COMMENT.sub(r"\1", text))}
        if used - parameters.keys():  # a parameter without a value is an error that suggests the name
            return
        for name, clause in parameters.items():
            if name not in used:
                self.findings.add(
                    "W514",
                    f"@param: nothing takes the value of {name!r}",
                    clause.span,
                    note=f"a parameter is used as ${{{name}}}, in a rule or in a string",
                    hint=meant(name, used) or "use it, or leave it out",
                )

    def _check_targets(self) -> None:
        """Check the binds of outputs: their formats, and that writing them destroys no data."""
        targets = self.notes.writes(atom.predicate for atom in self.program.heads)
        for bind in targets:
            self._check_format(bind)
        unfounded = self._unfounded({b.predicate for b in targets})
        for bind in targets:
            if (name := bind.predicate) in unfounded:
                self.findings.add(
                    "E313",
                    f"is the file of `{name}` read or written?",
                    bind.span,
                    note=f"`{name}` is an @output with rules, so its @bind says where it is written; but all its rules "
                    f"need facts of `{name}`, and nothing gives it any",
                    hint=f'to read the file, add @input("{name}"); to write one, derive another predicate and bind '
                    "that",
                )
        read = [b for b in self.notes.binds if b not in targets]
        for number, bind in enumerate(targets):
            if bind.predicate not in unfounded:
                self._check_place(bind, targets[:number], read)

    def _check_format(self, bind: Bind) -> None:
        arity = self.arities[bind.predicate]
        least, most = ARITIES.get(bind.source, (0, None))
        if not least <= arity <= (arity if most is None else most):
            wanted = f"{least} to {most}" if most else f"{least} and more"
            self.findings.add(
                "E308",
                f"@bind of the output `{bind.predicate}`: it has {arity or 'no'} argument{'s' * (arity != 1)}",
                bind.span,
                note=f"a file of the format {bind.source} has places for {wanted}: two ends of an edge, and what an "
                "edge carries",
                hint="write another format, for instance csv or parquet",
            )
        if bind.source not in TARGETS:
            self.findings.add(
                "E308",
                f"@bind of the output `{bind.predicate}`: {bind.source!r} cannot be written",
                bind.span,
                note="an @bind of an output that rules derive says where it is written: to "
                + ", ".join(sorted(TARGETS)),
                hint=f'if its facts are to be read from there, say so: @input("{bind.predicate}")',
            )

    def _check_place(self, bind: Bind, before: Sequence[Bind], read: Sequence[Bind]) -> None:
        """Report an output that replaces an earlier one, or what the program reads."""
        place = place_of(bind, written=True)
        of = bind.path if place.server else place.file.name
        what = f"the table {place.table!r} of {of}" if place.table else of
        found: list[tuple[str, Span, str]] = []
        for other in [b for b in before if place.meets(place_of(b, written=True))]:
            also = " twice" if other.predicate == bind.predicate else f", as is `{other.predicate}`"
            found.append((f"is written to {what}{also}", other.span, "written here"))
        readers: list[Bind | Query] = [b for b in read if place.meets(place_of(b, written=False))]
        for reader in [*readers, *(q for q in self.notes.queries if _asks(q, place))]:
            message = f"would be written over {what}, from which `{reader.predicate}` is read"
            found.append((message, reader.span, "read here"))
        for message, span, word in found[:1]:
            self.findings.add(
                "E312",
                f"the output `{bind.predicate}` {message}",
                bind.span,
                note="an output replaces the whole of what it is written to",
                hint=f"give `{bind.predicate}` a {'table' if bind.source in DATABASES else 'file'} of its own",
                related=((span, word),),
            )

    def _unfounded(self, targets: set[str]) -> set[str]:
        """Targets whose rules all depend, directly or not, on facts that only their own files could supply."""
        rules = [
            (atom.predicate, {a.predicate for a in rule.body if isinstance(a, Atom)})
            for rule in self.program.clauses
            if isinstance(rule, Rule)
            for atom in rule.head
        ]
        supplied = {f.atom.predicate for f in self.program.facts} | {q.predicate for q in self.notes.queries}
        supplied |= self.notes.inputs() - targets
        heads = {head for head, _ in rules}
        others = {p for _, needs in rules for p in needs} - heads
        founded = grown(supplied | others, lambda known: {head for head, needs in rules if needs <= known})
        return (heads & targets) - founded


def _function(predicate: str, arity: int | None) -> str | None:
    """Suggest the boolean function that corresponds to an atom named as in another language."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", predicate).lower()
    boolean = {name: found for name, found in BUILT_IN.items() if found.result == "boolean"}
    fitting = [name for name, found in boolean.items() if arity is not None and found.takes(arity)]
    closest = words if words in fitting else suggest(words, fitting)
    return f"did you mean the function {closest}?" if closest else None


def _read_elsewhere(program: Program) -> set[str]:
    found: set[str] = set()
    for clause in program.bodied:
        own = {a.predicate for a in clause.head} if isinstance(clause, Rule) else set()
        read = {a.predicate for a in atoms(clause.body)}
        found |= read - own if len(own) == 1 else read  # with several heads, each may be used by the others
    return found


def _asks(query: Query, place: Place) -> bool:
    """Whether a query reads a place: its database, or a file that it names."""
    if query.source in SERVERS or place.server:
        table = (place.table or "").rpartition(".")[2]
        same = query.source in SERVERS and database_identity(query.options) == place.file
        return place.server and same and _names(query, table)
    base = Path(query.path) if query.path else Path(query.span.file).parent
    if place.file == base.resolve():
        return place.table is None or _names(query, place.table)
    folder = base if not query.path or base.is_dir() else Path()
    named = (single or double for single, double in _QUOTED.findall(query.query))
    return any(place.file == (folder / name).resolve() for name in named if "\0" not in name)


def _names(query: Query, table: str) -> bool:
    return bool(re.search(rf"\b{re.escape(table)}\b", query.query, re.I))
