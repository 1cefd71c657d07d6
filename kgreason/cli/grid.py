"""Tables with several columns on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kgreason.printable import printable, raw

Line = tuple[str, ...]


def print_grid(head: Line, lines: Sequence[Line]) -> None:
    """Print a table: first and last column to the left, the others to the right; with borders on a terminal."""
    used = [i for i in range(len(head)) if head[i] or any(line[i] for line in lines)]
    shown = [[line[i] for i in used] for line in (head, *lines)]
    left = {0, len(used) - 1} if len(used) == 2 or not shown[0][-1] else {0}
    if sys.stdout.isatty():
        _print_rich(shown[0], shown[1:], left)
        return
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for line in shown:
        cells = [
            f"{cell:<{width}}" if i in left else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _print_rich(head: Sequence[str], rows: Sequence[Sequence[str]], left: set[int]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table()
    for i, name in enumerate(head):
        shown.add_column(printable(name), justify="left" if i in left else "right")
    for row in rows:
        shown.add_row(*map(printable, row))
    Console(file=raw(sys.stdout), emoji=False).print(shown, markup=False)
