"""Releases of links and who is where in them, read from files to be judged or attacked.

The tables are read as they stand: whoever gets the folder sees all rows. What is refused here is what `kgreason` does
not write, whatever the release; whether the links are those of a strategy is for the checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.errors import DataError, ReleaseError
from kgreason.form import BESIDE
from kgreason.graph.io.plain_tables import found_format
from kgreason.graph.io.raw import Raw
from kgreason.graph.links.model import LinkGraph, Observations, Released, observations
from kgreason.graph.links.write import COUNTED, HEADERS, LINKS, NODES, SCHEMA, VALUES, WEIGHTED, names_of
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, Counts, Kind, Texts, attribute
from kgreason.graph.people.parts import texts
from kgreason.links.description import Description, read_description
from kgreason.rows import coded, labels_of, later, places, read_rows
from kgreason.written import UNCHANGED, check_kind, read_pairs


def read_released(folder: Path) -> Released:
    """Read a release of links.

    Raises
    ------
    DataError
        If a file is missing or strange, a table is not whole or its columns are called otherwise, a row stands twice,
        names an unknown node, relation or attribute, or holds a size, count or weight that is none.
    """
    files = _check_files(folder)
    described = read_description(folder / SCHEMA)
    nodes = read_rows(folder / files[NODES], HEADERS[NODES])
    labels = labels_of(nodes, "node")
    size = _whole(nodes, 1)
    names = np.array([*labels.to_pylist(), None], dtype=object)[:-1]
    attributes = _attributes(read_rows(folder / files[VALUES], HEADERS[VALUES]), labels, described)
    header, blank = (COUNTED + WEIGHTED, WEIGHTED) if described.weighted else (COUNTED, ())
    observed = _observed(read_rows(folder / files[LINKS], header, blank), labels, names, described)
    return Released(LinkGraph(names, observed, attributes, size), described.strategy)


def read_mapping(path: Path, original: LinkGraph, released: LinkGraph) -> Vertices:
    """Read in which node of a release each original entity is.

    Whether the nodes are of the sizes that follow is for the checker.

    Parameters
    ----------
    path
        The private folder, or a CSV file with the header ``original,released`` and a row for each entity.

    Returns
    -------
    numpy.ndarray
        int64, shape (n,).

    Raises
    ------
    ReleaseError
        If the file is none of these, an entity is missing, or one of its names is of no entity or of no node.
    """
    file = path / "mapping.csv" if path.is_dir() else path
    cells = read_pairs(file, ("original", "released"))
    entity = {label: i for i, label in enumerate(original.labels.tolist())}
    node = {label: i for i, label in enumerate(released.labels.tolist())}
    mapping = np.full(original.n, -1, dtype=np.int64)
    hint = "is this the mapping of another release?"
    for label, cell in cells.items():
        if label not in entity:
            raise ReleaseError(f"{file}:{cell.line}: the original has no entity {label!r}", hint=hint)
        if cell.text not in node:
            raise ReleaseError(f"{file}:{cell.line}: the release has no node {cell.text!r}", hint=hint)
        mapping[entity[label]] = node[cell.text]
    if (gone := np.flatnonzero(mapping < 0)).size:
        more = f" and {len(gone) - 1:,} more" if len(gone) > 1 else ""
        raise ReleaseError(f"{file}: no node of {original.labels[gone[0]]!r}{more}", hint=hint)
    return mapping


def _check_files(folder: Path) -> dict[str, str]:
    """Name of the file of each table."""
    files = names_of(found_format(folder, NODES))
    if not folder.is_dir():
        hint = f"name a folder with {', '.join(files.values())}"
        raise DataError(str(folder), "there is no such release folder", hint=hint)
    check_kind(folder, "links")
    for name in files.values():
        if not (folder / name).is_file():
            hint = "take an unchanged copy of the folder"
            raise DataError(str(folder / name), "there is no such file", hint=hint)
    for path in sorted(folder.iterdir()):
        if path.name not in (*files.values(), *BESIDE):
            hint = "take it out of the release: what it tells is not looked at"
            raise DataError(str(path), "this is none of the files of a release of links", hint=hint)
        if not path.is_file():
            what = "a link that leads nowhere" if path.is_symlink() else "no file"
            raise DataError(str(path), f"this is {what}", hint="take an unchanged copy of the folder")
    return files


def _whole(raw: Raw, column: int) -> Counts:
    """A column of whole numbers of at least 1."""
    code, said = coded(raw.columns[column])
    numbers = np.zeros(len(said), dtype=np.int64)
    for i, text in enumerate(said):
        if text.isascii() and text.isdecimal() and len(text) < 16:  # whose sums are numbers, too
            numbers[i] = int(text)
    if (bad := np.flatnonzero(numbers[code] < 1)).size:
        row = int(bad[0])
        what = f"the {raw.names[column]} is {said[code[row]]!r}, not a whole number of at least 1"
        raise raw.error(row, what, hint=UNCHANGED)
    return numbers[code]


def _known(raw: Raw, column: int, names: Sequence[str]) -> Vertices:
    """Numbers of the relations or attributes named in a column."""
    code, said = coded(raw.columns[column])
    number = {name: i for i, name in enumerate(names)}
    found = np.array([number.get(text, -1) for text in said], dtype=np.int64)[code]
    if (bad := np.flatnonzero(found < 0)).size:
        row = int(bad[0])
        what = f"the {raw.names[column]} {said[code[row]]!r} is not in {SCHEMA}"
        raise raw.error(row, what, hint=UNCHANGED)
    return found


def _refuse_again(raw: Raw, *columns: Vertices) -> None:
    numbers = np.zeros(len(raw), dtype=np.int64)
    for column in columns:  # numbered anew each time: products of many sizes do not fit
        width = int(column.max(initial=0)) + 1
        numbers = np.unique(numbers * width + column, return_inverse=True)[1]
    if len(again := later(numbers)):
        raise raw.error(int(again[0]), "a row that stands again", hint=UNCHANGED)


def _nodes(raw: Raw) -> str:
    """File of the nodes that stand in another table of the same release."""
    return Path(raw.file).with_stem(NODES).name


def _attributes(raw: Raw, labels: object, described: Description) -> dict[str, Attribute]:
    node = places(raw, 0, labels, "node", _nodes(raw))
    names = (*described.numeric, *described.categorical)
    name = _known(raw, 1, names)
    value, said = coded(raw.columns[2])
    _refuse_again(raw, node, name, value)
    domain = np.array([*said, None], dtype=object)[:-1]
    found = {}
    for i, text in enumerate(names):
        rows = np.flatnonzero(name == i)
        kind: Kind = "numeric" if text in described.numeric else "categorical"
        if kind == "numeric":
            _numbers(raw, 2, rows)
        found[text] = attribute(kind, node[rows], domain[value[rows]])
    return dict(sorted(found.items()))


def _observed(raw: Raw, labels: object, names: Texts, described: Description) -> dict[str, Observations]:
    source, target = (places(raw, column, labels, "node", _nodes(raw)) for column in (0, 2))
    relations = described.relations
    kind, count = _known(raw, 1, relations), _whole(raw, 3)
    _check_direction(raw, source, target, names, np.isin(relations, described.mutual)[kind])
    weight = _weights(raw, kind, np.isin(relations, described.weighted)) if described.weighted else None
    same = () if weight is None else (np.unique(weight, return_inverse=True)[1],)
    _refuse_again(raw, source, kind, target, *same)
    found = {}
    for i, name in enumerate(relations):
        rows = np.flatnonzero(kind == i)
        found[name] = observations(
            source[rows],
            target[rows],
            count=count[rows],
            mutual=name in described.mutual,
            weight=weight[rows] if weight is not None and name in described.weighted else None,
        )
    return found


def _check_direction(
    raw: Raw, source: Vertices, target: Vertices, names: Texts, mutual: npt.NDArray[np.bool_]
) -> None:
    """Refuse links without direction that have one: which end comes first could tell something."""
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(names, kind="stable")] = np.arange(len(names))
    if (bad := np.flatnonzero(mutual & (rank[source] > rank[target]))).size:
        what = "the ends of a link without direction are not in the order of their names"
        raise raw.error(int(bad[0]), what, hint=UNCHANGED)


def _weights(raw: Raw, kind: Vertices, weighted: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Weights of all rows; 0 for those of relations without weights, whose cells are empty."""
    given = texts(raw.columns[4]).to_numpy(zero_copy_only=False) != ""
    if (bad := np.flatnonzero(given != weighted[kind])).size:
        what = "there is no weight" if not given[bad[0]] else "a weight of a relation that has none"
        raise raw.error(int(bad[0]), what, hint=UNCHANGED)
    weight = np.zeros(len(raw))
    weight[given] = _numbers(raw, 4, np.flatnonzero(given))
    return weight


def _numbers(raw: Raw, column: int, rows: Vertices) -> npt.NDArray[np.float64]:
    """Numbers of a column, in some rows."""
    cells = texts(raw.columns[column]).to_numpy(zero_copy_only=False)[rows]
    numbers = np.array([_number(text) for text in cells.tolist()], dtype=np.float64)
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        row = int(rows[bad[0]])
        raise raw.error(row, f"{cells[bad[0]]!r} is no number", hint=UNCHANGED)
    return numbers


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
