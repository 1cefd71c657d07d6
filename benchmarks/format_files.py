"""One weighted graph in every format that kgreason reads, written chunk by chunk."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

CHUNK = 1_000_000  # edges, or vertices, that are written at once
VOCABULARY = "http://example.org/"
_HEADS = {
    "graphml": '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    '<key id="w" for="edge" attr.name="weight" attr.type="double"/>\n<graph edgedefault="directed">\n',
}


class Graph:
    """`edges` edges between a tenth as many vertices; the same for the same seed, whatever the format.

    Ends and weights are drawn chunk by chunk, so that no more than one chunk is ever held.
    """

    def __init__(self, edges: int, seed: int = 1) -> None:
        self.edges, self.vertices, self.seed = edges, max(2, edges // 10), seed

    def numbers(
        self,
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
        """Source, target (from 1) and weight (4 decimals, in [0,1]) of each edge."""
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.edges, CHUNK):
            size = min(CHUNK, self.edges - start)
            ends = rng.integers(1, self.vertices, (2, size), endpoint=True)
            yield ends[0], ends[1], rng.integers(0, 10_000, size) / 10_000

    def tables(self) -> Iterator[pa.Table]:
        """The same with names of vertices."""
        for source, target, weight in self.numbers():
            yield pa.table({"owner": names(source), "company": names(target), "share": weight})

    def listed(self) -> Iterator[npt.NDArray[np.int64]]:
        """All vertices."""
        for start in range(1, self.vertices + 1, CHUNK):
            yield np.arange(start, min(start + CHUNK, self.vertices + 1))


def names(numbers: npt.NDArray[np.int64]) -> Any:
    """Name of each vertex."""
    return joined("company", numbers)


def joined(*parts: Any) -> Any:
    """Strings put together row by row."""
    columns = []
    for part in parts:
        if isinstance(part, str):
            columns.append(pa.scalar(part, pa.large_string()))
        else:
            columns.append(
                (part if isinstance(part, pa.ChunkedArray | pa.Array) else pa.array(part)).cast(
                    pa.large_string()
                )
            )
    found = pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string()))
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def lines(stream: BinaryIO, *parts: Any) -> None:
    """Write the strings of `joined`, each of which ends its line by itself."""
    _, places, letters = joined(*parts).buffers()
    stream.write(memoryview(letters)[: np.frombuffer(places, np.int64)[-1]])


def delimited(path: Path, graph: Graph, mark: str, head: str = "") -> None:
    """Names and weights."""
    with _opened(path) as stream:
        stream.write(head.encode())
        for table in graph.tables():
            lines(stream, table["owner"], mark, table["company"], mark, table["share"], "\n")


def numbered(path: Path, graph: Graph, head: str) -> None:
    """Numbers and weights, separated by blanks."""
    with _opened(path) as stream:
        stream.write(head.encode())
        for source, target, weight in graph.numbers():
            lines(stream, source, " ", target, " ", weight, "\n")


def _opened(path: Path) -> Any:
    return gzip.open(path, "wb", compresslevel=1) if path.suffix == ".gz" else path.open("wb")


def jsonl(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        for t in graph.tables():
            ends = '{"owner": "', t["owner"], '", "company": "', t["company"]
            lines(stream, *ends, '", "share": ', t["share"], "}\n")


def gml(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        stream.write(b"graph [\n  directed 1\n  multigraph 1\n")
        for some in graph.listed():
            lines(stream, "  node [\n    id ", some, '\n    label "', names(some), '"\n  ]\n')
        for source, target, weight in graph.numbers():
            ends = "  edge [\n    source ", source, "\n    target ", target
            lines(stream, *ends, "\n    weight ", weight, "\n  ]\n")
        stream.write(b"]\n")


def graphml(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        stream.write(_HEADS["graphml"].encode())
        for some in graph.listed():
            lines(stream, '<node id="', names(some), '"/>\n')
        for t in graph.tables():
            ends = '<edge source="', t["owner"], '" target="', t["company"]
            lines(stream, *ends, '"><data key="w">', t["share"], "</data></edge>\n")
        stream.write(b"</graph>\n</graphml>\n")


def pajek(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        stream.write(f"*vertices {graph.vertices}\n".encode())
        for some in graph.listed():
            lines(stream, some, ' "', names(some), '"\n')
        stream.write(b"*arcs\n")
        for source, target, weight in graph.numbers():
            lines(stream, source, " ", target, " ", weight, "\n")


def triples(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        for t in graph.tables():
            begin, end = f"<{VOCABULARY}", "> .\n"
            lines(stream, begin, t["owner"], f"> <{VOCABULARY}own> <{VOCABULARY}", t["company"], end)


def weighted_triples(path: Path, graph: Graph) -> None:
    """Edges as kgreason writes those with weights (docs/reference/formats.md)."""
    number = 0
    with path.open("wb") as stream:
        for t in graph.tables():
            node = joined("_:own", np.arange(number, number + len(t)))
            number += len(t)
            of = " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:kgreason:own> .\n"
            source = node, " <urn:kgreason:source> <urn:kgreason:", t["owner"], "> .\n"
            target = node, " <urn:kgreason:target> <urn:kgreason:", t["company"], "> .\n"
            weight = (
                node,
                ' <urn:kgreason:weight> "',
                t["share"],
                '"^^<http://www.w3.org/2001/XMLSchema#double> .\n',
            )
            lines(stream, node, of, *source, *target, *weight)


def turtle(path: Path, graph: Graph) -> None:
    with path.open("wb") as stream:
        stream.write(f"@prefix : <{VOCABULARY}> .\n".encode())
        for t in graph.tables():
            lines(stream, ":", t["owner"], " :own :", t["company"], " .\n")


def bods(path: Path, graph: Graph) -> None:
    """Ownership statements, one a line; shares are percentages, so the digits of a weight move by two."""
    number = 0
    with path.open("wb") as stream:
        for source, target, weight in graph.numbers():
            count = np.arange(number, number + len(source))
            number += len(source)
            stated = (
                '{"statementId": "s',
                count,
                '", "recordId": "r',
                count,
                '", "recordType": "relationship", ',
            )
            ends = '"recordDetails": {"subject": "', names(target), '", "interestedParty": "', names(source)
            interest = (
                '", "interests": [{"type": "shareholding", "directOrIndirect": "direct", "share": {"exact": '
            )
            status = '"recordStatus": "new", "statementDate": "2024-01-15", '
            lines(stream, *stated, status, *ends, interest, np.round(weight * 100, 2), "}}]}}\n")


def parquet(path: Path, graph: Graph) -> None:
    tables = graph.tables()
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def sqlite(path: Path, graph: Graph) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE own (owner TEXT, company TEXT, share REAL)")
        for table in graph.tables():
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            connection.executemany("INSERT INTO own VALUES (?, ?, ?)", rows)
        connection.commit()


def duck(path: Path, graph: Graph) -> None:
    import duckdb

    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE own (owner TEXT, company TEXT, share DOUBLE)")
        for table in graph.tables():
            connection.register("chunk", table)
            connection.execute("INSERT INTO own SELECT * FROM chunk")


def postgresql(address: str, graph: Graph) -> None:
    """Create or replace the table ``own`` of a database."""
    import io

    import psycopg
    from pyarrow import csv

    with psycopg.connect(address) as connection:
        connection.execute("DROP TABLE IF EXISTS own")
        connection.execute("CREATE TABLE own (owner text, company text, share double precision)")
        with connection.cursor().copy("COPY own FROM STDIN (FORMAT csv)") as copy:
            for table in graph.tables():
                stream = io.BytesIO()
                csv.write_csv(table, stream, csv.WriteOptions(include_header=False))
                copy.write(stream.getvalue())


HEADER = ("owner", "company", "share")
Write = Callable[[Path, Graph], None]


def _delimited(mark: str, head: Sequence[str] = ()) -> Write:
    begin = mark.join(head) + "\n" if head else ""
    return lambda path, graph: delimited(path, graph, mark, begin)


def _matrix(path: Path, graph: Graph) -> None:
    size = f"{graph.vertices} {graph.vertices} {graph.edges}"
    numbered(path, graph, f"%%MatrixMarket matrix coordinate real general\n{size}\n")


WRITERS: dict[str, Write] = {
    "own.csv": _delimited(",", HEADER),
    "own.csv.gz": _delimited(",", HEADER),
    "own.tsv": _delimited("\t", HEADER),
    "own.parquet": parquet,
    "own.jsonl": jsonl,
    "own.edges": _delimited(" "),
    "out.own": lambda path, graph: numbered(path, graph, "% asym weighted\n"),
    "own.mtx": _matrix,
    "own.gml": gml,
    "own.graphml": graphml,
    "own.net": pajek,
    "own-neo4j.csv": _delimited(",", (":START_ID", ":END_ID", "share:double")),
    "own.bods.jsonl": bods,
    "own.nt": triples,
    "weighted.nt": weighted_triples,
    "own.ttl": turtle,
    "own.sqlite": sqlite,
    "own.duckdb": duck,
}
"""Writer by file; a new format is a line here and, for a comparison with another reader, one in formats.py."""
