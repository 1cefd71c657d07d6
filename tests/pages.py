"""Pages of the documentation taken apart into what can be run.

A comment right above a block, invisible to who reads the page, says how it is run:

- ``<!-- not run: why -->``: not at all; ``<!-- fragment: why -->``: rules that are parsed, but not checked;
- ``<!-- varies: why -->``: an output that is not compared;
- ``<!-- file: NAME -->``: the block is that file; ``<!-- output of: COMMAND -->``: the block is what COMMAND says;
- ``<!-- exit: 1 -->``: the exit code of the last command of the block, which is 0 otherwise.

Two comments are blocks of their own: ``setup``, lines for the shell, and ``check``, lines of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

PART = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$|^ *<!-- *(.*?) *-->$", re.M | re.S)
MARKS = ("not run", "fragment", "varies", "file", "output of", "exit")
OWN = ("setup", "check")
GENERATED = re.compile("(settings|options|commands|formats|diagnostics|rules)(: |$)")


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, text, first line, and what the comments above it say."""

    language: str
    text: str
    line: int
    marks: dict[str, str]
    follows: bool
    """Whether nothing but text stands between it and the block before."""


class PageError(ValueError):
    """A comment that says nothing that can be done."""


def blocks(path: Path) -> Iterator[Block]:
    """All blocks of a page, in order.

    Raises
    ------
    PageError
        A comment is no mark, or has no block below it.
    """
    text = path.read_text(encoding="utf-8")
    marks: dict[str, str] = {}
    end = 0
    for part in PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        between = text[end : part.start()].strip()
        end = part.end()
        if marks and between:
            raise PageError(f"{path.name}:{line}: {', '.join(marks)} without a block right below")
        _, language, body, comment = part.groups()
        if comment is None:
            yield Block(language, dedent(body), line, marks, not re.search(r"^#", between, re.M))
            marks = {}
        elif (own := comment.split("\n")[0]) in OWN:
            yield Block(own, comment.removeprefix(own) + "\n", line, {}, False)
        elif not GENERATED.match(comment):  # the site puts text there
            name, _, value = comment.partition(": ")
            if name not in MARKS or not value:
                raise PageError(f"{path.name}:{line}: not a mark: {comment}")
            marks = {**marks, name: value}
    if marks:
        raise PageError(f"{path.name}: {', '.join(marks)} without a block right below")
