"""Tables with several columns on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO

from kgreason.printable import printable, raw

Line = tuple[str, ...]


def print_grid(head: Line, lines: Sequence[Line]) -> None:
    """Print a table: first and last column to the left, the others to the right; with borders on a terminal."""
    from rich.box import HEAVY_HEAD
    from rich.console import Console
    from rich.table import Table

    used = [i for i in range(len(head)) if head[i] or any(line[i] for line in lines)]
    left = {0, len(used) - 1} if len(used) == 2 or not head[used[-1]] else {0}
    on_terminal = sys.stdout.isatty()
    table = Table(box=HEAVY_HEAD) if on_terminal else Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, i in enumerate(used):
        table.add_column(printable(head[i]), justify="left" if place in left else "right")
    for line in lines:
        table.add_row(*(printable(line[i]) for i in used))
    if on_terminal:
        Console(file=raw(sys.stdout), emoji=False, markup=False).print(table)
        return
    plain = StringIO()
    Console(file=plain, width=10_000, emoji=False, markup=False).print(table)
    print("\n".join(line.rstrip() for line in plain.getvalue().splitlines()))
