"""Passwords: where they belong, and how they are kept out of what is shown."""

from __future__ import annotations

import re

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
