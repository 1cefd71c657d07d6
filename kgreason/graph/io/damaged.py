"""Files that libraries cannot read: what these raise becomes the error of the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from kgreason.errors import DataError

UNPACKING = (EOFError, gzip.BadGzipFile, zlib.error)
"""What the standard library raises at a damaged gzip file."""
AGAIN = "is the file damaged? fetch it again, or write it anew with the program that made it"


@contextmanager
def damaged(file: str) -> Iterator[None]:
    """Turn what libraries raise while they read a file into a `DataError` that names it.

    Readers name the line where they know it; this is for what no reader expects. Defects of kgreason (a `TypeError`, a
    `KeyError`) stay what they are.

    Raises
    ------
    DataError
        In place of an error of the system, of gzip, of a decoder or of Arrow.
    """
    try:
        yield
    except UNPACKING as error:
        raise DataError(file, f"the gzip file is damaged: {error}", hint="fetch or pack it again") from error
    except UnicodeError as error:
        raise DataError(file, f"text is damaged, or of another encoding: {error}", hint=AGAIN) from error
    except OSError as error:
        raise DataError(file, f"cannot be read: {error.strerror or error}", hint=AGAIN) from error
