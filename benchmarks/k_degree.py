"""k-degree anonymity of undirected graphs: ``python benchmarks/k_degree.py DATA [PART...]``.

DATA is the folder of public graphs. Parts are ``sequence`` (degrees alone, of 1,000,000 vertices) and ``graph`` (the
whole of it on email-Eu-core, taken as undirected); by default both. Figures are medians of several runs with their
range. Every release is decided by the checker, which also recomputes all figures from the two graphs; one that does not
hold ends the run. ``construct + switches`` is no release: it is the relaxed construction of Liu and Terzi, from the
degrees of ``relaxed``, to compare with.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence as Several
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import get_args

import numpy as np

from kgreason.people import anonymize as anonymize_people
from kgreason.people import read as read_people
from kgreason.people.anonymizers.degree_sequence import anonymous_degrees
from kgreason.people.anonymizers.k_degree import Edges, edges_of
from kgreason.people.anonymizers.undirected_realization import construct
from kgreason.people.model import PeopleGraph
from kgreason.people.settings import Construction, Sequence

SEQUENCES, RUNS = 3, 5
BEAT = {10: (1_633, 664, 4.0), 20: (3_371, 1_196, 21.0)}
"""Edges added, removed and seconds that are to be beaten, by k."""


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    for part in sys.argv[2:] or ["sequence", "graph"]:
        {"sequence": sequence, "graph": graph}[part](data)


def sequence(_: Path) -> None:
    """Seconds for degrees that a power law draws, and what they cost."""
    n, rng = 1_000_000, np.random.default_rng(1)
    degrees = np.minimum(rng.zipf(2.0, n), 10_000)
    anonymous_degrees(degrees[:1_000], 50, rng=rng)  # compiled before
    print(f"\nDegrees of {n:,} vertices by a power law (exponent 2), at most {degrees.max():,}; seconds, L1")
    for k in (10, 50, 100):
        for method in get_args(Sequence):
            seconds = []
            for _again in range(SEQUENCES):
                start = time.perf_counter()
                made = anonymous_degrees(degrees, k, rng=rng, method=method)
                seconds.append(time.perf_counter() - start)
            assert np.unique(made, return_counts=True)[1].min() >= k
            assert (made >= degrees).all()
            print(
                f"  k = {k:<3} {method:<6} {spread(seconds, 2)} s, L1 {int((made - degrees).sum()):,}",
                flush=True,
            )


def graph(data: Path) -> None:
    """Releases of email-Eu-core by each construction."""
    original = emails(data)
    edges = len(original.relations["mail"]) // 2
    print(
        f"\nemail-Eu-core, undirected, without users who write to nobody else: {original.n:,} users, {edges:,} edges"
    )
    anonymize_people(original, method="k-degree", k=3)  # compiled before
    for k, (added, removed, seconds) in BEAT.items():
        print(f"  k = {k}, to beat: {added:,} added, {removed:,} removed, {seconds} s", flush=True)
        for construction in get_args(Construction):
            for method in get_args(Sequence):
                print(
                    f"    {construction:<10} {method:<6} {released(original, k, construction, method)}",
                    flush=True,
                )
        for method in get_args(Sequence):
            print(
                f"    construct + switches (Liu and Terzi) {method:<6} {by_switches(original, k, method)}",
                flush=True,
            )
    print(f"\nAt most {getrusage(RUSAGE_SELF).ru_maxrss >> 10:,} MB")


def released(original: PeopleGraph, k: int, construction: Construction, method: Sequence) -> str:
    """What some releases are worth, all of which hold; seconds are those of the anonymization alone."""
    found, seconds = [], []
    for _ in range(RUNS):
        result = anonymize_people(
            original, method="k-degree", k=k, construction=construction, sequence=method
        )
        if not result.holds:
            raise SystemExit(f"{construction}, {method}, k = {k} DOES NOT HOLD:\n{result.verdict}")
        assert result.utility.structure is not None
        found.append(result.utility.structure)
        seconds.append(result.seconds["anonymize"])
    added, removed, cost, clustering, length = (
        [getattr(f, name) for f in found]
        for name in ("added", "removed", "l1", "clustering_released", "path_length_released")
    )
    first = found[0]
    return (
        f"{spread(added)} added, {spread(removed)} removed, {spread(seconds, 2)} s, L1 {spread(cost)}, clustering "
        f"{first.clustering:.4f} -> {spread(clustering, 4)}, path length {first.path_length:.3f} -> "
        f"{spread(length, 3)}; all {RUNS} hold"
    )


def by_switches(original: PeopleGraph, k: int, method: Sequence) -> str:
    """The literature's way: a graph from the degrees alone, and switches of two edges that bring original ones back."""
    edges = edges_of(original.n, original.relations["mail"])
    old = np.bincount(edges.ravel(), minlength=original.n)
    seconds, added, removed, cost = [], [], [], []
    for seed in range(RUNS):
        rng, start = np.random.default_rng(seed), time.perf_counter()
        wanted = anonymous_degrees(old, k, rng=rng, method=method, lowering=True, even=True)
        made = switched(edges, construct(wanted, rng))
        seconds.append(time.perf_counter() - start)
        degrees = np.bincount(made.ravel(), minlength=original.n)
        assert np.unique(degrees, return_counts=True)[1].min() >= k
        numbers, others = (one @ [original.n, 1] for one in (edges, made))
        added.append(len(np.setdiff1d(others, numbers)))
        removed.append(len(np.setdiff1d(numbers, others)))
        cost.append(int(np.abs(degrees - old).sum()))
    return f"{spread(added)} added, {spread(removed)} removed, {spread(seconds, 2)} s, L1 {spread(cost)}"


def switched(edges: Edges, start: Edges) -> Edges:
    """Bring original edges back by switches of two edges, until none gains (Liu and Terzi 2008, Greedy_Swap)."""
    old, near = (neighbours(one) for one in (edges, start))

    def gained(a: int, c: int) -> bool:
        for d in near[c] - old[c] - {a}:
            # a-b was added as well, or it is an original edge, but so is b-d
            both = near[a] - old[a] | near[a] & old[d]
            for b in both - near[d] - {c, d}:
                for u, v in ((a, b), (c, d)):
                    near[u].remove(v)
                    near[v].remove(u)
                for u, v in ((a, c), (b, d)):
                    near[u].add(v)
                    near[v].add(u)
                return True
        return False

    while sum(gained(a, c) for a, c in edges.tolist() if c not in near[a]):
        pass
    return np.array([(a, b) for a in near for b in near[a] if a < b], dtype=np.int64)


def neighbours(edges: Edges) -> dict[int, set[int]]:
    """Who is linked with whom."""
    found: dict[int, set[int]] = defaultdict(set)
    for a, b in edges.tolist():
        found[a].add(b)
        found[b].add(a)
    return found


def spread(values: Several[float], digits: int = 0) -> str:
    """Median, and in brackets the least and the largest where they differ as printed."""
    low, middle, high = (f"{v:,.{digits}f}" for v in (min(values), float(np.median(values)), max(values)))
    return middle if low == high else f"{middle} [{low} .. {high}]"


def emails(data: Path) -> PeopleGraph:
    """The e-mails, each pair of users once, of those who exchanged some with others."""
    schema = (
        f'[[triples]]\nfiles = ["{data}/social/email-Eu-core.txt"]\ncolumns = ["user", "target"]\nrelation = "mail"\n'
        '[kinds]\nmutual = ["mail"]\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.toml"
        path.write_text(schema, encoding="utf-8")
        whole = read_people(path)
    return whole.of(np.flatnonzero(whole.out_degrees()[:, 0] > 0))


if __name__ == "__main__":
    main()
