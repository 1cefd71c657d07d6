"""Graphs of people beyond the papers' tables: ``python benchmarks/attribute_kg.py DATA [PART...]``.

DATA is the folder of public graphs. Parts are ``time`` (distances, then the whole of PCKGA on YAGO), ``large`` (50,000
users), ``degrees`` (Paired k-degree on DBLP) and ``levels`` (what the authors' k tell of the data, and for whom
recommended k keep the confidence); by default all. Every release is verified. What the papers print is
measured by ``people_papers.py``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
from people_kg.people_data import RELATIONS, authors_levels, by_schema, people

from kgreason.people import anonymize as anonymize_people
from kgreason.people import attack as attack_people
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.level_dependence import dependences
from kgreason.people.model import PeopleGraph
from kgreason.people.recommended_levels import recommended

DBLP = (776, 2_000, 3_439, 3_935, 4_754, 5_365, 6_396, 7_646, 8_048)  # edges that CTKGA adds for k = 2 .. 10


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    for part in sys.argv[2:] or ["time", "large", "degrees", "levels"]:
        {"time": times, "large": large, "degrees": degrees, "levels": public_levels}[part](data)


def times(data: Path) -> None:
    print("\nTime: all distances by ADM")
    for name in RELATIONS:
        graph = people(data, name)
        AttributeDegreeLoss(graph).between(np.arange(2))
        start = time.perf_counter()
        matrix = AttributeDegreeLoss(graph).between(np.arange(graph.n))
        spent = time.perf_counter() - start
        print(
            f"  {name}: {graph.n:,} users, {spent:.2f} s, {matrix.nbytes >> 20:,} MB, at most {peak()} so far"
        )
    start = time.perf_counter()
    levels = authors_levels(data, "yago", "zipf_5-50-5-2", 0)
    for title, options in (("published", {"mode": "published"}), ("the default", {})):
        own = dict(zip(graph.labels.tolist(), levels.tolist(), strict=True))
        start = time.perf_counter()
        result = anonymize_people(graph, k_values=own, **options)  # type: ignore[arg-type]
        spent = time.perf_counter() - start
        stages = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
        print(
            f"  PCKGA on YAGO, zipf 5-50-5, {title}: {spent:.1f} s ({stages}), AIL {result.utility.ail:.4f}, "
            f"{'holds' if result.holds else 'DOES NOT HOLD'}; the paper: VAC 523.9 s and MS 97.2 s on 128 cores"
        )


def large(_: Path) -> None:
    graph = invented(50_000, np.random.default_rng(3))
    print(f"\nLarge: {graph}")
    start = time.perf_counter()
    result = anonymize_people(graph, k=5)
    print(
        f"  PCKGA, k = 5: {time.perf_counter() - start:.1f} s, at most {peak()} (a matrix alone would take 9.3 GB), "
        f"AIL {result.utility.ail:.4f}, {'holds' if result.holds else 'DOES NOT HOLD'}"
    )


def invented(n: int, rng: np.random.Generator) -> PeopleGraph:
    """People with eight attributes, some of them rare, and a relation."""
    users = [f"u{i}" for i in range(n)]
    values = []
    for name, size in zip("abcdefgh", (2, 5, 20, 100, 300, 600, 1_000, 2_000), strict=True):
        drawn = np.minimum(rng.zipf(1.6, n), size)
        values += [(user, name, str(v)) for user, v in zip(users, drawn.tolist(), strict=True)]
    ends = rng.integers(0, n, (2, 2 * n))
    links = [(users[s], "knows", users[t]) for s, t in ends.T.tolist()]
    return PeopleGraph.from_triples(users, values, links)


def degrees(data: Path) -> None:
    graph = by_schema(
        f'[[triples]]\nfiles = ["{data}/social/cit-DBLP.edges.gz"]\nrelation = "cites"\n[kinds]\nrelations = ["cites"]'
    )
    print(f"\nPaired k-degree on DBLP: {graph}\n  k: edges added (CTKGA), removed, seconds")
    for k, paper in enumerate(DBLP, 2):
        start = time.perf_counter()
        result = anonymize_people(graph, method="cdga", k=k)
        spent = time.perf_counter() - start
        changes = result.utility.changes["cites"]
        mark = "!" if changes.added > paper else " "
        print(
            f"  {k}: {changes.added:,}{mark} ({paper:,}), {changes.removed:,}, {spent:.1f} s, "
            f"{'holds' if result.holds else 'DOES NOT HOLD'}, {len(result.removed)} users removed",
            flush=True,
        )


SENSITIVE = {"religion": "0", "ethnicity": "12", "profession": "3", "cause of death": "1"}


def public_levels(data: Path) -> None:
    print("\nThe authors' k: comparisons with the data, and how many of them are significant")
    for name in RELATIONS:
        graph = people(data, name)
        for file in sorted((data / "pckga" / "k_values").glob(f"{name}_*")):
            setting, run = file.name.removeprefix(f"{name}_").removesuffix(".txt.gz").rsplit("_", 1)
            levels = authors_levels(data, name, setting, int(run))
            found = dependences(graph, levels, np.random.default_rng(0))
            count = sum(one.significant for one in found)
            print(f"  {name} {setting} {run}: {len(found)}, {count}", flush=True)
    graph = people(data, "freebase")
    print(
        "Freebase, recommended k for a confidence of 0.2: users with values of the attribute and such a k, share of"
    )
    print("them for whom it holds; the same with k = 5 for all", flush=True)
    for title, name in SENSITIVE.items():
        found = recommended(graph, 0.2, [name])
        shares = []
        for k in (np.where(found.k > 0, found.k, found.most), np.full(graph.n, found.least)):
            own = dict(zip(graph.labels.tolist(), k.tolist(), strict=True))
            made = anonymize_people(graph, k_values=own, seed=1)
            assert made.holds
            asked = {"k_values": own, "sensitive": [name], "confidence": 0.2}
            (concluded,) = attack_people(graph, made.release.graph, made.release.mapping, **asked).beliefs
            some = np.intersect1d(concluded.users, np.flatnonzero(found.k))
            shares.append(1 - len(np.intersect1d(concluded.above, some)) / len(some))
        print(f"  {title:<16} {len(some):,}: {shares[0]:.0%}, {shares[1]:.0%}", flush=True)


def peak() -> str:
    return f"{getrusage(RUSAGE_SELF).ru_maxrss >> 10:,} MB"


if __name__ == "__main__":
    main()
