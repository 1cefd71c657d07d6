"""Run Nemo: ``python run_nemo.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import common
from nmo_python import NemoEngine, load_string


def evaluate(program: str, folder: Path) -> common.Relation:
    text = (common.PROGRAMS / f"{program}.rls").read_text(encoding="utf-8").replace("FOLDER", str(folder))

    def rows(rule: str, output: str) -> Iterator[list[int]]:
        engine = NemoEngine(load_string(f"{text}{rule}\n@output {output} .\n"))
        engine.reason()
        yield from engine.result(output)

    def size() -> int:
        return next(rows(f"size(#count(?x, ?y)) :- {program}(?x, ?y) .", "size"))[0]

    return common.Relation(size, lambda: common.columns(rows("", program)))


if __name__ == "__main__":
    common.main(evaluate)
