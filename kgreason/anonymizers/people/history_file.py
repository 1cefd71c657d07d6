"""The private file that carries a series of releases from one run to the next.

It tells whose pseudonym is whose: it belongs to the private folder, as the mapping does.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.anonymizers.people.history import History
from kgreason.errors import DataError
from kgreason.output.place import replacing

FORMAT = "kgreason history of releases"
VERSION = 1
_MEND = (
    "bring back a copy of it; without one, begin a new series in another private folder, "
    "whose users all get new pseudonyms"
)


def write_history(path: Path, history: History) -> None:
    """Write a history, readable by its owner only; the file is replaced whole or not at all.

    Raises
    ------
    ReleaseError
        If it cannot be written.
    """
    body = {
        "k": history.k,
        "window": history.window,
        "releases": history.releases,
        "fingerprints": list(history.fingerprints),
        "columns": history.series.shape[1],
        "names": history.names.tolist(),
        "originals": history.originals.tolist(),
        "series": history.series.tolist(),
    }
    document = {"format": FORMAT, "version": VERSION, "sum": _sum(body), **body}
    if path.is_file():
        path.chmod(0o600)
    with replacing(path) as temporary:
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps(document, ensure_ascii=True) + "\n", encoding="ascii")


def read_history(path: Path) -> History:
    """Read a history.

    Raises
    ------
    DataError
        If it cannot be read, is no history, was written by a later version, or has been changed since it was written.
    """
    body = _document(path)
    if body.pop("format", None) != FORMAT:
        raise DataError(
            str(path), "this is not the history of a series of releases", hint="name history.json"
        )
    version = body.pop("version", None)
    if version != VERSION:
        raise DataError(
            str(path),
            f"this history has version {version}, and this kgreason reads version {VERSION}",
            hint="install the kgreason that wrote it, or a later one",
        )
    if body.pop("sum", None) != _sum(body):
        raise DataError(str(path), "this history is not as it was written", hint=_MEND)
    return History(
        body["k"],
        body["window"],
        body["releases"],
        _objects(body["names"]),
        _objects(body["originals"]),
        np.array(body["series"], dtype=np.int64).reshape(-1, body["columns"])
        if body["names"]
        else np.empty((0, body["columns"]), dtype=np.int64),
        tuple(body["fingerprints"]),
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror or error}", hint=_MEND) from error
    except UnicodeDecodeError as error:
        raise DataError(str(path), "this is no text", hint=_MEND) from error
    except json.JSONDecodeError as error:
        raise DataError(str(path), f"this is no JSON: {error.msg}", error.lineno, hint=_MEND) from error
    return found if isinstance(found, dict) else {}


def _sum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()


def _objects(values: list[Any]) -> np.ndarray[Any, np.dtype[np.object_]]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
