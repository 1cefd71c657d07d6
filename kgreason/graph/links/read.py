"""Read observed and sensitive links from files that a schema describes, and write them as triples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgreason.data.delimited import write_csv
from kgreason.data.whole_files import replacing
from kgreason.graph.links.model import LinkGraph, Observations, Original, Sensitive, observations
from kgreason.graph.links.program import tell_amiss, tell_both_ways, tell_unknown
from kgreason.graph.people.model import PeopleGraph
from kgreason.graph.people.read import Statements, joined, read_statements
from kgreason.graph.people.sources import LINKS, ROLES, Schema
from kgreason.lang.names import suggest
from kgreason.progress import SILENT, Progress


def read_links(schema: Schema | Path | str, sensitive: str, progress: Progress = SILENT) -> Original:
    """Read a graph of observed links, and the links that must not be told.

    Files and entities are those of `kgreason.graph.people.read.read_people`. But rows of an observed relation that
    repeat others are observations of their own (two classes taken together) and are counted. Of a mutual relation rows
    of both directions state the same links: a pair has as many as the direction with more rows. Entities that only
    sensitive links name are left out with these, and the numbers of the others do not depend on sensitive links.

    Parameters
    ----------
    schema
        A schema, its file, or a folder with a ``people.toml``.
    sensitive
        The relation that must not be told; no part of the graph.
    progress
        Is told what was left out, and what gives sensitive links away.

    Raises
    ------
    DataError
        If a file does not hold what the schema says, there is no such relation, or no other one.
    """
    said = read_statements(schema, progress, sensitive)
    _check(said, sensitive)
    n, secret = said.known, _sensitive(said, sensitive, progress)
    said.remarks.counts.pop("completed", None)  # of links without direction one is all there is
    observed = {
        name: _observed(said, name, n)
        for name, kind in said.kinds.items()
        if kind in LINKS and name != sensitive
    }
    original = Original(
        LinkGraph(said.labels[:n], observed, said.attributes()),
        secret,
    )
    said.remarks.suspect(PeopleGraph(said.labels[:n], original.graph.attributes, {}))
    said.remarks.tell(progress)
    tell_both_ways(original.graph, progress)
    tell_amiss(original, progress)
    return original


def _check(said: Statements, sensitive: str) -> None:
    relations = [name for name, kind in said.kinds.items() if kind in LINKS]
    kind = said.kinds.get(sensitive)
    if kind is None:
        near = suggest(sensitive, relations)
        asked = f"did you mean {near!r}?" if near else f"there are {', '.join(relations) or 'no relations'}"
        raise said.schema.error(f"there is no relation {sensitive!r} that could be sensitive", hint=asked)
    if kind not in LINKS:
        what = "ignored" if kind == "ignore" else f"a {kind} attribute, not a relation"
        hint = f"name it among relations or mutual if it links entities; the relations are {', '.join(relations)}"
        raise said.schema.error(f"{sensitive!r}, which is to be sensitive, is {what}", hint=hint)
    if relations == [sensitive]:
        hint = "name the relations among relations or mutual; without any no link is released"
        raise said.schema.error(f"besides the sensitive {sensitive!r} there is no relation", hint=hint)


def _sensitive(said: Statements, name: str, progress: Progress) -> Sensitive:
    """Sensitive links between entities of which something else is known."""
    found = said.links(name)
    once = found.source < found.target if found.mutual else np.ones(len(found), dtype=np.bool_)
    known = np.maximum(found.source, found.target) < said.known
    gone = int((once & ~known).sum())
    tell_unknown(said.labels[said.known :], gone, name, progress)
    rows = np.flatnonzero(once & known)
    return Sensitive(name, found.source[rows], found.target[rows], found.mutual, gone)


def _observed(said: Statements, name: str, n: int) -> Observations:
    parts = said.entries[name]
    source, target = joined([p.number for p in parts]), joined([p.other for p in parts])
    apart = source != target
    said.remarks.count("loops", name, int((~apart).sum()))
    found = observations(source[apart], target[apart])
    return counted_once(found, n) if said.kinds[name] == "mutual" else found


def counted_once(found: Observations, n: int) -> Observations:
    """Links of a mutual relation of which rows state one direction or both: the larger number of the two.

    Parameters
    ----------
    found
        The rows as those of a directed relation of n entities, without weights.

    Examples
    --------
    >>> rows = observations(np.array([0, 1, 1, 2]), np.array([1, 0, 0, 1]))
    >>> links = counted_once(rows, 3)
    >>> links.source.tolist(), links.target.tolist(), links.count.tolist()
    ([0, 1], [1, 2], [2, 1])
    """
    low, high = np.minimum(found.source, found.target), np.maximum(found.source, found.target)
    key, place = np.unique(low * n + high, return_inverse=True)
    count = np.zeros(len(key), dtype=np.int64)
    np.maximum.at(count, place, found.count)
    return Observations(key // max(n, 1), key % max(n, 1), count, mutual=True)


def write_triples(path: Path, original: Original) -> None:
    """Write a row ``user,relation,target`` for each link, the sensitive ones last; weights and attributes are left out.

    Entities without any link are not in the file.
    """
    graph, secret = original.graph, original.sensitive
    source, name, target = [], [], []
    for relation, found in graph.observed.items():
        source.append(np.repeat(found.source, found.count))
        target.append(np.repeat(found.target, found.count))
        name.append(np.full(found.total, relation, dtype=object))
    source.append(secret.source)
    target.append(secret.target)
    name.append(np.full(len(secret), secret.name, dtype=object))
    ends = graph.labels[np.concatenate(source)], graph.labels[np.concatenate(target)]
    with replacing(path) as temporary:
        write_csv(temporary, ROLES, (ends[0], np.concatenate(name), ends[1]))
