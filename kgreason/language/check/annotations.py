"""Annotations: sources, outputs, and declarations for anonymization."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgreason.base.errors import Findings, Span, plural
from kgreason.base.records import record
from kgreason.language.check.bindings import FORMS, read_bind, read_mapping, read_query, well_formed, wrong
from kgreason.language.check.checked_program import Bind, Mapped, Post, Query
from kgreason.language.syntax.syntax_tree import Annotation
from kgreason.language.vocabulary import ANNOTATIONS, LATER_ANNOTATIONS, SCHEMA_ANNOTATIONS, meant, suggest

_PREDICATE = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_DONE = frozenset({"include", "module", "label"})  # processed when files are read and clauses parsed


@dataclass(eq=False, repr=False)
class Annotations:
    """Annotations of a program by name, in text order, with spans for later checks."""

    named: dict[str, dict[str, Span]] = field(default_factory=lambda: {n: {} for n in FORMS})
    binds: list[Bind] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    mappings: list[Mapped] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    incoming_sums: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Annotation] = field(default_factory=dict)

    def of(self, name: str) -> tuple[str, ...]:
        """Predicates with this annotation."""
        return tuple(self.named[name])

    def inputs(self) -> frozenset[str]:
        """Predicates whose facts come from an annotation."""
        return frozenset(p for n in ("input", "bind", "qbind", "node", "edge") for p in self.named[n])

    def writes(self, derived: Iterable[str]) -> list[Bind]:
        """Binds that are targets: those of outputs that rules derive, except inputs, ground vertices and edges."""
        read = {p for name in ("input", "node", "edge") for p in self.named[name]}
        written = {*derived} & {*self.named["output"]} - read
        return [b for b in self.binds if b.predicate in written]


def read_annotations(
    clauses: Iterable[Annotation], folders: Mapping[str, Path], findings: Findings
) -> Annotations:
    """Read all annotations; `folders` are the base folders of relative paths, by the file name in spans."""
    read = Annotations()
    for clause in clauses:
        if not _known(clause, findings) or not well_formed(clause, findings):
            continue
        if clause.name in _DONE:
            for weight in clause.arguments[1:]:  # probability that the body causes the head
                if not isinstance(weight.value, int | float) or not 0 <= weight.value <= 1:
                    message = f"a probability lies between 0 and 1, and {weight} does not"
                    wrong(clause, weight, message, findings)
            continue
        if clause.name == "param":
            _parameter(clause, read.parameters, findings)
        elif _PREDICATE.match(str(clause.arguments[0].value)):
            read.named[clause.name].setdefault(str(clause.arguments[0].value), clause.span)
            _read_details(clause, folders[clause.span.file], read, findings)
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
    elif clause.name in LATER_ANNOTATIONS:
        findings.add("E206", f"the annotation @{clause.name} is not supported by this version", clause.span)
    else:
        findings.add(
            "E301",
            f"there is no annotation @{clause.name}",
            clause.span,
            note="the annotations are " + " ".join(f"@{n}" for n in FORMS),
            hint=meant(clause.name, ANNOTATIONS, "@{}"),
        )
    return False


def _read_details(clause: Annotation, folder: Path, read: Annotations, findings: Findings) -> None:
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
            read.posts.extend(_read_posts(clause, findings))
        case "incoming_sum":
            _incoming_sum(clause, read, findings)


def _parameter(clause: Annotation, parameters: dict[str, Annotation], findings: Findings) -> None:
    name = str(clause.arguments[0].value)
    first = parameters.setdefault(name, clause)
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


def _incoming_sum(clause: Annotation, read: Annotations, findings: Findings) -> None:
    predicate, bound = (a.value for a in clause.arguments)
    assert isinstance(predicate, str)
    assert isinstance(bound, int | float)
    if not 0 < bound < float("inf"):
        wrong(clause, clause.arguments[1], "the sum of incoming weights must be positive", findings)
    elif (old := read.incoming_sums.setdefault(predicate, float(bound))) != bound:
        findings.add(
            "E305",
            f"`{predicate}` has two incoming sums, {old} and {bound}",
            clause.span,
            hint="keep one of them",
        )


_OPERATION = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*(?:,|$)")
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")


@record
class _Signature:
    form: str
    least: int
    most: int | None = None  # maximum number of arguments; None: unlimited
    signed: bool = False
    count: bool = False  # the argument is a number of facts, not a position


_OPERATIONS: Mapping[str, _Signature] = {
    "certain": _Signature("certain", 0, 0),
    "unique": _Signature("unique or unique(1,2)", 0),
    "min": _Signature("min(2)", 1),
    "max": _Signature("max(2)", 1),
    "argmin": _Signature("argmin(3,<1,2>)", 1),
    "argmax": _Signature("argmax(3,<1,2>)", 1),
    "orderby": _Signature("orderby(1,-2)", 1, None, signed=True),
    "limit": _Signature("limit(10)", 1, 1, count=True),
    "prelimit": _Signature("prelimit(10)", 1, 1, count=True),
}
_AGGREGATES = frozenset({"sum", "avg", "count", "median", "prod"})
_LISTED = "the operations are " + ", ".join(s.form for s in _OPERATIONS.values())


def _read_posts(clause: Annotation, findings: Findings) -> list[Post]:
    """Read ``@post("p", "orderby(3,-2), limit(10)")``; `check_posts` checks positions against the arity."""
    predicate, operations = (str(a.value) for a in clause.arguments)
    text = " ".join(operations.split())
    posts, end = [], 0
    while end < len(text) or not text:
        match = _OPERATION.match(text, end)
        if match is None:
            message = f"@post: `{text[end:].strip()[:60]}` is no operation"
            findings.add("E310", message, clause.arguments[1].span, _LISTED)
            break
        if post := _operation(clause, predicate, match[1], match[2], findings):
            posts.append(post)
        end = match.end()
    return posts


def _operation(
    clause: Annotation, predicate: str, word: str, text: str | None, findings: Findings
) -> Post | None:
    name, span = word.lower(), clause.arguments[1].span
    signature = _OPERATIONS.get(name)
    if signature is None:
        closest = suggest(name, _OPERATIONS)
        hint = f"did you mean {_OPERATIONS[closest].form}?" if closest else None
        if name in _AGGREGATES:
            total = name.capitalize()
            hint = f"aggregate in a rule: `total({total}) :- ..., {total} = {name}(X).`"
        findings.add("E310", f"@post: there is no operation {word!r}", span, _LISTED, hint)
        return None
    arguments = _arguments(text, grouped=name.startswith("arg"))
    problem = "these are no positions" if arguments is None else _misfit(signature, arguments)
    if arguments is not None and problem is None:
        return Post(predicate, name, arguments, clause.span)
    findings.add("E311", f"@post: {word}: {problem}", span, hint=f"for instance {signature.form}")
    return None


def _arguments(text: str | None, grouped: bool) -> tuple[int, ...] | None:
    """Read ``3, -2``; if `grouped`, also ``3, <1, 2>`` and ``3, [1, 2]``."""
    if text is None or not text.strip():
        return ()
    if grouped:
        text = re.sub(r",\s*(?:<\s*>|\[\s*\])\s*\Z", "", text)
        text = re.sub(r"(?:<([^<>]*)>|\[([^\[\]]*)\])\s*\Z", lambda m: m[1] or m[2], text)
    words = [w.strip() for w in text.split(",")]
    return tuple(map(int, words)) if all(map(_INTEGER.match, words)) else None


def _misfit(signature: _Signature, arguments: tuple[int, ...]) -> str | None:
    if len(arguments) < signature.least:
        return "which number?" if signature.count else "which position?"
    if signature.most is not None and len(arguments) > signature.most:
        return "it takes one number" if signature.most else "it takes no arguments"
    if signature.count:
        return "the number of facts is at least 0" if arguments[0] < 0 else None
    if 0 in arguments:
        return "positions count from 1"
    if not signature.signed and min(arguments, default=1) < 0:
        return "only orderby takes a sign"
    if len(set(map(abs, arguments))) < len(arguments):
        return "a position occurs twice"
    return None


def check_posts(posts: list[Post], arities: Mapping[str, int], findings: Findings) -> None:
    """Check the positions against the arities of the predicates."""
    for post in posts:
        arity = arities.get(post.predicate)
        if arity is None or _OPERATIONS[post.operation].count:
            continue
        beyond = [abs(p) for p in post.arguments if abs(p) > arity]
        if beyond:
            findings.add(
                "E303",
                f"@post: {post.operation}: `{post.predicate}` has {plural(arity)} and no position {beyond[0]}",
                post.span,
                note="positions of @post count from 1",
            )
