"""Time edits of an ownership graph of a million companies: ``python benchmarks/incremental.py``.

A `Reasoner` of company control is built, then random edits follow, one shareholding each: bought, sold, every fourth by
an owner among those that control the most. Each edit is timed, and at the end all facts are compared with those of a
fresh run on the edited data. Times are wall-clock.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import resource
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
import pyarrow as pa

import kgreason

UNIT = 4096
CONTROL = """
@output("control").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > {half}.
"""
ULTIMATE = """
@output("ultimate").
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
"""
Row = tuple[int, int, float]


def companies(n: int, rng: np.random.Generator) -> np.ndarray:
    """Shareholdings as (owner, company, share of UNIT), shape (rows, 3): most companies have one large owner.

    Owners are companies numbered lower, most of them a little, so that chains of control arise, and some a lot, so
    that a few control very many.
    """
    company = np.concatenate([rng.permutation(n)[: n * 8 // 10], rng.integers(0, n, n // 2)])
    far = rng.random(len(company)) < 0.3
    owner = np.where(
        far, company * rng.random(len(company)) ** 3, company - rng.geometric(0.0005, len(company))
    )
    owner = owner.astype(np.int64) % n
    share = rng.integers(UNIT // 2 + 1, UNIT * 3 // 4, len(company))
    share[n * 8 // 10 :] = rng.integers(1, UNIT // 8, n // 2)
    _, first = np.unique(owner * n + company, return_index=True)
    rows = np.column_stack([owner, company, share])[first]
    return rows[rows[:, 0] != rows[:, 1]]


def edits(
    rows: np.ndarray, hubs: np.ndarray, n: int, count: int, rng: np.random.Generator
) -> Iterator[tuple[bool, Row]]:
    """Whether to add, and a shareholding; those removed were there, half of those added are large."""
    alive = {(a, b): w for a, b, w in rows.tolist()}
    by_owner: dict[int, list[tuple[int, int]]] = {}
    for a, b in alive:
        by_owner.setdefault(a, []).append((a, b))
    keys = list(alive)
    for i in range(count):
        hub = i % 4 == 0
        owner = int(rng.choice(hubs))
        if i % 2:
            held = [k for k in by_owner.get(owner, []) if k in alive] if hub or i % 4 == 1 else []
            pair = held[rng.integers(len(held))] if held else keys[rng.integers(len(keys))]
            if pair in alive:
                yield False, (*pair, alive.pop(pair))
            continue
        pair = (owner if hub else int(rng.integers(n)), int(rng.integers(n)))
        share = int(rng.integers(UNIT // 2 + 1, UNIT)) if i % 4 else int(rng.integers(1, UNIT))
        if pair not in alive:
            alive[pair] = share
            yield True, (*pair, share)


def memory() -> float:
    """Greatest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run(n: int, count: int, *, doubles: bool, ultimate: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = companies(n, rng)
    unit = UNIT if doubles else 1
    rules = CONTROL.format(half=0.5 if doubles else UNIT // 2) + (ULTIMATE if ultimate else "")

    def data(rows: np.ndarray) -> dict[str, object]:
        own = {
            "owner": rows[:, 0],
            "company": rows[:, 1],
            "share": rows[:, 2] / unit if doubles else rows[:, 2],
        }
        return {"own": pa.table(own), "company": pa.table({"company": np.arange(n)})}

    kind = "doubles" if doubles else "integers"
    print(f"\n{n:,} companies, {len(rows):,} shareholdings, {kind}{', ultimate' * ultimate}")
    start = perf_counter()
    fresh = kgreason.reason(rules, data(rows))
    print(f"  fresh run        {perf_counter() - start:8.2f} s   {memory():.2f} GB")
    print(f"  facts of control {fresh.facts.count('control'):,}")
    sizes = np.bincount(fresh.facts.tables["control"].columns[0], minlength=n)
    hubs = np.argsort(sizes)[-200:]
    print(f"  hubs control     {sizes[hubs].min():,} to {sizes[hubs].max():,}")
    del fresh
    start = perf_counter()
    reasoner = kgreason.Reasoner(rules, data(rows))
    print(f"  Reasoner built   {perf_counter() - start:8.2f} s   {memory():.2f} GB")
    times, changed = [], []
    alive = {(a, b): w for a, b, w in rows.tolist()}
    planned = list(edits(rows, hubs, n, count, rng))
    gc.freeze()  # the objects of this script shall not cost the edits time
    for add, (a, b, w) in planned:
        start = perf_counter()
        row = (a, b, w / unit if doubles else w)
        changes = (reasoner.add_facts if add else reasoner.remove_facts)({"own": [row]})
        times.append(1000 * (perf_counter() - start))
        changed.append(sum(map(len, (*changes.added.values(), *changes.removed.values()))))
        if add:
            alive[a, b] = w
        else:
            del alive[a, b]
    median, high, most = np.percentile(times, [50, 95, 100])
    print(f"  {len(times)} edits, ms:   median {median:.2f}, 95th percentile {high:.2f}, max {most:.2f}")
    print(f"  facts changed: median {np.median(changed):.0f}, max {max(changed):,}; {memory():.2f} GB")
    start = perf_counter()
    fresh = kgreason.reason(rules, data(np.array([(a, b, w) for (a, b), w in alive.items()])))
    print(f"  fresh run        {perf_counter() - start:8.2f} s")
    for goal in reasoner.predicates:
        assert ordered(reasoner.facts.tables[goal]) == ordered(fresh.facts.tables[goal]), goal
    print("  all facts equal those of the fresh run")


def ordered(table: object) -> bytes:
    columns = table.columns  # type: ignore[attr-defined]
    return np.stack(columns)[:, np.lexsort(columns)].tobytes()


def at_least(least: int) -> Callable[[str], int]:
    """Reads a whole number that is not below another one."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--companies", type=at_least(100), default=1_000_000)
    parser.add_argument("--edits", type=at_least(1), default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores")
    for doubles, ultimate in ((False, False), (True, True)):
        run(arguments.companies, arguments.edits, doubles=doubles, ultimate=ultimate, seed=arguments.seed)


if __name__ == "__main__":
    main()
