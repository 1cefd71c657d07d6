"""`kgreason attack` as its user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgreason.cli import app

NAMES = ("Adler", "Biber", "Dachs", "Elster", "Falke", "Gams", "Hase")


@pytest.fixture
def anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_attack_prints_a_table_and_json(ownership: Path, anywhere: Path) -> None:
    rules = ownership / "control.vada"
    made = run("anonymize", "--rules", rules, "--method", "klone", "-k", "2", "-x", "3", "--trials", "1")
    assert made.exit_code == 0, made.output
    asked = ["release", "--data", f"own={ownership / 'own.csv'}", "--mapping", "private", "--rules", rules]
    options = [
        "-k",
        "2",
        "-x",
        "3",
        "--known",
        "3",
        "--seed",
        "1",
        "--knowledge",
        "part",
        "--knowledge",
        "degree",
    ]
    result = run("attack", *asked, *options)
    assert result.exit_code == 0, result.output
    assert "(G[X],Σ)" in result.stdout
    assert "promised: resists" in result.stdout
    legend = result.stdout.partition("\n\n")[2]
    heads = result.stdout.splitlines()[0].split()[2:]  # "attacker knows" says it itself
    assert all(f"\n{head} " in f"\n{legend}" for head in heads)
    assert "not covered" not in result.stdout
    larger = run("attack", *asked, "-k", "2", "-x", "3", "--known", "4", "--knowledge", "part:edges")
    assert "not covered (x' > 3): " in larger.stdout
    assert "KLONE\n            promises every size: name this one by -x, too" in larger.stdout
    assert "BROKEN" not in result.stdout
    assert "keep this secret" in result.stdout
    found = json.loads(run("attack", *asked, *options, "--json").stdout)
    assert found["as_promised"]
    assert {a["knowledge"] for a in found["attacks"]} >= {"part:weights+rules", "degree"}
    broken = run("attack", *asked, "-k", "3", "-x", "3", "--known", "3", "--knowledge", "part:weights+rules")
    assert broken.exit_code == 1
    assert "promised: succeeds" in broken.stdout
    assert "BROKEN" in broken.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--known", "9"], "places of a part of 9 vertices cannot be distinguished exactly"),
        (["--known", "few"], "is no number of vertices"),
        (["--knowledge", "gossip"], "there is no knowledge 'gossip'"),
        (["--seeds", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (["--other-rules", "nowhere.vada"], "nowhere.vada"),
        (["--knowledge", "degree", "--seeds", "10"], "--seeds has no effect"),
        (["--knowledge", "degree", "--known", "3"], "--known has no effect"),
        (["--data", "own=nowhere.csv"], "there is no such file"),
    ],
)
def test_attack_refuses_what_makes_no_sense(
    ownership: Path, anywhere: Path, options: list[str], words: str
) -> None:
    (anywhere / "mapping.csv").write_text(
        "original,released\n" + "".join(f"{n},{n}\n" for n in NAMES), encoding="utf-8"
    )
    asked = [ownership / "own.csv", "--data", f"own={ownership / 'own.csv'}", "--mapping", "mapping.csv"]
    result = run("attack", *asked, "--rules", ownership / "control.vada", *options)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_seeds_may_begin_with_a_byte_order_mark(ownership: Path, anywhere: Path) -> None:
    (anywhere / "mapping.csv").write_text(
        "original,released\n" + "".join(f"{n},{n}\n" for n in NAMES), encoding="utf-8"
    )
    (anywhere / "seeds.txt").write_text("Adler\nBiber\n", encoding="utf-8-sig")
    asked = [ownership / "own.csv", "--data", f"own={ownership / 'own.csv'}", "--mapping", "mapping.csv"]
    options = ["--rules", ownership / "control.vada", "--knowledge", "seeds", "--seeds", "seeds.txt"]
    result = run("attack", *asked, *options, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["attacks"][0]["runs"]["main"]["targets"] == len(NAMES) - 2
