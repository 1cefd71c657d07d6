"""Parquet files: typed, named columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kgreason.base import memory
from kgreason.base.arrays import pa, pc, pq
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import chunk_writer, facts_to_arrow
from kgreason.data.raw_table import AGAIN, Raw, no_file
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts

_ROWS = 1 << 16  # rows per batch
_BYTES = 4  # minimum bytes of a value
_ROOM = 1 << 26  # maximum bytes of a batch


def read_parquet(path: Path, _: Options) -> Raw:
    """Read all columns; messages refer to row numbers, since there are no lines."""
    if not path.is_file():
        raise no_file(path)
    with _sound(path):
        with pq.ParquetFile(path) as file:
            table = pa.Table.from_batches(_batches(path, file), file.schema_arrow)
        table.validate(full=True)  # otherwise invalid UTF-8 would only be detected on use
        names = tuple(table.column_names)
    return Raw(str(path), names, tuple(table.columns), lambda _: None, typed=True)


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"no Parquet file that can be read: {' '.join(str(error).split())}"
        hint = f"if it is of another format say so, for instance format=csv; else: {AGAIN}"
        raise DataError(str(path), what, hint=hint) from error


def _batches(path: Path, file: Any) -> Iterator[Any]:
    """Rows in batches whose size bounds the memory of decompressed long values."""
    # Column statistics in the footer are not accessed: if they are damaged, Arrow ends the process.
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    width = _BYTES * len(file.schema)
    memory.claim(sum(max(group.total_byte_size, width * group.num_rows) for group in groups))
    rows = max(1, min(_ROWS, _ROOM // _longest(path, file)))
    for batch in file.iter_batches(rows):
        memory.look()
        yield batch


def _longest(path: Path, file: Any) -> int:
    """Bytes of the longest dictionary text in row groups that could decode to large batches."""
    longest = 1
    for position in range(len(file.schema)):
        column = file.schema.column(position)
        if column.physical_type != "BYTE_ARRAY" or column.path != column.name:
            continue
        with pq.ParquetFile(path, read_dictionary=[column.name]) as only:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group)
                if min(size.num_rows, _ROWS) * size.total_byte_size > _ROOM:
                    memory.look()
                    texts = next(only.iter_batches(1, [group], [column.name])).column(0)
                    if hasattr(texts, "dictionary") and len(texts.dictionary):
                        longest = max(longest, pc.max(pc.binary_length(texts.dictionary)).as_py() or 1)
    return longest


def write_parquet(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write typed columns; see `kgreason.data.fact_columns.facts_to_arrow`."""
    with parquet_stream(path, predicate, names, target) as write:
        write(facts)


@contextmanager
def parquet_stream(
    path: Path, predicate: str, names: Sequence[str], _: Target
) -> Iterator[Callable[[Facts], None]]:
    """Open a file for facts that are written piece by piece; the function must be called at least once."""
    with ExitStack() as stack:
        yield chunk_writer(
            predicate,
            lambda facts: facts_to_arrow(facts, predicate, names),
            lambda schema: stack.enter_context(pq.ParquetWriter(path, schema)),
        )


def parquet_columns(target: Target) -> tuple[str, ...] | None:
    """Column names of a file that an output would replace; `None` if it is not a Parquet file."""
    try:
        return tuple(pq.read_schema(target.path).names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None
