"""Which methods are feasible for a graph, at which cost, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.advice.costs import Cost, of_kguard, of_klone, of_published
from kgreason.anonymizers.partition import partition
from kgreason.assess.lacking import Lacking
from kgreason.assess.places import Survey
from kgreason.choices import MAX_STORED, MAX_SUBGRAPHS, MAX_VERTICES
from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph
from kgreason.graph.parts import inside
from kgreason.subgraphs.patterns import LARGEST
from kgreason.subgraphs.pools import MOST

PART = 1_000  # vertices of a part of a divided graph
DIVIDED = 200_000  # vertices of a graph that is divided to see how many edges are lost
USUAL = 4  # vertices of the parts an attacker knows if nothing is said, as for `anonymize`


@dataclass(frozen=True)
class Method:
    """A way to anonymize a graph.

    Attributes
    ----------
    name, options
        In words, and as options of ``kgreason anonymize``.
    subgraphs
        How many connected subgraphs it protects, of all sizes; `None`: more than a billion, or not counted.
    lacking
        Those without images, for each size; empty if that is not known.
    cost
        What it adds and takes; `None` if not known.
    remark
        Why it is not feasible, or what it gives up.
    feasible
        Whether it can be used at all.
    """

    name: str
    options: str
    subgraphs: int | None = None
    lacking: tuple[Lacking, ...] = ()
    cost: Cost | None = None
    remark: str = ""
    feasible: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "name": self.name,
            "options": self.options,
            "feasible": self.feasible,
            "remark": self.remark,
            "subgraphs": self.subgraphs,
            "lacking": [
                {
                    "x": f.x,
                    "subgraphs": f.total,
                    "lacking": f.lacking,
                    "low": f.low,
                    "high": f.high,
                    "exact": f.exact,
                }
                for f in self.lacking
            ],
            "cost": None if self.cost is None else self.cost.as_dict(),
        }


@dataclass(frozen=True)
class Advice:
    """Methods and what they cost, and the one to take, with the reason in one sentence."""

    methods: tuple[Method, ...]
    options: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "methods": [m.as_dict() for m in self.methods],
            "recommendation": {"options": self.options, "reason": self.reason},
        }


@dataclass(frozen=True, eq=False)
class Advisor:
    """What is known of a graph.

    Attributes
    ----------
    surveyed, found
        Of each number of vertices its connected sets, and how many of these lack images where that is known.
    commute
        Whether what protects x vertices protects fewer.
    """

    graph: KnowledgeGraph
    k: int
    surveyed: Mapping[int, Survey]
    found: Mapping[int, Lacking]
    commute: bool

    def advise(self, sizes: Sequence[int], most: int, rng: np.random.Generator) -> Advice:
        """Look at all methods.

        Parameters
        ----------
        sizes
            Numbers of vertices that were examined.
        most
            The greatest that an attacker is thought to know.
        """
        single = [self._kguard((x,)) for x in sizes]
        feasible = [m.lacking or m.feasible for m in single]
        reach = max((x for x, fits in zip(sizes, feasible, strict=True) if fits and x <= most), default=0)
        wanted = tuple(x for x in sizes if 2 <= x <= reach) if not self.commute else (reach,)
        several = [self._kguard(wanted)] if len(wanted) > 1 else []
        klone = self._klone(max((x for x in sizes if x <= most), default=sizes[0]), rng)
        others = [self._published(reach), self._split(reach)] if reach else []
        best = (
            several[0] if several else next((m for m in single if reach and m.options == f"-x {reach}"), None)
        )
        methods = (*single, *several, klone, *others)
        return Advice(methods, *self._choice(best, klone, most, reach))

    def _choice(self, best: Method | None, klone: Method, most: int, reach: int) -> tuple[str, str]:
        """Options of the method to take, and why."""
        if best is None:
            if klone.feasible:
                return (
                    klone.options,
                    f"no size up to {most} is feasible for kguard; klone protects every size",
                )
            return f"--split {PART}", "the graph is too large as a whole"
        if not best.lacking or best.cost is None or klone.cost is None:
            return best.options, f"{_many(best.subgraphs)} subgraphs; how many lack images was not looked at"
        lacks, total = sum(f.lacking for f in best.lacking), sum(f.total for f in best.lacking)
        about = "" if all(f.exact for f in best.lacking) else "about "
        why = f"{about}{lacks:,.0f} of {total:,} subgraphs lack images"
        if best.cost.edges.value >= klone.cost.edges.value:
            return (
                klone.options,
                f"{why}, so that kguard would add about as much as the {self.k - 1} copies of klone",
            )
        short = f"; more vertices are not feasible for kguard, of the {most} wanted" if reach < most else ""
        if not lacks:
            return (
                best.options,
                f"none of {total:,} subgraphs lacks images, so that next to nothing is added{short}",
            )
        return best.options, (
            f"{why}, for which about {best.cost.edges.value:,.0f} edges are added; "
            f"klone would add about {klone.cost.edges.value:,.0f}{short}"
        )

    def _kguard(self, sizes: tuple[int, ...]) -> Method:
        options = f"-x {sizes[0]}" + (f"..{sizes[-1]}" if len(sizes) > 1 else "")
        name = f"kguard {options}"
        totals = [self.surveyed[x].total for x in sizes]
        total = None if None in totals else sum(t for t in totals if t is not None)
        if why := self._refused(sizes[-1]):
            return Method(name, options, total, remark=why, feasible=False)
        if any(x not in self.found for x in sizes):
            need = max(t for t in totals if t is not None)
            remark = f"not searched for images; --max-subgraphs {need} would do it"
            return Method(name, options, total, remark=remark)
        found = tuple(self.found[x] for x in sizes)
        costs = [of_kguard(self.graph, self.k, f) for f in found]
        cost = max(costs, key=lambda c: c.edges.value)
        return Method(name, options, sum(f.total for f in found), found, cost)

    def _refused(self, x: int) -> str:
        """Why KGUARD cannot protect parts of x vertices, if so."""
        if x > LARGEST:
            return f"kguard handles x up to {LARGEST}"
        if self.k - 1 > MOST:
            return f"kguard handles k up to {MOST + 1}"
        if self.k > math.comb(self.graph.n, x):
            return f"the graph has fewer than {self.k} sets of {x} vertices"
        return "more than a billion subgraphs" if self.surveyed[x].total is None else ""

    def _klone(self, x: int, rng: np.random.Generator) -> Method:
        surveyed = self.surveyed[x]
        if self.k * self.graph.n > MAX_VERTICES:
            return Method(
                "klone", "--method klone", remark=f"more than {MAX_VERTICES:,} vertices", feasible=False
            )
        cost = of_klone(self.graph, self.k, surveyed.total or MAX_SUBGRAPHS, rng)
        return Method("klone", "--method klone", cost=cost, remark="protects every x")

    def _published(self, x: int) -> Method:
        surveyed, options = self.surveyed[x], f"-x {x} --mode published"
        name = f"kguard {options}"
        if surveyed.total is None or surveyed.total > MAX_STORED:
            remark = f"stores all subgraphs, of which there are more than {MAX_STORED:,}"
            return Method(name, options, surveyed.total, remark=remark, feasible=False)
        cost = of_published(self.k, surveyed) if surveyed.exact else None
        return Method(name, options, surveyed.total, cost=cost, remark="may leave some unprotected")

    def _split(self, x: int) -> Method:
        name, options = f"kguard --split {PART}", f"-x {x} --split {PART}"
        if round(self.graph.n / PART) < 2:
            return Method(name, options, remark=f"too small for parts of {PART:,} vertices", feasible=False)
        if self.graph.n > DIVIDED:
            return Method(name, options, remark="not tried; loses the edges between parts")
        try:
            parts = partition(self.graph, PART, x)
        except AnonymizationError as error:
            return Method(name, options, remark=str(error).splitlines()[0], feasible=False)
        lost = self.graph.m - inside(self.graph, parts).m
        share = lost / max(1, self.graph.m)
        return Method(
            name,
            options,
            remark=f"{parts.max() + 1:,} parts; loses {lost:,} edges between them ({share:.0%})",
        )


def _many(number: int | None) -> str:
    return "more than a billion" if number is None else f"{number:,}"
