"""Score and result of an anonymization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgreason.base.printable import Displayed
from kgreason.base.records import entries
from kgreason.release.pipeline import Result

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.definition import Release
    from kgreason.isomorphism.utility.detection_auc import Detection
    from kgreason.isomorphism.utility.query_utility import Fidelity, Utility
    from kgreason.isomorphism.verification.verdict import Verdict


@dataclass(frozen=True)
class Score(Displayed):
    """Utility of query answers, fidelity and detection AUC of a release."""

    utility: Utility
    fidelity: Fidelity
    detection: Detection

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

    def figures_by_name(self) -> dict[str, Any]:
        """Results for JSON other than the verdict and the times."""
        return {
            "guarantee": str(self.release.guarantee),
            "derived": list(self.derived),
            "original": {"vertices": self.original.n, "edges": self.original.m},
            **self.score.as_dict(),
            "figures": dict(self.release.figures),
            "plans": [entries(plan) for plan in self.release.plans],
        }
