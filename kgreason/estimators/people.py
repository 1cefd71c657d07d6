"""Estimators of graphs of people: cdga, ckga, pckga, ctkga, k-degree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from kgreason.choices import Construction, LeftOut, Loss, Mode, Partition, PeopleMethod, Sequence
from kgreason.estimators.base import Estimator
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.api.people import Levels
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.graph.people.model import PeopleGraph
    from kgreason.graph.people.sources import Schema
    from kgreason.people.release import PeopleAnonymization
    from kgreason.release.publication import Folders


class _OfPeople(Estimator):
    """What anonymizers of graphs of people share.

    Attributes
    ----------
    result_, released_, verdict_, score_, mapping_, removed_
        The `kgreason.PeopleAnonymization`, and of it the graph to publish, what the checker found, what information is
        lost (`None` if that could not be measured), who is who, and who is not released.
    """

    result_: PeopleAnonymization
    released_: PeopleGraph
    verdict_: PeopleVerdict
    score_: Utility | None
    removed_: list[str]
    _fitted = (*Estimator._fitted, "score_", "removed_")
    _method: ClassVar[PeopleMethod]

    def fit(
        self,
        X: PeopleGraph | Schema | Path | str,
        y: None = None,  # noqa: ARG002
        *,
        progress: Progress = SILENT,
    ) -> Self:
        """Anonymize a graph of people, verify and score the release.

        Parameters
        ----------
        X
            A graph, or a schema (`kgreason.people_schema` of tables), or its file.
        y
            Without effect; there for scikit-learn.
        progress
            Is told the steps.

        Raises
        ------
        DataError, AnonymizationError
            As `kgreason.anonymize_people`.
        """
        from kgreason.api import anonymize_people

        result = anonymize_people(X, method=self._method, progress=progress, **self.get_params())
        self.result_, self.released_ = result, result.release.graph
        self.verdict_, self.score_ = result.verdict, result.utility
        self.mapping_, self.removed_ = result.mapping, result.removed
        return self

    def fit_transform(
        self, X: PeopleGraph | Schema | Path | str, y: None = None, *, progress: Progress = SILENT
    ) -> PeopleGraph:
        """`fit`, and return the graph to publish; whether it may be published, `verdict_` tells."""
        return self.fit(X, y, progress=progress).released_


@dataclass(eq=False, repr=False, kw_only=True)
class _Clustering(_OfPeople):
    """Parameters of the methods that cluster users."""

    mode: Mode = "exact"
    clustering: str | None = None
    tau: float = 1.0
    omega: float = 0.01
    epsilon: int | None = None
    dimensions: int = 50
    seed: int | None = None
    folders: Folders | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CDGA(_Clustering):
    """Paired k-degree anonymity of directed graphs without attributes: equal in- and out-degrees in each relation.

    Parameters
    ----------
    k, mode, clustering, partition, tau, omega, epsilon, dimensions, seed, folders
        As for `kgreason.anonymize_people`.

    References
    ----------
    THESIS, chapter 3; docs/people.md.

    Examples
    --------
    >>> from kgreason import PeopleGraph
    >>> links = [("Ken", "follows", "Mary"), ("Mary", "follows", "Tom"), ("Tom", "follows", "Jane")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], [], links)
    >>> CDGA(k=2).fit(graph).verdict_.holds
    True
    """

    _method = "cdga"

    k: int = 3
    partition: Partition | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CKGA(_Clustering):
    """k-attribute-degree anonymity: equal values and degrees, with one k for all users.

    Parameters
    ----------
    k, mode, loss, alpha, clustering, partition, tau, omega, epsilon, dimensions, seed, folders
        As for `kgreason.anonymize_people`.

    References
    ----------
    THESIS, chapter 4; docs/people.md.

    Examples
    --------
    >>> from kgreason import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> anonymizer = CKGA(k=2).fit(graph)
    >>> anonymizer.verdict_.holds, anonymizer.removed_
    (True, [])
    """

    _method = "ckga"

    k: int = 3
    loss: Loss = "adm"
    alpha: float = 0.5
    partition: Partition | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class PCKGA(_Clustering):
    """Personalized k-attribute-degree anonymity: equal values and degrees, with a k for each user.

    Parameters
    ----------
    k, k_values, mode, loss, alpha, clustering, partition, tau, removal_price
        As for `kgreason.anonymize_people`.
    omega, epsilon, dimensions, seed, folders
        As for it, too.

    References
    ----------
    PCKGA, section 3; docs/people.md.

    Examples
    --------
    >>> from kgreason import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> anonymizer = PCKGA(k_values={"Ken": 2, "Mary": 2, "Tom": 2, "Jane": 2})
    >>> released = anonymizer.fit_transform(graph)
    >>> released.n, anonymizer.verdict_.holds
    (4, True)
    """

    _method = "pckga"

    k: int | None = None
    k_values: Levels | None = None
    loss: Loss = "adm"
    alpha: float = 0.5
    partition: Partition | None = None
    removal_price: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class CTKGA(_Clustering):
    """k-attribute-degree anonymity over any w consecutive releases of a graph that changes.

    Parameters
    ----------
    k, mode, loss, alpha, clustering, tau, omega, epsilon, dimensions, window, left_out, after, seed, folders
        As for `kgreason.anonymize_people`.

    References
    ----------
    THESIS, chapter 5; docs/people.md.

    Examples
    --------
    >>> from kgreason import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> CTKGA(k=2, window=2).fit(graph).verdict_.model
    'kw-tad'
    """

    _method = "ctkga"

    k: int = 3
    loss: Loss = "adm"
    alpha: float = 0.5
    window: int = 3
    left_out: LeftOut = "withhold"
    after: Path | str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class KDegree(_OfPeople):
    """Every degree that occurs in an undirected graph is that of k users at least.

    Parameters
    ----------
    k, sequence, construction, tries, seed, folders
        As for `kgreason.anonymize_people`.

    References
    ----------
    K. Liu, E. Terzi: Towards identity anonymization on graphs, SIGMOD 2008; docs/k_degree.md.

    Examples
    --------
    >>> from kgreason import PeopleGraph
    >>> links = [("Ken", "mail", "Mary"), ("Mary", "mail", "Tom"), ("Tom", "mail", "Jane")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], [], links, mutual=["mail"])
    >>> KDegree(k=2).fit_transform(graph).out_degrees().ravel().tolist().count(1)
    2
    """

    _method = "k-degree"

    k: int = 3
    sequence: Sequence = "dp"
    construction: Construction = "relaxed"
    tries: int = 100
    seed: int | None = None
    folders: Folders | None = None
