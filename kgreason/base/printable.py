"""Safe display of text from data: control and invisible characters are escaped, passwords masked."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any, TextIO, cast

# C0 and C1 controls except line feed and tab; direction controls; line ends and invisible characters; tags; surrogates.
# Joiners are kept: Persian and many emoji need them. Patterns are compiled at their first use, in 1.4 ms.
_ACTS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""Replace control and invisible characters by their JSON escapes.

    Examples
    --------
    >>> printable("Adler\x1b]0;owned\x07"), printable("\u202egpj.exe"), printable("né à 東京")
    ('Adler\\u001b]0;owned\\u0007', '\\u202egpj.exe', 'né à 東京')
    """
    return re.sub(_ACTS, _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


class Screen:
    """Output stream for people; text written to it is made `printable`.

    Progress bars and tables, which use control sequences, are written to the underlying `stream`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str, /) -> int:
        """Write a text; returns its length."""
        self.stream.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)  # other methods are those of the stream


@contextmanager
def screened() -> Iterator[None]:
    """Escape printed text within the block; a pipe or file receives standard output unchanged."""
    with ExitStack() as stack:
        if sys.stdout.isatty():
            stack.enter_context(redirect_stdout(cast(TextIO, Screen(raw(sys.stdout)))))
        stack.enter_context(redirect_stderr(cast(TextIO, Screen(raw(sys.stderr)))))
        yield


def raw(stream: Any) -> Any:
    """The stream underlying a `Screen`."""
    return stream.stream if isinstance(stream, Screen) else stream


HINT = (
    "leave it out; set the environment variable PGPASSWORD, or write the line host:port:database:user:password "
    "into ~/.pgpass (chmod 600; PGPASSFILE names another file)"
)

_NAME = re.compile(r"pass(?!file)|pwd|secret", re.IGNORECASE)
_SAID = (
    r"(?i)(\b\w*(?:password|passwd|passphrase|pwd|token|secret)\s*=\s*)"
    r"""('[^']*'?|\\?"[^"]*"?|[^\s,&'"]+)"""
)
_IN_ADDRESS = r"(?i)(\b[a-z][a-z0-9+.-]*:/+[^\s:/@?]*):(?!\d+(?:[/?,]|$))\S*@"


def names_password(option: str) -> bool:
    """Whether an option of this name holds a password.

    Examples
    --------
    >>> names_password("sslpassword"), names_password("passfile"), names_password("user")
    (True, False, False)
    """
    return _NAME.search(option) is not None


def in_address(text: str) -> bool:
    """Whether a server address contains a password.

    Examples
    --------
    >>> in_address("postgresql://reader:x@host/db"), in_address("postgresql://reader@host:5432/db")
    (True, False)
    """
    return re.search(_IN_ADDRESS, text) is not None


def hidden(text: str) -> str:
    """Replace each apparent password in a text by three stars, whatever its length.

    Examples
    --------
    >>> hidden("postgresql://reader:pa/s@w@host:5432/db?table=own")
    'postgresql://reader:***@host:5432/db?table=own'
    >>> hidden("postgresql host='h' password='a b' port=5432")
    "postgresql host='h' password=*** port=5432"
    """
    return re.sub(_IN_ADDRESS, r"\1:***@", re.sub(_SAID, r"\1***", text))


class Displayed:
    """Base of results that have a view in `kgreason.notebook`; the results themselves do not depend on it."""

    def _repr_html_(self) -> str:
        return str(import_module("kgreason.notebook").html(self))
