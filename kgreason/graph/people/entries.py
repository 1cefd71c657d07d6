"""From statements to attributes and links: sets, with values in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from kgreason.graph.io.raw import Column
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, Kind, Links, Texts, completed, distinct_links
from kgreason.graph.people.names import Lookup
from kgreason.graph.people.parts import Part
from kgreason.graph.people.remarks import Remarks

_LARGEST = 1e300  # whose differences are numbers, too
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*$"


@dataclass(frozen=True)
class Entries:
    """Statements with the numbers of users.

    Attributes
    ----------
    part
        The statements.
    user
        Whom they are about, int64, shape (m,).
    other
        Whom they lead to, int64, shape (m,); -1: to no user.
    """

    part: Part
    user: Vertices
    other: Vertices

    def take(self, rows: Vertices) -> Entries:
        """Some of the statements."""
        return Entries(self.part.take(rows), self.user[rows], self.other[rows])


def links_of(name: str, entries: Sequence[Entries], n: int, remarks: Remarks, *, mutual: bool) -> Links:
    """Links of a relation among n users; loops, repetitions and links completed by their reverse are counted."""
    source, target = _joined([e.user for e in entries]), _joined([e.other for e in entries])
    links = distinct_links(n, source, target)
    loops = int((source == target).sum())
    remarks.count("loops", name, loops)
    remarks.count("repeated", name, len(source) - loops - len(links))
    if not mutual:
        return links
    both = completed(n, links)
    remarks.count("completed", name, len(both) - len(links))
    return both


def attribute_of(
    name: str, kind: Kind, entries: Sequence[Entries], names: Lookup | None, remarks: Remarks
) -> Attribute:
    """An attribute, as `kgreason.graph.people.model.attribute` makes it; repetitions are counted.

    Raises
    ------
    DataError
        If a value has no name, or one of a numeric attribute is no number.
    """
    import pyarrow as pa

    texts = [_values(e.part, names) for e in entries]
    coded = pa.concat_arrays([*texts, pa.array([], pa.large_string())]).dictionary_encode()
    code = coded.indices.to_numpy().astype(np.int64)
    distinct = np.array(coded.dictionary.to_pylist(), dtype=object)
    if kind == "numeric":
        _check_numbers(name, coded, entries)
        same = _same_numbers(distinct)
        remarks.count("numbers", name, len(distinct) - len(np.unique(same)))
        code = same[code]
    domain, place = _ordered(distinct, code)
    user = _joined([e.user for e in entries])
    width = max(len(domain), 1)
    key = np.unique(user * width + place)
    remarks.count("repeated", name, len(user) - len(key))
    return Attribute(kind, domain, key // width, key % width)


def _joined(arrays: Sequence[Vertices]) -> Vertices:
    return np.concatenate([*arrays, np.empty(0, dtype=np.int64)])


def _values(part: Part, names: Lookup | None) -> Column:
    return names.of(part.target, part.raw, part.row) if names is not None and part.looked_up else part.target


def _ordered(texts: Texts, code: Vertices) -> tuple[Texts, Vertices]:
    """Values that occur in ascending order, and the place of each entry's value among them."""
    used = np.unique(code)
    order = used[np.argsort(texts[used], kind="stable")]
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(order))
    return texts[order], place[code]


def _check_numbers(name: str, coded: Column, entries: Sequence[Entries]) -> None:
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(coded.dictionary, _NUMBER).to_numpy(zero_copy_only=False)
    words = np.array(coded.dictionary.to_pylist(), dtype=object)
    fits[fits] = np.abs(words[fits].astype(np.float64)) < _LARGEST
    if fits.all():
        return
    bad = np.flatnonzero(~fits[coded.indices.to_numpy()])
    first, shown = int(bad[0]), coded.dictionary[coded.indices[int(bad[0])].as_py()].as_py()
    for entry in entries:
        if first < len(entry.part):
            raise entry.part.raw.error(
                int(entry.part.row[first]),
                f"{shown!r} is no number, as the values of {name} are to be",
                hint=f'name {name} among the categorical attributes, or say missing = ["{shown}"] if there is no value',
            )
        first -= len(entry.part)


def _same_numbers(texts: Texts) -> Vertices:
    """Of texts that are the same number, the first of the shortest, for each of them."""
    if not len(texts):
        return np.empty(0, dtype=np.int64)
    best: dict[Decimal, int] = {}
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    same = np.empty(len(texts), dtype=np.int64)
    for i in order:  # as decimals: doubles would take 9007199254740993 for its neighbour
        same[i] = best.setdefault(Decimal(texts[i]), i)
    return same
