"""The documentation site: it builds without a warning, and fetches nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kgreason
from kgreason import estimators
from tests.conftest import ROOT

ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")

LONG = 60.0
"""Seconds that a notebook may take."""


def test_every_public_name_has_its_place_on_the_page_of_the_api() -> None:
    named = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    public = [f"kgreason.{name}" for name in kgreason.__all__]
    objects = [f"kgreason.estimators.{name}" for name in estimators.__all__ if name != "Estimator"]
    assert sorted(named) == sorted(public + objects)


def test_every_page_can_be_found_in_the_navigation() -> None:
    shown = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    found = {name for name in re.findall(r"[\w/-]+\.md", shown) if not name.startswith("notebooks/")}
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    codes = {name for name in pages if re.fullmatch(r"diagnostics/[EW]\d{3}\.md", name)}
    assert found == pages - codes | {"index.md", "changelog.md"}
    assert {f"notebooks/{p.stem}.md" for p in (ROOT / "examples").glob("*.ipynb")} <= set(
        re.findall(r"[\w/-]+\.md", shown)
    )


def build(folder: Path) -> str:
    """Build the site as `mkdocs build --strict` does; what that says."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    assert not re.search(r"^(WARNING|ERROR)|Warning:", built.stdout, re.M), built.stdout
    return built.stdout


def seconds(said: str) -> dict[str, float]:
    """How long each notebook took."""
    return {name: float(time) for name, time in re.findall(r"notebook (\w+\.ipynb): ([\d.]+) s", said)}


@pytest.mark.slow
def test_site(tmp_path: Path) -> None:
    """The notebooks of examples/ are executed on the way."""
    pytest.importorskip("mkdocs", reason="the site needs pip install '.[docs]'")
    took = seconds(build(tmp_path))
    if max(took.values()) >= LONG:
        took = seconds(build(tmp_path))  # the first run on a machine compiles kernels
    assert took.keys() == {p.name for p in (ROOT / "examples").glob("*.ipynb")}
    assert max(took.values()) < LONG, took
    pages = {p.relative_to(tmp_path).as_posix(): p for p in tmp_path.rglob("*.html")}
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name.replace("README", "index") in pages
    for name, page in pages.items():
        assert not ELSEWHERE.findall(page.read_text(encoding="utf-8")), name
    for name in took:
        assert f"notebooks/{name.removesuffix('.ipynb')}.html" in pages


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook["metadata"].keys() == {"kernelspec", "language_info"}
