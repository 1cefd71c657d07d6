"""The blocks that all views in notebooks are built of.

A view is one ``<div>``. Everything that is not kgreason's own goes through `escaped`; styles stand at the elements, so
that nothing of the page around is changed, and no colour is set but that of badges: text is as the page has it, light
or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgreason.assess.verdict import Item

ROWS = 8
"""Rows of a table that are shown at most."""
WIDTH = 100
"""Characters of a cell that are shown at most."""
SENTENCE = 600
"""The same of what is told in words."""

COLOURS = {"holds": "#1a7f37", "fails": "#b42318", "undecided": "#8a5a00", "given up": "#57606a"}
"""Of badges, whose text is white: the contrast is above 4.5 in light and dark pages alike."""

_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
_NUMBER = "text-align:right;padding:2px 12px 2px 0;vertical-align:top"
_SMALL = "opacity:.8;font-size:90%"


def escaped(value: object, width: int = WIDTH) -> str:
    r"""Text of a value, safe within HTML: cut where it is long, with what cannot be seen written out.

    Examples
    --------
    >>> escaped("<b>"), escaped("a\u202eb"), escaped("x" * 200) == "x" * 99 + "…"
    ('&lt;b&gt;', 'a\\u202eb', True)
    """
    text = " ".join(str(value).split("\n"))
    if len(text) > width:
        text = text[: width - 1] + "…"
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return escape(shown, quote=True)


def view(title: str, *blocks: str) -> str:
    """Put blocks together under a title."""
    head = f'<div style="font-weight:600;margin:4px 0">{escaped(title, SENTENCE)}</div>'
    return f"<div>{head}{''.join(blocks)}</div>"


def badge(state: str, words: str = "") -> str:
    """A state in its colour, and in words."""
    style = (
        f"background:{COLOURS.get(state, COLOURS['given up'])};color:#fff;border-radius:4px;padding:1px 8px"
    )
    return f'<div style="margin:4px 0"><span style="{style}">{escaped(words or state)}</span></div>'


def note(text: str) -> str:
    """A sentence in small letters."""
    return f'<div style="{_SMALL};margin:2px 0">{escaped(text, SENTENCE)}</div>' if text else ""


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", count: int | None = None
) -> str:
    """The first rows of a table; `count` tells how many there are, and what is missing is said.

    Examples
    --------
    >>> "4 more" in table(["n"], ([n] for n in range(12)), count=12)
    True
    """
    shown = list(islice(rows, ROWS + 1))
    total = len(shown) if count is None else count
    caption = f'<caption style="text-align:left;font-weight:600">{escaped(title)}</caption>' if title else ""
    first = shown[0] if shown else [""] * len(columns)
    heads = "".join(
        f'<th scope="col" style="{_NUMBER if _is_number(value) else _CELL}">{escaped(name)}</th>'
        for name, value in zip(columns, first, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown[:ROWS])
    left = total - min(len(shown), ROWS)
    rest = f"… {left:,} more" if left > 0 and count is not None else "… and more" if left > 0 else ""
    return (
        f'<table style="border-collapse:collapse;margin:4px 0">{caption}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table>{note(rest)}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> str:
    number = _is_number(value)
    text = f"{value:,}" if isinstance(value, int) and number else f"{value:.6g}" if number else value
    return f'<td style="{_NUMBER if number else _CELL}">{escaped("" if text is None else text)}</td>'


def figures(rows: Iterable[tuple[str, object, str]]) -> str:
    """Figures, each with its name and what is better."""
    lines = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:400">{escaped(name)}</th>{_cell(value)}'
        f'<td style="{_CELL};{_SMALL}">{escaped(better)}</td></tr>'
        for name, value, better in rows
    )
    return f'<table style="border-collapse:collapse;margin:4px 0"><tbody>{lines}</tbody></table>'


def items(found: Iterable[Item]) -> str:
    """Conditions that were examined, with the first witnesses of those that do not hold."""
    lines = []
    for item in found:
        state = escaped(item.state)
        colour = COLOURS[item.state]
        mark = f'<span style="background:{colour};color:#fff;border-radius:4px;padding:0 6px">{state}</span>'
        witnesses = "".join(f"<li>{escaped(w, SENTENCE)}</li>" for w in item.witnesses[:3])
        more = len(item.witnesses) - 3
        witnesses += f"<li>… {more:,} more</li>" if more > 0 else ""
        listed = f'<ul style="margin:2px 0">{witnesses}</ul>' if witnesses else ""
        lines.append(
            f'<tr><td style="{_CELL}">{mark}</td><th scope="row" style="{_CELL};font-weight:400">{escaped(item.name)}'
            f'</th><td style="{_CELL}">{escaped(item.detail, SENTENCE)}{listed}</td></tr>'
        )
    return f'<table style="border-collapse:collapse;margin:4px 0"><tbody>{"".join(lines)}</tbody></table>'


def counted(numbers: Mapping[str, object], noun: str) -> str:
    """Numbers of several things in a line."""
    return f"{noun}: " + (", ".join(f"{name} {n:,}" for name, n in numbers.items()) or "none")


def percent(share: float | None) -> str:
    """A share in per cent; none where there is none.

    Examples
    --------
    >>> percent(0.125), percent(None)
    ('12.5 %', 'none')
    """
    return "none" if share is None else f"{100 * share:.1f} %"
