"""Objects sent to the workers of a Spark session, large arrays as files that the workers of a machine share.

An object is pickled; arrays of NumPy and tables of Arrow leave the pickle as buffers (protocol 5, PEP 574). Each large
buffer becomes a file named by a digest of its content, so that it is sent once for all objects that contain it, and
other content never has the same name. Workers map the files into memory, read-only: those of one machine share the
pages. Spark keeps the files on the disks of its executors until the session ends, and may send them to an executor that
starts later; so they are kept here, too, until the process ends.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from kgreason.base.records import record

Buffer: TypeAlias = "bytes | memoryview[Any]"
SMALL = 1 << 16  # bytes that are sent with each task instead of as a file


@record
class Shipped:
    """A pickled object and its buffers, each in place or the name of a file."""

    pickled: bytes | str
    buffers: tuple[bytes | str, ...]


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="kgreason-", ignore_cleanup_errors=True)  # removed when the process ends


class Shipping:
    """What a session has been sent.

    Parameters
    ----------
    send
        Sends files to the workers; called once for each file name.
    """

    def __init__(self, send: Callable[[Sequence[Path]], object]) -> None:
        self._send = send
        self._sent: set[str] = set()

    def ship(self, value: Any) -> Shipped:
        """Pickle an object and send its large buffers."""
        found: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(value, protocol=5, buffer_callback=found.append)
        files: dict[str, Path] = {}
        parts: list[Buffer] = [pickled, *(buffer.raw() for buffer in found)]
        placed = [self._placed(each, files) for each in parts]
        if files:
            self._send(list(files.values()))
            self._sent.update(files)
        return Shipped(placed[0], tuple(placed[1:]))

    def _placed(self, data: Buffer, files: dict[str, Path]) -> bytes | str:
        if memoryview(data).nbytes < SMALL:
            return bytes(data)
        name = f"kgreason-{blake2b(data, digest_size=20).hexdigest()}"
        if name not in self._sent:
            files[name] = Path(_folder().name, name)
            files[name].write_bytes(data)
        return name


def received(shipped: Shipped, place: Callable[[str], str]) -> Any:
    """The object in a worker; `place` gives the path of a file by its name. Its large arrays are read-only.

    Examples
    --------
    >>> import numpy as np
    >>> files = {}
    >>> shipping = Shipping(lambda paths: files.update({path.name: str(path) for path in paths}))
    >>> shipped = shipping.ship({"small": np.arange(3), "large": np.arange(100_000)})
    >>> found = received(shipped, files.__getitem__)
    >>> len(files), found["small"].tolist(), int(found["large"].sum()), found["large"].flags.writeable
    (1, [0, 1, 2], 4999950000, False)
    """

    def content(data: bytes | str) -> bytes | mmap.mmap:
        if isinstance(data, bytes):
            return data
        with open(place(data), "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    return pickle.loads(content(shipped.pickled), buffers=[content(each) for each in shipped.buffers])
