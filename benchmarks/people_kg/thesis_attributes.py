"""THESIS, chapter 4: points, clusterings, truthfulness and times of CKGA, and the comparisons of chapters 4 and 5."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.progress import SILENT
from kgreason.people import anonymize as anonymize_people
from kgreason.people import verify as verify_people
from kgreason.people.anonymizers.clusterers import points
from kgreason.people.anonymizers.generalization import publish
from kgreason.people.anonymizers.indicator import learn
from kgreason.people.anonymizers.losses import AttributeDegreeLoss, TruthDegreeLoss, all_values
from kgreason.people.anonymizers.methods import Clustering
from kgreason.people.anonymizers.valid_clusters import invalid_removal
from kgreason.people.model import Numbers, PeopleGraph
from kgreason.people.settings import Settings
from kgreason.people.utility import Utility, measure
from people_kg.figures import Case, Cell, Measured, Row, Table
from people_kg.thesis_data import NAMES, people_of
from people_kg.thesis_directed import EVEN, KS, MODES, PLOT, directed

TABLE_4_1 = {  # mean and standard deviation by dimensions
    "email": ("0.0046 0.0038", "0.0012 0.0015", "0.0005 0.0009"),
    "freebase": ("0.0072 0.0073", "0.0036 0.0032", "0.0003 0.0010"),
    "email-temp": ("0.0030 0.0030", "0.0019 0.0012", "0.0001 0.0002"),
    "dblp": ("0.0073 0.0021", "0.0031 0.0011", "0.0002 0.0001"),
}
TABLE_4_2 = ("95.7", "95.7", "96.9")  # Freebase
TABLE_4_3 = {  # seconds by k: CDGA, CKGA
    "email-temp": (
        "680.8 825.7 893.3 929.7 950.4 977.4 987.9 1000.7 1007.1",
        "6.5 4.4 3.2 2.7 2.3 1.9 1.8 1.5 1.5",
    ),
    "dblp": (
        "91855.4 111181.6 118269.7 122246.1 124145.7 126542.7 127343.4 128254.3 128727.9",
        "607.9 420.4 629.9 581.5 540.3 483.3 474.9 457.6 398.9",
    ),
}
SIZES = {"email": ("22.33", "36.89"), "freebase": ("21.17", "76.40")}  # users of a cluster at k = 10
REMOVED = {"email": ("0.25", "0.30"), "freebase": ("0.27", "0.20")}  # by IR at k = 10
DIMENSIONS = (2, 10, 50)
TAUS = (0.0, 0.5, 1.0)
CTKGA_DBLP = "776 2000 3439 3935 4754 5365 6396 7646 8048"  # num_fake_edges, of 49,743
SOURCE = (
    "CTKGA's figures for DBLP are `num_fake_edges` in `exp_data/comparison/dblp_-1#static#all.csv` of the author's "
    "repository `tuhoag/sequential-anonygraph`, over 49,743 edges."
)


def tables(*, quick: bool) -> Iterable[Table]:
    """All tables; quick: on Email-Eu-core and Email-temp with few k."""
    graphs = ("email",) if quick else ("email", "freebase")
    plain = ("email-temp",) if quick else ("email-temp", "dblp")
    yield distances(("email", "email-temp") if quick else tuple(TABLE_4_1))
    yield from () if quick else (indicator(),)
    yield seconds(plain, (2, 10) if quick else KS)
    yield clusterings(graphs)
    yield from () if quick else (truthfulness(EVEN),)
    yield fake_edges(plain, (2, 10) if quick else KS)
    yield losses(graphs, (2, 10) if quick else EVEN)


def distances(graphs: Iterable[str]) -> Table:
    """Table 4.1."""
    rows = []
    for name in graphs:
        case = Case(f"thesis points {name}", partial(_distances, name))
        for i, figure in enumerate(("mean", "deviation")):
            cells = (
                Cell(case, f"{figure} {d}", paper.split()[i])
                for d, paper in zip(DIMENSIONS, TABLE_4_1[name], strict=True)
            )
            rows.append(Row(f"{NAMES[name]}, {figure}", tuple(cells)))
    return Table(
        "THESIS, Table 4.1",
        "Difference of the distance of points and ADM",
        "graph",
        tuple(f"d = {d}" for d in DIMENSIONS),
        tuple(rows),
        5,
        words=(
            "Over the pairs of up to 2,000 users with all. Google+ is not measured: its attributes are not at hand."
        ),
    )


def indicator() -> Table:
    """Table 4.2."""
    case = Case("thesis indicator freebase", _accuracy)
    cells = (Cell(case, f"{d}", paper) for d, paper in zip(DIMENSIONS, TABLE_4_2, strict=True))
    base = Cell(case, "constant")
    return Table(
        "THESIS, Table 4.2",
        "Accuracy of the indicator in per cent",
        "graph",
        (*(f"d = {d}" for d in DIMENSIONS), "all untruthful"),
        (Row("Freebase", (*cells, base)),),
        2,
        higher=True,
        words="Of all pairs of values; the last column calls every pair untruthful. Google+ is not measured.",
    )


def seconds(graphs: Iterable[str], ks: Iterable[int]) -> Table:
    """Table 4.3."""
    rows = []
    for name in graphs:
        for k in EVEN if name == "dblp" else ks:
            cdga, ckga = (line.split()[KS.index(k)] for line in TABLE_4_3[name])
            rows.append(
                Row(
                    f"{NAMES[name]}, k = {k}",
                    (
                        Cell(directed(name, k, "published"), "seconds", cdga),
                        Cell(directed(name, k, "default"), "seconds", cdga),
                        Cell(of_points(name, k), "seconds", ckga),
                    ),
                )
            )
    return Table(
        "THESIS, Table 4.3",
        "Seconds",
        "graph and k",
        ("CDGA published", "CDGA default", "CKGA published"),
        tuple(rows),
        2,
        words=(
            "Processor time of CDGA with verification, of CKGA without the points, as in the thesis (64 dual-core "
            "processors; its points take 408 s and 40,415 s)."
        ),
    )


def clusterings(graphs: Iterable[str]) -> Table:
    """Figure 4.2."""
    rows = []
    for name in graphs:
        for i, clustering in enumerate(("k-means", "hdbscan")):
            case = Case(f"thesis clusterings {name} {clustering}", partial(_clusterings, name, clustering))
            columns = [Cell(case, "size", SIZES[name][i]), Cell(case, "removed IR", REMOVED[name][i])]
            columns += [Cell(case, f"loss {how}") for how in ("IR", *(f"KP {tau}" for tau in TAUS))]
            columns += [Cell(case, f"removed KP {tau}") for tau in TAUS]
            rows.append(Row(f"{NAMES[name]}, {clustering}", tuple(columns)))
    return Table(
        "THESIS, Figure 4.2",
        "Clusterings and partitions at k = 10, `--mode published`",
        "graph and clustering",
        (
            *("users of a cluster", "removed by IR", "loss IR"),
            *(f"loss KP, τ = {tau:g}" for tau in TAUS),
            *(f"removed, τ = {tau:g}" for tau in TAUS),
        ),
        tuple(rows),
        4,
        words=(
            "The loss is the mean of AM', DM'o and DM'i over released users. Plot only for the losses; the text has "
            "the sizes of valid clusters, what IR removes, and for k-means and KP a loss from 0.08 (τ = 0) to 0.05 "
            "(τ = 1), with 26 % to 0 % of the users removed. Of HDBSCAN the text says both that IR removes 30 % and "
            "20 %, and that none of its clusters is too small."
        ),
    )


def truthfulness(ks: Iterable[int]) -> Table:
    """Figure 4.3."""
    rows = [
        Row(
            f"k = {k}",
            tuple(
                Cell(ckga("freebase", k, mode, loss=loss), figure)
                for mode in MODES
                for figure, loss in (("untruthful", "adm"), ("untruthful", "atdm"))
            ),
        )
        for k in ks
    ]
    return Table(
        "THESIS, Figure 4.3",
        "Untruthful associations on Freebase in per cent of all that are possible",
        "k",
        tuple(f"{loss}, {mode}" for mode in MODES for loss in ("ADM", "ATDM")),
        tuple(rows),
        3,
        words=f"{PLOT}, but says that at k = 10 ATDM has 0.04 % less than ADM on Google+, and similarly on Freebase.",
    )


def fake_edges(graphs: Iterable[str], ks: Iterable[int]) -> Table:
    """Figures 4.4 and 5.9."""
    rows = []
    for name in graphs:
        for k in EVEN if name == "dblp" else ks:
            series = f"{int(CTKGA_DBLP.split()[KS.index(k)]) / 49_743:.4f}" if name == "dblp" else ""
            cells = [Cell(directed(name, k, mode), "added") for mode in MODES]
            cells += [Cell(ckga(name, k, "published", tau=0.5), figure) for figure in ("fake", "users")]
            cells += [Cell(ckga(name, k, mode, method="ctkga", window=1), "fake", series) for mode in MODES]
            rows.append(Row(f"{NAMES[name]}, k = {k}", tuple(cells)))
    return Table(
        "THESIS, Figures 4.4 and 5.9",
        "Fake edges over the edges of the original",
        "graph and k",
        (
            *(f"CDGA {mode}" for mode in MODES),
            *("CKGA published", "its released users"),
            *(f"CTKGA {mode}" for mode in MODES),
        ),
        tuple(rows),
        4,
        words=f"{PLOT}, but says that CKGA (τ = 0.5) keeps more than 99 % of the users. {SOURCE}",
    )


def losses(graphs: Iterable[str], ks: Iterable[int]) -> Table:
    """Figure 5.8."""
    rows = [
        Row(
            f"{NAMES[name]}, k = {k}",
            tuple(
                Cell(ckga(name, k, mode, **options), "loss")
                for options in ({}, {"method": "ctkga", "window": 1})
                for mode in MODES
            ),
        )
        for name in graphs
        for k in ks
    ]
    return Table(
        "THESIS, Figure 5.8",
        "Average information loss (ADM) of the released users",
        "graph and k",
        tuple(f"{method} {mode}" for method in ("CKGA", "CTKGA") for mode in MODES),
        tuple(rows),
        5,
        words=f"{PLOT}, but says that CTKGA loses less than CKGA.",
    )


def ckga(name: str, k: int, mode: str, **options: Any) -> Case:
    """A release of users with attributes."""
    chosen = {"method": "ckga", "mode": MODES[mode], "k": k, **options}
    title = " ".join(f"{key}={value}" for key, value in chosen.items())
    return Case(f"thesis {name} {title}", partial(_released, name, chosen))


def of_points(name: str, k: int) -> Case:
    """Clusters and generalization of CKGA, given its points."""
    return Case(f"thesis ckga seconds {name} {k}", partial(_of_points, name, k))


def _released(name: str, options: Mapping[str, Any], data: Path, run: int) -> Measured:
    graph = people_of(data, name)
    if options["method"] == "ckga":
        return _figures(graph, _work(data, name, run, options))
    result = anonymize_people(graph, seed=run, **options)
    assert result.utility is not None
    return {**_lost(graph, result.utility), "holds": result.holds}


def _figures(graph: PeopleGraph, work: Clustering) -> Measured:
    """Figures of the release of a method with given points."""
    made = work.best()
    release = publish(made.graph, made.users, {}, graph, work.rng)
    verdict = verify_people(release.graph, model="k-ad", k=work.most, original=graph, mapping=release.mapping)
    return {**_lost(graph, measure(graph, release.graph, release.mapping)), "holds": verdict.holds}


def _lost(graph: PeopleGraph, utility: Utility) -> dict[str, float]:
    edges = sum(map(len, graph.relations.values()))
    by_degrees = (utility.dm_out + utility.dm_in) / 2
    return {
        "loss": (by_degrees + utility.am) / 2 if graph.attributes else by_degrees,
        "three": (utility.am + utility.dm_out + utility.dm_in) / 3,
        "untruthful": 100 * utility.untruthful_ratio,
        "fake": sum(c.added for c in utility.changes.values()) / edges,
        "users": 1 - utility.rru,
        "removed": utility.rru,
    }


def _distances(name: str, data: Path, run: int) -> Measured:
    loss, rng = AttributeDegreeLoss(people_of(data, name)), np.random.default_rng(run)
    some = rng.permutation(loss.n)[:2_000]
    wanted = loss.between(some).astype(np.float64)
    found = {}
    for d in DIMENSIONS:
        at = _points(data, name, "adm", d)
        apart = np.abs(np.sqrt(np.maximum(_squares(at[some], at), 0)) - wanted)
        apart[np.arange(len(some)), some] = 0
        found |= {f"mean {d}": float(apart.mean()), f"deviation {d}": float(apart.std())}
    return found


def _squares(some: np.ndarray, all_: np.ndarray) -> np.ndarray:
    return (some**2).sum(axis=1)[:, None] + (all_**2).sum(axis=1) - 2 * some @ all_.T


def _accuracy(data: Path, run: int) -> Measured:
    graph = people_of(data, "freebase")
    known = all_values(graph).together()
    found = {"constant": 100 * float((~known).mean())}
    for d in DIMENSIONS:
        judged = learn(graph, d, np.random.default_rng(run))
        found[f"{d}"] = 100 * float((judged == known).mean())
    return found


def _of_points(name: str, k: int, data: Path, run: int) -> Measured:
    work = _work(data, name, run, {"k": k, "tau": 0.5})
    start = time.process_time()
    work.best()
    return {"seconds": time.process_time() - start}


def _work(data: Path, name: str, run: int, options: Mapping[str, Any]) -> Clustering:
    """A run of CKGA with points that are made once."""
    graph, chosen = people_of(data, name), {"method": "ckga", "mode": "published", **options}
    k = chosen.pop("k")
    settings = Settings(**chosen).filled()
    work = Clustering(graph, np.full(graph.n, k), settings, np.random.default_rng(run), SILENT)
    work.points = _points(data, name, settings.loss, settings.dimensions)
    if settings.loss == "atdm":
        work.distance = _truth(data, name)
    return work


@lru_cache(maxsize=16)
def _points(data: Path, name: str, loss: str, dimensions: int) -> Numbers:
    graph = people_of(data, name)
    distance = AttributeDegreeLoss(graph) if loss == "adm" else _truth(data, name)
    return points(distance, dimensions, np.random.default_rng(0))


@lru_cache(maxsize=1)
def _truth(data: Path, name: str) -> TruthDegreeLoss:
    graph = people_of(data, name)
    return TruthDegreeLoss(graph, learn(graph, 50, np.random.default_rng(0)))


def _clusterings(name: str, clustering: str, data: Path, run: int) -> Measured:
    graph, options = people_of(data, name), {"k": 10, "clustering": clustering}
    work = _work(data, name, run, options)
    valid = invalid_removal(work.first(), work.levels)
    found: dict[str, float] = {"size": float(np.bincount(valid[valid >= 0]).mean()), "holds": 1.0}
    ways = {"IR": {"partition": "removal"}, **{f"KP {tau}": {"tau": tau} for tau in TAUS}}
    for title, more in ways.items():
        made = _figures(graph, _work(data, name, run, {**options, **more}))
        found[f"loss {title}"], found[f"removed {title}"] = made["three"], made["removed"]
        found["holds"] = min(found["holds"], made["holds"])
    return found
