"""What to begin with: the tour that ``kgreason`` alone shows, and the command init."""

from __future__ import annotations

from pathlib import Path

from kgreason.base.errors import ReleaseError
from kgreason.base.resources import VERSION
from kgreason.cli.commands import check_free, guarded, print_json
from kgreason.cli.options import AS_JSON, FORCE, argument, option, taking
from kgreason.cli.reasoning import tell_alike

TOUR = f"""\
kgreason {VERSION} reasons over knowledge graphs, anonymizes them so that
not even what rules derive gives anybody away, and proves it.

Start with your own table of edges, such as owner,company,share; or make one up:
  kgreason generate ownership -n 60 --out own.csv

The steps of the work, each a command:
  kgreason init own.csv                         writes rules, own.vada
  kgreason reason --rules own.vada --out facts  what follows
  kgreason risk --rules own.vada                what it gives away
  kgreason anonymize --rules own.vada           release/ and private/
  kgreason verify release --rules own.vada --mapping private

Graphs of people: kgreason people. Sensitive links: kgreason links.
All commands: kgreason --help. One: kgreason risk --help.
More: docs/terminal.md in the source."""
"""What ``kgreason`` alone shows: the commands in the order of the work."""


@guarded
@taking(
    argument(
        "tables",
        list[str],
        "TABLE",
        "Tables of edges, perhaps of vertices, in any format that is read; options follow a question mark.",
    ),
    option("--out FILE", Path | None, "Rule file to write; default: called after the first table."),
    FORCE,
    AS_JSON,
)
def init(tables: list[str], out: Path | None, force: bool, as_json: bool) -> int:
    """Write a first rule file for tables: guess which columns are what, and say why. Asks nothing.

    Of one table with a line per person and no edges, a schema (.toml) is written instead.
    """
    from kgreason.base.atomic_files import replacing
    from kgreason.data.first_files import start

    made = start(tables, out)
    check_free(made.file, force)
    if not made.file.parent.is_dir():
        raise ReleaseError(f"{made.file}: there is no folder {made.file.parent}", hint="make it first")
    with replacing(made.file) as temporary:
        temporary.write_text(made.text, encoding="utf-8")
    tell_alike(made.file)
    if as_json:
        named = {"file": str(made.file), "kind": made.kind, "tables": made.guesses, "next": made.next}
        print_json({"format": 1, **named})
        return 0
    for table, guesses in made.guesses.items():
        print("\n  ".join([f"{table}:", *guesses]))
    print(f"\n{made.file} is written: {made.kind}. Look at it; then:")
    print("\n".join(f"  {command}" for command in made.next))
    return 0
