"""Run kgreason: ``python run_kgreason.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

from pathlib import Path

import common

import kgreason
from kgreason.base.resources import collect_rarely

RULES = Path(__file__).parents[1] / "programs"


def evaluate(program: str, folder: Path) -> common.Relation:
    rules = RULES / f"{program}.vada"
    files = common.named(rules.read_text(encoding="utf-8"), folder)
    sources = {path.stem: f"{path}?format=tsv&useHeaders=false" for path in files}
    derived = kgreason.reason(rules, sources, outputs=program)

    def columns() -> common.Columns:
        x, y = derived.to_arrow(program).columns
        return x.to_numpy(), y.to_numpy()

    return common.Relation(lambda: derived.facts.count(program), columns)


if __name__ == "__main__":
    collect_rarely()  # as the command ``kgreason`` does
    common.main(evaluate)
