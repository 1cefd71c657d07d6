"""Whatever labels, columns and files are called: no command lets it act on a terminal, and pipes get it as it is."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numba  # noqa: F401
import pytest
from click.testing import CliRunner

import kgreason
from kgreason.base.errors import DataError
from kgreason.base.printable import Screen, printable
from kgreason.cli import app, main
from kgreason.cli.run import Log

TITLE = "\x1b]0;OWNED\x07"
"""Sets the title of the window."""
NAMES = [
    f"Adler{TITLE}",
    "Dachs\x9b31m",
    "\u202eretslE",
    "[red]Falke[/red]",
    ":bomb: Gans\r",
    "Hase\x1b[2J",
    "Igel\nverdict  holds",
]
FILE = f"own{TITLE}[red].csv"
RULES = """@edge("own"). @derived("control"). @output("control"). @query("control").
control(X, Y) :- own(X, Y, W), W > 0.5.
control(X, Z) :- control(X, Y), own(Y, Z, W), W > 0.5.
"""
ACTS = re.compile(
    "\x1b(?!\\[[0-9;?]*[A-Za-z])|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
"""What no output holds: rich draws with sequences that begin with ESC [ alone."""

Shown = Callable[..., str]


def edges() -> list[tuple[str, str, float]]:
    """A ring whose vertices have the names."""
    pairs = [
        (i, (i + step) % len(NAMES), share) for i in range(len(NAMES)) for step, share in ((1, 0.7), (2, 0.2))
    ]
    return [(NAMES[source], NAMES[target], share) for source, target, share in pairs]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with open(FILE, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["owner", f"company{TITLE}", "share"], *edges()])
    Path("own.vada").write_text(RULES, encoding="utf-8")
    return tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a terminal gets from a command line."""

    def run(*words: str) -> str:
        master, slave = pty.openpty()
        read: list[bytes] = []

        def follow() -> None:
            while True:
                try:
                    block = os.read(master, 1 << 16)
                except OSError:  # the other end is closed
                    return
                if not block:
                    return
                read.append(block)

        reader = threading.Thread(target=follow)
        reader.start()
        stream = os.fdopen(slave, "w", encoding="utf-8")
        with monkeypatch.context() as patched:
            patched.setenv("COLUMNS", "300")
            patched.setattr(sys, "argv", ["kgreason", *words])
            patched.setattr(sys, "stdout", stream)
            patched.setattr(sys, "stderr", stream)
            if colors := sys.modules.get(
                "colorama.initialise"
            ):  # numba's, which looks at the stream in the end
                patched.setattr(colors, "orig_stdout", None)
            with pytest.raises(SystemExit):
                main()
        stream.close()
        reader.join()
        os.close(master)
        return b"".join(read).decode()

    return run


COMMANDS = [
    ("reason --rules own.vada --data DATA", "control("),
    ("reason --rules own.vada --data DATA --json", "control"),
    ("reason --rules own.vada --data DATA --stats --profile", "stratum control"),
    ("reason --rules own.vada --data DATA --out facts", "facts"),
    ("explain --rules own.vada 'control(X, Y)' --data DATA", "control("),
    ("explain --rules own.vada 'control(X, X)' --data DATA --json", "control("),
    ("init FILE", "is written"),
    ("check FILE", "error"),
    ("fmt FILE", "error"),
    ("convert FILE CONVERTED", "rows"),
    ("convert FILE own.mtx", ""),
    ("risk --rules own.vada FILE --exposed 3", "own"),
    ("reason --rules own.vada --data 'own=FILE?columns=owner,none,share'", "none"),
    ("reason --rules own.vada --data own=FILE.csv", "there is no such file"),
    ("reason --rules FILE", "error"),
    ("frobnicate FILE", "no such command"),
    ("anonymize --rules own.vada --data DATA --method klone -k 2 -x 2 --release NEW", "NEW"),
    ("verify --rules own.vada GRAPH --data DATA --mapping secret.csv -x 2", "DOES NOT HOLD"),
    ("verify --rules own.vada GRAPH -x 2", "undecidable alone"),
    ("score --rules own.vada GRAPH --data DATA --mapping secret.csv", "edges added"),
    (
        "attack --rules own.vada GRAPH --data DATA --mapping secret.csv -k 2 -x 2 --knowledge degree",
        "degree",
    ),
    ("report FILE", "error"),
    ("people anonymize FILE --method k-degree -k 2 --release NEW --table", "error"),
    ("reason --rules bad.vada", "bad.vada:2"),
    ("check bad.vada --explain", "bad.vada:2"),
    ("generate er -n 5 -m 3 --out NEW.csv", "NEW"),
    ("--config FILE risk", "error"),
]


@pytest.mark.parametrize(("line", "expected"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_nothing_from_data_acts_on_a_terminal(here: Path, shown: Shown, line: str, expected: str) -> None:
    bad = f"% {TITLE}\np(X) :- q(X, '{NAMES[1]}'.\n"
    (here / "bad.vada").write_text(bad, encoding="utf-8")
    labels = {name: f"{name}{i}" for i, name in enumerate(NAMES)}
    for place, rows in (
        (
            f"graph{TITLE}.csv",
            [("source", "target", "weight"), *((labels[s], labels[t], w) for s, t, w in edges())],
        ),
        ("secret.csv", [("original", "released"), *labels.items()]),
    ):
        with open(place, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
    words = [
        word.replace("DATA", "own=FILE")
        .replace("FILE", FILE)
        .replace("CONVERTED", f"b{TITLE}.json")
        .replace("NEW", f"new{TITLE}")
        .replace("GRAPH", f"graph{TITLE}.csv")
        for word in shlex.split(line)
    ]
    text = shown(*words)
    assert expected.replace("NEW", printable(f"new{TITLE}")) in text
    assert not ACTS.search(text), ACTS.search(text)


def test_a_terminal_shows_names_as_they_are_but_for_what_acts(here: Path, shown: Shown) -> None:
    text = shown("reason", "--rules", "own.vada", "--data", f"own={FILE}")
    for name in NAMES[:-1]:
        assert f'"{printable(name)}"' in text
    assert "[red]Falke[/red]" in text
    assert ":bomb: Gans" in text


def test_json_on_a_terminal_is_json(here: Path, shown: Shown) -> None:
    text = shown("-q", "reason", "--rules", "own.vada", "--data", f"own={FILE}", "--json")
    found = json.loads(text[text.index("{") :])["facts"]["control"]
    assert {name for fact in found for name in fact} == set(NAMES)


def test_pipes_and_files_get_the_data(here: Path) -> None:
    words = ["reason", "--rules", "own.vada", "--data", f"own={FILE}"]
    done = CliRunner().invoke(app, words)
    assert f'"{NAMES[0]}"' in done.stdout
    assert f'"{NAMES[2]}"' in done.stdout
    assert CliRunner().invoke(app, [*words, "--out", "facts"]).exit_code == 0
    with open("facts/control.csv", encoding="utf-8", newline="") as stream:
        assert {name for row in [*csv.reader(stream)][1:] for name in row} == set(NAMES)


def test_what_people_read_is_printable_in_files_too(here: Path) -> None:
    done = CliRunner().invoke(
        app, ["reason", "--rules", "own.vada", "--data", f"own={FILE}x", "--log", "run.log"]
    )
    assert done.exit_code == 2
    assert TITLE not in done.stderr
    assert printable(TITLE) in done.stderr
    log = Path("run.log").read_text(encoding="utf-8")
    assert not ACTS.search(log)
    assert log.count(printable(TITLE)) >= 3  # its start, its parameters, its error


def test_no_line_of_a_log_is_forged(tmp_path: Path) -> None:
    Log(tmp_path / "run.log").write(
        "note", "own\r2026-01-01T00:00:00 1 end exit code 0\n2026 1 end exit code 0"
    )
    lines = (tmp_path / "run.log").read_text(encoding="utf-8").splitlines()
    assert [line.startswith("    ") for line in lines] == [False, True]
    assert "\\u000d2026" in lines[0]


def test_errors_of_python_are_printable(tmp_path: Path) -> None:
    assert str(DataError(f"own{TITLE}.csv", "no")) == f"own{printable(TITLE)}.csv: no"
    with pytest.raises(kgreason.ProgramError) as caught:
        kgreason.load(f'p(X) :- q(X, "{TITLE}".')
    assert not ACTS.search(str(caught.value))


@pytest.mark.parametrize(
    "text", ["né à Zürich", "東京", "سلام", "می\u200cخواهم", "👩\u200d🚀", "a\tb\nc", "[red]", "1\u00a0000"]
)
def test_letters_stay(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "number", [*range(32), *range(127, 160), 0x202E, 0x2066, 0x200B, 0xFEFF, 0xE0041, 0xDC80]
)
def test_characters_that_act_are_written_out(number: int) -> None:
    text = printable(chr(number))
    assert (text == chr(number)) == (chr(number) in "\t\n")
    assert json.loads(f'"{text}"', strict=False) == chr(number)
    assert printable(text) == text


def test_a_screen_is_a_stream() -> None:
    below = io.StringIO()
    screen = Screen(below)
    assert screen.write("a\x1bb") == 3
    print("c", file=screen, flush=True)
    assert (below.getvalue(), screen.isatty(), screen.closed) == ("a\\u001bbc\n", False, False)
