"""Whether input and workers have the memory that a run on Spark needs, before it begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kgreason.base.errors import EngineError
from kgreason.base.memory import available, shown

Setting = Callable[[str, str], str]
"""Value of a setting of Spark by its name, and the default."""

NUMBER, TEXT = 8, 32  # bytes of a value in a column of Arrow
WORKER = 300 << 20  # bytes of a Python worker beside the input: 240 MB with numbers, 290 with strings
_HEAP = 0.6  # of the memory of the driver that may hold the input on its way to Python
_COPIES = 3  # the input as a frame, as facts and as it is sent
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(text: str, unit: str = "b") -> int:
    """Bytes of a size as Spark writes it; `unit` is that of a plain number.

    >>> size("1g"), size("512mb"), size("384", "m") >> 20
    (1073741824, 536870912, 384)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([bkmgt]?)(i?b)?\s*", text.lower())
    return 0 if found is None else int(found[1]) * _UNITS[found[2] or unit]


def input_size(rows: int, types: Sequence[str]) -> int:
    """Approximate bytes of so many rows of columns with some types of Spark."""
    return rows * sum(TEXT if kind == "string" else NUMBER for kind in types)


def check_driver(need: int, setting: Setting, *, classic: bool) -> None:
    """Check that the driver can collect `need` bytes of input.

    Raises
    ------
    EngineError
        If a setting of Spark or the memory of this machine does not suffice.
    """
    what = f"the input has about {shown(need)}, and must fit into the memory of the driver:"
    most = size(setting("spark.driver.maxResultSize", "1g"))
    if most and need > most:
        hint = f"set spark.driver.maxResultSize={_rounded(need)}"
        raise EngineError(f"{what} spark.driver.maxResultSize is {shown(most)}", hint=hint)
    heap = size(setting("spark.driver.memory", "1g"), "m")
    if classic and heap and need > _HEAP * heap:
        hint = f"set spark.driver.memory={_rounded(int(need / _HEAP))} (spark-submit --driver-memory)"
        raise EngineError(f"{what} spark.driver.memory is {shown(heap)}", hint=hint)
    free = available()
    if free is not None and _COPIES * need > free:
        hint = f"a machine with {shown(_COPIES * need)} of free memory"
        raise EngineError(f"{what} {shown(free)} are free", hint=hint)


def check_workers(given: int, setting: Setting) -> None:
    """Check the memory beside Java's that a cluster manager allows each executor, for `given` bytes of input.

    Raises
    ------
    EngineError
        If it does not suffice for the Python workers; YARN and Kubernetes would end them.
    """
    if not setting("spark.master", "").startswith(("yarn", "k8s")):
        return
    cores = int(setting("spark.executor.cores", "1")) // max(1, int(setting("spark.task.cpus", "1")))
    own = size(setting("spark.executor.pyspark.memory", "0"), "m")
    need = given + max(1, cores) * WORKER
    memory = size(setting("spark.executor.memory", "1g"), "m")
    factor = float(setting("spark.executor.memoryOverheadFactor", "0.1"))
    overhead = size(setting("spark.executor.memoryOverhead", "0"), "m") or max(
        384 << 20, int(factor * memory)
    )
    if need > overhead + own:
        what = (
            f"the {max(1, cores)} Python workers of an executor need about {shown(need)}, "
            f"with {shown(given)} of input; spark.executor.memoryOverhead allows {shown(overhead + own)}"
        )
        raise EngineError(what, hint=f"set spark.executor.memoryOverhead={_rounded(need)}")


def _rounded(need: int) -> str:
    """Whole GB, for a setting of Spark."""
    return f"{-(-need // (1 << 30))}g"
