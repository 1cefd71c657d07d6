"""What KGUARD costs on small registers of owners: additions, false derived facts and wrong answers, two versions.

    python benchmarks/register_price.py [DATA] [--before TREE] [--only NAME ...] [--rules NAME ...] [-x X ...]
        [--seeds N] [--plans N]

DATA is the folder of public data (default: ../shared/data), TREE another checkout, measured in the same way beside
this one. Registers are real ones, connected cuts of two large ones, and the shipped example; no vertex is changed.
All versions read the same file; each register is a process of its own, in which the seeds 0 to N - 1 run after an
unmeasured run. Figures are medians over the seeds.

A *false fact* is a fact of a derived predicate in the release that is no fact of the original, synthetic vertices
included. Facts about one vertex alone, as control(X, X), count nowhere: they hold of every company.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEDIA = ("organisation-media", "organisation-organisation", "personne-organisation", "personne-media")
CUT = {"asx200": (100, 200, 500), "sgx_top20": (100, 200, 500)}
EXAMPLE = "example"
NAMES = ("medias_francais", *(f"{name}-{n}" for name, sizes in CUT.items() for n in sizes), EXAMPLE)
RULES = ("control", "ultimate_controller")
K = 3
FANOUT = 5

Shares = list[tuple[str, str, float]]


def media(data: Path) -> Shares:
    """Owners of French media, without shares that are not known."""
    shares = []
    for table in MEDIA:
        with (data / f"ownership/medias_francais/{table}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["valeur"]:
                    shares.append((row["origine"], row["cible"], float(row["valeur"].rstrip("%")) / 100))
    return shares


def holders(data: Path, name: str) -> Shares:
    """Holders of listed companies, without companies whose shares sum to more than 1."""
    with gzip.open(data / f"ownership/{name}_shares.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [(r["owner"], r["company"], r["percent"]) for r in csv.DictReader(file)]
    shares = [(u, v, float(w.rstrip("%")) / 100) for u, v, w in rows]
    sums = defaultdict[str, float](float)
    for _, v, w in shares:
        sums[v] += w
    return [(u, v, w) for u, v, w in dict.fromkeys(shares) if sums[v] <= 1]


def cut(shares: Shares, n: int, seed: int) -> Shares:
    """All shares among n vertices that a search meets from a random company, `FANOUT` new ones at most from each."""
    near = defaultdict[str, list[str]](list)
    for u, v, _ in shares:
        near[u].append(v)
        near[v].append(u)
    draw, companies = random.Random(seed), sorted({v for _, v, _ in shares})
    met: dict[str, None] = {}
    while len(met) < n:  # from another company where its component is too small
        start = draw.choice(companies)
        met, queue = {start: None}, deque([start])
        while queue and len(met) < n:
            around = [v for v in near[queue.popleft()] if v not in met]
            for v in draw.sample(around, min(FANOUT, len(around), n - len(met))):
                met[v] = None
                queue.append(v)
    return [(u, v, w) for u, v, w in shares if u in met and v in met]


def shares_of(name: str, data: Path) -> Shares:
    """Shares of a register."""
    if name == EXAMPLE:
        with (ROOT / "examples/ownership/own.csv").open(encoding="utf-8", newline="") as file:
            return [(u, v, float(w.rstrip("%")) / 100) for u, v, w in list(csv.reader(file))[1:]]
    if name == "medias_francais":
        return media(data)
    whole, _, n = name.rpartition("-")
    return cut(holders(data, whole), int(n), int(n))


def facts(graph: Any, program: Any) -> dict[str, set[tuple[int, int]]]:
    """Derived facts about two vertices, by predicate."""
    from kgreason.graph.facts import derived_edges

    found = derived_edges(graph, program)
    return {
        name: {(u, v) for u, v in zip(*(ends.tolist() for ends in pairs), strict=True) if u != v}
        for name, pairs in found.items()
    }


def measured(file: str, rules: str, x: int, seed: int, plans: int | None) -> dict[str, float]:
    """Anonymize a register in memory, and compare the release with it."""
    import kgreason

    start = process_time()
    more = {} if plans is None else {"plans": plans}
    done = kgreason.anonymize(rules, {"own": file}, k=K, x=x, seed=seed, **more)
    seconds = process_time() - start
    if not done.holds:
        raise SystemExit(f"the guarantee does not hold: {file} {rules} x={x} seed={seed}")
    program = kgreason.load(rules)
    original, release, mapping = done.original, done.release.graph, done.release.mapping.tolist()
    before, after = facts(original, program), facts(release, program)
    kept = {name: {(mapping[u], mapping[v]) for u, v in pairs} for name, pairs in before.items()}
    queries = done.score.utility.per_query.values()
    return {
        "V": original.n,
        "E": original.m,
        "facts": sum(map(len, before.values())),
        "V added": release.n - original.n,
        "E added": release.m - original.m,
        "false": sum(len(after[name] - kept[name]) for name in after),
        "lost": sum(len(kept[name] - after[name]) for name in after),
        "derived": sum(map(len, after.values())),
        "wrong answers": sum(q.lost + q.gained for q in queries),
        "s": seconds,
        "s augment": done.seconds["anonymize"],
    }


def worker(task: dict[str, Any]) -> Iterator[dict[str, float]]:
    """Measure all seeds in this process, after a run that makes kernels ready."""
    words = task["file"], task["rules"], task["x"]
    measured(*words, 10_000, task["plans"])
    for seed in range(task["seeds"]):
        yield measured(*words, seed, task["plans"])


def run(tree: Path, task: dict[str, Any]) -> list[dict[str, float]]:
    """Measure one register with one version."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker", json.dumps(task)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tree)},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


HEADER = (
    "register", "rules", "x", "V", "E", "facts", "version", "V added", "E added", "false", "lost", "precision",
    "wrong answers", "s", "s augment",
)  # fmt: skip


def line(found: list[dict[str, float]]) -> list[str]:
    """Medians of the figures from the additions on."""
    middle = {name: median(one[name] for one in found) for name in found[0]}
    precision = median(1 - one["false"] / one["derived"] if one["derived"] else 1.0 for one in found)
    numbers = [f"{middle[name]:g}" for name in ("V added", "E added", "false", "lost")]
    seconds = [f"{middle[name]:.2f}" for name in ("s", "s augment")]
    return [*numbers, f"{precision:.2f}", f"{middle['wrong answers']:g}", *seconds]


def show(words: Iterable[object]) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(map(str, words)) + " |", flush=True)


def main() -> None:
    """Print the table, and the sums of the medians of each version."""
    if sys.argv[1:2] == ["--worker"]:
        for found in worker(json.loads(sys.argv[2])):
            print(json.dumps(found), flush=True)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=ROOT.parent / "shared" / "data")
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES)
    parser.add_argument("-x", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--plans", type=int, help="of this version; default: its default")
    given = parser.parse_args()
    versions = {"before": given.before, "now": ROOT} if given.before else {"now": ROOT}
    print(f"{platform.machine()}, {os.cpu_count()} cores; k = {K}, medians of {given.seeds} seeds")
    show(HEADER)
    show(["---"] * len(HEADER))
    sums: dict[str, list[tuple[float, float, float]]] = {name: [] for name in versions}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            file = Path(folder) / f"{name}.csv"
            with file.open("w", encoding="utf-8", newline="") as out:
                csv.writer(out).writerows([("source", "target", "weight"), *shares_of(name, given.data)])
            for rules in given.rules:
                for x in given.x:
                    task = {"file": str(file), "rules": str(ROOT / "rules" / f"{rules}.vada"), "x": x}
                    for version, tree in versions.items():
                        plans = given.plans if version == "now" else None
                        found = run(tree.resolve(), {**task, "seeds": given.seeds, "plans": plans})
                        sizes = [f"{found[0][part]:g}" for part in ("V", "E", "facts")]
                        show([name, rules, x, *sizes, version, *line(found)])
                        middle = (
                            median(one[part] for one in found) for part in ("V added", "E added", "false")
                        )
                        sums[version].append((next(middle), next(middle), next(middle)))
    for version, rows in sums.items():
        vertices, edges, false = (sum(column) for column in zip(*rows, strict=True))
        print(f"sums of medians, {version}: V added {vertices:g}, E added {edges:g}, false facts {false:g}")
    if given.before:
        shares = [
            1 - now[2] / before[2]
            for before, now in zip(sums["before"], sums["now"], strict=True)
            if before[2]
        ]
        print(f"fewer false facts: median over rows {100 * median(shares):.0f} %")


if __name__ == "__main__":
    main()
