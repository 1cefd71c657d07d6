"""Seeded inputs of the comparison of reasoners: ``python benchmarks/inputs.py FOLDER [NAME ...]``.

An input is a folder of tab-separated files of integers without headers, one file a relation:

=================================== ==================================================================
edge(x, y)                          every graph
source(x)                           the one start, of chains
own(x, y, k)                        x owns the share k of y, in units of 1/4096
ownk(x, y, j, k)                    the same, with the rank j of x among the owners of y
company(x)                          all companies
alloc, assign, load, store          the statements of a program: v := new o, v := u, v := p^, p^ := u
up(child, parent)                   a layered graph
=================================== ==================================================================

Shares are multiples of a power of two, so sums of them are exact in every engine. The seed is made of the name:
everyone has the same inputs.
"""

from __future__ import annotations

import math
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

UNIT = 4096
BATCH = 1 << 18  # rows written at once

Ints = NDArray[np.int64]
Random = np.random.Generator
Relations = dict[str, tuple[Ints, ...]]  # columns of each relation


def without_repeats(x: Ints, y: Ints, n: int) -> tuple[Ints, Ints]:
    """Sort pairs of numbers below `n`; loops and repetitions are left out."""
    keep = x != y
    codes = np.unique(x[keep] * n + y[keep])
    return codes // n, codes % n


def erdos_renyi(rng: Random, n: int) -> Relations:
    """Return a uniform graph of ``n ln(n) / 2`` edges."""
    m = int(n * math.log(n) / 2)
    codes = np.empty(0, np.int64)
    while len(codes) < m:
        x, y = rng.integers(0, n, m), rng.integers(0, n, m)
        keep = x != y
        codes = np.unique(np.concatenate([codes, x[keep] * n + y[keep]]))
    codes = rng.permutation(codes)[:m]
    return {"edge": (codes // n, codes % n)}


def scale_free(rng: Random, n: int, alpha: float) -> Relations:
    """Return shareholdings whose numbers of companies per owner follow a power law, ``P(d) ~ d^-alpha``."""
    degree = np.minimum(rng.zipf(alpha, n), n // 4)
    owner = np.repeat(np.arange(n), degree)
    x, y = without_repeats(owner, rng.integers(0, n, len(owner)), n)
    order = np.lexsort((x, y))
    x, y = x[order], y[order]
    part = rng.gamma(0.7, size=len(x)) + 1e-3  # some owners hold much more than others
    whole = np.bincount(y, weights=part, minlength=n)
    held = np.where(rng.random(n) < 0.8, 1.0, rng.uniform(0.2, 1.0, n))
    share = np.floor(part / whole[y] * held[y] * UNIT).astype(np.int64)
    return shareholdings(x, y, np.maximum(share, 1), n)


def chain(rng: Random, n: int, shortcuts: int) -> Relations:
    """Return a path with shortcuts over a few vertices, and its start."""
    step, start = np.arange(n - 1), rng.integers(0, n - 25, shortcuts)
    x = np.concatenate([step, start])
    y = np.concatenate([step + 1, start + rng.integers(2, 21, shortcuts)])
    return {"edge": without_repeats(x, y, n), "source": (np.zeros(1, np.int64),)}


def group_sizes(rng: Random, n: int) -> Ints:
    """Sizes of company groups, heavy-tailed, which are `n` together."""
    sizes = np.minimum(1 + rng.pareto(1.0, n) * 2, 600).astype(np.int64)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n) + 1]
    sizes[-1] -= sizes.sum() - n
    return sizes[sizes > 0]


def companies(rng: Random, n: int) -> Relations:
    """Return shareholdings in groups of companies, about 1.3 for each company.

    A group is a narrow pyramid of majorities with deep chains, where some companies are controlled by two others
    only together, and small holdings close cycles. Small holdings across groups come on top.
    """
    sizes = group_sizes(rng, n)
    top, size = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
    company = np.arange(n)
    place = company - top
    inner = place > 0
    parent = top + np.maximum(0, place - rng.integers(1, 3, n))
    joint = inner & (place >= 6) & (rng.random(n) < 0.15)
    major = inner & ~joint & (rng.random(n) < 0.97)
    minor = inner & ~joint & ~major
    columns: list[tuple[Ints, Ints, Ints]] = []

    def hold(where: NDArray[np.bool_], owner: Ints, low: float, high: float) -> None:
        share = rng.integers(int(low * UNIT), int(high * UNIT), where.sum())
        columns.append((owner[where], company[where], share))

    hold(major, parent, 0.51, 0.80)
    hold(minor, parent, 0.10, 0.45)
    partner = top + np.maximum(0, place - 5 - rng.integers(0, 2, n))
    hold(joint, parent, 0.26, 0.34)
    hold(joint, partner, 0.26, 0.34)
    cycle = (size > 3) & (rng.random(n) < 0.05)
    hold(cycle & (place < size - 6), np.minimum(n - 1, company + 6), 0.01, 0.08)
    across = rng.random(n) < 0.40
    hold(across, rng.integers(0, n, n), 0.01, 0.10)

    x, y, k = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    x, y, k = x[x != y], y[x != y], k[x != y]
    _, first = np.unique(x * n + y, return_index=True)
    number = rng.permutation(n)  # numbers tell nothing of groups
    return shareholdings(number[x[first]], number[y[first]], k[first], n)


def shareholdings(x: Ints, y: Ints, k: Ints, n: int) -> Relations:
    """Relations of shareholdings; companies that are held by more than a whole are mended or left without owners."""

    def held() -> Ints:
        return np.bincount(y, weights=k, minlength=n).astype(np.int64)

    over = (held() > UNIT)[y]
    k = np.where(over, np.maximum(1, (k * (UNIT * 0.9) / held()[y]).astype(np.int64)), k)
    keep = ~(held() > UNIT)[y]
    x, y, k = x[keep], y[keep], k[keep]
    order = np.lexsort((x, y))
    x, y, k = x[order], y[order], k[order]
    rank = np.arange(len(y)) - np.searchsorted(y, y)
    return {"edge": (x, y), "own": (x, y, k), "ownk": (x, y, rank, k), "company": (np.arange(n),)}


def pointers(rng: Random, n: int) -> Relations:
    """Return the statements of a program of `n` variables in modules; most stay in their module."""
    objects, module = n // 3, 60

    def near(variable: Ints) -> Ints:
        far = rng.random(len(variable)) < 0.03
        neighbour = variable // module * module + rng.integers(0, module, len(variable))
        return np.where(far, rng.integers(0, n, len(variable)), np.minimum(n - 1, neighbour))

    relations: Relations = {"alloc": (rng.choice(n, objects, replace=False), np.arange(objects))}
    for name, m in (("assign", n), ("load", n // 8), ("store", n // 8)):
        variable = rng.integers(0, n, m)
        relations[name] = without_repeats(variable, near(variable), n)
    return relations


def generations(rng: Random, n: int) -> Relations:
    """Return a graph in layers; everyone has one or two parents in the layer above."""
    width = max(8, int(math.sqrt(n)) * 2)
    child = np.arange(width, n)
    above = child // width * width - width
    first = above + rng.integers(0, width, len(child))
    two = rng.random(len(child)) < 0.3
    second = above + rng.integers(0, width, len(child))
    x, y = np.concatenate([child, child[two]]), np.concatenate([first, second[two]])
    return {"up": without_repeats(x, y, n)}


INPUTS: dict[str, Callable[[Random], Relations]] = {
    "er1k": lambda rng: erdos_renyi(rng, 1_000),
    "er2k": lambda rng: erdos_renyi(rng, 2_000),
    "er5k": lambda rng: erdos_renyi(rng, 5_000),
    "er10k": lambda rng: erdos_renyi(rng, 10_000),
    "sf10k_a5": lambda rng: scale_free(rng, 10_000, 5),
    "sf1m_a2.5": lambda rng: scale_free(rng, 1_000_000, 2.5),
    "chain5k": lambda rng: chain(rng, 5_000, 250),
    "chain20k": lambda rng: chain(rng, 20_000, 1_000),
    "comp1k": lambda rng: companies(rng, 1_000),
    "comp10k": lambda rng: companies(rng, 10_000),
    "comp100k": lambda rng: companies(rng, 100_000),
    "comp1m": lambda rng: companies(rng, 1_000_000),
    "pt5k": lambda rng: pointers(rng, 5_000),
    "pt20k": lambda rng: pointers(rng, 20_000),
    "sg2k": lambda rng: generations(rng, 2_000),
    "sg10k": lambda rng: generations(rng, 10_000),
}


def write(path: Path, columns: tuple[Ints, ...]) -> None:
    """Write a relation as tab-separated lines."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        for start in range(0, len(columns[0]), BATCH):
            rows = zip(*(column[start : start + BATCH].tolist() for column in columns), strict=True)
            file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def generate(name: str, folder: Path) -> Path:
    """Return the folder of an input, which is made if it is not yet in `folder`; it appears whole or not at all."""
    place = folder / name
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            unfinished = Path(work, name)
            unfinished.mkdir()
            for relation, columns in INPUTS[name](np.random.default_rng(zlib.crc32(name.encode()))).items():
                write(unfinished / f"{relation}.facts", columns)
            unfinished.rename(place)
    return place


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    if unknown := set(sys.argv[2:]) - set(INPUTS):
        raise SystemExit(f"no such input: {', '.join(sorted(unknown))}; there are {', '.join(INPUTS)}")
    for name in sys.argv[2:] or INPUTS:
        print(generate(name, Path(sys.argv[1])), flush=True)


if __name__ == "__main__":
    main()
