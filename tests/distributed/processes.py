"""An engine that does the work of a stage in this process, with all that goes to workers and back as pickles."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kgreason.distributed import spark_workers as workers


class KeptBlocks:
    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = rows
        self.counts = Counter[str]()
        for row in rows:
            self.counts[row["name"]] += row["rows"]

    def table(self, name: str) -> pa.Table | None:
        data = [pa.ipc.open_stream(row["data"]).read_all() for row in self.rows if row["name"] == name]
        return pa.concat_tables(data) if data else None

    def remove(self) -> None:
        self.rows = []


class ProcessEngine:
    """As `SparkEngine`; `workers` partitions with a copy of the work each."""

    partitions = 3

    def blocks(self, work: Any, tasks: int, read: Sequence[tuple[str, KeptBlocks]] = ()) -> KeptBlocks:
        given = [(task, None, None) for task in range(tasks)]
        given += [
            (row["bucket"], name, row["data"])
            for name, there in read
            for row in there.rows
            if row["name"] == name
        ]
        shipped = pickle.dumps(work, protocol=5)
        found: list[dict[str, Any]] = []
        for share in range(self.partitions):
            here = sorted((each for each in given if each[0] % self.partitions == share), key=lambda e: e[0])
            batch = pa.record_batch(
                [
                    pa.array(list(v), t)
                    for v, t in zip(
                        zip(*here, strict=True), (pa.int32(), pa.string(), pa.binary()), strict=True
                    )
                ],
                names=["bucket", "name", "data"],
            )
            copy = pickle.loads(shipped)
            for name, bucket, rows in copy(workers._given(None, iter([batch]))):
                found.append(
                    {"name": name, "bucket": bucket, "rows": rows.num_rows, "data": workers._compressed(rows)}
                )
        return KeptBlocks(found)
