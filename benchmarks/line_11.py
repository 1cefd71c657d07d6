"""Line 11 of Algorithm 3 (KGISO) in two readings: what they add, and how many subgraphs they leave unprotected.

    python benchmarks/line_11.py [--data ../shared/data] [--runs 10] [--only NAME ...]

Published: degrees differ at the same position of chosen subgraphs. Literal: degrees differ for all chosen vertices that
chains of isomorphisms between any subgraphs connect. k = 3, x = 4; medians of some seeds, with the least and the
greatest value; processor time of the anonymization with its check and score.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Literal

from graphs import BUS_AS_STORED, INFECT_DUBLIN, Generated, Public

import kgreason

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = "examples/ownership, control"
CONTROL, REACH = "rules/control.vada", "rules/reachability.vada"
CASES: Mapping[str, tuple[str, Public | Generated | None, int]] = {
    EXAMPLE: ("examples/ownership/control.vada", None, 0),
    "ownership -n 300 --seed 20, control": (CONTROL, Generated(("ownership", "-n", "300")), 20),
    "infect-dublin, reachability": (REACH, INFECT_DUBLIN, 0),
    "1138_bus as stored, reachability": (REACH, BUS_AS_STORED, 0),
}
MODES: Sequence[Literal["published", "literal"]] = ("published", "literal")
HEAD = ("graph and rules", "edges", "reading", "vertices added", "edges added", "unprotected", "of", "s")


def line(name: str, rules: str, source: str | None, mode: Literal["published", "literal"], runs: int) -> None:
    """Print the figures of one graph in one reading."""
    data = None if source is None else {"own": source}
    vertices, edges, unprotected, seconds, total, m = [], [], [], [], 0, 0
    for seed in range(runs):
        begin = process_time()
        found = kgreason.anonymize(ROOT / rules, data, k=3, x=4, mode=mode, seed=seed)
        seconds.append(process_time() - begin)
        figures, delta = found.release.figures, found.verdict.delta
        assert delta is not None
        vertices.append(figures["vertices_added"])
        edges.append(figures["edges_added"])
        unprotected.append(delta.total - delta.satisfied)
        total, m = delta.total, int(figures["edges"])
    cells = (f"{m:,}", mode, *map(span, (vertices, edges, unprotected)), f"{total:,}")
    print(f"| {name} | {' | '.join(cells)} | {median(seconds):.1f} |", flush=True)


def span(values: Sequence[float]) -> str:
    """Median, and between which values it lies if they differ."""
    low, high = min(values), max(values)
    return f"{median(values):,.0f}" + (f" ({low:,.0f} to {high:,.0f})" if low < high else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    with TemporaryDirectory() as folder:
        for name in asked.only:
            rules, graph, seed = CASES[name]
            source = None if graph is None else graph.source(Path(folder), asked.data, seed)
            if graph is not None and source is None:
                print(f"| {name} | the graph is not there |")
                continue
            for mode in MODES:
                line(name, rules, source, mode, asked.runs)


if __name__ == "__main__":
    main()
