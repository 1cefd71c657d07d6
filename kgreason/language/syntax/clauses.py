"""Splitting of a text into clauses, each ended by ``.``, and detection of lexical errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Lark, Token

from kgreason.base.errors import Diagnostic, Span
from kgreason.base.records import record
from kgreason.language.syntax.syntax_tree import Atom, Constant, Fact
from kgreason.language.values import Value

_VALUE = r'"[^"\\$\n]*"|-?\d{1,18}(?:\.\d+(?:[eE][+-]?\d{1,2})?)?|#[TF]'
_LINE = re.compile(
    rf"(?!(?:not|in)\()([a-z][A-Za-z0-9_]*)\(((?:{_VALUE})(?:,[ ]*(?:{_VALUE}))*)\)\.[ \t]*\r?(?:\n|\Z)"
)
_EACH = re.compile(_VALUE)
_BREAK = re.compile(r"[ \t]*\r?\n")


def plain_facts(text: str, start: int, line: int, file: str) -> tuple[list[Fact], int]:
    """Read facts, each in a line of its own, from the line after the end of a clause at `start` in `line`.

    Returns
    -------
    facts
        Consecutive facts, possibly none.
    end
        Start of the first line that holds something else; `start` if there are no facts.
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


DEPTH = 100  # maximum nesting; a deeper tree would exhaust the stack of recursive functions
LENGTH = 1_000_000  # maximum tokens of a clause: each takes some 300 bytes
SHORT = 10_000  # maximum characters of a clause that is rewritten

_SIGNS = {"≠": "!=", "≤": "<=", "≥": ">=", "⟨": "<", "⟩": ">", "∧": ",", "¬": "not ", "−": "-"}
OPENING = frozenset({"LPAR", "LBRACKET", "LBRACE"})
CLOSING = frozenset({"RPAR", "RBRACKET", "RBRACE"})
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_THEN = re.compile(r'"[^"]*"|%[^\n]*|(:-|<-)|(->|=>|[→⇒⟶⟹])')
_BARE = re.compile(r'"[^"]*"|(?<![\w:#@{$])([a-z])(\w*)(?![\w:]|\s*\()')
_LISTED = re.compile(r"\{\s*\}\s*((?:\|\s*[\w\"]+\s*)+)")
_PERCENT = re.compile(r"%(?!%)| %[.,)]")
_CHARACTERS = {
    ";": "write one rule for each alternative, and `,` between the conditions of one rule",
    "|": "write one rule for each alternative; `||` is the or of conditions",
    "&": "write `,` between the conditions of a rule; `&&` is the and of an expression",
    "≠": "write `!=`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "'": 'write strings between double quotes: "..."',
    "?": 'to ask for a predicate, write @output("predicate")',
    ":": "the arrow of a rule is `:-`",
    "#": "a Skolem term is written `#f(X)`, a boolean `#T` or `#F`",
    "@": "an annotation is written `@name(...)`; times of facts are not supported",
    "$": "a parameter is written `${name}`",
    "~": "negation is written `not`",
    "\\": "negation is written `not`",
    "¬": "negation is written `not`",
} | dict.fromkeys("“”„‟«»‘’‚‹›", 'write strings between straight double quotes: "..."')


@record
class ClauseTokens:
    """Tokens of one clause; `problem` is set if the grammar cannot parse them."""

    tokens: list[Token]
    documentation: str
    problem: Diagnostic | None


def span(first: Token, last: Token, file: str) -> Span:
    """Range from the start of one token to the end of another."""
    return Span(file, first.line or 1, first.column or 1, last.end_line or 1, last.end_column or 1)


def clauses(lexer: Lark, text: str, file: str) -> Iterator[ClauseTokens | list[Fact]]:
    """Split a text at the ``.`` that ends each clause; yield clauses for the parser, or facts that do not need it.

    Characters outside the language are reported in `ClauseTokens.problem`.
    """
    cutter = _Cutter(file, text)
    thread = lexer.parse_interactive(text).lexer_thread
    assert thread.state is not None
    position = thread.state.line_ctr
    for token in thread.lex(None):  # type: ignore[no-untyped-call]
        if token.type == "DOCUMENTATION":
            cutter.comment(token)
            continue
        cutter.add(token)
        if token.type == "END" or (token.type == "UNCLOSED" and token.rstrip().endswith(".")):
            yield cutter.clause()
        if token.type == "END":
            facts, end = plain_facts(text, position.char_pos, position.line, file)
            if facts:
                yield facts
                position.feed(text[position.char_pos : end])  # the lexer continues after them
    if cutter.tokens:
        yield cutter.clause()


class _Cutter:
    """Collector of the tokens of a clause; those after the first problem are dropped, since there may be millions."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        self._last_line = 0
        self._suspect: Token | None = None  # the first string that ends right before a word in another line
        self._begin()

    def _begin(self) -> None:
        self.tokens: list[Token] = []
        self._comments: list[Token] = []
        self._end = self._depth = 0
        self._problem: Diagnostic | None = None

    def comment(self, token: Token) -> None:
        if not self.tokens and token.line != self._last_line:
            self._comments.append(token)

    def add(self, token: Token) -> None:
        self._end = token.end_pos or 0
        if self._problem is not None:
            self._last_line = token.end_line or 0
            return
        kind = token.type
        last = self.tokens[-1] if self.tokens and self.tokens[-1].end_pos == token.start_pos else None
        if kind in ("TIMES", "DIVIDED") and last is not None and last.type == "DIVIDED":
            self._problem = Diagnostic(
                "E003",
                f"`{last}{token}` has no meaning here",
                span(last, token, self._file),
                note="a comment begins with `%` and ends with its line",
                hint="begin each line of the comment with `%`",
            )
        self.tokens.append(token)
        if kind in OPENING:
            self._depth += 1
            if self._depth > DEPTH:
                self._problem = too_deep(span(token, token, self._file))
        elif kind in CLOSING:
            self._depth -= 1
        elif kind in ("UNCLOSED", "ILLEGAL"):
            self._problem = _lexical(token, self._file, self._suspect) if self._suspect else None
            self._problem = self._problem or self._of_sets(token) or _lexical(token, self._file, None)
        elif kind == "STRING" and token.line != token.end_line and self._suspect is None:
            if self._text[token.end_pos or 0 : (token.end_pos or 0) + 1].isalnum():
                self._suspect = token
        elif len(self.tokens) > LENGTH:
            self._problem = Diagnostic(
                "E019",
                f"the clause that begins here has more than {LENGTH:,} words and signs",
                span(self.tokens[0], self.tokens[0], self._file),
                hint="put so much data into a file, and name it with @bind",
            )

    def _of_sets(self, token: Token) -> Diagnostic | None:
        """Explain the set operators ``|`` and ``&``; `None` for other tokens."""
        *before, last = [t.type for t in self.tokens[:-1]] or [""]
        if token not in ("|", "&") or last not in ("VAR", "RBRACE", "RBRACKET", "RPAR"):
            return None
        start = max((i for i, kind in enumerate(before) if kind in ("ARROW", "COMMA")), default=-1)
        if last != "RBRACE" and not {"EQUAL", "IN", "NOT_IN"} & set(before[start + 1 :]):
            return None
        hint = "there is no intersection: `X in S, X in T` asks whether both sets hold X"
        if token == "|":
            hint = "a collection that grows is kept as a list: `P = Q + [X]`"
            if before[-1:] == ["LBRACE"]:
                found = _LISTED.match(self._text, self.tokens[-3].start_pos or 0)
                names = re.findall(r"[\w\"]+", found[1]) if found else ["X"]
                listed = ", ".join(names)
                grown = f"`[{listed}]`, and `P = Q + [X]`"
                hint = f"write the set `{{{listed}}}`, or a list that can grow: {grown}"
                if before[-3:-1] == ["NAME", "LPAR"] and self.tokens[-5] in ("munion", "union"):
                    hint = f"write `{self.tokens[-5]}({names[0]})`: it gathers single values, too"
        what = "union" if token == "|" else "intersection"
        message = f"the {what} `{token}` of sets has no meaning here"
        return Diagnostic("E003", message, span(token, token, self._file), hint=hint)

    def clause(self) -> ClauseTokens:
        tokens = self.tokens
        problem, last = self._problem, tokens[-1]
        if problem is None and last.type != "END":
            problem = Diagnostic(
                "E004",
                "the clause has no end",
                span(last, last, self._file),
                note="every fact, rule and annotation ends with `.`",
                hint=percentage(last, self._text) or "put `.` here",
            )
        if problem is not None:
            problem = body_first(self._text, tokens[0], self._end, self._file) or problem
        else:
            self._last_line = last.end_line or 0
        made = ClauseTokens(list(_arrows(tokens)), _documentation(self._comments, tokens[0]), problem)
        self._begin()
        return made


def _documentation(comments: list[Token], first: Token) -> str:
    block: list[str] = []
    below = first
    for comment in reversed(comments):
        if (below.line or 0) - (comment.line or 0) > 1:
            break
        block.append(comment[2:].strip())
        below = comment
    return "\n".join(reversed(block))


def _arrows(tokens: list[Token]) -> Iterator[Token]:
    """Treat the first ``<-`` as the arrow, others as a comparison with a negative number."""
    first = next((token for token in tokens if token.type in ("ARROW", "LEFT_ARROW")), None)
    for token in tokens:
        if token is first:
            token.type = "ARROW"
        if token.type == "LEFT_ARROW":
            start, line, column = token.start_pos or 0, token.line, token.column or 1
            yield Token("LESS", "<", start, line, column, line, column + 1, start + 1)
            yield Token("MINUS", "-", start + 1, line, column + 1, line, column + 2, start + 2)
        else:
            yield token


def body_first(text: str, first: Token, end: int, file: str) -> Diagnostic | None:
    """Explain a rule that begins with its body, as in logic notation; `None` for any other clause.

    The clause runs from its `first` token to the position `end` of the text.
    """
    start = first.start_pos or 0
    arrows = [m for m in _THEN.finditer(text, start, min(end, start + SHORT)) if m[1] or m[2]]
    if not arrows or arrows[0][1] or arrows[0].start() == start:
        return None
    arrow = arrows[0]
    behind = text[arrow.end() : end]
    if len(arrows) > 1:  # the next rule follows without a `.`
        behind = behind.lstrip().partition("\n")[0]
    head, body = _clean(behind).rstrip(". "), _clean(text[start : arrow.start()])
    known = head and body and first.type != "ANNOTATION"
    return Diagnostic(
        "E126",
        "this rule begins with its body",
        _span_at(text, arrow.start(), len(arrow[0]), file),
        note="a rule is written `head :- body.`, and its variables begin with a capital letter",
        hint=f"write `{head} :- {body}.`" if known else "write the head first: `head :- body.`",
    )


def _span_at(text: str, start: int, length: int, file: str) -> Span:
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return Span(file, line, column, line, column + length)


def _clean(text: str) -> str:
    """Part of a rule in mathematical notation, translated to the language."""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    text = re.sub(r"%[^\n]*", "", text)
    return _BARE.sub(
        lambda m: m[0] if not m[1] or m[0] in ("not", "in") else m[1].upper() + m[2], " ".join(text.split())
    )


def _lexical(token: Token, file: str, suspect: Token | None) -> Diagnostic:
    here = span(token, token, file)
    if token.type == "UNCLOSED":
        note = "a string runs from one double quote to the next, over several lines if need be"
        if suspect is None:
            return Diagnostic("E002", "this string is not closed", here, note, 'end it with `"`')
        return Diagnostic(
            "E002",
            "this string is probably not closed in its line",
            span(suspect, suspect, file),
            note,
            hint='close it with `"` where it should end',
            related=((here, "the last double quote of the file, which has no partner"),),
        )
    shown = f"`{token}`" if token.isprintable() else f"U+{ord(token):04X}"
    hint = _CHARACTERS.get(str(token))
    if suspect is not None and suspect.end_line == token.line:
        hint = f'the string that begins in line {suspect.line} may lack its closing `"`'
    return Diagnostic("E003", f"the character {shown} has no meaning here", here, hint=hint)


def unreadable(text: str, file: str) -> Diagnostic | None:
    """Find the first character that is not valid in text; positions count from the start of the file."""
    match = _NO_TEXT.search(text)
    if match is None:
        return None
    return Diagnostic(
        "E003",
        f"the character U+{ord(match[0]):04X} has no meaning here",
        _span_at(text, match.start(), 1, file),
        note="rules are text: they hold neither NUL nor halves of surrogate pairs",
        hint="if the file is UTF-16, save it as UTF-8" if match[0] == "\0" else None,
    )


def percentage(number: Token, text: str) -> str | None:
    """Explain ``50%``: the sign and the rest of the line are a comment."""
    end = number.end_pos or 0
    if number.type not in ("INTEGER", "DOUBLE") or not _PERCENT.match(text, end):
        return None
    return f"`%` begins a comment; write {float(number) / 100:g} for `{number}%`"


def too_deep(where: Span) -> Diagnostic:
    """Error for an expression nested deeper than `DEPTH`."""
    return Diagnostic(
        "E006",
        f"this is nested more than {DEPTH} levels deep",
        where,
        note="long chains of one operator count as nesting, too",
        hint="give names to parts of it: `Part = ...`",
    )
