"""Compiled inner loops of loading: which cells are numbers, which quotation marks are amiss."""

from __future__ import annotations

from kgreason.jit import Bytes, Flags, Ints, Shorts, kernel

INTEGERS, DECIMALS, OTHERS = 0, 1, 2

MINUS, PLUS, POINT, ZERO, NINE, E = b"-+.09e"
LOWER = 32  # the bit that tells a lower-case letter from its capital
LONGEST = 18  # digits of an integer; longer ones are names


@kernel
def _digits(text: Bytes, i: int, end: int) -> int:
    """Place of the first byte from i on that is no digit."""
    while i < end and ZERO <= text[i] <= NINE:
        i += 1
    return i


@kernel
def numbers(offsets: Shorts, text: Bytes) -> int:
    """Tell whether all cells are integers, or decimals, as `cast.INTEGER` and `cast.PLAUSIBLE` have them.

    Cell i is ``text[offsets[i]:offsets[i + 1]]``. Blanks, ``%`` and a leading ``+`` make a column one of others, which
    wants a closer look.
    """
    kind = INTEGERS
    for row in range(len(offsets) - 1):
        i, end = offsets[row], offsets[row + 1]
        if i < end and text[i] == MINUS:
            i += 1
        start, i = i, _digits(text, i, end)
        length = i - start
        if length > LONGEST or (length > 1 and text[start] == ZERO):
            return OTHERS
        if i < end and text[i] == POINT:
            start, i = i + 1, _digits(text, i + 1, end)
            length += i - start
            kind = DECIMALS
        if length == 0:
            return OTHERS
        if i < end and text[i] | LOWER == E:
            i += 1
            if i < end and (text[i] == PLUS or text[i] == MINUS):
                i += 1
            start, i = i, _digits(text, i, end)
            if i == start:
                return OTHERS
            kind = DECIMALS
        if i != end:
            return OTHERS
    return kind


@kernel
def integers(offsets: Shorts, text: Bytes, first: int, out: Ints) -> None:
    """Write the integers of cells that `numbers` has told to be such to `out`, from `first` on."""
    for row in range(len(offsets) - 1):
        i, end = offsets[row], offsets[row + 1]
        negative = text[i] == MINUS
        if negative:
            i += 1
        value = 0
        while i < end:
            value = 10 * value + (text[i] - ZERO)
            i += 1
        out[first + row] = -value if negative else value


@kernel
def marks(text: Bytes, mark: int, inner: Flags, seen: int) -> int:
    """Count quotation marks on from those `seen`, the first and the last byte aside; every second one closes.

    -1 if a byte that is `inner` stands before one that opens or behind one that closes.
    """
    for i in range(1, len(text) - 1):
        if text[i] == mark:
            if inner[text[i - 1] if seen % 2 == 0 else text[i + 1]]:
                return -1
            seen += 1
    return seen
