"""The history of a series of releases: equality of values and degrees of users in earlier ones, and its private file.

Attribute values and degrees are reduced to equivalence classes: which users were alike in which release. That suffices
to compare series, and anything not stored cannot leak. The table links pseudonyms to users. It belongs to the private
folder, as the mapping does.

References
----------
THESIS, section 5.3.2 (Attribute Degree Sequence Table), Definitions 18 and 22.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import AnonymizationError, DataError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.losses import all_values
from kgreason.people.model import Counts, PeopleGraph, Texts

ABSENT = -1  # class of a user in a release without that user


@record(eq=False)
class History:
    """All users of the last window - 1 releases, with the series of their classes.

    Attributes
    ----------
    k, window
        Guarantee: in any `window` consecutive releases, each series is that of at least k users.
    releases
        Number of releases so far.
    names
        Pseudonym of each user, as released; str objects, shape (m,).
    originals
        Name of each user in the original graphs; `None` for a fake. Objects, shape (m,), names are unique.
    series
        Class of each user in each release, oldest first: users of a release have the same class if and only if their
        values and degrees are equal; `ABSENT` if the user is not in it. int64, shape (m, columns), with at most
        window - 1 columns; no user is absent in all of them.
    fingerprints
        `fingerprint` of each release so far.
    """

    k: int
    window: int
    releases: int
    names: Texts
    originals: Texts
    series: Counts
    fingerprints: tuple[str, ...]

    @classmethod
    def start(cls, k: int, window: int) -> History:
        """The empty history before the first release; an `AnonymizationError` if k is below 2 or the window below 1."""
        if k < 2:
            raise AnonymizationError(f"k must be at least 2, not {k}", hint="k = 3 is usual")
        if window < 1:
            raise AnonymizationError(
                f"the window must hold at least 1 release, not {window}",
                hint="it is the number of releases in a row that an attacker may compare",
            )
        nobody = np.empty(0, dtype=object)
        return cls(k, window, 0, nobody, nobody, np.empty((0, 0), dtype=np.int64), ())

    def agreed(self, k: int, window: int) -> History:
        """The history for an equal or weaker guarantee from now on; an `AnonymizationError` if it is stronger."""
        asked = History.start(k, window)
        for name, now, before in (("k", k, self.k), ("the window", window, self.window)):
            if now > before:
                raise AnonymizationError(
                    f"{name} cannot be raised from {before} to {now}: earlier releases do not keep that promise",
                    hint=f"go on with {before}, or begin a new series of releases in another private folder: "
                    "then all users get new pseudonyms",
                )
        return replace(self, k=asked.k, window=asked.window)._trimmed()

    def groups(self) -> Vertices:
        """Group of each user: users are in the same one if their series are equal."""
        if not len(self.series):
            return np.empty(0, dtype=np.int64)
        return np.unique(self.series, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def rows(self, originals: Texts) -> Vertices:
        """Row of each original user; -1: in no release of the window, so the user counts as new."""
        row = {name: i for i, name in enumerate(self.originals) if name is not None}
        return np.array([row.get(name, -1) for name in originals], dtype=np.int64)

    def after(self, release: PeopleGraph, originals: Texts) -> History:
        """The history with one more release, whose labels are pseudonyms.

        The old pseudonym of an original user who returns under a new one becomes that of a fake; the original name of a
        fake is `None`.

        Raises
        ------
        AnonymizationError
            If fewer than k users have the same series: the release must not be published.
        """
        place = {name: i for i, name in enumerate(self.names)}
        row = np.array([place.setdefault(name, len(place)) for name in release.labels], dtype=np.int64)
        known = len(self.names)
        owners = np.full(len(place), None, dtype=object)
        owners[:known] = self.originals
        left = self.rows(originals)
        owners[left[left >= 0]] = None
        owners[row] = originals
        series = np.full((len(place), self.series.shape[1] + 1), ABSENT, dtype=np.int64)
        series[:known, :-1] = self.series
        series[row, -1] = classes(release)
        marks = (*self.fingerprints, fingerprint(release))
        names = np.array([*place, None], dtype=object)[:-1]
        whole = History(self.k, self.window, self.releases + 1, names, owners, series, marks)
        fewest = int(np.bincount(whole.groups()).min(initial=self.k))
        if fewest < self.k:
            raise AnonymizationError(
                f"only {fewest} users have the same series, not {self.k}: this release would break its promise",
                hint="the functions that cluster and generalize must give classes of at least k users",
            )
        return whole._trimmed()

    def _trimmed(self) -> History:
        series = self.series[:, max(0, self.series.shape[1] - (self.window - 1)) :]
        kept = (series != ABSENT).any(axis=1)
        return replace(self, names=self.names[kept], originals=self.originals[kept], series=series[kept])


def classes(graph: PeopleGraph) -> Vertices:
    """Equivalence classes of users by their information I(u): equal values and equal degrees.

    References
    ----------
    THESIS, section 5.2: I(u) is the set of attribute values, out- and in-degrees.
    """
    degrees = np.hstack([graph.out_degrees(), graph.in_degrees()])
    values = all_values(graph)
    number: dict[bytes, int] = {}
    found = np.empty(graph.n, dtype=np.int64)
    for i, (start, end) in enumerate(pairwise(values.owner_start.tolist())):
        # the number of degrees is constant, so the bytes are unambiguous
        found[i] = number.setdefault(degrees[i].tobytes() + values.owned[start:end].tobytes(), len(number))
    return found


def fingerprint(graph: PeopleGraph) -> str:
    """SHA-256 of a graph, independent of the order of its users, values, attributes and relations.

    Attributes and relations without entries are ignored, as files do not show them.
    """
    digest = hashlib.sha256()
    rank, texts = _ranked(graph.labels)
    digest.update(json.dumps(texts).encode())
    for name, a in sorted(graph.attributes.items()):
        if len(a):
            value, texts = _ranked(a.domain[np.unique(a.value)])
            place = np.searchsorted(np.unique(a.value), a.value)
            digest.update(json.dumps([name, texts]).encode())
            digest.update(np.sort(rank[a.user] * len(texts) + value[place]).tobytes())
    for name, r in sorted(graph.relations.items()):
        if len(r):
            digest.update(json.dumps([name]).encode())
            digest.update(np.sort(rank[r.source] * graph.n + rank[r.target]).tobytes())
    return digest.hexdigest()


def _ranked(texts: Texts) -> tuple[Vertices, list[str]]:
    order = np.argsort(texts.astype(str), kind="stable")
    rank = np.empty(len(texts), dtype=np.int64)
    rank[order] = np.arange(len(texts))
    return rank, texts[order].tolist()


FORMAT = "kgreason history of releases"
VERSION = 1
_MEND = (
    "bring back a copy of it; without one, begin a new series in another private folder, "
    "whose users all get new pseudonyms"
)


def write_history(path: Path, history: History) -> None:
    """Write a history atomically, readable by its owner only."""
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
    with replacing(path, private=True) as temporary:
        temporary.write_text(json.dumps(document, ensure_ascii=True) + "\n", encoding="ascii")


def read_history(path: Path) -> History:
    """Read a history.

    Raises
    ------
    DataError
        If the file cannot be read, is no history, is of a later version, or was changed since it was written.
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
