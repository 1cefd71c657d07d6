"""Invent the people of this example, and what happened to them in ten years: python make.py."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FIRST = [
    "Adil",
    "Berta",
    "Cora",
    "Dino",
    "Edda",
    "Franz",
    "Goran",
    "Hilde",
    "Irma",
    "Jonas",
    "Kalle",
    "Lucia",
]
LAST = ["Arnold", "Bianchi", "Conti", "Demir"]
JOBS = ["nurse", "teacher", "cook", "clerk"]
CITIES = ["Varese", "Como", "Lecco"]
BEGIN, END = 2015, 2025
HERE = Path(__file__).parent


def main() -> None:
    """Write history.csv."""
    rng = np.random.default_rng(5)
    names = [f"{first} {last}" for first in FIRST for last in rng.choice(LAST, 2, replace=False)]
    rows = []
    for name in names:
        came = BEGIN if rng.random() < 0.6 else int(rng.integers(BEGIN, END - 3))
        left = None if rng.random() < 0.7 else int(rng.integers(came + 2, END))
        for kind, options in (("job", JOBS), ("lives in", CITIES)):
            year = came
            while year < (left or END):
                until = year + 2 + int(rng.geometric(0.2))
                last = until >= (left or END)
                end = left if last else until
                rows.append((name, kind, str(rng.choice(options)), day(rng, year), day(rng, end)))
                year = END if last else until
    for name in names:
        for other in rng.choice(names, 2, replace=False):
            if other != name:
                start = int(rng.integers(BEGIN, END - 2))
                rows.append((name, "follows", str(other), day(rng, start), day(rng, start + 2)))
    rows.sort(key=lambda row: row[3])
    with (HERE / "history.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("user", "relation", "target", "from", "to"))
        table.writerows(rows)


def day(rng: np.random.Generator, year: int | None) -> str:
    """A day of a year, of which sometimes only the year is known; empty: not yet."""
    if year is None:
        return ""
    month, number = rng.integers(1, 13), rng.integers(1, 29)
    return f"{year}-##-##" if rng.random() < 0.2 else f"{year}-{month:02}-{number:02}"


if __name__ == "__main__":
    main()
