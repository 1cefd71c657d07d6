"""The sole finder of the grammar and the rule library: the checkout first, then the data of the wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def resource(folder: str, name: str) -> Path:
    """Find a shipped file.

    Parameters
    ----------
    folder
        ``"grammars"`` or ``"rules"``.
    name
        File name inside it.

    Raises
    ------
    FileNotFoundError
        If neither the checkout nor the installed wheel holds the file: a broken installation.

    Examples
    --------
    >>> resource("grammars", "vadalog.lark").name
    'vadalog.lark'
    """
    checkout = PACKAGE.parent
    root = checkout if (checkout / "pyproject.toml").is_file() else PACKAGE / "_data"
    path = root / folder / name
    if path.is_file():
        return path
    raise FileNotFoundError(
        f"{folder}/{name} is missing from this installation of kgreason; install it again"
    )
