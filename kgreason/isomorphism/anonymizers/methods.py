"""Selection of the anonymizer by name, and its application to parts."""

from __future__ import annotations

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, inside
from kgreason.isomorphism.anonymizers.bisection import partition
from kgreason.isomorphism.anonymizers.k_iso import KIso
from kgreason.isomorphism.anonymizers.kguard import Kguard
from kgreason.isomorphism.anonymizers.kguard_published import PublishedKguard
from kgreason.isomorphism.anonymizers.klone import Klone, check_x
from kgreason.isomorphism.anonymizers.split_keep import SplitKeep
from kgreason.isomorphism.anonymizers.split_merge import SplitMerge
from kgreason.isomorphism.definition import Anonymizer
from kgreason.isomorphism.settings import MAX_STORED, MAX_SUBGRAPHS, Settings


def choose(settings: Settings, sizes: tuple[int, ...]) -> Anonymizer:
    """Return the anonymizer of the settings.

    Parameters
    ----------
    sizes
        Sizes of the attacked subgraphs, ascending.

    Raises
    ------
    AnonymizationError
        If there is no method of this name, or it has no such mode.
    """
    method, mode, k, trials = settings.method, settings.mode, settings.k, settings.trials
    if method in ("klone", "k-iso") and mode != "exact":
        raise AnonymizationError("only KGUARD has modes", hint="leave --mode out, or the method")
    if method == "klone":
        return Klone(k, trials)
    if method == "k-iso":
        return KIso(k, trials)
    for x in sizes:
        check_x(x)
    if mode == "exact":
        return Kguard(k, sizes, trials, settings.max_subgraphs or MAX_SUBGRAPHS)
    if len(sizes) > 1:
        raise AnonymizationError(
            "the published KGUARD protects one x, not several", hint="leave --mode published out"
        )
    return PublishedKguard(k, sizes[0], trials, settings.max_subgraphs or MAX_STORED)


def divide(
    algorithm: Anonymizer,
    graph: KnowledgeGraph,
    size: int,
    k: int,
    x: int,
    progress: Progress,
    *,
    keep_cuts: bool,
) -> tuple[Anonymizer, KnowledgeGraph]:
    """Apply an anonymizer to parts of about `size` vertices.

    Returns
    -------
    algorithm, graph
        Anonymizer of the whole graph, and the graph whose subgraphs it protects.

    Raises
    ------
    AnonymizationError
        If parts are too small, or the library that partitions graphs is not installed.
    """
    if isinstance(algorithm, KIso):
        raise AnonymizationError("k-Iso divides the graph itself", hint="leave --split out, or the method")
    parts = partition(graph, size, x)
    within = inside(graph, parts)
    progress.note(f"{parts.max() + 1:,} parts; {graph.m - within.m:,} edges run between them")
    if keep_cuts:
        return SplitKeep(algorithm, parts, k, x), graph
    return SplitMerge(algorithm, parts), within
