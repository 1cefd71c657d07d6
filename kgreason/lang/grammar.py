"""The grammar, compiled: one Lark object cuts a text into tokens, and parses the tokens of a clause."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from lark import Lark, Token

from kgreason import caches
from kgreason.lang.builder import Builder
from kgreason.resources import resource


class _AllTokens:
    """Keep the terminals that no rule of the grammar mentions."""

    always_accept = ("LEFT_ARROW", "DOCUMENTATION", "UNCLOSED", "ILLEGAL")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


@cache
def grammar() -> tuple[Lark, Builder]:
    """``grammars/vadalog.lark``, and what its parser builds clauses with; of no use to two threads at once."""
    builder = Builder()
    return compiled(builder), builder


def compiled(builder: Builder) -> Lark:
    """Compile the grammar, or take its tables from the last time."""
    kept = caches.place("vadalog.grammar", __file__)
    return Lark(
        resource("grammars", "vadalog.lark").read_text(encoding="utf-8"),
        start="clause",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        postlex=_AllTokens(),
        transformer=builder,
        cache=str(kept) if kept else False,
    )
