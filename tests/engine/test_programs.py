"""Every folder of ``tests/programs`` is a test: adding one needs no code.

``program.vada`` is evaluated on the tables ``in/<predicate>.csv`` by both engines, and must give the tables
``out/<predicate>.csv``; or it fails with a message that holds the text of ``error.txt``. With ``warnings.txt``, the
warnings of checking and running it hold that text. Whatever else is in the folder (included rule files,
sources of ``@bind``) lies beside the program when it runs. With ``command.txt`` the program is run as that command of
kgreason, in the folder, and says what ``error.txt`` or ``warnings.txt`` holds; in ``diagnostic_*`` the whole text.

The header of a table says ``name:type``. Lists, sets and values of type ``any`` are written as the language writes
them; there ``_:n1`` is a labelled null, and the names of nulls do not matter. Programs with sources or with ``@post``
of their own run as users run them, through `kgreason.reason`.

The naive evaluator has no static types: errors E5xx are the fast engine's alone. It words its errors in its own way.
"""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from kgreason import reason
from kgreason.base.errors import DataError, EvaluationError, ProgramError, render_all
from kgreason.cli import app
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_file
from kgreason.language.syntax.parser import parse
from kgreason.language.syntax.syntax_tree import Collection, Constant, Expression, Fact, Skolem
from kgreason.language.values import Null, Value
from tests import naive
from tests.folders import ROOT
from tests.renamings import isomorphic

CASES = sorted(p.parent for p in (ROOT / "tests" / "programs").glob("*/program.vada"))
Tables = dict[str, set[tuple[Value, ...]]]


def written(text: str) -> Value:
    """A value as the language writes it, or a labelled null."""
    nulls = re.sub(r"_:n(\d+)", r"#n(\1)", text)
    (fact,) = parse(f"v({nulls}).").clauses
    assert isinstance(fact, Fact)
    return value(fact.atom.arguments[0])


def value(node: Expression) -> Value:
    if isinstance(node, Collection):
        elements = map(value, node.elements)
        return tuple(elements) if node.kind == "list" else frozenset(elements)
    if isinstance(node, Skolem):
        return Null(int(str(node.arguments[0])))
    assert isinstance(node, Constant)
    return node.value


TYPES: dict[str, Callable[[str], Value]] = {
    "int": int,
    "double": float,
    "string": str,
    "boolean": lambda text: {"true": True, "false": False}[text],
    "date": datetime.fromisoformat,
    "list": written,
    "set": written,
    "any": written,
}


def table(path: Path) -> set[tuple[Value, ...]]:
    """Rows of a table; without a header it has no columns, and each further line is one empty row."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0]:
        return {() for _ in lines[1:]}
    header, *rows = csv.reader(lines)
    types = [TYPES[column.rpartition(":")[2]] for column in header]
    return {tuple(convert(field) for convert, field in zip(types, row, strict=True)) for row in rows}


def tables(folder: Path) -> Tables:
    return {path.stem: table(path) for path in sorted(folder.glob("*.csv"))}


def connected(program: CheckedProgram) -> bool:
    return bool(program.binds or program.queries_bound or program.posts)


def given_rows(facts: Tables) -> Facts:
    return Facts.from_rows({predicate: sorted(rows, key=repr) for predicate, rows in facts.items() if rows})


def fast(program: CheckedProgram, facts: Tables) -> tuple[Tables, str]:
    from kgreason.engine.seminaive.evaluation import evaluate

    result = reason(program) if connected(program) else evaluate(program, given_rows(facts))
    found = result.facts
    warnings = render_all((*program.warnings, *result.warnings), program.text)
    return {p: set(found.rows(p)) if found.count(p) else set() for p in program.outputs}, warnings


def slow(program: CheckedProgram, facts: Tables) -> tuple[Tables, None]:
    if program.posts:
        pytest.skip("what @post does is no part of the evaluation")
    if connected(program):
        from kgreason.data.fact_loading import load_facts

        loaded = load_facts(program, {})
        facts = {p: set(loaded.rows(p)) for p in loaded.tables}
    found = naive.evaluate(program, facts)
    return {p: found.get(p, set()) for p in program.outputs}, None


@pytest.mark.parametrize("engine", [fast, slow])
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_program(
    case: Path,
    engine: Callable[[CheckedProgram, Tables], tuple[Tables, str | None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(case, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    given = tables(Path("in"))
    if Path("command.txt").exists():
        _command_says(engine)
        return
    if Path("error.txt").exists():
        _fails(Path("error.txt").read_text(encoding="utf-8").strip(), engine, given)
        return
    found, warnings = engine(load_file("program.vada"), given)
    expected = tables(Path("out"))
    assert expected or Path("warnings.txt").exists(), "the folder tests nothing"
    assert expected.keys() <= found.keys()
    compared = {p: found[p] for p in expected}
    assert isomorphic(compared, expected, typed=True), f"{compared} is not {expected}"
    if Path("warnings.txt").exists() and warnings is not None:
        assert Path("warnings.txt").read_text(encoding="utf-8").strip() in warnings


def test_every_diagnostic_has_a_case() -> None:
    said = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").glob("programs/*/*.txt"))
    pages = {p.stem for p in (ROOT / "docs" / "diagnostics").glob("[EW]*.md")}
    # E007 is of a file that is not there, E323 needs a chain of many: test_diagnostics.py makes them; what lies out of
    # reach (E209 to E211) depends on folders: test_security.py makes these
    elsewhere = {"E007", "E209", "E210", "E211", "E323"}
    assert pages - set(re.findall(r"(?:error|warning)\[(\w+)\]", said)) == elsewhere


def _fails(text: str, engine: Callable[[CheckedProgram, Tables], object], given: Tables) -> None:
    if engine is slow and "error[E5" in text:
        pytest.skip("the naive evaluator has no static types")
    with pytest.raises((ProgramError, EvaluationError, DataError)) as caught:
        engine(load_file("program.vada"), given)
    if engine is fast or isinstance(caught.value, ProgramError):
        assert text in str(caught.value)


def _command_says(engine: Callable[[CheckedProgram, Tables], object]) -> None:
    if engine is slow:
        pytest.skip("a command runs the fast engine")
    command = shlex.split(Path("command.txt").read_text(encoding="utf-8"))
    ended = CliRunner().invoke(app, command)
    fails = Path("error.txt").exists()
    assert ended.exit_code == (2 if fails else 0)
    assert Path("error.txt" if fails else "warnings.txt").read_text(encoding="utf-8").strip() in ended.output
