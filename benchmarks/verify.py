"""Checker's time on KLONE releases: ``python benchmarks/verify.py [shared/data]``, in CPU seconds over all threads.

By a search, with the certificate that the search leaves, and with the copies that KLONE names. Erdős–Rényi n = 10,000,
M = 50,000 and, with a folder of data, Bitcoin Alpha and the Singapore register; k = 3, x = 4. Then k = 5 and 8 on a
small graph of like vertices, where a search may take minutes and end undecided.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

import kgreason
from kgreason.base.progress import SILENT
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.arguments import anonymizable
from kgreason.isomorphism.definition import Release
from kgreason.isomorphism.verification.checker import count_attacked, verify
from kgreason.isomorphism.verification.verdict import Certificate, Verdict
from kgreason.language.check.checked_program import CheckedProgram

ROOT = Path(__file__).resolve().parent.parent
REAL = {
    "bitcoin-alpha": ("reachability", "weighted/soc-sign-bitcoinalpha.csv.gz?columns=1,2,3&scale=abs"),
    "sgx_top20": ("ultimate_controller", "ownership/sgx_top20_shares.csv.gz?percent=true"),
}


def timed(
    graph: KnowledgeGraph,
    release: Release,
    program: CheckedProgram,
    k: int,
    x: int,
    shown: Certificate | None,
) -> tuple[Verdict, float, float]:
    """The verdict, and the seconds of CPU and on the clock that it took."""
    start, wall = time.process_time(), time.perf_counter()
    verdict = verify(graph, release.graph, release.mapping, program, k, x, certificate=shown)
    return verdict, time.process_time() - start, time.perf_counter() - wall


def measure(name: str, rules: str, graph: KnowledgeGraph, k: int = 3, x: int = 4) -> None:
    program = anonymizable(kgreason.load(rules))
    rng = np.random.default_rng(7)
    augmented = Klone(k=k, trials=1).augment(graph, program, rng, SILENT)
    release = publish(augmented, set(graph.labels.tolist()), rng)
    start = time.process_time()
    count = count_attacked(graph, x, sys.maxsize)
    counted = time.process_time() - start
    verdict, spent, wall = timed(graph, release, program, k, x, None)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{name}: {count:,} subgraphs counted in {counted:.2f} s, verified in {spent:.2f} s of CPU"
        f" ({count / spent / 1e6:.1f} M/s), {wall:.2f} s on the clock, {memory:,} MB; δ = {verdict.delta}"
    )
    kinds = {"donors": verdict.certificate, "copies": Certificate(k, copies=release.copies)}
    for kind, certificate in kinds.items():
        if certificate is not None:
            again, spent, wall = timed(graph, release, program, k, x, certificate)
            print(
                f"  with {kind}: {spent:.2f} s of CPU, {wall:.2f} s on the clock; "
                f"{'holds' if again.holds else 'DOES NOT HOLD'}"
            )


def main() -> None:
    reach = (ROOT / "rules" / "reachability.vada").read_text(encoding="utf-8")
    graph = erdos_renyi(10_000, 50_000, np.random.default_rng(7))
    for name in ("ER, the first run also compiles", "ER n=10k M=50k"):
        measure(name, reach, graph)
    for name, (rules, file) in REAL.items() if len(sys.argv) > 1 else ():
        text = (ROOT / "rules" / f"{rules}.vada").read_text(encoding="utf-8")
        measure(name, text, kgreason.read_graph(text, {"own": f"{sys.argv[1]}/{file}"}))
    for k in (5, 8):  # last, as the search for the latter may take minutes
        measure(f"ER n=40 M=60, k={k}", reach, erdos_renyi(40, 60, np.random.default_rng(1)), k)


if __name__ == "__main__":
    main()
