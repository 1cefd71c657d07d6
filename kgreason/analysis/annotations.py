"""Annotations: where facts come from, what goes out, and what anonymization has to protect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgreason.analysis.checked import Bind, Mapped, Post, Query
from kgreason.analysis.findings import Findings
from kgreason.analysis.forms import FORMS, well_formed, wrong
from kgreason.analysis.posts import read_posts
from kgreason.analysis.sources import read_bind, read_mapping, read_query
from kgreason.errors import Span
from kgreason.lang.ast import Annotation
from kgreason.lang.names import ANNOTATIONS, LATER_ANNOTATIONS, SCHEMA_ANNOTATIONS, suggest

_PREDICATE = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_DONE = frozenset({"include", "module", "label"})  # carried out where files are read and clauses parsed


@dataclass
class Annotations:
    """What the annotations of a program say, by name in the order of the text; spans for later checks."""

    named: dict[str, dict[str, Span]] = field(default_factory=lambda: {n: {} for n in FORMS})
    binds: list[Bind] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    mappings: list[Mapped] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    incoming_sums: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Annotation] = field(default_factory=dict)

    def of(self, name: str) -> tuple[str, ...]:
        """Predicates that carry the annotation."""
        return tuple(self.named[name])

    def inputs(self) -> frozenset[str]:
        """Predicates that some annotation gives facts."""
        return frozenset(p for n in ("input", "bind", "qbind", "node", "edge") for p in self.named[n])

    def writes(self, derived: Iterable[str]) -> list[Bind]:
        """Binds that say where an output is written: those of an output that rules derive and that is no input.

        Ground vertices and edges are inputs, too.
        """
        read = {p for name in ("input", "node", "edge") for p in self.named[name]}
        written = {*derived} & {*self.named["output"]} - read
        return [b for b in self.binds if b.predicate in written]


def read_annotations(
    clauses: Iterable[Annotation], folders: Mapping[str, Path], findings: Findings
) -> Annotations:
    """Read all annotations.

    Parameters
    ----------
    folders
        What relative paths are relative to, for each file by its name in spans.
    """
    read = Annotations()
    for clause in clauses:
        if not _known(clause, findings) or not well_formed(clause, findings):
            continue
        if clause.name in _DONE:
            _probability(clause, findings)
            continue
        if clause.name == "param":
            _parameter(clause, read.parameters, findings)
        elif _PREDICATE.match(str(clause.arguments[0].value)):
            predicate = str(clause.arguments[0].value)
            read.named[clause.name].setdefault(predicate, clause.span)
            _special(clause, predicate, folders[clause.span.file], read, findings)
        else:
            culprit = clause.arguments[0]
            wrong(clause, culprit, f"{culprit.value!r} is no name of a predicate", findings)
    return read


def _known(clause: Annotation, findings: Findings) -> bool:
    if clause.name in ANNOTATIONS:
        return True
    if clause.name in SCHEMA_ANNOTATIONS:
        findings.add(
            "W515",
            f"@{clause.name} changes nothing here",
            clause.span,
            note="columns have the types of their data and rules, and no schema turns values into others",
            hint='@mapping("p", 0, "column", "type") gives a column of a source its type, as_string(...) and its like '
            "convert a value; `%%` lines describe a rule",
        )
        return False
    if clause.name in LATER_ANNOTATIONS:
        findings.add("E206", f"the annotation @{clause.name} is not supported by this version", clause.span)
        return False
    closest = suggest(clause.name, ANNOTATIONS)
    findings.add(
        "E301",
        f"there is no annotation @{clause.name}",
        clause.span,
        note="the annotations are " + " ".join(f"@{n}" for n in FORMS),
        hint=f"did you mean @{closest}?" if closest else None,
    )
    return False


def _special(clause: Annotation, predicate: str, folder: Path, read: Annotations, findings: Findings) -> None:
    match clause.name:
        case "bind":
            if bind := read_bind(clause, folder, findings):
                read.binds.append(bind)
        case "qbind":
            if query := read_query(clause, folder, findings):
                read.queries.append(query)
        case "mapping":
            if mapped := read_mapping(clause, read.mappings, findings):
                read.mappings.append(mapped)
        case "post":
            read.posts.extend(read_posts(clause, findings))
        case "incoming_sum":
            _incoming_sum(clause, predicate, read, findings)


def _probability(clause: Annotation, findings: Findings) -> None:
    """Check what ``@label`` says of how often a body causes its head."""
    for given in clause.arguments[1:]:
        assert isinstance(given.value, int | float)
        if not 0 <= given.value <= 1:
            wrong(clause, given, f"a probability lies between 0 and 1, and {given} does not", findings)


def _parameter(clause: Annotation, seen: dict[str, Annotation], findings: Findings) -> None:
    name = str(clause.arguments[0].value)
    first = seen.setdefault(name, clause)
    if first.arguments[1] != clause.arguments[1]:
        findings.add(
            "E305",
            f"the parameter {name!r} has two values",
            clause.span,
            note="a file sets the parameters of the files that it includes; otherwise a parameter has one value",
            hint="keep one of them"
            + (", or set it in the file that includes both" if first.span.file != clause.span.file else ""),
            related=((first.span, "the first one"),),
        )


def _incoming_sum(clause: Annotation, predicate: str, read: Annotations, findings: Findings) -> None:
    bound = clause.arguments[1].value
    assert isinstance(bound, int | float)
    if not 0 < bound < float("inf"):
        wrong(clause, clause.arguments[1], "the sum of incoming weights must be positive", findings)
        return
    old = read.incoming_sums.setdefault(predicate, float(bound))
    if old != bound:
        findings.add(
            "E305",
            f"`{predicate}` has two incoming sums, {old} and {bound}",
            clause.span,
            hint="keep one of them",
        )
