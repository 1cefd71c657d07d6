"""Run egglog: ``python run_egglog.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

from pathlib import Path

import common
from egglog.bindings import EGraph


def evaluate(program: str, folder: Path) -> common.Relation:
    text = (common.PROGRAMS / f"{program}.egg").read_text(encoding="utf-8").replace("FOLDER", str(folder))
    graph = EGraph()
    graph.run_program(*graph.parse_program(f"{text}\n(run 1000000)"))

    def size() -> int:
        (found,) = graph.run_program(*graph.parse_program(f"(print-size {program})"))
        return int(found.size)

    def columns() -> common.Columns:
        command = f"(print-function {program} {size()} :mode csv)"
        (found,) = graph.run_program(*graph.parse_program(command))
        lines = (line.split(",") for line in str(found).split("\n") if line)
        return common.columns((int(line[1]), int(line[2])) for line in lines)

    return common.Relation(size, columns)


if __name__ == "__main__":
    common.main(evaluate)
