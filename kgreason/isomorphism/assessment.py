"""Functions that measure graphs before and after: risk, verify, verify_alone, score, attack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgreason.base.argument_checks import check_numbers
from kgreason.base.errors import AnonymizationError, TooLargeError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.arguments import anonymizable, attacked_sizes, check_model, check_relations, mapped
from kgreason.isomorphism.graph_input import graph_of, read_graph
from kgreason.isomorphism.settings import MAX_EXAMINED, MAX_SUBGRAPHS, Model
from kgreason.reasoning.api import Rules, load

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
    from kgreason.isomorphism.attacks.attack_results import Attacks
    from kgreason.isomorphism.graph_input import ArrowTable, GraphData, GraphLike
    from kgreason.isomorphism.result import Score
    from kgreason.isomorphism.risk.advice import Risk
    from kgreason.isomorphism.verification.checker import Verdict
    from kgreason.isomorphism.verification.population import Drawn
    from kgreason.isomorphism.verification.verdict import Certificate
    from kgreason.language.check.checked_program import CheckedProgram

from typing import TYPE_CHECKING

from kgreason.base.errors import ProgramError
from kgreason.language.check.checked_program import CheckedProgram

if TYPE_CHECKING:
    from kgreason.graph.induced.commutation import Commutation


def verify(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    k: int = 3,
    x: int | Iterable[int] = 4,
    parts: Vertices | None = None,
    certificate: Certificate | str | Path | None = None,
    max_subgraphs: int | None = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide whether a release is a (k,x)-isomorphism anonymization (Definition 4.1), exactly or by a sample.

    Parameters
    ----------
    original, released
        Graphs, for instance from `kgreason.read_pair`, or those of NetworkX or igraph; under rules with one edge
        predicate also tables of its edges. A row that stands twice is one edge, as in files.
    mapping
        Original vertex v is vertex ``mapping[v]`` of the release; int64, shape (n,). Or released labels by original
        ones, as `Anonymization.mapping` has them, or a table of
        two columns that says it.
    k, x
        Parameters of the guarantee; x is one number of vertices or several.
    parts
        Part of each original vertex, int64, shape (n,), if the release gives up the edges between parts.
    certificate
        What shows the images of all subgraphs, so that none has to be searched for: the ``certificate.json`` of
        the private folder, or `Verdict.certificate`. What is wrong with it is told, and does not hold.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices; with `sample`, of x - 1 vertices, which are counted.
        `None`: they are not counted.
    sample
        Decide only so many connected subgraphs, drawn uniformly at random from those of all x together, without
        replacement. δ is then an estimate with a 95 % confidence interval, and the verdict never `holds`, but may have
        `nothing_against` it. If there are no more than that, all are decided.
    seed
        Of the drawing; without it the operating system seeds the generator.
    model
        ``"k-iso"``: decide instead whether the release is k isomorphic blocks without edges between them, whatever the
        rules derive; δ is then that of the release's connected subgraphs, and decides nothing.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If there are more than `max_subgraphs`, or they have more than 8 vertices.
    ReleaseError
        If the certificate cannot be read.
    ProgramError, DataError
        If the rules depend on vertex names, or the graphs do not fit them.
    """
    from kgreason.graph.parts import inside
    from kgreason.isomorphism.certificates import read_certificate
    from kgreason.isomorphism.reading import Pair
    from kgreason.isomorphism.verification import checker

    sizes = attacked_sizes(x)
    program = anonymizable(load(rules, allow_files=allow_files))
    original, released = graph_of(original, program), graph_of(released, program)
    for graph in (original, released):
        check_relations(graph, program)
    check_model(model)
    mapping = mapped(mapping, original, released)
    if model == "k-iso":
        if certificate is not None:
            raise AnonymizationError(
                "a certificate shows images, not blocks", hint="leave the certificate out"
            )
        known = original, mapping
        return _k_iso(released, program, k, sizes, max_subgraphs, sample, seed, progress, *known)
    if isinstance(certificate, str | Path):
        certificate = read_certificate(Path(certificate), Pair(original, released, mapping))
    if certificate is not None and sample is not None:
        raise AnonymizationError(
            "a certificate shows all subgraphs", hint="leave sample out, or the certificate"
        )
    attacked = original if parts is None else inside(original, parts)
    counted = sizes if certificate is None or certificate.copies is None else ()
    drawn = _drawn(attacked, counted, max_subgraphs, sample, seed, progress)
    pair = original, released, mapping
    return checker.verify(*pair, program, k, sizes[-1], progress, parts, sizes[:-1], certificate, drawn)


def verify_alone(
    released: GraphLike,
    rules: Rules,
    *,
    k: int = 3,
    x: int | Iterable[int] = 4,
    max_subgraphs: int = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide of Definition 4.1 what a release shows without its original.

    Item 4 holds if it does for every graph that may be the original, fails if it does for none, and is undecided
    otherwise. What nothing can be said of is in `Verdict.needs_original`.

    Parameters
    ----------
    released
        Graph, for instance from `kgreason.isomorphism.reading.read_released`, or what `verify` takes for one.
    k, x, max_subgraphs, sample, seed, model, allow_files
        As in `verify`; the connected subgraphs are those of the release.

    Raises
    ------
    AnonymizationError, ProgramError, DataError
        As in `verify`.
    """
    from kgreason.isomorphism.verification import checker

    sizes = attacked_sizes(x)
    program = anonymizable(load(rules, allow_files=allow_files))
    released = graph_of(released, program)
    check_relations(released, program)
    check_model(model)
    if model == "k-iso":
        return _k_iso(released, program, k, sizes, max_subgraphs, sample, seed, progress)
    drawn = _drawn(released, sizes, max_subgraphs, sample, seed, progress)
    return checker.verify_alone(released, program, k, sizes[-1], progress, sizes[:-1], drawn)


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
    """Decide what k-Iso promises, and count δ; the verdict lacks it where there are too many subgraphs."""
    from kgreason.isomorphism.verification import block_checker
    from kgreason.isomorphism.verification.checker import delta

    check_numbers(k=(k, 1))
    verdict = replace(
        block_checker.verify(released, program, k, sizes[-1], original, mapping), also=sizes[:-1]
    )
    try:
        drawn = _drawn(released, sizes, limit, sample, seed, progress)
    except TooLargeError as error:
        progress.note(f"δ is not told: {error.message}")
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
    """Random connected subgraphs of each size; none if all are to be decided, `limit` at most."""
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
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Score:
    """Measure utility U and U△ of the ``@query`` predicates, fidelity, and how well synthetic vertices can be told.

    What these mean: docs/anonymization.md.

    Parameters
    ----------
    original, released, mapping, allow_files
        As in `verify`.

    Raises
    ------
    DataError
        If the graphs do not fit the rules.
    """
    from kgreason.isomorphism.result import Score
    from kgreason.isomorphism.utility.detection_auc import telling
    from kgreason.isomorphism.utility.query_utility import fidelity, utility

    progress.step("Scoring")
    program = load(rules, allow_files=allow_files).without_graph()
    original, released = graph_of(original, program), graph_of(released, program)
    mapping = mapped(mapping, original, released)
    for graph in (original, released):
        check_relations(graph, program)
    original, released = original.distinct(), released.distinct()
    # a measurement, so that it is the same each time
    told = telling(released, np.asarray(mapping), np.random.default_rng(0))
    return Score(utility(original, released, mapping, program), fidelity(original, released), told)


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
    k: int = 3,
    x: int | Iterable[int] | None = None,
    max_subgraphs: int = MAX_EXAMINED,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Risk:
    """Measure what a graph gives away before it is anonymized, and estimate what anonymization would cost.

    What the figures mean: docs/risk.md.

    Parameters
    ----------
    population
        A graph in which an attacker looks for the vertices of this one; default: this one.
    k
        Vertices that fewer than k fit are at risk; the k of the anonymizations that are considered.
    x
        Numbers of vertices of the parts that an attacker may know; default: 2 to 6.
    max_subgraphs
        Where there are more connected subgraphs of x vertices, a random part of the graph is looked at.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or x is out of range.
    ProgramError, DataError
        If the rules depend on vertex names, or the data are at fault.

    Examples
    --------
    The middle of a chain of three is unique by what it owns and by who owns it:

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
    # a measurement, so that it is the same each time
    rng = np.random.default_rng(0)
    return measure(graph, among, anonymizable(written), k, sizes, max_subgraphs, rng, clock, progress)


def commutation(rules: Rules) -> Commutation | None:
    """Tell whether protecting x vertices protects fewer, too: whether rules commute with taking parts of the graph.

    Returns
    -------
    Commutation or None
        With the outcome ``"commute"``, ``"do not commute"`` and a graph that shows it, or ``"unknown"``; `None` for
        rules that derive no edges or cannot be used for anonymization.

    Raises
    ------
    ProgramError
        If the rules are at fault.

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
    # what is said of rules is the same each time
    return commutation.commutation(program, np.random.default_rng(0))
