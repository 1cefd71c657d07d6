"""The import directions and habits that the architecture promises, read from the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kgreason

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


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == p or name.startswith(p + ".") for p in packages)


def offences(where: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    """Forbidden imports; what is within `where` itself is never forbidden."""
    return [
        f"{module(path)} imports {name}"
        for path in FILES
        if within(module(path), where)
        for name in imports(path)
        if within(name, forbidden) and not within(name, where)
    ]


TERMINAL = ("kgreason.cli", "kgreason.terminal", "kgreason.__main__")
REASONER = ("kgreason.lang", "kgreason.analysis", "kgreason.plan", "kgreason.engine")
ANONYMIZER = ("kgreason.anonymizers", "kgreason.subgraphs")


@pytest.mark.parametrize(
    ("where", "forbidden"),
    [
        (REASONER, ("kgreason.graph", *ANONYMIZER, "kgreason.assess", "kgreason.report")),
        (("kgreason.graph",), (*ANONYMIZER, "kgreason.assess", "kgreason.report")),
        (("kgreason.assess",), ANONYMIZER),
        (ANONYMIZER, ("kgreason.assess",)),
        # advice looks at both sides; neither knows of it
        (("kgreason.assess", *ANONYMIZER, "kgreason.graph", *REASONER), ("kgreason.advice",)),
        (("kgreason.attacks",), ANONYMIZER),
        (("kgreason.assess", *ANONYMIZER, "kgreason.graph", *REASONER), ("kgreason.attacks",)),
        (("kgreason.assess", *ANONYMIZER, "kgreason.graph", *REASONER), ("kgreason.people", "kgreason.api")),
        (("kgreason.people", "kgreason.links"), ("kgreason.api",)),
        # what all families share knows none of them
        (
            ("kgreason.release",),
            ("kgreason.isomorphism", "kgreason.people", "kgreason.links", "kgreason.api"),
        ),
        (
            ("kgreason.assess", *ANONYMIZER, "kgreason.graph", *REASONER),
            ("kgreason.isomorphism", "kgreason.links", "kgreason.release.pipeline"),
        ),
        (("kgreason.lang",), ("kgreason.analysis", "kgreason.plan", "kgreason.engine")),
        (("kgreason.analysis",), ("kgreason.plan", "kgreason.engine")),
    ],
    ids=lambda names: " ".join(n.removeprefix("kgreason.") for n in names),
)
def test_import_directions(where: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    assert offences(where, forbidden) == []


def test_the_oracle_shares_the_checked_program_only() -> None:
    own = ("kgreason.lang", "kgreason.analysis", "kgreason.errors")
    for path in (PACKAGE.parent / "tests" / "naive").glob("*.py"):
        shared = {name for name in imports(path) if within(name, ("kgreason", "numpy", "numba"))}
        assert {name for name in shared if not within(name, own)} == set()


def test_nothing_imports_the_command_line() -> None:
    inside = [p for p in FILES if not within(module(p), TERMINAL)]
    assert [
        module(p) for p in inside if any(within(n, ("kgreason.cli", "typer", "rich")) for n in imports(p))
    ] == []


def calls(path: Path) -> Iterator[str]:
    """Dotted names of what a file calls."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_only_the_command_line_prints() -> None:
    printing = {module(p) for p in FILES if any(c in {"print", "sys.stdout.write"} for c in calls(p))}
    assert [name for name in printing if not within(name, TERMINAL)] == []


def test_every_generator_is_passed_in() -> None:
    makers = {
        f"{module(p)}: {call}"
        for p in FILES
        if not within(module(p), ("kgreason.api", "kgreason.cli"))
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
    assert {module(p) for p in FILES if "numba" in set(imports(p))} == {"kgreason.jit"}


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
    assert broad == {"kgreason.engine.functions", "kgreason.lang.functions"}


def test_no_file_of_helpers() -> None:
    assert [p.name for p in FILES if p.stem in {"utils", "util", "helpers", "common", "misc"}] == []


def test_no_subpackage_hides_a_public_name() -> None:
    """Importing a subpackage sets it as an attribute of the package, over the function of that name."""
    modules = {
        p.stem if p.stem != "__init__" else p.parent.name for p in FILES if p != PACKAGE / "__init__.py"
    }
    top = {m for m in modules if (PACKAGE / m).is_dir() or (PACKAGE / f"{m}.py").is_file()}
    assert top.isdisjoint(kgreason.__all__)
