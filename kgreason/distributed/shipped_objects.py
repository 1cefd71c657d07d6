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
import threading
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from kgreason.base.records import record

Buffer: TypeAlias = "bytes | memoryview[Any]"
SMALL = 1 << 16  # bytes that are sent with each task instead of as a file
_LOCK = threading.Lock()  # all sessions share the folder


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

        def kept(buffer: pickle.PickleBuffer) -> bool:
            """Whether a buffer stays in the pickle: many small ones together can be large."""
            small = buffer.raw().nbytes < SMALL
            if not small:
                found.append(buffer)
            return small

        pickled = pickle.dumps(value, protocol=5, buffer_callback=kept)
        files: dict[str, Path] = {}
        with _LOCK:
            placed = self._placed(pickled, files)
            buffers = tuple(self._placed(buffer.raw(), files) for buffer in found)
            if files:
                self._send(list(files.values()))
                self._sent.update(files)
        return Shipped(placed, buffers)

    def _placed(self, data: Buffer, files: dict[str, Path]) -> bytes | str:
        if memoryview(data).nbytes < SMALL:
            return bytes(data)
        name = f"kgreason-{blake2b(data, digest_size=20).hexdigest()}"
        if name not in self._sent:
            files[name] = Path(_folder().name, name)
            if not files[name].exists():  # another session may be reading it
                part = files[name].with_suffix(".part")
                part.write_bytes(data)
                part.replace(files[name])
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
