"""THESIS, chapter 5: CTKGA on series of snapshots, Figures 5.5 to 5.7."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from kgreason.people import verify as verify_people
from kgreason.people.anonymizers.methods import release_of
from kgreason.people.model import PeopleGraph
from kgreason.people.settings import Settings
from kgreason.people.utility import measure
from people_kg.figures import Case, Cell, Measured, Row, Table
from people_kg.thesis_data import rows_of
from people_kg.thesis_directed import MODES

SERIES = {"email-temp": "Email-temp", "icews": "ICEWS14", "yago": "YAGO11k"}
SNAPSHOTS = {"email-temp": 50, "icews": 10, "yago": 50}
WS = (1, 2, 4, 6)
KS = (2, 4, 8, 10)
WINDOW = {"email-temp": 4, "icews": 2, "yago": 2}  # of Figure 5.6
BY_W = {
    "email-temp": ("0.0017", "0.0003"),
    "icews": ("0.0000277", "0.000000889"),
    "yago": ("0.0000158", "0.00000113"),
}
BY_K = {"email-temp": ("0.0053", "0.0015"), "icews": ("0.0004", "0.0004"), "yago": ("0.0008", "0.0008")}
WORDS = (
    "ADM of the users released in the last snapshot. The increments are those that the text has; everything else is in "
    "plots only. Snapshots divide the facts in order of time into 50 parts of equal size (ICEWS14: 10, for time). The "
    "data differ: Email-temp is without departments, whose files are not at hand; ICEWS14 has all entities as users "
    "and all predicates as relations, where the thesis picked persons by hand; YAGO11k takes the place of YAGO15k."
)


def tables(*, quick: bool) -> Iterable[Table]:
    """All tables; quick: the first five snapshots of Email-temp."""
    names = ("email-temp",) if quick else tuple(SERIES)
    yield by_window(names, quick=quick)
    yield by_level(names, quick=quick)
    yield seconds(names, quick=quick)


def by_window(names: Iterable[str], *, quick: bool) -> Table:
    """Figure 5.5."""
    rows = [
        Row(
            f"{SERIES[name]}, {mode}",
            (
                *(Cell(series(name, 2, w, mode, quick=quick), "loss") for w in WS),
                *(
                    Cell(_difference(name, mode, (2, a), (2, b), quick=quick), "more", paper)
                    for (a, b), paper in zip(((1, 2), (4, 6)), BY_W[name], strict=True)
                ),
            ),
        )
        for name in names
        for mode in MODES
    ]
    return Table(
        "THESIS, Figure 5.5",
        "Average information loss by w (k = 2)",
        "series",
        (*(f"w = {w}" for w in WS), "from w = 1 to 2", "from w = 4 to 6"),
        tuple(rows),
        6,
        words=WORDS,
    )


def by_level(names: Iterable[str], *, quick: bool) -> Table:
    """Figure 5.6."""
    rows = [
        Row(
            f"{SERIES[name]} (w = {WINDOW[name]}), {mode}",
            (
                *(Cell(series(name, k, WINDOW[name], mode, quick=quick), "loss") for k in KS),
                *(
                    Cell(
                        _difference(name, mode, (a, WINDOW[name]), (b, WINDOW[name]), quick=quick),
                        "more",
                        paper,
                    )
                    for (a, b), paper in zip(((2, 4), (8, 10)), BY_K[name], strict=True)
                ),
            ),
        )
        for name in names
        for mode in MODES
    ]
    return Table(
        "THESIS, Figure 5.6",
        "Average information loss by k",
        "series",
        (*(f"k = {k}" for k in KS), "from k = 2 to 4", "from k = 8 to 10"),
        tuple(rows),
        6,
    )


def seconds(names: Iterable[str], *, quick: bool) -> Table:
    """Figure 5.7."""
    rows = [
        Row(
            f"{SERIES[name]}, {mode}",
            tuple(
                Cell(series(name, 2, w, mode, quick=quick), figure)
                for w in WS
                for figure in ("seconds", "withheld")
            ),
        )
        for name in names
        for mode in MODES
    ]
    return Table(
        "THESIS, Figure 5.7",
        "Seconds of a release, and users withheld of all, means over the snapshots (k = 2)",
        "series",
        tuple(f"w = {w}: {what}" for w in WS for what in ("seconds", "withheld")),
        tuple(rows),
        3,
        words=(
            "Plot only. In the author's `exp_data/performance/yago_-1#equaladd_50#all.csv` (repository "
            "`tuhoag/sequential-anonygraph`, a division of YAGO15k), the clusters of a snapshot take 580 to 850 s "
            "at k = 2 and w = 1, and about 200 to 450 s with w = 8."
        ),
    )


def series(name: str, k: int, w: int, mode: str, *, quick: bool) -> Case:
    """A series with one k and window."""
    few = " first" * quick
    return Case(f"thesis series {name} k={k} w={w} {mode}{few}", partial(_series, name, k, w, mode, quick))


def _difference(name: str, mode: str, one: tuple[int, int], other: tuple[int, int], *, quick: bool) -> Case:
    """What a series loses more than another; both are a k and a window."""
    few = " first" * quick
    title = f"thesis series {name} {mode} {one} to {other}{few}"
    return Case(title, partial(_more, name, mode, one, other, quick))


def _more(
    name: str, mode: str, one: tuple[int, int], other: tuple[int, int], quick: bool, data: Path, run: int
) -> Measured:
    before, after = (_series(name, k, w, mode, quick, data, run)["loss"] for k, w in (one, other))
    return {"more": after - before}


@lru_cache
def _series(name: str, k: int, w: int, mode: str, quick: bool, data: Path, run: int) -> Mapping[str, float]:
    settings = Settings(method="ctkga", mode=MODES[mode], window=w)
    rng, history, before = np.random.default_rng(run), None, list[PeopleGraph]()
    spent, withheld, holds = [], [], True
    for graph in snapshots(data, name)[: 5 if quick else None]:
        start = time.process_time()
        made = release_of(graph, np.full(graph.n, k), settings, history, rng, k=k, seeded=True)
        spent.append(time.process_time() - start)
        withheld.append(float((made.mapping < 0).mean()))
        history, before = made.history, [*before, made.graph][-w:]
        holds &= verify_people(before, model="kw-tad", k=k).holds
    utility = measure(graph, made.graph, made.mapping)
    both = (utility.dm_out + utility.dm_in) / 2
    return {
        "loss": (utility.am + both) / 2 if graph.attributes else both,
        "seconds": float(np.mean(spent)),
        "withheld": float(np.mean(withheld)),
        "holds": float(holds),
    }


@lru_cache(maxsize=1)
def snapshots(data: Path, name: str) -> tuple[PeopleGraph, ...]:
    """Graphs of parts of the facts of a series, of equal size and in order of time."""
    facts = _FACTS[name](data)
    ends = np.linspace(0, len(facts), SNAPSHOTS[name] + 1).astype(int).tolist()
    links_of_all = sorted({relation for _, relation, _, is_link in facts if is_link})
    made = []
    for first, end in pairwise(ends):
        part = facts[first:end]
        links = [(s, r, t) for s, r, t, is_link in part if is_link and s != t]
        values = [(s, r, t) for s, r, t, is_link in part if not is_link]
        users = sorted({end for s, _, t in links for end in (s, t)} | {s for s, _, _ in values})
        made.append(PeopleGraph.from_triples(users, values, links, relations=links_of_all))
    return tuple(made)


Fact = tuple[str, str, str, bool]
"""Source, relation, target, and whether it is a link between users."""


def _emails(data: Path) -> list[Fact]:
    rows = rows_of(data / "social" / "email-Eu-core-temporal.txt.gz")
    return [(s, "to", t, True) for s, t, _ in sorted(rows, key=lambda row: int(row[2]))]


def _events(data: Path) -> list[Fact]:
    folder = data / "kg" / "ICEWS14"
    rows = [row for part in ("train", "valid", "test") for row in rows_of(folder / f"{part}.txt.gz")]
    return [(s, r, t, True) for s, r, t, *_ in sorted(rows, key=lambda row: int(row[3]))]


def _facts(data: Path) -> list[Fact]:
    folder, married = data / "kg" / "yago11k", "4"
    rows = [row for part in ("train.txt.gz", "valid.txt", "test.txt") for row in rows_of(folder / part)]
    dated = [(_year(row), row) for row in rows if _year(row) is not None]
    ordered = sorted(dated, key=lambda pair: (pair[0], pair[1]))
    return [(s, r, t, r == married) for _, (s, r, t, *_) in ordered]


def _year(row: list[str]) -> int | None:
    """First known year of a fact: that of its beginning, or else of its end."""
    for text in row[3:5]:
        year = text.lstrip("-").partition("-")[0]
        if year.isdigit():
            return -int(year) if text.startswith("-") else int(year)
    return None


_FACTS = {"email-temp": _emails, "icews": _events, "yago": _facts}
