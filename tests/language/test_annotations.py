"""Sources, targets, queries, post-processing, and programs of several files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import Diagnostic, ProgramError
from kgreason.isomorphism.folder import public_rules
from kgreason.language.check.program_checker import examine_file, load_file, load_text, restricted
from tests.examples import inputs


def operations(text: str) -> list[tuple[str, tuple[int, ...]]]:
    program = load_text(f'@output("p"). @post("p", "{text}"). p(X,Y,Z) :- e(X,Y,Z).')
    return [(p.operation, p.arguments) for p in program.posts]


def codes(text: str) -> list[str]:
    try:
        return [w.code for w in load_text(text).warnings]
    except ProgramError as error:
        return [d.code for d in error.diagnostics]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orderby(3,-2)", [("orderby", (3, -2))]),
        (" orderBy( 3 , -2 ) , limit(10)", [("orderby", (3, -2)), ("limit", (10,))]),
        ("certain,unique", [("certain", ()), ("unique", ())]),
        ("unique(1,2)", [("unique", (1, 2))]),
        ("unique()", [("unique", ())]),
        ("min(2)", [("min", (2,))]),
        ("max(1,2)", [("max", (1, 2))]),
        ("argmin(3,<1,2>)", [("argmin", (3, 1, 2))]),
        ("argmax(3,[1])", [("argmax", (3, 1))]),
        ("argmax(3)", [("argmax", (3,))]),
        ("argmax(3,<>)", [("argmax", (3,))]),
        ("prelimit(0)", [("prelimit", (0,))]),
    ],
)
def test_post(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert operations(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E310"),
        ("   ", "E310"),
        ("ordeby(1)", "E310"),
        ("sum(2)", "E310"),
        ("limit(1) unique", "E310"),
        ("limit(1", "E310"),
        ("limit(1))", "E310"),
        ("limit", "E311"),
        ("limit(-1)", "E311"),
        ("limit(1,2)", "E311"),
        ("limit(X)", "E311"),
        ("limit(99999999999999999999)", "E311"),
        ("orderby", "E311"),
        ("orderby(0)", "E311"),
        ("orderby(1,-1)", "E311"),
        ("min(-1)", "E311"),
        ("min()", "E311"),
        ("certain(1)", "E311"),
        ("argmin(<1>)x", "E310"),
        ("orderby(-4)", "E303"),
        ("argmax(1,<4>)", "E303"),
    ],
)
def test_wrong_post(text: str, code: str) -> None:
    assert codes(f'@output("p"). @input("e"). @post("p", "{text}"). p(X,Y,Z) :- e(X,Y,Z).') == [code]


def test_posts_stand_in_the_order_of_the_text() -> None:
    program = load_text(
        '@post("q","limit(1)"). @post("p","unique"). q(X) :- e(X). p(X) :- e(X). @post("q","certain").'
    )
    assert [(p.predicate, p.operation) for p in program.posts] == [
        ("q", "limit"),
        ("p", "unique"),
        ("q", "certain"),
    ]


def test_binds_of_databases_name_a_table() -> None:
    program = load_text(
        '@bind("p", "sqlite", "data/a.db", "shares"). @bind("p", "duckdb", "b.duckdb", "more"). q(X) :- p(X).'
    )
    assert [(b.source, b.path, b.table) for b in program.binds] == [
        ("sqlite", "data/a.db", "shares"),
        ("duckdb", "b.duckdb", "more"),
    ]


@pytest.mark.parametrize("source", ["csv", "tsv", "parquet", "json", "graphml", "rdf", "edges", "gml"])
def test_sources(source: str) -> None:
    (bind,) = load_text(f'@bind("p", "{source}", "data", "a.x"). q(X) :- p(X).').binds
    assert (bind.source, bind.path, bind.table) == (source, "data/a.x", "")


def test_targets_are_binds_of_derived_outputs() -> None:
    text = '@bind("q","json","out","q.json"). @bind("p","csv","","p.csv"). q(X) :- p(X).'
    program = load_text('@output("q").' + text)
    assert [(b.predicate, b.source, b.path) for b in program.targets] == [("q", "json", "out/q.json")]
    assert [b.predicate for b in program.binds] == ["p"]
    assert load_text(text).targets == ()  # without @output it is read, as it was
    read = load_text('@output("q"). @input("q").' + text)
    assert (len(read.binds), read.targets) == (2, ())


def test_queries() -> None:
    program = load_text(
        """@qbind("p", "sqlite timeout=3", "a.db", "select a, b from t"). q(X) :- p(X,_).
        @qbind("p", "duckdb", "", "select * from 'x.csv'"). @qbind("p", "duckdb", "data", "select 1, 2")."""
    )
    assert [(q.source, q.path, dict(q.options)) for q in program.queries_bound] == [
        ("sqlite", "a.db", {"timeout": "3"}),
        ("duckdb", "", {}),
        ("duckdb", "data", {}),
    ]
    assert program.queries_bound[1].query == "select * from 'x.csv'"
    assert not program.warnings


def test_date_columns() -> None:
    program = load_text('@mapping("p", 0, "day", "date"). @input("p"). q(X) :- p(X).')
    assert program.mappings[0].type == "date"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('@bind("p","sqlite","","t"). q(X) :- p(X).', "E302"),
        ('@bind("p","duckdb","a.db",""). q(X) :- p(X).', "E302"),
        ('@bind("p","mysql","a","t"). q(X) :- p(X).', "E207"),
        ('@qbind("p","mysql","a","select 1"). q(X) :- p(X).', "E207"),
        ('@qbind("p","csv","a","select 1"). q(X) :- p(X).', "E307"),
        ('@qbind("p","sqlit","a","select 1"). q(X) :- p(X).', "E307"),
        ('@qbind("p","sqlite","","select 1"). q(X) :- p(X).', "E302"),
        ('@qbind("p","sqlite","a.db"," "). q(X) :- p(X).', "E302"),
        ('@qbind("p","sqlite","a.db"). q(X) :- p(X).', "E302"),
        ('@output("q"). @bind("q","konect","","out.a"). @input("p"). q(X) :- p(X).', "E308"),
        ('@label(3). @input("p"). q(X) :- p(X).', "E302"),
        ('@input("p"). q(X) :- p(X). @label("x").', "E018"),
        ('@include(3). @input("p"). q(X) :- p(X).', "E302"),
        ('@module("a"). @module("b"). @module("a"). @input("p"). q(X) :- p(X).', "E305"),
        ('@input("p"). @output("r"). q(X) :- p(X). r(X) :- p(X).', "W510"),
        ('@input("p"). @output("r"). q(X) :- q(X), p(X). r(X) :- p(X).', "W510"),
        ('@input("p"). @input("s"). s(1). r(X) :- p(X).', "W511"),
        ('@input("p"). @output("r"). @post("q","unique"). r(X) :- q(X). q(X) :- p(X).', "W512"),
        ('@param("q", 1). @input("p"). r(X) :- p(X).', "W514"),
        ('@param("q", 1). @input("p"). r(X) :- p(X). % ${q} and ${s}', "W514"),
    ],
)
def test_code(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        '@input("p"). q(X) :- p(X). r(X) :- p(X).',
        '@input("p"). @output("r"). q(X) :- p(X). r(X) :- p(X), not q(X).',
        '@input("p"). @output("r"). q(X) :- p(X). r(X) :- p(X). #F :- q(X), r(X).',
        '@input("p"). @output("r"). @query("q"). q(X) :- p(X). r(X) :- p(X).',
        '@input("p"). @output("r"). q(X), r(X) :- p(X), q(X).',
        '@input("p"). @output("p").',
        '@input("s"). s(1).',
    ],
)
def test_nothing_to_warn_of(text: str) -> None:
    assert codes(text) == []


def test_unused_names_what_was_meant() -> None:
    text = '@output("r"). holding(X) :- e(X). r(X) :- holdng(X). @input("e").'
    warnings = load_text(text).warnings
    assert [(w.code, w.hint) for w in warnings] == [
        ("W510", "did you mean 'holdng', which a rule reads and nothing derives?"),
        ("W501", "did you mean 'holding'?"),
    ]


def test_annotations_are_checked_beside_syntax_errors() -> None:
    text = (
        '@bind("p","cvs","",""). p(X :- q(X). @outptu("p"). @post("p","lmit(3)"). @qbind("p","csv","","x").'
    )
    assert codes(text) == ["E307", "E001", "E301", "E310", "E307"]


@settings(max_examples=inputs(200), deadline=None)
@given(st.text("orderbylimtcnaguqxp(),<>[]-0123 '=;", max_size=30), st.text("csvqlite ',=;\"x", max_size=20))
def test_any_annotation_is_read_or_diagnosed(post: str, source: str) -> None:
    quoted = source.replace('"', '""')
    codes(
        f'@post("q", "{post}"). @bind("p", "csv {quoted}", "", "f"). @qbind("p", "{quoted}", "", "s"). q(X) :- p(X).'
    )


def test_long_annotations_take_no_time() -> None:
    assert codes(
        f'@post("q", "limit{" " * 100_000}x"). @bind("p", "csv {" " * 100_000}=", "", "f"). q(X) :- p(X).'
    ) == [
        "E310",
        "E302",
    ]


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.vada"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "main.vada"


def found(path: Path) -> list[Diagnostic]:
    return [d for d in examine_file(path).diagnostics if d.severity == "error"]


def test_include(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='p(X) :- b(X). @include("sub/one"). @include("sub/two.vada"). q(X) :- p(X), X > ${limit}.',
        sub__one='@bind("b", "csv", "data", "b.csv"). r(X) :- b(X). @include("two").',
        sub__two='@param("limit", 3). b(1). s(X) :- r(X), X < ${limit}.',
    )
    program = load_file(main)
    assert {r.head.predicate: r.number for r in program.rules} == {"p": 1, "r": 2, "s": 3, "q": 4}
    assert program.binds[0].path == str(tmp_path / "sub" / "data" / "b.csv")
    assert len(program.facts) == 1
    files = [str(tmp_path / name) for name in ("main.vada", "sub/one.vada", "sub/two.vada")]
    assert list(program.sources) == files
    assert {str(r.span.file) for r in program.rules} == set(files)


def test_include_of_a_module_and_of_the_library(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='@include("links"). @include("control"). p(X,Y) :- link(X,Y), control(X,Y).',
        other='@module("links"). link(1,2).',
    )
    program = load_file(main)
    assert "control" in program.heads
    assert list(program.sources)[1:] == [str(tmp_path / "other.vada"), "rules/control.vada"]


def rows(main: Path) -> set[tuple[object, ...]]:
    return set(kgreason.reason(main).rows("p"))


def test_a_file_sets_the_parameters_of_those_it_includes(tmp_path: Path) -> None:
    low = '@param("q", 2). n(1). n(2). n(3). p(X, "${q}") :- n(X), X >= ${q}.'
    whole = write(tmp_path / "one", main='@include("low"). @param("q", 3).', low=low)
    assert rows(whole) == {(3, "3")}
    through = write(
        tmp_path / "two",
        main='@include("mid"). @include("low"). @param("r", 0).',
        mid='@include("low"). @param("q", "${s}"). @param("s", 3). @param("r", 1).',
        low=low.replace("${q}", "${q}", 1).replace('"${q}"', '"${r}"').replace(">= ${q}", ">= 3 - ${r}"),
    )
    assert rows(through) == {(3, "0")}


def test_files_of_which_none_includes_the_other_agree_on_parameters(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='@include("a").\n@include("b").\nr(X) :- p(X), q(X).',
        a='@param("k", 1).\np(${k}).',
        b='@param("k", 2).\nq(${k}).',
    )
    (clash,) = found(main)
    assert clash.code == "E305"
    assert clash.hint == "keep one of them, or set it in the file that includes both"
    main.write_text('@param("k", 3).\n' + main.read_text())
    assert not found(main)
    main.write_text('@param("k", 4).\n' + main.read_text())
    (own,) = found(main)
    assert (own.code, own.hint, own.span and own.span.line) == ("E305", "keep one of them", 2)


def test_a_parameter_of_the_library_can_be_set(tmp_path: Path) -> None:
    main = write(tmp_path, main='@include("control").\n@param("majority", 0.75).')
    shares = {"own": [("A", "B", 0.6), ("B", "C", 0.8)]}
    controlled = kgreason.reason(main, shares, outputs="control").rows("control")
    assert {(x, y) for x, y in controlled if x != y} == {("B", "C")}


def test_an_own_file_hides_one_of_the_library(tmp_path: Path) -> None:
    main = write(tmp_path, main='@include("control"). p(X) :- mine(X).', control="mine(1).")
    assert load_file(main).heads == {"p"}


def test_errors_show_the_line_of_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, main='@include("a").\np(X) :- q(X), Y > 2.', a="% one\nq(1).\nq(1,2).\nr(X) :- q(X")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError) as caught:
        load_file("main.vada")
    text = str(caught.value)
    assert "main.vada:2:15: error[E101]" in text
    assert "a.vada:3:1: error[E104]: `q` has 2 arguments here and 1 elsewhere\n  3 | q(1,2).\n" in text
    assert "  a.vada:2:1: with 1 argument\n  2 | q(1).\n" in text
    assert text.index("main.vada:2") < text.index("a.vada:3") < text.index("a.vada:4")


def test_circle_of_includes(tmp_path: Path) -> None:
    main = write(
        tmp_path, main='@include("a"). p(1).', a='@include("b"). q(1).', b='@include("a"). @include("main").'
    )
    own, whole = found(main)
    assert own.message == "a.vada includes itself by way of b.vada"
    assert whole.message == "main.vada includes itself by way of a.vada, b.vada"
    assert [words for _, words in whole.related] == ["main.vada includes a.vada", "a.vada includes b.vada"]
    (itself,) = found(write(tmp_path / "x", main='@include("./main.vada"). p(1).'))
    assert (itself.code, itself.message) == ("E320", "main.vada includes itself")


def test_wrong_includes(tmp_path: Path) -> None:
    (tmp_path / "folder.vada").mkdir()
    (tmp_path / "latin.vada").write_bytes('p("é").'.encode("latin-1"))
    (tmp_path / "empty.vada").write_text("% nothing\n", encoding="utf-8")
    names = ["folder", "latin", "empty", "contrl", "", "../../nowhere", "x" * 5000, "~"]
    text = "\n".join(f'@include("{n}").' for n in names) + "\np(1)."
    diagnostics = found(write(tmp_path, main=text))
    assert [(d.code, d.span.line if d.span else 0) for d in diagnostics] == [
        ("E321", 1),
        ("E322", 2),
        ("E009", 3),
        *(("E321", i) for i in range(4, 9)),
    ]
    assert diagnostics[3].hint == "did you mean 'control'?"


def test_unreadable_include(tmp_path: Path) -> None:
    main = write(tmp_path, main='@include("a"). p(1).', a="q(1).")
    (tmp_path / "a.vada").unlink()
    (tmp_path / "a.vada").symlink_to(tmp_path / "a.vada")  # a file that is a link to itself
    assert [d.code for d in found(main)] == ["E321"]


def test_long_chain_of_includes(tmp_path: Path) -> None:
    chain = {f"f{i}": f'@include("f{i + 1}"). p({i}).' for i in range(60)}
    main = write(tmp_path, main='@include("f0"). p(X) :- q(X).', **chain, f60="p(60).")
    assert [d.code for d in found(main)] == ["E323"]


def test_syntax_error_of_an_included_file_counts_once(tmp_path: Path) -> None:
    main = write(tmp_path, main='@include("a"). @include("a"). @param("k", 1). p(1).', a="q(X :- r(${k}).")
    assert [d.code for d in found(main)] == ["E001"]


def test_unreadable_file(tmp_path: Path) -> None:
    result = examine_file(tmp_path / "none.vada")
    assert (result.program, [d.code for d in result.diagnostics]) == (None, ["E007"])
    assert str(result).endswith(
        "none.vada: No such file or directory\n  help: the folder holds no rule files (.vada)"
    )
    with pytest.raises(ProgramError, match="E007"):
        result.checked()


# nothing is written over what is read

READ = '@input("own"). @bind("own","csv","data","own.csv"). '
P = '@output("p"). p(X,Y,W) :- own(X,Y,W). '


def refused(text: str) -> list[tuple[str, str]]:
    with pytest.raises(ProgramError) as caught:
        load_text(text)
    return [(d.code, d.message) for d in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "what", "whose"),
    [
        (READ + P + '@bind("p","csv","data","own.csv").', "own.csv", "own"),
        (READ + P + '@bind("p","parquet","x/../data","own.csv").', "own.csv", "own"),
        (
            '@qbind("own","duckdb","","select * from \'data/own.csv\'"). '
            + P
            + '@bind("p","csv","data","own.csv").',
            "own.csv",
            "own",
        ),
        (
            '@qbind("own","sqlite","a.db","select * from Shares"). '
            + P
            + '@bind("p","sqlite","a.db","shares").',
            "the table 'shares' of a.db",
            "own",
        ),
        (
            '@bind("own","sqlite table=t","a.db","s"). ' + P + '@bind("p","sqlite","a.db","T").',
            "the table 'T' of a.db",
            "own",
        ),
        ('@bind("own","sqlite","a.db","s"). ' + P + '@bind("p","csv","","a.db").', "a.db", "own"),
    ],
)
def test_an_output_over_a_source(text: str, what: str, whose: str) -> None:
    message = f"the output `p` would be written over {what}, from which `{whose}` is read"
    assert refused(text) == [("E312", message)]


def test_two_outputs_in_one_file() -> None:
    both = READ + P + '@output("q"). q(X) :- own(X,_,_). @bind("p","csv","o","x.csv"). '
    assert refused(both + '@bind("q","csv","o","x.csv").') == [
        ("E312", "the output `q` is written to x.csv, as is `p`")
    ]
    assert refused(READ + P + '@bind("p","csv","o","x.csv"). @bind("p","json","o","x.csv").') == [
        ("E312", "the output `p` is written to x.csv twice")
    ]


@pytest.mark.parametrize(
    "text",
    [
        READ + P + '@bind("p","csv","data","p.csv").',
        '@bind("own","sqlite","a.db","s"). ' + P + '@bind("p","sqlite","a.db","p").',
        '@qbind("own","sqlite","a.db","select * from s"). ' + P + '@bind("p","sqlite","a.db","p").',
        READ + P + '@bind("p","csv","o","x.csv"). @bind("p","json","o","x.json").',
        READ + '@output("own"). own(X,Z,W) :- own(X,Y,W), own(Y,Z,_).',
        '@edge("own"). @bind("own","csv","data","own.csv"). @output("own"). own(X,Z,W) :- own(X,Y,W), own(Y,Z,_).',
    ],
)
def test_outputs_in_their_own_places(text: str) -> None:
    load_text(text)


OWN = '@bind("own","csv","data","own.csv"). @output("own"). '


@pytest.mark.parametrize(
    "rules",
    [
        "own(X,Z) :- own(X,Y), own(Y,Z).",
        "own(X,Y) :- ed(X,Y), not own(Y,X), e2(X). e2(X) :- own(X,_).",
        "own(X,Y) :- far(X,Y). far(X,Z) :- own(X,Y), own(Y,Z).",
    ],
)
def test_a_file_read_or_written(rules: str) -> None:
    assert ("E313", "is the file of `own` read or written?") in refused(OWN + '@input("ed"). ' + rules)


@pytest.mark.parametrize(
    "rules",
    [
        '@input("ed"). own(X,Y) :- ed(X,Y). own(X,Z) :- own(X,Y), ed(Y,Z).',
        'own("a","b"). own(X,Z) :- own(X,Y), own(Y,Z).',
        'own(X,Z) :- own(X,Y), own(Y,Z). @qbind("own","sqlite","a.db","select * from t").',
    ],
)
def test_an_output_that_rules_derive_from_others(rules: str) -> None:
    assert [b.predicate for b in load_text(OWN + rules).targets] == ["own"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            "columns=origine,cible,valeur missing=skip",
            {"columns": "origine,cible,valeur", "missing": "skip"},
        ),
        ("useHeaders=true, delimiter=';'", {"useHeaders": "true", "delimiter": ";"}),
        ("useHeaders=true,delimiter=';',skip=1", {"useHeaders": "true", "delimiter": ";", "skip": "1"}),
        ("columns=a,b,c,missing=skip", {"columns": "a,b,c", "missing": "skip"}),
        ("prefix=u:,m:", {"prefix": "u:,m:"}),
        ("columns='a, b' , skip = 2", {"columns": "a, b", "skip": "2"}),
        ('nullString="", missing=null,', {"nullString": "", "missing": "null"}),
    ],
)
def test_options_of_a_source(words: str, options: dict[str, str]) -> None:
    text = "@bind('e', 'csv X', '', 'e.csv'). q(X) :- e(X).".replace("'", '"')
    (bind,) = load_text(text.replace("X", words.replace('"', '\\"'), 1)).binds
    assert bind.options == options


def test_options_that_cannot_be_read() -> None:
    with pytest.raises(ProgramError) as caught:
        load_text('@bind("e","csv columns=a, b, c","","e.csv"). q(X) :- e(X,Y,Z).')
    assert str(caught.value) == (
        """\
<text>:1:11: error[E302]: cannot read the options from `, b, c` on
  1 | @bind("e","csv columns=a, b, c","","e.csv"). q(X) :- e(X,Y,Z).
    |           ^^^^^^^^^^^^^^^^^^^^^
  note: options are written name=value, with blanks or commas between them
  help: put quotes around a value with blanks in it, as in columns='owner, company, share'"""
    )


def test_paths_are_short(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "rules").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "sub")
    text = '@bind("e","csv","../rules/../data","e.csv"). @bind("e","csv","../link/..","f.csv"). q(X) :- e(X).'
    (tmp_path / "rules" / "a.vada").write_text(text)
    short, kept = load_file(tmp_path / "rules" / "a.vada", allow_files=True).binds
    assert short.path == str(tmp_path / "data" / "e.csv")
    assert kept.path == str(tmp_path / "rules" / "../link/../f.csv")


def test_sensitive_relations_and_probabilities_of_rules() -> None:
    text = """@edge("own"). @edge("friends"). @sensitive("friends"). @sensitive("control"). @output("control").
    @label("majority", 0.9). control(X, Y), helped(Y) :- own(X, Y, W), W > 0.5.
    @label("other"). control(X, Y) :- helped(X), own(X, Y, _). friend(X) :- friends(X, _), control(X, _)."""
    program = load_text(text + '@output("friend").')
    assert program.sensitive == ("friends", "control")
    assert sorted((r.number, r.head.predicate, r.weight) for r in program.rules) == [
        (1, "control", 0.9),
        (1, "helped", 0.9),
        (2, "control", None),
        (3, "friend", None),
    ]
    assert restricted(program, ["control"]).sensitive == program.sensitive


def test_what_is_sensitive_needs_no_rule() -> None:
    assert codes('@edge("friends"). @sensitive("friends"). p(1).') == []
    assert codes('@edge("friends"). p(1).') == ["W503"]
    text = '@output("q"). @input("e"). q(X) :- e(X, _). p(X, Y) :- e(X, Y).'
    assert (codes(text), codes(text + '@sensitive("p").')) == (["W510"], [])


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        ('@label("a", 0)', None),
        ('@label("a", 1)', None),
        ('@label("a", -0.1)', "E302"),
        ('@label("a", 1.1)', "E302"),
        ('@label("a", #T)', "E302"),
        ('@label("a", "0.5")', "E302"),
        ('@label("a", 0.5, 0.5)', "E302"),
        ("@label()", "E302"),
        ("@sensitive(2)", "E302"),
        ('@sensitive("p", 0.5)', "E302"),
        ('@sensitive("e")', "E304"),
        ('@sensitive("r")', "E303"),
    ],
)
def test_wrong_labels_and_sensitive_relations(annotation: str, code: str | None) -> None:
    text = f'@input("e"). {annotation}. p(X, Y) :- e(X, Y). r(X) :- e(X, _).'
    assert codes(text) == ([code] if code else [])


def test_releases_do_not_tell_what_is_sensitive() -> None:
    text = '@edge("own"). @sensitive("control"). @label("majority", 0.9). control(X, Y) :- own(X, Y, W), W > 0.5.'
    written = public_rules(load_text(text))
    assert "sensitive" not in written
    assert "0.9" not in written
