"""Run Logica on DuckDB: ``python run_logica.py PROGRAM FOLDER [--digest]``.

Programs end by a test on the size of the relation. There is none for company control: its size can stand still in a
round that still adds to sums.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import common

HEAD = """\
@Engine("duckdb");
@Recursive(R, -1, stop: Stop);
Before() += 1 :- R(x, y);
Stop() :- Before() == Sum{1 :- R(x, y)};
Rows() += 1 :- R(x, y);
"""


def source(path: Path) -> str:
    """Return the statement that reads a file."""
    names = common.FILES[path.stem]
    types = ", ".join(f"{name}: 'INTEGER'" for name in names)
    table = f'read_csv("{path}", delim="\t", header=false, columns={{{types}}})'
    head = f"{path.stem.capitalize()}({', '.join(names)})"
    return f"@Ground({head.partition('(')[0]});\n{head} :- `({table})`({', '.join(f'{name}:' for name in names)});\n"


def evaluate(program: str, folder: Path) -> common.Relation:
    text = (common.PROGRAMS / f"{program}.l").read_text(encoding="utf-8")
    sources = "".join(source(path) for path in common.named(text.lower(), folder))

    def rows(predicate: str) -> Iterator[list[int]]:
        # not `run`, which unrolls the recursion to a fixed depth
        with TemporaryDirectory() as place:
            file = Path(place, "program.l")
            file.write_text(HEAD + sources + text, encoding="utf-8")
            command = [sys.executable, "-m", "logica", str(file), "run_in_terminal", predicate]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
        if len(lines) < 2:
            raise SystemExit(done.stdout + done.stderr)
        for line in lines[1:]:
            yield [int(cell) for cell in line.strip("|").split("|")]

    return common.Relation(lambda: next(rows("Rows"))[0], lambda: common.columns(rows("R")))


if __name__ == "__main__":
    common.main(evaluate)
