"""The whole product from Python: each function fits a screen and shows its pipeline.

``rules`` is a path of a ``.vada`` file, its text, or a `CheckedProgram`. ``data`` names for each input predicate a file
(``"own.csv"``, with options ``"own.csv?percent=true"``), several files, or a table in memory: pandas, Arrow,
NetworkX or a list of tuples. Predicates not named there are read from the ``@bind`` of the rule file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.arguments import (
    anonymizable,
    attacked_sizes,
    check_data,
    check_folders,
    check_goal,
    check_limits,
    check_numbers,
    check_relations,
    check_rules,
    check_split,
    mapped,
    output_names,
)
from kgreason.choices import MAX_SUBGRAPHS, Method, Mode
from kgreason.collector import paused
from kgreason.errors import ProgramError
from kgreason.progress import SILENT, Progress
from kgreason.results import Anonymization, Clock, Reasoned, Score

if TYPE_CHECKING:
    from kgreason.anonymizers.base import Anonymizer, Release
    from kgreason.assess.verify import Verdict
    from kgreason.engine.limits import Limits
    from kgreason.engine.stats import Recorder
    from kgreason.graph.commute import Commutation
    from kgreason.graph.model import KnowledgeGraph, Vertices
    from kgreason.pairs import Pair
    from kgreason.provenance.explanation import Explanation
    from kgreason.publication import Folders

Rules = str | Path | CheckedProgram

SMALLER_LEFT = (
    "-x {x} asks for parts of {x} vertices, which does not cover smaller ones: the rules are not known to commute "
    "(`kgreason check` tells why). --sizes 2..{x} asks for them, too"
)


@paused()
def load(rules: Rules) -> CheckedProgram:
    """Parse and check a rule file or rule text.

    Raises
    ------
    ProgramError
        With all diagnostics of the file.
    CallError
        If `rules` is none of these.

    Examples
    --------
    >>> load("p(X) :- q(X). q(1).").outputs
    ('p',)
    """
    from kgreason.analysis.check import load_file, load_text

    check_rules(rules)
    if isinstance(rules, CheckedProgram):
        return rules
    if isinstance(rules, Path) or (rules.strip() and "\n" not in rules and rules.endswith(".vada")):
        return load_file(Path(rules))
    return load_text(rules)


def load_functions(path: str | Path) -> None:
    """Run a Python file whose `kgreason.function` definitions rules may call afterwards.

    Raises
    ------
    DataError
        If the file cannot be read or is no Python, fails, or has a definition that is refused.
    """
    from kgreason.lang.definitions import run_definitions

    run_definitions(path)


@paused()
def reason(
    rules: Rules,
    data: Mapping[str, Any] | None = None,
    *,
    outputs: str | Sequence[str] | None = None,
    limits: Limits | None = None,
    progress: Progress = SILENT,
    recorder: Recorder | None = None,
) -> Reasoned:
    """Derive the output predicates of a rule file.

    Parameters
    ----------
    outputs
        Predicates to derive; default: those annotated with ``@output``. Files that they do not need are not opened.
    limits
        Bounds on rounds, on the growth of values, and on memory.
    recorder
        Gets the `Reasoned.stats`, even if the evaluation fails.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules, the data or their meeting are at fault.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> sorted(reason(closure, {"edge": [("a", "b"), ("b", "c")]}).rows("reach"))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    from kgreason.engine.limits import Limits
    from kgreason.engine.post import apply_posts
    from kgreason.engine.seminaive import evaluate
    from kgreason.graph.io.load import load_facts
    from kgreason.memory import limited

    program = load(rules)
    check_data(data)
    check_limits(limits)
    goals, limits = output_names(outputs), limits or Limits()
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress, goals)
        result = evaluate(program, facts, goals=goals, limits=limits, progress=progress, recorder=recorder)
        return Reasoned(apply_posts(program, result.facts), result.stats, result.warnings, program)


@paused()
def explain(
    rules: Rules,
    goal: str,
    data: Mapping[str, Any] | None = None,
    *,
    most: int = 1,
    limits: Limits | None = None,
    progress: Progress = SILENT,
) -> Explanation:
    """Tell why a fact holds, by a proof of least height, or why it does not.

    Parameters
    ----------
    goal
        An atom such as ``control("a", "b")``; variables fit any value.
    most
        Number of facts that are proved where several fit.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules, the data, the goal or their meeting are at fault.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> found = explain(closure, 'reach("a", "c")', {"edge": [("a", "b"), ("b", "c")]})
    >>> found.holds, found.proofs[0].height
    (True, 2)
    """
    from kgreason.engine.limits import Limits
    from kgreason.graph.io.load import load_facts
    from kgreason.graph.io.origin import sources
    from kgreason.memory import limited
    from kgreason.provenance.explanation import explain_fact

    program = load(rules)
    check_data(data)
    check_limits(limits)
    check_goal(goal, most)
    limits = limits or Limits()
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress)
        progress.step("Explaining")
        lookup = sources(program, data or {})
        return explain_fact(program, facts, goal, most=most, limits=limits, sources=lookup)


def format_file(path: str | Path, *, write: bool = True) -> bool:
    """Format a rule file; returns whether that changes it.

    Parameters
    ----------
    write
        Whether to write the result, in place of the file.

    Raises
    ------
    ProgramError
        If the file cannot be read or parsed; it stays as it is.
    """
    from kgreason.analysis.include import read_text
    from kgreason.lang.format import format_text
    from kgreason.output.place import replacing

    text, unreadable = read_text(path)
    if unreadable:
        raise ProgramError((unreadable,))
    formatted = format_text(text, str(path))
    if write and formatted != text:
        with replacing(Path(path)) as temporary:
            temporary.write_text(formatted, encoding="utf-8", newline="")
    return formatted != text


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
    from kgreason.graph import commute

    program = load(rules)
    if not (program.edges and program.derived):
        return None
    try:
        program = anonymizable(program)
    except ProgramError:
        return None
    # what is said of rules is the same each time
    return commute.commutation(program, np.random.default_rng(0))


def anonymize(
    rules: Rules,
    data: Mapping[str, Any] | KnowledgeGraph | None = None,
    *,
    method: Method = "kguard",
    mode: Mode = "exact",
    k: int = 3,
    x: int | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 10,
    max_subgraphs: int | None = None,
    split: int | None = None,
    keep_cuts: bool = False,
    seed: int | None = None,
    folders: Folders | None = None,
    progress: Progress = SILENT,
) -> Anonymization:
    """Make an anonymous version of a graph, prove it, and score it.

    Parameters
    ----------
    method
        ``"klone"`` protects every x at once at the price of k copies, ``"kguard"`` one x, or some, with far fewer
        additions.
    mode
        Of ``"kguard"``: ``"exact"`` protects every subgraph; ``"published"`` follows the paper and may leave some
        without images, which the verdict tells.
    k
        Number of indistinguishable places, at least 2.
    x
        Vertices of the subgraphs an attacker knows, 4 if nothing is said; for ``"klone"`` the size that is verified.
    sizes
        Several numbers of vertices in place of `x`: all are protected, and all are verified.
    trials
        Draws of random weights of which the most useful is kept.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices; by default 10^9, or 10^7 for ``"published"``, which
        stores them.
    split
        Anonymize parts of about so many vertices on their own, in parallel processes. The edges between them are
        lost, which the verdict says; for graphs that are too large or too dense otherwise.
    keep_cuts
        With `split`: keep these edges, and protect what crosses them by copies of their surroundings.
    seed
        For experiments only: a release that can be computed again must not be published. Without it the
        operating system seeds the generator.
    folders
        Where to write the release and its secret; what is then verified and scored is what was written, read back.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules or the data are at fault.
    AnonymizationError
        If the graph or the parameters admit no anonymization, or the folders exist.
    """
    from kgreason.analysis.commute import hidden_vertices
    from kgreason.anonymizers.choose import choose, divide
    from kgreason.anonymizers.publish import publish
    from kgreason.assess.verify import check_parameters, count_attacked
    from kgreason.pairs import Pair, read_release
    from kgreason.publication import (
        check_publishable,
        staged,
        write_json,
        write_mapping,
        write_parts,
        write_readme,
        write_release,
    )

    if folders is not None:
        check_folders(folders)
    sizes = attacked_sizes(x, sizes)
    check_numbers(k=(k, 2), trials=(trials, 1), max_subgraphs=(max_subgraphs, 1))
    check_numbers(split=(split, 1), seed=(seed, 0))
    check_split(split, keep_cuts)
    clock, rng = Clock(), np.random.default_rng(seed)
    algorithm: Anonymizer = choose(method, mode, k, sizes, trials, max_subgraphs)
    written = load(rules)
    program = anonymizable(written)
    graph = _graph(written, data, progress)
    check_publishable(program, graph.labels.tolist())
    for size in sizes:
        check_parameters(graph, k, size)
    attacked = graph
    if split is not None:
        algorithm, attacked = divide(algorithm, graph, split, k, sizes[-1], progress, keep_cuts=keep_cuts)
    for size in sizes:
        count = count_attacked(attacked, size, max_subgraphs or MAX_SUBGRAPHS)
        progress.note(f"{count:,} connected subgraphs of {size} vertices to protect")
    if (
        (method, mode) == ("kguard", "exact")
        and len(sizes) == 1
        and sizes[0] > 2
        and hidden_vertices(program)
    ):
        progress.note(SMALLER_LEFT.format(x=sizes[0]))
    clock.lap("read")
    augmented = algorithm.augment(graph, program, rng, progress)
    labels = frozenset(graph.labels.tolist())
    release = publish(augmented, labels, None if seed is None else rng)
    clock.lap("anonymize")
    if folders is None:
        pair = Pair(graph, release.graph, release.mapping, release.parts)
        return _assess(pair, program, release, sizes, max_subgraphs, clock, progress)
    with staged(folders) as (public, private):
        write_release(public, release, program)
        write_mapping(private / "mapping.csv", graph, release)
        if release.parts is not None:
            write_parts(private / "parts.csv", graph, release.parts)
        clock.lap("write")
        pair = read_release(program, graph, public, private / "mapping.csv")
        result = _assess(pair, program, release, sizes, max_subgraphs, clock, progress)
        write_readme(public, program, release, sizes, holds=result.holds, seeded=seed is not None)
        write_json(
            private / "report.json", result.as_dict() | {"trials": trials, "method": method, "seed": seed}
        )
    return result


def _assess(
    pair: Pair,
    program: CheckedProgram,
    release: Release,
    sizes: Sequence[int],
    max_subgraphs: int | None,
    clock: Clock,
    progress: Progress,
) -> Anonymization:
    graphs = (pair.original, pair.released, pair.mapping)
    k, most = release.guarantee.k, max_subgraphs or MAX_SUBGRAPHS
    verdict = verify(
        *graphs, program, k=k, sizes=sizes, parts=pair.parts, max_subgraphs=most, progress=progress
    )
    clock.lap("verify")
    result = score(*graphs, program, progress=progress)
    clock.lap("score")
    return Anonymization(pair.original, release, verdict, result, program.derived, clock.laps)


def verify(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Mapping[str, str] | Vertices,
    rules: Rules,
    *,
    k: int = 3,
    x: int | None = None,
    sizes: Sequence[int] | None = None,
    parts: Vertices | None = None,
    max_subgraphs: int = MAX_SUBGRAPHS,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide whether a release is a (k,x)-isomorphism anonymization (Definition 4.1), exactly.

    Parameters
    ----------
    original, released
        Graphs, for instance from `kgreason.pairs.read_pair`. A row that stands twice is one edge, as in files.
    mapping
        Original vertex v is vertex ``mapping[v]`` of the release; int64, shape (n,). Or released labels by original
        ones, as `Anonymization.mapping` has them.
    k, x
        Parameters of the guarantee.
    sizes
        Several numbers of vertices in place of `x`.
    parts
        Part of each original vertex, int64, shape (n,), if the release gives up the edges between parts.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices.

    Raises
    ------
    AnonymizationError
        If there are more than `max_subgraphs`, or they have more than 8 vertices.
    ProgramError, DataError
        If the rules depend on vertex names, or the graphs do not fit them.
    """
    from kgreason.assess import verify as checker
    from kgreason.graph.parts import inside

    sizes = attacked_sizes(x, sizes)
    program = anonymizable(load(rules))
    for graph in (original, released):
        check_relations(graph, program)
    for size in sizes:
        checker.count_attacked(original if parts is None else inside(original, parts), size, max_subgraphs)
    pair = original, released, mapped(mapping, original, released)
    return checker.verify(*pair, program, k, sizes[-1], progress, parts, sizes[:-1])


def score(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Mapping[str, str] | Vertices,
    rules: Rules,
    *,
    progress: Progress = SILENT,
) -> Score:
    """Measure utility U and U△ of the ``@query`` predicates, fidelity, and how well synthetic vertices can be told.

    What these mean: docs/anonymization.md.

    Parameters
    ----------
    original, released, mapping
        As in `verify`.

    Raises
    ------
    DataError
        If the graphs do not fit the rules.
    """
    from kgreason.assess.fidelity import fidelity
    from kgreason.assess.telling import telling
    from kgreason.assess.utility import utility

    progress.step("Scoring")
    program = load(rules).without_graph()
    mapping = mapped(mapping, original, released)
    for graph in (original, released):
        check_relations(graph, program)
    original, released = original.distinct(), released.distinct()
    # a measurement, so that it is the same each time
    told = telling(released, np.asarray(mapping), np.random.default_rng(0))
    return Score(utility(original, released, mapping, program), fidelity(original, released), told)


def read_graph(
    rules: Rules, data: Mapping[str, Any] | None = None, *, progress: Progress = SILENT
) -> KnowledgeGraph:
    """Read the graph that the ``@node`` and ``@edge`` predicates of a rule file describe."""
    return _graph(load(rules), data, progress)


def _graph(
    program: CheckedProgram, data: Mapping[str, Any] | KnowledgeGraph | None, progress: Progress
) -> KnowledgeGraph:
    from kgreason.graph.io.load import load_graph
    from kgreason.graph.model import KnowledgeGraph

    if not isinstance(data, KnowledgeGraph):
        check_data(data)
        return load_graph(program, data or {}, progress)
    check_relations(data, program)
    return data.distinct()
