"""Candidate counts: the number of vertices that fit an attacker's knowledge of a vertex.

They are compared before and after anonymization for the reports. The figures are defined in docs/risk.md.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis, "Resisting structural re-identification in anonymized social
networks", PVLDB 1(1), 2008: vertex refinement queries, candidate sets.
K. El Emam, F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008 (prosecutor, journalist).
F. K. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, beside, inside
from kgreason.graph.refinement import Sides, degrees, effort, neighbourhoods, refine
from kgreason.isomorphism.attacks.attack_settings import PARTS, Part, World, induced
from kgreason.isomorphism.attacks.known_parts import Means, Parts, candidates, draw_parts
from kgreason.isomorphism.risk.occurrences import Incidence, Survey, survey
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.report.candidate_tables import Candidates, CandidateSets, by_classes

NEIGHBOURHOODS = 1 << 26  # edges of all neighbourhoods; above, neighbourhoods are not examined

# limits of the comparison before and after anonymization, whose time is to be small against that of the anonymization
TARGETS = 200  # target subgraphs of each size
OCCURRENCES = 50_000  # examined in either graph
MOST_EDGES = 50_000  # of both graphs; above, x-subgraphs are not examined
LARGEST_COMPARED = 5  # vertices of an x-subgraph
COMPARED_NEIGHBOURHOODS = 1 << 20  # edges of all neighbourhoods; above, neighbourhoods are not examined
NEAR = 1_000_000  # edges of both graphs; above, only degrees are examined (a second of processor time up to there)
REFINED = 200_000  # edges of both graphs; above, refinement is not examined
TOO_LARGE = "not examined: the graphs are too large for a report; `kgreason attack` examines them"
GROUND = next(part for part in PARTS if part.name == "part:edges")
RULES = next(part for part in PARTS if part.name == "part:weights+rules")


def knowledge(
    graph: KnowledgeGraph, most: int | None = None, *, near: bool = True, refined: bool = True
) -> Iterator[tuple[str, Ints | None]]:
    """Partitions of the vertices into indistinguishable ones, from little knowledge to much.

    In- and out-degrees count edges of all relations. All knowledge beyond degrees distinguishes relations.

    Parameters
    ----------
    most
        Number of edges of all neighbourhoods above which they are not examined; `None`: `NEIGHBOURHOODS`.
    near, refined
        Whether degrees of neighbours, and refinement and neighbourhoods, are examined, which takes seconds for a
        million edges.

    Yields
    ------
    tuple
        Name of the knowledge, and the class of each vertex, int64, shape (n,); `None` if it is not examined.

    Examples
    --------
    Degrees distinguish the two ends and the middle of a chain; refinement distinguishes all vertices:

    >>> chain = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    >>> found = {what: len(np.unique(classes)) for what, classes in knowledge(chain)}
    >>> found["in- and out-degree"], found["neighbours' degrees"], found["refinement"]
    (3, 5, 5)
    """
    both = degrees(graph)
    yield "nothing", np.zeros(graph.n, dtype=np.int64)
    yield "in-degree", graph.in_degree()
    yield "out-degree", graph.out_degree()
    yield "in- and out-degree", both
    if near:
        sides = Sides.of(graph)
        first = refine(sides, both, 1)
        second = refine(sides, first, 1)
    yield "neighbours' degrees", first if near else None
    yield "degrees within two hops", second if near else None
    yield "refinement", refine(sides, second, graph.n) if near and refined else None
    small = refined and effort(graph) <= (NEIGHBOURHOODS if most is None else most)
    yield "neighbourhood", neighbourhoods(graph) if small else None


@record(eq=False)
class Exposure:
    """Exposure of vertices to an attacker with some knowledge.

    Attributes
    ----------
    knowledge
        Knowledge about the target.
    candidates
        Number of vertices of the graph that fit the knowledge of each vertex as the target, int64, shape (n,); 0: not
        examined. Of all x-subgraphs around a target, the one with the fewest candidates counts.
    population
        Number of vertices of the population that fit; at least `candidates`.
    k
        Vertices with fewer candidates are at risk.
    looked
        Number of examined x-subgraphs if they are a sample, so that the figures are estimates.

    Examples
    --------
    Three vertices are indistinguishable, one is unique:

    >>> fits = np.array([3, 3, 3, 1])
    >>> found = Exposure("in-degree", fits, fits, k=3)
    >>> found.unique, found.highest, found.average, found.at_risk
    (1, 1.0, 0.5, 0.25)

    In the population five further vertices fit the first three, and one further vertex fits the other:

    >>> found = Exposure("in-degree", fits, np.array([8, 8, 8, 2]), k=3)
    >>> found.journalist_highest, found.journalist_at_risk, found.marketer
    (0.5, 0.25, 0.21875)
    """

    knowledge: str
    candidates: Ints
    population: Ints
    k: int
    looked: int | None = None

    @property
    def _of(self) -> Ints:
        return self.candidates[self.candidates > 0]

    @property
    def _among(self) -> Ints:
        return self.population[self.candidates > 0]

    @property
    def vertices(self) -> int:
        """Number of examined vertices."""
        return len(self._of)

    @property
    def unique(self) -> int:
        """Number of vertices that are their only candidate."""
        return int((self._of == 1).sum())

    @property
    def highest(self) -> float:
        """Prosecutor's risk of the most exposed vertex: 1 / candidates."""
        return 1 / float(self._of.min(initial=self.candidates.size)) if self.vertices else 0.0

    @property
    def average(self) -> float:
        """Mean prosecutor's risk; number of classes / n if the knowledge partitions the vertices."""
        return _mean(1 / self._of)

    @property
    def at_risk(self) -> float:
        """Share of the vertices with a prosecutor's risk above 1/k."""
        return _mean(self._of < self.k)

    @property
    def journalist_highest(self) -> float:
        """Journalist's risk of the most exposed vertex: 1 / candidates in the population."""
        return 1 / float(self._among.min(initial=2**62)) if self.vertices else 0.0

    @property
    def journalist_at_risk(self) -> float:
        """Share of the vertices with a journalist's risk above 1/k."""
        return _mean(self._among < self.k)

    @property
    def marketer(self) -> float:
        """Marketer's risk: expected share of correct matches if every vertex is matched to a random candidate."""
        return _mean(1 / self._among)

    def sizes(self) -> Mapping[int, int]:
        """Number of vertices by number of candidates."""
        sizes, counts = np.unique(self._of, return_counts=True)
        return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict without vertex labels."""
        return {
            "knowledge": self.knowledge,
            "estimate": self.looked is not None,
            **({} if self.looked is None else {"subgraphs_looked_at": self.looked}),
            "vertices": self.vertices,
            "unique": self.unique,
            "unique_share": _mean(self._of == 1),
            "prosecutor": {"highest": self.highest, "average": self.average, "above_1_in_k": self.at_risk},
            "journalist": {"highest": self.journalist_highest, "above_1_in_k": self.journalist_at_risk},
            "marketer": self.marketer,
            "candidates": [{"candidates": c, "vertices": v} for c, v in self.sizes().items()],
        }


def of_vertices(
    graph: KnowledgeGraph, population: KnowledgeGraph | None, k: int
) -> Iterator[tuple[str, Exposure | None]]:
    """Exposure to attackers who know properties of a vertex; `None` if the computation would take too long."""
    n = graph.n
    for name, classes in knowledge(graph if population is None else beside(graph, population)):
        if classes is None:
            yield name, None
            continue
        inside = np.bincount(classes[:n], minlength=int(classes.max(initial=0)) + 1)
        outside = np.bincount(classes[n:], minlength=len(inside))
        own = classes[:n]
        yield name, Exposure(name, inside[own], np.maximum(inside, outside)[own], k)


def surveys(
    graph: KnowledgeGraph,
    rules: CheckedProgram,
    sizes: Sequence[int],
    most: int,
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> dict[int, Survey]:
    """Survey the connected sets of some sizes, and of the sizes of smaller components.

    Raises
    ------
    AnonymizationError
        If they have too many classes.
    """
    index, found = ReleaseIndex(graph, rules), graph.components()[1]
    whole = np.bincount(found)
    needed = {*sizes, *np.unique(whole[whole < max(sizes)]).tolist()}
    return {size: survey(index, size, most, rng, progress) for size in sorted(needed)}


def of_subgraphs(
    graph: KnowledgeGraph, surveyed: Mapping[int, Survey], x: int, n: int, k: int, derived: Sequence[str]
) -> Iterator[Exposure]:
    """Exposure to an attacker who knows an x-subgraph around the target, or its whole smaller component.

    The graph has the vertices 0 .. n-1, those after them belong to the population. `surveyed` are the surveys of size x
    and of the sizes of smaller components.
    """
    component = graph.components()[1]
    size = np.minimum(np.bincount(component)[component], x)[:n]
    examined = None if all(surveyed[s].exact for s in np.unique(size)) else surveyed[x].examined
    what = f"part of {x} {'vertex' if x == 1 else 'vertices'}"
    for full, name in ((False, f"{what}, ground edges"), (True, f"{what}, with {', '.join(derived)}")):
        if full and not derived:
            continue
        candidates, population = (np.zeros(n, dtype=np.int64) for _ in range(2))
        for s in np.unique(size).tolist():
            mine = size == s
            incidence = surveyed[s].full if full else surveyed[s].ground
            for target, found in zip((candidates, population), _fewest(incidence, n), strict=True):
                target[mine] = np.maximum(found[mine], 0)
        yield Exposure(name, candidates, population, k, examined)


def _fewest(incidence: Incidence, n: int) -> tuple[Ints, Ints]:
    """Smallest number of candidates of each vertex, in the graph and in the population."""
    inside = incidence.counts(0, n)
    # positions without vertices of the graph do not matter
    inside = np.where(inside > 0, inside, incidence.n)
    if incidence.n == n:
        found = incidence.fewest(inside)
        return found, found
    outside = np.maximum(inside, incidence.counts(n))
    return incidence.fewest(inside)[:n], incidence.fewest(outside)[:n]


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0


def compared_vertices(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices
) -> Iterator[Candidates]:
    """Candidates of attackers who know degrees or neighbourhoods of a vertex, before and after anonymization."""
    both, n = beside(original, released), original.n
    allowed = {"near": both.m <= NEAR, "refined": both.m <= REFINED}
    for name, classes in knowledge(both, COMPARED_NEIGHBOURHOODS, **allowed):
        if classes is None:
            yield Candidates(name, remark=TOO_LARGE)
        else:
            yield by_classes(name, classes[:n], classes[n:], mapping)


def compared_subgraphs(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    sizes: Sequence[int],
    parts: Vertices | None = None,
    rng: np.random.Generator | None = None,
) -> Iterator[Candidates]:
    """Candidates of attackers who know an x-subgraph, without and with the rules, before and after anonymization.

    Subgraphs have the `sizes` and are samples drawn by `rng`; `None`: they are not examined. Attackers know the
    released weights. The other parameters are those of `kgreason.verify`.
    """
    whole = original if parts is None else inside(original, parts)
    before = World(original, original, np.arange(original.n), whole)
    after = World(induced(released, mapping), released, mapping, whole)
    means = Means({"rules": rules}, OCCURRENCES)
    for size in sizes:
        kinds = [(GROUND, "ground edges")]
        if rules.derived:
            kinds.append((RULES, f"with {', '.join(rules.derived)}"))
        names = [
            (part, f"part of {size} {'vertex' if size == 1 else 'vertices'}, {what}") for part, what in kinds
        ]
        if size > LARGEST_COMPARED or rng is None or original.m + released.m > MOST_EDGES:
            yield from (Candidates(name, remark=TOO_LARGE) for _, name in names)
            continue
        drawn = draw_parts(whole, size, TARGETS, rng)
        if len(drawn.members):
            for part, name in names:
                yield _of_part(name, part, before, after, means, drawn)


def _of_part(
    name: str, part: Part, original: World, released: World, means: Means, drawn: Parts
) -> Candidates:
    first, second = (candidates(world, part, means, drawn.members) for world in (original, released))
    more = [] if drawn.all else [f"a sample of at most {TARGETS} parts"]
    cut = [graph for found, graph in ((first, "original"), (second, "release")) if not found.complete]
    if cut:
        where = " and of the ".join(cut)
        more.append(f"candidates are at least so many, for not all places of the {where} were looked at")
    before, after = (
        CandidateSets(found.sizes, found.right, sampled=not drawn.all) for found in (first, second)
    )
    return Candidates(name, before, after, "; ".join(more))
