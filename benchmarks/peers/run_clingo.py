"""Run clingo, by its grounder alone: ``python run_clingo.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

from pathlib import Path

import clingo
import common


def evaluate(program: str, folder: Path) -> common.Relation:
    text = (common.PROGRAMS / f"{program}.lp").read_text(encoding="utf-8")
    control = clingo.Control(["--warn=none"])
    for path in common.named(text, folder):
        rows = path.read_text(encoding="ascii").replace("\t", ",").split()
        control.add("base", [], "".join(f"{path.stem}({row}).\n" for row in rows))
    control.add("base", [], text)
    control.ground([("base", [])])

    def size() -> int:
        atoms = control.symbolic_atoms  # valid only while `control` lives
        others = (atoms.by_signature(name, arity) for name, arity, _ in atoms.signatures if name != program)
        return len(atoms) - sum(1 for other in others for _ in other)

    def columns() -> common.Columns:
        found = (atom.symbol.arguments for atom in control.symbolic_atoms.by_signature(program, 2))
        return common.columns((x.number, y.number) for x, y in found)

    return common.Relation(size, columns)


if __name__ == "__main__":
    common.main(evaluate)
