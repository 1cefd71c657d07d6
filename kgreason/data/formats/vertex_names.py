"""Vertex names of graph files: ids, an attribute, or the lines of a separate label file.

MatrixMarket and KONECT files contain numbers only. Numeric names are written directly; other names are written to a
label file (option ``labels``), whose line i names vertex i. Distinct names that look alike differ in white space or in
character width.

References
----------
Unicode Standard Annex 15: Unicode Normalization Forms; Annex 11: East Asian Width.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from string import whitespace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, as_numpy, pa, pc
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.fact_columns import TextColumn, numbers, row_ranges, write_lines
from kgreason.data.raw_table import Column, Raw, decoded, whole_lines
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, decode
from kgreason.language.vocabulary import suggest

_ODD = r"[^\x21-\x7E ]|^ | $|  "  # does not occur in plain names
_SPACED = r"[^\x21-\x7E]"
_UNSEEN = r"[\x{AD}\x{200B}\x{2060}\x{FEFF}]"
_FORMATS = r"\p{Cf}"
_BLANKS = r"[\s\p{Z}]+"
_WIDE = re.compile("[\uff00-\uffef\u3000]+")
_UNSPACED = (
    r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\x{30FC}]"
)
"""Letters of scripts that put no blanks between words."""
_KEPT = "\x1f"  # placeholder for a blank between digits
_SHOWN = 10


def normal_spelling(column: Column) -> Column:
    """Normalize the spelling of names (an Arrow array of large strings), for ``names=normalize``.

    Letters are converted to their usual width and composed (NFC); white space becomes a single blank, and is removed at
    the ends and next to letters of scripts without blanks between words; invisible characters are removed. Case and
    other blanks are kept, since ``AB 1`` and ``AB1``, ``an other`` and ``another`` may be different names.
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
    """Key of names that look alike: NFKC without white space, except between digits."""
    odd = pc.match_substring_regex(names, _SPACED)
    if not pc.any(odd, min_count=0).as_py():
        return names
    texts = pc.utf8_normalize(names.filter(odd), "NFKC")
    texts = pc.replace_substring_regex(pc.replace_substring_regex(texts, _FORMATS, ""), _BLANKS, " ")
    for _ in range(2):  # the first pass on 1 2 3 skips the second blank
        texts = pc.replace_substring_regex(texts, r"(\d) (\d)", rf"\1{_KEPT}\2")
    return pc.replace_with_mask(names, odd, pc.replace_substring(texts, " ", ""))


def alike(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of distinct names that differ only in white space or character width."""
    names = pa.array(labels, pa.large_string()).unique()
    codes = as_numpy(_folded(names).dictionary_encode().indices)
    shared = np.flatnonzero(np.bincount(codes)[codes] > 1) if len(codes) else codes  # usually empty
    groups: dict[int, list[str]] = {}
    for code, name in zip(codes[shared].tolist(), names.take(as_arrow(shared)).to_pylist(), strict=True):
        groups.setdefault(code, []).append(name)
    return [tuple(group) for group in groups.values()]


def spelling_note(labels: Sequence[str]) -> str | None:
    """Note on names that look alike, and on those that ``names=normalize`` merges; `None` if there are none."""
    groups = alike(labels)
    if not groups:
        return None
    shown = "; ".join(" and ".join(map(repr, group)) for group in groups[:_SHOWN])
    more = "; ..." if len(groups) > _SHOWN else ""
    one = [len(set(normal_spelling(pa.array(g, pa.large_string())).to_pylist())) < len(g) for g in groups]
    count = "1 name" if len(groups) == 1 else f"{len(groups):,} names"
    taken = "none of them" if not any(one) else "all of them" if all(one) else f"{sum(one):,} of them"
    cure = f"names=normalize makes {taken} one" if any(one) else "mend the data if they are one"
    return (
        f"{count} stand{'s' * (len(groups) == 1)} there in spellings that differ by blanks or the width of letters "
        f"only, and so as several vertices: {shown}{more}; {cure}"
    )


Numbers = npt.NDArray[np.int64]

MOST = 10_000_000
"""Greatest name that may stand for a vertex number: a matrix has a row for each number up to it."""

_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


# Reading


def edges(file: str, columns: Sequence[Column], line: Callable[[int], int | None], **more: Any) -> Raw:
    """Edge table of a graph file: source, target and optional weight; `more` are attributes of `Raw`."""
    names = ("source", "target", "weight")[: len(columns)]
    return Raw(file, names, tuple(columns), line, named=False, graph=True, **more)


def named(raw: Raw, options: Options, *, usual: bool = True) -> Raw:
    """Replace vertex ids by the attribute that the option ``names`` selects; it must be distinct for all vertices.

    Without the option, and if `usual`, the attribute ``label`` or else ``name`` is used if it is distinct.
    """
    vertices = raw.vertices
    if vertices is None or options.names == "id":
        return raw
    reasons = []
    for attribute in ("label", "name") if options.names is None else (options.names,):
        column = _attribute(vertices, attribute)
        if column is None and options.names is not None:
            known = [n for n in (*vertices.names, *vertices.extra) if n]
            near = suggest(attribute, known)
            means = f"did you mean {near}? " if near else ""
            hint = f"{means}they have {', '.join(known)}" if vertices.columns else None
            raise DataError(vertices.file, f"the vertices have no {attribute!r}", hint=hint)
        if column is None or (options.names is None and pc.all(_absent(column), min_count=0).as_py()):
            continue
        trouble = _trouble(vertices, column, attribute)
        if trouble is None and (usual or options.names is not None):
            return _renamed(raw, column, attribute)
        if trouble is not None and options.names is not None:
            raise vertices.error(*trouble, hint="names=id calls vertices by their ids")
        if trouble is not None and usual:
            reasons.append(trouble[1])
        elif trouble is None and not column.equals(_attribute(vertices, vertices.names[0])):
            reasons.append(f"names={attribute} calls them by their {attribute}")
    if not reasons:
        return raw
    return replace(raw, notes=(*raw.notes, f"{raw.file}: vertices are called by their ids; {reasons[0]}"))


def _attribute(vertices: Raw, name: str) -> Column | None:
    column = {**vertices.extra, **dict(zip(vertices.names, vertices.columns, strict=False))}.get(name)
    if column is None:
        return None
    return (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).cast(pa.string())


def _trouble(vertices: Raw, column: Column, name: str) -> tuple[int, str] | None:
    """First row whose attribute is missing or repeated, and the reason."""
    ids = vertices.columns[0]
    absent = _absent(column)
    if pc.any(absent).as_py():
        row = pc.index(absent, True).as_py()
        return row, f"vertex {ids[row].as_py()!r} has no {name}"
    rows = repeated(column)
    if rows is None:
        return None
    two = " and ".join(repr(ids[row].as_py()) for row in rows)
    return rows[1], f"vertices {two} have the same {name}, {column[rows[1]].as_py()!r}"


def repeated(column: Column) -> tuple[int, int] | None:
    """Row numbers of the first repeated text and its repetition; `None` if all are distinct."""
    codes = as_numpy(column.dictionary_encode().indices)
    first = np.unique(codes, return_index=True)[1]
    again = np.flatnonzero(first[codes] != np.arange(len(codes)))
    return (int(first[codes[again[0]]]), int(again[0])) if len(again) else None


def _absent(column: Column) -> Column:
    return pc.fill_null(pc.equal(column, ""), True)


def _renamed(raw: Raw, names: Column, attribute: str) -> Raw:
    """Replace ids by names, in the edges and as the key of the vertices."""
    assert raw.vertices is not None
    ends = (names.take(rows) for rows in ends_of(raw, raw.vertices))
    vertices = replace(raw.vertices, key=(attribute, names))
    return replace(raw, columns=(*ends, *raw.columns[2:]), vertices=vertices)


def ends_of(raw: Raw, vertices: Raw) -> list[Column]:
    """Vertex row numbers of the two ends of each edge."""
    ids, found = vertices.columns[0], []
    for end in raw.columns[:2]:
        found.append(pc.index_in(end.cast(ids.type), value_set=ids))
        row = pc.index(found[-1].is_null(), True).as_py()
        if row >= 0:
            file = Path(vertices.file).name
            message = f"the edge ends at {end[row].as_py()!r}, which is no vertex of {file}"
            raise raw.error(row, message, hint="declare the vertex, or take the edge out")
    return found


def called(raw: Raw, options: Options) -> Raw:
    """Replace vertex ids by labels if the option ``label`` is ``name``; ids are appended to repeated labels."""
    vertices = raw.vertices
    if options.label in (None, "id") or vertices is None:
        return raw
    if options.label != "name":
        hint = "label=name calls vertices by their names, label=id by their ids"
        raise DataError(raw.file, f"option label cannot be {options.label!r}", hint=hint)
    ids, labels = (column.to_pylist() for column in vertices.columns[:2])
    if ids and ids == labels:
        hint = "labels=FILE of GLEIF names the file of level 1 with names"
        raise DataError(
            raw.file, "no vertex has a name", hint=f"label=id calls vertices by their ids; {hint}"
        )
    if options.normalize:  # before the comparison: labels that become equal need their ids
        labels = normal_spelling(pa.array(labels, pa.large_string())).to_pylist()
    labels = [label if label.strip() else id for id, label in zip(ids, labels, strict=True)]
    return _renamed(raw, pa.array(_told_apart(ids, labels), vertices.columns[0].type), "name")


def _told_apart(ids: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Distinct labels: the id is appended to repeated labels."""
    names = list(labels)
    while alike := {name for name, count in Counter(names).items() if count > 1}:
        pairs = zip(ids, names, strict=True)
        names = [f"{label} ({id})" if label in alike else label for id, label in pairs]
    return names


def labelled(raw: Raw, path: Path, options: Options, count: int | None = None) -> Raw:
    """Replace 1-based vertex numbers by the lines of the file that the option ``labels`` names.

    The file is relative to the folder of `path`. Its lines must be distinct, not empty, and as many as `count`, if the
    edge file states the number of vertices.
    """
    if options.labels is None:
        return raw
    file = path.parent / options.labels
    words = decoded(str(file), b"".join(whole_lines(file)), options.encoding)
    lines = words.removesuffix("\n").split("\n") if words else []
    names = pa.array([line.removesuffix("\r") for line in lines], pa.large_string())
    ids = as_arrow(np.arange(1, len(names) + 1)).cast(pa.large_string())
    vertices = Raw(str(file), ("id", "name"), (ids, names), lambda row: row + 1)
    trouble = _trouble(vertices, names, "name")
    if trouble is not None:
        raise vertices.error(*trouble)
    if count is not None and count != len(names):
        what = f"{len(names)} lines for the {count} vertices of {path.name}"
        raise DataError(str(file), what, hint="write one name a line, that of vertex 1 first")
    return _renamed(replace(raw, vertices=vertices), names, "name")


# Writing


@record
class Vertices:
    """Vertices of a predicate: the values of its first two arguments.

    `names` are the distinct texts; `ends` the 1-based vertex numbers (int64) of the rows, for each of these arguments.
    """

    names: Sequence[str]
    ends: tuple[Numbers, ...]

    def columns(self, rows: slice) -> tuple[TextColumn, ...]:
        """Text of the vertex numbers in a range of rows."""
        return tuple(as_arrow(end[rows]).cast(pa.large_string()) for end in self.ends)


def vertices_of(facts: Facts, predicate: str, target: Target) -> Vertices:
    """Number the vertices of a predicate: by value if their names are 1 to n, else in order of appearance.

    Vertices without edges (``target.vertices``) come last.
    """
    table = facts.tables[predicate]
    number: dict[str, int] = {}
    ends = []
    for kind, data in zip(table.kinds[:2], table.columns[:2], strict=True):
        encoded = as_arrow(np.ascontiguousarray(data)).dictionary_encode()
        values = decode(kind, as_numpy(encoded.dictionary), facts.symbols)
        vertices = [number.setdefault(text(value), len(number) + 1) for value in values]
        ends.append(np.array(vertices, dtype=np.int64)[as_numpy(encoded.indices)])
    for name in target.vertices:
        number.setdefault(name, len(number) + 1)
    odd = next((name for name in number if not name.strip(whitespace)), None)
    if odd is not None:
        what = f"{predicate} holds a vertex with {'a blank' if odd else 'an empty'} name, which readers take for none"
        raise DataError(str(target.path), what, hint="csv and parquet hold such names")
    counted = [str(i) for i in range(1, len(number) + 1)]
    if number.keys() == set(counted):
        value = np.array([0, *map(int, number)], dtype=np.int64)
        return Vertices(counted, tuple(value[end] for end in ends))
    return Vertices(list(number), tuple(ends))


def numbered(facts: Facts, predicate: str, target: Target) -> tuple[Vertices, int]:
    """Vertices numbered by their names or, with a label file, by the lines of their names, and the largest number.

    A name that is not a number, or far exceeds the number of vertices, is a `DataError`.
    """
    found = vertices_of(facts, predicate, target)
    if target.labels is not None or all(name == str(i) for i, name in enumerate(found.names, 1)):
        return found, len(found.names)
    file, format = str(target.path), target.format
    hint = f"write gml, net or csv, or labels=names.txt ({format}) with the names in a second file"
    odd = next((name for name in found.names if not _NUMBER.fullmatch(name)), None)
    if odd is not None:
        what = f"{format} holds numbers of vertices, from 1 on, and no names such as {odd!r}"
        raise DataError(file, what, hint=hint)
    value = np.array([0, *map(int, found.names)], dtype=np.int64)
    most = int(value.max())
    if most > MOST:
        raise DataError(file, f"{most} is the name of a vertex, but too great for its number", hint=hint)
    if len(found.ends) == 1:
        there = f"only {len(found.names)} of the vertices 1 to {most} are given"
        raise DataError(file, f"{format} holds all vertices from 1 on, but {there}", hint=hint)
    return replace(found, ends=tuple(value[end] for end in found.ends)), most


def write_labels(path: Path, facts: Facts, predicate: str, _: Sequence[str], target: Target) -> None:
    """Write the name of each vertex on a line, in order of vertex numbers."""
    found = vertices_of(facts, predicate, target)
    odd = next((name for name in found.names if "\n" in name or "\r" in name or name[0] == "\ufeff"), None)
    if odd is not None:
        raise DataError(str(target.labels), f"the name {odd!r} does not fit a line", hint="write gml or net")
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(name + "\n" for name in found.names)


def write_entries(stream: IO[bytes], facts: Facts, predicate: str, found: Vertices) -> None:
    """Write one line per fact: its two vertex numbers and its further values, separated by blanks."""
    table = facts.tables[predicate]
    for rows in row_ranges(facts, predicate):
        source, target = found.columns(rows)
        line: list[TextColumn | str] = [source, " ", target]
        for kind, data in zip(table.kinds[2:], table.columns[2:], strict=True):
            line += [" ", numbers(kind, data[rows])]
        write_lines(stream, line)
