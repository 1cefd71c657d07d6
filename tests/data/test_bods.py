"""Ownership statements (BODS), their stream of JSON, and relationships of GLEIF."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_writing import write_output
from kgreason.data.formats import json_rows
from kgreason.data.formats.json_rows import JsonFile
from kgreason.data.formats.vertex_names import _told_apart
from kgreason.data.sources import SourceSpec, parse_file
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Value
from tests.examples import inputs

PAIR = load_text("q(X) :- p(X, Y).")
TRIPLE = load_text("q(X) :- p(X, Y, Z).")
ONE = load_text("q(X) :- p(X).")


class Told:
    """Collects notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...

    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.notes.append(message)


def rows(
    file: Path, program: Any = TRIPLE, told: Told | None = None, **options: str
) -> set[tuple[Value, ...]]:
    return set(load_facts(program, {"p": [SourceSpec(file, None, options)]}, told or Told()).rows("p"))


def old(id: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"statementID": id, "statementType": f"{kind}Statement", "statementDate": "2020-01-01", **more}


def holding(id: str, owner: str, company: str, *held: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    party = "Person" if owner.startswith("P") else "Entity"
    ends = {
        "subject": {"describedByEntityStatement": company},
        "interestedParty": {f"describedBy{party}Statement": owner},
    }
    return old(id, "ownershipOrControl", **ends, interests=list(held), **more)


def shares(exact: float, **more: Any) -> dict[str, Any]:
    return {"type": "shareholding", "share": {"exact": exact}, **more}


def record(
    id: str, kind: str, date: str = "2024-01-01", status: str = "new", **details: Any
) -> dict[str, Any]:
    return {
        "statementId": f"{id} {date} {status}",
        "statementDate": date,
        "declarationSubject": id,
        "recordId": id,
        "recordType": kind,
        "recordStatus": status,
        "recordDetails": {"isComponent": False, **details},
    }


def relation(id: str, owner: Any, company: str, *held: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return record(id, "relationship", subject=company, interestedParty=owner, interests=list(held), **more)


def written(folder: Path, statements: Iterable[Any], name: str = "own.bods.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(list(statements), indent=1), encoding="utf-8")
    return path


def test_statements_up_to_0_3_are_edges_from_owner_to_company(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        [
            old("E1", "entity", name="Adler"),
            old("P1", "person", names=[{"fullName": "Ann"}]),
            holding("r1", "P1", "E1", shares(8.15, interestLevel="direct")),
            holding("r2", "E1", "E2", shares(60), {"type": "voting-rights", "share": {"exact": 51}}),
        ],
    )
    assert rows(file) == {("P1", "E1", 0.0815), ("E1", "E2", 0.6)}
    assert rows(file, interest="votingRights") == {("E1", "E2", 0.51)}
    assert rows(file, PAIR, interest="any") == {("P1", "E1"), ("E1", "E2")}
    assert rows(file, PAIR, table="vertices") == {("P1", "Ann"), ("E1", "Adler"), ("E2", "E2")}
    assert rows(file, ONE) == {("P1",), ("E1",), ("E2",)}


def test_vertices_called_by_their_names(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        [
            old("E1", "entity", name="Adler"),
            old("E2", "entity", name="Adler"),
            old("P1", "person", names=[{"fullName": "Ann"}]),
            holding("r1", "P1", "E1", shares(8)),
            holding("r2", "P1", "E2", shares(9)),
            holding("r3", "E9", "E2", shares(10)),
        ],
    )
    assert rows(file, label="name") == {
        ("Ann", "Adler (E1)", 0.08),
        ("Ann", "Adler (E2)", 0.09),
        ("E9", "Adler (E2)", 0.1),
    }
    assert rows(file, ONE, label="name") == {("Ann",), ("Adler (E1)",), ("Adler (E2)",), ("E9",)}
    assert rows(file, label="id") == rows(file)
    with pytest.raises(
        DataError, match="option label cannot be 'nmae'\n  help: label=name calls vertices by"
    ):
        rows(file, label="nmae")


def test_names_that_look_the_same_or_are_blank_keep_their_vertices_apart(tmp_path: Path) -> None:
    called = {"E1": "Adler", "E2": "Ａｄｌｅｒ", "E3": " Adler", "E4": " ", "E5": "Bär  AG"}
    parties = [old(id, "entity", name=name) for id, name in called.items()]
    file = written(tmp_path, [*parties, *(holding(f"r{id}", "P", id, shares(9)) for id in called)])
    assert {b for _, b, _ in rows(file, label="name")} == {"Adler", "Ａｄｌｅｒ", " Adler", "E4", "Bär  AG"}
    assert {b for _, b, _ in rows(file, label="name", names="normalize")} == {
        *("Adler (E1)", "Adler (E2)", "Adler (E3)", "E4", "Bär AG"),
    }


def test_names_of_which_one_looks_like_another_with_its_id() -> None:
    names = _told_apart(["1", "2", "3", "4"], ["A", "A", "A (1)", "B"])
    assert len(set(names)) == 4
    assert names[1] == "A (2)"
    assert names[3] == "B"


def test_replaced_statements_do_not_count_and_vertices_follow(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        [
            old("E1", "entity", name="Old"),
            holding("r1", "E1", "E2", shares(10)),
            old("E9", "entity", name="New", replacesStatements=["E1"]),
            holding("r2", "E1", "E2", shares(20), replacesStatements=["r1"]),
        ],
    )
    assert rows(file) == {("E9", "E2", 0.2)}
    assert rows(file, PAIR, table="vertices") == {("E9", "New"), ("E2", "E2")}


def test_the_last_statement_of_a_record_counts_and_a_closed_one_ends_it(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        [
            relation("r1", "a", "b", shares(30), date="2024-03-01", status="updated"),
            relation("r1", "a", "b", shares(10), date="2024-01-01"),
            relation("r2", "a", "c", shares(10), date="2024-01-01"),
            relation("r2", "a", "c", shares(10), date="2024-02-01", status="closed"),
            relation("r3", {"reason": "unknown"}, "c", shares(5)),
            relation("r4", "c", "b", shares(5, directOrIndirect="indirect"), shares(4, endDate="2020-01-01")),
        ],
    )
    told = Told()
    assert rows(file, told=told) == {("a", "b", 0.3)}
    assert rows(file, level="any") == {("a", "b", 0.3), ("c", "b", 0.05)}
    assert rows(file, level="indirect") == {("c", "b", 0.05)}
    left = " ".join(told.notes)
    assert "left out relationships in which a party is not named: 1" in left
    assert "left out indirect interests (level=any takes them): 1" in left
    assert "left out interests that have ended: 1" in left
    assert "left out interests of statements that later ones replace or that end their record: 3" in left


def test_a_range_of_shares_is_an_error_until_a_number_of_it_is_chosen(tmp_path: Path) -> None:
    wide = {"type": "shareholding", "share": {"minimum": 25, "maximum": 50, "exclusiveMinimum": False}}
    open_ended = {"type": "shareholding", "share": {"exclusiveMinimum": 75}}
    file = written(tmp_path, [relation("r1", "a", "b", wide), relation("r2", "a", "c", open_ended)])
    with pytest.raises(
        DataError, match=r"own.bods.json:2: the share is a range, not a number \(2 such interests\)"
    ):
        rows(file)
    assert rows(file, share="minimum") == {("a", "b", 0.25), ("a", "c", 0.75)}
    assert rows(file, share="maximum") == {("a", "b", 0.5), ("a", "c", 1.0)}
    assert rows(file, share="middle") == {("a", "b", 0.375), ("a", "c", 0.875)}
    file = written(tmp_path, [relation("r1", "a", "b", wide), relation("r2", "a", "c", shares(1))])
    assert rows(file, share="exact", missing="skip") == {("a", "c", 0.01)}


HELD_BY_NONE = {"subject": "a", "interestedParty": "b", "interests": {"type": "x"}}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1], "1: this is no statement of BODS but another value of JSON"),
        ([{"a": 1}], "1: this is no statement of BODS: it has neither a statementType nor a recordType"),
        ([old("x", "relation")], "1: unknown type of statement 'relationStatement'"),
        ([{"recordType": "entity", "recordId": "a"}], "1: the statement has no recordDetails"),
        ([{"recordType": "entity"}], "1: the statement has no recordId"),
        (
            [relation("r", "a", "b", shares(1)), relation("s", "a", "b", shares(101))],
            "2: a share of 101 is no percentage",
        ),
        ([relation("r", "a", "b", shares("7"))], "1: the exact share '7' is no number"),
        ([relation("r", "a", "b", shares(float("1e400")))], "1: no JSON: invalid char in json text"),
        ([relation("r", "a", "b", {"share": [7]})], "1: the share [7] is no object"),
        ([relation("r", "a", "b", "shareholding")], "1: the interest 'shareholding' is no object"),
        (
            [relation("r", "a", "b", {"directOrIndirect": "near"})],
            "1: the level of an interest cannot be 'near'",
        ),
        (
            [relation("r", "a", "b", {"directOrIndirect": ["direct"]})],
            "1: the level of an interest cannot be",
        ),
        (
            [{**relation("r", "a", "b"), "recordDetails": HELD_BY_NONE}],
            "1: interests is no list but {'type': 'x'}",
        ),
        ([record("r", "relationship", subject=["a"], interests=[])], "1: a party cannot be ['a']"),
        ([record("r", "person", names="Ann")], "1: names is no list but 'Ann'"),
        ([record("r", "person", date="tomorrow")], "1: the statementDate 'tomorrow' is no ISO date"),
        ([record("r", "person", date="1" * 500)], f"1: the statementDate '{'1' * 56}... is no ISO date"),
        ([old("s", "entity", replacesStatements="t")], "1: replacesStatements is no list but 't'"),
        (
            [old("s", "entity", replacesStatements=[["t"]])],
            "1: replacesStatements holds ['t'], which is no id",
        ),
        ([old("s", "entity", statementDate=20200101)], "1: the statementDate 20200101 is no ISO date"),
        ([old(["s"], "entity")], "1: the statement has no statementID"),
    ],
)
def test_what_is_no_statement_is_named_with_its_line(tmp_path: Path, wrong: list[Any], message: str) -> None:
    file = tmp_path / "own.bods.json"
    file.write_text("[" + ",\n".join(map(json.dumps, wrong)) + "]", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        rows(file)
    said, _, hint = str(caught.value).partition("\n  help: ")
    assert f"own.bods.json:{message}" in said
    assert hint


names = st.text(min_size=1, max_size=6).filter(lambda t: not set(t) & set(map(chr, range(0xD800, 0xE000))))
facts = st.sets(st.tuples(names, names, st.floats(0, 1)), min_size=1, max_size=8)


@settings(max_examples=inputs(30), deadline=None)
@given(facts, st.sampled_from(["own.bods.json", "own.bods.jsonl"]))
def test_what_is_written_is_read_back_to_the_last_digit(
    tmp_path_factory: pytest.TempPathFactory, given: set[tuple[str, str, float]], name: str
) -> None:
    path = tmp_path_factory.mktemp("bods") / name
    write_output(Facts.from_rows({"p": sorted(given)}), "p", Target.parse(str(path)))
    assert rows(path) == given


SHORT = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=inputs(40), deadline=None)
@given(st.lists(SHORT, max_size=6), st.booleans(), st.integers(1, 12), st.sampled_from([None, 1]))
def test_a_stream_of_json_is_what_the_whole_is(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[Any], array: bool, block: int, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    text = json.dumps(wanted, indent=indent) if array else "\n".join(json.dumps(v) for v in wanted)
    path.write_text(text, encoding="utf-8")
    size, json_rows._BLOCK = json_rows._BLOCK, block
    place = "item" if array else ""
    try:
        file = JsonFile(path)
        assert list(file.values(place)) == wanted
        lines = [file.line(place, number) for number in range(len(wanted))]
    finally:
        json_rows._BLOCK = size
    assert lines == sorted(lines)
    texts = text.splitlines()
    for value, line in zip(wanted, lines, strict=True) if not array else ():
        assert json.loads(texts[line - 1]) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n {"a": ', "2: no JSON: the file ends within a value"),
        ('[{"a": 1}\n', "2: no JSON: the file ends within a value"),
        ("[1] 2", "1: no JSON: trailing garbage"),
        ("[1\n 2]", "2: no JSON: after array element, I expect ',' or ']'"),
        ("[\n1,\n]", "3: no JSON: unallowed token at this point in JSON text"),
        ("[1,\n1e99999999999999999999]", "2: no JSON: a number has an exponent that is too large"),
        ("[1,\nNaN]", "2: no JSON: invalid char in json text"),
    ],
)
def test_broken_json_is_an_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(JsonFile(path).values("item"))
    assert str(caught.value).startswith(f"{path}:{message}\n  help: is the file whole")


def gleif(records: str, root: str = "RelationshipData", before: str = "") -> str:
    return f'<?xml version="1.0"?>{before}<rr:{root} xmlns:rr="http://www.gleif.org/rr">{records}</rr:{root}>'


def relationship(
    child: str, parent: str, type: str, status: str = "ACTIVE", registered: str = "PUBLISHED"
) -> str:
    return f"""<rr:RelationshipRecord><rr:Relationship>
      <rr:StartNode><rr:NodeID>{child}</rr:NodeID></rr:StartNode><rr:EndNode><rr:NodeID>{parent}</rr:NodeID></rr:EndNode>
      <rr:RelationshipType>{type}</rr:RelationshipType><rr:RelationshipStatus>{status}</rr:RelationshipStatus>
      </rr:Relationship><rr:Registration><rr:RegistrationStatus>{registered}</rr:RegistrationStatus></rr:Registration>
    </rr:RelationshipRecord>
    """


DIRECT, ULTIMATE = "IS_DIRECTLY_CONSOLIDATED_BY", "IS_ULTIMATELY_CONSOLIDATED_BY"


def test_relationships_of_gleif_run_from_parent_to_child(tmp_path: Path) -> None:
    file = tmp_path / "rr.xml"
    file.write_text(
        gleif(
            relationship("C", "P", DIRECT)
            + relationship("C", "U", ULTIMATE)
            + relationship("D", "P", DIRECT, status="INACTIVE")
            + relationship("E", "P", DIRECT, registered="ANNULLED")
            + relationship("F", "P", DIRECT, registered="LAPSED")
        )
    )
    told = Told()
    assert rows(file, PAIR, told) == {("P", "C"), ("P", "F")}
    assert rows(file, TRIPLE) == {("P", "C", 1.0), ("P", "F", 1.0)}
    assert rows(file, PAIR, type=ULTIMATE) == {("U", "C")}
    assert rows(file, PAIR, type="any") == {("P", "C"), ("P", "F"), ("U", "C")}
    assert sorted(note.rpartition("left out ")[2] for note in told.notes) == [
        f"records of another type ({ULTIMATE}; type=any takes all): 1",
        "records of relationships that are inactive: 1",
        "records that are annulled: 1",
    ]


def test_names_of_gleif_stand_in_another_file(tmp_path: Path) -> None:
    file, names = tmp_path / "rr.xml", tmp_path / "lei.xml"
    file.write_text(gleif(relationship("C", "P", DIRECT) + relationship("D", "P", DIRECT)))
    entity = "<rr:LEIRecord><rr:LEI>{}</rr:LEI><rr:Entity><rr:LegalName>{}</rr:LegalName></rr:Entity></rr:LEIRecord>"
    names.write_text(
        gleif("".join(entity.format(*e) for e in [("C", "Acme"), ("D", "Acme"), ("X", "Y")]), "LEIData")
    )
    assert rows(file, PAIR, label="name", labels="lei.xml") == {("P", "Acme (C)"), ("P", "Acme (D)")}
    assert rows(file, PAIR, labels="lei.xml") == {("P", "C"), ("P", "D")}
    assert rows(names, ONE, label="name") == {("Acme (C)",), ("Acme (D)",), ("Y",)}
    with pytest.raises(
        DataError, match="no vertex has a name\n  help: label=id calls vertices by their ids; labels=FILE"
    ):
        rows(file, PAIR, label="name")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a/>", "the file holds <a>, not records of GLEIF\n  help: other formats: say format="),
        (gleif("<rr:x>"), "1: no well-formed XML: mismatched tag"),
        (gleif(relationship("", "P", DIRECT)), "5: the record that ends here has no StartNode/NodeID"),
        (
            gleif("", before='<!DOCTYPE a [<!ENTITY lol "lol">]>'),
            "1: the file defines an entity 'lol'",
        ),
        ("PK\x03\x04", "this is a zip file\n  help: unpack it first"),
    ],
)
def test_what_gleif_does_not_publish_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "rr.xml"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        rows(file, PAIR)
    assert message in str(caught.value)


def test_the_sample_of_gleif_as_xml_and_as_statements(real_data: Path) -> None:
    """Eleven relations: four funds, four direct parents, three ultimate ones (the README beside the files)."""
    sample = real_data / "ownership/gleif_sample"
    direct = rows(sample / "rr-updates-data2.xml", PAIR)
    every = rows(sample / "rr-updates-data2.xml", PAIR, type="any")
    assert len(direct) == 4
    statements = parse_file(f"{sample / 'rr-updates-data2-out.json'}?format=bods&interest=any&level=any")
    converted = set(load_facts(PAIR, {"p": [statements]}).rows("p"))
    entities = parse_file(f"{sample / 'lei-updates-data2-out.json'}?format=bods")
    named = dict(
        load_facts(PAIR, {"p": [SourceSpec(entities.path, "bods", {"table": "vertices"})]}).rows("p")
    )
    known = dict(
        load_facts(
            PAIR, {"p": [SourceSpec(sample / "lei-updates-data2.xml", None, {"table": "vertices"})]}
        ).rows("p")
    )
    assert {(named[a], named[b]) for a, b in converted} == {(known[a], known[b]) for a, b in every}


@pytest.mark.parametrize(
    ("written_as", "wanted"),
    [("settlor-of-trust", "settlor"), ("votingRights", "voting-rights"), (None, "unknownInterest")],
)
def test_interests_of_all_versions_have_one_name(tmp_path: Path, written_as: str | None, wanted: str) -> None:
    interest = {"type": written_as, "share": {"exact": 5}}
    file = written(tmp_path, [relation("r", "a", "b", interest, {"type": "rightsToSurplusAssets"})])
    assert rows(file, interest=wanted) == {("a", "b", 0.05)}
