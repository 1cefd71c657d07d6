"""Result of an anonymization of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.links.verification import LinksVerdict
from kgreason.release.pipeline import Result

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import Vertices
    from kgreason.links.anonymizers import LinksRelease
    from kgreason.links.model import LinkGraph, Original
    from kgreason.links.settings import Settings


@dataclass(frozen=True)
class LinksAnonymization(Result):
    """A verified release of links.

    Attributes
    ----------
    original
        The original graph with its sensitive relation.
    release
        The graph to publish and the private mapping.
    asked
        Settings of the anonymization.
    clusters
        Cluster of each entity, int64, shape (n,), private; `None` without clusters.
    verdict
        Findings of the independent checker.
    """

    original: Original
    release: LinksRelease
    asked: Settings
    clusters: Vertices | None
    verdict: LinksVerdict

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<LinksAnonymization: {self.verdict.asked} {found}; {self.utility:.0%} of the links kept>"

    @property
    def mapping(self) -> dict[str, str]:
        """Released node of each original entity; private."""
        released = self.release.released.graph.labels
        pairs = zip(self.original.graph.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[place]) for label, place in pairs}

    @property
    def links(self) -> dict[str, tuple[int, int]]:
        """Number of links of each relation, in the original and in the release."""
        after = self.release.released.graph.observed
        return {
            name: (found.total, after[name].total if name in after else 0)
            for name, found in self.original.graph.observed.items()
        }

    @property
    def utility(self) -> float:
        """Share of the observed links that are released, 1 if there were none (LINKS, section 6.3)."""
        before, after = (sum(numbers) for numbers in zip((0, 0), *self.links.values(), strict=True))
        return after / before if before else 1.0

    @property
    def cluster_sizes(self) -> Vertices:
        """Entities of each cluster, int64; empty without clusters."""
        return np.empty(0, dtype=np.int64) if self.clusters is None else np.bincount(self.clusters)

    def figures_by_name(self) -> dict[str, Any]:
        """JSON output besides the verdict and times."""
        original, asked = self.original, self.asked
        return {
            "method": "links",
            "strategy": asked.strategy,
            "k": asked.k,
            "percent": asked.percent,
            "criterion": asked.criterion,
            "closeness": asked.closeness,
            "clustering": asked.clustering,
            "original": _sizes(original.graph),
            "released": _sizes(self.release.released.graph),
            "sensitive": {
                "name": original.sensitive.name,
                "links": len(original.sensitive),
                "left_out": original.sensitive.left_out,
            },
            "clusters": {
                "number": len(self.cluster_sizes),
                "smallest": int(self.cluster_sizes.min(initial=original.graph.n)),
            }
            if self.clusters is not None
            else None,
            "links": {name: {"original": had, "released": kept} for name, (had, kept) in self.links.items()},
            "utility": self.utility,
        }


def _sizes(graph: LinkGraph) -> dict[str, int]:
    return {
        "nodes": graph.n,
        "values": sum(len(a) for a in graph.attributes.values()),
        "links": sum(found.total for found in graph.observed.values()),
    }
