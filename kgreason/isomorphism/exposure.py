"""Re-identification risk of a graph before and after anonymization, for the reports.

Limits keep the time small against that of the anonymization: large graphs are measured for fewer kinds of knowledge,
and on a sample of x-subgraphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, inside
from kgreason.isomorphism.attacks.attack_settings import PARTS, Part, World, induced, united
from kgreason.isomorphism.attacks.known_parts import Means, Parts, candidates, draw_parts
from kgreason.isomorphism.risk.candidate_counts import knowledge
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.report.candidate_tables import Seen, Sight, by_classes

TARGETS = 200  # target subgraphs of each size
PLACES = 50_000  # occurrences examined in either graph
MOST_EDGES = 50_000  # of both graphs; above, x-subgraphs are not examined
LARGEST = 5  # vertices of an x-subgraph
NEIGHBOURHOODS = 1 << 20  # edges of all neighbourhoods; above, neighbourhoods are not examined
REFINED = 200_000  # edges of both graphs; above, only degrees are examined
TOO_LARGE = "not looked at, the graphs are too large for a report; `kgreason attack` looks"
GROUND = next(part for part in PARTS if part.name == "part:edges")
RULES = next(part for part in PARTS if part.name == "part:weights+rules")


def exposures(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    sizes: Sequence[int],
    parts: Vertices | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress = SILENT,
) -> list[Seen]:
    """Candidates of vertices by degrees and neighbourhoods, and of x-subgraphs, before and after anonymization.

    Parameters
    ----------
    original, released, mapping, parts
        As for `kgreason.verify`.
    sizes
        Sizes of the x-subgraphs that attackers know.
    rng
        Generator of samples of x-subgraphs; `None`: x-subgraphs are not examined.
    """
    progress.step("Comparing risks before and after")
    found = list(_of_vertices(original, released, mapping))
    return [*found, *_of_parts(original, released, mapping, rules, sizes, parts, rng)]


def _of_vertices(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Iterator[Seen]:
    both, n = united(original, released), original.n
    for name, classes in knowledge(both, NEIGHBOURHOODS, refined=both.m <= REFINED):
        if classes is None:
            yield Seen(name, remark=TOO_LARGE)
        else:
            yield by_classes(name, classes[:n], classes[n:], mapping)


def _of_parts(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    sizes: Sequence[int],
    parts: Vertices | None,
    rng: np.random.Generator | None,
) -> Iterator[Seen]:
    """Candidates of x-subgraphs without and with knowledge of the rules; the attacker knows the released weights."""
    whole = original if parts is None else inside(original, parts)
    before = World(original, original, np.arange(original.n), whole)
    after = World(induced(released, mapping), released, mapping, whole)
    means = Means({"rules": rules}, PLACES)
    for size in sizes:
        kinds = [(GROUND, "ground edges")]
        if rules.derived:
            kinds.append((RULES, f"with {', '.join(rules.derived)}"))
        names = [
            (part, f"part of {size} {'vertex' if size == 1 else 'vertices'}, {what}") for part, what in kinds
        ]
        if size > LARGEST or rng is None or original.m + released.m > MOST_EDGES:
            yield from (Seen(name, remark=TOO_LARGE) for _, name in names)
            continue
        drawn = draw_parts(whole, size, TARGETS, rng)
        if len(drawn.members):
            for part, name in names:
                yield _of_part(name, part, before, after, means, drawn)


def _of_part(name: str, part: Part, original: World, released: World, means: Means, drawn: Parts) -> Seen:
    first, second = (candidates(world, part, means, drawn.members) for world in (original, released))
    more = [] if drawn.all else [f"a sample of at most {TARGETS} parts"]
    cut = [where for found, where in ((first, "original"), (second, "release")) if not found.complete]
    if cut:
        places = " and of the ".join(cut)
        more.append(f"candidates are at least so many, for not all places of the {places} were looked at")
    before, after = (Sight(found.sizes, found.right, sampled=not drawn.all) for found in (first, second))
    return Seen(name, before, after, "; ".join(more))
