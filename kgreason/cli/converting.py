"""The command that writes a file in another format."""

from __future__ import annotations

from typing import Any

from kgreason.cli import options
from kgreason.cli.base import counted, guarded, print_json
from kgreason.cli.options import Format, argument, option, taking
from kgreason.cli.run import running


@guarded
@taking(
    argument(
        "source",
        str,
        "IN",
        "File to read, as for --data: options follow a question mark, 'own.csv?delimiter=;'.",
    ),
    argument(
        "target", str, "OUT", "File to write; options follow a question mark, 'own.mtx?labels=names.txt'."
    ),
    option("--from", Format | None, "Format of IN; default: by its extension.", name="given"),
    option("--to", Format | None, "Format of OUT; default: by its extension.", name="wanted"),
    option("--name PRED", str | None, "Name of the table or relation; default: as OUT is called."),
    options.FORCE,
    options.MEMORY_LIMIT,
    options.AS_JSON,
)
def convert(
    source: str,
    target: str,
    given: Format | None,
    wanted: Format | None,
    memory_limit: int | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Write a table or graph in another format."""
    from dataclasses import replace

    from kgreason.data.convert import convert
    from kgreason.data.source import parse_file
    from kgreason.data.target import Target
    from kgreason.memory import limited
    from kgreason.terminal import progress

    read, written = parse_file(source), parse_file(target)
    read = replace(read, format=given or read.format)
    written = replace(written, format=wanted or written.format)
    with limited(memory_limit), progress() as bar:
        done = convert(read, Target.at(written), allow_files=running().allow_files, progress=bar, **asked)
    if as_json:
        told = {"read": done.read, "written": done.written, "vertices": done.vertices, "columns": done.names}
        print_json({"format": 1, "source": read.file, "target": written.file, **told})
        return 0
    alone = f" and {counted(done.vertices, 'vertex', 'vertices')} without edges" if done.vertices else ""
    print(
        f"{read.file}: {counted(done.read, 'row')} -> {written.file}: {counted(done.written, 'row')}{alone}"
    )
    return 0
