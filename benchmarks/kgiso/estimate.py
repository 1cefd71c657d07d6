"""k-Iso with δ estimated from a sample of the subgraphs of its release: for releases that have too many of them.

    python benchmarks/kgiso/estimate.py RULES GRAPH K X SAMPLE SEED

Prints what ``kgreason anonymize --method k-iso --json`` prints, as far as the page of the paper needs it.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

import numpy as np

import kgreason
from kgreason.base.progress import SILENT
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.k_iso import KIso
from kgreason.isomorphism.arguments import anonymizable

TRIALS = 10


def estimated(rules: str, source: str, k: int, x: int, sample: int, seed: int) -> dict[str, Any]:
    """Original, verdict, figures and seconds of one release."""
    program, rng = anonymizable(kgreason.load(rules)), np.random.default_rng(seed)
    graph = kgreason.read_graph(program, {"own": source})
    begin = perf_counter()
    release = publish(KIso(k, TRIALS).augment(graph, program, rng, SILENT), set(graph.labels.tolist()), rng)
    seconds = perf_counter() - begin
    verdict = kgreason.verify(
        graph,
        release.graph,
        release.mapping,
        program,
        k=k,
        x=x,
        sample=sample,
        seed=seed,
        model="k-iso",
    )
    return {
        "original": {"vertices": graph.n, "edges": graph.m},
        "verdict": verdict.as_dict(),
        "figures": dict(release.figures),
        "seconds": {"anonymize": seconds},
    }


if __name__ == "__main__":
    rules, source, *numbers = sys.argv[1:]
    k, x, sample, seed = map(int, numbers)
    print(json.dumps(estimated(rules, source, k, x, sample, seed)))
