"""The part of TextMate's way of reading a grammar that `grammars/vadalog.tmLanguage.json` uses, as plain as can be.

Editors read line by line: of all patterns the one that matches first counts, among several the one that stands first in
the grammar; between the begin and the end of a pattern its own patterns do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

Scoped = tuple[int, int, str]
"""Begin and end in the text, and the innermost scope; what no pattern matches has none."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def scopes(grammar: dict[str, Any], text: str) -> Iterator[Scoped]:
    """Scopes of a text, in order; texts within a scope but within no inner one are reported, too."""
    open_: list[dict[str, Any]] = []
    offset = 0
    for line in text.splitlines(keepends=True) if "\n" in text else [text]:
        place = 0
        while place < len(line):
            inside = open_[-1] if open_ else None
            patterns = (inside or grammar).get("patterns", [])
            found = [
                (match.start(), number, pattern, match)
                for number, pattern in enumerate(patterns)
                if (match := compiled(pattern.get("match") or pattern["begin"]).search(line, place))
            ]
            if inside and (end := compiled(inside["end"]).search(line, place)):
                found.append((end.start(), -1, inside, end))
            if not found:
                if inside:
                    yield offset + place, offset + len(line), inside["name"]
                break
            start, number, pattern, match = min(found, key=lambda one: one[:2])
            if inside and start > place:
                yield offset + place, offset + start, inside["name"]
            captures = {**pattern.get("captures", {})}
            if number == -1:
                captures = pattern.get("endCaptures", {})
                open_.pop()
            elif "begin" in pattern:
                captures = pattern.get("beginCaptures", {})
                open_.append(pattern)
            if captures:
                for group, scope in sorted(captures.items()):
                    first, last = match.span(int(group))
                    yield offset + first, offset + last, scope["name"]
            else:
                yield offset + start, offset + match.end(), pattern["name"]
            place = match.end()
        offset += len(line)
