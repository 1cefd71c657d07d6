"""Objects sent to workers: what arrives, how often a file is sent, and what it is called."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kgreason.distributed.shipped_objects import SMALL, Shipping, received
from tests.distributed.copies import same


class Files:
    """Files that were sent, by name, and the names of each call."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        self.calls: list[list[str]] = []
        self.shipping = Shipping(self.send)

    def send(self, files: list[Path]) -> None:
        self.calls.append([file.name for file in files])
        self.paths |= {file.name: str(file) for file in files}

    def there_and_back(self, value):
        return received(self.shipping.ship(value), self.paths.__getitem__)


@given(
    arrays(st.sampled_from([np.int64, np.int32, np.float64, np.bool_]), array_shapes(min_side=0)),
    st.integers(),
)
def test_what_is_sent_arrives(array: np.ndarray, number: int) -> None:
    found = Files().there_and_back((array, number))
    assert np.array_equal(found[0], array, equal_nan=array.dtype == np.float64)
    assert found[1] == number


def test_large_arrays_are_mapped_once() -> None:
    files = Files()
    large = np.arange(SMALL)
    one = files.there_and_back({"a": large, "b": np.arange(3), "c": large[::2]})
    assert len(files.calls) == 1
    other = files.there_and_back([large.copy(), large + 1])
    assert [len(names) for names in files.calls] == [2, 1]  # a column of every other number is not contiguous
    assert same(one["a"], large)
    assert same(other, [large, large + 1])
    assert not one["a"].flags.writeable
    assert one["b"].tolist() == [0, 1, 2]
    files.there_and_back(other)
    assert len(files.calls) == 2


def test_other_content_has_another_name() -> None:
    files = Files()
    for value in (0, 1):
        files.there_and_back(np.full(SMALL, value))
    names = [name for call in files.calls for name in call]
    assert len(set(names)) == 2
    assert all(Path(name).name == name for name in names)


def test_tables_of_arrow_are_mapped() -> None:
    files = Files()
    table = pa.table({"owner": [f"company {i}" for i in range(20_000)], "share": np.arange(20_000) / 2})
    before = pa.total_allocated_bytes()
    found = files.there_and_back(table)
    assert found.equals(table)
    assert pa.total_allocated_bytes() - before < 1000
    assert len(files.paths) == 3  # offsets, text, numbers


def test_a_long_pickle_is_a_file() -> None:
    files = Files()
    value = [f"label {i}" for i in range(20_000)]
    assert files.there_and_back(value) == value
    assert len(files.paths) == 1


def test_many_small_arrays_are_one_file() -> None:
    files = Files()
    value = [np.full(1000, i) for i in range(100)]
    shipped = files.shipping.ship(value)
    assert len(files.paths) == 1
    assert not shipped.buffers
    assert same(received(shipped, files.paths.__getitem__), value)


def test_threads_that_ship_the_same() -> None:
    sent: list[bytes] = []

    def send(paths: list[Path]) -> None:
        time.sleep(0.05)  # another thread would write the file meanwhile
        sent.extend(path.read_bytes() for path in paths)

    shipping = Shipping(send)
    value = np.random.default_rng().integers(0, 2**60, SMALL)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: shipping.ship(value), range(4)))
    assert sent == [value.tobytes()]
    assert len(set(found)) == 1


def test_files_are_removed_when_the_process_ends() -> None:
    program = """
import numpy as np
from kgreason.distributed.shipped_objects import Shipping
Shipping(lambda paths: print(*paths)).ship(np.zeros(100_000))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (file,) = done.stdout.split()
    assert os.path.basename(file).startswith("kgreason-")
    assert not Path(file).parent.exists()


def test_files_are_for_their_owner_alone() -> None:
    files = Files()
    files.there_and_back(np.zeros(SMALL))
    (path,) = files.paths.values()
    assert Path(path).parent.stat().st_mode & 0o077 == 0
