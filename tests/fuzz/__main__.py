"""Mutated inputs in several processes, for some time or some number of them.

``python -m tests.fuzz --seconds 60`` begins with a fresh seed, which it prints; ``--seed S --only N`` repeats the
input with number N. Inputs that fail are kept in a folder that is named at the end; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from tests.fuzz.corpus import cases
from tests.fuzz.run import SECONDS, Finding, drawn, examine, work

_HANGS = 300  # seconds after which a process is ended


def main() -> int:
    """Run the command line."""
    given = _arguments()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    if given.only is not None:
        return _one(seed, given.only)
    print(f"seed {seed}, {given.workers} processes", flush=True)
    with TemporaryDirectory(prefix="kgreason-fuzz-work-") as place:
        kinds, count = _all(seed, given, Path(place))
    print(f"seed {seed}: {count:,} inputs, {sum(kinds.values())} failed, in {len(kinds)} ways")
    for kind, times in kinds.most_common():
        print(f"  {times:6,} {kind}")
    return 1 if kinds else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=None, help="how long; default: 60, or until --count")
    parser.add_argument("--count", type=int, default=None, help="how many inputs")
    parser.add_argument("--seed", type=int, default=None, help="default: a fresh one")
    parser.add_argument("--only", type=int, default=None, help="one input, by its number")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--keep", type=Path, default=None, help="folder for inputs that fail; default: a new one"
    )
    given = parser.parse_args()
    if given.seconds is None and given.count is None:
        given.seconds = 60.0
    return given


def _one(seed: int, number: int) -> int:
    case, data = drawn(cases(), seed, number)
    with TemporaryDirectory() as place:
        found = examine(case, data, Path(place) / "input", number)
    print(f"{case.name}: {data[:2_000]!r}")
    print("nothing is wrong" if found is None else f"{found.kind}\n{found.text}")
    return 0 if found is None else 1


def _all(seed: int, given: argparse.Namespace, place: Path) -> tuple[Counter[str], int]:
    """Failures by kind, and the number of inputs."""
    context = multiprocessing.get_context("spawn")
    at: Any = context.Array("q", [-1] * given.workers, lock=False)  # number that each process is at
    done: Any = context.Array("q", [0] * given.workers, lock=False)
    begun = time.monotonic()
    kinds: Counter[str] = Counter()
    keep: Path | None = given.keep

    def start(worker: int, first: int) -> tuple[Any, Connection]:
        here, there = context.Pipe(duplex=False)
        passed = time.monotonic() - begun if first >= given.workers else 0
        left = None if given.seconds is None else given.seconds - passed
        arguments = (worker, given.workers, first, given.count, seed, left, place, there, at, done)
        process = context.Process(target=work, args=arguments)
        process.start()
        there.close()
        return process, here

    def record(found: Finding) -> None:
        nonlocal keep
        kinds[found.kind] += 1
        if kinds[found.kind] > 3:
            return
        if keep is None:
            keep = Path(mkdtemp(prefix="kgreason-fuzz-"))
        case, data = drawn(known, seed, found.number)
        folder = keep / str(found.number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / case.mutated).write_bytes(data)
        (folder / "finding.txt").write_text(f"{found.case}\n{found.kind}\n{found.text}\n", encoding="utf-8")
        print(f"{found.kind}: {folder / case.mutated} (--seed {seed} --only {found.number})", flush=True)

    known = cases()
    running = {worker: start(worker, worker) for worker in range(given.workers)}
    moved = {worker: (time.monotonic(), -1) for worker in running}
    told = time.monotonic()
    while running:
        wait([pipe for _, pipe in running.values()], timeout=1)
        for worker, (process, pipe) in list(running.items()):
            for found in _received(pipe):
                record(found)
            if moved[worker][1] != at[worker]:
                moved[worker] = time.monotonic(), at[worker]
            hangs = time.monotonic() - moved[worker][0] > _HANGS
            if hangs:
                process.kill()
            if hangs or not process.is_alive():
                process.join()
                for found in _received(pipe):
                    record(found)
                del running[worker]
                if process.exitcode:
                    number = int(at[worker])
                    if number < 0:
                        raise SystemExit("a process ends before its first input")
                    case = drawn(known, seed, number)[0].name
                    why = "hangs" if hangs else f"dies with exit code {process.exitcode}"
                    record(Finding(number, case, f"the process {why}: {case}", why))
                    running[worker] = start(worker, number + given.workers)
                    moved[worker] = time.monotonic(), -1
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"{sum(done):,} inputs after {told - begun:.0f} s", flush=True)
            for since, number in moved.values():
                if told - since > 2 * SECONDS:
                    print(f"  input {number} takes {told - since:.0f} s already", flush=True)
    return kinds, sum(done)


def _received(pipe: Connection) -> Iterator[Finding]:
    with suppress(EOFError):
        while pipe.poll():
            yield pipe.recv()


if __name__ == "__main__":
    sys.exit(main())
