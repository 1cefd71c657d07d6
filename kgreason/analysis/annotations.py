"""Annotations: where facts come from, what goes out, and what anonymization has to protect."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kgreason.analysis.checked import Bind, Mapped
from kgreason.analysis.findings import Findings
from kgreason.errors import Span
from kgreason.lang.ast import Annotation, Constant
from kgreason.lang.names import (
    ANNOTATIONS,
    LATER_ANNOTATIONS,
    LATER_SOURCES,
    SOURCES,
    TYPES,
    suggest,
)

_OPTION = re.compile(r"""[\s,]*(\w+)\s*=\s*('[^']*'|"[^"]*"|[^\s,]*)""")

_FORMS = {
    "input": '@input("predicate")',
    "output": '@output("predicate")',
    "bind": '@bind("predicate", "csv useHeaders=true", "folder", "file.csv")',
    "mapping": '@mapping("predicate", 0, "column", "type")',
    "param": '@param("name", value)',
    "node": '@node("predicate")',
    "edge": '@edge("predicate")',
    "derived": '@derived("predicate")',
    "query": '@query("predicate")',
    "incoming_sum": '@incoming_sum("predicate", 1.0)',
}
_SHAPES: dict[str, tuple[type | tuple[type, ...], ...]] = {
    "input": (str,),
    "output": (str,),
    "bind": (str, str, str, str),
    "mapping": (str, int, str, str),
    "param": (str, object),
    "node": (str,),
    "edge": (str,),
    "derived": (str,),
    "query": (str,),
    "incoming_sum": (str, (int, float)),
}
_PREDICATE = re.compile(r"[a-z][A-Za-z0-9_]*\Z")


@dataclass
class Annotations:
    """What the annotations of a file say, by name in the order of the text; spans for later checks."""

    named: dict[str, dict[str, Span]] = field(default_factory=lambda: {n: {} for n in _FORMS})
    binds: list[Bind] = field(default_factory=list)
    mappings: list[Mapped] = field(default_factory=list)
    incoming_sums: dict[str, float] = field(default_factory=dict)

    def of(self, name: str) -> tuple[str, ...]:
        """Predicates that carry the annotation."""
        return tuple(self.named[name])

    def inputs(self) -> frozenset[str]:
        """Predicates that some annotation gives facts."""
        return frozenset(p for n in ("input", "bind", "node", "edge") for p in self.named[n])


def read_annotations(clauses: list[Annotation], folder: Path, findings: Findings) -> Annotations:
    """Read all annotations; `folder` is what relative paths are relative to."""
    read = Annotations()
    parameters: dict[str, Annotation] = {}
    for clause in clauses:
        if not _known(clause, findings) or not _shape(clause, findings):
            continue
        if clause.name == "param":
            _parameter(clause, parameters, findings)
            continue
        predicate = str(clause.arguments[0].value)
        if not _PREDICATE.match(predicate):
            _wrong(clause, clause.arguments[0], f"{predicate!r} is no name of a predicate", findings)
            continue
        read.named[clause.name].setdefault(predicate, clause.span)
        special = _SPECIAL.get(clause.name)
        if special:
            special(clause, predicate, folder, read, findings)
    return read


def _known(clause: Annotation, findings: Findings) -> bool:
    if clause.name in ANNOTATIONS:
        return True
    if clause.name in LATER_ANNOTATIONS:
        findings.add("E206", f"the annotation @{clause.name} is not supported by this version", clause.span)
        return False
    closest = suggest(clause.name, ANNOTATIONS)
    findings.add(
        "E301",
        f"there is no annotation @{clause.name}",
        clause.span,
        note="the annotations are " + " ".join(f"@{n}" for n in _FORMS),
        hint=f"did you mean @{closest}?" if closest else None,
    )
    return False


def _shape(clause: Annotation, findings: Findings) -> bool:
    shape, given = _SHAPES[clause.name], clause.arguments
    if len(shape) == len(given) and all(map(_fits, given, shape)):
        return True
    _wrong(clause, None, f"wrong arguments of @{clause.name}", findings)
    return False


def _fits(argument: Constant, wanted: type | tuple[type, ...]) -> bool:
    if wanted is object:
        return True
    return isinstance(argument.value, wanted) and not isinstance(argument.value, bool)


def _wrong(clause: Annotation, culprit: Constant | None, message: str, findings: Findings) -> None:
    span = culprit.span if culprit else clause.span
    findings.add("E302", message, span, hint=f"write {_FORMS[clause.name]}")


def _parameter(clause: Annotation, seen: dict[str, Annotation], findings: Findings) -> None:
    name = str(clause.arguments[0].value)
    first = seen.setdefault(name, clause)
    if first.arguments[1] != clause.arguments[1]:
        findings.add(
            "E305",
            f"the parameter {name!r} has two values",
            clause.span,
            hint="keep one of them",
            related=((first.span, "the first one"),),
        )


def _bind(clause: Annotation, predicate: str, folder: Path, read: Annotations, findings: Findings) -> None:
    words = str(clause.arguments[1].value).strip().split(None, 1)
    source = words[0].rstrip(",") if words else ""
    if source not in SOURCES:
        _refuse_source(clause, source, findings)
        return
    options: dict[str, str] = {}
    rest = words[1].strip() if len(words) > 1 else ""
    end = 0
    for match in _OPTION.finditer(rest):
        if match.start() != end:
            break
        value = match[2]
        options[match[1]] = value[1:-1] if value[:1] in ("'", '"') and len(value) > 1 else value
        end = match.end()
    if rest[end:].strip(" ,"):
        _wrong(
            clause, clause.arguments[1], f"cannot read the options from `{rest[end:].strip()}` on", findings
        )
        return
    path = folder / str(clause.arguments[2].value) / str(clause.arguments[3].value)
    source = "net" if source == "pajek" else source
    read.binds.append(Bind(predicate, source, options, str(path), clause.span))


def _refuse_source(clause: Annotation, source: str, findings: Findings) -> None:
    span = clause.arguments[1].span
    if source in LATER_SOURCES:
        findings.add("E207", f"the source {source!r} is not supported by this version", span)
        return
    closest = suggest(source, SOURCES)
    findings.add(
        "E307",
        f"there is no source {source!r}",
        span,
        note="the sources are " + ", ".join(sorted(SOURCES)),
        hint=f"did you mean {closest!r}?" if closest else f"write {_FORMS['bind']}",
    )


def _mapping(clause: Annotation, predicate: str, _: Path, read: Annotations, findings: Findings) -> None:
    position, column, kind = (a.value for a in clause.arguments[1:])
    if not isinstance(position, int) or position < 0:
        _wrong(clause, clause.arguments[1], "positions count from 0", findings)
        return
    if kind == "date":
        findings.add(
            "E203", "columns of type date are not supported by this version", clause.arguments[3].span
        )
        return
    if kind not in TYPES:
        closest = suggest(str(kind), TYPES)
        findings.add(
            "E302",
            f"there is no type {kind!r}",
            clause.arguments[3].span,
            note="the types are int, double, string, boolean and percent (25 and 25% are read as 0.25)",
            hint=f"did you mean {closest!r}?" if closest else None,
        )
        return
    taken = [m for m in read.mappings if (m.predicate, m.position) == (predicate, position)]
    if taken:
        findings.add(
            "E305",
            f"position {position} of `{predicate}` is mapped twice",
            clause.span,
            hint="keep one of them",
            related=((taken[0].span, "the first one"),),
        )
        return
    read.mappings.append(Mapped(predicate, position, str(column), TYPES[str(kind)], clause.span))


def _incoming_sum(clause: Annotation, predicate: str, _: Path, read: Annotations, findings: Findings) -> None:
    bound = clause.arguments[1].value
    assert isinstance(bound, int | float)
    if not 0 < bound < float("inf"):
        _wrong(clause, clause.arguments[1], "the sum of incoming weights must be positive", findings)
        return
    old = read.incoming_sums.setdefault(predicate, float(bound))
    if old != bound:
        findings.add(
            "E305",
            f"`{predicate}` has two incoming sums, {old} and {bound}",
            clause.span,
            hint="keep one of them",
        )


_Special = Callable[[Annotation, str, Path, Annotations, Findings], None]
_SPECIAL: dict[str, _Special] = {"bind": _bind, "mapping": _mapping, "incoming_sum": _incoming_sum}
