"""Series of releases on disk: each private report names its release, and the private folder of the release before."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgreason.base.errors import DataError
from kgreason.release.publication import Folders


def noted(folders: Folders, after: Path | None) -> dict[str, Any]:
    """Entry of the private report: paths of a series, relative to the private folder."""
    home = folders.private
    before = None if after is None else os.path.relpath(after, home)
    return {"series": {"release": os.path.relpath(folders.release, home), "after": before}}


def earlier_folders(after: Path | None, count: int) -> Iterator[tuple[Path, Path]]:
    """Release and private folders of up to `count` releases, from the one with the private folder `after` backwards.

    Raises
    ------
    DataError
        If a private report cannot be read, or is not of a release of a series.
    """
    private = after
    for _ in range(count):
        if private is None:
            return
        release, before = _paths(private)
        yield Path(os.path.normpath(private / release)), private
        private = None if before is None else Path(os.path.normpath(private / before))


def before(private: Path) -> Path | None:
    """Private folder of the release before, as the private report names it; errors as for `earlier_folders`."""
    after = _paths(private)[1]
    return None if after is None else Path(os.path.normpath(private / after))


def _paths(private: Path) -> tuple[str, str | None]:
    path = private / "report.json"
    hint = "the private folders of earlier releases must stay where they are, seen from one another: bring it back"
    try:
        series = json.loads(path.read_text(encoding="utf-8"))["series"]
        return str(series["release"]), series["after"]
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror or error}", hint=hint) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(str(path), "this is no report of a release of a series", hint=hint) from error
