"""What the functions of `kgreason.api` return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from kgreason.displayed import Displayed
from kgreason.lang.names import suggest
from kgreason.lang.values import plain
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow

    from kgreason.analysis.checked import CheckedProgram
    from kgreason.anonymizers.base import Release
    from kgreason.assess.fidelity import Fidelity
    from kgreason.assess.telling import Telling
    from kgreason.assess.utility import Utility
    from kgreason.assess.verify import Verdict
    from kgreason.engine.stats import Stats
    from kgreason.engine.table import Facts
    from kgreason.errors import Diagnostic
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.lang.values import Value
    from kgreason.report.data import Report
    from kgreason.report.run import Run


def no_output(predicate: str, outputs: Sequence[str]) -> str:
    """Message for a predicate that is none of the outputs."""
    near = suggest(str(predicate), outputs)
    means = f"did you mean {near!r}? " if near else ""
    return f"{predicate!r} is no output; {means}there are {', '.join(outputs) or 'none'}"


@dataclass(frozen=True)
class Reasoned(Displayed):
    """Derived facts by output predicate, and what it took to derive them.

    Attributes
    ----------
    facts, stats
        The facts, as ``@post`` wants them, and counts and times.
    warnings
        What the evaluation had to say, such as a chase that was cut off.
    program
        The rules.
    """

    facts: Facts
    stats: Stats
    warnings: tuple[Diagnostic, ...]
    program: CheckedProgram

    def __repr__(self) -> str:
        return (
            f"<Reasoned: {', '.join(f'{p} {self.facts.count(p):,}' for p in self.predicates) or 'no output'}>"
        )

    @property
    def predicates(self) -> tuple[str, ...]:
        """The output predicates."""
        return tuple(self.facts.tables)

    def rows(self, predicate: str) -> list[tuple[Value, ...]]:
        """Facts of a predicate as Python tuples.

        Raises
        ------
        KeyError
            If it is not among `predicates`.
        """
        self._known(predicate)
        return list(self.facts.rows(predicate))

    def _known(self, predicate: str) -> None:
        if predicate not in self.facts.tables:
            raise KeyError(no_output(predicate, self.predicates))

    def as_dict(self, predicates: Sequence[str], *, profile: bool = False) -> dict[str, Any]:
        """Ready for JSON: counts of all predicates, facts of some; `format` is the version of this layout.

        Dates and labelled nulls are strings, lists and sets arrays. With `profile` each round and join is told.
        """
        facts = {p: [[plain(value) for value in row] for row in self.facts.rows(p)] for p in predicates}
        counts = {p: self.facts.count(p) for p in self.predicates}
        return {"format": 1, "counts": counts, "facts": facts, "stats": self.stats.as_dict(profile=profile)}

    def to_arrow(self, predicate: str) -> pyarrow.Table:
        """Facts of a predicate as an Arrow table; columns are named as head variables where the rules agree."""
        from kgreason.graph.interchange import facts_to_arrow
        from kgreason.output.names import column_names

        self._known(predicate)
        arity = self.facts.tables[predicate].arity
        return facts_to_arrow(self.facts, predicate, column_names(self.program, predicate, arity))

    def to_pandas(self, predicate: str) -> pandas.DataFrame:
        """Facts of a predicate as a pandas frame.

        Raises
        ------
        DataError
            If pandas is not installed.
        """
        from kgreason.graph.interchange import as_frame

        return as_frame(self.to_arrow(predicate))

    def to_polars(self, predicate: str) -> polars.DataFrame:
        """Facts of a predicate as a Polars frame.

        Raises
        ------
        DataError
            If Polars is not installed.
        """
        from kgreason.graph.interchange.arrow import as_polars

        return as_polars(self.to_arrow(predicate))

    def to_networkx(self, predicate: str) -> networkx.MultiDiGraph[str]:
        """Facts of a predicate as a NetworkX graph: edges from the first argument to the second.

        Edges carry ``relation``; a third argument that is a number is their ``weight``, and what follows stands under
        the name of its column.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments.
        """
        from kgreason.graph.interchange.graphs import as_networkx
        from kgreason.graph.interchange.plain import edges_of

        made = as_networkx(edges_of(self.to_arrow(predicate), predicate))
        return cast("networkx.MultiDiGraph[str]", made)

    def to_igraph(self, predicate: str) -> igraph.Graph:
        """Facts of a predicate as a graph of igraph, as `to_networkx`; vertices carry ``name``.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments, or igraph is not installed.
        """
        from kgreason.graph.interchange.graphs import as_igraph
        from kgreason.graph.interchange.plain import edges_of

        return as_igraph(edges_of(self.to_arrow(predicate), predicate))


@dataclass(frozen=True)
class Score(Displayed):
    """What a release is worth: answers kept, distributions kept, and whether synthetic vertices can be told."""

    utility: Utility
    fidelity: Fidelity
    telling: Telling

    def __repr__(self) -> str:
        return f"<Score: U {self.utility.u:.3f}, U△ {self.utility.u_symmetric:.3f}; told: {self.telling}>"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "utility": self.utility.as_dict(),
            "fidelity": self.fidelity.as_dict(),
            "telling": self.telling.as_dict(),
        }


@dataclass(frozen=True)
class Anonymization(Displayed):
    """An anonymized graph with its proof and its scores.

    Attributes
    ----------
    original
        The input graph.
    release
        The graph to publish and the secret mapping.
    verdict
        What the independent checker found.
    score
        Utility, fidelity, and whether synthetic vertices can be told.
    derived
        The derived predicates that the guarantee covers besides the ground edges.
    seconds
        Time of each stage by name.
    run
        How it was called.
    """

    original: KnowledgeGraph
    release: Release
    verdict: Verdict
    score: Score
    derived: tuple[str, ...]
    seconds: Mapping[str, float]
    run: Run

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<Anonymization: {self.release.guarantee} {found}; U△ {self.score.utility.u_symmetric:.3f}>"

    @property
    def holds(self) -> bool:
        """Whether the guarantee, with all that it gives up, was confirmed for every subgraph."""
        return self.verdict.as_promised

    @property
    def mapping(self) -> dict[str, str]:
        """Released label of each original label: the secret."""
        labels = self.release.graph.labels[self.release.mapping]
        return dict(zip(self.original.labels.tolist(), labels.tolist(), strict=True))

    def report(self, progress: Progress = SILENT) -> Report:
        """The owner's report: what was protected, at what price, from whom; secret (docs/report.md)."""
        from kgreason.report.rules import private_report

        return private_report(self, self.run, progress)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the graphs, ready for JSON; `format` is the version of this layout."""
        return {
            "format": 1,
            "kgreason": version(),
            "guarantee": str(self.release.guarantee),
            "derived": list(self.derived),
            "original": {"vertices": self.original.n, "edges": self.original.m},
            "verdict": self.verdict.as_dict(),
            **self.score.as_dict(),
            "figures": dict(self.release.figures),
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }

    def summary(self) -> dict[str, Any]:
        """`as_dict` without witnesses, which name original vertices: for terminals and logs."""
        whole = self.as_dict()
        items = [{k: v for k, v in item.items() if k != "witnesses"} for item in whole["verdict"]["items"]]
        return whole | {"verdict": whole["verdict"] | {"items": items}}


def version() -> str:
    """Version of kgreason."""
    from kgreason import __version__

    return __version__


class Clock:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = perf_counter()
        self.laps[stage] = now - self._last
        self._last = now
