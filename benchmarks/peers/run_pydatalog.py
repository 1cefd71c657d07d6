"""Run pyDatalog: ``python run_pydatalog.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

import sys
from pathlib import Path

import common
from pyDatalog import pyDatalog


def evaluate(program: str, folder: Path) -> common.Relation:
    sys.setrecursionlimit(1_000_000)
    text = (common.PROGRAMS / f"{program}.pydatalog").read_text(encoding="utf-8")
    for path in common.named(text, folder):
        for row in common.read(path):
            pyDatalog.assert_fact(path.stem, *row)
    pyDatalog.load(text)
    answers = pyDatalog.ask(f"{program}(X, Y)").answers
    return common.Relation(lambda: len(answers), lambda: common.columns(answers))


if __name__ == "__main__":
    common.main(evaluate)
