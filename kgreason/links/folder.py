"""The public folder of a release of links: writing and reading.

Rows, names and the ends of undirected links are in lexicographic order, so the files contain nothing but the graph.

Reading is strict, as everyone with the folder sees all rows: anything that kgreason does not write is an error. Whether
the links match the strategy is decided by the checker.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.base.setting_fields import parse_toml
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.links.report import public_report
from kgreason.links.settings import CLUSTERED, Criterion, Strategy
from kgreason.links.verification import clusters, shows_clusters
from kgreason.people.model import Attribute, Counts, Kind, Texts, attribute
from kgreason.people.release_tables import (
    Columns,
    check_names,
    coded,
    in_order,
    indices_of,
    labels_of,
    listed,
    ranks,
    read_rows,
    repeats,
    value_rows,
    write_folder,
)
from kgreason.people.statements import texts
from kgreason.release.folder_contents import Contents, files, not_drawn, readme_text
from kgreason.release.plain_tables import cell, found_format, indented, width
from kgreason.release.read_back import UNCHANGED, check_files
from kgreason.release.table_layout import README, UNVERIFIED
from kgreason.release.verdicts import Item

NODES, VALUES, LINKS = TABLES = ("nodes", "attributes", "links")  # stems of the table files
SCHEMA = "links.toml"
KEYS = {"relations": ("mutual", "directed", "weighted"), "attributes": ("numeric", "categorical")}
HEADERS = {NODES: ("node", "size"), VALUES: ("node", "attribute", "value")}
# columns; the last if there are weights
COUNTED, WEIGHTED = (
    ("source", "relation", "target", "count"),
    ("weight",),
)


def names_of(format: str) -> dict[str, str]:
    """File name of each table and of the schema."""
    return {**{name: f"{name}.{format}" for name in TABLES}, SCHEMA: SCHEMA}


def write_links(folder: Path, released: Released, format: str = "csv") -> None:
    """Write a release of links into a folder, as the files of `names_of`, with tables in the given format.

    Weights are written in full precision. Values without nodes and attributes without values are left out; relations
    without links are named in the schema.

    Raises
    ------
    ReleaseError
        If the folder cannot be written, or a name or value is blank.
    """
    graph = released.graph
    names = {"a node": graph.labels, "an attribute": graph.attributes, "a relation": graph.observed}
    check_names(graph.attributes, names)
    order = np.argsort(graph.labels, kind="stable")
    weighted = any(found.weight is not None for found in graph.observed.values())
    links = COUNTED + WEIGHTED if weighted else COUNTED
    tables: dict[str, tuple[tuple[str, ...], Columns]] = {
        NODES: (HEADERS[NODES], (graph.labels[order], graph.size[order])),
        VALUES: (HEADERS[VALUES], value_rows(graph.labels, graph.attributes)),
        LINKS: (links, _link_rows(graph)[: len(links)]),
    }
    files = {f"{name}.{format}": table for name, table in tables.items()}
    write_folder(folder, files, SCHEMA, _schema(released))


def _link_rows(graph: LinkGraph) -> Columns:
    """Columns of the link table, including weights; rows of one pair are ordered by weight."""
    rank, parts = ranks(graph.labels), {}
    for name, found in graph.observed.items():
        swapped = found.mutual & (rank[found.source] > rank[found.target])
        source = np.where(swapped, found.target, found.source)
        parts[name] = source, np.where(swapped, found.source, found.target), graph.labels
    source, relation, target, row = in_order(graph.labels, parts)
    observed = [graph.observed[name] for name in sorted(graph.observed)]
    counts = np.concatenate([*(found.count for found in observed), np.empty(0, dtype=np.int64)])
    weights = [""]  # extra last element: the array holds objects in any case
    for found in reversed(observed):  # + 0.0 drops the sign of zero, which would leak information
        cells = [""] * len(found) if found.weight is None else map(repr, (found.weight + 0.0).tolist())
        weights = [*cells, *weights]
    return source, relation, target, counts[row], np.array(weights, dtype=object)[row]


def _schema(released: Released) -> str:
    graph = released.graph
    names: dict[str, list[str]] = {key: [] for keys in KEYS.values() for key in keys}
    for name, found in sorted(graph.observed.items()):
        names["mutual" if found.mutual else "directed"].append(name)
        if found.weight is not None:
            names["weighted"].append(name)
    for name, a in sorted(graph.attributes.items()):
        if len(a):
            names[a.kind].append(name)
    lines = [f'strategy = "{released.strategy}"']
    if released.criterion != "random":
        lines.append(f'criterion = "{released.criterion}"')
    for section, keys in KEYS.items():
        lines += ["", f"[{section}]", *(f"{key} = [{listed(names[key])}]" for key in keys)]
    return "\n".join([*lines, ""])


def read_released(folder: Path) -> Released:
    """Read a release of links.

    Raises
    ------
    DataError
        If a file is missing or unknown, a table is incomplete or has other columns, a row is repeated, names an unknown
        node, relation or attribute, or has an invalid size, count or weight.
    """
    tables = names_of(found_format(folder, NODES))
    check_files(folder, "links", tables.values())
    described = _read_description(folder / SCHEMA)
    nodes = read_rows(folder / tables[NODES], HEADERS[NODES])
    labels = labels_of(nodes, "node")
    size = _whole(nodes, 1)
    names = np.array([*labels.to_pylist(), None], dtype=object)[:-1]
    attributes = _attributes(read_rows(folder / tables[VALUES], HEADERS[VALUES]), labels, described)
    header, blank = (COUNTED + WEIGHTED, WEIGHTED) if described.weighted else (COUNTED, ())
    observed = _observed(read_rows(folder / tables[LINKS], header, blank), labels, names, described)
    return Released(LinkGraph(names, observed, attributes, size), described.strategy, described.criterion)


def _whole(raw: Raw, column: int) -> Counts:
    """A column of integers of at least 1."""
    code, distinct = coded(raw.columns[column])
    numbers = np.zeros(len(distinct), dtype=np.int64)
    for i, text in enumerate(distinct):
        if text.isascii() and text.isdecimal() and len(text) < 16:  # sums fit into int64
            numbers[i] = int(text)
    if (bad := np.flatnonzero(numbers[code] < 1)).size:
        row = int(bad[0])
        what = f"the {raw.names[column]} is {distinct[code[row]]!r}, not a whole number of at least 1"
        raise raw.error(row, what, hint=UNCHANGED)
    return numbers[code]


def _known(raw: Raw, column: int, names: Sequence[str]) -> Vertices:
    """Numbers of the relations or attributes in a column."""
    code, distinct = coded(raw.columns[column])
    number = {name: i for i, name in enumerate(names)}
    found = np.array([number.get(text, -1) for text in distinct], dtype=np.int64)[code]
    if (bad := np.flatnonzero(found < 0)).size:
        row = int(bad[0])
        what = f"the {raw.names[column]} {distinct[code[row]]!r} is not in {SCHEMA}"
        raise raw.error(row, what, hint=UNCHANGED)
    return found


def _refuse_again(raw: Raw, *columns: Vertices) -> None:
    numbers = np.zeros(len(raw), dtype=np.int64)
    for column in columns:  # renumbered for each column: products of many sizes would overflow
        width = int(column.max(initial=0)) + 1
        numbers = np.unique(numbers * width + column, return_inverse=True)[1]
    if len(again := repeats(numbers)):
        raise raw.error(int(again[0]), "a repeated row", hint=UNCHANGED)


def _node_table(raw: Raw) -> str:
    """File name of the node table of the same release."""
    return Path(raw.file).with_stem(NODES).name


def _attributes(raw: Raw, labels: object, described: _Description) -> dict[str, Attribute]:
    node = indices_of(raw, 0, labels, "node", _node_table(raw))
    names = (*described.numeric, *described.categorical)
    name = _known(raw, 1, names)
    value, distinct = coded(raw.columns[2])
    _refuse_again(raw, node, name, value)
    domain = np.array([*distinct, None], dtype=object)[:-1]
    found = {}
    for i, text in enumerate(names):
        rows = np.flatnonzero(name == i)
        kind: Kind = "numeric" if text in described.numeric else "categorical"
        if kind == "numeric":
            _numbers(raw, 2, rows)
        found[text] = attribute(kind, node[rows], domain[value[rows]])
    return dict(sorted(found.items()))


def _observed(raw: Raw, labels: object, names: Texts, described: _Description) -> dict[str, Observations]:
    source, target = (indices_of(raw, column, labels, "node", _node_table(raw)) for column in (0, 2))
    relations = described.relations
    kind, count = _known(raw, 1, relations), _whole(raw, 3)
    mutual, rank = np.isin(relations, described.mutual)[kind], ranks(names)
    if (
        bad := np.flatnonzero(mutual & (rank[source] > rank[target]))
    ).size:  # the order could carry information
        what = "the ends of a link without direction are not in the order of their names"
        raise raw.error(int(bad[0]), what, hint=UNCHANGED)
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


def _weights(raw: Raw, kind: Vertices, weighted: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Weights of all rows; 0 for unweighted relations, whose cells are empty."""
    filled = texts(raw.columns[4]).to_numpy(zero_copy_only=False) != ""
    if (bad := np.flatnonzero(filled != weighted[kind])).size:
        what = "there is no weight" if not filled[bad[0]] else "a weight of a relation that has none"
        raise raw.error(int(bad[0]), what, hint=UNCHANGED)
    weight = np.zeros(len(raw))
    weight[filled] = _numbers(raw, 4, np.flatnonzero(filled))
    return weight


def _numbers(raw: Raw, column: int, rows: Vertices) -> npt.NDArray[np.float64]:
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


# --- schema file


@record
class _Description:
    """Content of ``links.toml``: strategy, relations and attributes of each kind."""

    strategy: Strategy
    criterion: Criterion
    mutual: tuple[str, ...]
    directed: tuple[str, ...]
    weighted: tuple[str, ...]
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]

    @property
    def relations(self) -> tuple[str, ...]:
        """All relations, sorted by name."""
        return tuple(sorted((*self.mutual, *self.directed)))


def _read_description(path: Path) -> _Description:
    try:
        text = path.read_text(encoding="utf-8")
        document = parse_toml(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        found = re.search(r" ?\(at line (\d+), column \d+\)", str(error))
        what = f"not TOML: {str(error).replace(found[0], '')}" if found else f"cannot be read: {error}"
        raise DataError(str(path), what, int(found[1]) if found else None, hint=UNCHANGED) from error

    def refuse(key: str, message: str) -> NoReturn:
        place = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}[\"']?\s*[\]=]")
        line = next((i for i, found in enumerate(text.splitlines(), 1) if place.match(found)), None)
        raise DataError(str(path), message, line, hint=UNCHANGED)

    def check_keys(section: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in {*known} ^ section.keys():
            refuse(key, f"unknown key {key!r}" if key in section else f"it does not say {key}")

    criterion = document.pop("criterion", "random")
    check_keys(document, ("strategy", *KEYS))
    if document["strategy"] not in get_args(Strategy):
        names = ", ".join(get_args(Strategy))
        refuse("strategy", f"unknown strategy {document['strategy']!r}: there are {names}")
    if criterion not in get_args(Criterion):
        names = ", ".join(get_args(Criterion))
        refuse("criterion", f"unknown criterion {criterion!r}: there are {names}")
    if criterion != "random" and document["strategy"] != "partial":
        refuse("criterion", f"{document['strategy']} has no criterion, by which links are left out")
    lists: dict[str, tuple[str, ...]] = {}
    for section, keys in KEYS.items():
        if not isinstance(document[section], dict):
            refuse(section, f"{section} is no section")
        check_keys(document[section], keys)
        for key, names in document[section].items():
            if not (isinstance(names, list) and all(isinstance(n, str) and n.strip() for n in names)):
                refuse(key, f"{key} is a list of names, not {names!r}")
            if len(set(names)) < len(names):
                refuse(key, f"a name occurs twice in {key}")
            lists[key] = tuple(names)
    for one, other in (("mutual", "directed"), ("numeric", "categorical")):
        for both in {*lists[one]} & {*lists[other]}:
            refuse(other, f"{both!r} is in {one} and in {other}")
    for strange in {*lists["weighted"]} - {*lists["mutual"], *lists["directed"]}:
        refuse("weighted", f"{strange!r} is no relation")
    return _Description(document["strategy"], criterion, **lists)


# --- folder contents

_CLAIM = re.compile(r"at least ([0-9]{1,18})\b")
TEXT = """Anonymized graph of links

Made by the strategy {strategy}{k}.
{checked}
{done}

NOT PROTECTED: links that are not released can be guessed with some probability from what is; how well, the
owner of the original measures with `kgreason links attack`.{more}

Files
  {nodes}the nodes and their numbers of entities; labels are random
  {values}their values{mixed}
  {links}links between nodes{weights}
  {schema}the schema of the tables, by which kgreason reads the release
  {report}a report for reading; report.json is the same for programs
"""
DEGREES = """ The links of a node are those
of its entity, or nearly: an attacker who knows links of an entity may find its node."""
SHARED = """ An attacker who knows links
among several entities may find their nodes."""
SIZE = ", with at least {k} entities in each cluster"
ALIKE = "; each entity has the same values as others, at least {k} together"
MIXED = """; entities of one class have the values of all of them, so some are not
                  their own"""
UNITED = "; those of all entities of a node"
MEANS = "; a weight is the mean of all of them"
KEPT = """, with their original weights: an attacker who knows some of an entity may
                  find its node"""
NONE = " (none)"


def contents_of(released: Released, k: int | None, format: str) -> Contents:
    """Files that kgreason writes into the folder of a release; `k` is the least cluster size, for README.txt."""
    return Contents(
        tuple(names_of(format).values()),
        lambda place: write_links(place, released, format),
        partial(_readme, released, k, format),
        partial(public_report, released, k),
    )


def _readme(released: Released, k: int | None, format: str, holds: bool) -> str:
    """Text of README.txt; it does not name the sensitive relation."""
    graph, strategy = released.graph, released.strategy
    merged = strategy in CLUSTERED
    weighted = any(found.weight is not None for found in graph.observed.values())
    valued = any(len(a) for a in graph.attributes.values())
    size = "" if k is None else (SIZE if merged else ALIKE).format(k=k)
    return TEXT.format(
        strategy=strategy,
        k=size,
        checked="Confirmed by an exact check of these files.\n" if holds else "",
        done=released.done,
        more=SHARED if merged else "" if strategy == "removed" else DEGREES,
        nodes=cell("nodes", format),
        values=cell("attributes", format),
        links=cell("links", format),
        schema=f"{'links.toml':<{width(format)}}",
        report=f"{'report.html':<{width(format)}}",
        mixed=NONE if not valued else UNITED if merged else indented(MIXED, format),
        weights=NONE
        if strategy == "removed"
        else ""
        if not weighted
        else MEANS
        if merged
        else indented(KEPT, format),
    )


def form(folder: Path, released: Released) -> Item:
    """Condition ``files``: the folder that was read holds exactly the files of a release, with the expected content."""
    claim = _CLAIM.search(readme_text(folder))
    claimed = int(claim[1]) if claim and shows_clusters(released) else None
    deviations = [*not_drawn(released.graph.labels)]
    verified = claimed is not None and not (folder / UNVERIFIED).exists()
    if verified and not clusters(released, claimed)[0].holds:
        deviations.append(f"{README}: it claims clusters of {claimed:,}, and there are smaller ones")
    return files(folder, contents_of(released, claimed, found_format(folder, NODES)), deviations)
