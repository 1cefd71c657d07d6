"""What the vertices of a graph file are called: by their ids, or by an attribute that tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.arrays import as_arrow, as_numpy
from kgreason.errors import DataError
from kgreason.graph.io.fields import check_indices
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw, decoded, whole_lines
from kgreason.graph.io.spelling import normal
from kgreason.lang.names import suggest

_USUAL = ("label", "name")


def named(raw: Raw, options: Options, *, usual: bool = True) -> Raw:
    """Call the vertices of a graph file as the option ``names`` says.

    Parameters
    ----------
    raw
        Edges between ids, with the vertices beside them.
    usual
        Without the option take the attribute ``label`` or else ``name`` if every vertex has one and no two have the
        same; else the ids.

    Raises
    ------
    DataError
        If the vertices lack the attribute that is asked for, or two have the same.
    """
    vertices = raw.vertices
    if vertices is None or options.names == "id":
        return raw
    if options.names is not None:
        column = _asked(vertices, options.names)
        return _renamed(raw, vertices, column, options.names)
    return _by_habit(raw, vertices, usual=usual)


def names_all(vertices: Raw, attribute: str) -> bool:
    """Whether every vertex has an attribute, and no two the same."""
    column = _attribute(vertices, attribute)
    return column is not None and _any(column) and _trouble(vertices, column, attribute) is None


def _by_habit(raw: Raw, vertices: Raw, *, usual: bool) -> Raw:
    """Take labels for names where they are names; say so where they are none."""
    told = []
    for attribute in _USUAL:
        column = _attribute(vertices, attribute)
        if column is None or not _any(column):
            continue
        trouble = _trouble(vertices, column, attribute)
        if trouble is not None:
            told += [trouble[1]] * usual
        elif usual:
            return _renamed(raw, vertices, column, attribute)
        elif not column.equals(_attribute(vertices, vertices.names[0])):
            told.append(f"names={attribute} calls them by their {attribute}")
    if not told:
        return raw
    return replace(raw, notes=(*raw.notes, f"{raw.file}: vertices are called by their ids; {told[0]}"))


def _attribute(vertices: Raw, name: str) -> Column | None:
    """One array of the texts of an attribute."""
    import pyarrow as pa

    columns = dict(zip(vertices.names, vertices.columns, strict=False))
    found = columns.get(name, vertices.extra.get(name))
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return found if found is None or found.type == pa.string() else found.cast(pa.string())


def _any(column: Column) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.fill_null(pc.not_equal(column, ""), False)).as_py())


def _asked(vertices: Raw, name: str) -> Column:
    column = _attribute(vertices, name)
    if column is None:
        known = [n for n in (*vertices.names, *vertices.extra) if n]
        near = suggest(name, known)
        means = f"did you mean {near}? " if near else ""
        hint = f"{means}they have {', '.join(known)}" if vertices.columns else None
        raise DataError(vertices.file, f"the vertices have no {name!r}", hint=hint)
    trouble = _trouble(vertices, column, name)
    if trouble is not None:
        raise vertices.error(*trouble, hint="names=id calls vertices by their ids")
    return column


def _trouble(vertices: Raw, column: Column, name: str) -> tuple[int, str] | None:
    """Why an attribute does not name the vertices, and the row of the first that it does not name."""
    import pyarrow.compute as pc

    absent = pc.fill_null(pc.equal(column, ""), True).to_numpy(zero_copy_only=False)
    ids = vertices.columns[0]
    if not len(column):
        return None
    if absent.any():
        row = int(np.argmax(absent))
        return row, f"vertex {ids[row].as_py()!r} has no {name}"
    encoded = column.dictionary_encode()
    places = as_numpy(encoded.indices)
    if len(encoded.dictionary) == len(places):
        return None
    first = np.full(len(encoded.dictionary), len(places))
    np.minimum.at(first, places, np.arange(len(places)))
    row = int(np.flatnonzero(first[places] < np.arange(len(places)))[0])
    two = f"vertices {ids[int(first[places[row]])].as_py()!r} and {ids[row].as_py()!r}"
    return row, f"{two} have the same {name}, {column[row].as_py()!r}"


def _renamed(raw: Raw, vertices: Raw, names: Column, attribute: str) -> Raw:
    """Put names in the place of ids."""
    import pyarrow.compute as pc

    ids = vertices.columns[0]
    ends = []
    for column in raw.columns[:2]:
        place = pc.index_in(column.cast(ids.type), value_set=ids)
        if place.null_count:
            row = int(np.argmax(place.is_null().to_numpy(zero_copy_only=False)))
            raise raw.error(
                row, f"the edge ends at {column[row].as_py()!r}, which is no vertex of {vertices.file}"
            )
        ends.append(names.take(place))
    return replace(
        raw, columns=(*ends, *raw.columns[2:]), vertices=replace(vertices, key=attribute, key_column=names)
    )


def called(raw: Raw, options: Options) -> Raw:
    """Call vertices by their labels if ``label=name`` says so; those of one label have their ids behind it.

    Raises
    ------
    DataError
        If the option has another value, or the file has no names.
    """
    vertices = raw.vertices
    if options.label in (None, "id") or vertices is None:
        return raw
    if options.label != "name":
        hint = "label=name calls vertices by their names, label=id by their ids"
        raise DataError(raw.file, f"option label cannot be {options.label!r}", hint=hint)
    ids, labels = (column.to_pylist() for column in vertices.columns[:2])
    if ids and ids == labels:
        other = (
            "label=id calls vertices by their ids; labels=FILE of GLEIF names the file of level 1 with names"
        )
        raise DataError(raw.file, "no vertex has a name", hint=other)
    import pyarrow as pa

    if options.normalize:  # before names are compared: two ids stay two
        labels = normal(pa.array(labels, pa.large_string())).to_pylist()
    labels = [label if label.strip() else id for id, label in zip(ids, labels, strict=True)]
    return _renamed(raw, vertices, pa.array(_told_apart(ids, labels), vertices.columns[0].type), "name")


def _told_apart(ids: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Labels, of which no two are the same: ids stand behind those that are.

    Examples
    --------
    >>> _told_apart(["1", "2", "3"], ["Ada", "Bo", "Ada"])
    ['Ada (1)', 'Bo', 'Ada (3)']
    """
    names = list(labels)
    while alike := {name for name, count in Counter(names).items() if count > 1}:
        pairs = zip(ids, names, strict=True)
        names = [f"{label} ({id})" if label in alike else label for id, label in pairs]
    return names


def labelled(raw: Raw, path: Path, options: Options, count: int | None = None) -> Raw:
    """Put the lines of the file of the option ``labels`` in the place of the numbers of vertices.

    Parameters
    ----------
    raw
        Edges between the numbers from 1 on.
    path
        File of the edges; that of the labels is named as from its folder.
    count
        Number of vertices, where the file of edges tells it.

    Raises
    ------
    DataError
        If there are more or fewer lines than vertices, or two that are the same.
    """
    if options.labels is None:
        return raw
    file = path.parent / options.labels
    names = _lines(file, options.encoding)
    vertices = _declared(file, names)
    trouble = _trouble(vertices, names, "name")
    if trouble is not None:
        raise vertices.error(*trouble)
    if count is not None and count != len(names):
        raise DataError(
            str(file),
            f"{len(names)} lines for the {count} vertices of {path.name}",
            hint="write one name a line, that of vertex 1 first",
        )
    lines = np.array([raw.line(row) or 0 for row in range(len(raw))]) if len(raw) else np.empty(0, np.int64)
    for column in raw.columns[:2]:
        check_indices(raw.file, column, lines, len(names), "line of the file of labels")
    return _renamed(raw, vertices, names, "name")


def _declared(file: Path, names: Column) -> Raw:
    import pyarrow as pa

    ids = as_arrow(np.arange(1, len(names) + 1)).cast(pa.large_string())
    return Raw(str(file), ("id", "name"), (ids, names), lambda row: row + 1)


def _lines(file: Path, encoding: str) -> Column:
    import pyarrow as pa

    text = decoded(str(file), b"".join(whole_lines(file)), encoding)
    lines = text.removesuffix("\n").split("\n") if text else []
    return pa.array([line.removesuffix("\r") for line in lines], pa.large_string())
