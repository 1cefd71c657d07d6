"""Tables that Spark reads: frames, and addresses as ``own=s3a://bucket/own.parquet?columns=a,b&missing=skip``.

Spark only fetches columns. What options mean, and what fits the rules, is decided as for Parquet files of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgreason.base.errors import DataError
from kgreason.base.printable import hidden
from kgreason.data.format_list import understood
from kgreason.data.predicate_rows import position
from kgreason.data.raw_table import Raw
from kgreason.data.source_options import Options, normal
from kgreason.data.sources import Remote, SourceSpec, parse_source
from kgreason.distributed.spark_engine import SparkEngine, reported
from kgreason.distributed.spark_memory import check_driver, input_size
from kgreason.distributed.spark_session import check_session, quiet
from kgreason.language.vocabulary import EXTENSIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("parquet", "orc", "json", "avro", "delta", "iceberg")
_TYPED = "parquet"  # of this machine's formats, the one whose columns are as those of a frame
_ADDRESS = re.compile(r"[^\W\d]\w*=(?!postgres(?:ql)?:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_INSTANTS = re.compile(r"(?:array<)*timestamp>*")  # times of no zone are the same in Python and in rules


def is_address(text: str) -> bool:
    """Whether a value of ``--data`` is the address of a table that Spark reads, not that of a server of databases.

    >>> [is_address(t) for t in ("own=s3a://b/own.parquet", "own=own.csv", "own=postgresql://db/register")]
    [True, False, False]
    """
    return _ADDRESS.match(text) is not None


def parse_address(text: str) -> tuple[str, SourceSpec]:
    """Predicate and source of a value of ``--data``, which is opened on the active session when it is needed.

    The format is that of the option ``format``, else the one that the name ends in, else Parquet.

    Raises
    ------
    DataError
        If Spark does not read the format, or an option is not one of Parquet files.
    """
    predicate, source = parse_source(text)
    place = text.partition("=")[2]
    if source.options:
        place = place.partition("?")[0]
    options = normal(source.options)
    format = options.pop("format", None) or _ending(place)
    if format not in FORMATS:
        hint = f"say format=, one of {', '.join(FORMATS)}; kgreason convert writes Parquet"
        raise DataError(hidden(place), f"{format!r} is not a format that is read on Spark", hint=hint)
    remote = Remote(hidden(place), partial(_read_at, place, format))
    spec = SourceSpec(source.path, _TYPED, options, remote=remote)
    understood(spec)
    return predicate, spec


def _ending(place: str) -> str:
    """Format by the ending of a name.

    >>> [_ending(f"s3a://b/own{end}") for end in ("", ".orc", ".jsonl", ".csv", ".v2")]
    ['parquet', 'orc', 'json', 'csv', 'parquet']
    """
    end = PurePosixPath(place.lower().removesuffix(".gz")).suffix[1:]
    return end if end in FORMATS else EXTENSIONS.get(end, "parquet")


def frames_as_sources(engine: SparkEngine, data: Mapping[str, Any]) -> dict[str, Any]:
    """Data whose frames of Spark are sources that are collected when they are needed."""

    def source(table: Any, name: str) -> Any:
        if not hasattr(table, "sparkSession"):
            return table
        check_session(table.sparkSession)
        remote = Remote(name, partial(collected, engine, table, name, memory=True), memory=True)
        return SourceSpec(Path(name), _TYPED, remote=remote)

    return {
        p: [source(t, f"<{p}>") for t in given]
        if isinstance(given, list | tuple)
        else source(given, f"<{p}>")
        for p, given in data.items()
    }


def _read_at(place: str, format: str, options: Options) -> Raw:
    engine = SparkEngine()
    if not engine.exists(place):
        hint = "give the address in full; files of this machine are read without file://"
        raise DataError(hidden(place), "there is no such file or table", hint=hint)
    with reported(), quiet():
        frame = engine.spark.read.format(format).load(place)
    return collected(engine, frame, hidden(place), options)


def collected(
    engine: SparkEngine, frame: DataFrame, file: str, options: Options, *, memory: bool = False
) -> Raw:
    """Table of the columns of a frame that the options name; other columns are empty.

    Raises
    ------
    DataError
        If there is no such column.
    EngineError
        If the columns do not fit into the memory of the driver, or Spark cannot read them.
    """
    with reported(), quiet():
        titles, types = tuple(frame.columns), [kind for _, kind in frame.dtypes]
        none = (pa.nulls(0),) * len(titles)
        found = Raw(file, titles, none, lambda _: None, memory=memory, typed=True, ordered=False)
        wanted = _wanted(found, options)
        if not wanted:
            return found
        # by numbers, as names may be equal or have points
        numbered = frame.toDF(*(f"c{i}" for i in range(len(titles))))
        chosen = numbered.selectExpr(*(_local(f"c{i}", types[i]) for i in wanted))
        counted = numbered.selectExpr("count(*) as n")
    (count,) = engine.collected(counted)["n"].to_pylist()
    need = input_size(count, [types[i] for i in wanted])
    check_driver(need, engine.setting, classic=engine.classic)
    table = engine.collected(chosen)
    columns = [pa.nulls(table.num_rows)] * len(titles)
    for i, column in zip(wanted, table.columns, strict=True):
        columns[i] = column
    return replace(found, columns=tuple(columns))


def _wanted(found: Raw, options: Options) -> Sequence[int]:
    if options.columns is None or options.where is not None:
        return range(len(found.names))
    return sorted({position(found, name) for name in options.columns})


def _local(column: str, kind: str) -> str:
    """Expression of a column, with times as the session shows them."""
    if _INSTANTS.fullmatch(kind) is None:
        return column
    return f"cast({column} as {kind.replace('timestamp', 'timestamp_ntz')}) as {column}"
