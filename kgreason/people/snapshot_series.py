"""Series of graphs of people from statements with times (THESIS, Appendix B): division, figures, files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.atomic_files import mend, workspaces
from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.base.interrupts import deferred
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_numbers
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.file_schema import LINKS, Schema
from kgreason.people.model import Attribute, Counts, Kind, Links, PeopleGraph, attribute_of, distinct_links
from kgreason.people.reading import joined, schema_of
from kgreason.people.release_tables import SCHEMA, TABLES, write_people
from kgreason.people.snapshot_division import Spans, divide
from kgreason.people.temporal_statements import Dated, TemporalStatements, read_temporal

MOST = 1000  # snapshots
_FILES = {SCHEMA, *(f"{table}.csv" for table in TABLES)}


@dataclass(frozen=True, eq=False)
class Snapshots:
    """A series of graphs of people.

    Attributes
    ----------
    graphs
        The graph of each snapshot, in order of time; its users are those of its statements.
    periods
        First and last time of each snapshot, as the data write them.
    times
        Number of distinct times of the data.
    users
        Number of distinct users of all snapshots.
    mce
        Mean number of edges that are inserted or deleted, per user and snapshot (THESIS, Appendix B); links count for
        both users, and the first snapshot changes nothing.
    """

    graphs: tuple[PeopleGraph, ...]
    periods: tuple[tuple[str, str], ...]
    times: int
    users: int
    mce: float

    def __repr__(self) -> str:
        return f"<Snapshots: {len(self.graphs)} graphs of {self.users:,} users>"

    @cached_property
    def edges(self) -> Counts:
        """Number of edges of each snapshot: values and links, mutual ones twice; int64."""
        return np.array(
            [
                sum(map(len, graph.attributes.values())) + sum(map(len, graph.relations.values()))
                for graph in self.graphs
            ],
            dtype=np.int64,
        )

    def rows(self) -> list[tuple[str, str]]:
        """Rows of a table for reading."""
        first, last = self.periods[0][0], self.periods[-1][1]
        sizes = [graph.n for graph in self.graphs]
        return [
            ("snapshots", f"{len(self.graphs):,} of {self.times:,} times, {first} to {last}"),
            ("users", f"{self.users:,}; {min(sizes):,} to {max(sizes):,} of a snapshot"),
            ("edges", f"{self.edges.mean():,.1f} of a snapshot, standard deviation {self.edges.std():,.2f}"),
            ("mean changed edges", f"{self.mce:.3f} per user and snapshot"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<18}  {value}" for name, value in self.rows())

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        rows = zip(self.periods, self.graphs, self.edges.tolist(), strict=True)
        return {
            "format": 1,
            "times": self.times,
            "users": self.users,
            "edges": {"mean": float(self.edges.mean()), "sd": float(self.edges.std())},
            "mce": self.mce,
            "snapshots": [
                {"from": first, "to": last, "users": graph.n, "edges": edges}
                for (first, last), graph, edges in rows
            ],
        }

    def save(self, folder: Path | str, *, force: bool = False) -> None:
        """Write the graphs into the folders 01, 02, ... of a folder that only its owner can read.

        Each holds tables and their schema, ``people.toml``. All are written, or none.

        Raises
        ------
        ReleaseError
            If the folder exists and `force` is not set, it holds anything else, or it cannot be written.
        """
        folder = Path(folder)
        mend(folder, folder, _is_series)
        check_series(folder, force=force)
        try:
            folder.absolute().parent.mkdir(parents=True, exist_ok=True)
            with workspaces(folder, folder) as exchange:
                for number, graph in enumerate(self.graphs, 1):
                    write_people(exchange.public.new / name_of(number, len(self.graphs)), graph)
                check_series(folder, force=force)  # again, for files made in the meantime
                with deferred():
                    exchange.finish()
        except OSError as error:
            raise ReleaseError(
                f"{folder}: cannot be written: {error.strerror or error}",
                hint="choose another folder, or free space there",
            ) from error


def name_of(number: int, count: int) -> str:
    """Name of the folder of a snapshot."""
    return f"{number:0{max(len(str(count)), 2)}}"


def check_series(folder: Path, *, force: bool) -> None:
    """Raise `ReleaseError` for a folder that would be replaced without `force`, or that holds anything else."""
    if not os.path.lexists(folder):
        return
    if not force:
        raise ReleaseError(f"{folder} exists already", hint="use --force to replace it, or --out DIR")
    if not _is_series(folder):
        what = f"{folder} holds files that are not of snapshots, so it is not replaced"
        raise ReleaseError(what, hint="move it away, or choose another folder with --out DIR")


def _is_series(folder: Path) -> bool:
    if not os.path.lexists(folder):
        return True
    inside = list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else [folder]
    return all(
        one.name.isdecimal() and one.is_dir() and {p.name for p in one.iterdir()} <= _FILES for one in inside
    )


def snapshots(
    data: Schema | Path | str,
    *,
    time: str,
    end: str | None = None,
    count: int = 50,
    progress: Progress = SILENT,
) -> Snapshots:
    """Divide statements with times into a series of graphs of people, for releases one after another.

    Consecutive times are merged so that the standard deviation of the numbers of edges is least: exactly up to 3,000
    distinct times, else nearly. A statement with a start and an end is in every graph whose times it overlaps. A graph
    has each edge once, and the users of its statements.

    Parameters
    ----------
    data
        A schema, or its file.
    time, end
        Columns of times by title, or by number from 1; the schema reads them as nothing else (``"_"``). `time` is the
        start if there is an `end`. Times are numbers or dates; ``#`` stands for unknown digits, as in ``2014-##-##``. A
        statement is true as long as its time allows: without a start from the first time, without an end until the
        last. Those without both, and those that end before they begin, are left out and counted.
    count
        Number of graphs, at most 1,000.

    Raises
    ------
    DataError
        If the data are invalid, lack a column, have a time that cannot be read, or fewer times than `count`.

    References
    ----------
    THESIS, Appendix B.

    Examples
    --------
    >>> from kgreason.people import schema
    >>> jobs = {"name": ["Ken", "Mary", "Ken"], "year": [2021, 2021, 2022], "job": ["clerk", "cook", "nurse"]}
    >>> series = snapshots(schema(jobs, id="name"), time="year", count=2)
    >>> series.graphs
    (<PeopleGraph with 2 users; attributes: job 2>, <PeopleGraph with 1 users; attributes: job 1>)
    >>> series.edges.tolist(), series.mce
    ([2, 1], 0.75)
    """
    check_numbers(count=(count, 1))
    if count > MOST:
        hint = "merge times before, or ask for fewer"
        raise AnonymizationError(f"count is at most {MOST:,}, not {count:,}", hint=hint)
    schema = schema_of(data)
    said = read_temporal(schema, time, end, progress)
    if len(said.times) < count:
        raise DataError(
            schema.files[0].spec.file,
            f"there are {len(said.times):,} distinct times, fewer than {count:,} snapshots",
            hint=f"ask for fewer: --count {len(said.times)}" if said.times else "is it the right column?",
        )
    progress.step("Dividing the times")
    edges = _edges(said)
    starts = divide(Spans.of(edges.number, edges.first, edges.last), len(said.times), count)
    ends = np.append(starts[1:], len(said.times)) - 1
    graphs, present, changed = [], np.zeros(len(said.labels), dtype=np.bool_), 0
    before: Vertices | None = None
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        graph, users = _graph(said, first, last)
        graphs.append(graph)
        present[users] = True
        own = np.unique(edges.number[(edges.first <= last) & (edges.last >= first)])
        if before is not None:
            changed += int(edges.users[np.setxor1d(own, before, assume_unique=True)].sum())
        before = own
    if gone := int((~present).sum()):
        progress.note(f"users without any statement that is kept, left out: {gone:,}")
    return Snapshots(
        tuple(graphs),
        tuple((said.times[a], said.times[b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)),
        len(said.times),
        int(present.sum()),
        changed / (count * max(int(present.sum()), 1)),
    )


@dataclass(frozen=True)
class _Edges:
    """Edges of all statements: number of each, its times, and by number how many users it has (1 or 2)."""

    number: Vertices
    first: Vertices
    last: Vertices
    users: Vertices


def _edges(said: TemporalStatements) -> _Edges:
    rows: list[tuple[Vertices, Vertices, Vertices]] = []
    users = [np.empty(0, dtype=np.int64)]
    offset = 0
    for named in said.named.values():
        d = _without_loops(_both_ways(named))
        width = len(said.labels) + len(d.domain)
        distinct, number = np.unique(d.user * width + d.other, return_inverse=True)
        rows.append((number + offset, d.first, d.last))
        users.append(np.full(len(distinct), 1 + (d.kind in LINKS)))
        offset += len(distinct)
    number, first, last = (joined([row[i] for row in rows]) for i in range(3))
    return _Edges(number, first, last, np.concatenate(users))


def _both_ways(d: Dated) -> Dated:
    """Statements of a mutual relation in both directions."""
    if d.kind != "mutual":
        return d
    ends = (joined([d.user, d.other]), joined([d.other, d.user]))
    return Dated(d.kind, d.domain, *ends, joined([d.first, d.first]), joined([d.last, d.last]))


def _without_loops(d: Dated) -> Dated:
    return d.of(d.user != d.other) if d.kind in LINKS else d


def _graph(said: TemporalStatements, first: int, last: int) -> tuple[PeopleGraph, Vertices]:
    """The graph of the statements that are true at some of the times first..last, and its users."""
    n = len(said.labels)
    attributes: dict[str, Attribute] = {}
    relations: dict[str, Links] = {}
    users = []
    for name, whole in said.named.items():
        d = whole.of((whole.first <= last) & (whole.last >= first))
        users.append(d.user)
        if d.kind in LINKS:
            users.append(d.other)
            d = _both_ways(d)
            relations[name] = distinct_links(n, d.user, d.other, mutual=d.kind == "mutual")
        else:
            kind: Kind = "numeric" if d.kind == "numeric" else "categorical"
            used, value = np.unique(d.other, return_inverse=True)
            attributes[name] = attribute_of(kind, d.domain[used], d.user, value)
    present = np.unique(joined(users))
    return PeopleGraph(said.labels, attributes, relations).of(present), present
