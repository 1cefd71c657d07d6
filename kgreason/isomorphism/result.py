"""Score and result of an anonymization."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgreason.base.printable import Displayed
from kgreason.base.records import entries
from kgreason.release.pipeline import Result

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.attacks.edge_filter import Withstood
    from kgreason.isomorphism.definition import Release
    from kgreason.isomorphism.utility.detection_auc import Detection
    from kgreason.isomorphism.utility.edge_detection import EdgeDetection
    from kgreason.isomorphism.utility.query_utility import Fidelity, Utility
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.release.report.candidate_tables import Candidates


@dataclass(frozen=True)
class Score(Displayed):
    """Utility of answers and derived edges, fidelity, and detection of synthetic vertices and edges of a release.

    `withstood` is the guarantee that remains where the most suspicious edges are removed; `None`: not measured.
    """

    utility: Utility
    fidelity: Fidelity
    detection: Detection
    edge_detection: EdgeDetection
    withstood: Withstood | None

    def __repr__(self) -> str:
        return (
            f"<Score: U {self.utility.u:.3f}, U△ {self.utility.u_symmetric:.3f}; detection: {self.detection}>"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return {
            "utility": self.utility.as_dict(),
            "fidelity": self.fidelity.as_dict(),
            "detection": self.detection.as_dict(),
            "edge_detection": self.edge_detection.as_dict(),
            "withstood": self.withstood and self.withstood.as_dict(),
        }


@dataclass(frozen=True)
class Anonymization(Result):
    """Anonymized graph with its verdict and scores.

    Attributes
    ----------
    original
        The input graph.
    release
        Graph to publish and the secret mapping.
    verdict
        Verdict of the independent checker.
    score
        Utility, fidelity and detection AUC.
    derived
        Derived predicates that the guarantee covers besides the ground edges.
    """

    original: KnowledgeGraph
    release: Release
    verdict: Verdict
    score: Score
    derived: tuple[str, ...]

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<Anonymization: {self.release.guarantee} {found}; U△ {self.score.utility.u_symmetric:.3f}>"

    @property
    def mapping(self) -> dict[str, str]:
        """Released label by original label; secret."""
        labels = self.release.graph.labels[self.release.mapping]
        return dict(zip(self.original.labels.tolist(), labels.tolist(), strict=True))

    @cached_property
    def exposed(self) -> tuple[Candidates, ...]:
        """Candidates of attackers who know degrees or neighbourhoods in the whole graph, before and after."""
        from kgreason.isomorphism.risk.candidate_counts import compared_vertices

        return tuple(compared_vertices(self.original, self.release.graph, self.release.mapping))

    @property
    def unchanged(self) -> bool:
        """Whether the release has the vertices and edges of the original, and no others."""
        guarantee, fidelity = self.release.guarantee, self.score.fidelity
        return not (guarantee.cut or guarantee.deleted or fidelity.vertices_added or fidelity.edges_added)

    def figures_by_name(self) -> dict[str, Any]:
        """Results for JSON other than the verdict and the times."""
        unique = {
            one.knowledge: {"before": one.before.alone, "after": one.after.alone}
            for one in self.exposed
            if one.before and one.after
        }
        return {
            "guarantee": str(self.release.guarantee),
            "derived": list(self.derived),
            "original": {"vertices": self.original.n, "edges": self.original.m},
            **self.score.as_dict(),
            "still_unique": unique,
            "figures": dict(self.release.figures),
            "plans": [entries(plan) for plan in self.release.plans],
        }
