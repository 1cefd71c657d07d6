"""Graphs of the benchmarks of anonymization: generated ones, and public ones as they are read or in samples."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path


@dataclass(frozen=True)
class Generated:
    """A graph that ``kgreason generate`` makes of these words, another one for each seed."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """How its files are called."""
        return "-".join(word.strip("-") for word in self.words)

    @property
    def varies(self) -> bool:
        """Whether each seed gives another graph."""
        return True

    @property
    def n(self) -> int:
        """Number of vertices asked for."""
        return int(self.words[self.words.index("-n") + 1])

    def source(self, graphs: Path, data: Path, seed: int = 0) -> str | None:
        """Where it is read from; it is made in the folder `graphs` if it is not there."""
        del data
        file = graphs / f"{self.name}-{seed}.csv"
        if not file.is_file():
            graphs.mkdir(parents=True, exist_ok=True)
            words = [*self.words, "--seed", str(seed), "--out", str(file)]
            command = [sys.executable, "-m", "kgreason", "generate", *words]
            subprocess.run(command, check=True, capture_output=True)
        return str(file)


@dataclass(frozen=True)
class Public:
    """A public graph.

    Attributes
    ----------
    path, options
        Its place in the folder of data, and how it is read.
    sample
        Number of edges drawn at random, all equally likely; 0: all of them.
    first
        Whether the sample is the first edges of the file instead.
    shares
        Whether weights are drawn: what comes into a vertex is divided at random among its edges.
    """

    path: str
    options: str = ""
    sample: int = 0
    shares: bool = False
    first: bool = False

    @property
    def name(self) -> str:
        """How its files are called."""
        parts = [Path(self.path).name.partition(".")[0]]
        kind = "first" if self.first else "sample"
        parts += [f"{kind}-{self.sample}"] * bool(self.sample) + ["shares"] * self.shares
        # readings of one file differ in what is kept of it
        parts += ["stored"] * ("symmetric=false" in self.options)
        return "-".join(parts)

    @property
    def varies(self) -> bool:
        """Whether each seed gives another graph."""
        return bool(self.sample) or self.shares

    def source(self, graphs: Path, data: Path, seed: int = 0) -> str | None:
        """Where it is read from, or nothing if it is not there; what is drawn is put into the folder `graphs`."""
        if not (data / self.path).is_file():
            return None
        whole = f"{data / self.path}?{self.options}".rstrip("?")
        if not self.varies:
            return whole
        file = graphs / f"{self.name}-{seed}.csv"
        if not file.is_file():
            graphs.mkdir(parents=True, exist_ok=True)
            # in a process of its own: runs that follow would count what this one has ever held as their own memory
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                pool.submit(draw, whole, file, self.sample, self.shares, seed, first=self.first).result()
        return str(file)


def draw(source: str, file: Path, sample: int, shares: bool, seed: int, *, first: bool = False) -> None:
    """Write a sample of the edges of a graph, or the first ones, with the weights that they have or drawn ones."""
    import numpy as np

    import kgreason
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
    from kgreason.isomorphism.release_tables import write_graph

    rng = np.random.default_rng(seed)
    graph = kgreason.read_graph('@edge("own"). @output("own").', {"own": source})
    own = graph.relations["own"]
    kept = np.sort(rng.choice(len(own), sample or len(own), replace=False))
    kept = np.arange(sample) if first else kept
    target, weight = own.target[kept], None if own.weight is None else own.weight[kept]
    if shares:
        part, total = rng.random(len(kept)) + 1e-3, rng.uniform(0.5, 1.0, graph.n)
        drawn = part * (total / np.bincount(target, part, graph.n).clip(1e-9))[target]
        weight = np.floor(drawn * 1e6).clip(1) / 1e6  # of the decimals that are written, none rounded up
    write_graph(file, KnowledgeGraph(graph.labels, {"own": Relation(own.source[kept], target, weight)}))


Graph = Generated | Public


def erdos_renyi(n: int, m: int | None = None) -> Generated:
    """Erdős–Rényi D(n, M); M = n ln(n) / 2 unless it is given."""
    return Generated(("er", "-n", str(n), *(("-m", str(m)) if m else ())))


def scale_free(n: int, alpha: int) -> Generated:
    """Shareholdings whose out-degrees follow a power law."""
    return Generated(("scale-free", "-n", str(n), "--alpha", str(alpha), "--economic"))


INFECT_DUBLIN = Public("weighted/infect-dublin.edges")
BUS = Public("weighted/1138_bus.mtx", "scale=abs")
BUS_AS_STORED = Public("weighted/1138_bus.mtx", "scale=abs&symmetric=false&diagonal=keep")
MAHINDAS = Public("weighted/econ-mahindas.mtx", "scale=minmax")
_BITCOIN = "weighted/soc-sign-bitcoinalpha.csv.gz", "useHeaders=false&selectedColumns=[0:2]&scale=minmax"
BITCOIN = Public(*_BITCOIN)
BITCOIN_SAMPLE = Public(*_BITCOIN, sample=3_100)
_RATINGS = "columns=userId,movieId,rating&prefix=u:,m:&scale=minmax"
MOVIELENS = Public("weighted/ml-latest-small/ratings.csv.gz", _RATINGS)
MOVIELENS_SAMPLE = Public("weighted/ml-latest-small/ratings.csv.gz", _RATINGS, sample=3_200)
MOVIELENS_FIRST = Public("weighted/ml-latest-small/ratings.csv.gz", _RATINGS, sample=3_200, first=True)
MAHINDAS_SAMPLE = Public("weighted/econ-mahindas.mtx", "scale=minmax", sample=3_300)
SGX = Public("ownership/sgx_top20_shares.csv.gz", "percent=true")
ASX = Public("ownership/asx200_shares.csv.gz")
EVA = Public("ownership/eva.net.gz", shares=True)
REGISTER = Generated(("ownership", "-n", "3000"))
