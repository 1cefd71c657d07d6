"""What a graph gives away and what to do about it, as an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.advice.methods import USUAL, Advice, Advisor
from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.generic import hidden_vertices
from kgreason.assess.lacking import lacking
from kgreason.assess.population import small_components
from kgreason.assess.risk import Exposure, of_subgraphs, of_vertices, surveys
from kgreason.assess.verify import check_parameters
from kgreason.displayed import Displayed
from kgreason.graph.model import KnowledgeGraph
from kgreason.graph.parts import beside
from kgreason.progress import Progress
from kgreason.release.pipeline import Clock

EXAMINED = range(2, 7)  # vertices of the parts that are looked at if nothing is said


@dataclass(frozen=True, eq=False)
class Risk(Displayed):
    """What a graph gives away before it is anonymized, and what anonymization would cost.

    Attributes
    ----------
    graph
        The graph.
    k
        Vertices with fewer candidates are at risk.
    exposures
        How exposed vertices are, for each knowledge of an attacker.
    left_out
        Knowledge that was not looked at, with the reason.
    advice
        Methods and their costs, and the one to take.
    population
        Number of vertices of the population, if one was given.
    seconds
        Time of each stage by name.
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
        """Look an exposure up by what the attacker knows."""
        return next(e for e in self.exposures if e.knowledge == knowledge)

    def exposed(self, count: int) -> list[tuple[str, tuple[str, ...]]]:
        """The most exposed vertices by label, and under which knowledge each is unique: secret.

        They are ordered by the sum of their prosecutor's risks under all knowledge.
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
        """Ready for JSON; `format` is the version of this layout. Only as many vertices as `exposed` are named."""
        named = (
            [{"vertex": v, "unique_under": list(what)} for v, what in self.exposed(exposed)]
            if exposed
            else None
        )
        return {
            "format": 1,
            "graph": {"vertices": self.graph.n, "edges": self.graph.m},
            "k": self.k,
            "population": self.population,
            "exposure": [e.as_dict() for e in self.exposures],
            "left_out": dict(self.left_out),
            **self.advice.as_dict(),
            **({} if named is None else {"exposed": named}),
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
    """Measure what a graph gives away, and look at all methods.

    Parameters
    ----------
    asked
        Numbers of vertices an attacker may know; `None`: what is usual.
    most
        Of more connected subgraphs a random part of the graph is looked at.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or a size is out of range.
    """
    for x in asked or (1,):
        check_parameters(graph, k if asked else 1, x)
        small_components(graph, x)  # refuses parts that are too large
    sizes = tuple(asked or (x for x in EXAMINED if x <= graph.n)) or (1,)
    target = max(sizes) if asked else min(USUAL, max(sizes))
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
    found = {x: lacking(surveyed[x], k, progress) for x in advised if surveyed[x].exact}
    clock.lap("images")
    advice = Advisor(graph, k, surveyed, found, commute).advise(advised, target, rng)
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
