"""Lower bounds on what KGUARD must add, beside what it adds: ``python benchmarks/bounds.py ../shared/data [name ...]``.

The bounds hold for all (k,x)-isomorphism anonymizations A of G (Definition 4.1) that are *faithful*:

1. nothing is deleted, and no synthetic edge joins two vertices of an attacked subgraph;
2. from a set of vertices without synthetic edges, the rules derive the same in A as in G.

KGUARD makes such releases, except for weights into vertices whose incoming sums exceed their bound. The cost of a
release is its number of synthetic edges and vertices, which KGUARD compares among its attempts.

Proof
-----
Let X1 be an attacked subgraph of class c, with y <= x vertices, and Y one of its images. Two vertices that are
connected within G[Y] are less than x apart in G, and so in a common attacked subgraph: no synthetic edge joins them.
Hence Y is of one of two kinds.

- *Natural*: G[Y] is connected. Then A[Y] has the edges of G[Y], and Y is a member of c in G.
- *New*: the components of G[Y] (a new vertex is one) are two or more blocks, each connected in the pattern of c. The
  edges of the pattern inside blocks are original, those between blocks synthetic. So a vertex of Y has at least as
  many synthetic edges as the pattern has at its position from and into other blocks, and at least as many original
  edges as the pattern has at its position inside its block.

The images of X1 are disjoint: edges between blocks of different new images of X1 are different edges, and natural
images are a packing of the members of c. New images of two vertices consist of one pair of vertices each: those of
different classes of pairs have different edges, too.

Every synthetic edge raises one in-degree and one out-degree by one: the sum of all raised in-degrees is the number
of synthetic edges, and so is the sum of all raised out-degrees. The k vertices at one position of X1 and its images
differ pairwise in both degrees of A. A is connected: components of G and new vertices need as many edges as a tree.

The linear programme has as variables how many vertices of each kind have which raised degrees, how many images of some
X1 (*witnesses*) are natural or new, by blocks, and how many vertices of each pair of degrees they use at each position.
Its rows are the statements above. The programme relaxes them: numbers may be fractions, vertices of an image need not
be adjacent, and degrees raised by `_RAISED` or more differ from all others.
Every faithful release gives a solution of the same cost, so the least cost is a bound; as costs are integers, it is
rounded up. Any choice of witnesses gives a bound.

False facts: a derived edge of the pattern between two blocks of a new image is a fact of Σ(A) if adding edges only adds
facts. It is true only if Σ(G) has it between two vertices that G does not join. Facts of disjoint images differ.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from statistics import median

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array

import kgreason
from kgreason.graph.facts import derived_edges
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, pieces
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs, connected_subgraphs
from kgreason.graph.subgraphs.patterns import classify
from kgreason.isomorphism.arguments import anonymizable
from kgreason.isomorphism.definition import Release
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import only_gains

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Degrees = tuple[int | None, int | None]  # in and out; None: raised so far that it differs from all others
Terms = list[tuple[float, int]]  # coefficients and variables

_RAISED = 5  # number of synthetic edges from which on a degree counts as different from all others
_WITNESSES = 4  # attacked subgraphs of a class whose images are required
_COMPARED = 500  # attacked subgraphs of a class among which witnesses are chosen
_PACKED = 2_000  # members of a class up to which natural images are a packing

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Pattern:
    """Class of subgraphs of one size.

    Attributes
    ----------
    members
        All in G, with positions as columns, shape (N, y).
    attacked
        Which of them are attacked, shape (N,).
    edges, derived
        Number of edges between positions, shape (y, y), and derived edges, shape (predicates, y, y).
    turns
        Automorphisms, shape (A, y).
    """

    members: Ints
    attacked: Flags
    edges: Ints
    derived: Flags
    turns: Ints

    @property
    def y(self) -> int:
        """Number of vertices."""
        return len(self.edges)

    def apart(self, member: Ints) -> Ints:
        """Members that share no vertex with one of them."""
        return self.members[~np.isin(self.members, member).any(axis=1)]


def patterns(graph: KnowledgeGraph, rules: CheckedProgram, x: int) -> Iterator[Pattern]:
    """Classes with attacked subgraphs, which are smaller than x in small components."""
    reasoner = InducedReasoner(graph, rules)
    for attacked in attacked_subgraphs(graph, x):
        y = attacked.shape[1]
        if not len(attacked):
            continue
        found = classify(graph, rules, connected_subgraphs(graph, y))
        sets = set(map(tuple, np.sort(attacked, axis=1).tolist()))
        known = np.array([row in sets for row in map(tuple, np.sort(found.members, axis=1).tolist())])
        for c in np.unique(found.ids[known]).tolist():
            mine = found.ids == c
            members = found.members[mine]
            between = [_between(r.source, r.target, members[0]) for r in graph.relations.values()]
            (derived,) = reasoner.derived(members[:1])
            cells = np.stack([*between, *derived.astype(np.int64)])
            turns = [p for p in permutations(range(y)) if (cells[:, p][:, :, p] == cells).all()]
            edges = np.sum(between, axis=0)
            yield Pattern(members, known[mine], edges, derived.astype(np.bool_), np.array(turns))


def _between(source: Ints, target: Ints, member: Ints) -> Ints:
    """Number of edges of a relation between the vertices of a set."""
    found = np.zeros((len(member), len(member)), dtype=np.int64)
    inside = np.isin(source, member) & np.isin(target, member)
    order = np.argsort(member)
    ends = (order[np.searchsorted(member[order], some[inside])] for some in (source, target))
    np.add.at(found, tuple(ends), 1)
    return found


def blocks(edges: Ints) -> Iterator[Ints]:
    """Partitions of the positions of a pattern into two or more connected blocks: the block of each position.

    >>> path = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> [found.tolist() for found in blocks(path)]
    [[0, 0, 1], [0, 1, 1], [0, 1, 2]]
    """
    near, starts = (edges + edges.T) > 0, [(0,)]
    while starts:
        start = starts.pop()
        if len(start) < len(edges):
            starts += [(*start, b) for b in range(max(start) + 1, -1, -1)]
        elif max(start) and all(_connected(near, np.equal(start, b)) for b in range(max(start) + 1)):
            yield np.array(start)


def _connected(near: Flags, inside: Flags) -> bool:
    reached = np.arange(len(inside)) == inside.argmax()
    while (more := inside & ~reached & near[reached].any(axis=0)).any():
        reached |= more
    return bool((reached == inside).all())


@dataclass
class Programme:
    """Linear programme under construction: variables from 0 to a limit, rows that are at most 0 or another number."""

    limits: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)

    def variable(self, limit: float = math.inf) -> int:
        """Add a variable."""
        self.limits.append(limit)
        return len(self.limits) - 1

    def at_most(self, most: float, *terms: tuple[float, int]) -> None:
        """Add the row sum of terms <= most."""
        self.entries += [(len(self.most), column, value) for value, column in terms]
        self.most.append(most)

    def at_least(self, least: float, *terms: tuple[float, int]) -> None:
        """Add the row sum of terms >= least."""
        self.at_most(-least, *((-value, column) for value, column in terms))

    def minimum(self, *costs: int) -> int:
        """Least sum of some variables, rounded up.

        Raises
        ------
        RuntimeError
            If the solver fails.
        """
        cost = np.bincount(costs, minlength=len(self.limits)).astype(np.float64)
        rows, columns, values = zip(*self.entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self.most), len(cost)))
        limits = [(0, limit) for limit in self.limits]
        done = linprog(cost, matrix, self.most, bounds=limits, method="highs")
        if not done.success:
            raise RuntimeError(f"the linear programme has no solution: {done.message}")
        return max(0, math.ceil(done.fun - 1e-6))


@dataclass(frozen=True)
class Bound:
    """Least number of additions (edges and vertices), and of false derived facts, of all faithful releases."""

    additions: int
    false_facts: int


def lower_bound(
    graph: KnowledgeGraph, rules: CheckedProgram, k: int, x: int, witnesses: int = _WITNESSES
) -> Bound:
    """Bound the additions of all faithful releases, by `witnesses` attacked subgraphs of each class.

    Examples
    --------
    Three edges into one vertex: none has a disjoint image.

    >>> rules = anonymizable(kgreason.load('@edge("own"). reach(X,Y) :- own(X,Y). @derived("reach").'))
    >>> star = KnowledgeGraph.from_edges([("a", "d"), ("b", "d"), ("c", "d")], relation="own")
    >>> lower_bound(star, rules, k=2, x=2).additions
    2
    """
    chosen = [(p, row) for p in patterns(graph, rules, x) for row in _witnesses(graph, p, witnesses)]
    return _Relaxation(graph, rules, k, chosen).bound()


def _witnesses(graph: KnowledgeGraph, pattern: Pattern, count: int) -> list[Ints]:
    """Disjoint attacked subgraphs of a class that have few natural images."""
    degrees = np.stack([graph.in_degree(), graph.out_degree()])
    places = np.concatenate([pattern.members[:, turn] for turn in pattern.turns])
    some = pattern.members[pattern.attacked]
    some = some[np.linspace(0, len(some) - 1, min(len(some), _COMPARED)).astype(np.int64)]
    natural = []
    for member in some:
        differ = (degrees[:, places] != degrees[:, member][:, None]).all(axis=(0, 2))
        natural.append(int((differ & ~np.isin(places, member).any(axis=1)).sum()))
    found: list[Ints] = []
    for i in np.argsort(natural, kind="stable").tolist():
        if len(found) < count and not any(np.isin(some[i], other).any() for other in found):
            found.append(some[i])
    return found


@dataclass
class _Relaxation:
    """The linear programme of some witnesses."""

    graph: KnowledgeGraph
    rules: CheckedProgram
    k: int
    witnesses: Sequence[tuple[Pattern, Ints]]

    def bound(self) -> Bound:
        if not self.witnesses:
            return Bound(max(0, self.graph.components()[0] - 1), 0)
        self.lp = lp = Programme()
        self._raise_degrees()
        self.edges = lp.variable()
        for phi in range(2):
            terms = [(float(more[phi]), v) for _, kind in self.kinds for more, v in kind.items() if more[phi]]
            lp.at_most(0, *terms, (-1, self.edges))
        lp.at_least(self.graph.components()[0] - 1, (1, self.edges), (-1, self.new))
        gains, pairs, seen = self._gains(), list[tuple[float, int]](), set[int]()
        false = [lp.variable() for _ in gains]
        for number, (pattern, member) in enumerate(self.witnesses):
            images = self._images(pattern, member)
            cuts = [(float(pattern.edges[across].sum()), many) for across, many in images]
            lp.at_most(0, *cuts, (-1, self.edges))
            if pattern.y == 2 and id(pattern) not in seen:
                seen.add(id(pattern))
                pairs += cuts
            for (predicate, true), variable in zip(gains, false, strict=True):
                facts = [(float(pattern.derived[predicate][across].sum()), many) for across, many in images]
                lp.at_most(true, *facts, (-1, variable))
            self._require(number, images)
        lp.at_most(0, *pairs, (-1, self.edges))
        return Bound(lp.minimum(self.edges, self.new), lp.minimum(*false) if false else 0)

    def _gains(self) -> list[tuple[int, int]]:
        """Predicates that edges can only add to, with their true facts between vertices that no edge joins."""
        found, n = [], self.graph.n
        source, target = self.graph.ends
        joined = np.concatenate([source * n + target, target * n + source, np.arange(n) * (n + 1)])
        for i, predicate in enumerate(self.rules.derived):
            if only_gains(restricted(self.rules, (predicate,))):
                u, v = derived_edges(self.graph, self.rules)[predicate]
                found.append((i, int((~np.isin(u * n + v, joined)).sum())))
        return found

    def _raise_degrees(self) -> None:
        """Count the vertices of each kind by the number of their synthetic edges; new vertices are the last kind."""
        n, lp = self.graph.n, self.lp
        self.usable: list[Flags] = []  # of each witness: which vertices are natural at which position, (y, n)
        for pattern, member in self.witnesses:
            rows, found = pattern.apart(member), np.zeros((pattern.y, n), dtype=np.bool_)
            for turn in pattern.turns:
                found[np.arange(pattern.y), rows[:, turn]] = True
            self.usable.append(found)
        alone = np.zeros(n, dtype=np.int64)
        members = np.unique(np.concatenate([member for _, member in self.witnesses]))
        alone[members] = 1 + np.arange(len(members))
        degrees = [self.graph.in_degree(), self.graph.out_degree()]
        same = np.stack([*degrees, alone, *(row for found in self.usable for row in found)])
        _, self.first, self.kind, count = np.unique(
            same, axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        self.kind = self.kind.reshape(-1)
        raised = [(a, b) for a in range(_RAISED + 1) for b in range(_RAISED + 1)]
        self.kinds: list[tuple[tuple[int, int], dict[tuple[int, int], int]]] = []
        for v, many in zip(self.first.tolist(), count.tolist(), strict=True):
            kind = {more: lp.variable(many) for more in raised}
            ones = [(1.0, i) for i in kind.values()]
            lp.at_most(many, *ones)
            lp.at_least(many, *ones)
            self.kinds.append(((int(degrees[0][v]), int(degrees[1][v])), kind))
        self.new = lp.variable()
        kind = {more: lp.variable() for more in raised}
        lp.at_most(0, *((1, i) for i in kind.values()), (-1, self.new))
        self.kinds.append(((0, 0), kind))

    def _images(self, pattern: Pattern, member: Ints) -> list[tuple[Flags, int]]:
        """Numbers of natural and new images of a witness by the pairs of positions in different blocks."""
        lp, many = self.lp, self.k - 1
        across = [np.zeros_like(pattern.edges, dtype=np.bool_)]  # natural: one block
        across += [block[:, None] != block for block in blocks(pattern.edges)]
        images = [(one, lp.variable(many)) for one in across]
        lp.at_least(many, *((1, i) for _, i in images))
        rows = pattern.apart(member)
        if len(rows) <= _PACKED:
            packed = [lp.variable(1) for _ in rows]
            lp.at_most(0, (1, images[0][1]), *((-1, i) for i in packed))
            for v in np.unique(rows).tolist():
                lp.at_most(1, *((1, packed[i]) for i in np.flatnonzero((rows == v).any(axis=1)).tolist()))
        return images

    def _require(self, number: int, images: list[tuple[Flags, int]]) -> None:
        """Require vertices for the images of a witness, with different degrees at each position."""
        lp, (pattern, member) = self.lp, self.witnesses[number]
        own, edges = set(self.kind[member].tolist()), pattern.edges * ~np.eye(pattern.y, dtype=np.bool_)
        # by degrees: how often vertices with these are used at all positions, and the vertices
        shared: dict[Degrees, tuple[list[int], set[int]]] = {}
        for p in range(pattern.y):
            total = int(edges[:, p].sum()), int(edges[p].sum())
            served: dict[tuple[bool, int, int], list[int]] = {}  # synthetic edges at the position: images
            for across, many in images:
                outer = edges * across
                key = bool(across.any()), int(outer[:, p].sum()), int(outer[p].sum())
                served.setdefault(key, []).append(many)
            supply: dict[tuple[tuple[bool, int, int], Degrees], list[int]] = {}
            for t, (before, kind) in enumerate(self.kinds):
                if t in own:
                    continue
                for key in served:
                    new, *outer = key
                    original = t < len(self.first)
                    fits = all(d >= all_ - o for d, all_, o in zip(before, total, outer, strict=True))
                    if original and not new:
                        fits = bool(self.usable[number][p, self.first[t]])
                    for more, variable in kind.items() if fits else ():
                        if (
                            (new or original)
                            and more[0] >= min(outer[0], _RAISED)
                            and more[1] >= min(outer[1], _RAISED)
                        ):
                            supply.setdefault((key, _after(before, more)), []).append(variable)
            used: dict[tuple[bool, int, int], Terms] = {key: [] for key in served}
            levels: dict[tuple[int, int], Terms] = {}
            for (key, after), available in supply.items():
                m = lp.variable()
                lp.at_most(0, (1, m), *((-1, v) for v in available))
                used[key].append((-1, m))
                uses, vertices = shared.setdefault(after, ([], set()))
                uses.append(m)
                vertices.update(available)
                for phi, degree in enumerate(after):
                    if degree is not None:
                        levels.setdefault((phi, degree), []).append((1, m))
            for key, many in served.items():
                lp.at_most(0, *((1, i) for i in many), *used[key])
            before, kind = self.kinds[self.kind[member[p]]]
            for more, variable in kind.items():
                for phi, degree in enumerate(_after(before, more)):
                    if degree is not None and (phi, degree) in levels:
                        levels[phi, degree].append((1, variable))
            for terms in levels.values():
                lp.at_most(1, *terms)
        for uses, vertices in shared.values():
            lp.at_most(0, *((1, m) for m in uses), *((-1, v) for v in vertices))


def _after(before: tuple[int, int], more: tuple[int, int]) -> Degrees:
    a, b = (None if m >= _RAISED else d + m for d, m in zip(before, more, strict=True))
    return a, b


def cut(graph: KnowledgeGraph, n: int) -> KnowledgeGraph:
    """The first n vertices of a breadth-first search from the last vertex, and the edges among them."""
    plain = nx.Graph(zip(*(ends.tolist() for ends in graph.ends), strict=True))
    found = [graph.n - 1, *(v for _, v in nx.bfs_edges(plain, graph.n - 1))][:n]
    return pieces(graph, np.isin(np.arange(graph.n), found).astype(np.int64))[1].graph


def false_facts(graph: KnowledgeGraph, release: Release, rules: CheckedProgram) -> int:
    """Derived facts of a release that are none of the original, of the predicates to which edges can only add."""
    count, n = 0, release.graph.n
    before, after = derived_edges(graph, rules), derived_edges(release.graph, rules)
    for predicate in rules.derived:
        if only_gains(restricted(rules, (predicate,))):
            true, found = (
                np.unique(u * n + v)
                for u, v in ([release.mapping[e] for e in before[predicate]], after[predicate])
            )
            loops = found % (n + 1) == 0  # new vertices control themselves: nothing is told
            count += len(np.setdiff1d(found[~loops], true))
    return count


OWN = "ownership/medias_francais/{}.tsv?columns=origine,cible,valeur&missing=skip"
MEDIA = ("organisation-media", "organisation-organisation", "personne-organisation", "personne-media")
CASES = {
    "medias_francais": ("ultimate_controller", tuple(OWN.format(table) for table in MEDIA), 3),
    "asx200": ("ultimate_controller", ("ownership/asx200_shares.csv.gz",), 3),
    "1138_bus": ("reachability", ("weighted/1138_bus.mtx?scale=abs",), 3),
    "infect-dublin": ("reachability", ("weighted/infect-dublin.edges",), 3),
    "karate": ("reachability", ("classic/karate.gml",), 3),
    "karate, x = 4": ("reachability", ("classic/karate.gml",), 4),
    "example": ("example", (), 3),
}
CUT, K, SEEDS = 100, 3, 3


def main() -> None:
    """Print a line for each graph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("name", nargs="*", help=", ".join(CASES))
    asked = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; k = {K}")
    print(f"additions: edges and vertices; false: derived facts; KGUARD: medians of {SEEDS} seeds\n")
    names = (
        "graph",
        "x",
        "V",
        "E",
        "bound",
        "ties",
        "exact",
        "published",
        "δ",
        "false: bound",
        "exact",
        "published",
    )
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for name in asked.name or CASES:
        file, sources, x = CASES[name]
        path = ROOT / ("examples/ownership/control.vada" if file == "example" else f"rules/{file}.vada")
        if missing := [s for s in sources if not (asked.data / s.partition("?")[0]).is_file()]:
            print(f"| {name} | left out: {missing[0]} is not there |")
            continue
        own = {"own": [str(asked.data / s) for s in sources]} if sources else None
        graph = kgreason.read_graph(kgreason.load(path), own)
        if name == "asx200":
            graph = cut(graph, CUT)
        rules = anonymizable(kgreason.load(path))
        bound = lower_bound(graph, rules, K, x)
        cells = []
        for mode in ("exact", "published"):
            runs = [kgreason.anonymize(path, graph, k=K, x=x, mode=mode, seed=s) for s in range(SEEDS)]
            sizes = [r.release.graph.n + r.release.graph.m - graph.n - graph.m for r in runs]
            false = [false_facts(graph, r.release, rules) for r in runs]
            delta = [float(r.verdict.delta.value) for r in runs if r.verdict.delta is not None]
            cells.append((int(median(sizes)), int(median(false)), f"{median(delta):.4f}"))
        (mine, my_false, _), (others, their_false, delta) = cells
        ties = graph.components()[0] - 1
        line = (name, x, graph.n, graph.m, bound.additions, ties, mine, others, delta)
        row = (*line, bound.false_facts, my_false, their_false)
        print("| " + " | ".join(f"{c:,}" if isinstance(c, int) else c for c in row) + " |", flush=True)


if __name__ == "__main__":
    main()
