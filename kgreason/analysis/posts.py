"""``@post("p", "orderby(3,-2), limit(10)")``: what is done with an output before it is given out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kgreason.analysis.checked import Post
from kgreason.analysis.findings import Findings, plural
from kgreason.lang.ast import Annotation
from kgreason.lang.names import suggest

_OPERATION = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*(?:,|$)")
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")


@dataclass(frozen=True, slots=True)
class _Signature:
    form: str
    least: int
    most: int | None = None  # arguments; None: any number
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


def read_posts(clause: Annotation, findings: Findings) -> list[Post]:
    """Read the operations of one annotation; several are separated by commas.

    Positions are checked against the arity by `check_posts`.
    """
    predicate, given = (str(a.value) for a in clause.arguments)
    text = " ".join(given.split())
    posts, end = [], 0
    while end < len(text) or not text:
        match = _OPERATION.match(text, end)
        if match is None:
            _report(clause, "E310", f"@post: `{text[end:].strip()[:60]}` is no operation", findings, _LISTED)
            break
        post = _operation(clause, predicate, match[1], match[2], findings)
        if post is not None:
            posts.append(post)
        end = match.end()
    return posts


def _operation(
    clause: Annotation, predicate: str, word: str, given: str | None, findings: Findings
) -> Post | None:
    name = word.lower()
    signature = _OPERATIONS.get(name)
    if signature is None:
        closest = suggest(name, _OPERATIONS)
        hint = f"did you mean {_OPERATIONS[closest].form}?" if closest else None
        if name in _AGGREGATES:
            hint = (
                f"aggregate in a rule: `total({name.capitalize()}) :- ..., {name.capitalize()} = {name}(X).`"
            )
        _report(clause, "E310", f"@post: there is no operation {word!r}", findings, _LISTED, hint)
        return None
    arguments = _arguments(given, grouped=name.startswith("arg"))
    problem = "these are no positions" if arguments is None else _misfit(signature, arguments)
    if arguments is None or problem:
        _report(clause, "E311", f"@post: {word}: {problem}", findings, hint=f"for instance {signature.form}")
        return None
    return Post(predicate, name, arguments, clause.span)


def _arguments(text: str | None, grouped: bool) -> tuple[int, ...] | None:
    """Read ``3, -2``; where they are `grouped`, ``3, <1, 2>`` and ``3, [1, 2]``, too."""
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
        return "a position stands there twice"
    return None


def check_posts(posts: list[Post], arities: Mapping[str, int], findings: Findings) -> None:
    """Check the positions against the predicates."""
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


def _report(
    clause: Annotation,
    code: str,
    message: str,
    findings: Findings,
    note: str | None = None,
    hint: str | None = None,
) -> None:
    findings.add(code, message, clause.arguments[1].span, note=note, hint=hint)
