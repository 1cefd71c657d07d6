"""What ``kgreason`` alone shows: what it is, and the commands in the order of the work."""

from __future__ import annotations

import shutil
from textwrap import fill

STEPS = {
    "kgreason init own.csv": "writes rules, own.vada",
    "kgreason reason --rules own.vada --out facts": "what follows",
    "kgreason risk --rules own.vada": "what it gives away",
    "kgreason anonymize --rules own.vada": "release/ and private/",
    "kgreason verify release --rules own.vada --mapping private": "",
}
TEXTS = (
    "reasons over knowledge graphs, anonymizes them so that not even what rules derive gives anybody away, and proves "
    "it.",
    "Start with your own table of edges, such as owner,company,share; or make one up:",
    "The steps of the work, each a command:",
    "Tables of people with attributes: kgreason anonymize --method pckga. All commands: kgreason --help. One: "
    "kgreason risk --help. More: docs/terminal.md in the source.",
)


def tour(width: int | None = None) -> str:
    """Write the tour for a terminal of so many columns; `None`: as many as it says, or 80."""
    from kgreason import __version__

    wide = max(48, min(80, width or shutil.get_terminal_size((80, 24)).columns))
    what, begin, work, more = (
        fill(text, wide, break_on_hyphens=False)
        for text in (f"kgreason {__version__} {TEXTS[0]}", *TEXTS[1:])
    )
    steps = [
        f"  {command:<44}  {why}".rstrip() if wide > 75 else f"  {command}" for command, why in STEPS.items()
    ]
    made = "  kgreason generate ownership -n 60 --out own.csv"
    return "\n".join([what, "", begin, made, "", work, *steps, "", more])
