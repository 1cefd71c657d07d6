"""The documentation site: it builds without a warning, and fetches nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

import kgreason
from kgreason import estimators
from tests.folders import ROOT
from tests.needs import needed, needs_chromium

ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")

LONG = 60.0
"""Seconds that a notebook may take."""


def test_every_public_name_has_its_place_on_the_page_of_the_api() -> None:
    named = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    packages = (kgreason, kgreason.people, kgreason.links)
    public = [f"{package.__name__}.{name}" for package in packages for name in package.__all__]
    public += ["kgreason.spark.reason", "kgreason.spark.DerivedFrames"]
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


LOOKED_AT = (
    "index",
    "tutorial",
    "comparison",
    "terminal",
    "api",
    "reference/formats",
    "notebooks/company_ownership",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of the site, which a browser does not search when it is a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def look_at(site: str) -> None:
    """Open pages on a narrow screen, and search: nothing is asked of others, no page is wider than the screen."""
    chromium = needs_chromium()
    needed("the package playwright", find_spec("playwright") is not None)
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for name in LOOKED_AT:
            page.goto(f"{site}{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        page.set_viewport_size({"width": 1300, "height": 900})
        page.keyboard.press("/")
        page.keyboard.insert_text("k-degree")  # at once: the search takes "k-" alone for a mistake
        page.keyboard.press("Shift")  # it looks at the text when a key is released
        page.wait_for_selector('.md-search-result__item:first-child a[href*="k-degree.html"]')
        browser.close()
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
    assert said == []


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
    with served(tmp_path) as site:
        look_at(site)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook["metadata"].keys() == {"kernelspec", "language_info"}
