"""Settings of anonymizations of graphs of people: one dataclass per method, and one of all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from pathlib import Path
from typing import Literal

from kgreason.base.errors import AnonymizationError
from kgreason.base.setting_fields import check_ranges, reported, setting
from kgreason.release.publication import RunSettings

Mode = Literal["exact", "published"]
PeopleMethod = Literal["cdga", "ckga", "ctkga", "pckga", "k-degree"]
PeopleModel = Literal["paired-k-degree", "k-ad", "p-k-ad", "kw-tad", "k-degree"]
Sequence = Literal["dp", "greedy"]
Construction = Literal["relaxed", "supergraph", "construct"]
Loss = Literal["adm", "atdm"]
LeftOut = Literal["withhold", "replace"]
Partition = Literal["merge-split", "k-means", "k-medoids", "removal"]
Levels = Mapping[str, int] | Path | str
"""The k of each user: by label, or a table ``user,k``."""

CLUSTERINGS = ("vac", "degrees", "merging", "k-means", "k-medoids", "hdbscan", "hdb-star")
"""Clusterings by name; besides them, the name of any clusterer of scikit-learn."""
OWN: dict[str, tuple[str, Partition]] = {
    "cdga": ("merging", "removal"),
    "ckga": ("k-means", "k-means"),
    "ctkga": ("k-medoids", "k-medoids"),
    "pckga": ("vac", "merge-split"),
}
"""Clustering and partition of each method that has some, as its paper has them."""
MODELS: dict[str, PeopleModel] = {
    "cdga": "paired-k-degree",
    "ckga": "k-ad",
    "ctkga": "kw-tad",
    "pckga": "p-k-ad",
    "k-degree": "k-degree",
}
"""What each method promises."""


@dataclass(frozen=True, kw_only=True)
class _People(RunSettings):
    k: int | None = setting(None, option="-k --k", metavar="N", least=2, shown="3", reported=False)
    """Size of the smallest class of users, 2 or more. With k_values, k is the level of users without a value
    there."""


@dataclass(frozen=True, kw_only=True)
class _Clustered(_People):
    mode: Mode = setting("exact")
    """exact improves the clusters by a search on the true loss (cdga: finds them by the search) and keeps as many
    links as possible; published uses the algorithms of the papers."""
    clustering: str | None = setting(None, metavar="NAME", shown="the method's own")
    """vac, degrees, merging, k-means, k-medoids, hdbscan, hdb-star, or a clusterer of scikit-learn by name."""
    tau: float = setting(1.0, metavar="P", least=0.0, most=1.0)
    """Bound on the distance between users left over by the clustering and the cluster that they join, from 0 (the
    least distance) to 1 (the largest); lower values remove outliers. For merging, the bound of each merge. Not
    for pckga in exact mode, where the removal price decides."""
    alpha_dm: float = setting(0.5, metavar="P", least=0.0, most=1.0)
    """Weight of out-degrees in the loss of degrees; in-degrees have the rest."""
    omega: float = setting(0.01, metavar="P", least=0.0, most=1.0)
    """For merging: share of the invalid clusters examined in each step."""
    epsilon: int | None = setting(None, metavar="N", least=1, shown="2k")
    """For merging: largest number of users of a cluster."""
    dimensions: int = setting(50, metavar="N", least=1)
    """Dimensions of the points that represent users for a clustering of points, and of the vectors of atdm's
    indicator."""


@dataclass(frozen=True, kw_only=True)
class _Partitioned(_Clustered):
    partition: Partition | None = setting(None, shown="the method's own")
    """How the sizes of clusters are corrected."""


@dataclass(frozen=True, kw_only=True)
class _Valued(_Clustered):
    loss: Loss = setting("adm")
    """Distance of users: by attributes and degrees (adm), or by truthful pairs of values, and degrees (atdm)."""
    alpha: float = setting(0.5, metavar="P", least=0.0, most=1.0)
    """Weight of the attributes in the loss; degrees have the rest."""


@dataclass(frozen=True, kw_only=True)
class Cdga(_Partitioned):
    """Settings of CDGA."""


@dataclass(frozen=True, kw_only=True)
class Ckga(_Valued, _Partitioned):
    """Settings of CKGA."""


@dataclass(frozen=True, kw_only=True)
class Pckga(_Valued, _Partitioned):
    """Settings of PCKGA."""

    k_values: Levels | None = setting(None, metavar="FILE", reported=False)
    """For pckga: anonymity level of each user, at least 1; a table user,k, or a mapping."""
    removal_price: float = setting(1.0, metavar="P")
    """For pckga in exact mode: price of a removed user. A user is removed if that lowers the sum of the losses of the
    released users, each between 0 and 1, and of the prices. 1 is the largest loss of a user; higher prices remove
    fewer."""


@dataclass(frozen=True, kw_only=True)
class Ctkga(_Valued):
    """Settings of CTKGA."""

    window: int = setting(3, metavar="N", least=1)
    """For ctkga: number of consecutive releases that an attacker may combine."""
    left_out: LeftOut = setting("withhold")
    """For ctkga: if too few users of a class leave, withhold the remaining ones (withhold), or replace those who left
    by synthetic users (replace)."""
    after: Path | str | None = setting(None, metavar="DIR", reported=False)
    """For ctkga: private folder of the previous release; none for the first."""


@dataclass(frozen=True, kw_only=True)
class KDegree(_People):
    """Settings of k-degree anonymization."""

    sequence: Sequence = setting("dp")
    """For k-degree: anonymize the degree sequence at the least cost (dp) or quickly (greedy)."""
    construction: Construction = setting("relaxed")
    """For k-degree: change as few edges as possible (relaxed), keep all edges (supergraph), or make a new graph that
    keeps degrees only (construct)."""
    tries: int = setting(100, metavar="N", least=1)
    """For k-degree: number of degree sequences that are tried, each with more noise, until a graph has one."""


@dataclass(frozen=True, kw_only=True)
class Settings(Cdga, Ckga, Pckga, Ctkga, KDegree):
    """A method with its parameters."""

    method: PeopleMethod = setting("pckga")
    """cdga anonymizes degrees; ckga values and degrees, with one k; pckga with a k for each user; ctkga in a series
    of releases; k-degree the degrees of an undirected graph."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if isinstance(self.removal_price, bool) or not isinstance(self.removal_price, Real):
            raise AnonymizationError(f"removal_price must be a number, not {self.removal_price!r}")
        if not 0 < self.removal_price < math.inf:
            raise AnonymizationError(
                f"removal_price must be above 0 and finite, not {self.removal_price!r}",
                hint="1 is the largest loss of a user; at the number of users, only users who cannot stay are removed",
            )

    @property
    def model(self) -> PeopleModel:
        """What the method promises."""
        return MODELS[self.method]

    def filled(self) -> Settings:
        """The same with the method's own clustering and partition where none are chosen."""
        if self.method not in OWN:
            return self
        clustering, partition = OWN[self.method]
        if self.mode == "exact":
            clustering = {"cdga": "degrees", "ctkga": "vac"}.get(self.method, clustering)
        return replace(self, clustering=self.clustering or clustering, partition=self.partition or partition)

    @property
    def weighs(self) -> bool:
        """Whether removal is weighed against loss."""
        return self.method == "pckga" and self.mode == "exact"

    def refuse_unused(self) -> None:
        """Refuse what was chosen, but for defaults, although it has no meaning.

        Raises
        ------
        AnonymizationError
            Naming the first.
        """
        default = {f.name: f.default for f in fields(self)}
        for name in self.unused():
            if getattr(self, name) != default[name]:
                other = self.instead(name)
                raise AnonymizationError(
                    f"{name} has no meaning with method {self.method}" + self._chosen(),
                    hint="leave it out" + f", or say {other}" * bool(other),
                )

    def _chosen(self) -> str:
        """What else was chosen that decides what has a meaning."""
        chosen = [
            f"{name} {value}"
            for name, value in (
                ("mode", self.mode if self.method == "pckga" else None),
                ("clustering", self.clustering),
                ("partition", self.partition),
            )
            if value is not None and name not in self.unused()
        ]
        return f", {', '.join(chosen)}" * bool(chosen)

    def unused(self) -> tuple[str, ...]:
        """Names of what has no meaning with this method, clustering and partition.

        Examples
        --------
        >>> Settings(method="pckga").unused()[:5]
        ('tau', 'omega', 'epsilon', 'dimensions', 'window')
        >>> Settings(method="pckga").instead("tau")
        'removal_price'
        """
        mine = {each.name for each in fields(METHODS[self.method])}
        foreign = tuple(name for name in reported(self) if name not in mine and name != "method")
        if self.method not in OWN:
            return foreign
        own = self.filled()
        merging, by_degrees = own.clustering == "merging", own.clustering == "degrees"
        series = own.method == "ctkga"
        partition = None if series else own.partition
        # users are compared to cluster them, to make clusters valid, or to better them; without attributes what
        # attributes count is nothing
        searched = own.mode == "exact" and not (own.method == "cdga" and by_degrees)
        compared = series or searched or not (merging or by_degrees) or partition != "removal"
        valued = compared and own.method != "cdga"
        pointed = own.clustering not in CLUSTERINGS or "k-means" in (own.clustering, partition)
        meaning = {
            "alpha": valued,
            "alpha_dm": compared or merging,
            "loss": valued,
            "tau": merging or (partition in ("merge-split", "k-means") and not own.weighs),
            "removal_price": own.weighs,
            "omega": merging,
            "epsilon": merging,
            "dimensions": pointed or (valued and own.loss == "atdm"),
        }
        return (*(name for name, has in meaning.items() if not has and name in mine), *foreign)

    def instead(self, name: str) -> str | None:
        """What decides, with this method, what an option without meaning decides with others."""
        other = {"tau": "removal_price", "removal_price": "tau"}.get(name)
        return other if other not in self.unused() else None


METHODS: dict[PeopleMethod, type] = {
    "cdga": Cdga,
    "ckga": Ckga,
    "pckga": Pckga,
    "ctkga": Ctkga,
    "k-degree": KDegree,
}
"""Settings of each method: what is in none of them has no meaning for it."""
