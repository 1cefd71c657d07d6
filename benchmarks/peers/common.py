"""What the runners share: each is called as ``python run_ENGINE.py PROGRAM FOLDER [--digest]``.

A runner derives the binary relation named as the program from the files in the folder, and prints its size. With
``--digest`` it prints a digest of the whole relation too, that is the same in any order of the rows. Nothing is
imported here that the engine does not need, as the whole process is timed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Columns = tuple[NDArray[np.integer], NDArray[np.integer]]

PROGRAMS = Path(__file__).with_name("programs")
FILES = {
    "edge": ("x", "y"),
    "source": ("x",),
    "own": ("x", "y", "k"),
    "ownk": ("x", "y", "j", "k"),
    "company": ("x",),
    "alloc": ("v", "o"),
    "assign": ("v", "u"),
    "load": ("v", "p"),
    "store": ("p", "u"),
    "up": ("child", "parent"),
}


class Relation(NamedTuple):
    """A derived relation, by what may be asked of it: the number of its rows, or all of them."""

    size: Callable[[], int]
    columns: Callable[[], Columns]


def read(path: Path) -> Iterator[tuple[int, ...]]:
    """Yield the rows of a file."""
    with path.open(encoding="ascii") as file:
        for line in file:
            yield tuple(map(int, line.split("\t")))


def named(text: str, folder: Path) -> list[Path]:
    """Files of relations that a program mentions."""
    return [folder / f"{name}.facts" for name in FILES if re.search(rf"\b{name}\b", text)]


def columns(rows: Iterable[Iterable[int]]) -> Columns:
    """Two columns of pairs."""
    from itertools import chain

    import numpy as np

    flat = np.fromiter(chain.from_iterable(rows), np.int64)
    return flat[0::2], flat[1::2]


def digest(found: Columns) -> str:
    """Sum and exclusive or of a hash of each row, which do not depend on the order of rows."""
    import numpy as np

    def mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    total, either, step = 0, 0, 1 << 20
    for start in range(0, len(found[0]), step):
        x, y = (column[start : start + step].astype(np.uint64) for column in found)
        hashed = mixed(mixed(x + np.uint64(0x9E3779B97F4A7C15)) + y)
        total += int(hashed.sum(dtype=np.uint64))
        either ^= int(np.bitwise_xor.reduce(hashed))
    return f"{total % 2**64:016x}{either:016x}"


def main(evaluate: Callable[[str, Path], Relation]) -> None:
    """Run an engine as the command line says."""
    program, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    relation = evaluate(program, folder)
    if "--digest" in sys.argv[3:]:
        found = relation.columns()
        print("SIZE", len(found[0]))
        print("DIGEST", digest(found))
    else:
        print("SIZE", relation.size())
