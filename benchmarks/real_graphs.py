"""KLONE and KGUARD on public graphs: whole commands, compared with the figures of the KGISO paper.

    python benchmarks/real_graphs.py ../shared/data [name ...]

Each run is a process of its own, reading and verification included; the seconds are wall-clock. The paper's graphs
of the same name are samples or read with other directions: its figures are a yardstick, not targets to the digit.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
MEDIA = ("organisation-media", "organisation-organisation", "personne-organisation", "personne-media")


@dataclass(frozen=True)
class Case:
    """A graph, its rules and the sizes to protect; `paper`: U△, W1 degree and % of vertices added of KLONE, KGUARD."""

    rules: str
    data: tuple[str, ...]
    x: int
    paper: dict[str, tuple[float, float, float]]


CASES = {
    "medias_francais": Case(
        "ultimate_controller",
        tuple(f"ownership/medias_francais/{t}.tsv?columns=origine,cible,valeur&missing=skip" for t in MEDIA),
        3,
        {},
    ),
    "asx200": Case("ultimate_controller", ("ownership/asx200_shares.csv.gz",), 3, {}),
    "infect-dublin": Case(
        "reachability",
        ("weighted/infect-dublin.edges",),
        4,
        {"klone": (0.731, 6.509, 201.4), "kguard": (0.187, 3.829, 0.0)},
    ),
    "1138_bus": Case(
        "reachability",
        ("weighted/1138_bus.mtx?scale=abs",),
        4,
        {"klone": (0.875, 3.880, 200.1), "kguard": (0.280, 0.650, 0.3)},
    ),
    "karate": Case("reachability", ("classic/karate.gml",), 4, {}),
}
HEADER = ("graph", "method", "x", "V", "E", "δ", "U", "U△", "W1 degree", "W1 weights", "V added %", "s")


def command(case: Case, data: Path, method: str, x: int, out: Path) -> list[str]:
    """The command line of one run."""
    sources = [word for file in case.data for word in ("--data", f"own={data / file}")]
    rules = str(ROOT / "rules" / f"{case.rules}.vada")
    places = ["--release", str(out / "release"), "--private", str(out / "private")]
    size = ["--method", method, "-k", "3", "-x", str(x)]
    return [
        sys.executable,
        "-m",
        "kgreason",
        "anonymize",
        "--rules",
        rules,
        *sources,
        *size,
        *places,
        "--json",
    ]


def measure(name: str, case: Case, data: Path, method: str, x: int) -> tuple[str, ...]:
    """Run one command and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        done = subprocess.run(
            command(case, data, method, x, Path(folder)), capture_output=True, text=True, check=False
        )
        seconds = perf_counter() - start
    if done.returncode not in (0, 1):
        raise SystemExit(f"{name} {method} x={x}: {done.stderr}")
    report = json.loads(done.stdout)
    utility, fidelity = report["utility"], report["fidelity"]
    delta = report["verdict"]["delta"]
    added, edges = fidelity["vertices_added"], fidelity["edges_added"]
    before = report["original"]
    return (
        name,
        method,
        str(x),
        f"{before['vertices']:,}+{added:,}",
        f"{before['edges']:,}+{edges:,}",
        f"{delta['value']:.4f}" + ("" if delta["exact"] else "?"),
        f"{utility['u']:.3f}",
        f"{utility['u_symmetric']:.3f}",
        f"{fidelity['degree']:.3f}",
        f"{fidelity['weights'].get('own', 0):.3f}",
        f"{fidelity['vertices_added_percent']:.1f}",
        f"{seconds:.1f}",
    )


def reasoning(data: Path, runs: int = 5) -> str:
    """Wall-clock seconds of company control on the largest real register, after a first run."""
    source = f"own={data / 'ownership/sgx_top20_shares.csv.gz'}?percent=true"
    rules = str(ROOT / "rules" / "control.vada")
    words = ["reason", "--rules", rules, "--data", source, "--output", "control", "--json"]
    seconds = []
    for _ in range(runs + 1):
        start = perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "kgreason", *words], capture_output=True, text=True, check=True
        )
        seconds.append(perf_counter() - start)
    facts = json.loads(done.stdout)["counts"]["control"]
    return (
        f"reason, control on sgx_top20: {facts:,} facts, first run {seconds[0]:.2f} s,"
        f" then median of {runs} {median(seconds[1:]):.2f} s (to meet: under 2 s)"
    )


def main() -> None:
    """Print the table."""
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit(__doc__)
    data, names = Path(sys.argv[1]), sys.argv[2:] or list(CASES)
    if unknown := set(names) - set(CASES):
        raise SystemExit(f"no such graph: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; k = 3")
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER))
    for name in names:
        case = CASES[name]
        runs = [("klone", x) for x in (2, 3, 4)] + [("kguard", case.x)]
        for method, x in runs:
            print("| " + " | ".join(measure(name, case, data, method, x)) + " |", flush=True)
        for method, (u, degree, added) in case.paper.items():
            empty = ("", "", "1.000", "0", f"{u:.3f}", f"{degree:.3f}", "", f"{added:.1f}", "")
            print("| " + " | ".join((f"paper: {name}", method, "4", *empty)) + " |")
    print(f"\n{reasoning(data)}")


if __name__ == "__main__":
    main()
