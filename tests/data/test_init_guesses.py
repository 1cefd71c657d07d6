"""What ``kgreason init`` guesses of columns, weights and relations: what it must not get wrong, and when it asks."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError, KgreasonError
from kgreason.data.first_files import Start, start
from kgreason.data.table_profiles import Column
from tests.data.test_bods import holding, old, record, relation, shares
from tests.data.test_init import binds, run, runs
from tests.examples import inputs

OWN = [
    (f"c{i}", f"c{(i * 7 + j * 3) % 40 + i + 1}", round(0.05 + (i * 11 + j * 5) % 16 / 100, 2))
    for i in range(40)
    for j in range(3)
]
"""120 shares; those of each company sum to less than 1."""


RANKED = [(f"u{i}", f"u{(i * 3 + j) % 20}", j + 1) for i in range(20) for j in range(3)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, rows: Sequence[Sequence[object]], head: str = "", name: str = "t.csv") -> str:
    lines = [*([head] if head else []), *(",".join(map(str, row)) for row in rows)]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / name)


def guess(*tables: str) -> Start:
    return start(tables, Path(tables[0].partition("?")[0]).parent / "t.vada")


def told(made: Start) -> str:
    """All that is said on the terminal, which the file says as well."""
    texts = [text for table in made.guesses.values() for text in table]
    comments = " ".join(line.removeprefix("%% ") for line in made.text.splitlines()).lower()
    for text in texts:
        bare = text.removeprefix("not sure: ")
        assert bare.lower() in comments or "names vertices" in text or text.startswith("not used"), text
    return "\n".join(texts)


def bound(made: Start) -> list[str]:
    return [line for line in made.text.splitlines() if line.startswith(("@bind", "@qbind"))]


def derived(made: Start, predicate: str) -> list[str]:
    """Facts of a predicate, once the rule file passes its check without findings."""
    made.file.write_text(made.text, encoding="utf-8")
    runs(made.file)
    return facts(made.file.parent, predicate)


def facts(folder: Path, predicate: str) -> list[str]:
    text = (folder / "facts" / f"{predicate}.csv").read_text(encoding="utf-8")
    return sorted(line.replace('"', "") for line in text.splitlines()[1:])


@pytest.mark.parametrize(
    ("head", "columns", "sure"),
    [
        ("A,B", "A,B", False),
        ("a,b", "a,b", False),
        ("a,an", "a,an", False),
        ("von,nach", "von,nach", True),
        ("to,from", "from,to", True),
        ("company,owner", "owner,company", True),
        ("company,subsidiary", "company,subsidiary", True),
        ("subsidiary,company", "company,subsidiary", True),
    ],
)
def test_a_letter_says_nothing_of_direction(tmp_path: Path, head: str, columns: str, sure: bool) -> None:
    made = guess(
        written(tmp_path, [("Xa", "Ya"), ("Ya", "Za"), ("Za", "Ua"), ("Xa", "Za"), ("Xa", "Ua")], head)
    )
    assert f"columns={columns}" in bound(made)[0]
    back = ",".join(reversed(columns.split(",")))
    assert (f"not sure: nothing says which end is the source, so the first is; the other reading: kgreason init "
            f"'{tmp_path}/t.csv?columns={back}'" in told(made)) is not sure  # fmt: skip


@pytest.mark.parametrize("turned", [True, False])
def test_shares_that_sum_to_1_for_each_target_say_the_direction(tmp_path: Path, turned: bool) -> None:
    rows = [(f"T{i}", f"I{j}", 20 + j) for i in range(6) for j in range(4)]
    rows = rows if turned else [(b, a, w) for a, b, w in rows]
    made = guess(written(tmp_path, rows, "x,y,percent"))
    assert f"columns={'y,x' if turned else 'x,y'},percent" in bound(made)[0]
    assert "shares of each target sum to 1 at most" in told(made)
    assert "nothing says which end is the source" not in told(made)


@pytest.mark.parametrize("head", ["owner,company,share", "x,y,w"])
@pytest.mark.parametrize(
    ("value", "words"), [(60.0, "60.0"), (1.2, "1.2"), (-0.3, "-0.3"), (1e300, "1e+300")]
)
def test_a_slip_among_shares_is_named_and_changes_nothing_else(
    tmp_path: Path, head: str, value: float, words: str
) -> None:
    rows = [*OWN[:51], (*OWN[51][:2], value), *OWN[52:]]
    made = guess(written(tmp_path, rows, head))
    assert made.kind == "control"
    assert f'"csv useHeaders=true columns={head}"' in bound(made)[0]
    assert f"row 52: {words} (line 53)" in told(made)
    assert "\n@incoming_sum" not in made.text
    if value > 0:
        assert derived(made, "control")
    else:  # which no rule can add up
        made.file.write_text(made.text, encoding="utf-8")
        refused = run("reason", "--rules", made.file)
        assert (refused.exit_code, "contribution -0.3 to msum" in refused.stderr) == (2, True)
        assert "adds up no negative ones, and anonymizing refuses them" in told(made)
    clean = guess(written(tmp_path, OWN, head))
    assert "row " not in told(clean)
    assert "\n@incoming_sum" in clean.text


def test_a_slip_among_percentages_is_named(tmp_path: Path) -> None:
    rows = [(a, b, round(w * 100, 1)) for a, b, w in OWN]
    made = guess(written(tmp_path, [*rows[:51], (*rows[51][:2], 160.0), *rows[52:]], "owner,company,share"))
    assert "percent=true" in bound(made)[0]
    assert "row 52: 160.0 (line 53)" in told(made)


def test_a_slip_under_a_header_that_says_percent_shows_both_readings(tmp_path: Path) -> None:
    table = written(tmp_path, [*OWN[:51], (*OWN[51][:2], 60.0), *OWN[52:]], "owner,company,percent")
    made = guess(table)
    assert "percent=true" in bound(made)[0]
    other = f"kgreason init '{table}?percent=false'"
    assert f"1 of 120 numbers are above 1: percentages; the other reading: {other}" in told(made)
    assert "row 52: 60.0 (line 53)" in told(guess(f"{table}?percent=false"))


@pytest.mark.parametrize("marked", [2, 60])
def test_percent_signs_in_some_rows_change_no_others_without_a_word(tmp_path: Path, marked: int) -> None:
    rows = [(a, b, f"{w:.0%}" if i % (120 // marked) == 0 else w) for i, (a, b, w) in enumerate(OWN)]
    table = written(tmp_path, rows, "owner,company,share")
    made = guess(table)
    assert '"csv useHeaders=true columns=owner,company,share"' in bound(made)[0]
    assert f"the other reading: kgreason init '{table}?percent=true'" in told(made)
    assert "must be mended" not in told(made) + told(guess(f"{table}?percent=true"))
    assert ("\n@incoming_sum" in made.text, made.kind) == (True, "control")


def test_slips_of_typed_tables_have_no_line(tmp_path: Path) -> None:
    rows = [dict(zip(("owner", "company", "share"), row, strict=True)) for row in OWN]
    rows[51]["share"] = 1.2
    (tmp_path / "t.json").write_text(json.dumps(rows))
    assert "row 52: 1.2" in told(guess(str(tmp_path / "t.json")))


def test_many_slips_are_counted(tmp_path: Path) -> None:
    rows = [(f"a{i}", f"b{i}", 1.5 if i % 100 == 7 else 0.5) for i in range(1000)]
    text = told(guess(written(tmp_path, rows, "owner,company,share")))
    assert "10 of 1,000 weights are outside [0,1] and must be mended, first row 8: 1.5 (line 9)" in text


def test_percentages_with_many_small_holdings_are_percentages(tmp_path: Path) -> None:
    rows = [(f"h{i}_{j}", f"c{i}", [40.5, 0.4, 0.9, 0.7, 0.8, 0.6][j]) for i in range(20) for j in range(6)]
    made = guess(written(tmp_path, rows, "owner,company,share"))
    assert "percent=true" in bound(made)[0]


@pytest.mark.parametrize("option", ["percent=true", "percent=false", "scale=minmax"])
def test_what_the_user_says_of_weights_holds(tmp_path: Path, option: str) -> None:
    table = written(tmp_path, [("A", "B", 50), ("C", "D", 0.5)], "owner,company,share")
    assert (
        f"1 of 2 numbers are above 1 and may be slips; the other reading: kgreason init '{table}?percent=true'"
        in (told(guess(table)))
    )
    made = guess(f"{table}?{option}")
    assert option in bound(made)[0]
    assert ("row 1: 50 (line 2)" in told(made)) is (option == "percent=false")


def test_a_percentage_below_one_is_not_sure(tmp_path: Path) -> None:
    table = written(tmp_path, [("A", "B", 0.5), ("C", "D", 0.25)], "owner,company,percent")
    assert (
        f"numbers up to 1 may be percentages; the other reading: kgreason init '{table}?percent=true'"
        in told(guess(table))
    )


def test_signed_weights_show_the_other_scale(tmp_path: Path) -> None:
    rows = [("a", "b", -3), ("b", "c", 10), ("c", "a", 4)]
    made = guess(written(tmp_path, rows, "from,to,rating"))
    assert "scale=abs" in bound(made)[0]
    assert "without its sign; the other reading" in told(made)
    assert "?scale=minmax'" in told(made)


VERTICES = {
    "id,name": [(f"c{i}", f"Firm {chr(65 + i % 26)}") for i in range(60)],
    "": [(f"c{i}", f"Firm {chr(65 + i % 26)}") for i in range(60)],
    "name,town": [(f"c{i}", ("Bonn", "Rome", "Wien")[i % 3]) for i in range(60)],
    "company,owner_type": [(f"c{i}", ("person", "fund")[i % 2]) for i in range(60)],
    "company,country": [(f"c{i}", ("DE", "IT")[i % 2]) for i in range(60)],
    "x,y": [(f"c{i}", f"t{i % 7}") for i in range(60)],
}


@pytest.mark.parametrize("head", VERTICES)
@pytest.mark.parametrize("first", [True, False])
def test_a_table_of_vertices_beside_edges_is_none_of_edges(tmp_path: Path, head: str, first: bool) -> None:
    edges = written(tmp_path, OWN, "owner,company,share", "own.csv")
    vertices = written(tmp_path, VERTICES[head], head, "firms.csv")
    made = guess(*((vertices, edges) if first else (edges, vertices)))
    found = [line.split('"')[1] for line in bound(made)]
    assert sorted(found) == ["company", "own"]
    assert not any("is the source" in text for text in made.guesses[vertices])
    assert len(derived(made, "control")) >= 60  # each company controls itself: none is lost


def test_vertices_with_numbers_as_ids_and_ages_are_no_edges(tmp_path: Path) -> None:
    edges = written(tmp_path, [(i % 97, i * 7 % 101) for i in range(300)], "from,to", "mail.csv")
    ages = written(tmp_path, [(i, 20 + i % 60) for i in range(101)], "id,age", "people.csv")
    made = guess(edges, ages)
    assert [line.split('"')[1] for line in bound(made)] == ["edge", "vertex"]
    alone = start([ages])
    assert alone.kind == "people"
    assert (
        f"not sure: its lines may be edges; the other reading: kgreason init '{ages}?columns=id,age'"
        in (alone.guesses[ages])
    )


PEOPLE = [(f"Ann{chr(97 + i % 26)}{chr(97 + i // 26)}", "fm"[i * 7 % 5 % 2]) for i in range(40)]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (("yes", ""), None),
        (("yes", "no", ""), None),
        ((7, ""), None),
        (("yes",), "has the same value in each row"),
        (("",), "is empty"),
        (tuple(f"x{i}" for i in range(40)), "has another value in nearly each row"),
        ((*(f"x{i}" for i in range(20)), *[""] * 20), "has another value in nearly each row"),
    ],
)
@pytest.mark.parametrize("wide", [True, False])
def test_no_attribute_of_people_is_left_out_without_its_reason(
    here: Path, cells: tuple[object, ...], why: str | None, wide: bool
) -> None:
    rows = [(*p[: 1 + wide], cell) for p, cell in zip(PEOPLE, cycle(cells), strict=False)]
    table = written(here, rows, "name,sex,gone" if wide else "name,gone", "q.csv")
    said = f"column {2 + wide} (gone) {why}, so it is left out"
    if why and not wide:
        with pytest.raises(DataError, match="as one of people it has no attribute: ") as error:
            guess(table)
        assert said in str(error.value)
        assert f"if its lines are edges: kgreason init '{table}?columns=name,gone'" in str(error.value.hint)
        return
    done = run("init", table)
    schema = (here / "q.toml").read_text(encoding="utf-8")
    kinds = tomllib.loads(schema)["kinds"]
    assert kinds["ignore"] == (["gone"] if why else [])
    assert ("gone" in kinds["categorical"] + kinds["numeric"]) is (why is None)
    if why:
        assert said in done.stdout
        assert f"# C{said[1:]}." in schema
    assert run("people", "anonymize", "q.toml", "-k", 3, "-q").exit_code == 0
    released = (here / "release" / "attributes.csv").read_text(encoding="utf-8")
    assert (",gone," in released) is (why is None)


def test_a_rare_code_that_few_of_many_have_is_kept(tmp_path: Path) -> None:
    """Empty cells beyond the rows that are looked at are none of those that hold a value."""
    rows = [(f"P{chr(97 + i % 26)}{i}", "ab"[i % 2] if i < 20_000 else "") for i in range(45_000)]
    made = start([written(tmp_path, rows, "name,code") + "?columns=name"])
    assert 'categorical = ["code"]' in made.text


@pytest.mark.parametrize(
    ("head", "sure"), [("", False), ("% asym unweighted\n", True), ("% sym unweighted\n", True)]
)
def test_an_edge_list_alone_says_nothing_of_direction(tmp_path: Path, head: str, sure: bool) -> None:
    table = tmp_path / "t.edges"
    table.write_text(f"{head}1 2\n2 3\n3 4\n1 4\n", encoding="utf-8")
    said = f"not sure: nothing says which end is the source, so the first is; the other reading: kgreason init '{table}"
    made = told(guess(str(table)))
    assert (f"{said}?columns=2,1'" in made) is not sure
    assert ("an edge list has its ends first" in made) is not sure


def test_a_list_of_departments_beside_mail_names_vertices(here: Path, real_data: Path) -> None:
    mail, labels = (real_data / "social" / f"email-Eu-core{name}.txt" for name in ("", "-department-labels"))
    assert run("init", mail, labels, "--out", "t.vada").exit_code == 0
    assert [line.split('"')[1] for line in binds(here / "t.vada")] == ["edge", "vertex"]
    assert "each source is in one line" in run("init", labels, "--out", "u.vada").stdout


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([(1, "Ann"), (2, "Bob"), (3, "Cid")], "false"),
        ([("id", "name"), ("ann", "Ann Lee"), ("bob", "Bob Ray"), ("cid", "Cid Day")], "true"),
        ([("donor", "party"), ("ann", "reds"), ("bob", "blues"), ("cid", "reds")], "true"),
        ([("foo", "bar"), ("Ann", "Acme"), ("Bob", "Globex"), ("Cid", "Acme")], "true"),
    ],
)
def test_no_person_is_lost_to_the_header(tmp_path: Path, rows: list[tuple[object, ...]], header: str) -> None:
    from kgreason.data.table_profiles import tables

    (found,) = tables(written(tmp_path, rows))
    assert found.options["useHeaders"] == header
    assert len(found.raw) == len(rows) - (header == "true")


def test_a_first_line_that_may_be_either_is_asked_for(tmp_path: Path) -> None:
    table = written(
        tmp_path, [("Alice", "Acme"), ("Bob", "Globex"), ("Carol", "Initech"), ("Bob", "Umbrella")]
    )
    with pytest.raises(
        DataError, match=r"the first line \(Alice, Acme\) may hold the names of the columns"
    ) as error:
        guess(table)
    for said in ("true", "false"):
        assert f"kgreason init '{table}?useHeaders={said}'" in str(error.value.hint)
    made = guess(f"{table}?useHeaders=false")
    assert "useHeaders=false" in bound(made)[0]
    assert derived(made, "two_out")


def test_ranks_are_neither_ends_nor_weights(tmp_path: Path) -> None:
    top = [(f"S{i}", j + 1, f"H{(i * 3 + j * j) % 50}", 15.5 - j) for i in range(20) for j in range(10)]
    made = guess(written(tmp_path, top, "symbol,rank,shareholder_name,percent_share"))
    assert "columns=shareholder_name,symbol,percent_share" in bound(made)[0]
    assert "2 (rank) (" in made.text.split("Not read:")[1]
    for ranked in (RANKED, [(a, b, float(n)) for a, b, n in RANKED]):
        assert 'columns=from,to"' in bound(guess(written(tmp_path, ranked, "from,to,rank")))[0]
    with pytest.raises(DataError):
        guess(written(tmp_path, [(i + 1, f"Town{i % 9}") for i in range(40)], "rank,town"))


TRIPLES = [
    ("ann", "knows", "bob"),
    ("bob", "knows", "cid"),
    ("ann", "likes", "cid"),
    ("cid", "likes", "ann"),
    ("bob", "likes", "ann"),
    ("dan", "knows", "ann"),
]


@pytest.mark.parametrize("head", ["", "subject,predicate,object", "from,to,type", "s,p,o?useHeaders=true"])
def test_triples_keep_the_relation(tmp_path: Path, head: str) -> None:
    rows = [(a, c, b) for a, b, c in TRIPLES] if head.startswith("from") else TRIPLES
    head, mark, option = head.partition("?")
    made = guess(written(tmp_path, rows, head) + mark + option)
    assert [line.split('"')[1] for line in bound(made)] == ["knows", "likes"]
    assert '@edge("knows").\n@edge("likes").' in made.text
    assert "ann,cid" in derived(made, "reach")
    made.file.write_text(made.text + '@output("knows").\n@output("likes").\n', encoding="utf-8")
    runs(made.file)
    for kind in ("knows", "likes"):
        assert facts(tmp_path, kind) == sorted(f"{a},{b}" for a, r, b in TRIPLES if r == kind)


@pytest.mark.parametrize("head", ["", "subject,predicate,object"])
def test_the_only_relation_of_triples_is_called_so(tmp_path: Path, head: str) -> None:
    knows = [("ann", "knows", "bob"), ("bob", "knows", "cid"), ("cid", "knows", "ann")]
    made = guess(written(tmp_path, knows, head))
    assert '@edge("knows").' in made.text
    assert "column 2" in told(made)
    assert "holds the relation of all edges (knows)" in told(made)
    assert "ann,cid" in derived(made, "reach")


@pytest.mark.parametrize("kinds", [[1], [""]])
def test_what_is_no_kind_of_edges_splits_none(tmp_path: Path, kinds: list[object]) -> None:
    rows = [(f"p{i % 30}", f"p{i * 7 % 30}", kinds[i % len(kinds)]) for i in range(90)]
    made = guess(written(tmp_path, rows, "Source,Target,Type"))
    assert [line.split('"')[1] for line in bound(made)] == ["edge"]


def test_rows_without_a_kind_are_counted(tmp_path: Path) -> None:
    kinds = cycle(("mail", "call", ""))
    rows = [(f"p{i % 30}", f"p{i * 7 % 30}", next(kinds)) for i in range(90)]
    made = guess(written(tmp_path, rows, "from,to,type"))
    assert "each is a relation of its own; 30 rows without one are left out" in told(made)
    rows = [(*row[:2], row[2].replace("call", "")) for row in rows]
    assert [line.split('"')[1] for line in bound(guess(written(tmp_path, rows, "from,to,type")))] == ["edge"]


@pytest.mark.slow
def test_triples_are_released_by_relation(here: Path) -> None:
    table = written(here, TRIPLES, "head,relation,tail")
    assert run("init", table, "--out", "t.vada").exit_code == 0
    done = run("anonymize", "--rules", "t.vada", "-k", 2, "-x", 2, "--trials", 1)
    assert done.exit_code == 0, done.output
    assert {"knows.csv", "likes.csv"} <= {p.name for p in (here / "release").iterdir()}


def test_kinds_of_edges_with_weights_and_numbers_as_ids(tmp_path: Path) -> None:
    rows = [(i % 17, i * 7 % 19, ("mail", "call")[i % 2], i % 10 / 10) for i in range(60)]
    made = guess(written(tmp_path, rows, "source,target,type,weight"))
    assert [line.split('"')[1] for line in bound(made)] == ["mail", "call"]
    made.file.write_text(made.text + '@output("call").\n', encoding="utf-8")
    runs(made.file)
    found = {tuple(map(float, row.split(","))) for row in facts(tmp_path, "call")}
    assert found == {(float(a), float(b), w) for a, b, kind, w in rows if kind == "call"}


def test_codes_of_relations_are_no_weights(tmp_path: Path) -> None:
    rows = [(i % 211, i * 7 % 223, i % 25) for i in range(900)]
    table = tmp_path / "t.edges"
    table.write_text(f"{len(rows)}\n" + "".join(f"{a} {b} {c}\n" for a, b, c in rows))
    made = guess(str(table))
    assert {line.split('"')[1] for line in bound(made)} == {f"relation_{c}" for *_, c in rows}
    assert f"may hold no kinds of edges; the other reading: kgreason init '{table}?columns=1,2,3'" in told(
        made
    )
    assert f"its first line ({len(rows)}) is a count" in told(made)
    assert derived(made, "reach")
    made = guess(f"{table}?columns=1,2,3")
    assert "scale=abs" in bound(made)[0]
    made = guess(f"{table}?columns=1,2")
    assert len(bound(made)) == 1


def test_the_type_of_a_share_splits_no_shares_unless_it_is_said(tmp_path: Path) -> None:
    rows = [(*row, kind) for row, kind in zip(OWN, cycle(("person", "fund")), strict=False)]
    table = written(tmp_path, rows, "owner,company,share,type")
    made = guess(table)
    assert (made.kind, len(bound(made))) == ("control", 1)
    assert f"each a relation; the other reading: kgreason init '{table}?relation=type'" in told(made)
    split = guess(f"{table}?relation=type")
    assert sorted(line.split('"')[1] for line in bound(split)) == ["fund", "person"]
    assert "two_out(X) :- link(X, Y)" in split.text
    with pytest.raises(DataError, match="there is no column 'kind'"):
        guess(f"{table}?relation=kind")


def test_too_many_kinds_are_told_to_be_lost(tmp_path: Path) -> None:
    rows = [(f"v{i % 50}", f"v{i * 7 % 53}", f"r{i % 300}") for i in range(900)]
    made = guess(written(tmp_path, rows, "source,target,relation"))
    assert "300 kinds of edges, which are lost: they are more than 256" in told(made)
    assert len(bound(made)) == 1


def test_two_files_are_two_relations(tmp_path: Path) -> None:
    knows = written(tmp_path, [("ann", "bob"), ("bob", "cid")], "from,to", "knows.csv")
    likes = written(tmp_path, [("ann", "cid"), ("cid", "bob")], "from,to", "likes.csv")
    made = guess(knows, likes)
    assert [line.split('"')[1] for line in bound(made)] == ["knows", "likes"]
    assert "the tables are relations of their own: knows is knows.csv; likes is likes.csv" in told(made)
    assert derived(made, "reach") == ["ann,bob", "ann,cid", "bob,cid", "cid,bob"]


def test_parts_of_a_relation_are_one(tmp_path: Path) -> None:
    parts = [
        written(tmp_path, rows, "from,to", f"mail_{i}.csv")
        for i, rows in enumerate(([("a", "b")], [("b", "c")]))
    ]
    assert [line.split('"')[1] for line in bound(guess(*parts))] == ["edge", "edge"]
    shares = [
        written(tmp_path, OWN[i::2], "owner,company,share", f"{n}.csv")
        for i, n in enumerate(("funds", "firms"))
    ]
    unique = {tuple(row[:2]) for row in OWN}
    assert len(unique) > 100
    assert [line.split('"')[1] for line in bound(guess(*shares))] == ["own", "own"]


def test_edges_of_another_kind_keep_the_rules_of_control(tmp_path: Path) -> None:
    own = written(tmp_path, OWN, "owner,company,share", "register.csv")
    board = written(tmp_path, [("Ann", "c3"), ("Ann", "c4"), ("Bob", "c4")], "director,company", "own.csv")
    made = guess(own, board)
    assert made.kind == "control"
    assert [line.split('"')[1] for line in bound(made)] == ["own", "own_edge"]
    assert derived(made, "control")


def test_counts_of_shares_are_no_times(tmp_path: Path) -> None:
    rows = [(a, b, 1_000_003 * (i + 1), round(w * 100, 2)) for i, (a, b, w) in enumerate(OWN)]
    made = guess(written(tmp_path, rows, "owner,company,shares,percent"))
    assert "columns=owner,company,percent" in bound(made)[0]
    assert "Not read: 3 (shares) (120 different values)." in made.text.replace("\n%% ", " ")
    made = guess(written(tmp_path, [row[:3] for row in rows], "owner,company,shares"))
    assert "(a time)" not in made.text
    assert "its numbers are counts, not parts of 1" in told(made)
    assert made.kind != "control"


def test_large_numbers_without_a_name_are_no_weights(tmp_path: Path) -> None:
    rows = [(f"u{i % 9}", f"u{i * 5 % 11}", 900_001 * (i * 7 % 60)) for i in range(60)]
    text = guess(written(tmp_path, rows)).text
    assert "Not read: 3 (column3) (large numbers)." in text
    assert Column("x", 1, pa.array(["2020-01-01", "1999-##-##", "####-##-##"])).other == "a time"


@pytest.mark.parametrize(
    ("head", "rows", "columns", "kind"),
    [
        ("symbol,shareholder_name,percent_share",
         [(f"S{i}", f"H{(i * 3 + j * j) % 50}", 15.5 - j) for i in range(20) for j in range(10)],
         "columns=shareholder_name,symbol,percent_share", "control"),
        ("controller,controlled,share", [(f"P{i}", f"Q{i}", (i + 1) / 10) for i in range(6)],
         "columns=controller,controlled,share", "control"),
        ("donor,party", [(f"D{i * 7 % 30}", "RGB"[i % 3]) for i in range(60)], "columns=donor,party", None),
        ("donor,party", [(f"D{i}", "RGB"[i % 3]) for i in range(60)], "columns=donor,party", None),
        ("donor,party,amount", [(f"D{i}", "RGB"[i % 3], 100 + i) for i in range(60)],
         "columns=donor,party,amount", None),
        ("x,y,share", [(f"P{i}", f"Q{i}", (i + 1) / 10) for i in range(6)], "columns=x,y,share", "control"),
        ("ticker,investor,stake %", [(f"T{i}", f"I{j}", 9.5 + j) for i in range(4) for j in range(4)],
         "columns='investor,ticker,stake %'", "control"),
    ],
)  # fmt: skip
def test_obvious_tables_are_accepted(
    tmp_path: Path, head: str, rows: list[tuple[object, ...]], columns: str, kind: str | None
) -> None:
    made = guess(written(tmp_path, rows, head))
    assert columns in bound(made)[0]
    if kind is not None:
        assert made.kind == kind
        derived(made, "control")


@pytest.mark.parametrize(
    ("head", "rows", "taken", "message", "other"),
    [
        ("owner,company,direct_share,total_share", [(*row, row[2] + 0.1) for row in OWN], "owner,company,direct_share",
         "column 4 (total_share) is as likely the weight", "owner,company,total_share"),
        ("id,manager,mentor", [(f"e{i}", f"e{i // 2}", f"e{i * 3 % 20}") for i in range(20)], "id,manager",
         "columns 1 (id) and 3 (mentor) are as likely the ends", "id,mentor"),
    ],
)  # fmt: skip
def test_of_two_readings_as_likely_as_each_other_the_second_is_shown(
    tmp_path: Path, head: str, rows: list[tuple[object, ...]], taken: str, message: str, other: str
) -> None:
    table = written(tmp_path, rows, head)
    made = guess(table)
    assert f"columns={taken}" in bound(made)[0]
    assert f"not sure: {message}; the other reading: kgreason init '{table}?columns={other}'" in told(made)


def test_who_names_one_column_has_a_table_of_vertices(tmp_path: Path) -> None:
    edges = written(tmp_path, [("a1", "b1"), ("a2", "b1"), ("a1", "a2")], "from,to", "e.csv")
    both = written(tmp_path, [("a1", "b1"), ("a2", "b1")], "x,y", "v.csv")
    made = guess(edges, f"{both}?columns=x")
    assert '"vertex", "csv useHeaders=true columns=x"' in bound(made)[1]


STATEMENTS = {
    "0.2": [
        *(old(f"E{i}", "entity", name=f"Firm {i}") for i in range(4)),
        old("P1", "person", names=[{"fullName": "Ann"}]),
        holding("r1", "P1", "E1", shares(60, interestLevel="direct")),
        holding("r2", "E1", "E2", shares(51), {"type": "nominee"}),
        holding("r3", "E2", "E3", shares(30), {"type": "voting-rights", "share": {"exact": 51}}),
        holding("r4", "E1", "E3", shares(40)),
    ],
    "0.4": [
        *(record(f"E{i}", "entity", name=f"Firm {i}") for i in range(4)),
        record("P1", "person", names=[{"fullName": "Ann"}]),
        relation("r1", "P1", "E1", shares(60)),
        relation("r2", "E1", "E2", shares(51), {"type": "nominee"}),
        relation("r3", "E2", "E3", shares(30), {"type": "votingRights", "share": {"exact": 51}}),
        relation("r4", "E1", "E3", shares(40)),
    ],
}
STATEMENTS["0.3"] = [
    {**s, "publicationDetails": {"publicationDate": "2022-01-01", "bodsVersion": "0.3"}}
    for s in STATEMENTS["0.2"]
]


@pytest.mark.parametrize("version", STATEMENTS)
def test_statements_of_bods_get_rules_of_control(here: Path, version: str) -> None:
    (here / "own.json").write_text(json.dumps(STATEMENTS[version], indent=1))
    refused, convert = run("init", "own.json"), run("convert", "own.json", "own.csv")
    assert refused.exit_code == 2
    assert refused.stderr == convert.stderr
    assert "these are statements of BODS, not rows" in refused.stderr
    assert "say format=bods" in refused.stderr
    made = guess(f"{here / 'own.json'}?format=bods")
    assert made.kind == "control"
    assert '@bind("own", "bods", "", "own.json").' in bound(made)
    assert "left out interests of another type (nominee; interest=any takes all): 1" in told(made)
    assert "\n@incoming_sum" in made.text
    assert {"P1,E1", "P1,E2", "P1,E3", "E1,E3"} <= set(derived(made, "control"))


def test_statements_without_shares_say_what_is_left_out(tmp_path: Path) -> None:
    table = tmp_path / "own.bods.json"
    table.write_text(json.dumps([holding("r", "E1", "E2", {"type": "nominee"})]))
    with pytest.raises(
        DataError, match=r"left out interests of another type \(nominee; interest=any"
    ) as error:
        guess(str(table))
    assert f"'{table}?interest=any'" in str(error.value.hint)
    assert len(bound(guess(f"{table}?interest=any"))) == 1
    table.write_text(json.dumps([old("E1", "entity", name="A")]))
    with pytest.raises(DataError, match="it has no rows") as error:
        guess(str(table))
    assert "name the file of relationships" in str(error.value.hint)
    table.write_text(
        json.dumps([holding("r", "E1", "E2", {"type": "shareholding", "share": {"minimum": 25}})])
    )
    with pytest.raises(DataError, match="the share is a range"):
        guess(str(table))
    assert made_weight(f"{table}?share=minimum") == 0.25


def made_weight(table: str) -> float:
    made = guess(table)
    return float(told(made).partition("its values go from ")[2].split()[0])


def test_statements_of_gleif_run(here: Path, real_data: Path) -> None:
    folder = real_data / "ownership" / "gleif_sample"
    for name in ("rr-updates-data2-out.json", "lei-updates-data2-out.json"):
        done = run("init", folder / name, "--out", "t.vada")
        assert (done.exit_code, "say format=bods" in done.stderr) == (2, True)
    relations = folder / "rr-updates-data2-out.json"
    assert "interest=any takes all): 11" in run("init", f"{relations}?format=bods", "--out", "t.vada").stderr
    assert run("init", f"{relations}?format=bods&interest=any", "--out", "t.vada").exit_code == 0
    runs(here / "t.vada")
    assert run("init", folder / "rr-updates-data2.xml", "--out", "u.vada").exit_code == 0
    assert "type=any takes all" in (here / "u.vada").read_text()


def test_nested_columns_are_not_read(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"owner": "A", "company": "B", "share": 0.5, "meta": {"a": [1, {"b": 2}]}, "tags": [1]},
        {"owner": "B", "company": "C", "share": 0.3, "meta": {"a": [1, 2]}, "tags": []},
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    made = guess(str(tmp_path / "t.json"))
    assert "Not read: 4 (meta.a) (lists, objects or bytes), 5 (tags) (lists, objects or bytes)." in made.text
    assert derived(made, "control")
    with pytest.raises(DataError, match="the column holds lists, objects or bytes"):
        guess(f"{tmp_path / 't.json'}?columns=owner,tags")


def test_relations_of_objects_within_objects(tmp_path: Path) -> None:
    kinds = ("IS_DIRECTLY_CONSOLIDATED_BY", "IS_ULTIMATELY_CONSOLIDATED_BY")
    rows = [
        {"Relationship": {"StartNode": {"NodeID": f"L{i}"}, "EndNode": {"NodeID": f"L{i // 2}"},
                          "RelationshipType": kinds[i % 2], "Periods": [{"StartDate": "2018"}]}}
        for i in range(1, 12)
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(rows))
    made = guess(str(tmp_path / "t.json"))
    assert sorted(line.split('"')[1] for line in bound(made)) == [kind.lower() for kind in kinds]
    assert "L8,L1" in derived(made, "reach")


@pytest.mark.parametrize("cells", [["9" * 400, "1"], ["1e999", "2"], ["1,5" + "0" * 400, "2"]])
def test_numbers_beyond_doubles_are_no_numbers(cells: list[str]) -> None:
    found = Column("x", 1, pa.array(cells))
    assert found.high < 1e300


KEYS = "owner company share id name a.b type percent rank A é statementType".split()  # noqa: SIM905
KEYS += ['\n"k', ""]
TEXTS = ["a", "b", "c 1", "8%", "1,5", "", "x\ny", '"', "\\", "9" * 400]
CELLS: Any = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 99), st.floats(allow_nan=False), st.sampled_from(TEXTS)
)
VALUES: Any = st.recursive(
    CELLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=inputs(60), deadline=None)
@given(
    document=st.one_of(VALUES, st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1), max_size=8)),
    option=st.sampled_from(["", "columns=owner,company", "columns=1,2,3", "columns=1", "format=bods", "relation=type"]),
)  # fmt: skip
def test_any_json_is_guessed_or_refused(
    tmp_path_factory: pytest.TempPathFactory, document: Any, option: str
) -> None:
    from kgreason.language.syntax.parser import read

    folder = tmp_path_factory.mktemp("any")
    (folder / "t.json").write_text(json.dumps(document), encoding="utf-8")
    try:
        made = start([f"{folder / 't.json'}?{option}"], folder / "t.vada")
    except KgreasonError:
        return
    assert read(made.text, "t.vada")[1] == ()


def test_votes_and_capital_of_the_same_pairs_are_not_summed(tmp_path: Path) -> None:
    capital = written(tmp_path, OWN, "owner,company,share", "capital.csv")
    votes = written(tmp_path, OWN, "owner,company,share", "votes.csv")
    made = guess(capital, votes)
    assert [line.split('"')[1] for line in bound(made)] == ["own", "votes"]
    assert derived(made, "control")


def test_a_table_that_may_be_of_edges_or_vertices_is_asked_about(tmp_path: Path) -> None:
    table = written(tmp_path, [(f"a{i}", f"b{i % 7}") for i in range(30)], "x,y")
    with pytest.raises(
        DataError, match="a line may be an edge from x to y, or a vertex x with what"
    ) as error:
        guess(table)
    assert f"kgreason init '{table}?columns=x,y'" in str(error.value.hint)
    assert "columns=x,y" in bound(guess(f"{table}?columns=x,y"))[0]
