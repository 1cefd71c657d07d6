"""Run DuckDB in memory: ``python run_duckdb.py PROGRAM FOLDER [--digest]``.

A program is a script that makes a view or table of its name; what follows the line ``-- WHILE delta HAS ROWS`` is
repeated. Each is the fastest of three formulations: a recursive query, one with ``USING KEY``, and a loop.
"""

from __future__ import annotations

from pathlib import Path

import common
import duckdb


def evaluate(program: str, folder: Path) -> common.Relation:
    connection = duckdb.connect()

    def count(table: str) -> int:
        return int(connection.execute(f"select count(*) from {table}").fetchall()[0][0])

    def columns() -> common.Columns:
        import numpy as np  # only here: it would slow a timed run

        found = connection.execute(f"select x, y from {program}").fetchnumpy()
        return np.asarray(found["x"]), np.asarray(found["y"])

    text = (common.PROGRAMS / f"{program}.sql").read_text(encoding="utf-8")
    for path in common.named(text, folder):
        types = dict.fromkeys(common.FILES[path.stem], "integer")
        rows = f"read_csv('{path}', delim='\t', header=false, columns={types})"
        connection.execute(f"create table {path.stem} as from {rows}")
    start, _, step = text.partition("-- WHILE delta HAS ROWS\n")
    connection.execute(start)
    while step and count("delta"):
        connection.execute(step)
    return common.Relation(lambda: count(program), columns)


if __name__ == "__main__":
    common.main(evaluate)
