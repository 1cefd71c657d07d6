"""The formatter: its style, and that neither meaning nor comments are lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import ProgramError
from kgreason.language.formatter import format_text
from kgreason.language.syntax.parser import parse, read
from kgreason.language.syntax.syntax_tree import Annotation, Program, UnsupportedClause
from kgreason.language.syntax.tree_builder import grammar
from tests.folders import ROOT
from tests.syntax import PROGRAMS

FILES = sorted(f for f in ROOT.rglob("*.vada") if not {".git", "build", "dist"} & set(f.parts))

STYLE = {
    "facts behind a comment": ("p % note\n. q. r.", "p.  % note\nq. r.\n"),
    "spaces": (
        "p( X ,Z )<-q(X,Y),X>1.5,V=msum( W,< Y ,Z > ),not r( X ),Z=- X+ -2*( Y%3 ).",
        "p(X, Z) :- q(X, Y), X > 1.5, V = msum(W, <Y, Z>), not r(X), Z = -X + -2 * (Y % 3).\n",
    ),
    "logic": (
        "p(X):-q(X),!(X>1)&&!X||X ! in{1,2},X<>Y,X<-1,in(X).",
        "p(X) :- q(X), !(X > 1) && !X || X !in {1, 2}, X <> Y, X < -1, in(X).\n",
    ),
    "terms": (
        'p( [ ],{ },#f( ),# T).q( "a""b\\n",2.50f,007,2024-01-15T10:00 ,${n} , _tmp ):-r.@param("n",1).'.replace(
            "# T", "#T"
        ),
        'p([], {}, #f(), #T).\nq("a""b\\n", 2.50f, 007, 2024-01-15T10:00, ${n}, _tmp) :- r.\n@param("n", 1).\n',
    ),
    "equality and constraint": ("X=Y:-p(X,Y).#F<-p.", "X = Y :- p(X, Y).\n#F :- p.\n"),
    "annotations": (
        '@output("p").@label( "x" )@post("p","limit(1)") p(X):-q(X).',
        '@output("p").\n@label("x")\n@post("p", "limit(1)")\np(X) :- q(X).\n',
    ),
    "probabilities": (
        '@label("x" ,0.40)p(X):-q(X).@sensitive( "p" ).',
        '@label("x", 0.40)\np(X) :- q(X).\n@sensitive("p").\n',
    ),
    "facts on one line stay together": (
        "p(1).  p(2).p(3).\np(4). q(X):-p(X). q(1).",
        "p(1). p(2). p(3).\np(4).\nq(X) :- p(X).\nq(1).\n",
    ),
    "blank lines": ("\n\np(1).\n\n\n\nq(1).\nr(1).\n\n% end\n\n\n", "p(1).\n\nq(1).\nr(1).\n\n% end\n"),
    "documentation": ("%%a\n%% b\np(1).%%c\n\n\n%% d", "%%a\n%% b\np(1).  %%c\n\n%% d\n"),
    "comments in a clause": (
        "p(X):-% why\nq(X) % q\n,r(X)%%r\n  % own\n , s(X, % in\n X ) % end\n.",
        """\
p(X) :-  % why
    q(X),  % q
    r(X),  %%r
    % own
    s(X,  % in
        X).  % end
""",
    ),
    "comments before the end": ("p:-q\n%% a\n%% b\n.r.", "p :- q\n    %% a\n    %% b\n    .\nr.\n"),
    "a comment that could be a remainder": (
        "p:-q(X)    % 2\n,X=Y    % 2\n+Z    % 3 .\n.",
        "p :-\n    q(X),  % 2\n    X = Y   % 2\n    + Z.  % 3 .\n",
    ),
    "many lines in a string": ('p("a\n   b  "  ,1).', 'p("a\n   b  ", 1).\n'),
    "long body": (
        "long_head(Variable_one, Variable_two) :- first_predicate(Variable_one), "
        "second_predicate(Variable_two), V = msum(Weight, <Variable_three>), V > 0.5.",
        """\
long_head(Variable_one, Variable_two) :- first_predicate(Variable_one),
    second_predicate(Variable_two), V = msum(Weight, <Variable_three>), V > 0.5.
""",
    ),
    "long set": (
        f"p(X) :- q(X), X in {{{','.join(map(str, range(40)))}}}, r(X).",
        """\
p(X) :- q(X),
    X in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}, r(X).
""",
    ),
    "refused clauses stay as they are": (
        "[-] p(X)<-q( X ).\np( X ):-SELECT  * FROM t.r(#TC( x )).".replace("( x )", "( X )"),
        "[-] p(X)<-q( X ).\np( X ):-SELECT  * FROM t.\nr(#TC( X )).\n",
    ),
    "nothing": ("", ""),
    "only comments": ("\ufeff  % a\n\t%% b", "% a\n%% b\n"),
    "line ends of Windows": ("p(1). % a\r\n\r\nq(1).\r\n", "p(1).  % a\n\nq(1).\n"),
}


def comments(text: str) -> list[str]:
    """The comments of a text in their order."""
    found = []
    end = 0
    for token in grammar()[0].lex(text):
        found += re.findall("%[^\n]*", text[end : token.start_pos])
        found += [str(token)] if token.type == "DOCUMENTATION" else []
        end = token.end_pos or 0
    found += re.findall("%[^\n]*", text[end:])
    return [comment.rstrip() for comment in found]


def documentation(program: Program) -> list[str]:
    """The ``%%`` texts of all clauses."""
    return [c.documentation for c in program.clauses if not isinstance(c, Annotation | UnsupportedClause)]


def check(text: str) -> str:
    """Format a text and compare everything that must stay."""
    formatted = format_text(text)
    before, after = parse(text), parse(formatted)
    assert after == before
    assert documentation(after) == documentation(before)
    assert comments(formatted) == comments(text)
    assert format_text(formatted) == formatted
    return formatted


@pytest.mark.parametrize("name", STYLE)
def test_style(name: str) -> None:
    text, expected = STYLE[name]
    assert check(text) == expected


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_files_of_the_repository(file: Path) -> None:
    text = file.read_text(encoding="utf-8", errors="replace")
    _, errors = read(text)
    if errors:
        with pytest.raises(ProgramError):
            format_text(text)
    else:
        formatted = check(text)
        if file.parent.name == "rules":
            assert formatted == text  # the library is in the house style


def test_no_line_is_longer_than_it_must_be() -> None:
    body = ", ".join(f"predicate_{i}(Variable_{i}, [1, 2, 3])" for i in range(40))
    formatted = check(f"p({', '.join(f'Variable_{i}' for i in range(40))}) :- {body}.")
    assert 90 < max(map(len, formatted.splitlines())) <= 100


def test_syntax_errors_are_raised() -> None:
    with pytest.raises(ProgramError, match=r"a\.vada:1:3: error\[E010\]"):
        format_text("p(a).", "a.vada")


SEPARATORS = st.sampled_from(["", "", " ", " ", "  ", "\n", "\n\n\n", "\t", "\r\n"]) | st.sampled_from(
    [" % note\n", "\n% X.\n", "    % 2\n", "%% text \n", "\n%% (1), \n", "\n\n%% doc\n%% more\n\n", "\t%.\n"]
)


@st.composite
def strewn(draw: st.DrawFn) -> str:
    """A program with any blanks and comments between its words."""
    source = str(draw(PROGRAMS))
    result, end = "", 0
    for token in grammar()[0].lex(source):
        gap = source[end : token.start_pos]
        drawn = draw(SEPARATORS)
        result += gap if token.type == "MODULO" or result.endswith("%") else drawn or gap
        result += str(token)
        end = token.end_pos or 0
    return result + draw(SEPARATORS)


@settings(deadline=None)
@given(strewn())
def test_meaning_and_comments_stay(text: str) -> None:
    _, errors = read(text)
    if not errors:  # a comment may have swallowed something
        check(text)


@settings(deadline=None)
@given(PROGRAMS)
def test_the_layout_does_not_matter(program: Program) -> None:
    text = str(program)
    loose = text.replace("), ", ") ,\n\n  ") if '"' not in text else text
    assert check(text).split() == check(loose).split()
