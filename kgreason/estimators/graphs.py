"""Estimators of graphs under rules: KGUARD, KLONE, k-Iso."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kgreason.choices import Method, Mode
from kgreason.estimators.base import Estimator
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.api import Rules
    from kgreason.api.given import GraphData
    from kgreason.assess.verdict import Verdict
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.isomorphism.release import Anonymization, Score
    from kgreason.release.publication import Folders


class _OfGraphs(Estimator):
    """What anonymizers of graphs under rules share.

    Attributes
    ----------
    result_, released_, verdict_, score_, mapping_
        The `kgreason.Anonymization`, and of it the graph to publish, what the checker found, utility and fidelity, and
        who is who.
    """

    result_: Anonymization
    released_: KnowledgeGraph
    verdict_: Verdict
    score_: Score
    _fitted = (*Estimator._fitted, "score_")
    _method: ClassVar[Method]

    def fit(self, X: GraphData | None = None, y: None = None, *, progress: Progress = SILENT) -> Self:  # noqa: ARG002
        """Anonymize a graph, verify and score the release.

        Parameters
        ----------
        X
            As for `kgreason.read_graph`: a file or table for each predicate, a graph, a table of edges; `None`: the
            data that the rules name.
        y
            Without effect; there for scikit-learn.
        progress
            Is told the steps.

        Raises
        ------
        ProgramError, DataError, EvaluationError, AnonymizationError
            As `kgreason.anonymize`.
        """
        from kgreason.api import anonymize

        given = self.get_params()
        result = anonymize(given.pop("rules"), X, method=self._method, progress=progress, **given)
        self.result_, self.released_ = result, result.release.graph
        self.verdict_, self.score_, self.mapping_ = result.verdict, result.score, result.mapping
        return self

    def fit_transform(
        self, X: GraphData | None = None, y: None = None, *, progress: Progress = SILENT
    ) -> KnowledgeGraph:
        """`fit`, and return the graph to publish; whether it may be published, `verdict_` tells."""
        return self.fit(X, y, progress=progress).released_


@dataclass(eq=False, repr=False)
class _UnderRules(_OfGraphs):
    """Parameters of all methods."""

    rules: Rules
    _: KW_ONLY
    k: int = 3
    x: int | Iterable[int] = 4
    trials: int = 10
    max_subgraphs: int | None = None
    seed: int | None = None
    folders: Folders | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class KGUARD(_UnderRules):
    """(k,x)-isomorphism by few additions: protects the connected parts of x vertices.

    Parameters
    ----------
    rules, k, x, mode, trials, max_subgraphs, split, keep_cuts, seed, folders
        As for `kgreason.anonymize`.

    References
    ----------
    KGISO, algorithm KGUARD; docs/anonymization.md.

    Examples
    --------
    >>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
    >>> anonymizer = KGUARD(rules, k=2, x=2)
    >>> released = anonymizer.fit_transform({"own": [("A", "B", 0.6), ("B", "C", 0.3)]})
    >>> anonymizer.verdict_.state, anonymizer.score_.utility.u
    ('holds', 0.0)
    """

    _method = "kguard"

    mode: Mode = "exact"
    split: int | None = None
    keep_cuts: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class KLONE(_UnderRules):
    """(k,x)-isomorphism for every x, by k - 1 copies of the whole graph.

    Parameters
    ----------
    rules, k, trials, max_subgraphs, split, keep_cuts, seed, folders
        As for `kgreason.anonymize`.
    x
        Numbers of vertices that are verified; all are protected.

    References
    ----------
    KGISO, algorithm KLONE; docs/anonymization.md.

    Examples
    --------
    >>> anonymizer = KLONE('@edge("own"). p(X,Y) :- own(X,Y).', k=2, x=2)
    >>> str(anonymizer.fit({"own": [("A", "B"), ("B", "C")]}).result_.release.guarantee)
    '(2,x)-isomorphism for every x'
    """

    _method = "klone"

    split: int | None = None
    keep_cuts: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class KIso(_UnderRules):
    """k isomorphic blocks without edges between them: the baseline, which protects neither derived edges nor degrees.

    Parameters
    ----------
    rules, k, trials, max_subgraphs, seed, folders
        As for `kgreason.anonymize`.
    x
        Numbers of vertices of the parts of which δ is told; none is protected.

    References
    ----------
    J. Cheng, A. W. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks, SIGMOD
    2010.

    Examples
    --------
    >>> edges = [("A", "B"), ("C", "D"), ("E", "F")]
    >>> KIso('@edge("own"). p(X,Y) :- own(X,Y).', k=2, x=2).fit({"own": edges}).verdict_.model
    'k-iso'
    """

    _method = "k-iso"
