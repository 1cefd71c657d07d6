"""What ``kgreason`` alone shows: what it is, and the commands in the order of the work."""

from __future__ import annotations

import shutil
from textwrap import fill

STEPS = (
    ("kgreason init own.csv", "writes rules, own.vada"),
    ("kgreason reason --rules own.vada --out facts", "what follows"),
    ("kgreason risk --rules own.vada", "what it gives away"),
    ("kgreason anonymize --rules own.vada", "release/ and private/"),
    ("kgreason verify release --rules own.vada --mapping private", "the proof"),
)
WIDEST, NARROWEST, LEAST = 80, 76, 48


def tour(width: int | None = None) -> str:
    """Write the tour.

    Parameters
    ----------
    width
        Of the terminal, in columns; `None`: what it says, or 80.
    """
    from kgreason import __version__

    seen = width or shutil.get_terminal_size((WIDEST, 24)).columns
    wide = max(LEAST, min(WIDEST, seen))
    paragraphs = (
        f"kgreason {__version__} reasons over knowledge graphs, anonymizes them so that not even what rules "
        "derive gives anybody away, and proves it.",
        "Start with your own table of edges, such as owner,company,share; or make one up:",
        "The steps of the work, each a command:",
        "Tables of people with attributes: kgreason anonymize --method pckga. All commands: kgreason --help. One: "
        "kgreason risk --help. More: docs/terminal.md in the source.",
    )
    what, start, work, more = (fill(text, wide, break_on_hyphens=False) for text in paragraphs)
    made = "  kgreason generate ownership -n 60 --out own.csv"
    return "\n".join([what, "", start, made, "", work, *_steps(wide), "", more])


def _steps(wide: int) -> list[str]:
    """A line for each step, with what it is for where there is room."""
    if wide < NARROWEST:
        return [f"  {command}" for command, _ in STEPS]
    left = max(len(command) for command, _ in STEPS[:-1])
    last = STEPS[-1][0]
    return [*(f"  {command:<{left}}  {what}" for command, what in STEPS[:-1]), f"  {last}"]
