"""Sections and items that the reports of all families share: conditions, shapes of graphs, pictures, files, the run."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.version import VERSION
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.release.report.charts import Series, series_charts
from kgreason.release.report.report_data import Finding, Report, Section, State, Table
from kgreason.release.report.words import FILES, TEXTS, term_of
from kgreason.release.table_layout import table_of
from kgreason.release.verdicts import Examined

if TYPE_CHECKING:
    import numpy as np

    from kgreason.language.check.checked_program import CheckedProgram

FRESH = "none: drawn by the operating system"


@dataclass(frozen=True)
class Run:
    """How an anonymization was called.

    Attributes
    ----------
    parameters
        By name, ready for JSON.
    seed
        What the generator began with; `None`: the operating system chose.
    program
        The rules, where there are some.
    sampling
        Draws what a report samples; it draws the same each time. `None`: nothing is sampled.
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
    """Names of the files that rules were read from, without folders."""
    return [Path(name).name for name in program.sources if Path(name).suffix]


def versions() -> dict[str, str]:
    """Versions of what a result depends on, and the machine's kind."""
    from importlib.metadata import version

    return {
        "kgreason": VERSION,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "platform": platform.platform(),
    }


SHARED = TEXTS["shared"]
ORDER: list[State] = ["fails", "undecided", "given up", "holds"]


def findings(verdict: Examined) -> tuple[Finding, ...]:
    """All conditions: first those that fail, then those that are not decided or given up, then those that hold."""
    items = sorted(verdict.items, key=lambda item: ORDER.index(item.state))
    alone = (what.partition(": ") for what in verdict.needs_original)
    return (
        *(Finding(i.name, i.state, i.detail, i.witnesses, term_of(i.name)) for i in items),
        *(
            Finding(name, "undecided", f"only the original could tell: {detail}", (), term_of(name))
            for name, _, detail in alone
        ),
    )


def distributions(released: KnowledgeGraph, original: KnowledgeGraph | None = None) -> Section:
    """Degrees and weights, of the release and, if it is given, of the original."""
    lead = (
        "How many edges the vertices of the release have, and what their weights are."
        if original is None
        else "How many edges vertices have, and what the weights are, in the original and in the release."
    )
    return Section(
        "Distributions", f"{lead} {SHARED['degrees']}", tuple(series_charts(_series, released, original))
    )


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
    """The section with a picture before and after; none if nothing may be drawn at random."""
    from kgreason.release.report.pictures import pictures

    if rng is None or not original.n:
        return ()
    lead = (
        "The same part of the graph before and after; synthetic vertices and edges are marked. Only you see this: "
        "the release does not tell which they are."
    )
    return (Section("Picture", lead, pictures(original, released, mapping, rng)),)


def files_section(names: Iterable[str], known: Mapping[str, str]) -> Section:
    """A row for each file of a release, by its whole name or by that before its first dot."""
    said = {**known, **FILES["shared"]}
    rows = tuple(
        (name, said.get(name) or said.get(table_of(name), "a table of the release")) for name in sorted(names)
    )
    return Section("Files", "How to read the release.", (Table("Files", ("file", "what it is"), rows),))


def limits_section(limits: Iterable[tuple[str, str]]) -> Section:
    """What is not promised: a row for each subject."""
    return Section("Limits", SHARED["limits"], (Table("Limits", ("what", "how far"), tuple(limits)),))


def run_section(seconds: Mapping[str, float], done: Mapping[str, object]) -> Section:
    """Seconds by stage, and figures that the algorithm tells of its work."""
    times = tuple((stage, f"{s:.2f}") for stage, s in seconds.items())
    items = [Table("Time", ("stage", "seconds"), times, note="of the machine that made the release")]
    if done:
        rows = tuple((name.replace("_", " "), _said(value)) for name, value in done.items())
        items.append(Table("What the algorithm did", ("figure", "value"), rows))
    lead = "What it took, and with which parameters and versions it can be repeated."
    return Section("The run", lead, tuple(items))


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(v)}" for name, v in value.items())
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
    """A report that is published: its parameters are the version that made it, and nothing of the machine."""
    told = (*([SHARED["seeded_public"]] if seeded else []), *warnings)
    return Report(title, False, state, verdict, done, safe, tuple(sections), {"kgreason": VERSION}, told)
