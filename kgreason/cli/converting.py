"""The command that writes a file in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from kgreason.cli.base import counted, guarded, print_json
from kgreason.cli.options import AsJson, Force, Format, MemoryLimit, Read
from kgreason.cli.run import running


@guarded
def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="File to read, as for --data: options follow a question mark, 'own.csv?delimiter=;'.",
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="File to write; options follow a question mark, 'own.mtx?labels=names.txt'."
        ),
    ],
    given: Annotated[
        Read | None, typer.Option("--from", help="Format of IN; default: by its extension.")
    ] = None,
    wanted: Annotated[
        Format | None, typer.Option("--to", help="Format of OUT; default: by its extension.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="PRED", help="Name of the table or relation; default: as OUT is called."
        ),
    ] = None,
    force: Force = False,
    memory_limit: MemoryLimit = None,
    as_json: AsJson = False,
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
        done = convert(
            read, Target.at(written), name=name, force=force, allow_files=running().allow_files, progress=bar
        )
    if as_json:
        told = {"read": done.read, "written": done.written, "vertices": done.vertices, "columns": done.names}
        print_json({"format": 1, "source": read.file, "target": written.file, **told})
        return 0
    alone = f" and {counted(done.vertices, 'vertex', 'vertices')} without edges" if done.vertices else ""
    print(
        f"{read.file}: {counted(done.read, 'row')} -> {written.file}: {counted(done.written, 'row')}{alone}"
    )
    return 0
