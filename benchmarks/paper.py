"""Tables 1 to 3 and Figures 4 and 5 of the KGISO paper, measured again, on one page with plots.

    python benchmarks/paper.py WORK [--data ../shared/data] [--out FOLDER] [--quick] [--page-only] [--repeats N]

Each run is a process of its own. Its result is kept in WORK/runs.jsonl, so a run that was interrupted continues, and
a page can be written again without any run (--page-only). Take another folder after a change of kgreason. Plots need
matplotlib (``pip install '.[bench]'``).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from kgiso import cases, drawing
from kgiso.compare import Results
from kgiso.page import Page
from kgiso.runs import ROOT, Runs

DATA, PAGE = ROOT.parent / "shared" / "data", ROOT / "docs" / "reproduction"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of generated graphs and results of runs")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of public graphs")
    parser.add_argument("--out", type=Path, help="folder of the page; WORK/page with --quick")
    parser.add_argument("--quick", action="store_true", help="a small series, some minutes")
    parser.add_argument(
        "--page-only", action="store_true", help="no runs, only the page of those that are there"
    )
    parser.add_argument("--repeats", type=int, help="seeds for small random graphs")
    parser.add_argument("--seconds", type=float, default=120.0, help="after which a run is ended")
    parser.add_argument("--memory", type=float, default=12.0, help="GB of address space of a run")
    return parser.parse_args()


def main() -> None:
    """Run what is not there yet, then write the page and its plots."""
    asked = arguments()
    if find_spec("matplotlib") is None:
        raise SystemExit("the plots need matplotlib: pip install '.[bench]'")
    scale = cases.QUICK if asked.quick else cases.FULL
    scale = replace(scale, repeats=asked.repeats or scale.repeats)
    out = asked.out or (asked.work / "page" if asked.quick else PAGE)
    runs = Runs(asked.work, asked.data, scale.repeats, (asked.seconds, int(asked.memory * 2**30)))
    if not asked.page_only:
        runs.complete(cases.settings(scale))
    results = Results(runs)
    out.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/paper.py WORK" + (" --quick" if asked.quick else "")
    command += f" --repeats {asked.repeats}" if asked.repeats else ""
    (out / "README.md").write_text(Page(results, scale).text(command), encoding="utf-8")
    for figure in cases.figures(scale):
        drawing.plot(results, figure).write(out / f"figure{figure.number}.svg")
    print(f"{out / 'README.md'}: {len(runs.records)} runs")


if __name__ == "__main__":
    main()
