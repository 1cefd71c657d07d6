"""The command about graphs before they are released: risk."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import ReleaseError
from kgreason.base.printable import printable, raw
from kgreason.cli import options, terminal
from kgreason.cli.commands import (
    check_free,
    command,
    counted,
    engine,
    load_rules,
    print_json,
    sources,
    tables,
)
from kgreason.cli.options import option, setting_option
from kgreason.cli.run import tell
from kgreason.isomorphism.settings import MAX_EXAMINED, Settings

if TYPE_CHECKING:
    from kgreason.isomorphism.risk.advice import Method, Risk
    from kgreason.isomorphism.risk.method_costs import Cost

Line = tuple[str, ...]


@command(
    options.RULES,
    options.DATA,
    option(
        "--population [PRED=]FILE",
        list[str],
        "A graph in which an attacker looks for the vertices of this one; repeatable.",
    ),
    setting_option(Settings, "k"),
    option(
        "-x --x X|A..B",
        range,
        "Vertices of the part that an attacker knows, or several numbers, as in 2..4: 1 to 8.",
        type=options.sizes,
        show_default="2..6",
    ),
    option(
        "--max-subgraphs N",
        int,
        "Number of connected subgraphs of x vertices above which only a random sample is examined.",
        MAX_EXAMINED,
        least=1,
    ),
    option(
        "--exposed N", int, "Print the N vertices with the highest risk; keep the output secret.", 0, least=0
    ),
    *options.ENGINES,
    option("--out FILE", Path, "Write all figures as JSON, readable by you alone."),
    options.FORCE,
    options.AS_JSON,
)
def risk(
    rules: Path,
    data: Sequence[str],
    population: Sequence[str],
    exposed: int,
    out: Path | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Measure the risks of a graph before it is anonymized, and the costs of each method."""
    from kgreason.data.formats.vertex_names import spelling_note
    from kgreason.isomorphism import assessment

    if out is not None:
        if not out.parent.is_dir():
            raise ReleaseError(f"{out}: there is no folder {out.parent}", hint="make it first")
        check_free(out, force)
    read = sources(data)
    program = load_rules(rules, bound=read)
    among = None if not population else tables(program, population)
    with engine(asked), terminal.progress() as shown:
        found = assessment.risk(program, read, population=among, progress=shown, **asked)
    if (alike := spelling_note(found.graph.labels.tolist())) is not None:
        tell(f"note: {alike}")
    if out is not None:
        from kgreason.release.digests import json_text

        with replacing(out, private=True) as temporary:
            temporary.write_text(json_text(found.as_dict(exposed)), encoding="utf-8")
    if as_json:
        print_json(found.as_dict(exposed))
    else:
        call = ["kgreason", "anonymize", "--rules", str(rules)]
        for table in data:
            call += ["--data", table]
        _print(found, exposed, [*call, "-k", str(found.k), *found.advice.options.split()])
    if exposed:
        tell("The named vertices are the most exposed ones: keep this output secret.")
    return 0


def _print(found: Risk, exposed: int, call: Sequence[str]) -> None:
    from kgreason.isomorphism.report import risk_table

    graph = found.graph
    print(f"{counted(graph.n, 'vertex', 'vertices')}, {counted(graph.m, 'edge')}, before any anonymization\n")
    exposures = risk_table(found)
    print_grid(exposures.columns, exposures.rows)
    for name, reason in found.left_out.items():
        print(f"{name}: not looked at, {reason}")
    print()
    head: Line = (
        "to anonymize",
        "subgraphs",
        "lack images",
        "vertices added",
        "edges added",
        "seconds",
        "MB",
        "",
    )
    print_grid(head, [_method(m) for m in (*found.advice.methods, *found.advice.further)])
    print("\n~ is an estimate; ranges are those in which figures should lie (docs/risk.md)\n")
    if exposed:
        print_grid(
            ("most exposed", "unique if an attacker knows"),
            [(v, "; ".join(what)) for v, what in found.exposed(exposed)],
        )
        print()
    print(shlex.join(call))
    print(f"  {found.advice.reason}")


def _method(m: Method) -> Line:
    lack = sum(f.lacking for f in m.lacking)
    sure = all(f.exact for f in m.lacking)
    low, high = sum(f.low for f in m.lacking), sum(f.high for f in m.lacking)
    lacking = f"{lack:,.0f}" if sure else f"~ {lack:,.0f} ({low:,.0f} to {high:,.0f})"
    subgraphs = "" if m.subgraphs is None else f"{m.subgraphs:,}"
    remark = m.remark if m.feasible else f"not feasible: {m.remark}"
    return (m.name, subgraphs, lacking if m.lacking else "", *_cost(m.cost), remark)


def _cost(cost: Cost | None) -> tuple[str, str, str, str]:
    if cost is None:
        return "", "", "", ""
    ranges = (cost.vertices, cost.seconds, cost.megabytes)
    vertices, seconds, megabytes = (
        f"{r.low:,.0f}" if r.exact else f"{r.low:,.0f} to {r.high:,.0f}" for r in ranges
    )
    edges = f"{cost.edges}" if cost.edges.exact else f"~ {cost.edges}"
    return vertices, edges, seconds, megabytes


def print_grid(head: Line, lines: Sequence[Line]) -> None:
    """Print a table: first and last column to the left, the others to the right; with borders on a terminal."""
    from rich.box import HEAVY_HEAD
    from rich.console import Console
    from rich.table import Table

    used = [i for i in range(len(head)) if head[i] or any(line[i] for line in lines)]
    left = {0, len(used) - 1} if len(used) == 2 or not head[used[-1]] else {0}
    on_terminal = sys.stdout.isatty()
    table = Table(box=HEAVY_HEAD) if on_terminal else Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, i in enumerate(used):
        table.add_column(printable(head[i]), justify="left" if place in left else "right")
    for line in lines:
        table.add_row(*(printable(line[i]) for i in used))
    if on_terminal:
        Console(file=raw(sys.stdout), emoji=False, markup=False).print(table)
        return
    plain = StringIO()
    Console(file=plain, width=10_000, emoji=False, markup=False).print(table)
    print("\n".join(line.rstrip() for line in plain.getvalue().splitlines()))
