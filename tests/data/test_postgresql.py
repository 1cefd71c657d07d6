"""PostgreSQL, over a real server: reading, queries, writing, errors, and passwords that nothing shows."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kgreason
from kgreason.base.errors import DataError, KgreasonError, ProgramError, ReleaseError
from kgreason.cli import app
from kgreason.data.fact_loading import load_graph
from kgreason.data.fact_writing import check_outputs, write_targets
from kgreason.data.format_list import read_table
from kgreason.data.formats.postgresql import one_select
from kgreason.data.sources import SourceSpec, parse_file
from kgreason.data.targets import Target
from kgreason.language.check import program_checker
from tests.base.test_interrupts import interrupted
from tests.conftest import CONTROL, OWNERSHIP
from tests.postgres import Server

# rules that name a server have to be trusted
load_text = partial(program_checker.load_text, allow_files=True)
BIND = """@bind("own", "csv useHeaders=true", "", "own.csv")."""
CANARY = "rosebud-1941"


@dataclass(frozen=True)
class Database:
    """An empty database, and the variables that lead to it."""

    server: Server
    name: str
    connection: Any

    @property
    def uri(self) -> str:
        return f"{self.server.address}/{self.name}"

    @property
    def shown(self) -> str:
        return f"postgresql://{self.server.host}:{self.server.port}/{self.name}"

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return found

    def read(self, table: str) -> dict[str, Any]:
        raw = read_table(parse_file(f"{self.uri}?table={table}"))
        return dict(zip(raw.names, raw.columns, strict=True))

    def query(self, text: str) -> Any:
        return read_table(replace(parse_file(self.uri), query=text))


@pytest.fixture(scope="module")
def made(postgres: Server) -> Iterator[str]:
    """A database; making one takes longer than most tests."""
    with postgres.database() as name:
        yield name


@pytest.fixture
def base(postgres: Server, made: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """An empty database; libpq finds the server and the password in the environment."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    variables = {"HOST": postgres.host, "PORT": str(postgres.port), "USER": postgres.user, "DATABASE": made}
    for variable, value in {**variables, "PASSWORD": postgres.password}.items():
        monkeypatch.setenv(f"PG{variable}", value)
    with postgres.connect(made) as connection:
        connection.execute("SET client_min_messages TO warning")
        yield Database(postgres, made, connection)
        spaces = (
            "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
        )
        for (space,) in connection.execute(spaces).fetchall():
            connection.execute(f"DROP SCHEMA {space} CASCADE")
        connection.execute("CREATE SCHEMA public")
        connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")


@pytest.fixture
def register(base: Database) -> Database:
    """The table ``own``."""
    base.run("CREATE TABLE own (owner text, company text, share double precision)")
    for row in OWNERSHIP:
        base.connection.execute("INSERT INTO own VALUES (%s, %s, %s)", row)
    return base


def said(call: Any, error: type[KgreasonError] = DataError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_types_stay(base: Database) -> None:
    base.run(
        "CREATE TYPE color AS ENUM ('red')",
        "CREATE DOMAIN share AS numeric(5, 2)",
        """CREATE TABLE t AS SELECT 1::int2 AS i2, 2::int4 AS i4, 9223372036854775807::int8 AS i8, 1.5::float4 AS f4,
        0.1::float8 AS f8, 0.25::share AS n, 7::numeric(9) AS whole, 7.5::numeric AS some, 'ä,"'::text AS text,
        ''::varchar AS empty, 'ab'::char(4) AS padded, true AS yes, '2024-01-15'::date AS day,
        '2024-01-15 10:30:00.25'::timestamp AS moment, '2024-01-15 10:30:00+02'::timestamptz AS zoned,
        'red'::color AS color, '{1,2}'::int[] AS ints, '{"a b","{"}'::text[] AS texts, '{2024-01-15}'::date[] AS days,
        '[1, "x"]'::jsonb AS list, '{}'::json AS object""",
    )
    found = {name: column.to_pylist()[0] for name, column in base.read("t").items()}
    assert found.pop("zoned").isoformat() == "2024-01-15T08:30:00+00:00"
    assert found == {
        "i2": 1,
        "i4": 2,
        "i8": 2**63 - 1,
        "f4": 1.5,
        "f8": 0.1,
        "n": 0.25,
        "whole": 7,
        "some": 7.5,
        "text": 'ä,"',
        "empty": "",
        "padded": "ab",
        "yes": True,
        "day": datetime(2024, 1, 15),
        "moment": datetime(2024, 1, 15, 10, 30, 0, 250000),
        "color": "red",
        "ints": (1, 2),
        "texts": ("a b", "{"),
        "days": (datetime(2024, 1, 15),),
        "list": (1, "x"),
        "object": "{}",
    }
    assert [type(found[n]) for n in ("whole", "some", "n")] == [int, float, float]


def test_nulls_are_no_empty_strings(base: Database) -> None:
    base.run(
        "CREATE TABLE t (x text, n int[])",
        "INSERT INTO t VALUES (NULL, NULL), ('', '{}'), (E'\\n', '{NULL}')",
    )
    columns = base.read("t")
    assert columns["x"].to_pylist() == [None, "", "\n"]
    assert columns["n"].to_pylist() == [None, (), (None,)]
    base.run("CREATE TABLE one (x text)", "INSERT INTO one VALUES (NULL), (''), (NULL)")
    assert base.read("one")["x"].to_pylist() == [None, "", None]


def test_a_column_of_another_type_is_an_error_for_who_takes_it(base: Database) -> None:
    base.run("CREATE TABLE t AS SELECT 'a'::text AS x, '\\x00'::bytea AS picture")
    program = load_text("q(X) :- p(X).")
    data = {"p": f"{base.uri}?table=t&columns=x"}
    assert [*kgreason.reason(program, data).facts.rows("q")] == [("a",)]
    message = said(lambda: kgreason.reason(program, {"p": f"{base.uri}?table=t&columns=picture"}))
    assert message.startswith(
        f"{base.shown} table t: column 'picture': a value of type bytea is not a number"
    )
    assert "select owner::text" in message


def test_dates_beyond_the_calendar(base: Database) -> None:
    base.run("CREATE TABLE t AS SELECT 'infinity'::date AS x")
    message = said(lambda: kgreason.reason(load_text("q(X) :- p(X)."), {"p": f"{base.uri}?table=t"}))
    assert "column 'x': infinity is not a date of the years 1 to 9999" in message


def test_integers_beyond_64_bits_stay_exact(base: Database) -> None:
    base.run("CREATE TABLE t AS SELECT 123456789012345678901234567890::numeric AS id")
    rules = '@input("t"). p(X) :- t(X).'
    message = said(lambda: kgreason.reason(load_text(rules), {"t": f"{base.uri}?table=t"}))
    assert "123456789012345678901234567890 is not an integer of 64 bits" in message
    mapped = load_text(f'@mapping("t", 0, "id", "string"). {rules}')
    found = kgreason.reason(mapped, {"t": f"{base.uri}?table=t"})
    assert list(found.facts.rows("p")) == [("123456789012345678901234567890",)]


def test_numerics_of_which_some_are_no_doubles(base: Database) -> None:
    base.run("CREATE TABLE t AS SELECT unnest(ARRAY[9007199254740993, 0.5]) AS id")
    message = said(
        lambda: kgreason.reason(load_text('@input("t"). p(X) :- t(X).'), {"t": f"{base.uri}?table=t"})
    )
    assert "9007199254740993 is not a double, as other numbers of the column are" in message


def test_a_condition_on_the_rows(base: Database) -> None:
    base.run(
        'CREATE TABLE t (owner text, "Kind" text, share double precision)',
        "INSERT INTO t VALUES ('a', 'x & y', 0.5), ('b', 'it''s', 0.7), ('c', NULL, 0.9), ('d', 'back\\slash', 0.1)",
    )
    program = load_text('@input("t"). p(X) :- t(X, _, _).')

    def taken(where: str) -> list[str]:
        found = kgreason.reason(program, {"t": f"{base.uri}?table=t&where={where}&missing=keep"})
        return sorted(x for (x,) in found.facts.rows("p"))

    assert taken("kind = 'x %26 y' or share >= 0.9") == ["a", "c"]
    assert taken("Kind = 'it''s'") == ["b"]
    assert taken("kind like 'back\\sl%25'") == ["d"]
    assert taken("kind ilike 'X%25' or kind is null") == ["a", "c"]
    assert "there is no column 'nosuch'" in said(lambda: taken("nosuch = 1"))
    assert "pg_read_file(...) is a function, and there are none" in said(
        lambda: taken("owner = pg_read_file('/etc/passwd')")
    )


def test_many_rows_come_in_blocks(base: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.data.formats.postgresql.BLOCK", 1000)
    base.run(
        "CREATE TABLE t AS SELECT i AS x, i::numeric AS n, 'v' || i AS v FROM generate_series(1, 2000) i"
    )
    columns = base.read("t")
    assert columns["x"].num_chunks > 5
    assert columns["n"].to_pylist() == columns["x"].to_pylist() == list(range(1, 2001))
    assert columns["v"].to_pylist()[-1] == "v2000"


def test_a_server_that_goes_away(base: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgreason.data.formats import postgresql as postgres

    base.run("CREATE TABLE t AS SELECT i AS x FROM generate_series(1, 1000000) i")
    parsed, left = postgres._parse, ["pg_terminate_backend(pid)"]

    def ended(*given: Any) -> Any:
        if left:
            base.run(f"SELECT {left.pop()} FROM pg_stat_activity WHERE application_name = 'kgreason'")
        return parsed(*given)

    monkeypatch.setattr(postgres, "BLOCK", 10_000)
    monkeypatch.setattr(postgres, "_parse", ended)
    message = said(lambda: base.read("t"))
    assert message.startswith(base.shown)
    assert "help: the server ended it" in message
    assert base.server.password not in message


@pytest.mark.parametrize("name", ["Select", "user", "order", "Ä b", 'a"b'])
def test_names_that_need_quotes(base: Database, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    base.run(
        f'CREATE TABLE {quoted} ({quoted} text, "Share" float8)', f"INSERT INTO {quoted} VALUES ('a', 0.5)"
    )
    assert {name: column.to_pylist() for name, column in base.read(name).items()} == {
        name: ["a"],
        "Share": [0.5],
    }


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("'NaN'::float8", "is not a finite number"),
        ("'-Infinity'::float8", "is not a finite number"),
        ("'NaN'::numeric", "is not a finite number"),
        ("'0044-03-15 BC'::date", "is not a date of the years 1 to 9999"),
        ("'0044-03-15 BC'::timestamptz", "is not a timestamp with time zone of the years 1 to 9999"),
        ("ARRAY[1, NULL]", "the cell is empty"),
    ],
)
def test_values_that_the_language_lacks_are_named(base: Database, value: str, what: str) -> None:
    base.run(f"CREATE TABLE t AS SELECT {value} AS x")
    message = said(lambda: kgreason.reason(load_text("q(X) :- p(X)."), {"p": f"{base.uri}?table=t"}))
    assert f"{base.shown} table t: column 'x': " in message
    assert what in message


def test_a_function_that_writes_is_refused(base: Database) -> None:
    base.run(
        "CREATE TABLE t (x int)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING x'",
    )
    said(lambda: base.query("SELECT f()"))
    assert base.rows("SELECT count(*) FROM t") == [(0,)]


def test_tables_of_schemas(base: Database) -> None:
    base.run(
        "CREATE SCHEMA finance",
        'CREATE TABLE finance."Own" AS SELECT 1 AS x',
        "CREATE TABLE own AS SELECT 2 AS x",
    )
    for address, value in (
        ("table=own", 2),
        ("table=OWN", 2),
        ("table=finance.own", 1),
        ("table=public.own", 2),
        ("schema=finance&table=own", 1),
        ("schema=finance", 1),
    ):
        raw = read_table(parse_file(f"{base.uri}?{address}"))
        assert raw.columns[0].to_pylist() == [value], address
    assert said(lambda: base.read("onw")).endswith(
        "help: did you mean 'own'? the tables are finance.Own, own"
    )
    assert "say table=, one of finance.Own, own" in said(lambda: read_table(parse_file(base.uri)))


def test_the_third_argument_is_database_or_schema(base: Database) -> None:
    base.run(
        "CREATE SCHEMA finance",
        "CREATE TABLE finance.own AS SELECT 1 AS x",
        "CREATE TABLE own AS SELECT 2 AS x",
    )
    for options, third, value in (
        ("", "", 2),
        ("", base.name, 2),
        (f" database='{base.name}'", "finance", 1),
        (f" dbname={base.name}, username='{base.server.user}'", "finance", 1),
        (" schema=finance", base.name, 1),
    ):
        program = load_text(f'@bind("p", "postgresql{options}", "{third}", "own"). q(X) :- p(X).')
        assert [*kgreason.reason(program).facts.rows("q")] == [(value,)], options
    program = load_text(f"""@qbind("p", "postgresql database='{base.name}'", "finance", "select x from own;").
    q(X) :- p(X).""")
    assert [*kgreason.reason(program).facts.rows("q")] == [(1,)]


def test_an_address_replaces_the_connection_of_the_bind(register: Database) -> None:
    text = '@bind("own", "postgresql host=\'nowhere.invalid\' port=1", "x", "own"). q(X) :- own(X, Y, W).'
    assert len([*kgreason.reason(load_text(text), {"own": register.uri}).facts.rows("q")]) == 5


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM own",
        "SELECT 1; DROP TABLE own",
        "SELECT 1) AS q; DROP TABLE own; SELECT * FROM (SELECT 1",
        "WITH gone AS (DELETE FROM own RETURNING *) SELECT * FROM gone",
        "SELECT * INTO copy FROM own",
        "SELECT nextval('counter')",
        "SELECT setval('counter', 5) FROM own",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "EXPLAIN SELECT 1",
        "COPY own TO '/tmp/own'",
        "",
    ],
)
def test_a_query_only_reads(register: Database, query: str) -> None:
    register.run("CREATE SEQUENCE counter")
    assert "fails: " in said(lambda: register.query(query) if query else one_select(query, "x"))
    assert len(register.rows("SELECT * FROM own")) == len(OWNERSHIP)
    assert register.rows("SELECT is_called FROM counter") == [(False,)]
    assert register.rows("SELECT to_regclass('copy')") == [(None,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS x -- one; two",
        "/* ; */ select $q$;$q$ AS x ; -- done",
        "(VALUES (1))",
        "TABLE own",
        """WITH a AS (SELECT E'\\';' AS ";") SELECT * FROM a""",
        "SELECT count(*) FROM own WHERE owner LIKE '%A%' AND company <> '%s'",
    ],
)
def test_queries_that_read(register: Database, query: str) -> None:
    assert len(register.query(query)) >= 1


def test_a_query_that_fails_says_why(register: Database) -> None:
    message = said(lambda: register.query("SELECT nix FROM own"))
    assert message == (
        f'{register.shown}: the query `SELECT nix FROM own` fails: column "nix" does not exist\n'
        "  help: the tables are own"
    )


def test_check_asks_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PGHOST", "nowhere.invalid")
    rules = tmp_path / "r.vada"
    for text, expected in (
        ('@bind("p", "postgresql", "db", "t"). @output("q"). q(X) :- p(X).', ""),
        ('@bind("p", "postgresql port=many", "db", "t"). q(X) :- p(X).', "option port is no number"),
        ('@bind("p", "postgresql sslmode=often", "db", "t"). q(X) :- p(X).', "one of disable, allow, prefer"),
        ('@bind("p", "postgresql delimiter=;", "db", "t"). q(X) :- p(X).', "has no option delimiter"),
        ('@bind("p", "csv host=db1", "db", "t.csv"). q(X) :- p(X).', "a csv source has no option host"),
        ('@bind("p", "postgresql", "db", ""). q(X) :- p(X).', "which table of postgresql is meant?"),
        ('@qbind("p", "postgresql", "db", "drop table t"). q(X) :- p(X).', "write one SELECT"),
        ('@output("q"). @bind("q", "postgresql tabel=x", "db", "t"). q(1).', None),
        (
            '@output("q"). @bind("q", "postgresql tabel=x", "db", "t"). q(X) :- p(X). p(1).',
            "did you mean table?",
        ),
    ):
        rules.write_text(text, encoding="utf-8")
        done = _command("check", str(rules), "--allow-files")
        if expected is not None:
            assert (expected in done.stdout) if expected else done.exit_code == 0, done.stdout


def _command(*words: str) -> Result:
    return CliRunner().invoke(app, [*words])


def test_outputs_are_tables(register: Database) -> None:
    register.run("CREATE SCHEMA results", "CREATE TABLE other AS SELECT 1 AS x")
    program = load_text(f"""@edge("own"). @bind("own", "postgresql", "", "own"). @output("big"). @output("mixed").
    @bind("big", "postgresql database='{register.name}'", "results", "big"). @bind("mixed", "postgresql", "", "mixed").
    big(X, Y) :- own(X, Y, W), W > 0.5.
    mixed(X, ["a", 1], 2, 0.5, #T, "") :- own(X, Y, W), X = "Adler".""")
    result = kgreason.reason(program)
    check_outputs(program)
    for _ in range(2):
        write_targets(program, result.facts)
        assert sorted(register.rows("SELECT * FROM results.big")) == [
            *[("Adler", "Dachs"), ("Dachs", "Elster"), ("Falke", "Gams")]
        ]
        assert register.rows("SELECT * FROM mixed") == [("Adler", ["a", 1], 2, 0.5, True, "")]
    assert register.rows("SELECT * FROM other") == [(1,)]
    assert [
        *kgreason.reason(
            load_text("q(X, L) :- m(X, L, A, B, C, D)."), {"m": f"{register.uri}?table=mixed"}
        ).facts.rows("q")
    ] == [("Adler", ("a", 1))]


def test_a_table_of_the_same_shape_keeps_its_rights_and_views(register: Database) -> None:
    register.run(
        'CREATE TABLE big ("X" text)',
        'CREATE VIEW seen AS SELECT "X" FROM big',
        "GRANT SELECT ON big TO PUBLIC",
    )
    text = '@bind("own", "postgresql", "", "own"). @output("big"). @bind("big", "postgresql", "", "big").'
    program = load_text(f"{text} big(X) :- own(X, Y, W), W > 0.7.")
    write_targets(program, kgreason.reason(program).facts)
    assert sorted(register.rows("SELECT * FROM seen")) == [("Adler",), ("Dachs",)]
    assert register.rows("SELECT has_table_privilege('public', 'big', 'SELECT')") == [(True,)]
    wider = load_text(f"{text} big(X, Y) :- own(X, Y, W), W > 0.7.")
    message = said(lambda: write_targets(wider, kgreason.reason(wider).facts), ReleaseError)
    assert "cannot be written: cannot drop table big because other objects depend on it" in message
    assert sorted(register.rows("SELECT * FROM seen")) == [("Adler",), ("Dachs",)]


def test_all_tables_of_a_run_or_none(register: Database, tmp_path: Path) -> None:
    register.run("CREATE VIEW second AS SELECT 1 AS x")
    program = load_text(f"""@bind("own", "postgresql", "", "own"). @output("first"). @output("second").
    @output("third"). @bind("first", "postgresql", "", "first"). @bind("second", "postgresql", "", "second").
    @bind("third", "csv", "{tmp_path}", "third.csv").
    first(X) :- own(X, Y, W). second(X) :- own(X, Y, W). third(X) :- own(X, Y, W).""")
    message = said(lambda: write_targets(program, kgreason.reason(program).facts), ReleaseError)
    assert "table second: cannot be written" in message
    assert register.rows("SELECT to_regclass('first')") == [(None,)]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("read", ["own", "public.own", "OWN"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "/tmp"])
def test_nothing_that_is_read_is_written_over(register: Database, read: str, host: str) -> None:
    text = """@output("big"). @bind("big", "postgresql", "", "own"). big(X, Y, W) :- own(X, Y, W), W > 0.5."""
    with pytest.raises(ProgramError, match="E312"):
        load_text(f"""@bind("own", "postgresql host='{host}'", "", "{read}"). {text}""")
    given = {"own": f"postgresql://{host if host[0] != '/' else ''}/?host={host}&table={read}"}
    assert "not written over the table that own is read from" in said(
        lambda: check_outputs(load_text(f'@input("own"). {text}'), read=given), ReleaseError
    )
    assert len(register.rows("SELECT * FROM own")) == len(OWNERSHIP)


def test_another_table_is_not_taken_for_an_output(register: Database) -> None:
    program = load_text("""@output("own"). @bind("own", "postgresql", "", "own"). own(X, Y) :- e(X, Y).
    own(X, Z) :- own(X, Y), e(Y, Z). e(1, 2).""")
    assert "with columns owner, company, share is no output own(X, Y)" in said(
        lambda: check_outputs(program), ReleaseError
    )


def test_explanations_name_the_table(register: Database) -> None:
    program = load_text("big(X) :- own(X, Y, W), W > 0.7.")
    shown = kgreason.explain(program, 'big("Adler")', {"own": f"{register.uri}?table=own"}).as_text()
    assert f"{register.shown} table own" in shown
    assert register.server.user not in shown


def test_no_connection(register: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    server = register.server

    def message(address: str) -> str:
        return said(lambda: read_table(parse_file(f"{address}?table=own&connect_timeout=5")))

    assert 'database "nix" does not exist\n  help: look at database=' in message(f"{server.address}/nix")
    assert "Connection refused\n  help: is the server running there?" in message(
        f"postgresql://{server.host}:1/x"
    )
    monkeypatch.setenv("PGPASSWORD", CANARY)
    wrong = message(register.uri)
    assert (
        f'{register.shown}: no connection: password authentication failed for user "{server.user}"' in wrong
    )
    assert "PGPASSWORD" in wrong
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    assert "no password supplied\n  help: the password comes from" in message(register.uri)


def test_the_password_may_be_in_a_file(
    register: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:{register.server.user}:{register.server.password}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert len(register.read("own")["owner"]) == len(OWNERSHIP)


def test_no_permission(register: Database) -> None:
    register.run("CREATE ROLE guest_of_own LOGIN PASSWORD 'guest'")
    try:
        guest = replace(register.server, user="guest_of_own", password="guest")
        os.environ["PGPASSWORD"] = "guest"  # the fixture puts it back
        message = said(lambda: read_table(parse_file(f"{guest.address}/{register.name}?table=own")))
        assert "permission denied for table own\n  help: ask the owner for the right" in message
        program = load_text(
            '@output("q"). @bind("q", "postgresql user=guest_of_own", "", "q"). q(X) :- p(X). p(1).'
        )
        written = said(lambda: write_targets(program, kgreason.reason(program).facts), ReleaseError)
        assert (
            "table q: cannot be written: permission denied for schema public\n  help: ask for the right"
            in written
        )
    finally:
        register.run("DROP ROLE guest_of_own")


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://reader:{CANARY}@db1/register?table=own",
        f"postgres://:{CANARY}@db1",
        f"postgresql://reader:{CANARY}/x@db1/register",
        f"postgresql://reader:{CANARY}?x@db1/register",
        f"postgresql://reader:12/{CANARY}@db1/register",
        f"postgresql://reader:{CANARY}@x@db1/register?table=own",
        f"postgresql://reader@db1/register?password={CANARY}",
        f"postgresql://reader@db1/register?table=own&sslpassword={CANARY}",
    ],
)
def test_an_address_with_a_password_is_refused(text: str) -> None:
    for call in (
        lambda: parse_file(text),
        lambda: Target.parse(text),
        lambda: kgreason.reason(load_text("q(X) :- own(X, Y, W)."), {"own": text}),
    ):
        message = said(call)
        assert CANARY not in message
        assert "password" in message or "this is no address" in message


@pytest.mark.parametrize("option", ["password", "Password", "passwd", "pwd", "sslpassword"])
@pytest.mark.parametrize("quote", ["'", ""])
def test_a_rule_file_with_a_password_is_refused(option: str, quote: str) -> None:
    bind = f"postgresql host='db1', {option}={quote}{CANARY}{quote}"
    for annotation in (f'@bind("own", "{bind}", "", "own").', f'@qbind("own", "{bind}", "", "select 1").'):
        with pytest.raises(ProgramError) as caught:
            load_text(f"{annotation} q(X) :- own(X, Y, W).")
        assert "E208" in {d.code for d in caught.value.diagnostics}
        assert CANARY not in str(caught.value)
    with pytest.raises(ProgramError) as caught:  # what is wrong besides does not show it either
        load_text(f'@bind("own", "{bind}", "", "own"). q(X :- own(X).')
    assert CANARY not in str(caught.value)


def test_an_option_with_a_password_is_refused() -> None:
    spec = SourceSpec(Path("x"), "postgresql", {"host": "db1", "password": CANARY})
    for call in (lambda: read_table(spec), lambda: read_table(replace(spec, query="select 1"))):
        assert CANARY not in said(call)


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to program 'touch MARK'",
        "with a as (copy (select 1) to program 'touch MARK') select 1",
        "select 1) as q(k0)) to program 'touch MARK' --",
        "select '\\'::text) as q(k0)) to program 'touch MARK'; copy (select k0 from (select 1 --'",
        "select 1 as a$b$) as q(k0)) to program 'touch MARK'; copy (select k0 from (select 1 as a$b$",
        "select 1 --\r) as q(k0)) to program 'touch MARK'; copy (select k0 from (select 1 --",
        "select 1 /* /* */ ' */) as q(k0)) to program $$touch MARK$$; copy (select k0 from (select 1 --'",
        "select lo_export(lo_create(0), 'MARK')",
        "insert into own values ('a', 'b', 1) returning *",
    ],
)
def test_no_query_leaves_its_statement(register: Database, query: str) -> None:
    """The user of the tests is a superuser, who may run programs on the server."""
    mark = Path(tempfile.mkdtemp(dir="/tmp")) / "mark"
    mark.parent.chmod(0o777)
    before = register.rows("SELECT count(*) FROM own")
    said(lambda: read_table(replace(parse_file(register.uri), query=query.replace("MARK", str(mark)))))
    assert not mark.exists()
    mark.parent.rmdir()
    assert register.rows("SELECT count(*) FROM own") == before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_query_ends_when_its_user_wants(base: Database, name: str) -> None:
    query = "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d"
    source = replace(parse_file(base.uri), query=query)
    with interrupted(getattr(signal, name)):
        read_table(source)
    running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kgreason'"
    until = monotonic() + 5
    while (left := base.rows(running)) != [(0,)] and monotonic() < until:
        sleep(0.05)
    assert left == [(0,)]  # the server works on it no longer either


def test_a_server_that_hangs_is_not_waited_for(base: Database) -> None:
    def stop() -> None:
        working = "SELECT pid FROM pg_stat_activity WHERE application_name = 'kgreason' AND state = 'active'"
        while not (found := base.rows(working)):
            sleep(0.02)
        stopped.append(found[0][0])
        os.kill(found[0][0], signal.SIGSTOP)

    stopped: list[int] = []
    source = replace(parse_file(base.uri), query="SELECT pg_sleep(60)")
    threading.Thread(target=stop, daemon=True).start()
    try:
        with interrupted(signal.SIGINT, after=1):
            read_table(source)
    finally:
        os.kill(stopped[0], signal.SIGCONT)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = said(lambda: read_table(parse_file("postgresql://db1/x?table=t")))
    assert "postgresql servers need the package psycopg, which is not installed" in message
    assert "pip install '.[postgresql]'" in message


def test_the_graph_is_that_of_the_file(register: Database, ownership: Path) -> None:
    program = load_text(CONTROL.replace(BIND, ""))
    one = load_graph(program, {"own": f"{register.uri}?table=own"})
    other = load_graph(program, {"own": f"{ownership / 'own.csv'}"})
    assert sorted(one.labels) == sorted(other.labels)
    assert one.m == other.m


def outcomes(commands: list[list[str]], register: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands, with the password and with a wrong one; neither is ever shown."""
    for words in commands:
        done = _command(*words)
        assert done.exit_code in (0, 1), (words, done.stderr)
        assert register.server.password not in done.stdout + done.stderr
    monkeypatch.setenv("PGPASSWORD", CANARY)
    for words in commands:
        done = _command(*words, *(["--force"] if words[0] == "anonymize" else []))
        assert "password authentication failed" in done.stderr, (words, done.stderr)
        assert CANARY not in done.stdout + done.stderr


RULES = ["--rules", "control.vada", "--allow-files"]


@pytest.fixture
def folder(register: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with rules that bind the database."""
    monkeypatch.chdir(tmp_path)
    text = CONTROL.replace(BIND, '@bind("own", "postgresql", "", "own").')
    (tmp_path / "control.vada").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_reasoning_shows_no_password(register: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [
        ["reason", *RULES, "--json"],
        ["reason", *RULES, "--data", f"own={register.uri}?table=own", "--stats"],
        ["explain", *RULES, 'control("Adler", "Elster")'],
    ]
    assert json.loads(_command(*commands[0]).stdout)
    outcomes(commands, register, monkeypatch)


def test_anonymization_reads_the_database(
    register: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = f"{register.uri}?table=own"
    pair = ["release/own.csv", "--data", f"own={own}", "--mapping", "private/mapping.csv"]
    commands = [
        ["anonymize", *RULES, "--method", "klone", "--k", "2", "--x", "2", "--seed", "1"],
        ["verify", *RULES, *pair, "--k", "2", "--x", "2", "--json"],
        ["score", *RULES, *pair],
        ["risk", *RULES, "--data", f"own={own}"],
        ["attack", *RULES, "release", "--data", f"own={own}", "--mapping", "private", "--k", "2", "--x", "2"],
    ]
    outcomes(commands, register, monkeypatch)
    for file in (file for file in folder.rglob("*") if file.is_file()):
        held = file.read_bytes()
        assert register.server.password.encode() not in held, file
        if "release" in file.parts:
            assert register.name.encode() not in held, file
            assert register.server.host.encode() not in held, file


@pytest.mark.parametrize(
    "words",
    [
        ["reason", "--rules", "control.vada", "--data", "own=ADDRESS"],
        ["reason", "--rules", "ADDRESS"],
        ["check", "ADDRESS"],
        ["check", "ADDRESS", "--json"],
        ["fmt", "ADDRESS"],
        ["explain", "--rules", "control.vada", "control(X, Y)", "--data", "own=ADDRESS"],
        ["anonymize", "ADDRESS"],
        ["anonymize", "--rules", "control.vada", "--data", "own=ADDRESS"],
        ["verify", "release", "--rules", "control.vada", "--data", "own=ADDRESS", "--mapping", "private"],
        ["score", "--rules", "control.vada", "ADDRESS", "--data", "own=ADDRESS", "--mapping", "ADDRESS"],
        ["risk", "--rules", "control.vada", "ADDRESS"],
        ["attack", "--rules", "control.vada", "ADDRESS", "--data", "ADDRESS"],
        ["people", "anonymize", "ADDRESS", "--table"],
        ["people", "verify", "release", "--model", "k-ad", "--original", "ADDRESS", "--mapping", "private"],
        ["links", "anonymize", "ADDRESS", "--sensitive", "own"],
        ["convert", "ADDRESS", "own.csv"],
        ["convert", "control.vada", "ADDRESS"],
        ["init", "ADDRESS"],
        ["frobnicate", "ADDRESS"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("log", [False, True])
def test_no_command_repeats_a_password(
    words: list[str], log: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "control.vada").write_text(CONTROL, encoding="utf-8")
    address = f"postgresql://reader:{CANARY}@db1/register?table=own"
    given = [word.replace("ADDRESS", address) for word in words]
    done = _command(*given, *(["--log", "run.log"] if log and words[0] != "frobnicate" else []))
    assert done.exit_code in (1, 2)
    assert CANARY not in done.stdout + done.stderr
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        assert CANARY.encode() not in file.read_bytes(), file


def test_convert_to_and_from_a_table(
    register: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    register.run("CREATE SCHEMA copies")
    there = f"{register.uri}?schema=copies&table=own"
    done = _command("convert", f"{register.uri}?table=own", "own.csv")
    assert done.stdout == f"{register.shown} table own: 8 rows -> own.csv: 8 rows\n"
    assert _command("convert", "own.csv", there).exit_code == 0
    assert sorted(register.rows("SELECT * FROM copies.own")) == sorted(OWNERSHIP)
    again = _command("convert", "own.csv", there)
    assert f"{register.shown}: the table own is there already\n  help: --force replaces it" in again.stderr
    assert _command("convert", "own.csv", there, "--force").exit_code == 0
    assert "no table to write is named" in _command("convert", "own.csv", register.uri).stderr
