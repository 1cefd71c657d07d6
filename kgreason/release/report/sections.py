"""Report sections common to all families: conditions, distributions, pictures, files and the run."""

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
from kgreason.release.report.report_data import FILES, TEXTS, Finding, Report, Section, State, Table, term_of
from kgreason.release.table_layout import table_of
from kgreason.release.verdicts import Examined

if TYPE_CHECKING:
    import numpy as np

    from kgreason.language.check.checked_program import CheckedProgram

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

FRESH = "none: drawn by the operating system"


@dataclass(frozen=True)
class Run:
    """Parameters of an anonymization call.

    Attributes
    ----------
    parameters
        Parameters by name, as plain data for JSON.
    seed
        Seed of the generator; `None`: seeded by the operating system.
    program
        The rules, if any.
    sampling
        Generator for samples in reports; copied, so that samples are repeatable. `None`: no samples.
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


SHARED = TEXTS["shared"]
ORDER: list[State] = ["fails", "undecided", "given up", "holds"]


def findings(verdict: Examined) -> tuple[Finding, ...]:
    """Findings of all conditions, in order: failed, undecided or given up, holding."""
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
    """Distributions of degrees and weights in the release and, if given, in the original graph."""
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
    """Section with pictures before and after; empty without a random generator or vertices."""
    from kgreason.release.report.pictures import pictures

    if rng is None or not original.n:
        return ()
    lead = (
        "The same part of the graph before and after; synthetic vertices and edges are marked. Only you see this: "
        "the release does not tell which they are."
    )
    return (Section("Picture", lead, pictures(original, released, mapping, rng)),)


def files_section(names: Iterable[str], known: Mapping[str, str]) -> Section:
    """Section with a description of each release file, found by its full name or its table name."""
    said = {**known, **FILES["shared"]}
    rows = tuple(
        (name, said.get(name) or said.get(table_of(name), "a table of the release")) for name in sorted(names)
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
    """Public report, whose only parameter is the version of kgreason, without information on the machine."""
    told = (*([SHARED["seeded_public"]] if seeded else []), *warnings)
    return Report(title, False, state, verdict, done, safe, tuple(sections), {"kgreason": VERSION}, told)


SHARED = TEXTS["shared"]


STATES = {
    "holds": "holds",
    "given up": "holds within parts",
    "undecided": "was not decided",
    "fails": "does not hold",
}


def state_words(verdict: Examined) -> str:
    """Result of a verdict in a few words."""
    if verdict.nothing_against and not verdict.as_promised:
        return "was not refuted by a sample, which is no proof"
    return STATES[verdict.state]


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
    return said(
        "safe_for_owner", verdict=verdict, kept=kept, undecided=undecided, seeded=seeded, refuted=refuted
    )


def safe_for_everybody(kept: str, *, confirmed: bool, seeded: bool) -> str:
    """Sentence for recipients: `kept`, or why a release is not safe."""
    if seeded:
        return SHARED["not_public"]
    if confirmed:
        return kept
    return "What is promised here was checked and not confirmed: it is not safe, and must not be published."


def said(name: str, /, **values: object) -> str:
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
