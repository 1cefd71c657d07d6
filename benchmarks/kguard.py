"""KGUARD on the graphs of the KGISO paper and on real ones: whole commands, both modes compared with the paper.

    python benchmarks/kguard.py GRAPHS DATA [--only NAME ...] [--run kguard/exact ...] [--large] [--seconds S]

GRAPHS is a folder for generated graphs (made there if missing), DATA the folder of real ones (those that are not
there are left out, with a line that says so). Each run is a process of its own, from reading to the exact check, with
kernels cached by a first run; k = 3, x = 4, the same seed for all. A run of more than S seconds or 16 GB is ended.
It is then repeated without the check (δ: -), so that what it added can be compared where that much ends.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import NotDoneError, Run, timed
from graphs import BITCOIN, BUS, INFECT_DUBLIN, SGX, Generated, Graph, erdos_renyi, scale_free

ROOT = Path(__file__).resolve().parent.parent
K, X, SEED, MAX_SUBGRAPHS = 3, 4, 1, 2_000_000_000


@dataclass(frozen=True)
class Case:
    """A graph and its rules.

    Attributes
    ----------
    rules
        Name of the rule file.
    graph
        What is anonymized.
    paper
        U, U△, W1 degree and W1 weights of KGUARD in the KGISO paper, and the share of vertices added in %.
    large
        Whether it takes minutes even where it is fast.
    """

    rules: str
    graph: Graph
    paper: tuple[float | None, ...] = ()
    large: bool = False


REACH, CONTROL = "reachability", "ultimate_controller"
CASES = {
    "er-500": Case(REACH, erdos_renyi(500, 5_000), (0.0, 0.154, 3.354, 0.418)),
    "er-10k": Case(REACH, erdos_renyi(10_000, 50_000), (0.0, 0.028, 0.663, 0.009)),
    "infect-dublin": Case(REACH, INFECT_DUBLIN, (0.0, 0.187, 3.829, None, 0.0)),
    "1138_bus": Case(REACH, BUS, (0.0, 0.280, 0.650, 0.156, 0.3)),
    "bitcoin-alpha": Case(REACH, BITCOIN, (0.0, 0.364, 0.874, 0.297, 6.1)),
    "scale-free-500": Case(CONTROL, scale_free(500, 3), (0.112, 0.728, 2.163, 0.148)),
    "scale-free-10k": Case(CONTROL, scale_free(10_000, 5), (0.155, 0.662, 0.182, 0.011)),
    "sgx_top20": Case(CONTROL, SGX),
    "scale-free-100k": Case(CONTROL, scale_free(100_000, 5), large=True),
    "scale-free-1m": Case(CONTROL, scale_free(1_000_000, 5), large=True),
}
SIZES = ("V", "E", "V added", "E added")
FIGURES = ("U", "U△", "W1 degree", "W1 weights", "V added %", "AUC")
HEADER = ("graph", "run", "s", "MB", "δ", "subgraphs", "classes", *SIZES, *FIGURES)


def measure(run: str, case: Case, where: str, seconds: float) -> Run:
    """Run ``kgreason anonymize``; if the check does not end, the same without it.

    Raises
    ------
    NotDoneError
        If there is no release within the time, or the command refuses.
    """
    method, _, mode = run.partition("/")
    rules = str(ROOT / "rules" / f"{case.rules}.vada")
    words = ["--rules", rules, "--data", where, "--method", method, *(["--mode", mode] if mode else [])]
    numbers = {"-k": K, "-x": X, "--seed": SEED, "--max-subgraphs": MAX_SUBGRAPHS}
    words += [word for option, value in numbers.items() for word in (option, str(value))]
    with tempfile.TemporaryDirectory() as folder:
        places = ["--release", f"{folder}/release", "--private", f"{folder}/private"]
        command = [sys.executable, "-m", "kgreason", "anonymize", *words, *places, "--json"]
        try:
            return timed(command, seconds)
        except NotDoneError as error:
            if "not done" not in str(error):
                raise
        unchecked = [sys.executable, __file__, "--unchecked", rules, where, method, mode or "exact"]
        return timed(unchecked, seconds)


def unchecked(rules: str, where: str, method: Any, mode: Any) -> dict[str, Any]:
    """The report of an anonymization without its check."""
    import numpy as np

    import kgreason
    from kgreason.base.progress import SILENT
    from kgreason.isomorphism.anonymization import choose
    from kgreason.isomorphism.anonymizers.assembly import publish
    from kgreason.isomorphism.arguments import anonymizable
    from kgreason.isomorphism.settings import Settings

    rng = np.random.default_rng(SEED)
    program = kgreason.load(Path(rules))
    name, _, file = where.partition("=")
    graph = kgreason.read_graph(program, {name: file})
    algorithm = choose(Settings(method=method, mode=mode, k=K, trials=10, max_subgraphs=MAX_SUBGRAPHS), (X,))
    augmented = algorithm.augment(graph, anonymizable(program), rng, SILENT)
    release = publish(augmented, frozenset(graph.labels.tolist()), rng)
    score = kgreason.score(graph, release.graph, release.mapping, program)
    return {
        "original": {"vertices": graph.n, "edges": graph.m},
        "verdict": {"delta": None},
        "figures": dict(release.figures),
        **score.as_dict(),
    }


def cells(name: str, run: str, found: Run) -> list[str]:
    """One line of the table."""
    report, fidelity, utility = found.report, found.report["fidelity"], found.report["utility"]
    delta, figures, detection = report["verdict"]["delta"], report["figures"], report["detection"]
    vertices, edges = found.added
    weights = list(fidelity["weights"].values())
    return [
        *(name, run, f"{found.seconds:.1f}", f"{found.megabytes:,.0f}", share(delta)),
        *(count(figures.get("subgraphs")), count(figures.get("classes"))),
        *(count(report["original"]["vertices"]), count(report["original"]["edges"])),
        *(count(vertices), count(edges), number(utility["u"]), number(utility["u_symmetric"])),
        *(number(fidelity["degree"]), number(weights[0] if weights else None)),
        *(number(fidelity["vertices_added_percent"]), number(detection["auc"])),
    ]


def share(delta: dict[str, Any] | None) -> str:
    """Cell of δ: ones that only nearly hold do not read as 1."""
    if delta is None:
        return "-"
    return f"{int(delta['value'] * 10_000) / 10_000:.4f}" + ("" if delta["exact"] else "+")


def count(value: float | None) -> str:
    return "-" if value is None else f"{int(value):,}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def row(words: list[str]) -> None:
    print("| " + " | ".join(words) + " |", flush=True)


def ratio(mine: Run, theirs: Run) -> str:
    """How many synthetic vertices and edges a run needs in parts of another one's."""
    parts = [f"{a / b:.3f}" if b else f"{a} to none" for a, b in zip(mine.added, theirs.added, strict=True)]
    return "vertices {}, edges {}".format(*parts)


def compare(name: str, case: Case, where: str, runs: list[str], seconds: float) -> str | None:
    """Print the lines of one graph; returns how the first run compares with the last, if both ended."""
    done: list[Run] = []
    for run in runs:
        try:
            done.append(measure(run, case, where, seconds))
            row(cells(name, run, done[-1]))
        except NotDoneError as error:
            row([name, run, str(error), *["-"] * (len(HEADER) - 3)])
    if case.paper:
        figures = [number(f) for f in (*case.paper, *[None] * (len(FIGURES) - len(case.paper)))]
        row([name, "paper", *["-"] * (len(HEADER) - 2 - len(FIGURES)), *figures])
    return ratio(done[0], done[-1]) if len(done) == len(runs) > 1 else None


def main() -> None:
    """Print the table, then what the first run adds in parts of what the last one adds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help=", ".join(CASES))
    parser.add_argument(
        "--run", nargs="+", default=["kguard/exact", "kguard/published"], metavar="METHOD/MODE"
    )
    parser.add_argument("--large", action="store_true", help="the largest graphs, too")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which a run is ended")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; k = {K}, x = {X}")
    print("kguard/published: Algorithm 3 of the paper, with a lighter reading of its line 11\n")
    row(list(HEADER))
    print("|" + "---|" * len(HEADER))
    ratios = {}
    for name in asked.only or [n for n, case in CASES.items() if asked.large or not case.large]:
        graph = CASES[name].graph
        source = graph.source(asked.graphs, asked.data)
        if source is None and not isinstance(graph, Generated):
            row([name, f"left out: {asked.data / graph.path} is not there"])
        else:
            ratios[name] = compare(name, CASES[name], f"own={source}", asked.run, asked.seconds)
    if len(asked.run) > 1:
        print(f"\nAdded by {asked.run[0]} in parts of what {asked.run[-1]} adds:\n")
        for name, found in ratios.items():
            print(f"- {name}: {found or 'not both are done'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--unchecked"]:
        print(json.dumps(unchecked(*sys.argv[2:])))
    else:
        main()
