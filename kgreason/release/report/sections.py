"""Report sections and sentences common to all families: conditions, distributions, pictures, files and the run."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.records import record
from kgreason.base.resources import VERSION
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.release.report.charts import Series, series_charts
from kgreason.release.report.report_data import FILES, SHARED, Finding, Report, Section, Table, term_of
from kgreason.release.table_layout import table_of
from kgreason.release.verdicts import Examined, State

if TYPE_CHECKING:
    import numpy as np
    from jinja2.environment import TemplateModule

    from kgreason.language.check.checked_program import CheckedProgram


FRESH = "none: drawn by the operating system"
ORDER: list[State] = ["fails", "undecided", "given up", "holds"]


@record
class Run:
    """Parameters of an anonymization call: parameters by name (plain data for JSON), seed, and rules if any.

    `sampling` is a generator for samples in reports; copied, so that samples are repeatable. `None`: no samples.
    """

    parameters: Mapping[str, Any]
    seed: int | None = None
    program: CheckedProgram | None = field(default=None, compare=False, repr=False)
    sampling: np.random.Generator | None = field(default=None, compare=False, repr=False)

    @property
    def generator(self) -> np.random.Generator | None:
        """A copy of `sampling`."""
        return deepcopy(self.sampling)

    def whole(self) -> dict[str, Any]:
        """Parameters, seed and versions."""
        return {**self.parameters, "seed": FRESH if self.seed is None else self.seed, **versions()}


def rule_files(program: CheckedProgram) -> list[str]:
    """Names of the rule files, without folders."""
    return [Path(name).name for name in program.sources if Path(name).suffix]


def versions() -> dict[str, str]:
    """Versions of dependencies that affect results, and the machine type."""
    from importlib.metadata import version

    return {
        "kgreason": VERSION,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "platform": platform.platform(),
    }


def findings(verdict: Examined) -> tuple[Finding, ...]:
    """Findings of all conditions, in order: failed, undecided or given up, holding."""
    items = sorted(verdict.items, key=lambda item: ORDER.index(item.state))
    found = [Finding(i.name, i.state, i.detail, i.witnesses, term_of(i.name)) for i in items]
    for name, _, what in (text.partition(": ") for text in verdict.needs_original):
        detail = f"needs the original: {what}"
        found.append(Finding(name, "undecided", detail, (), term_of(name)))
    return tuple(found)


def distributions(released: KnowledgeGraph, original: KnowledgeGraph | None = None) -> Section:
    """Distributions of degrees and weights in the release and, if given, in the original graph."""
    lead = "How many edges the vertices of the release have, and what their weights are."
    if original is not None:
        lead = "How many edges vertices have, and what the weights are, in the original and in the release."
    charts = tuple(series_charts(_series, released, original))
    return Section("Distributions", f"{lead} {SHARED['degrees']}", charts)


def _series(graph: KnowledgeGraph) -> dict[str, Series]:
    weights = {
        f"Weights of {name}": Series("weight", relation.weight, f"edges of {name}", "weight")
        for name, relation in graph.relations.items()
        if relation.weight is not None
    }
    return {
        "In-degree": Series("incoming edges", graph.in_degree(), "vertices", "in-degree"),
        "Out-degree": Series("outgoing edges", graph.out_degree(), "vertices", "out-degree"),
        **weights,
    }


def drawn(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, rng: np.random.Generator | None
) -> tuple[Section, ...]:
    """Section with pictures before and after; empty without a random generator or vertices."""
    from kgreason.release.report.pictures import pictures

    if rng is None or not original.n:
        return ()
    lead = (
        "The same part of the graph before and after; synthetic vertices and edges are marked. Only the owner sees "
        "this: the release does not mark them."
    )
    return (Section("Picture", lead, pictures(original, released, mapping, rng)),)


def files_section(names: Iterable[str], known: Mapping[str, str]) -> Section:
    """Section with a description of each release file, found by its full name or its table name."""
    texts = {**known, **FILES["shared"]}
    rows = tuple(
        (name, texts.get(name) or texts.get(table_of(name), "a table of the release"))
        for name in sorted(names)
    )
    return Section("Files", "How to read the release.", (Table("Files", ("file", "what it is"), rows),))


def limits_section(limits: Iterable[tuple[str, str]]) -> Section:
    """Section on what the guarantee does not cover, one row per subject."""
    return Section("Limits", SHARED["limits"], (Table("Limits", ("what", "how far"), tuple(limits)),))


def run_section(seconds: Mapping[str, float], done: Mapping[str, object]) -> Section:
    """Section with seconds per stage and statistics of the algorithm."""
    times = tuple((stage, f"{s:.2f}") for stage, s in seconds.items())
    items = [Table("Time", ("stage", "seconds"), times, note="of the machine that made the release")]
    if done:
        rows = tuple((name.replace("_", " "), _plain(value)) for name, value in done.items())
        items.append(Table("What the algorithm did", ("figure", "value"), rows))
    lead = "What it took, and with which parameters and versions it can be repeated."
    return Section("The run", lead, tuple(items))


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(v)}" for name, v in value.items())
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def published(
    title: str,
    verdict: str,
    done: str,
    safe: str,
    sections: Sequence[Section],
    *,
    state: State,
    seeded: bool,
    warnings: Sequence[str] = (),
) -> Report:
    """Public report, whose only parameter is the version of kgreason, without information on the machine."""
    warned = (*([SHARED["seeded_public"]] if seeded else []), *warnings)
    return Report(title, False, state, verdict, done, safe, tuple(sections), {"kgreason": VERSION}, warned)


def state_words(verdict: Examined) -> str:
    """Result of a verdict in a few words."""
    if verdict.nothing_against and not verdict.as_promised:
        return "was not refuted by a sample, which is no proof"
    return {
        "holds": "holds",
        "given up": _given_up(verdict),
        "undecided": "was not decided",
        "fails": "does not hold",
    }[verdict.state]


def _given_up(verdict: Examined) -> str:
    """Result of a verdict that holds but for what the release gives up, in words."""
    parts = any(item.given_up and item.name != "series" for item in verdict.items)
    series = any(item.given_up and item.name == "series" for item in verdict.items)
    return f"holds{' within parts' * parts}{', but not for all of the series' * series}"


def safe_for_owner(verdict: Examined, kept: str, undecided: str, *, seeded: bool, refuted: str = "") -> str:
    """Sentence for the owner on why a release is safe or not.

    Parameters
    ----------
    kept
        Sentence for the case that the guarantee holds.
    undecided
        Reason for which the check was not decided, as the subject of a sentence.
    refuted
        What does not hold; empty: the names of the conditions.
    """
    values = {"verdict": verdict, "kept": kept, "undecided": undecided, "seeded": seeded, "refuted": refuted}
    return sentence("safe_for_owner", **values)


def safe_for_everybody(kept: str, *, confirmed: bool, seeded: bool) -> str:
    """Sentence for recipients: `kept`, or why a release is not safe."""
    if seeded:
        return SHARED["not_public"]
    if confirmed:
        return kept
    return "What is promised here was checked and not confirmed: it is not safe, and must not be published."


def sentence(name: str, /, **values: object) -> str:
    """Sentence from a template, with its values."""
    return plain(getattr(_sentences(), name)(**values))


@cache
def _sentences() -> TemplateModule:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("kgreason.release.report")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("sentences.txt").module


def plain(text: str) -> str:
    """Join the lines of a text into one."""
    return " ".join(text.split())
