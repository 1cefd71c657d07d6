"""Tables at addresses that Spark reads, as ``own=s3a://bucket/own.parquet?columns=a,b&missing=skip``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgreason.base.errors import DataError
from kgreason.data.source_options import normal, read_options
from kgreason.data.sources import parse_source
from kgreason.distributed.spark_engine import reported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "orc", "json", "avro", "delta", "iceberg")
_ADDRESS = re.compile(r"[a-z]\w*=(?!postgres)[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Whether a value of ``--data`` is the address of a table that Spark reads.

    >>> [is_address(t) for t in ("own=s3a://b/own.parquet", "own=own.csv", "own=postgresql://db/register")]
    [True, False, False]
    """
    return _ADDRESS.match(text) is not None


def read_frame(spark: SparkSession, text: str) -> tuple[str, DataFrame]:
    """Predicate and frame of a value of ``--data``.

    Options ``columns``, ``percent`` and ``missing`` (error, skip, keep) become expressions of columns; ``format`` is
    one that Spark reads, by default that of the name, else Parquet.

    Raises
    ------
    DataError
        If there is another option, or no such table or column.
    """
    address, _, tail = text.partition("?")
    address = address.partition("=")[2]
    predicate, source = parse_source(f"{text.partition('=')[0]}=table.parquet{'?' + tail if tail else ''}")
    given = normal(source.options)
    format = given.pop("format", None) or _format_of(address)
    if format not in FORMATS:
        hint = f"one of {', '.join(FORMATS)}; kgreason convert writes Parquet"
        raise DataError(address, f"{format!r} is not a format that is read on Spark", hint=hint)
    for name in given:
        if name not in ("columns", "percent", "missing"):
            hint = "columns, percent and missing are; or read the file here, without an address"
            raise DataError(address, f"option {name} is not known on Spark", hint=hint)
    options = read_options(address, given)
    with reported():
        frame = spark.read.format(format).load(address)
    titles = frame.columns
    if options.columns is not None:
        numbered = {str(i + 1): title for i, title in enumerate(titles)}
        wanted = [name if name in titles else numbered.get(name, name) for name in options.columns]
        if lacking := [name for name in wanted if name not in titles]:
            hint = f"it has {', '.join(titles)}"
            raise DataError(address, f"there is no column {lacking[0]!r}", hint=hint)
        frame = frame.select(*wanted)
    if options.missing == "skip":
        frame = frame.dropna()
    elif options.missing == "keep":
        frame = frame.fillna("")
    elif options.missing != "error":
        what = f"missing={options.missing} is not known on Spark: nulls would be numbered anew"
        raise DataError(address, what, hint="say missing=skip or missing=keep")
    if options.percent:
        last = frame.columns[-1]
        frame = frame.withColumn(last, frame[last] / 100)
    return predicate, frame


def _format_of(address: str) -> str:
    name = address.rstrip("/").rpartition("/")[2].lower()
    end = name.rpartition(".")[2] if "." in name else ""
    return end if end in (*FORMATS, "csv", "tsv") else "parquet"
