"""The documentation site: it builds without a warning, and fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kgreason
from tests.conftest import ROOT

ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def test_every_public_name_has_its_place_on_the_page_of_the_api() -> None:
    named = re.findall(r"^::: kgreason\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(kgreason.__all__)


@pytest.mark.slow
def test_site(tmp_path: Path) -> None:
    """Build it as `mkdocs build --strict` does; the notebooks of examples/ are executed on the way."""
    pytest.importorskip("mkdocs", reason="the site needs pip install '.[docs]'")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    assert not re.search(r"^(WARNING|ERROR)|Warning:", built.stdout, re.M), built.stdout
    pages = {p.relative_to(tmp_path / "site").as_posix(): p for p in (tmp_path / "site").rglob("*.html")}
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name.replace("README", "index") in pages
    for name, page in pages.items():
        assert not ELSEWHERE.findall(page.read_text(encoding="utf-8")), name
    for notebook in (ROOT / "examples").glob("*.ipynb"):
        seconds = re.search(rf"notebook {notebook.name}: ([\d.]+) s", built.stdout)
        assert seconds, built.stdout
        assert float(seconds[1]) < 60
        assert f"notebooks/{notebook.stem}.html" in pages
