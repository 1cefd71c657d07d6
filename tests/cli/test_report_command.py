"""`kgreason report`: the page again, from what was written; and both folders of a release have one."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgreason.cli import app
from tests.conftest import OWNERSHIP


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def place(ownership: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``release`` and ``private``."""
    monkeypatch.chdir(ownership)
    rules = ownership / "control.vada"
    made = run("anonymize", "--rules", rules, "--method", "klone", "-x", "2", "--trials", "1")
    assert made.exit_code == 0, made.output + made.stderr
    return ownership


def test_the_page_is_made_again(place: Path) -> None:
    page = place / "private" / "report.html"
    before = page.read_bytes()
    assert all(name in before.decode() for name in {end for a, b, _ in OWNERSHIP for end in (a, b)})
    page.write_text("an older page")
    made = run("report", "private")
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith(
        "private/report.html: Release of a graph under control.vada, (3,x)-isomorphism"
    )
    assert "keep it secret" in made.stdout
    assert page.read_bytes() == before
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    page.unlink()
    told = run("report", "private/report.json", "--json")
    assert json.loads(told.stdout) == {
        "format": 1,
        "page": "private/report.html",
        "secret": True,
        "state": "holds",
        "verdict": "(3,x)-isomorphism for every x holds",
    }
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_the_page_goes_where_it_is_said(place: Path) -> None:
    assert run("report", "private", "--out", "page.html").exit_code == 0
    assert (place / "page.html").read_bytes() == (place / "private" / "report.html").read_bytes()
    assert stat.S_IMODE((place / "page.html").stat().st_mode) == 0o600
    (place / "page.html").write_text("mine")
    assert "page.html exists already" in run("report", "private", "--out", "page.html").stderr
    assert (place / "page.html").read_text() == "mine"
    assert run("report", "private", "--out", "page.html", "--force").exit_code == 0
    assert run("report", "release", "--out", "public.html").stdout.startswith(
        "public.html: Anonymized knowledge graph"
    )
    assert (place / "public.html").read_bytes() == (place / "release" / "report.html").read_bytes()


def test_a_release_stays_as_it_was_written(place: Path) -> None:
    refused = run("report", "release")
    assert refused.exit_code == 2
    assert "release is published" in refused.stderr
    assert "--out FILE" in refused.stderr
    again = (
        "verify",
        "release",
        "--mapping",
        "private",
        "--rules",
        "control.vada",
        "-x",
        "2",
        "-k",
        "3",
    )
    checked = run(*again, "--certificate", "private")
    assert checked.exit_code == 0, checked.output + checked.stderr
    with (place / "release" / "report.html").open("a") as page:
        page.write("<p>Adler</p>\n")
    checked = run(*again, "--certificate", "private")
    assert "report.html" in checked.output
    assert checked.exit_code == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "there is no such folder"),
        (".", "this is no folder of a release"),
        ("own.csv", "is no report"),
    ],
)
def test_what_is_no_folder_of_a_release_is_refused(
    ownership: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(ownership)
    refused = run("report", name)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert "help: " in refused.stderr


def test_a_secret_page_does_not_go_into_a_release(place: Path) -> None:
    before = (place / "release" / "report.html").read_bytes()
    refused = run("report", "private", "--out", "release/report.html")
    assert refused.exit_code == 2
    assert "release is published, and the page is secret" in refused.stderr
    assert (place / "release" / "report.html").read_bytes() == before


def test_the_page_needs_nothing_of_the_original(place: Path) -> None:
    before = (place / "private" / "report.html").read_bytes()
    kept = place / "elsewhere"
    kept.mkdir()
    (place / "private" / "report.json").rename(kept / "report.json")
    for left in (place / "own.csv", place / "control.vada"):
        left.unlink()
    for folder in ("release", "private"):
        shutil.rmtree(place / folder)
    made = run("report", "elsewhere", "--quiet")
    assert made.exit_code == 0, made.stderr
    assert not made.stdout
    assert (kept / "report.html").read_bytes() == before


def test_a_report_of_an_earlier_version_says_so(place: Path) -> None:
    file = place / "private" / "report.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    page = data.pop("page")
    file.write_text(json.dumps(data))
    refused = run("report", "private")
    assert (refused.exit_code, "holds no page" in refused.stderr) == (2, True)
    assert "written by an earlier version" in refused.stderr
    file.write_text(json.dumps({**data, "page": page | {"format": 2}}))
    assert "has format 2, but this version reads 1" in run("report", "private").stderr


def test_a_place_that_cannot_be_written_is_refused(place: Path) -> None:
    refused = run("report", "private", "--out", "no/such/place.html")
    assert refused.exit_code == 2
    assert "cannot be written" in refused.stderr
