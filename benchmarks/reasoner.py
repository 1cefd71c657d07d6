"""Compare kgreason with other reasoners, as whole processes: ``python benchmarks/reasoner.py --quick``.

Every run is a process of its own: it starts, reads its files, evaluates a program and counts the result. Seconds are
wall-clock and megabytes the largest resident memory, medians of several runs, after a first run of kgreason that
compiles or loads kernels. Results are compared row by row, by digests made in runs apart, which are not timed; if one
differs, the table says so and the exit code is 1. Peers are run by the interpreter ``--python``, in whose environment

    pip install numpy duckdb clingo egglog logica pyDatalog igraph && pip install --pre nemo-python

puts all of them; one that is not there is reported as such.
"""

from __future__ import annotations

import argparse
import getpass
import os
import platform
import signal
import sys
import tempfile
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

from cases import CASES
from comparison import Comparison, Line
from engines import PEERS

FULL = {"repeats": 5, "cap": 120.0, "patience": 20.0, "peers": [peer.name for peer in PEERS]}
QUICK = {"repeats": 3, "cap": 10.0, "patience": 3.0, "peers": [peer.name for peer in PEERS if peer.quick]}
LEGEND = """
Cells: seconds (MB). **compared**: `rows` if whole relations were, `size` for engines of which only the size was.
**ahead**: seconds of the fastest peer by those of kgreason; below 1, kgreason is behind. **target**: seconds hoped for
on the machine of the quoted figures. **Soufflé**: quoted, other machine; compiled, 1 / 2 threads, without its
compilation of about 20 s. `–`: the program is not written for the engine, or the engine not made for such a size.
`not tried`: even at its best pace on smaller inputs it would need more than {cap:g} s. igraph evaluates no rules but is
made for reachability; it does not count as a peer."""


def machine(comparison: Comparison) -> str:
    """Lines on the machine and on what is compared."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    installed = comparison.installed
    peers = ", ".join(f"{p.name} {installed[p.package] or 'not installed'}" for p in comparison.peers)
    others = ", ".join(p.name for p in PEERS if p not in comparison.peers)
    lines = (
        f"{os.cpu_count()} cores, {cpu()}, {memory:.0f} GB, load {os.getloadavg()[0]:.1f}",
        f"kgreason {version('kgreason')}, Python {platform.python_version()}, NumPy {version('numpy')}",
        f"peers: {peers or 'none'}" + (f"; not asked: {others}" if others else ""),
        f"medians of up to {comparison.repeats} runs, none of them begun after {comparison.patience:g} s; "
        f"at most {comparison.cap:g} s a run",
    )
    return "  \n".join(lines)


def cpu() -> str:
    """Model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def header(comparison: Comparison) -> str:
    """Head of the table."""
    peers = (f"{peer.name} s (MB)" for peer in comparison.peers)
    ours = ("program", "input", "result", "compared", "kgreason s (MB)")
    cells = (*ours, *peers, "ahead", "target s", "Soufflé s, quoted")
    return f"{row(cells)}\n|{'---|' * len(cells)}"


def body(line: Line) -> str:
    """One line of the table."""
    case, size = line.case, line.ours.run.size if line.ours.run else None
    result = f"{case.size:,}" if size in (case.size, None) else f"{size:,} (known: {case.size:,})"
    target = "–" if case.target is None else f"{case.target:.1f}"
    runs = (line.ours, *line.peers.values())
    return row((case.program, case.input, result, line.compared, *runs, line.ahead, target, case.quoted))


def row(cells: tuple[object, ...]) -> str:
    """Cells of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [peer.name for peer in PEERS]
    parser.add_argument("--quick", action="store_true", help="small inputs and fewer runs: 2 to 3 minutes")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM/INPUT", help="lines; * matches any text")
    parser.add_argument("--peers", nargs="*", choices=names, help="(all; quick: the faster ones)")
    parser.add_argument("--python", default=sys.executable, help="interpreter that runs the peers")
    parser.add_argument("--repeats", type=int, help="runs of each engine (5; quick: 3)")
    parser.add_argument("--cap", type=float, help="seconds that a run may take (120; quick: 10)")
    parser.add_argument(
        "--patience", type=float, help="seconds after which no run is repeated (20; quick: 3)"
    )
    parser.add_argument("--data", type=Path, help="folder of the inputs (default: a temporary folder)")
    options = parser.parse_args()
    for name, value in (QUICK if options.quick else FULL).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.data = options.data or Path(tempfile.gettempdir(), f"kgreason-inputs-{getpass.getuser()}")
    return options


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the process that runs is ended too
    options = arguments()
    wanted = options.only or ["*"]
    cases = [case for case in CASES if any(fnmatch(str(case), pattern) for pattern in wanted)]
    if options.quick:
        cases = [case for case in cases if case.quick]
    if not cases:
        raise SystemExit(f"no such line; there are {', '.join(map(str, CASES))}")
    comparison = Comparison(
        python=options.python,
        peers=[peer for peer in PEERS if peer.name in options.peers],
        repeats=options.repeats,
        cap=options.cap,
        patience=options.patience,
        data=options.data,
    )
    print(f"{machine(comparison)}\n\n{header(comparison)}", flush=True)
    fine = True
    for case in cases:
        line = comparison.line(case)
        print(body(line), flush=True)
        fine = fine and line.fine
    print(LEGEND.format(cap=options.cap))
    raise SystemExit(0 if fine else 1)


if __name__ == "__main__":
    main()
