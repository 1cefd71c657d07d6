"""Detection of synthetic edges on public graphs, and the guarantee without the most suspicious ones.

    python benchmarks/detection.py DATA [--seeds N]

DATA is the folder of public graphs. Each row is a release with k = 3 and x = 3: medians over N seeds (5) of the
detection AUC of edges, by all features and by those of degrees, surroundings and weight alone; the precision at k with
that of a random choice; and the share of attacked subgraphs that keep k occurrences. For KLONE the detected edges are
those between copies. Releases of more than 20,000 edges are examined on samples, and without the last figure.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from statistics import median

import numpy as np

import kgreason
from kgreason.isomorphism.utility.edge_detection import GROUPS, edge_detection, synthetic_edges

ROOT = Path(__file__).resolve().parent.parent
GRAPHS = {
    "asx200": ("control", "ownership/asx200_shares.csv.gz"),
    "sgx": ("control", "ownership/sgx_top20_shares.csv.gz?percent=true"),
    "mahindas": ("reachability", "weighted/econ-mahindas.mtx?scale=minmax"),
    "moreno_blogs": ("reachability", "classic/out.moreno_blogs_blogs"),
    "eva": ("reachability", "ownership/eva.net.gz"),
}
COLUMNS = (
    "graph",
    "method",
    "detected edges",
    "AUC",
    *GROUPS,
    "precision at k",
    "random",
    "keep 3 occurrences",
)


def figures(data: Path, name: str, method: str, seeds: int) -> str:
    """Row of one graph and method."""
    rules, source = GRAPHS[name]
    scores: list[kgreason.Score] = []
    alone: dict[str, list[float]] = {group: [] for group in GROUPS}
    for seed in range(1, seeds + 1):
        found = kgreason.anonymize(
            ROOT / "rules" / f"{rules}.vada",
            {"own": f"{data}/{source}"},
            method=method,
            k=3,
            x=3,
            seed=seed,
        )
        assert found.holds
        scores.append(found.score)
        graphs = found.original.distinct(), found.release.graph.distinct(), found.release.mapping
        truth = synthetic_edges(*graphs, found.release.copies)
        for group, columns in GROUPS.items():
            area = edge_detection(graphs[1], truth, np.random.default_rng(0), columns)[0].auc
            alone[group].append(area or 0.0)
    edges = [score.edge_detection for score in scores]
    measured = (score.withstood for score in scores)
    rest = [found.kept / found.subgraphs for found in measured if found and not found.reason]
    if not all(edge.auc for edge in edges):
        return row(name, method, edges[0].reason, *[""] * (len(COLUMNS) - 3))
    auc, precision, base = (median(getattr(e, part) for e in edges) for part in ("auc", "precision", "base"))
    kept = f"{median(rest):.0%}" if rest else "–"
    count = median(e.synthetic for e in edges)
    parts = (f"{median(areas):.3f}" for areas in alone.values())
    return row(name, method, f"{count:,.0f}", f"{auc:.3f}", *parts, f"{precision:.2f}", f"{base:.2f}", kept)


def row(*cells: str) -> str:
    """Row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{platform.platform()}; medians of {asked.seeds} seeds\n")
    print(f"{row(*COLUMNS)}\n|{'---|' * len(COLUMNS)}")
    for name in GRAPHS:
        for method in ("kguard", "klone"):
            print(figures(asked.data, name, method, asked.seeds), flush=True)


if __name__ == "__main__":
    main()
