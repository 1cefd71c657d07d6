"""Function that attacks releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgreason.api.given import graph_of
from kgreason.api.reasoning import Rules, load
from kgreason.arguments import anonymizable, attacked_sizes, check_numbers, check_relations, mapped
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.api.given import ArrowTable, GraphLike
    from kgreason.attacks.results import Attacks
    from kgreason.graph.model import Vertices


def attack(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    knowledge: str | Iterable[str] = "all",
    k: int = 3,
    x: int | Iterable[int] = 4,
    known: int | Iterable[int] | None = None,
    other_rules: Rules | None = None,
    weights: Literal["released", "original"] = "released",
    targets: int = 300,
    seeds: int | Sequence[str] | None = None,
    drop: float | None = None,
    parts: Vertices | None = None,
    seed: int | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Attacks:
    """Attack a release with several kinds of knowledge, and tell what each finds.

    What the attackers know and what the figures mean: docs/attacks.md.

    Parameters
    ----------
    original, released, mapping, parts
        As in `verify`.
    knowledge
        ``"all"``, ``"part"`` (all rows of Table 4), one of its rows such as ``"part:weights+rules"``, ``"degree"``,
        ``"neighbourhood"``, ``"hubs"``, ``"refinement:I"``, ``"seeds"``, or several of these.
    k, x
        What was promised.
    known
        Vertices of the parts that attackers know, at most 8; by default x, one less and one more.
    other_rules
        Rules Σ* that attackers have who know other rules than the release's.
    weights
        Whether who knows weights knows the ``"released"`` ones of his part, the worst case, of which Table 4 speaks,
        or the ``"original"`` ones, as somebody would who knows the company.
    targets
        How many vertices, and parts of each size, are looked for; all if there are no more.
    seeds
        How many vertices somebody knows who spreads from them, by default 10, or their original labels.
    drop
        Share of the released edges that is dropped as implausible; by default as many as are synthetic.
    seed
        For runs that can be repeated.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If a kind of knowledge is unknown, a number out of range, a known part larger than 8 vertices, or an argument
        without effect on the attackers that are asked for.
    ProgramError, DataError, ReleaseError
        If the rules depend on vertex names, or graphs, rules and mapping do not fit each other.

    Examples
    --------
    >>> from kgreason.graph.model import KnowledgeGraph
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.8), ("A", "C", 0.3)], relation="own")
    >>> released = KnowledgeGraph.from_edges([("p", "q", 0.7), ("p", "r", 0.4)], relation="own")
    >>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
    >>> found = attack(original, released, {"A": "p", "B": "q", "C": "r"}, rules, knowledge="part", k=2, x=2)
    >>> found["part:edges", 2].runs["main"].unique.value, found["part:weights+rules", 2].runs["main"].unique.value
    (0.0, 1.0)
    >>> found.as_promised
    False
    """
    from kgreason.attacks.panel import run_panel
    from kgreason.attacks.setting import (
        Setting,
        check_effects,
        check_setting,
        knowledge_of,
        parts_known,
        seeds_of,
    )

    sizes, program = attacked_sizes(x), anonymizable(load(rules, allow_files=allow_files))
    original, released = graph_of(original, program), graph_of(released, program)
    check_numbers(k=(k, 2), targets=(targets, 1), seed=(seed, 0))
    chosen, parts_sizes = knowledge_of(knowledge), parts_known(known, sizes, original.n)
    check_effects(chosen, known=known, other_rules=other_rules, weights=weights, seeds=seeds)
    programs = {"rules": program}
    if other_rules is not None:
        programs["other"] = anonymizable(load(other_rules, allow_files=allow_files))
    for program in programs.values():
        for graph in (original, released):
            check_relations(graph, program)
    original, released = original.distinct(), released.distinct()
    setting = Setting(
        *(original, released, mapped(mapping, original, released), programs, k, sizes, parts_sizes),
        targets=targets,
        seeds=seeds_of(seeds, original),
        drop=drop,
        weights=weights,
        parts=parts,
    )
    check_setting(setting, chosen)
    return run_panel(setting, chosen, np.random.default_rng(seed), progress)
