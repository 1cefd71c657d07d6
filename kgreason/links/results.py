"""What `kgreason.anonymize_links` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.displayed import Displayed
from kgreason.progress import SILENT, Progress
from kgreason.results import version

if TYPE_CHECKING:
    from kgreason.anonymizers.links.publish import LinksRelease
    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.choices import Strategy
    from kgreason.graph.links.model import LinkGraph, Original
    from kgreason.graph.model import Vertices
    from kgreason.report.data import Report
    from kgreason.report.run import Run


@dataclass(frozen=True)
class Asked:
    """How links are to be anonymized.

    Attributes
    ----------
    strategy
        What is released of them.
    k
        Least number of entities of a cluster; `None`: no clusters are made, for nothing of them would show.
    percent
        Of ``"partial"``: share of the links of each relation that is left out; else `None`.
    clustering
        How clusters are found; `None`: they were given, or there are none.
    """

    strategy: Strategy
    k: int | None
    percent: float | None = None
    clustering: str | None = None


@dataclass(frozen=True)
class LinksAnonymization(Displayed):
    """An anonymized graph of links with its proof.

    Attributes
    ----------
    original
        The input graph, with its secret.
    release
        The graph to publish and the secret mapping.
    asked
        How it was made.
    clusters
        Cluster of each entity, int64, shape (n,): part of the secret; `None` where none were made.
    verdict
        What the independent checker found.
    seconds
        Time of each stage by name.
    run
        How it was called.
    """

    original: Original
    release: LinksRelease
    asked: Asked
    clusters: Vertices | None
    verdict: LinksVerdict
    seconds: Mapping[str, float]
    run: Run

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<LinksAnonymization: {self.verdict.asked} {found}; {self.utility:.0%} of the links kept>"

    @property
    def holds(self) -> bool:
        """Whether the checker confirmed that the release is what its strategy says."""
        return self.verdict.holds

    @property
    def mapping(self) -> dict[str, str]:
        """Released node of each original entity: the secret."""
        released = self.release.released.graph.labels
        pairs = zip(self.original.graph.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[place]) for label, place in pairs}

    @property
    def links(self) -> dict[str, tuple[int, int]]:
        """Observed links of each relation, in the original and in the release."""
        after = self.release.released.graph.observed
        return {
            name: (found.total, after[name].total if name in after else 0)
            for name, found in self.original.graph.observed.items()
        }

    @property
    def utility(self) -> float:
        """Share of the observed links that are in the release, 1 where there were none (LINKS, section 6.3)."""
        before, after = (sum(numbers) for numbers in zip((0, 0), *self.links.values(), strict=True))
        return after / before if before else 1.0

    @property
    def cluster_sizes(self) -> Vertices:
        """Entities of each cluster, int64; empty where none were made."""
        return np.empty(0, dtype=np.int64) if self.clusters is None else np.bincount(self.clusters)

    def report(self, progress: Progress = SILENT) -> Report:
        """The owner's report: what was protected, at what price, from whom; secret (docs/report.md)."""
        from kgreason.report.links import private_report

        return private_report(self, self.run, progress)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the graphs, ready for JSON; `format` is the version of this layout."""
        return self.summary() | {"verdict": self.verdict.as_dict()}

    def summary(self) -> dict[str, Any]:
        """`as_dict` without what names entities of the original: for terminals and logs of the owner."""
        whole = self.verdict.as_dict()
        items = [{k: v for k, v in item.items() if k != "witnesses"} for item in whole["items"]]
        original, asked = self.original, self.asked
        return {
            "format": 1,
            "kgreason": version(),
            "method": "links",
            "strategy": asked.strategy,
            "k": asked.k,
            "percent": asked.percent,
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
            "verdict": whole | {"items": items},
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }


def _sizes(graph: LinkGraph) -> dict[str, int]:
    return {
        "nodes": graph.n,
        "values": sum(len(a) for a in graph.attributes.values()),
        "links": sum(found.total for found in graph.observed.values()),
    }
