"""The command that makes a series of graphs of people from statements with times: snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgreason.cli import options, terminal
from kgreason.cli.commands import command, print_json, the_schema
from kgreason.cli.options import FILES, REQUIRED, option


@command(
    options.SOURCES,
    option(
        "--time COLUMN",
        str,
        "Column that says when a statement is true, or from when on: its title, or its number from 1.",
        REQUIRED,
    ),
    option("--end COLUMN", str, "Column that says until when a statement is true."),
    option("--count N", int, "Number of snapshots.", 50, least=1, most=1000),
    option("--out DIR", Path, "Folder to write: a folder for each snapshot, with its people.toml.", REQUIRED),
    options.FORCE,
    options.AS_JSON,
    *FILES,
)
def snapshots(data: Sequence[str], out: Path, force: bool, as_json: bool, **asked: Any) -> int:
    """Divide statements with times into a series of graphs of people with nearly equal numbers of edges."""
    from kgreason.people import snapshot_series
    from kgreason.people.snapshot_series import check_series, name_of

    check_series(out, force=force)
    chosen = {name: asked.pop(name) for name in ("time", "end", "count")}
    schema = the_schema(data, asked)
    with terminal.progress() as shown:
        found = snapshot_series.snapshots(schema, **chosen, progress=shown)
        shown.step(f"Writing {out}")
        found.save(out, force=force)
    if as_json:
        print_json({**found.as_dict(), "folder": str(out)})
        return 0
    last = name_of(len(found.graphs), len(found.graphs))
    print(f"{out}: {name_of(1, len(found.graphs))} to {last}")
    terminal.table(found.rows())
    return 0
