"""Result of an anonymization of a graph of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgreason.people.utility.attribute_utility import Utility
from kgreason.people.verification.verdict import PeopleVerdict
from kgreason.release.pipeline import Result

if TYPE_CHECKING:
    from kgreason.people.anonymizers.generalization import PeopleRelease
    from kgreason.people.model import PeopleGraph
    from kgreason.people.settings import Settings


@dataclass(frozen=True)
class PeopleAnonymization(Result):
    """A verified release of a graph of people, with its utility.

    Attributes
    ----------
    original
        The original graph.
    release
        The graph to publish and the private mapping.
    settings
        Settings of the anonymization.
    verdict
        Findings of the independent checker.
    utility
        Information loss; `None` if it could not be measured.
    """

    original: PeopleGraph
    release: PeopleRelease
    settings: Settings
    verdict: PeopleVerdict
    utility: Utility | None

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<PeopleAnonymization: {self.verdict.asked} {found}; {_lost(self.utility)}>"

    @property
    def mapping(self) -> dict[str, str]:
        """Released label of each released original user; private."""
        released = self.release.graph.labels
        pairs = zip(self.original.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[place]) for label, place in pairs if place >= 0}

    @property
    def removed(self) -> list[str]:
        """Original users that are not released."""
        return sorted(self.original.labels[self.release.mapping < 0].tolist())

    def as_dict(self) -> dict[str, Any]:
        """All results but the graphs, as plain data for JSON; `format` is the version of this layout."""
        return super().as_dict() | {"removed": self.removed}

    def figures_by_name(self) -> dict[str, Any]:
        """JSON output besides the verdict and times."""
        return {
            "method": self.settings.method,
            "guarantee": self.verdict.asked,
            "original": _sizes(self.original),
            "released": _sizes(self.release.graph),
            "utility": None if self.utility is None else self.utility.as_dict(),
            "figures": dict(self.release.figures),
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
