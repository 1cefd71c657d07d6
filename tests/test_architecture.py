"""The import directions and habits that the architecture promises, read from the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import kgreason
from kgreason.data.format_list import FUNCTIONS

PACKAGE = Path(kgreason.__file__).resolve().parent
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Full names of all that a file imports, wherever in the file."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.parent.relative_to(PACKAGE.parent).parts
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


ROOMS = (
    "base",
    "language",
    "engine",
    "provenance",
    "graph",
    "data",
    "reasoning",
    "release",
    "isomorphism",
    "people",
    "links",
    "distributed",
    "spark",
    "reporting",
    "cli",
    "estimators",
    "notebook",
    "__init__",
    "__main__",
)
"""Each imports only rooms before it, whether at the top of a file, in a function or for types alone."""

SLICES = {"isomorphism": (), "people": (), "links": ("people",)}
"""Families of releases, and the families that each may import."""


def within(name: str, *packages: str) -> bool:
    return any(name == p or name.startswith(f"{p}.") for p in packages)


def room(name: str) -> str:
    """Room of a module: the first part below the package."""
    return name.split(".")[1] if "." in name else "__init__"


@cache
def modules() -> dict[str, Path]:
    return {module(path): path for path in FILES}


@cache
def graph() -> dict[str, set[str]]:
    """Modules that each module imports; a package's own ``__init__`` counts where a name of it is imported."""
    found: dict[str, set[str]] = {}
    for name, path in modules().items():
        targets = {t if t in modules() else t.rpartition(".")[0] for t in imports(path)}
        found[name] = {t for t in targets if t in modules()} - {name}
    return found


def test_every_file_is_in_a_room() -> None:
    assert {room(name) for name in modules()} - {*ROOMS} == set()
    assert [
        room for room in ROOMS if not ((PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file())
    ] == []


def test_no_import_runs_up() -> None:
    assert [
        f"{name} imports {target}"
        for name, targets in graph().items()
        for target in targets
        if ROOMS.index(room(target)) > ROOMS.index(room(name))
    ] == []


def test_no_circle_of_files() -> None:
    circles = nx.strongly_connected_components(nx.DiGraph(graph()))
    assert [sorted(circle) for circle in circles if len(circle) > 1] == []


def test_families_are_slices() -> None:
    """What two families share is in rooms below them; links may use people."""
    assert [
        f"{name} imports {target}"
        for name, targets in graph().items()
        for target in targets
        if room(name) in SLICES and room(target) in SLICES
        if room(target) not in (room(name), *SLICES[room(name)])
    ] == []


def reached(*names: str) -> set[str]:
    """All modules that some modules need, by any number of imports."""
    found, waiting = set(names), list(names)
    while waiting:
        new = graph()[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("family", SLICES)
def test_checkers_import_no_anonymizer(family: str) -> None:
    """Neither directly nor by another module; nor do they enumerate subgraphs as anonymizers do."""
    checker = f"kgreason.{family}.verification"
    wrong = {
        f"{name} needs {target}"
        for name in modules()
        if within(name, checker)
        for target in reached(name)
        if ".anonymizers" in target or within(target, "kgreason.graph.subgraphs")
    }
    assert wrong == set()
    assert any(within(name, checker) for name in modules())


@pytest.mark.parametrize("family", SLICES)
def test_attackers_and_anonymizers_are_apart(family: str) -> None:
    own = f"kgreason.{family}"
    assert f"{own}.anonymizers" in modules()
    assert f"{own}.attacks" in modules()
    assert [
        f"{name} imports {target}"
        for name, targets in graph().items()
        for target in targets
        if (within(name, f"{own}.attacks") and ".anonymizers" in target)
        or (within(name, f"{own}.anonymizers") and within(target, f"{own}.attacks", f"{own}.verification"))
    ] == []


def test_nothing_is_imported_by_tests_alone() -> None:
    """Faces and public names need every file; a table names readers and writers, pyproject.toml the lexer."""
    stubs = {
        name: PACKAGE.parent / f"{name.replace('.', '/')}.pyi"
        for name in ("kgreason.__init__", "kgreason.people.__init__", "kgreason.links.__init__")
    }
    public = {target.rpartition(".")[0] for path in stubs.values() for target in imports(path)}
    named = {f"kgreason.data.formats.{functions.read.partition('.')[0]}" for functions in FUNCTIONS.values()}
    faces = {m for m in modules() if room(m) in ("cli", "estimators", "notebook", "reporting", "__main__")}
    roots = (
        public | named | faces | {"kgreason.language.highlighter", "kgreason.base.kernel_builds"}
    ) & modules().keys()
    files = {name for name, path in modules().items() if path.stem != "__init__"}
    assert files - reached(*roots) == set()


def test_the_oracle_shares_the_checked_program_only() -> None:
    own = ("kgreason.language", "kgreason.base.errors")
    for path in (PACKAGE.parent / "tests" / "naive").glob("*.py"):
        shared = {name for name in imports(path) if within(name, "kgreason", "numpy", "numba")}
        assert {name for name in shared if not within(name, *own)} == set()


FACES = ("kgreason.cli", "kgreason.__main__")


def test_terminals_are_of_the_command_line_alone() -> None:
    inside = [p for p in FILES if not within(module(p), *FACES)]
    assert [module(p) for p in inside if any(within(n, "click", "rich") for n in imports(p))] == []


def calls(path: Path) -> Iterator[str]:
    """Dotted names of what a file calls."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_only_the_command_line_prints() -> None:
    printing = {module(p) for p in FILES if any(c in {"print", "sys.stdout.write"} for c in calls(p))}
    assert [name for name in printing if not within(name, *FACES)] == []


def test_every_generator_is_passed_in() -> None:
    makers = {
        f"{module(p)}: {call}"
        for p in FILES
        if not within(
            module(p),
            "kgreason.cli",
            "kgreason.isomorphism.assessment",
            *(f"kgreason.{f}.api" for f in SLICES),
        )
        for call in calls(p)
        if call.endswith((".default_rng", "random.seed", "RandomState")) or call == "default_rng"
    }
    assert makers == set()


def test_no_global_randomness() -> None:
    assert [module(p) for p in FILES if "random" in set(imports(p))] == []
    used = {
        f"{module(p)}: {call}"
        for p in FILES
        for call in calls(p)
        if call.startswith(("np.random.", "numpy.random."))
        and not call.endswith((".default_rng", ".Generator"))
    }
    assert used == set()


def test_one_file_knows_the_compiler() -> None:
    assert {module(p) for p in FILES if any(name.startswith("numba") for name in imports(p))} == {
        "kgreason.base.kernel_compiler"
    }


def test_no_error_is_swallowed() -> None:
    broad = {
        module(path)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and not any(isinstance(last, ast.Raise) and last.exc is None for last in node.body[-1:])
        and (
            node.type is None
            or {"Exception", "BaseException"} & {ast.unparse(n) for n in ast.walk(node.type)}
        )
    }
    # whatever a user's own functions raise, and the file that defines them
    assert broad == {"kgreason.engine.expressions.builtin_functions", "kgreason.language.functions"}


def test_no_file_of_helpers() -> None:
    assert [p.name for p in FILES if p.stem in {"utils", "util", "helpers", "common", "misc"}] == []


def test_no_subpackage_hides_a_public_name() -> None:
    """Importing a subpackage sets it as an attribute of its package, over the function of that name."""
    for package in (kgreason, kgreason.people, kgreason.links):
        folder = Path(str(package.__file__)).parent
        inside = {p.stem for p in folder.glob("*.py")} | {p.name for p in folder.iterdir() if p.is_dir()}
        assert inside.isdisjoint(package.__all__), package.__name__


def test_names_of_files_are_unique() -> None:
    """But for files that play one role in several families, or in reasoning."""
    places: dict[str, set[str]] = {}
    for name in modules():
        if "." in name and modules()[name].name != "__init__.py":
            places.setdefault(name.rpartition(".")[2], set()).add(name)
    shared = {stem: found for stem, found in places.items() if len(found) > 1}
    assert [
        sorted(found) for found in shared.values() if {room(name) for name in found} - {*SLICES, "reasoning"}
    ] == []
    assert [
        sorted(found) for found in shared.values() if len({room(name) for name in found}) < len(found)
    ] == []


LOADED = """
import sys
from kgreason.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("\\n".join(sorted(name for name in sys.modules if name.split(".")[0] == "kgreason")), file=sys.stderr)
"""


def loaded(folder: Path, *words: str) -> list[str]:
    """Modules of kgreason that a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stderr.split()


def test_commands_load_what_they_need(ownership: Path) -> None:
    reason = loaded(ownership, "reason", "--rules", "control.vada", "--quiet")
    assert len(reason) <= 140
    assert [
        m for m in reason if within(m, *(f"kgreason.{r}" for r in (*SLICES, "release", "reporting")))
    ] == []
    anonymize = loaded(
        ownership, "anonymize", "--rules", "control.vada", "-x", "2", "--trials", "1", "--quiet"
    )
    assert len(anonymize) <= 250
    assert [m for m in anonymize if within(m, "kgreason.people", "kgreason.links")] == []
