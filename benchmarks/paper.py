"""Tables 1 to 3 and Figures 4 and 5 of the KGISO paper, measured again, on one page with plots.

    python benchmarks/paper.py WORK [--data ../shared/data] [--out FOLDER] [--quick] [--page-only] [--repeats N]
                                    [--only SECTION ...]

Each run is a process of its own. Its result is kept in WORK/runs.jsonl, so a run that was interrupted continues, and
a page can be written again without any run (--page-only). Take another folder after a change of kgreason. With --only,
as in ``--only "Table 2"``, the other sections of an existing page stay as they are. Plots need matplotlib
(``pip install '.[bench]'``).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from kgiso import cases, drawing
from kgiso.compare import Results
from kgiso.page import Page, merged
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
    parser.add_argument(
        "--only",
        nargs="+",
        choices=cases.sections(cases.FULL),
        default=[],
        metavar="SECTION",
        help=f"measure these again, keep the others: {', '.join(cases.sections(cases.FULL))}",
    )
    parser.add_argument("--repeats", type=positive, help="seeds for small random graphs")
    parser.add_argument("--seconds", type=positive, default=120, help="after which a run is ended")
    parser.add_argument("--memory", type=positive, default=12, help="GB of address space of a run")
    return parser.parse_args()


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def main() -> None:
    """Run what is not there yet, then write the page and its plots."""
    asked = arguments()
    if find_spec("matplotlib") is None:
        raise SystemExit("the plots need matplotlib: pip install '.[bench]'")
    scale = cases.QUICK if asked.quick else cases.FULL
    scale = replace(scale, repeats=asked.repeats or scale.repeats)
    out = asked.out or (asked.work / "page" if asked.quick else PAGE)
    page = out / "README.md"
    if asked.only and not page.is_file():
        raise SystemExit(f"--only keeps the other sections of a page, and there is no {page}")
    runs = Runs(asked.work, asked.data, scale.repeats, (asked.seconds, asked.memory << 30))
    if not asked.page_only:
        runs.complete(cases.settings(scale, asked.only))
    results = Results(runs)
    out.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/paper.py WORK" + " --quick" * asked.quick
    command += f" --repeats {asked.repeats}" if asked.repeats else ""
    text = Page(results, scale).text(command)
    if asked.only:
        text = merged(text, page.read_text(encoding="utf-8"), asked.only)
    page.write_text(text, encoding="utf-8")
    for figure in cases.figures(scale):
        if not asked.only or f"Figure {figure.number}" in asked.only:
            drawing.plot(results, figure).write(out / f"figure{figure.number}.svg")
    print(f"{page}: {len(runs.records)} runs")


if __name__ == "__main__":
    main()
