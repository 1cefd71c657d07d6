"""Facts of simple constants, each alone in its line: read without the parser, since files hold many thousands.

Whatever else is in a text, be it a comment behind such a fact, is left to the parser, which reads them in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgreason.errors import Span
from kgreason.lang.ast import Atom, Constant, Fact
from kgreason.lang.values import Value

_VALUE = r'"[^"\\$\n]*"|-?\d{1,18}(?:\.\d+(?:[eE][+-]?\d{1,2})?)?|#[TF]'
_LINE = re.compile(
    rf"(?!(?:not|in)\()([a-z][A-Za-z0-9_]*)\(((?:{_VALUE})(?:,[ ]*(?:{_VALUE}))*)\)\.[ \t]*\r?(?:\n|\Z)"
)
_EACH = re.compile(_VALUE)
_BREAK = re.compile(r"[ \t]*\r?\n")


def plain_facts(text: str, start: int, line: int, file: str) -> tuple[list[Fact], int]:
    r"""Read the facts that follow the end of a clause, from the next line on.

    Parameters
    ----------
    start, line
        Where the clause ends.

    Returns
    -------
    facts
        As many as follow each other, perhaps none.
    end
        Where the first line begins that holds something else; `start` if there are no facts.

    Examples
    --------
    >>> facts, end = plain_facts('p(X) :- q(X).\nq(1).\nq("a", -0.5).\nq(2). % the last', 13, 1, "")
    >>> [str(fact) for fact in facts], end
    (['q(1).', 'q("a", -0.5).'], 34)
    """
    facts: list[Fact] = []
    ended = _BREAK.match(text, start)
    end = ended.end() if ended else start
    while ended and (match := _LINE.match(text, end)):
        line += 1
        arguments = tuple(_constants(match, end, line, file))
        span = Span(file, line, 1, line, match.end(2) - end + 2)
        facts.append(Fact(Atom(match[1], arguments, span=span), span=span))
        end = match.end()
    return facts, end if facts else start


def _constants(match: re.Match[str], begin: int, line: int, file: str) -> Iterator[Constant]:
    for each in _EACH.finditer(match.string, *match.span(2)):
        span = Span(file, line, each.start() - begin + 1, line, each.end() - begin + 1)
        yield Constant(_value(each[0]), span=span)


def _value(written: str) -> Value:
    if written[0] == '"':
        return written[1:-1]
    if written[0] == "#":
        return written == "#T"
    return float(written) if "." in written else int(written)
