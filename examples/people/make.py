"""Invent the people of this example: python make.py."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

FIRST = ["Ada", "Aldo", "Alma", "Anton", "Bea", "Bruno", "Carla", "Cem", "Clara", "Dario"]
FIRST += ["Dora", "Emil", "Enya", "Fabio", "Finn", "Gina", "Greta", "Hugo", "Ida", "Ivo"]
LAST = ["Brandt", "Costa", "Dubois", "Eriksen", "Ferrari", "Garcia", "Horvat", "Ivanova", "Jansen", "Kaya"]
JOBS = ["nurse", "teacher", "engineer", "cook", "clerk", "student"]
CITIES = ["Varese", "Como", "Lecco", "Lugano"]
LANGUAGES = ["Italian", "German", "English", "French", "Turkish"]
HERE = Path(__file__).parent


def main() -> None:
    """Write people.csv, facts.csv and k.csv."""
    rng = np.random.default_rng(7)
    names = [f"{first} {last}" for first in FIRST for last in rng.choice(LAST, 3, replace=False)]
    people, facts = [], []
    for name in names:
        job = str(rng.choice(JOBS, p=[0.15, 0.2, 0.2, 0.1, 0.15, 0.2]))
        age = int(rng.integers(19, 28)) if job == "student" else int(rng.integers(24, 66))
        people.append((name, age, job, rng.choice(CITIES, p=[0.4, 0.25, 0.2, 0.15])))
        facts += [(name, "speaks", language) for language in spoken(rng)]
    single = [str(name) for name in rng.permutation(names)]
    for _ in range(12):
        one, other = single.pop(), single.pop()
        facts += [(one, "married", other), (other, "married", one)]
    for i, name in enumerate(names):
        near = rng.choice(len(names), 2 + int(rng.zipf(2.2)) % 5, replace=False)
        facts += [(name, "follows", names[j]) for j in sorted(near) if j != i]
    write("people.csv", ("name", "age", "job", "city"), people)
    write("facts.csv", ("user", "relation", "target"), facts)
    write(
        "k.csv",
        ("user", "k"),
        [(name, int(rng.choice([2, 3, 4, 5], p=[0.6, 0.2, 0.1, 0.1]))) for name in names],
    )


def spoken(rng: np.random.Generator) -> list[str]:
    """Languages of a person: Italian, and perhaps others."""
    count = int(rng.choice([1, 2, 3], p=[0.3, 0.5, 0.2]))
    others = rng.choice(LANGUAGES[1:], count - 1, replace=False)
    return [LANGUAGES[0], *sorted(map(str, others))]


def write(name: str, titles: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table beside this file."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(titles)
        table.writerows(rows)


if __name__ == "__main__":
    main()
