"""Estimator of graphs of links: the five strategies that leave a sensitive relation out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kgreason.choices import Strategy
from kgreason.estimators.base import Estimator
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.api import Rules
    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.graph.links.model import Original, Released
    from kgreason.graph.people.sources import Schema
    from kgreason.links.arguments import Clusters
    from kgreason.links.release import LinksAnonymization
    from kgreason.release.publication import Folders

    Data = Original | Schema | Path | str | Mapping[str, Any] | None


class _OfLinks(Estimator):
    result_: LinksAnonymization
    released_: Released
    verdict_: LinksVerdict
    score_: float
    _fitted = (*Estimator._fitted, "score_")


@dataclass(eq=False, repr=False, kw_only=True)
class Links(_OfLinks):
    """A graph of links without its sensitive relation, made by one of five strategies.

    Parameters
    ----------
    rules, sensitive, strategy, k, percent, clustering, clusters, seed, folders
        As for `kgreason.anonymize_links`.

    Attributes
    ----------
    result_, released_, verdict_, score_, mapping_
        The `kgreason.LinksAnonymization`, and of it what is published, what the checker found, the share of the links
        that is kept (better is 1), and who is who.

    References
    ----------
    LINKS, section 4; docs/links.md.

    Examples
    --------
    >>> from kgreason import people_schema
    >>> names = list("abcdef")
    >>> seats = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
    >>> data = people_schema({"name": names}, id="name", links={"sits by": seats, "likes": [("a", "f")]})
    >>> anonymizer = Links(sensitive="likes", k=2)
    >>> anonymizer.fit_transform(data).graph.n, anonymizer.verdict_.holds, anonymizer.score_
    (3, True, 1.0)
    """

    rules: Rules | None = None
    sensitive: str | None = None
    strategy: Strategy = "cluster-edge"
    k: int | None = None
    percent: float | None = None
    clustering: str | None = None
    clusters: Clusters | None = None
    seed: int | None = None
    folders: Folders | None = None

    def fit(self, X: Data = None, y: None = None, *, progress: Progress = SILENT) -> Self:  # noqa: ARG002
        """Make a release of links, and check it.

        Parameters
        ----------
        X
            What `kgreason.read_links` returns, or a schema (`kgreason.people_schema` of tables), or its file; with
            rules a file or table for each predicate.
        y
            Without effect; there for scikit-learn.
        progress
            Is told the steps.

        Raises
        ------
        DataError, AnonymizationError
            As `kgreason.anonymize_links`.
        """
        from kgreason.api import anonymize_links

        result = anonymize_links(X, progress=progress, **self.get_params())
        self.result_, self.released_ = result, result.release.released
        self.verdict_, self.score_, self.mapping_ = result.verdict, result.utility, result.mapping
        return self

    def fit_transform(self, X: Data = None, y: None = None, *, progress: Progress = SILENT) -> Released:
        """`fit`, and return what is published; whether it may be, `verdict_` tells."""
        return self.fit(X, y, progress=progress).released_
