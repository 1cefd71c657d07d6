"""An engine that does the work of a stage in this process, with all that goes to workers and back as pickles."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kgreason.base.divided_work import Advance
from kgreason.distributed import spark_workers as workers


class KeptBlocks:
    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = rows
        self.counts = Counter[str]()
        for row in rows:
            self.counts[row["name"]] += row["rows"]

    def table(self, name: str, bucket: int | None = None) -> pa.Table | None:
        rows = [row for row in self.rows if row["name"] == name and bucket in (None, row["bucket"])]
        data = [pa.ipc.open_stream(row["data"]).read_all() for row in rows]
        return pa.concat_tables(data) if data else None

    def remove(self) -> None:
        self.rows = []


class ProcessEngine:
    """As `SparkEngine`; each partition has a copy of the work."""

    partitions = 3

    def blocks(
        self,
        work: Any,
        tasks: int,
        read: Sequence[tuple[str, KeptBlocks]] = (),
        *,
        repeat: int = 1,
        advance: Advance,
    ) -> KeptBlocks:
        given = [(task, None, None) for task in range(tasks)]
        given += [
            (repeat * row["bucket"] + i, name, row["data"])
            for name, there in read
            for row in there.rows
            if row["name"] == name
            for i in range(repeat)
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
            for name, bucket, rows in copy(workers._given(iter([batch]))):
                found.append(
                    {"name": name, "bucket": bucket, "rows": rows.num_rows, "data": workers._compressed(rows)}
                )
        advance(tasks)
        return KeptBlocks(found)
