"""Names that look the same and are two: they differ by white space, or by the width of their letters.

References
----------
Unicode Standard Annex 15: Unicode Normalization Forms; Annex 11: East Asian Width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from kgreason.arrays import as_arrow, as_numpy, pa, pc
from kgreason.data.raw import Column

_ODD = r"[^\x21-\x7E ]|^ | $|  "  # what plain names do not have
_SPACED = r"[^\x21-\x7E]"
_UNSEEN = r"[\x{AD}\x{200B}\x{2060}\x{FEFF}]"
_FORMATS = r"\p{Cf}"
_BLANKS = r"[\s\p{Z}]+"
_WIDE = re.compile("[\uff00-\uffef\u3000]+")
_UNSPACED = (
    r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\x{30FC}]"
)
"""Letters of scripts that put no blanks between words."""
_KEPT = "\x1f"  # stands for a blank between digits
_SHOWN = 10


def normal(column: Column) -> Column:
    r"""Names in one spelling, for ``names=normalize``.

    Letters have their usual width and are composed (NFC), white space is one blank, or none at the ends and beside
    letters of scripts that put no blanks between words; what is not seen at all is left out. Capitals and other blanks
    stay, for ``AB 1`` and ``AB1``, ``an other`` and ``another`` may be two.

    Parameters
    ----------
    column
        Arrow array of large strings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> normal(pa.array(["Ada\u3000 Ｌｔｄ ", "ธนาคาร กรุงเทพ", "AB 1"], pa.large_string())).to_pylist()
    ['Ada Ltd', 'ธนาคารกรุงเทพ', 'AB 1']
    """
    odd = pc.fill_null(pc.match_substring_regex(column, _ODD), False)
    if not pc.any(odd, min_count=0).as_py():
        return column
    texts = column.filter(odd)
    usual = [_WIDE.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text) for text in texts.to_pylist()]
    texts = pa.array(usual, column.type)
    texts = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFC"), _UNSEEN, "")
    texts = pc.utf8_trim(pc.replace_substring_regex(texts, _BLANKS, " "), " ")
    texts = pc.replace_substring_regex(texts, f"({_UNSPACED}) ", r"\1")
    texts = pc.replace_substring_regex(texts, f" ({_UNSPACED})", r"\1")
    return pc.replace_with_mask(column, odd, texts)


def _folded(names: Column) -> Column:
    """What names share that look the same: all but white space (NFKC), which only keeps digits apart."""
    odd = pc.match_substring_regex(names, _SPACED)
    if not pc.any(odd, min_count=0).as_py():
        return names
    texts = pc.utf8_normalize(names.filter(odd), "NFKC")
    texts = pc.replace_substring_regex(pc.replace_substring_regex(texts, _FORMATS, ""), _BLANKS, " ")
    for _ in range(2):  # of 1 2 3 the first pass leaves the second blank
        texts = pc.replace_substring_regex(texts, r"(\d) (\d)", rf"\1{_KEPT}\2")
    return pc.replace_with_mask(names, odd, pc.replace_substring(texts, " ", ""))


def alike(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Names, each once, that differ by white space or the width of letters only, side by side.

    Examples
    --------
    >>> alike(["A B", "C", "AB", "1 23", "12 3", "Ａ"])
    [('A B', 'AB')]
    """
    names = pa.array(labels, pa.large_string()).unique()
    places = as_numpy(_folded(names).dictionary_encode().indices)
    shared = np.flatnonzero(np.bincount(places)[places] > 1) if len(places) else places  # as a rule none
    groups: dict[int, list[str]] = {}
    for place, name in zip(places[shared].tolist(), names.take(as_arrow(shared)).to_pylist(), strict=True):
        groups.setdefault(place, []).append(name)
    return [tuple(group) for group in groups.values()]


def note(labels: Sequence[str]) -> str | None:
    """Tell of names that look the same, and which of them ``names=normalize`` takes for one; `None`: there are none."""
    groups = alike(labels)
    if not groups:
        return None
    shown = "; ".join(" and ".join(map(repr, group)) for group in groups[:_SHOWN])
    more = "; ..." if len(groups) > _SHOWN else ""
    one = [len(set(normal(pa.array(g, pa.large_string())).to_pylist())) < len(g) for g in groups]
    count = "1 name" if len(groups) == 1 else f"{len(groups):,} names"
    taken = "none of them" if not any(one) else "all of them" if all(one) else f"{sum(one):,} of them"
    cure = f"names=normalize makes {taken} one" if any(one) else "mend the data if they are one"
    return (
        f"{count} stand{'s' * (len(groups) == 1)} there in spellings that differ by blanks or the width of letters "
        f"only, and so as several vertices: {shown}{more}; {cure}"
    )
