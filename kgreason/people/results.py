"""What `kgreason.anonymize_people` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgreason.displayed import Displayed
from kgreason.progress import SILENT, Progress
from kgreason.results import version

if TYPE_CHECKING:
    from kgreason.anonymizers.people.publish import PeopleRelease
    from kgreason.anonymizers.people.settings import Settings
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.graph.people.model import PeopleGraph
    from kgreason.report.data import Report
    from kgreason.report.run import Run


@dataclass(frozen=True)
class PeopleAnonymization(Displayed):
    """An anonymized graph of people with its proof and its scores.

    Attributes
    ----------
    original
        The input graph.
    release
        The graph to publish and the secret mapping.
    settings
        How it was made.
    verdict
        What the independent checker found.
    utility
        What information was lost; `None` if that could not be measured.
    seconds
        Time of each stage by name.
    run
        How it was called.
    """

    original: PeopleGraph
    release: PeopleRelease
    settings: Settings
    verdict: PeopleVerdict
    utility: Utility | None
    seconds: Mapping[str, float]
    run: Run

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<PeopleAnonymization: {self.verdict.asked} {found}; {_lost(self.utility)}>"

    @property
    def holds(self) -> bool:
        """Whether the guarantee was confirmed for every user."""
        return self.verdict.holds

    @property
    def mapping(self) -> dict[str, str]:
        """Released label of each original user who is released: the secret."""
        released = self.release.graph.labels
        pairs = zip(self.original.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[place]) for label, place in pairs if place >= 0}

    @property
    def removed(self) -> list[str]:
        """Users of the original who are not released."""
        return sorted(self.original.labels[self.release.mapping < 0].tolist())

    def report(self, progress: Progress = SILENT) -> Report:
        """The owner's report: what was protected, at what price, from whom; secret (docs/report.md)."""
        from kgreason.report.people import private_report

        return private_report(self, self.run, progress)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the graphs, ready for JSON; `format` is the version of this layout."""
        return self.summary() | {"verdict": self.verdict.as_dict(), "removed": self.removed}

    def summary(self) -> dict[str, Any]:
        """`as_dict` without what names users of the original: for terminals and logs."""
        whole = self.verdict.as_dict()
        items = [{k: v for k, v in item.items() if k != "witnesses"} for item in whole["items"]]
        original, graph = self.original, self.release.graph
        return {
            "format": 1,
            "kgreason": version(),
            "method": self.settings.method,
            "guarantee": self.verdict.asked,
            "original": _sizes(original),
            "released": _sizes(graph),
            "verdict": whole | {"items": items},
            "utility": None if self.utility is None else self.utility.as_dict(),
            "figures": dict(self.release.figures),
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }


def _lost(utility: Utility | None) -> str:
    if utility is None:
        return "what is lost was not measured"
    edges = utility.structure
    return (
        f"AIL {utility.ail:.4f}"
        if edges is None
        else f"{edges.added:,} edges added, {edges.removed:,} left out"
    )


def _sizes(graph: PeopleGraph) -> dict[str, int]:
    return {
        "users": graph.n,
        "values": sum(len(a) for a in graph.attributes.values()),
        "links": sum(len(r) for r in graph.relations.values()),
    }
