"""``kgreason init``: what is guessed of tables, and that what is written runs at once."""

from __future__ import annotations

import json
import re
import sqlite3
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import KgreasonError
from kgreason.cli import app
from kgreason.data.first_files import start
from kgreason.data.table_profiles import Column
from tests.examples import inputs
from tests.folders import ROOT
from tests.postgres import Server

REAL_TABLES = [
    ("ownership/asx200_shares.csv.gz", "control", "columns=owner,company,percent"),
    ("ownership/sgx_top20_shares.csv.gz", "control", "percent=true columns=owner,company,percent"),
    ("ownership/eva.net.gz", "mutual edges", '"net"'),
    ("ownership/us_companies_ownership.csv.gz", "mutual edges", "columns=source,target"),
    ("ownership/medias_francais/organisation-media.tsv", "control", "missing=skip columns=origine,cible,valeur"),
    ("weighted/soc-sign-bitcoinalpha.csv.gz", "mutual edges", "useHeaders=false scale=abs columns=1,2,3"),
    ("weighted/ml-latest-small/tags.csv", "who has edges to whom", "prefix=user:,movie:"),
    ("weighted/1138_bus.mtx", "who has edges to whom", "mtx scale=abs"),
    ("classic/out.moreno_blogs_blogs", "mutual edges", '"edges"'),
    ("classic/karate.gml", "reachability", '"gml"'),
    ("kg/FB15k-237-raw/test.txt.gz", "mutual edges", "tsv useHeaders=false columns=1,3 where="),
    ("kg/yago11k/test.txt", "mutual edges", "tsv useHeaders=false columns=1,3 where="),
]  # fmt: skip
FEW = [0, 4, 5, 6, 9]
"""Of these, those that run in each test."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def binds(rules: Path) -> list[str]:
    return [
        line
        for line in rules.read_text(encoding="utf-8").splitlines()
        if line.startswith(("@bind", "@qbind"))
    ]


def runs(rules: Path) -> None:
    """It passes the check without warnings, and has facts, with the options that it names."""
    allow = ["--allow-files"] if "--allow-files" in rules.read_text(encoding="utf-8") else []
    checked = json.loads(run("check", rules, "--json", *allow).stdout)["files"][0]
    assert checked["findings"] == []
    derived = run("reason", "--rules", rules, "--out", rules.parent / "facts", *allow)
    assert derived.exit_code == 0, derived.output


def guessed(path: Path, text: str, name: str = "t.csv", encoding: str = "utf-8") -> tuple[str, str]:
    """The bind, and what the rules are about, of a table that is written for it."""
    (path / name).write_bytes(text.encode(encoding))
    out = path / "t.vada"
    done = run("init", path / name, "--out", out, "--force", "--json")
    assert done.exit_code == 0, done.output
    runs(out)
    return binds(out)[0], json.loads(done.stdout)["kind"]


EXAMPLES = sorted((ROOT / "examples").rglob("own.csv"))


@pytest.mark.parametrize("table", EXAMPLES, ids=[p.parent.name for p in EXAMPLES])
def test_tables_of_the_examples_run_at_once(here: Path, table: Path) -> None:
    done = run("init", table)
    assert done.exit_code == 0, done.output
    assert "own.vada is written: " in done.stdout
    assert "column 1 (" in done.stdout
    assert "kgreason check own.vada --allow-files" in done.stdout  # the table lies elsewhere
    runs(here / "own.vada")


def test_what_init_writes_is_formatted(here: Path) -> None:
    (here / "own.csv").write_bytes(EXAMPLES[0].read_bytes())
    assert run("init", "own.csv").exit_code == 0
    assert run("fmt", "--check", "own.vada").exit_code == 0


@pytest.mark.parametrize(
    ("file", "kind", "bind"),
    [pytest.param(*row, marks=() if i in FEW else pytest.mark.slow) for i, row in enumerate(REAL_TABLES)],
    ids=[row[0] for row in REAL_TABLES],
)
def test_real_tables_run_at_once(here: Path, real_data: Path, file: str, kind: str, bind: str) -> None:
    done = run("init", real_data / file, "--out", "t.vada", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kind"] == kind
    assert bind in binds(here / "t.vada")[0]
    runs(here / "t.vada")


def test_tables_of_one_register_go_together(here: Path, real_data: Path) -> None:
    folder = real_data / "ownership" / "medias_francais"
    names = (
        "organisation-media",
        "personne-organisation",
        "personne-media",
        "organisation-organisation",
        "medias",
    )
    done = run("init", *(folder / f"{name}.tsv" for name in names), "--out", "media.vada")
    assert done.exit_code == 0, done.output
    found = binds(here / "media.vada")
    assert [line.split('"')[1] for line in found] == ["own"] * 4 + ["company"]
    runs(here / "media.vada")


def test_what_is_written_can_be_anonymized(here: Path) -> None:
    assert run("init", ROOT / "examples" / "ownership" / "own.csv").exit_code == 0
    done = run("anonymize", "--rules", "own.vada", "-x", 2, "--plans", 1, "--allow-files")
    assert done.exit_code == 0, done.output
    assert (here / "release" / "own.csv").is_file()


SHARES = [
    ("Adler", "Dachs", 0.72),
    ("Dachs", "Elster", 0.8),
    ("Falke", "Elster", 0.125),
    ("Adler", "Falke", 0.3),
]


@pytest.mark.parametrize(
    ("head", "bind"),
    [
        ("owner,company,share", "columns=owner,company,share"),
        ("azionista,società,quota", "columns=azionista,società,quota"),
        ("Gesellschafter,Gesellschaft,Anteil", "columns=Gesellschafter,Gesellschaft,Anteil"),
        ("actionnaire,filiale,part", "columns=actionnaire,filiale,part"),
        ("accionista,empresa,participación", "columns=accionista,empresa,participación"),
        ("company,owner,share", "columns=owner,company,share"),
    ],
)
def test_columns_are_known_by_their_names_in_several_languages(tmp_path: Path, head: str, bind: str) -> None:
    swap = head.startswith("company")
    rows = "".join(f"{y},{x},{w}\n" if swap else f"{x},{y},{w}\n" for x, y, w in SHARES)
    written, kind = guessed(tmp_path, f"{head}\n{rows}")
    assert (bind in written, kind) == (True, "control")


@pytest.mark.parametrize(
    ("text", "name", "encoding", "options"),
    [
        ("owner;company;share\nA;B;0,5\nB;C;0,25\n", "t.csv", "utf-8", "delimiter=';' useHeaders=true decimal=','"),
        ("owner,company,share\nA,B,50\nB,C,25.5\n", "t.csv", "utf-8", "percent=true"),
        ("owner,company,share\nA,B,50%\nB,C,25.5%\n", "t.csv", "utf-8", "useHeaders=true columns"),
        ("owner,company,share\nA,B,50%\nB,C,25.5\n", "t.csv", "utf-8", "percent=true"),
        ("owner,company,share\nA,B,0.5\nB,C,\n", "t.csv", "utf-8", "missing=skip"),
        ("owner,company,share\n" + "A,B,0.5\n" * 12 + "B,C,n/a\n", "t.csv", "utf-8", "nullString=n/a missing=skip"),
        ("owner,company,share\nÄ,B,0.5\nB,C,0.25\n", "t.csv", "latin-1", "encoding=latin-1"),
        ("Owner name,\"Company, held\",share\nA,B,0.5\n", "t.csv", "utf-8", "columns='Owner name,2,share'"),
        ("owner,company,share\nA,B,0.5\nB,C,n/a\nC,D,0.25\n", "t.csv", "utf-8", "nullString=n/a missing=skip"),
        ("owner,company,share\nA,B,1.0004\nB,C,0.5\n", "t.csv", "utf-8", '"csv useHeaders=true columns='),
        ("lender,borrower,amount\nA,B,\"1,200,000\"\nB,C,\"40,000\"\n", "t.csv", "utf-8", "columns=lender,borrower\""),
        ("from,to,rating\nA,B,-3\nB,C,10\n", "t.csv", "utf-8", "scale=abs"),
        ("A\tB\nB\tC c\nC c\tD\n", "t.txt", "utf-8", '"tsv useHeaders=false columns=1,2"'),
        ("1 2\n2 3\n3 1\n", "t.txt", "utf-8", '"edges"'),
        ("source target weight\n1 2 0.5\n2 3 0.25\n", "t.dat", "utf-8", "edges useHeaders=true"),
        ('{"owner": "A", "company": "B", "share": 0.5}\n', "t.jsonl", "utf-8", '"json columns=owner,company,share"'),
    ],
)  # fmt: skip
def test_how_a_file_is_written_is_found_out(
    tmp_path: Path, text: str, name: str, encoding: str, options: str
) -> None:
    written, _ = guessed(tmp_path, text, name, encoding)
    assert options in written


def test_tables_of_databases_and_parquet(tmp_path: Path) -> None:
    source, target, share = zip(*SHARES, strict=True)
    pq.write_table(pa.table({"owner": source, "company": target, "share": share}), tmp_path / "t.parquet")
    database = sqlite3.connect(tmp_path / "t.db")
    database.execute("create table shares (owner text, company text, share real)")
    database.executemany("insert into shares values (?, ?, ?)", SHARES)
    database.execute("create table firm (name text, town text)")
    database.executemany("insert into firm values (?, ?)", [(n, "Bonn") for n in {*source, *target}])
    database.commit()
    database.close()
    for name, bind in (
        ("t.parquet", '"parquet columns=owner,company,share", "", "t.parquet"'),
        ("t.db", '"sqlite columns=owner,company,share", "t.db", "shares"'),
    ):
        out = tmp_path / "t.vada"
        assert run("init", tmp_path / name, "--out", out, "--force").exit_code == 0
        assert any(bind in line for line in binds(out)), binds(out)
        runs(out)
    assert any(line.startswith('@bind("company"') for line in binds(tmp_path / "t.vada"))


def test_commas_between_thousands_are_told(tmp_path: Path) -> None:
    text = 'lender,borrower,amount\nA,B,"1,200,000"\nB,C,"40,000"\n'
    guessed(tmp_path, text)
    written = (tmp_path / "t.vada").read_text(encoding="utf-8").replace("\n%%", "")
    assert "Not read: 3 (amount) (commas between thousands, which are not read)." in " ".join(written.split())
    done = run("init", f"{tmp_path / 't.csv'}?columns=1,2,3", "--out", tmp_path / "u.vada")
    assert done.exit_code == 2
    assert "the column holds commas between thousands" in done.stderr


def test_tables_of_a_server_run_at_once(
    postgres: Server, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in postgres.environment().items():
        monkeypatch.setenv(name, value)
    with postgres.database() as name:
        with postgres.connect(name) as connection:
            connection.execute("create table shares (owner text, company text, share double precision)")
            connection.cursor().executemany("insert into shares values (%s, %s, %s)", SHARES)
            connection.execute("create schema finance")
            connection.execute(
                "create table finance.loans as select owner lender, company borrower from shares"
            )
        at = f"{postgres.address}/{name}"
        for text, file in (
            (f"{at}?table=shares", "shares.vada"),
            (f"{at}?schema=finance&table=loans", "loans.vada"),
            (f"{at}?table=finance.loans&columns=2,1", "loans.vada"),
            (at, "loans.vada"),
        ):
            done = run("init", text, "--force")
            assert done.exit_code == 0, done.output
            assert postgres.password not in done.output + (here / file).read_text(encoding="utf-8")
            runs(here / file)
        assert run("init", f"{at}?table=shars").exit_code == 2
        assert "postgresql" in binds(here / "shares.vada")[0]


def test_large_files_are_judged_by_their_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("table_profiles", "first_files"):
        monkeypatch.setattr(f"kgreason.data.{module}.ROWS", 20)
    (tmp_path / "t.csv").write_text("owner,company,share\n" + "".join(f"A{i},B{i},0.5\n" for i in range(99)))
    made = start([str(tmp_path / "t.csv")], tmp_path / "t.vada")
    assert "these are guesses from its first 20 rows" in made.text
    assert "\n@incoming_sum" not in made.text


def test_nested_columns_of_people_are_left_out(tmp_path: Path) -> None:
    rows = [{"name": f"P{i}", "sex": "fm"[i % 2], "tags": [i]} for i in range(9)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    made = start([f"{tmp_path / 't.json'}?columns=name"], tmp_path / "t.toml")
    assert 'ignore = ["tags"]' in made.text
    assert "Column 3 (tags) holds lists, objects or bytes, so it is left out." in made.text


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("x\n1\n", "no two columns look like the ends", "?columns=1,2,3"),
        ("owner,company,share\n", "it has no rows", "name a table with rows"),
        ("sex,age,town\n" + "m,40,Bonn\nf,50,Rome\n" * 9, "no two columns", "people anonymize --table"),
        ("PK\0\0", "this is no text, whatever its name says", "own.csv?format=parquet"),
        (",A,B,C,D,E\n" + "".join(f"{c},,,0.5,,\n" for c in "ABCDE"), "it looks like a matrix", "as a list"),
        ("a,b,c,d,e,f,g\n" + "1,2,1,2,2,1,1\n2,1,2,2,1,1,1\n" * 9, "no two columns", "people anonymize --table"),
    ],
)  # fmt: skip
def test_what_cannot_be_guessed_is_told(tmp_path: Path, text: str, what: str, hint: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    done = run("init", tmp_path / "t.csv", "--out", tmp_path / "t.vada")
    assert done.exit_code == 2
    assert what in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "t.vada").exists()


def test_who_names_the_columns_is_believed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c,d,e,f,g\n1,2,1,2,2,1,1\n2,1,2,2,1,1,1\n")
    named = f"{tmp_path / 't.csv'}?columns=d,1"
    assert run("init", named, "--out", tmp_path / "t.vada").exit_code == 0
    assert "columns=d,a" in binds(tmp_path / "t.vada")[0]
    runs(tmp_path / "t.vada")
    wrong = run("init", f"{tmp_path / 't.csv'}?columns=d,h", "--out", tmp_path / "u.vada")
    assert "there is no column 'h'" in wrong.stderr


def test_a_table_of_people_gets_a_schema(here: Path) -> None:
    done = run("init", ROOT / "examples" / "people" / "people.csv")
    assert done.exit_code == 0, done.output
    found = tomllib.loads((here / "people.toml").read_text(encoding="utf-8"))
    assert found["tables"][0]["id"] == "name"
    assert found["kinds"]["numeric"] == ["age"]
    assert found["kinds"]["categorical"] == ["job", "city"]
    assert "kgreason people anonymize people.toml" in done.stdout
    assert run("people", "anonymize", "people.toml", "-k", 3, "-q").exit_code == 0


def test_nothing_is_overwritten(here: Path) -> None:
    table = EXAMPLES[0]
    (here / "own.vada").write_text("mine")
    refused = run("init", table)
    assert (refused.exit_code, (here / "own.vada").read_text()) == (2, "mine")
    assert "use --force to replace it" in refused.stderr
    assert run("init", table, "--force").exit_code == 0
    assert "there is no folder none" in run("init", table, "--out", "none/x.vada").stderr
    assert sorted(p.name for p in here.iterdir()) == ["own.vada"]


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=6)


@settings(max_examples=inputs(40), deadline=None)
@given(
    head=st.lists(NAMES, min_size=2, max_size=4, unique=True),
    rows=st.lists(st.lists(NAMES, min_size=4, max_size=4), min_size=1, max_size=5),
)
def test_any_table_is_guessed_or_refused(
    tmp_path_factory: pytest.TempPathFactory, head: list[str], rows: list[list[str]]
) -> None:
    """Whatever a table holds, what is written can be parsed; nothing else than errors of users comes up."""
    from kgreason.language.syntax.parser import read

    folder = tmp_path_factory.mktemp("any")
    lines = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row[: len(head)]) for row in (head, *rows)
    ]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        made = start([str(folder / "t.csv")], folder / "t.vada")
    except KgreasonError:
        return
    assert read(made.text, "t.vada")[1] == ()


@pytest.mark.parametrize(
    ("cells", "low", "high", "comma"),
    [
        (["1", "2.5", "3e2"], 1.0, 300.0, False),
        (["1,5", "2,25"], 1.5, 2.25, True),
        (["1.234,5", "7,0"], 7.0, 1234.5, True),
        (["1,234.5", "7.0"], 7.0, 1234.5, False),
        (["12%", "7 %"], 7.0, 12.0, False),
        (["a", "b"], None, None, False),
        (["", ""], None, None, False),
    ],
)
def test_numbers_of_a_column(cells: list[str], low: float | None, high: float | None, comma: bool) -> None:
    found = Column("x", 1, pa.array(cells))
    assert (found.numeric, found.low, found.high, found.comma) == (
        low is not None,
        low or 0.0,
        high or 0.0,
        comma,
    )
    assert found.missing == cells.count("")


def test_every_reason_is_in_the_file(here: Path) -> None:
    (here / "t.csv").write_text("id,owner,company,share,day\n1,A,B,50,2020\n2,B,C,25,2021\n3,A,C,,2021\n")
    assert run("init", "t.csv").exit_code == 0
    text = re.sub(r"\n%% ?", " ", (here / "t.vada").read_text(encoding="utf-8"))
    for words in (
        "Column 2 (owner) is the source and 3 (company) the target: by their names",
        "Column 4 (share) is the weight: by its name; its values go from 25 to 50.",
        "Shares up to 100 are percentages, and divided by 100.",
        "Rows with missing values are skipped (1 in 4 (share))",
        "Not read: 1 (id) (numbers the rows), 5 (day) (a time)",
        "The other direction would be:",
        "add symmetric=true",
    ):
        assert words in text, words
