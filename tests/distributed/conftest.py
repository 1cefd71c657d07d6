"""A session of Spark on two cores; each worker that runs such tests has its own, as starting it takes some seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.folders import ROOT
from tests.needs import needs_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    needs_spark()
    from kgreason.distributed.spark_session import quiet

    found = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    with pytest.MonkeyPatch.context() as patch, quiet():
        for name, value in found.items():
            patch.setenv(name, value)
        from pyspark.sql import SparkSession

        made = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "OFF")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        patch.delitem(os.environ, "PYTHONPATH")
        yield made
        made.stop()
