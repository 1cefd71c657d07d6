"""Risk of a graph, methods with their costs, and the recommended method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.printable import Displayed
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, beside, inside
from kgreason.graph.subgraphs.member_pools import MOST
from kgreason.graph.subgraphs.patterns import LARGEST
from kgreason.isomorphism.anonymizers.partition import partition
from kgreason.isomorphism.arguments import attacked_sizes
from kgreason.isomorphism.risk.candidate_counts import Exposure, of_subgraphs, of_vertices, surveys
from kgreason.isomorphism.risk.method_costs import (
    Cost,
    Lacking,
    lacking,
    of_kguard,
    of_klone,
    of_published,
    with_copies,
    with_degrees,
)
from kgreason.isomorphism.risk.occurrences import Survey
from kgreason.isomorphism.settings import MAX_STORED, MAX_SUBGRAPHS, MAX_VERTICES, Settings
from kgreason.isomorphism.verification.checker import check_parameters
from kgreason.isomorphism.verification.population import small_components
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import hidden_vertices
from kgreason.release.pipeline import Clock

EXAMINED = range(2, 7)  # default sizes of the examined x-subgraphs
PART = 1_000  # vertices per part of a split graph
RAISED = 2_000_000  # maximum number of vertices of a release for which further guarantees are estimated
DIVIDED = 200_000  # maximum number of vertices of a graph that is split to count the lost edges


@record
class Method:
    """Method to anonymize a graph, with its cost.

    Attributes
    ----------
    name, options
        Name in words, and options of ``kgreason anonymize``.
    subgraphs
        Number of protected x-subgraphs of all sizes; `None`: more than a billion, or not counted.
    lacking
        x-subgraphs without images for each size; empty if unknown.
    cost
        Estimated cost; `None` if unknown.
    remark
        Reason why the method is not feasible, or its limitation.
    feasible
        Whether the method can be used.
    """

    name: str
    options: str
    subgraphs: int | None = None
    lacking: tuple[Lacking, ...] = ()
    cost: Cost | None = None
    remark: str = ""
    feasible: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return {
            "name": self.name,
            "options": self.options,
            "feasible": self.feasible,
            "remark": self.remark,
            "subgraphs": self.subgraphs,
            "lacking": [
                {"x": f.x, "subgraphs": f.total}
                | {name: getattr(f, name) for name in ("lacking", "low", "high", "exact")}
                for f in self.lacking
            ],
            "cost": None if self.cost is None else self.cost.as_dict(),
        }


@record
class Advice:
    """Methods with their costs, the options of the recommended one, and the reason in one sentence.

    `further` are the methods with further guarantees.
    """

    methods: tuple[Method, ...]
    options: str
    reason: str
    further: tuple[Method, ...] = ()


@record(eq=False)
class _Advisor:
    """Knowledge about a graph from which methods are chosen."""

    # `surveyed`, `found`: per size the x-subgraphs, and how many of them lack images where known; `commute`: whether
    # protection of x vertices implies protection of fewer.

    graph: KnowledgeGraph
    k: int
    surveyed: Mapping[int, Survey]
    found: Mapping[int, Lacking]
    commute: bool

    def advise(self, sizes: Sequence[int], most: int, rng: np.random.Generator) -> Advice:
        """Compare all methods for `sizes`; `most` is the largest size that an attacker is assumed to know."""
        single = [self._kguard((x,)) for x in sizes]
        feasible = [m.lacking or m.feasible for m in single]
        reach = max((x for x, fits in zip(sizes, feasible, strict=True) if fits and x <= most), default=0)
        wanted = tuple(x for x in sizes if 2 <= x <= reach) if not self.commute else (reach,)
        several = [self._kguard(wanted)] if len(wanted) > 1 else []
        klone = self._klone(max((x for x in sizes if x <= most), default=sizes[0]), rng)
        others = [self._published(reach), self._split(reach)] if reach else []
        alone = single[sizes.index(reach)] if reach else None
        best = several[0] if several else alone
        methods = (*single, *several, klone, *others)
        further = [
            self._further(one, rng) for one in (best, klone) if one is not None and one.cost is not None
        ]
        return Advice(
            methods, *self._choice(best, klone, most, reach), tuple(m for two in further for m in two)
        )

    def _further(self, method: Method, rng: np.random.Generator) -> Iterator[Method]:
        """A method with each further guarantee."""
        copies = self.k if method.name == "klone" else 1
        if method.cost is None or copies * self.graph.n > RAISED:
            return
        costs = {
            "degree": with_degrees(method.cost, self.graph, self.k, rng, copies),
            "neighbours": with_copies(method.cost, self.graph, self.k),
        }
        for further, cost in costs.items():
            name, options = (f"{words} --also {further}" for words in (method.name, method.options))
            yield Method(name, options, method.subgraphs, cost=cost)

    def _choice(self, best: Method | None, klone: Method, most: int, reach: int) -> tuple[str, str]:
        if best is None and klone.feasible:
            return klone.options, f"no size up to {most} is feasible for kguard; klone protects every size"
        if best is None:
            return f"--split {PART}", "the graph is too large as a whole"
        if not best.lacking or best.cost is None or klone.cost is None:
            many = "more than a billion" if best.subgraphs is None else f"{best.subgraphs:,}"
            return best.options, f"{many} subgraphs; how many lack images was not examined"
        lacks, total = sum(f.lacking for f in best.lacking), sum(f.total for f in best.lacking)
        about = "" if all(f.exact for f in best.lacking) else "about "
        why = f"{about}{lacks:,.0f} of {total:,} subgraphs lack images"
        if best.cost.edges.value >= klone.cost.edges.value:
            more = f"kguard would add about as much as the {self.k - 1} copies of klone"
            return klone.options, f"{why}, so that {more}"
        short = f"; more vertices are not feasible for kguard, of the {most} wanted" if reach < most else ""
        if not lacks:
            why = f"none of {total:,} subgraphs lacks images, so that next to nothing is added"
            return best.options, f"{why}{short}"
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
        """Reason why KGUARD cannot protect x-subgraphs; empty if it can."""
        if x > LARGEST:
            return f"kguard handles x up to {LARGEST}"
        if self.k - 1 > MOST:
            return f"kguard handles k up to {MOST + 1}"
        if self.k > math.comb(self.graph.n, x):
            return f"the graph has fewer than {self.k} sets of {x} vertices"
        return "more than a billion subgraphs" if self.surveyed[x].total is None else ""

    def _klone(self, x: int, rng: np.random.Generator) -> Method:
        name, options = "klone", "--method klone"
        if self.k * self.graph.n > MAX_VERTICES:
            return Method(name, options, remark=f"more than {MAX_VERTICES:,} vertices", feasible=False)
        cost = of_klone(self.graph, self.k, self.surveyed[x].total or MAX_SUBGRAPHS, rng)
        return Method(name, options, cost=cost, remark="protects every x")

    def _published(self, x: int) -> Method:
        surveyed, options = self.surveyed[x], f"-x {x} --mode published"
        name = f"kguard {options}"
        if surveyed.total is None or surveyed.total > MAX_STORED:
            remark = f"stores all subgraphs, of which there are more than {MAX_STORED:,}"
            return Method(name, options, surveyed.total, remark=remark, feasible=False)
        cost = of_published(self.k, surveyed) if surveyed.exact else None
        return Method(name, options, surveyed.total, cost=cost, remark="may leave some unprotected")

    def _split(self, x: int) -> Method:
        made = partial(Method, f"kguard --split {PART}", f"-x {x} --split {PART}")
        if round(self.graph.n / PART) < 2:
            return made(remark=f"too small for parts of {PART:,} vertices", feasible=False)
        if self.graph.n > DIVIDED:
            return made(remark="not tried; loses the edges between parts")
        try:
            parts = partition(self.graph, PART, x)
        except AnonymizationError as error:
            return made(remark=str(error).splitlines()[0], feasible=False)
        lost = self.graph.m - inside(self.graph, parts).m
        share = lost / max(1, self.graph.m)
        return made(remark=f"{parts.max() + 1:,} parts; loses {lost:,} edges between them ({share:.0%})")


@dataclass(frozen=True, eq=False)
class Risk(Displayed):
    """Re-identification risk of a graph before anonymization, and costs of anonymization.

    Attributes
    ----------
    graph
        Measured graph.
    k
        Vertices with fewer candidates are at risk.
    exposures
        Exposure of the vertices for each knowledge of an attacker.
    left_out
        Knowledge that was not examined, with the reason.
    advice
        Methods with their costs, and the recommended one.
    population
        Number of vertices of the population, if given.
    seconds
        Duration of each stage by name.
    """

    graph: KnowledgeGraph
    k: int
    exposures: tuple[Exposure, ...]
    left_out: Mapping[str, str]
    advice: Advice
    population: int | None
    seconds: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<Risk of {self.graph.n:,} vertices; kgreason anonymize {self.advice.options}>"

    def __getitem__(self, knowledge: str) -> Exposure:
        """Return the exposure for a knowledge of the attacker."""
        return next(e for e in self.exposures if e.knowledge == knowledge)

    def exposed(self, count: int) -> list[tuple[str, tuple[str, ...]]]:
        """Most exposed vertices by label, with the knowledge under which each is unique; secret.

        Vertices are ordered by the sum of their prosecutor's risks over all kinds of knowledge.
        """
        risks = np.zeros(self.graph.n)
        for e in self.exposures:
            risks += np.where(e.candidates > 0, 1 / np.maximum(e.candidates, 1), 0)
        first = np.argsort(-risks, kind="stable")[:count].tolist()
        return [
            (str(self.graph.labels[v]), tuple(e.knowledge for e in self.exposures if e.candidates[v] == 1))
            for v in first
        ]

    def as_dict(self, exposed: int = 0) -> dict[str, Any]:
        """Return a JSON-serializable dict that names `exposed` vertices; `format` is the version of the layout."""
        named = [{"vertex": v, "unique_under": list(what)} for v, what in self.exposed(exposed)]
        return {
            "format": 1,
            "graph": {"vertices": self.graph.n, "edges": self.graph.m},
            "k": self.k,
            "population": self.population,
            "exposure": [e.as_dict() for e in self.exposures],
            "left_out": dict(self.left_out),
            "methods": [method.as_dict() for method in self.advice.methods],
            "further": [method.as_dict() for method in self.advice.further],
            "recommendation": {"options": self.advice.options, "reason": self.advice.reason},
            **({"exposed": named} if exposed else {}),
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }


def measure(
    graph: KnowledgeGraph,
    population: KnowledgeGraph | None,
    rules: CheckedProgram,
    k: int,
    asked: Sequence[int] | None,
    most: int,
    rng: np.random.Generator,
    clock: Clock,
    progress: Progress,
) -> Risk:
    """Measure the risk of a graph, and compare all methods.

    `asked` are the sizes of the x-subgraphs that an attacker may know; `None`: the default sizes. Above `most`
    x-subgraphs, only a random part of them is examined.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or a size is out of range.
    """
    for x in asked or (1,):
        check_parameters(graph, k if asked else 1, x)
        small_components(graph, x)  # refuses sizes that are too large
    sizes = tuple(asked or (x for x in EXAMINED if x <= graph.n)) or (1,)
    target = max(sizes) if asked else min(*attacked_sizes(Settings.x), max(sizes))
    commute = not hidden_vertices(rules)
    advised = sizes if commute else tuple(sorted({*sizes, *range(2, target)}))
    progress.step("Comparing vertices")
    traits = dict(of_vertices(graph, population, k))
    clock.lap("vertices")
    surveyed = surveys(graph, rules, advised, most, rng, progress)
    whole, among = graph, surveyed
    if population is not None:
        whole = beside(graph, population)
        among = surveys(whole, rules, sizes, most, rng, progress)
    parts = [e for x in sizes for e in of_subgraphs(whole, among, x, graph.n, k, rules.derived)]
    clock.lap("parts")
    found = {x: lacking(surveyed, x, k, progress) for x in advised if surveyed[x].exact}
    clock.lap("images")
    advice = _Advisor(graph, k, surveyed, found, commute).advise(advised, target, rng)
    clock.lap("advice")
    return Risk(
        graph,
        k,
        (*(e for e in traits.values() if e), *parts),
        {name: "its neighbourhoods have too many edges" for name, e in traits.items() if not e},
        advice,
        None if population is None else population.n,
        clock.laps,
    )
