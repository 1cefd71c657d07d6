"""The lexer for Pygments and the grammar for editors: both cut every program as the parser does."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, Text
from pygments.token import _TokenType as TokenType

from kgreason.base.resources import resource
from kgreason.language.functions import BUILT_IN
from kgreason.language.highlighter import VadalogLexer, terminals
from kgreason.language.syntax.tree_builder import Builder, compiled
from kgreason.language.vocabulary import AGGREGATES
from tests.examples import inputs
from tests.folders import ROOT
from tests.textmate import scopes

FOLDERS = ("rules", "examples", "tests/programs")
PROGRAMS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.vada"))
}

KINDS: dict[str, tuple[TokenType, str]] = {
    "END": (Punctuation, "punctuation.terminator.clause"),
    "ARROW": (Keyword, "keyword.operator.arrow"),
    "LEFT_ARROW": (Keyword, "keyword.operator.arrow"),
    "ANNOTATION": (Name.Decorator, "storage.modifier.annotation"),
    "LIBRARY": (Name.Builtin, "support.function.library"),
    "NAME": (Name, "entity.name.function.predicate"),
    "VAR": (Name.Variable, "variable"),
    "NOT": (Operator.Word, "keyword.operator.word"),
    "IN": (Operator.Word, "keyword.operator.word"),
    "NOT_IN": (Operator.Word, "keyword.operator.word"),
    "TEMPORAL": (Keyword.Pseudo, "keyword.operator.temporal"),
    "DATE": (Literal.Date, "constant.other.date"),
    "DOUBLE": (Number.Float, "constant.numeric.double"),
    "INTEGER": (Number.Integer, "constant.numeric.integer"),
    "BOOLEAN": (Keyword.Constant, "constant.language.boolean"),
    "HASH": (Name.Class, "entity.name.type.skolem"),
    "PARAMETER": (String.Interpol, "variable.parameter"),
    "STRING": (String.Double, "punctuation.definition.string.begin"),
    "MODULO": (Operator, "keyword.operator.arithmetic"),
    "DOCUMENTATION": (String.Doc, "comment.line.documentation"),
    "COMMENT": (Comment.Single, "comment.line.percentage"),
    "WHITESPACE": (Text.Whitespace, ""),
    "UNCLOSED": (Error, "punctuation.definition.string.begin"),
    "ILLEGAL": (Error, "invalid.illegal"),
    "COMPARATOR": (Operator, "keyword.operator.comparison"),
    "LESS": (Operator, "keyword.operator.comparison"),
    "GREATER": (Operator, "keyword.operator.comparison"),
    "EQUAL": (Operator, "keyword.operator.comparison"),
    "OR": (Operator, "keyword.operator.logical"),
    "AND": (Operator, "keyword.operator.logical"),
    "NOT_OPERATOR": (Operator, "keyword.operator.logical"),
    "PLUS": (Operator, "keyword.operator.arithmetic"),
    "MINUS": (Operator, "keyword.operator.arithmetic"),
    "TIMES": (Operator, "keyword.operator.arithmetic"),
    "DIVIDED": (Operator, "keyword.operator.arithmetic"),
    "COMMA": (Punctuation, "punctuation.separator"),
    **dict.fromkeys(
        ("LPAR", "RPAR", "LBRACKET", "RBRACKET", "LBRACE", "RBRACE"),
        (Punctuation, "punctuation.section.brackets"),
    ),
}
"""What each terminal of the grammar is to Pygments, and to editors."""
ALSO = {Keyword.Reserved: AGGREGATES, Name.Builtin: BUILT_IN.keys()}
"""Names that are more than names."""


@cache
def textmate() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        resource("grammars", "vadalog.tmLanguage.json").read_text(encoding="utf-8")
    )
    return loaded


@cache
def grammar() -> Any:
    return compiled(Builder())


def check(text: str, *, letters: bool = False) -> None:
    """Compare both with the tokens of the parser; `letters`: the text is no program."""
    found = list(VadalogLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in found) == text
    kinds = {start: (kind, part) for start, kind, part in found}
    ends = {start + len(part) for start, _, part in found}
    scoped = {start: name.removesuffix(".vadalog") for start, _, name in scopes(textmate(), text)}
    for token in grammar().lex(text):
        assert token.start_pos in kinds, token
        assert token.end_pos in ends, token
        kind, part = kinds[token.start_pos]
        wanted, scope = KINDS[token.type]
        if kind in ALSO and token.type == "NAME":
            assert part in ALSO[kind], token
        elif token.type == "LEFT_ARROW":
            assert kind in (Keyword, Operator)
        else:
            assert kind in wanted, (token, kind)
        if letters and "\n" in text:
            continue  # editors read line by line: strings that are not closed go on
        there = scoped.get(token.start_pos, "")
        support = (
            token.type == "NAME"
            and there.startswith("support.function")
            and str(token) in AGGREGATES | BUILT_IN.keys()
        )
        assert support or there.startswith(scope), (token, there)


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_programs_are_cut_as_the_parser_does(folder: str) -> None:
    chosen = [text for name, text in PROGRAMS.items() if name.startswith(folder)]
    assert chosen
    for text in chosen:
        check(text)


def test_errors_only_where_the_parser_has_them() -> None:
    wrong = {
        Path(name).parent.name
        for name, text in PROGRAMS.items()
        if any(kind is Error for _, kind, _ in VadalogLexer().get_tokens_unprocessed(text))
    }
    assert wrong == {"diagnostic_E002", "diagnostic_E003"}


def test_every_terminal_is_covered() -> None:
    """Anonymous ones, too: a terminal that the grammar gets must get a colour here."""
    assert set(KINDS) == {terminal.name for terminal in grammar().terminals}


def test_words_and_expressions_are_those_of_the_grammar() -> None:
    patterns = [p for p in textmate()["patterns"] if "match" in p]
    by_scope: dict[str, list[str]] = {}
    for pattern in patterns:
        by_scope.setdefault(pattern.get("name", "aggregate").removesuffix(".vadalog"), []).append(
            pattern["match"]
        )
    found = terminals()
    for terminal in (
        "DATE",
        "DOUBLE",
        "INTEGER",
        "BOOLEAN",
        "HASH",
        "ANNOTATION",
        "LIBRARY",
        "TEMPORAL",
        "VAR",
    ):
        assert found[terminal] in by_scope[KINDS[terminal][1].replace("variable", "variable.other")], terminal
    assert found["MODULO"] in by_scope["keyword.operator.arithmetic"]
    assert set(re.findall(r"\w+", by_scope["support.function"][0].partition(")")[0])) == BUILT_IN.keys()
    assert set(re.findall(r"\w+", by_scope["aggregate"][0].split("(?:")[1].partition(")")[0])) == AGGREGATES


PIECES = [
    *(
        "own",
        "X",
        "_",
        "_y",
        "1",
        "0.5",
        "2024-01-15",
        "2024-01-15 10:00",
        "2E3",
        "2.71f",
        '"a ""b"" \\" ${q} c"',
        '""',
    ),
    *(
        ".",
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "<>",
        "=",
        "||",
        "&&",
        "!",
        "!in",
    ),
    *(
        "in",
        "not",
        "+",
        "-",
        "*",
        "/",
        "%",
        " % ",
        "% note",
        "%% told",
        ":-",
        "<-",
        "#T",
        "#F",
        "#f",
        "${q}",
        "@bind",
    ),
    *(
        "math:sqrt",
        "msum",
        "sum",
        "min",
        "round",
        "[-]",
        "<->",
        " ",
        "  ",
        "\t",
        ";",
        "é",
        "=msum(",
        "= count(",
    ),
]


@settings(max_examples=inputs(300), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_pieces_are_cut_alike(text: str) -> None:
    check(text, letters=True)


@settings(max_examples=inputs(200), deadline=None)
@given(st.text(st.sampled_from('aX_1. ,()<>=!-+*/%"\\\n#T@${}[]:é'), max_size=30))
def test_any_letters_come_back(text: str) -> None:
    found = list(VadalogLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in found) == text
    assert [start for start, _, _ in found] == [
        sum(len(p) for _, _, p in found[:i]) for i in range(len(found))
    ]


def kinds(text: str) -> Iterator[tuple[str, str]]:
    for _, kind, part in VadalogLexer().get_tokens_unprocessed(text):
        if kind is not Text.Whitespace:
            yield str(kind).removeprefix("Token."), part


def test_what_is_existential() -> None:
    magic = [
        part
        for kind, part in kinds("p(X, Z), q(Z) :- r(X, Y). p(A, B). A = B :- f(A), f(B).")
        if "Magic" in kind
    ]
    assert magic == ["Z", "Z"]
    assert [part for kind, part in kinds("q(N) <- p(X), X<-1.") if kind == "Keyword"] == ["<-"]
    assert [part for kind, part in kinds("q(N) <- p(X), X<-1.") if "Magic" in kind] == ["N"]


def test_what_is_within_strings() -> None:
    assert list(kinds(r'"a\n""${q}b"')) == [
        ("Literal.String.Double", '"'),
        ("Literal.String.Double", "a"),
        ("Literal.String.Escape", r"\n"),
        ("Literal.String.Escape", '""'),
        ("Literal.String.Interpol", "${q}"),
        ("Literal.String.Double", 'b"'),
    ]


def test_names_of_aggregates_may_be_predicates() -> None:
    found = dict(kinds("count(X) :- p(X), V = count(X)."))
    assert found["Keyword.Reserved" if "Keyword.Reserved" in found else ""] == "count"
    assert [part for kind, part in kinds("count(X) :- p(X).") if kind == "Name.Function"] == ["count", "p"]


def test_pygments_knows_it() -> None:
    """As a lexer by its class; by its name once the package is installed with its entry point."""
    lexer = VadalogLexer()
    assert lexer.aliases == ["vadalog", "vada"]
    assert lexer.filenames == ["*.vada"]
    assert "".join(part for _, part in lexer.get_tokens("p(X) :- q(X).\n")) == "p(X) :- q(X).\n"


def test_editors_get_what_they_need() -> None:
    folder = ROOT / "grammars" / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    (language,), (found,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert language["extensions"] == [".vada"]
    assert (folder / language["configuration"]).is_file()
    # docs/editors.md copies both into one folder
    assert (folder.parent / found["path"]).is_file()
    assert found["scopeName"] == textmate()["scopeName"] == "source.vadalog"
    configuration = json.loads((folder / language["configuration"]).read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "%"}
    assert all(re.compile(p.get("match") or p["begin"]) for p in textmate()["patterns"])


def test_the_package_says_so() -> None:
    """Pygments asks the installed packages for their lexers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pygments.lexers"] == {
        "vadalog": "kgreason.language.highlighter:VadalogLexer"
    }
