"""Public functions that measure graphs and releases: verify, verify_alone, score, attack, risk, commutation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgreason.base.errors import AnonymizationError, ProgramError, TooLargeError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_numbers
from kgreason.isomorphism.arguments import (
    anonymizable,
    attacked_sizes,
    check_model,
    check_relations,
    further_guarantees,
    graph_of,
    graphs_under,
    mapped,
    read_graph,
)
from kgreason.isomorphism.settings import MAX_EXAMINED, MAX_SUBGRAPHS, Model, Settings
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.reasoning.api import Rules, load

if TYPE_CHECKING:
    from kgreason.graph.induced.commutation import Commutation
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
    from kgreason.isomorphism.arguments import ArrowTable, GraphData, GraphLike
    from kgreason.isomorphism.attacks.attack_results import Attacks
    from kgreason.isomorphism.result import Score
    from kgreason.isomorphism.risk.advice import Risk
    from kgreason.isomorphism.verification.population import Drawn
    from kgreason.isomorphism.verification.verdict import Certificate, Verdict
    from kgreason.language.check.checked_program import CheckedProgram


def verify(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    k: int = Settings.k,
    x: int | Iterable[int] = Settings.x,
    also: str | Iterable[str] = (),
    parts: Vertices | None = None,
    certificate: Certificate | str | Path | None = None,
    max_subgraphs: int | None = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide whether a release is a (k,x)-isomorphism anonymization (Definition 4.1), exactly or on a sample.

    Parameters
    ----------
    original, released
        Graphs, for instance from `kgreason.read_pair`, or NetworkX or igraph graphs; under rules with one edge
        predicate also edge tables. Duplicate rows are one edge, as in files.
    mapping
        Original vertex v is vertex ``mapping[v]`` of the release; int64, shape (n,). Alternatively released labels by
        original label, as in `Anonymization.mapping`, or a table with these two columns.
    k, x
        Parameters of the guarantee; x is one size or several.
    also
        Further guarantees, ``"degree"`` or ``"neighbours"``: at least k vertices of the release share each in- and
        out-degree, or also the degrees of all neighbours.
    parts
        Part of each original vertex, int64, shape (n,), if the release leaves out the edges between parts.
    certificate
        Images of all x-subgraphs, which are then not searched for: ``certificate.json`` of the private folder, or
        `Verdict.certificate`. Faults of the certificate are part of the verdict, which then does not hold.
    max_subgraphs
        Refuse graphs with more x-subgraphs; with `sample`, with more connected subgraphs of x - 1 vertices, which are
        counted. `None`: they are not counted.
    sample
        Decide only this number of x-subgraphs, drawn uniformly at random without replacement from those of all x. δ is
        then an estimate with a 95 % confidence interval, and the verdict is never `holds`, but may be
        `nothing_against`. If there are no more x-subgraphs, all are decided.
    seed
        Seed of the sample; by default from the operating system.
    model
        ``"k-iso"``: decide instead whether the release is k isomorphic blocks without edges between them, regardless
        of the rules. δ is then measured on the x-subgraphs of the release and is no condition.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If there are more than `max_subgraphs` x-subgraphs, or an x exceeds 8.
    ReleaseError
        If the certificate cannot be read.
    ProgramError, DataError
        If the rules depend on vertex names, or the graphs do not fit them.
    """
    from kgreason.graph.knowledge_graph import inside
    from kgreason.isomorphism.certificates import read_certificate
    from kgreason.isomorphism.reading import Pair
    from kgreason.isomorphism.verification import checker

    sizes, further = attacked_sizes(x), further_guarantees(also)
    program = anonymizable(load(rules, allow_files=allow_files))
    original, released = graphs_under(program, original, released)
    check_model(model, further)
    mapping = mapped(mapping, original, released)
    if model == "k-iso":
        if certificate is not None:
            raise AnonymizationError(
                "a certificate shows images, not blocks", hint="leave the certificate out"
            )
        limits = max_subgraphs, sample, seed
        return _k_iso(released, program, k, sizes, *limits, progress, original, mapping)
    if isinstance(certificate, str | Path):
        certificate = read_certificate(Path(certificate), Pair(original, released, mapping))
    if certificate is not None and sample is not None:
        raise AnonymizationError(
            "a certificate shows all subgraphs", hint="leave sample out, or the certificate"
        )
    attacked = original if parts is None else inside(original, parts)
    counted = sizes if certificate is None or certificate.copies is None else ()
    drawn = _drawn(attacked, counted, max_subgraphs, sample, seed, progress)
    arguments = original, released, mapping, program, k, sizes[-1]
    return checker.verify(*arguments, progress, parts, sizes[:-1], certificate, drawn, further)


def verify_alone(
    released: GraphLike,
    rules: Rules,
    *,
    k: int = Settings.k,
    x: int | Iterable[int] = Settings.x,
    also: str | Iterable[str] = (),
    max_subgraphs: int = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide the conditions of Definition 4.1 that a release shows without its original.

    Item 4 holds if it holds for every possible original, fails if it holds for none, and is undecided otherwise.
    `Verdict.needs_original` lists the conditions that cannot be decided.

    Parameters
    ----------
    released
        Graph, for instance from `kgreason.isomorphism.reading.read_released`, or any other form that `verify` takes.
    k, x, also, max_subgraphs, sample, seed, model, allow_files
        As in `verify`; the x-subgraphs are those of the release.

    Raises
    ------
    AnonymizationError, ProgramError, DataError
        As in `verify`.
    """
    from kgreason.isomorphism.verification import checker

    sizes, further = attacked_sizes(x), further_guarantees(also)
    program = anonymizable(load(rules, allow_files=allow_files))
    [released] = graphs_under(program, released)
    check_model(model, further)
    if model == "k-iso":
        return _k_iso(released, program, k, sizes, max_subgraphs, sample, seed, progress)
    drawn = _drawn(released, sizes, max_subgraphs, sample, seed, progress)
    return checker.verify_alone(released, program, k, sizes[-1], progress, sizes[:-1], drawn, further)


def _k_iso(
    released: KnowledgeGraph,
    program: CheckedProgram,
    k: int,
    sizes: tuple[int, ...],
    limit: int | None,
    sample: int | None,
    seed: int | None,
    progress: Progress,
    original: KnowledgeGraph | None = None,
    mapping: Vertices | None = None,
) -> Verdict:
    """Decide the conditions of k-Iso and count δ, unless there are too many x-subgraphs."""
    from kgreason.isomorphism.verification import block_checker
    from kgreason.isomorphism.verification.checker import delta

    check_numbers(k=(k, 1))
    verdict = replace(
        block_checker.verify(released, program, k, sizes[-1], original, mapping), also=sizes[:-1]
    )
    try:
        drawn = _drawn(released, sizes, limit, sample, seed, progress)
    except TooLargeError as error:
        progress.note(f"δ is not measured: {error.message}")
        return verdict
    found = [
        [delta(released, program, k, size, diverse, progress, drawn.get(size)) for size in sizes]
        for diverse in (True, False)
    ]
    diverse, alike = (sum(each[1:], each[0]) for each in found)
    return replace(verdict, delta=diverse, alike=alike)


def _drawn(
    graph: KnowledgeGraph,
    sizes: Sequence[int],
    limit: int | None,
    sample: int | None,
    seed: int | None,
    progress: Progress,
) -> Mapping[int, Drawn]:
    """Random x-subgraphs of each size; empty if all x-subgraphs are decided (at most `limit`)."""
    from kgreason.isomorphism.verification.checker import count_attacked
    from kgreason.isomorphism.verification.population import draw

    check_numbers(sample=(sample, 1), seed=(seed, 0), max_subgraphs=(limit, 1))
    if seed is not None and sample is None:
        raise AnonymizationError("seed has no meaning without sample", hint="say for instance --sample 1000")
    if sample is not None:
        progress.step("Drawing connected subgraphs")
        most = MAX_SUBGRAPHS if limit is None else limit
        return draw(graph, sizes, sample, most, np.random.default_rng(seed))
    if limit is not None:
        for size in sizes:
            count_attacked(graph, size, limit)
    return {}


def score(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    k: int = Settings.k,
    x: int | Iterable[int] = Settings.x,
    parts: Vertices | None = None,
    certificate: Certificate | str | Path | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Score:
    """Measure the utility and the fidelity of a release, and how well its synthetic vertices and edges are detected.

    Definitions: docs/anonymization.md.

    Parameters
    ----------
    original, released, mapping, parts, allow_files
        As in `verify`.
    k, x
        Parameters of the guarantee, which is measured again after the most suspicious edges are removed.
    certificate
        As in `verify`. If it holds copies (KLONE), the edges between copies are detected. Otherwise all edges that are
        not original are, copied ones included.

    Raises
    ------
    AnonymizationError
        If k or x is out of range.
    ReleaseError
        If the certificate cannot be read.
    DataError
        If the graphs do not fit the rules.
    """
    from kgreason.isomorphism.certificates import read_certificate
    from kgreason.isomorphism.reading import Pair

    check_numbers(k=(k, 1))
    sizes = attacked_sizes(x)
    progress.step("Scoring")
    program = load(rules, allow_files=allow_files)
    original, released = graphs_under(program.without_graph(), original, released)
    mapping = mapped(mapping, original, released)
    if isinstance(certificate, str | Path):
        certificate = read_certificate(Path(certificate), Pair(original, released, mapping))
    copies = None if certificate is None else certificate.copies
    return scored(original, released, mapping, program, {}, k, sizes, parts, copies)


def scored(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    program: CheckedProgram,
    known: Mapping[str, Vertices],
    k: int,
    sizes: Sequence[int],
    parts: Vertices | None,
    copies: Vertices | None,
) -> Score:
    """Measure a release as `score`; `known` holds the answers of the original to some queries."""
    from kgreason.isomorphism.attacks.edge_filter import Withstood, withstood
    from kgreason.isomorphism.result import Score
    from kgreason.isomorphism.utility.detection_auc import detection
    from kgreason.isomorphism.utility.edge_detection import MOST, edge_detection, synthetic_edges
    from kgreason.isomorphism.utility.query_utility import fidelity, utility

    original, released, mapping = original.distinct(), released.distinct(), np.asarray(mapping)
    rules = program.without_graph()
    graphs = original, released, mapping
    # a fixed seed makes the measurements reproducible
    vertices = detection(released, mapping, np.random.default_rng(0))
    truth = synthetic_edges(*graphs, copies)
    edges, suspicion = edge_detection(released, truth, np.random.default_rng(0))
    edges = replace(edges, between=copies is not None)
    kept = None
    if sizes and suspicion is None and edges.auc is not None:
        kept = Withstood(k, reason=f"the release has more than {MOST:,} edges")
    elif sizes and suspicion is not None:
        kept = withstood(*graphs, rules, k, sizes, suspicion, truth, np.random.default_rng(0), parts)
    return Score(utility(*graphs, rules, known), fidelity(original, released), vertices, edges, kept)


def attack(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    knowledge: str | Iterable[str] = "all",
    k: int = Settings.k,
    x: int | Iterable[int] = Settings.x,
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
    """Run attackers with different knowledge on a release and measure what each finds.

    Definitions of the attackers and the figures: docs/attacks.md.

    Parameters
    ----------
    original, released, mapping, parts
        As in `verify`.
    knowledge
        ``"all"``, ``"part"`` (all rows of Table 4), one of its rows such as ``"part:weights+rules"``, ``"degree"``,
        ``"neighbourhood"``, ``"hubs"``, ``"refinement:I"``, ``"seeds"``, or several of these.
    k, x
        Parameters of the guarantee.
    known
        Sizes of the subgraphs that attackers know, at most 8; by default x - 1, x and x + 1.
    other_rules
        Rules Σ* of attackers whose rules differ from those of the release.
    weights
        Weights known to attackers who know weights: ``"released"``, the worst case and that of Table 4, or
        ``"original"``, as for an attacker who knows the company.
    targets
        Number of target vertices, and of target subgraphs of each size; all if there are no more.
    seeds
        Known vertices of the seed attacker, as a number (default: 10) or as original labels.
    drop
        Share of the released edges that is dropped as implausible; by default the share of synthetic edges.
    seed
        Seed for reproducible runs.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If a kind of knowledge is unknown, a number is out of range, a known subgraph has more than 8 vertices, or an
        argument has no effect on the chosen attackers.
    ProgramError, DataError, ReleaseError
        If the rules depend on vertex names, or graphs, rules and mapping do not fit each other.

    Examples
    --------
    >>> from kgreason.graph.knowledge_graph import KnowledgeGraph
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.8), ("A", "C", 0.3)], relation="own")
    >>> released = KnowledgeGraph.from_edges([("p", "q", 0.7), ("p", "r", 0.4)], relation="own")
    >>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
    >>> found = attack(original, released, {"A": "p", "B": "q", "C": "r"}, rules, knowledge="part", k=2, x=2)
    >>> found["part:edges", 2].runs["main"].unique.value, found["part:weights+rules", 2].runs["main"].unique.value
    (0.0, 1.0)
    >>> found.as_promised
    False
    """
    from kgreason.isomorphism.attacks.attack_settings import (
        Setting,
        check_effects,
        check_setting,
        knowledge_of,
        parts_known,
        seeds_of,
    )
    from kgreason.isomorphism.attacks.panel import run_panel

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


def risk(
    rules: Rules,
    data: GraphData | None = None,
    *,
    population: GraphData | None = None,
    k: int = Settings.k,
    x: int | Iterable[int] | None = None,
    max_subgraphs: int = MAX_EXAMINED,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Risk:
    """Measure the re-identification risk of a graph before anonymization, and estimate the cost of anonymization.

    Definitions of the figures: docs/risk.md.

    Parameters
    ----------
    population
        Graph in which an attacker searches for the vertices of this graph; default: this graph.
    k
        Vertices with fewer than k candidates are at risk; also the k of the anonymizations that are considered.
    x
        Sizes of the x-subgraphs that an attacker may know; default: 2 to 6.
    max_subgraphs
        Above this number of x-subgraphs, only a random part of them is examined.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or x is out of range.
    ProgramError, DataError
        If the rules depend on vertex names, or the data are invalid.

    Examples
    --------
    Every vertex of a chain of three is unique by its in- and out-degree, none by subgraphs of two vertices:

    >>> found = risk('@edge("own").', {"own": [("a", "b"), ("b", "c")]}, k=2, x=2)
    >>> found["in- and out-degree"].unique, found["part of 2 vertices, ground edges"].unique
    (3, 0)
    """
    from kgreason.isomorphism.risk.advice import measure
    from kgreason.release.pipeline import Clock

    check_numbers(k=(k, 2), max_subgraphs=(max_subgraphs, 1))
    clock, written = Clock(), load(rules, allow_files=allow_files)
    graph = read_graph(written, data, progress=progress)
    bare = replace(written, binds=(), mappings=(), facts=())  # these describe the graph, not its population
    among = None if population is None else read_graph(bare, population, progress=progress)
    sizes = None if x is None else attacked_sizes(x)
    clock.lap("read")
    # a fixed seed makes the measurement reproducible
    rng = np.random.default_rng(0)
    return measure(graph, among, anonymizable(written), k, sizes, max_subgraphs, rng, clock, progress)


def commutation(rules: Rules) -> Commutation | None:
    """Decide whether protection of x vertices implies protection of fewer, that is, whether the rules commute.

    Returns
    -------
    Commutation or None
        The outcome ``"commute"``, ``"do not commute"`` with a counterexample graph, or ``"unknown"``; `None` for
        rules that derive no edges or cannot be used for anonymization.

    Raises
    ------
    ProgramError
        If the rules are invalid.

    Examples
    --------
    >>> commutation('@edge("own"). @derived("mutual"). mutual(X, Y) :- own(X, Y), own(Y, X).').outcome
    'commute'
    """
    from kgreason.graph.induced import commutation

    program = load(rules)
    if not (program.edges and program.derived):
        return None
    try:
        program = anonymizable(program)
    except ProgramError:
        return None
    # a fixed seed makes the result reproducible
    return commutation.commutation(program, np.random.default_rng(0))
