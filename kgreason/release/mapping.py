"""Random vertex labels and orders, and the mapping of original to released vertices as file, names and numbers."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import ArrowArray, as_arrow, as_numpy, constant, pc, strings
from kgreason.base.errors import CallError, ReleaseError
from kgreason.base.records import record
from kgreason.data.formats.delimited import write_csv
from kgreason.graph.knowledge_graph import Vertices
from kgreason.release.read_back import Rows, plain_fields, read_pairs

Labels = npt.NDArray[Any]
# numbers of vertices that the mapping gives no image, and of those it does not list
REMOVED, UNLISTED = (
    -1,
    -2,
)
OTHER_RELEASE = "is this of another release?"
_LETTERS = np.array(list("abcdefghjkmnpqrstuvwxyz"))
_SIGNS = np.array([*_LETTERS, *"23456789"])
_LENGTH = 10


def fresh_labels(
    count: int, rng: np.random.Generator | None, avoid: Collection[str] = ()
) -> npt.NDArray[np.object_]:
    """Draw distinct labels of equal length; they begin with a letter, so that they are not parsed as numbers."""
    found: dict[str, None] = {}
    while len(found) < count:
        found.update(dict.fromkeys(_spelled(_words(count - len(found), rng))))
        for label in found.keys() & avoid:
            del found[label]
    return np.array(list(found), dtype=object)


def fresh(label: str) -> bool:
    """Whether `fresh_labels` may draw a label, which then carries no information.

    Examples
    --------
    >>> fresh("a7k2m9xw4b"), fresh("acme"), fresh("1234567890")
    (True, False, False)
    """
    return len(label) == _LENGTH and label[0] in set(_LETTERS) and set(label) <= set(_SIGNS)


def numbers(count: int) -> npt.NDArray[np.object_]:
    """Labels 1 to n in order; they carry no information if the vertices are in random order."""
    return np.array([str(number + 1) for number in range(count)], dtype=object)


def _spelled(words: npt.NDArray[np.uint64]) -> list[str]:
    signs = np.empty((len(words), _LENGTH), dtype="<U1")
    words, first = np.divmod(words, np.uint64(len(_LETTERS)))
    signs[:, 0] = _LETTERS[first]
    for i in range(1, _LENGTH):
        words, sign = np.divmod(words, np.uint64(len(_SIGNS)))
        signs[:, i] = _SIGNS[sign]
    spelled: list[str] = signs.view(f"<U{_LENGTH}").ravel().tolist()
    return spelled


def permutation(count: int, rng: np.random.Generator | None) -> Vertices:
    """Random permutation of 0 .. count-1, int64."""
    return np.argsort(_words(count, rng), kind="stable").astype(np.int64, copy=False)


def _words(count: int, rng: np.random.Generator | None) -> npt.NDArray[np.uint64]:
    """Random 64-bit words, shape (count,)."""
    if rng is None:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return rng.integers(0, 2**64, count, dtype=np.uint64)


# --- mapping ---


@record
class Names:
    """Released names by original names; empty or `None`: removed from the release.

    `file` and `rows`, which know the line of each original name, are for messages.
    """

    released: Mapping[str, str | None]
    file: str = "mapping"
    rows: Rows | None = None

    def where(self, name: str) -> str:
        """File and line of an original name."""
        return self.file if self.rows is None else f"{self.file}:{self.rows.line(name)}"


def write_mapping(path: Path, original: Labels, released: Labels, mapping: Vertices) -> None:
    """Write ``original,released`` rows sorted by original name; the second field is empty for removed vertices."""
    order = np.argsort(original.astype(str), kind="stable")
    place = np.where(mapping >= 0, mapping, len(released))[order]
    ours, theirs = strings(original.tolist()), strings([*released.tolist(), ""])
    write_csv(path, ("original", "released"), (ours.take(as_arrow(order)), theirs.take(as_arrow(place))))


def read_mapping(path: Path, *, partial: bool = False) -> Names:
    """Read ``original,released`` rows from the private folder or the mapping file in it.

    Raises
    ------
    ReleaseError
        If the header differs, a row does not have two fields, or an original name is repeated; or, unless `partial`, if
        a vertex is removed.
    """
    path = path / "mapping.csv" if path.is_dir() else path
    rows = read_pairs(path, ("original", "released"), partial=partial)
    return Names(rows.texts, str(path), rows)


def plain_images(path: Path, original: Labels) -> ArrowArray | None:
    """Released name of each original vertex from a mapping file that is written as usual, else `None`.

    `numbers_in` and this function do without Python objects what `read_mapping` and `numbers_of` do for every file.
    """
    if (fields := plain_fields(path, ("original", "released"))) is None or len(fields[0]) != len(original):
        return None
    if any(pc.index(names, constant("")).as_py() >= 0 for names in fields):  # a row needs two fields
        return None
    rows = pc.index_in(strings(original.tolist()), value_set=fields[0])
    return None if rows.null_count else fields[1].take(rows)


def numbers_in(released: Labels, images: ArrowArray) -> Vertices | None:
    """Number of each released name; `None` if the release lacks one of them."""
    found = pc.index_in(images, value_set=strings(released.tolist()))
    return None if found.null_count else as_numpy(found).astype(np.int64)


def names_of(given: object) -> Names | None:
    """Mapping from names in memory or a table of two columns; `None` for other objects."""
    from kgreason.data.library_imports import as_table, is_table

    if isinstance(given, Names):
        return given
    if isinstance(given, Mapping):
        return Names(given)
    if not is_table(given):
        return None
    columns = as_table(given)[1]
    if len(columns) != 2:
        raise ReleaseError(
            f"the mapping has {len(columns)} columns, not the original's and the released label",
            hint="choose these two, in this order",
        )
    ours, theirs = ([str(label) for label in column.to_pylist()] for column in columns)
    return Names(dict(zip(ours, theirs, strict=True)))


def numbers_of(
    names: Names, original: Labels, released: Labels, who: str, *, partial: bool = False, others: bool = False
) -> Vertices:
    """Released vertex number of each original vertex, int64, shape (n,).

    Parameters
    ----------
    original, released
        All labels, in order of their numbers.
    who
        Noun for messages: vertex, user or entity.
    partial
        Whether vertices may be removed (`REMOVED`), or not be listed (`UNLISTED`).
    others
        Whether the mapping may contain names that are not in the original.

    Raises
    ------
    ReleaseError
        If an original name has no row, or a row contains a name that is not in the original or the release.

    Examples
    --------
    >>> numbers_of(Names({"Ken": "b", "Mary": "a"}), np.array(["Ken", "Mary"]), np.array(["a", "b"]), "user").tolist()
    [1, 0]
    """
    number = dict(zip(released.tolist(), range(len(released)), strict=True))
    labels, mapped = original.tolist(), names.released
    images = list(map(mapped.get, labels))
    if others and set(map(type, images)) == {str}:
        found = np.fromiter(map(number.get, images, repeat(REMOVED)), dtype=np.int64, count=len(labels))
        if (found >= 0).all():  # no vertex is removed or unknown
            return found
    if not others and (unlisted := sorted(map(str, mapped.keys() - set(labels)))):
        what = f"{names.where(unlisted[0])}: {unlisted[0]!r} is no {who} of the original"
        raise ReleaseError(what, hint=OTHER_RELEASE)
    lacking = [label for label in labels if label not in mapped]
    if lacking and not partial:
        hint = (
            "it is one of the release: rules and schemas in its folder read the release; name those of the original"
            if lacking[0] in number
            else f"the mapping must have a row original,released for every {who} of the original graph: is it cut off?"
        )
        what = f"{names.file}: the original {who} {lacking[0]!r} has no row{_more(lacking, labels, who)}"
        raise ReleaseError(what, hint=hint)
    known = number.keys() | ({None, ""} if partial else set())
    unknown = [
        label
        for label in labels
        if label in mapped and not (isinstance(mapped[label], str | None) and mapped[label] in known)
    ]
    if unknown:
        what = (
            f"{names.where(unknown[0])}: {unknown[0]!r} is mapped to {mapped[unknown[0]]!r}, "
            f"which the release does not contain{_more(unknown, labels, who)}"
        )
        hint = OTHER_RELEASE if len(unknown) > 1 else "was this row, or the release, edited?"
        raise ReleaseError(what, hint=hint)
    places = (
        UNLISTED if label not in mapped else number.get(mapped[label] or "", REMOVED) for label in labels
    )
    return np.fromiter(places, dtype=np.int64, count=len(labels))


def _more(some: Sequence[str], labels: Sequence[str], who: str) -> str:
    plural = {"vertex": "vertices", "entity": "entities"}.get(who, f"{who}s")
    return f" ({len(some):,} such of {len(labels):,} {plural})" if len(some) > 1 else ""


def whole_numbers(given: object) -> npt.NDArray[np.integer[Any]] | None:
    """Convert to an integer array; `None` if the values are not integers."""
    try:
        numbers = np.asarray(given)
    except ValueError:  # rows of different lengths
        return None
    if not numbers.size:
        return numbers.astype(np.int64)
    return numbers if numbers.dtype.kind in "iu" else None


def checked_numbers(given: object, original: Labels, n: int) -> Vertices:
    """Check a mapping given as released numbers of all original vertices, for a release with `n` vertices.

    Raises
    ------
    CallError
        If they are not integers.
    ReleaseError
        If their number is wrong, or one is not a number of the release.
    """
    numbers = whole_numbers(given)
    if numbers is None or numbers.ndim != 1:
        shape = f"{given.dtype} of shape {given.shape}" if isinstance(given, np.ndarray) else None
        raise CallError(
            "a mapping is released names by original ones, whole numbers of the release, or the private folder, not "
            f"{shape or f'of type {type(given).__name__}'}",
            hint="of a result it is result.mapping",
        )
    if len(numbers) != len(original):
        raise ReleaseError(
            f"mapping: {len(numbers):,} numbers for {len(original):,} names", hint=OTHER_RELEASE
        )
    if len(lost := np.flatnonzero((numbers < 0) | (numbers >= n))):
        what = f"{original[lost[0]]!r} has the number {numbers[lost[0]]}, and there are {n:,}"
        raise ReleaseError(f"mapping: {what}", hint=OTHER_RELEASE)
    return numbers.astype(np.int64)
