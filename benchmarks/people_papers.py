"""Tables and figures of the papers on graphs of people, measured again, on one page.

    python benchmarks/people_papers.py WORK [--data ../shared/data] [--out FOLDER] [--quick] [--page-only]
                                            [--only TABLE...]

Results of runs are kept in WORK/runs.jsonl, so a run that was interrupted continues, and a page can be written again
without any run (--page-only). Take another folder after a change of kgreason. --only measures tables with one of the
words in their names, such as "Table 2"; the page has all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from kgiso.runs import ROOT
from people_kg import pckga, thesis_attributes, thesis_directed, thesis_series
from people_kg.comparison_page import ComparisonPage, chosen
from people_kg.measurements import Measurements

THESIS = (thesis_directed, thesis_attributes, thesis_series)
DATA, PAGE = ROOT.parent / "shared" / "data", ROOT / "docs" / "reproduction"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of the results of runs")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of public data")
    parser.add_argument("--out", type=Path, help="folder of the page; WORK/page with --quick")
    parser.add_argument("--quick", action="store_true", help="a small series, some seconds")
    parser.add_argument(
        "--page-only", action="store_true", help="no runs, only the page of those that are there"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="TABLE", help="measure only these tables")
    return parser.parse_args()


def main() -> None:
    """Measure what is not there yet, then write the page."""
    asked = arguments()
    papers = {
        "pckga": pckga.tables(asked.quick),
        **{part.__name__.rpartition(".")[2]: tuple(part.tables(quick=asked.quick)) for part in THESIS},
    }
    out = asked.out or (asked.work / "page" if asked.quick else PAGE)
    measurements = Measurements(asked.work, asked.data, most=1 if asked.quick else 0)
    if not asked.page_only:
        wanted = chosen(papers, asked.only)
        if not any(wanted.values()):
            raise SystemExit(f"no table has one of {', '.join(asked.only)} in its name")
        measurements.complete(case for tables in wanted.values() for table in tables for case in table.cases)
    out.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/people_papers.py WORK" + " --quick" * asked.quick
    page = ComparisonPage(measurements)
    (out / "people.md").write_text(page.text(papers, command, quick=asked.quick), encoding="utf-8")
    print(f"{out / 'people.md'}: {len(measurements.known)} runs")


if __name__ == "__main__":
    main()
