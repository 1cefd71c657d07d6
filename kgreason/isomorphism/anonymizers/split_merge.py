"""Split & merge: parts of a graph are anonymized in parallel, and merged without the edges between them.

The edges between parts are lost (item 1 of Definition 4.1), and the guarantee refers to the graph without them.

References
----------
KGISO, split & merge; docs/anonymization.md, Split & merge.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.queues import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores
from kgreason.base.errors import AnonymizationError
from kgreason.base.interrupts import deferred
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, Weights, grouped, inside, pieces
from kgreason.isomorphism.anonymizers.assembly import Pairs, assemble, check_vertices, is_symmetric
from kgreason.isomorphism.anonymizers.partition import without_stubs
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Anonymizer, Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

_ROOM = 0.99  # share of a bound: vertices with a higher incoming sum get no joining edge if others can

Mask = npt.NDArray[np.bool_]
T = TypeVar("T")
R = TypeVar("R")


@record(eq=False)
class SplitMerge:
    """Anonymizer of graphs that are too large or too dense as a whole; `parts` numbers the part of each vertex.

    New weights are distributed as the `weights`, if there are any.
    """

    inner: Anonymizer
    parts: Vertices
    weights: Weights | None = None

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Augment the parts, each with its own random generator, and join them without the edges between parts."""
        within = inside(graph, self.parts)
        divided = pieces(within, self.parts)
        alone = [piece.graph for piece in divided]
        found = augmented(self.inner, alone, rules, rng, progress)
        check_vertices(sum(a.made.n for a in found))
        progress.step("Joining the parts")
        joined_parts = without_stubs(within, divided, alone, [a.graph for a in found])
        merged, part = joined_parts.graph, joined_parts.part
        noising = WeightNoising.fit(graph, rules, 1, self.weights)
        merged = with_one_constant(merged, noising)
        symmetric = is_symmetric(graph) and is_symmetric(merged)  # parts without edges get one-way ones
        ends = joining_edges(
            merged,
            part,
            _between(graph, self.parts, merged.n),
            _full(merged, rules),
            rng,
            symmetric=symmetric,
        )
        joined, fixed = assemble(merged, merged.n, {}, ends, rng, symmetric=symmetric)
        cut = graph.m - within.m
        figures = total(found) | {
            "parts": len(divided),
            "cut_edges": cut,
            "joints": len(ends[0]),
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": joined.n - graph.n,
            "edges_added": joined.m - (graph.m - cut),
        }
        weighed = noising.synthetic(joined, fixed, rng, progress)
        guarantee = replace(Guarantee.of_all([part.guarantee for part in found]), cut=cut)
        return Augmented(
            weighed, guarantee, figures, graph.n, self.parts, _copies(found, joined_parts.numbers, graph.n)
        )


def joining_edges(
    graph: KnowledgeGraph,
    part: Vertices,
    forbidden: Vertices,
    full: Mask,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> Pairs:
    """Choose random edges that connect the weakly connected parts in a tree and keep the degree diversity of images.

    A degree is raised by one only if no vertex of the part has the new degree: vertices of a part that differed in
    degree still differ. Edges that must not be chosen are `forbidden`, as ``source * n + target``, ascending. A `full`
    vertex gets a further incoming edge only if no others can. In a `symmetric` graph the reverse of each edge will be
    added, too.

    Raises
    ------
    AnonymizationError
        If there are no such edges.
    """
    degrees = graph.out_degree(), graph.in_degree()
    members = grouped(part, int(part.max(initial=-1)) + 1)
    order = rng.permutation(len(members)).tolist()
    phis = ((0, 1), (1, 0)) if symmetric else ((0,), (1,))
    edges = []
    for i in range(1, len(order)):
        ends = order[i], order[int(rng.integers(i))]
        forth = rng.random() < 0.5
        for own, other in (ends, ends[::-1]) if forth else (ends[::-1], ends):
            sources, targets = (
                rng.permutation(_free(members[p], [degrees[phi] for phi in directions]))
                for p, directions in zip((own, other), phis, strict=True)
            )
            targets = targets[np.argsort(full[targets], kind="stable")]
            edge = _first_allowed(sources, targets, forbidden, graph.n)
            if edge is not None:
                break
        else:
            raise AnonymizationError(
                "no edge was found that joins two parts and leaves their images different in degree",
                hint="choose larger parts, or leave --split out",
            )
        edges.append(edge)
        for v, directions in zip(edge, phis, strict=True):
            for phi in directions:
                degrees[phi][v] += 1
    chosen = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return chosen[:, 0].copy(), chosen[:, 1].copy()


def _free(members: Vertices, degrees: Sequence[Vertices]) -> Vertices:
    """Members whose degrees after one more edge differ from those of all other members."""
    free = np.ones(len(members), dtype=np.bool_)
    for degree in degrees:
        mine = degree[members]
        present = np.bincount(mine, minlength=int(mine.max()) + 2) > 0
        free &= ~present[mine + 1]
    return members[free]


def _first_allowed(
    sources: Vertices, targets: Vertices, forbidden: Vertices, n: int
) -> tuple[int, int] | None:
    for source in sources.tolist():
        allowed = targets[~np.isin(source * n + targets, forbidden, assume_unique=True)]
        if len(allowed):
            return source, int(allowed[0])
    return None


def total(found: Sequence[Augmented]) -> dict[str, float]:
    """Add up the figures of all parts."""
    total: Counter[str] = Counter()
    for augmented in found:
        total.update(augmented.figures)
    return dict(total)


def with_one_constant(graph: KnowledgeGraph, noising: WeightNoising) -> KnowledgeGraph:
    """Unify the constant weights of relations, which each part has drawn separately: take that of the first."""
    weights = {}
    for name, density in noising.densities.items():
        weight = graph.relations[name].weight
        if len(density.constants) and name not in noising.program.incoming_sums and weight is not None:
            weights[name] = np.full(len(weight), weight[0] if len(weight) else 0.0)
    return graph.with_weights(weights)


def augmented(
    inner: Anonymizer,
    graphs: Sequence[KnowledgeGraph],
    rules: CheckedProgram,
    rng: np.random.Generator,
    progress: Progress,
) -> list[Augmented]:
    """Augment parts in parallel, each with its own random generator."""
    progress.step("Anonymizing parts", len(graphs), "parts")

    def work(task: tuple[KnowledgeGraph, np.random.Generator]) -> Augmented:
        return inner.augment(task[0], rules, task[1], SILENT)

    return in_processes(work, list(zip(graphs, rng.spawn(len(graphs)), strict=True)), progress.advance)


def _copies(found: Sequence[Augmented], numbers: Sequence[Vertices], n: int) -> Vertices | None:
    """Copies of all vertices if every part was copied as a whole, else `None`."""
    copied = [a.copies for a in found if a.copies is not None]
    if len(copied) < len(found):
        return None
    copies = np.empty((len(copied[0]), n), dtype=np.int64)
    for part, vertices in zip(copied, numbers, strict=True):
        copies[:, vertices[: part.shape[1]]] = vertices[part]
    return copies


def _between(graph: KnowledgeGraph, parts: Vertices, n: int) -> Vertices:
    """Edges between parts in both directions, as ``source * n + target``, ascending."""
    source, target = graph.ends
    cut = parts[source] != parts[target]
    source, target = source[cut], target[cut]
    return np.unique(np.concatenate([source * n + target, target * n + source]))


def _full(graph: KnowledgeGraph, rules: CheckedProgram) -> Mask:
    """Vertices whose incoming weights leave little room under a bound."""
    full = np.zeros(graph.n, dtype=np.bool_)
    for name, bound in rules.incoming_sums.items():
        r = graph.relations.get(name)
        if r is not None and r.weight is not None:
            full |= np.bincount(r.target, weights=r.weight, minlength=graph.n) > _ROOM * bound
    return full


def in_processes(work: Callable[[T], R], items: Sequence[T], done: Callable[[], None]) -> list[R]:
    """Process items in parallel, in one process per core, and return the results in the order of the items.

    Where processes are forked (Linux) `work` may be any stateless function, elsewhere it must be picklable; results
    must be picklable. `done` is called after each item. Exceptions of `work` are raised here; these, as well as an
    interruption by the user, end all processes.

    Raises
    ------
    MemoryError
        If the system ends a process.
    """
    workers = min(cores(), len(items))
    if workers < 2:
        results = []
        for item in items:
            results.append(work(item))
            done()
        return results
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    own_cores: SimpleQueue[int] = context.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(workers):
        own_cores.put(core)
    before = set(multiprocessing.active_children())
    with ExitStack() as last, ExitStack() as otherwise:
        pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(work, own_cores))
        last.callback(pool.shutdown, cancel_futures=True)
        otherwise.callback(_end, before)
        with deferred(), warnings.catch_warnings():
            # other threads are only the progress bar's and idle ones, which are harmless
            warnings.simplefilter("ignore", DeprecationWarning)
            running = [pool.submit(_one, item) for item in items]
        try:
            for future in as_completed(running):
                future.result()
                done()
        except BrokenProcessPool as error:
            raise MemoryError("the system ended one of the processes") from error
        otherwise.pop_all()
    return [future.result() for future in running]


_work: Callable[[Any], Any]  # of a worker process


def _begin(work: Callable[[Any], Any], own_cores: SimpleQueue[int]) -> None:
    """Initialize a worker process: it uses one core, and ignores interruptions, which the parent handles."""
    global _work
    _work = work
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    core = own_cores.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _one(item: Any) -> Any:
    return _work(item)


def _end(before: set[multiprocessing.process.BaseProcess]) -> None:
    for process in set(multiprocessing.active_children()) - before:
        process.terminate()
