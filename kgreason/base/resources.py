"""Location of the grammar and the rule library: in the checkout, else in the data of the wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def resource(folder: str, name: str) -> Path:
    """Path of a shipped file.

    Parameters
    ----------
    folder
        ``"grammars"`` or ``"rules"``.
    name
        File name.

    Raises
    ------
    FileNotFoundError
        If neither the checkout nor the wheel has the file, i.e. the installation is broken.

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
