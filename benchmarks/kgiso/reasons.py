"""Reasons for differences from the paper, read from ``reasons.toml`` and printed below a verdict."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("reasons.toml")


@dataclass(frozen=True)
class Verdict:
    """A verdict on a figure in a table, or on a statement (`row`) of the text.

    `same_size`: the figure is of a graph of the paper's size.
    """

    where: str
    verdict: str
    row: str = ""
    method: str = ""
    metric: str = ""
    same_size: bool = False


@dataclass(frozen=True)
class Reason:
    """A reason for verdicts: for those that agree in all that it names; of a method the beginning is enough."""

    text: str
    where: tuple[str, ...]
    verdict: str
    row: str = ""
    method: str = ""
    metric: str = ""

    def explains(self, found: Verdict) -> bool:
        """Whether it is a reason for a verdict."""
        return (
            found.where in self.where
            and found.verdict == self.verdict
            and self.row in ("", found.row)
            and self.metric in ("", found.metric)
            and found.method.startswith(self.method)
        )


def reasons(file: Path = FILE) -> list[Reason]:
    """All of the file, in its order."""
    read = tomllib.loads(file.read_text(encoding="utf-8"))["reason"]
    return [
        Reason(**{**each, "text": " ".join(each["text"].split()), "where": tuple(each["where"])})
        for each in read
    ]


def explained(verdicts: Iterable[Verdict], file: Path = FILE) -> tuple[list[Reason], list[Verdict]]:
    """Reasons that apply, and the verdicts `worse` that have none."""
    found, known = list(verdicts), reasons(file)
    apply = [reason for reason in known if any(map(reason.explains, found))]
    rest = [v for v in found if v.verdict == "worse" and not any(reason.explains(v) for reason in known)]
    return apply, rest
