"""How a graph of people is to be anonymized: the method, and what may be chosen of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Literal, get_args

from kgreason.base.errors import AnonymizationError

Mode = Literal["exact", "published"]
PeopleMethod = Literal["cdga", "ckga", "ctkga", "pckga", "k-degree"]
PeopleModel = Literal["paired-k-degree", "k-ad", "p-k-ad", "kw-tad", "k-degree"]
Sequence = Literal["dp", "greedy"]
Construction = Literal["relaxed", "supergraph", "construct"]
Loss = Literal["adm", "atdm"]
LeftOut = Literal["withhold", "replace"]
Partition = Literal["merge-split", "k-means", "k-medoids", "removal"]

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
OF_DEGREES = ("sequence", "construction", "tries")
"""What may be chosen of ``"k-degree"``, and of no other method."""


@dataclass(frozen=True)
class Settings:
    """A method with its parameters.

    Attributes
    ----------
    method
        ``"cdga"`` for degrees alone, ``"ckga"`` for attributes and degrees with one k, ``"ctkga"`` for a sequence of
        releases, ``"pckga"`` with a k for each user, ``"k-degree"`` for degrees of undirected graphs.
    mode
        ``"exact"`` betters the clusters by a search on the true loss (of ``"cdga"``: makes them by one);
        ``"published"`` takes them as the papers make them. Degrees are made equal exactly in both.
    loss
        What users are compared by: ``"adm"``, values and degrees; ``"atdm"``, truth of pairs of values, and degrees.
    alpha
        Share of the attributes in the loss, 0 to 1; the rest is that of degrees.
    clustering
        One of `CLUSTERINGS` or a clusterer of scikit-learn; `None`: the method's own.
    partition
        How clusters are made valid; `None`: the method's own.
    tau
        How far, between the least and the largest distance, a user may be from those that he joins, 0 to 1; of the
        clustering ``"merging"`` the largest loss of a merge. Of ``"pckga"`` in published mode; in exact mode
        `removal_price` decides.
    removal_price
        Of ``"pckga"`` in exact mode, which removes a user if that lowers the sum of the losses of those who stay, each
        between 0 and 1, and this price of each who does not. 1 is all that can be lost of a user: the sum is AIL.
    omega
        Of ``"cdga"``: share of the invalid clusters that is looked at in each step.
    epsilon
        Of ``"cdga"``: most users of a cluster; `None`: 2k.
    dimensions
        Of the points that stand for users where a clustering wants points, and of the vectors of the indicator.
    window
        Of ``"ctkga"``: number w of consecutive releases that an attacker may have.
    left_out
        Of ``"ctkga"``: users who stay while too few of those like them leave are left out with them (``"withhold"``),
        or fake users take the places of those who left (``"replace"``).
    sequence
        Of ``"k-degree"``: how degrees are made anonymous, at the least cost (``"dp"``) or quickly (``"greedy"``).
    construction
        Of ``"k-degree"``: the graph with these degrees. ``"relaxed"``: degrees may fall, too, and as many edges as
        possible are kept; ``"supergraph"``: all are kept; ``"construct"``: a new graph of about the same degrees.
    tries
        Of ``"k-degree"``: how many sequences of degrees are tried, each with more noise, until a graph has one.
    """

    method: PeopleMethod = "pckga"
    mode: Mode = "exact"
    loss: Loss = "adm"
    alpha: float = 0.5
    clustering: str | None = None
    partition: Partition | None = None
    tau: float = 1.0
    removal_price: float = 1.0
    omega: float = 0.01
    epsilon: int | None = None
    dimensions: int = 50
    window: int = 3
    left_out: LeftOut = "withhold"
    sequence: Sequence = "dp"
    construction: Construction = "relaxed"
    tries: int = 100

    def __post_init__(self) -> None:
        for name, value, known in (
            ("method", self.method, get_args(PeopleMethod)),
            ("mode", self.mode, get_args(Mode)),
            ("loss", self.loss, get_args(Loss)),
            ("left_out", self.left_out, get_args(LeftOut)),
            ("partition", self.partition, (None, *get_args(Partition))),
            ("sequence", self.sequence, get_args(Sequence)),
            ("construction", self.construction, get_args(Construction)),
        ):
            if value not in known:
                names = [str(n) for n in known if n is not None]
                raise AnonymizationError(
                    f"unknown {name} {value!r}", hint=f"choose {', '.join(names[:-1])} or {names[-1]}"
                )
        for name in ("alpha", "tau", "omega", "removal_price"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise AnonymizationError(f"{name} must be a number, not {value!r}")
            if name != "removal_price" and not 0 <= float(value) <= 1:
                raise AnonymizationError(f"{name} must lie between 0 and 1, not be {value!r}")
        if not 0 < self.removal_price < math.inf:
            raise AnonymizationError(
                f"removal_price must be above 0 and finite, not {self.removal_price!r}",
                hint="1 is all that can be lost of a user; at the number of users nobody is removed who can stay",
            )
        for name, least in (("epsilon", 1), ("dimensions", 1), ("window", 1), ("tries", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise AnonymizationError(f"{name} must be at least {least}, not {value!r}")

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
        >>> Settings("pckga").unused()[:5]
        ('tau', 'omega', 'epsilon', 'dimensions', 'window')
        >>> Settings("pckga").instead("tau")
        'removal_price'
        """
        if self.method not in OWN:
            others = (f.name for f in fields(self) if f.name not in ("method", *OF_DEGREES))
            return tuple(others)
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
            "mode": not (own.method == "cdga" and self.clustering == "degrees"),
            "alpha": valued,
            "loss": valued,
            "tau": merging or (partition in ("merge-split", "k-means") and not own.weighs),
            "removal_price": own.weighs,
            "omega": merging,
            "epsilon": merging,
            "dimensions": pointed or (valued and own.loss == "atdm"),
            "window": series,
            "left_out": series,
            "partition": not series,
        }
        return (*(name for name, has in meaning.items() if not has), *OF_DEGREES)

    def instead(self, name: str) -> str | None:
        """What decides, with this method, what an option without meaning decides with others."""
        other = {"tau": "removal_price", "removal_price": "tau"}.get(name)
        return other if other not in self.unused() else None
