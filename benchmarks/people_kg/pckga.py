"""Tables 2 to 5 and Figure 2 of the PCKGA paper, and what its text says of HDBSCAN, Coil and Credit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from kgreason.isomorphism.settings import Mode
from kgreason.people import anonymize as anonymize_people
from kgreason.people import verify as verify_people
from kgreason.people.anonymizers import clusterers
from kgreason.people.anonymizers.generalization import generalize, publish
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.anonymizers.user_distances import AnonymizationDistance, Clusters, Levels
from kgreason.people.anonymizers.valid_clusters import invalid_removal, merge_split, vac
from kgreason.people.model import PeopleGraph
from kgreason.people.utility import Utility, measure

from people_kg.figures import Case, Cell, Measured, Row, Table
from people_kg.people_data import authors_levels, people

DATA = {"freebase": "Freebase", "yago": "YAGO"}
SETTINGS = {
    "te_2-5-1": "te 2-5-1",
    "te_5-50-5": "te 5-50-5",
    "zipf_2-5-1-2": "zipf 2-5-1",
    "zipf_5-50-5-2": "zipf 5-50-5",
}
HARD = "zipf_5-50-5-2"  # the setting of Tables 3 and 5
LEVELS_OF_ONE = {"min": np.min, "mean": np.mean, "max": np.max}  # k_unique
TAUS = ("0.00", "0.25", "0.50", "0.75", "1.00")
VAC, PUBLISHED, DEFAULT = "VAC", "`--mode published`", "the default"
COLUMNS = ("k-medoids min", "k-medoids mean", "k-medoids max", "HDB*", VAC)

TABLE_2 = {  # of each setting: AIL, then RRU of k-medoids with k = min, mean, max, of HDB* and of VAC
    ("freebase", "te_2-5-1"): (".404 .407 .134 .221 .0013", ".400 .403 .119 .000 .0006"),
    ("freebase", "te_5-50-5"): (".566 .349 .193 .290 .0137", ".551 .311 .097 .008 .0040"),
    ("freebase", "zipf_2-5-1-2"): (".479 .475 .175 .221 .0018", ".475 .478 .159 .000 .0005"),
    ("freebase", "zipf_5-50-5-2"): (".689 .698 .267 .222 .0168", ".667 .661 .193 .008 .0040"),
    ("yago", "te_2-5-1"): (".474 .476 .188 .260 .0005", ".466 .467 .160 .000 .0001"),
    ("yago", "te_5-50-5"): (".242 .249 .117 .336 .0022", ".215 .217 .024 .000 .0008"),
    ("yago", "zipf_2-5-1-2"): (".496 .496 .215 .189 .0008", ".487 .487 .187 .000 .0001"),
    ("yago", "zipf_5-50-5-2"): (".392 .397 .158 .212 .0070", ".362 .369 .067 .000 .0025"),
}
TABLE_3 = {  # of each tau: the same columns
    "freebase": (
        (".680 .691 .210 .017 .0168", ".667 .661 .193 .008 .0040"),
        (".019 .033 .030 .011 .0087", ".003 .003 .003 .000 .0000"),
        (".019 .029 .028 .011 .0087", ".000 .000 .000 .000 .0000"),
        (".019 .030 .028 .011 .0087", ".000 .000 .000 .000 .0000"),
        (".019 .030 .027 .011 .0087", ".000 .000 .000 .000 .0000"),
    ),
    "yago": (
        (".368 .375 .079 .004 .0070", ".362 .369 .067 .000 .0025"),
        (".016 .016 .015 .004 .0051", ".001 .001 .001 .000 .0003"),
        (".016 .016 .015 .004 .0049", ".000 .000 .000 .000 .0001"),
        (".016 .016 .015 .004 .0048", ".000 .000 .000 .000 .0000"),
        (".016 .016 .015 .004 .0048", ".000 .000 .000 .000 .0000"),
    ),
}
TABLE_4_VAC = {"freebase": "106.63 183.21 110.10 150.14", "yago": "330.05 469.86 363.41 523.93"}
TABLE_4_MS = {"freebase": "32.19 31.75 32.81 30.89 32.42", "yago": "97.24 99.73 98.28 99.37 102.46"}
TABLE_5 = {  # RRU by tau of CKGA with HDBSCAN, of CKGA with k-medoids, and of PCKGA
    "freebase": (".003 .003 .001 .000 .000", ".223 .003 .000 .000 .000", ".008 .000 .000 .000 .000"),
    "yago": (".000 .000 .000 .000 .000", ".074 .001 .000 .000 .000", ".002 .000 .000 .000 .000"),
}
HDBSCAN = "0.334"  # 6.6: AIL of HDBSCAN, Freebase, zipf 5-50-5
TABLES_OF_USERS = {"coil": ("Coil", "0.067", "0.213", 1), "credit": ("Credit", "0.137", "0.339", 3)}


def tables(quick: bool) -> tuple[Table, ...]:
    """All tables; quick: on the first users of Freebase, with two settings and two values of tau."""
    data = {"freebase": "Freebase"} if quick else DATA
    settings = {s: SETTINGS[s] for s in ("te_2-5-1", HARD)} if quick else SETTINGS
    taus = (TAUS[0], TAUS[-1]) if quick else TAUS
    return (
        *table_2(data, settings, quick=quick),
        *table_3(data, taus, quick=quick),
        *table_4(data, settings, taus, quick=quick),
        *table_5(data, taus, quick=quick),
        hdbscan(data, quick=quick),
        *(() if quick else (tabular(),)),
    )


def table_2(data: Mapping[str, str], settings: Mapping[str, str], *, quick: bool) -> Iterable[Table]:
    """Clusterings without Merge-Split, then our whole method."""
    for letter, (figure, title) in zip("ab", FIGURES.items(), strict=True):
        rows = []
        for name in data:
            for setting, shown in settings.items():
                paper = TABLE_2[name, setting]["ab".index(letter)].split()
                alone = [clustered(name, setting, column, None, quick=quick) for column in COLUMNS]
                whole = [anonymized(name, setting, mode, quick=quick) for mode in MODES]
                best = min(paper, key=float)
                cells = [
                    Cell(case, figure, p)
                    for case, p in zip([*alone, *whole], [*paper, best, best], strict=True)
                ]
                rows.append(Row(f"{data[name]} {shown}", tuple(cells)))
        words = (
            "Valid clusters of each clustering, and what `kgreason people anonymize` makes of VAC and Merge-Split; "
            "these two stand beside the best column of the paper."
        )
        columns = (*COLUMNS, PUBLISHED, DEFAULT)
        yield Table(f"PCKGA, Table 2{letter}", title, "users and k", columns, tuple(rows), words=words)


def table_3(data: Mapping[str, str], taus: Iterable[str], *, quick: bool) -> Iterable[Table]:
    """Clusterings with Merge-Split."""
    for letter, (figure, title) in zip("ab", FIGURES.items(), strict=True):
        rows = []
        for name in data:
            for tau in taus:
                paper = TABLE_3[name][TAUS.index(tau)]["ab".index(letter)].split()
                split = [clustered(name, HARD, column, tau, quick=quick) for column in COLUMNS]
                whole = anonymized(name, HARD, "exact", quick=quick)
                cells = [Cell(case, figure, p) for case, p in zip(split, paper, strict=True)]
                cells.append(Cell(whole, figure, min(paper, key=float)))
                rows.append(Row(f"{data[name]}, τ = {tau}", tuple(cells)))
        words = "k is zipf 5-50-5. The default has no τ: the price of removed users decides."
        columns = (*COLUMNS, DEFAULT)
        yield Table(
            f"PCKGA, Table 3{letter}",
            f"{title}, with Merge-Split",
            "users and τ",
            columns,
            tuple(rows),
            words=words,
        )


def table_4(
    data: Mapping[str, str], settings: Mapping[str, str], taus: Iterable[str], *, quick: bool
) -> Iterable[Table]:
    """Times of VAC and of Merge-Split."""
    names, listed = tuple(data.values()), tuple(SETTINGS)
    rows = [
        Row(
            shown,
            tuple(
                Cell(
                    clustered(name, s, VAC, None, quick=quick),
                    "cluster_seconds",
                    TABLE_4_VAC[name].split()[listed.index(s)],
                )
                for name in data
            ),
        )
        for s, shown in settings.items()
    ]
    words = "Processor time with all distances; the paper had 128 cores of an Intel Xeon."
    yield Table("PCKGA, Table 4a", "Seconds of VAC", "k", names, tuple(rows), 2, words=words)
    rows = [
        Row(
            f"τ = {tau}",
            tuple(
                Cell(
                    clustered(name, HARD, VAC, tau, quick=quick),
                    "split_seconds",
                    TABLE_4_MS[name].split()[TAUS.index(tau)],
                )
                for name in data
            ),
        )
        for tau in taus
    ]
    yield Table("PCKGA, Table 4b", "Seconds of Merge-Split", "zipf 5-50-5", names, tuple(rows), 2)


def table_5(data: Mapping[str, str], taus: Iterable[str], *, quick: bool) -> Iterable[Table]:
    """PCKGA and CKGA, which has one k for all: the highest."""
    columns = ("CKGA (HDBSCAN)", "CKGA (k-medoids)", "PCKGA")
    printed = {
        "freebase": {"ail": ("0.027 to 0.244", "0.027 to 0.244", "0.009 to 0.013")},
    }
    for figure, name, title in (
        ("rru", "PCKGA, Table 5", "Ratio of removed users"),
        ("ail", "PCKGA, Figure 2", "Average information loss"),
    ):
        rows = []
        for graph in data:
            for tau in taus:
                paper = (
                    [line.split()[TAUS.index(tau)] for line in TABLE_5[graph]]
                    if figure == "rru"
                    else [""] * 3
                )
                cases = [
                    with_one_k(graph, "hdbscan", tau, quick=quick),
                    with_one_k(graph, "k-medoids", tau, quick=quick),
                    clustered(graph, HARD, VAC, tau, quick=quick),
                ]
                rows.append(
                    Row(
                        f"{data[graph]}, τ = {tau}",
                        tuple(Cell(c, figure, p) for c, p in zip(cases, paper, strict=True)),
                    )
                )
        yield Table(name, title, "users and τ", columns, tuple(rows))
    del printed


def hdbscan(data: Mapping[str, str], *, quick: bool) -> Table:
    """HDBSCAN with one k for all, of which the text has one figure."""
    columns = tuple(f"hdbscan {level}" for level in LEVELS_OF_ONE)
    rows = []
    for name in data:
        cases = [clustered(name, HARD, column, None, quick=quick) for column in columns]
        paper = HDBSCAN if name == "freebase" else ""
        rows += [
            Row(
                f"{data[name]}, {figure.upper()}",
                tuple(Cell(c, figure, paper * (figure == "ail")) for c in cases),
            )
            for figure in FIGURES
        ]
    words = "k is zipf 5-50-5. The text has one figure for HDBSCAN on Freebase, without its k; the others are in a supplement."
    return Table("PCKGA, 6.6", "HDBSCAN with one k for all users", "users", columns, tuple(rows), words=words)


def tabular() -> Table:
    """Tables of users, the best of the paper."""
    rows = []
    for name, (title, paper, primule, runs) in TABLES_OF_USERS.items():
        cases = [anonymized(name, HARD, mode, runs=runs) for mode in MODES]
        for figure, shown, printed in (
            ("ail", "AIL", paper),
            ("ail_program", "AIL as in the authors' program", paper),
            ("rru", "RRU", "0"),
        ):
            rows.append(
                Row(
                    f"{title}, {shown} (Primule: {primule})" if figure == "ail" else f"{title}, {shown}",
                    tuple(Cell(c, figure, printed) for c in cases),
                )
            )
    return Table(
        "PCKGA, 6.7", "Tables of users, k is zipf 5-50-5", "users", (PUBLISHED, DEFAULT), tuple(rows)
    )


FIGURES = {"ail": "Average information loss (AIL)", "rru": "Ratio of removed users (RRU)"}
MODES: tuple[Mode, ...] = ("published", "exact")


def clustered(name: str, setting: str, column: str, tau: str | None, *, quick: bool = False) -> Case:
    """A clustering, then Merge-Split, or the removal of invalid clusters."""
    how = "" if tau is None else f" tau={tau}"
    case = partial(_clustered, name, setting, column, None if tau is None else float(tau), quick)
    return Case(f"{name} {setting} {column}{how}", case, runs_of(setting))


def anonymized(name: str, setting: str, mode: Mode, *, runs: int = 0, quick: bool = False) -> Case:
    """The command."""
    case = partial(_anonymized, name, setting, {"mode": mode}, quick)
    return Case(f"{name} {setting} {mode}", case, runs or runs_of(setting))


def with_one_k(name: str, clustering: str, tau: str, *, quick: bool = False) -> Case:
    """CKGA with the highest k."""
    options = {"method": "ckga", "mode": "published", "clustering": clustering, "tau": float(tau), "k": 50}
    return Case(f"{name} ckga {clustering} tau={tau}", partial(_anonymized, name, "", options, quick), 1)


def runs_of(setting: str) -> int:
    """Files of k of a setting: several of those that are drawn."""
    return 3 if setting.startswith("zipf") else 1


def _input(data: Path, name: str, setting: str, run: int, quick: bool) -> tuple[PeopleGraph, Levels]:
    graph = people(data, name)
    levels = authors_levels(data, name, setting, run) if setting else np.full(graph.n, 50, dtype=np.int64)
    few = np.arange(min(graph.n, 400))
    return (graph.of(few), levels[few]) if quick else (graph, levels)


def _clustered(
    name: str, setting: str, column: str, tau: float | None, quick: bool, data: Path, run: int
) -> Measured:
    graph, levels = _input(data, name, setting, run, quick)
    rng = np.random.default_rng(run)
    start = time.process_time()
    far = AnonymizationDistance(AttributeDegreeLoss(graph), levels)
    found = clusters_of(column, far, rng)
    middle = time.process_time()
    found = invalid_removal(found, levels) if tau is None else merge_split(far, found, tau, rng)
    seconds = {"cluster_seconds": middle - start, "split_seconds": time.process_time() - middle}
    made = generalize(graph, found, rng)
    release = publish(made.graph, made.users, made.figures.as_dict(), graph, rng)
    verdict = verify_people(
        release.graph, model="p-k-ad", levels=levels, original=graph, mapping=release.mapping
    )
    return {**lost(measure(graph, release.graph, release.mapping)), "holds": verdict.holds, **seconds}


def clusters_of(column: str, far: AnonymizationDistance, rng: np.random.Generator) -> Clusters:
    """Clusters of a column of Table 2, or of HDBSCAN with one k, before they are made valid."""
    kind, _, level = column.partition(" ")
    if kind == VAC:
        return vac(far, literal=True)
    if kind == "HDB*":
        return clusterers.hdb_star(far.distance, far.levels)
    k = float(LEVELS_OF_ONE[level](far.levels))
    if kind == "hdbscan":
        return clusterers.hdbscan(far.distance, int(k))
    return clusterers.k_medoids(far.distance, int(far.n / k), rng)


def _anonymized(
    name: str, setting: str, options: Mapping[str, object], quick: bool, data: Path, run: int
) -> Measured:
    graph, levels = _input(data, name, setting, run, quick)
    own = dict(zip(graph.labels.tolist(), levels.tolist(), strict=True)) if setting else None
    more = {} if own is None else {"k_values": own}
    start = time.process_time()
    result = anonymize_people(graph, seed=run, **options, **more)  # type: ignore[call-overload]
    assert result.utility is not None
    return {**lost(result.utility), "holds": result.holds, "seconds": time.process_time() - start}


def lost(utility: Utility) -> dict[str, float]:
    """What is lost; ``ail_program`` has the denominators of the authors' program, each greater by 1 in attributes."""
    kept = (utility.users - utility.removed) / max(utility.users, 1)
    return {
        "ail": utility.ail,
        "rru": utility.rru,
        "ail_program": utility.am * kept / 2 + utility.ail_degrees + utility.ail_removed,
    }
