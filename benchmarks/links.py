"""Figures 7 to 9 of LINKS, measured again, with a relation that rules derive, and with values, on a page with plots.

    python benchmarks/links.py [--graphs 100] [--seed 0] [--out FOLDER]

The paper's conclusions are checked. It takes up to an hour. Plots need matplotlib (``pip install '.[bench]'``).
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from zheleva.derived import derived
from zheleva.drawing import plot_of_rules, plot_of_values, plots
from zheleva.page import page
from zheleva.series import everything
from zheleva.values import valued

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduction"


def main() -> None:
    """Measure, then write the page and its plots."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=100, help="graphs drawn for each setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PAGE, help="folder of the page")
    asked = parser.parse_args()
    if find_spec("matplotlib") is None:
        raise SystemExit("the plots need matplotlib: pip install '.[bench]'")
    if asked.graphs < 1 or asked.seed < 0:
        raise SystemExit("--graphs is at least 1, and --seed at least 0")
    found = everything(asked.graphs, asked.seed)
    began = perf_counter()
    rules = derived(asked.graphs, asked.seed)
    print(f"rules: {perf_counter() - began:.0f} s")
    began = perf_counter()
    values = valued(asked.graphs, asked.seed)
    print(f"values: {perf_counter() - began:.0f} s")
    asked.out.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/links.py"
    command += f" --graphs {asked.graphs}" * (asked.graphs != 100) + f" --seed {asked.seed}" * (
        asked.seed != 0
    )
    (asked.out / "links.md").write_text(page(found, rules, values, command, asked.seed), encoding="utf-8")
    drawn = {**plots(found), "links_rules": plot_of_rules(rules), "links_values": plot_of_values(values)}
    for name, plot in drawn.items():
        plot.write(asked.out / f"{name}.svg")
    print(asked.out / "links.md")


if __name__ == "__main__":
    main()
