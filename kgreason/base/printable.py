"""What is shown: text from data in which no character acts or is a disguise, and no password stands; and results."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any, TextIO, cast

# C0 and C1 but for line feed and tabulator; what changes the direction of writing; what ends lines or is not seen;
# tags; halves of surrogates. Joiners stay: Persian and many emoji need them.
_ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""A text in which characters that act, or are not seen, are written as JSON escapes them.

    Examples
    --------
    >>> printable("Adler\x1b]0;owned\x07"), printable("\u202egpj.exe"), printable("né à 東京")
    ('Adler\\u001b]0;owned\\u0007', '\\u202egpj.exe', 'né à 東京')
    """
    return _ACTS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


class Screen:
    """A stream that people read: what is written to it is made `printable`.

    Attributes
    ----------
    stream
        The stream itself, for what draws bars and tables with sequences of its own.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str, /) -> int:
        """Write a text; returns its length."""
        self.stream.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)  # whatever else a stream does


@contextmanager
def screened() -> Iterator[None]:
    """Make printable what is printed while the block runs; pipes and files get standard output as it is."""
    with ExitStack() as stack:
        if sys.stdout.isatty():
            stack.enter_context(redirect_stdout(cast(TextIO, Screen(raw(sys.stdout)))))
        stack.enter_context(redirect_stderr(cast(TextIO, Screen(raw(sys.stderr)))))
        yield


def raw(stream: Any) -> Any:
    """The stream below a `Screen`."""
    return stream.stream if isinstance(stream, Screen) else stream


HINT = (
    "leave it out; set the environment variable PGPASSWORD, or write the line host:port:database:user:password "
    "into ~/.pgpass (chmod 600; PGPASSFILE names another file)"
)

_NAME = re.compile(r"pass(?!file)|pwd|secret", re.IGNORECASE)
_SAID = re.compile(
    r"""(\b\w*(?:password|passwd|passphrase|pwd|token|secret)\s*=\s*)('[^']*'?|\\?"[^"]*"?|[^\s,&'"]+)""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]*:/+[^\s:/@?]*):(?!\d+(?:[/?,]|$))\S*@", re.IGNORECASE)


def names_password(option: str) -> bool:
    """Whether an option of this name would hold a password.

    Examples
    --------
    >>> names_password("sslpassword"), names_password("passfile"), names_password("user")
    (True, False, False)
    """
    return _NAME.search(option) is not None


def in_address(text: str) -> bool:
    """Whether the address of a server holds a password.

    Examples
    --------
    >>> in_address("postgresql://reader:x@host/db"), in_address("postgresql://reader@host:5432/db")
    (True, False)
    """
    return _IN_ADDRESS.search(text) is not None


def hidden(text: str) -> str:
    """A text with three stars for each password that it seems to hold, whatever its length.

    Examples
    --------
    >>> hidden("postgresql://reader:pa/s@w@host:5432/db?table=own")
    'postgresql://reader:***@host:5432/db?table=own'
    >>> hidden("postgresql host='h' password='a b' port=5432")
    "postgresql host='h' password=*** port=5432"
    """
    return _IN_ADDRESS.sub(r"\1:***@", _SAID.sub(r"\1***", text))


class Displayed:
    """Base of results that `kgreason.notebook` has a view of; a result knows nothing of how it is shown."""

    def _repr_html_(self) -> str:
        return str(import_module("kgreason.notebook").html(self))
