"""Seconds of small runs, as whole processes: ``python benchmarks/small_runs.py``.

What a user waits for on small inputs: the import, help, rules on about a hundred facts (company control, beside clingo
and DuckDB where they are installed), and the commands of the shipped example. Each command is run once before, so that
kernels are compiled and rule files parsed; then all run in turn, and medians of wall-clock and processor seconds are
printed. Figures of different or busy machines are not comparable.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from commands import Ended, ended, reason
from engines import ROOT, RUNNERS
from inputs import companies, write

LIMIT = 600.0  # seconds of a run
COMPANIES = 75  # about 100 shareholdings
SOURCES = ("own", "company")

Run = tuple[Sequence[str], Path]  # words of a command, and the folder in which it runs


def commands(folder: Path) -> dict[str, Run]:
    """Commands by name, and the folders in which they run."""
    kgreason, example = (sys.executable, "-m", "kgreason"), folder / "example"
    shutil.copytree(
        ROOT / "examples" / "ownership", example, ignore=shutil.ignore_patterns("*.py", "release")
    )
    facts = folder / "facts"
    facts.mkdir()
    for name, columns in companies(np.random.default_rng(1), COMPANIES).items():
        write(facts / f"{name}.facts", columns)
    rules = ROOT / "benchmarks" / "programs" / "control.vada"
    data = [f"--data={name}={facts / name}.facts?format=tsv&useHeaders=false" for name in SOURCES]
    started: dict[str, Sequence[str]] = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "import kgreason": (sys.executable, "-c", "import kgreason"),
        "kgreason --version": (*kgreason, "--version"),
        "kgreason --help": (*kgreason, "--help"),
        "kgreason anonymize --help": (*kgreason, "anonymize", "--help"),
        "kgreason reason, 100 facts": (*kgreason, "reason", "--rules", str(rules), *data),
    }
    for peer in ("clingo", "duckdb"):
        if find_spec(peer):
            words = sys.executable, str(RUNNERS / f"run_{peer}.py"), "control", str(facts)
            started[f"{peer}, the same facts"] = words
    rules, pair = example / "control.vada", ("release", "--mapping", "private")
    worked: dict[str, Sequence[str]] = {
        "example: reason": (*kgreason, "reason", "--rules", rules.name, "--out", "facts"),
        "example: risk": (*kgreason, "risk", "--rules", rules.name),
        "example: anonymize": (*kgreason, "anonymize", "--rules", rules.name, "--force"),
        "example: verify": (*kgreason, "verify", *pair, "--rules", rules.name),
        "example: score": (*kgreason, "score", *pair, "--rules", rules.name),
    }
    return {name: (words, folder) for name, words in started.items()} | {
        name: (words, example) for name, words in worked.items()
    }


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Ended:
    """Run a command; any exit code but 0 and 1 ends the benchmark."""
    inside = ["env", "-C", str(folder), *words]
    found = ended(inside, LIMIT, environment=environment)
    if found.code not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {reason(found.errors, found.code)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each command (5)")
    parser.add_argument("--only", default="", help="commands whose names have this text")
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        chosen = commands(Path(folder))
        for words, place in chosen.values():  # a command may need what an earlier one has written
            run(words, place, environment)
        chosen = {name: each for name, each in chosen.items() if options.only in name}
        runs: dict[str, list[Ended]] = {name: [] for name in chosen}
        for _ in range(options.repeats):
            for name, (words, place) in chosen.items():
                runs[name].append(run(words, place, environment))
    print(f"medians of {options.repeats} runs, load {os.getloadavg()[0]:.1f}\n")
    print("| command | s | processor s |\n|---|---|---|")
    for name, found in runs.items():
        clock, processor = median(each.seconds for each in found), median(each.processor for each in found)
        print(f"| {name} | {clock:.2f} | {processor:.2f} |")


if __name__ == "__main__":
    main()
