"""Results of the checker: verdict with conditions and witnesses, δ, and certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.isomorphism.settings import Further, Model
from kgreason.release.digests import Fault
from kgreason.release.verdicts import CONFIDENCE, Examined, Item

Ints = npt.NDArray[np.int64]


@record(eq=False)
class Donors:
    """Class members that are images of most attacked subgraphs of one size, and the images of the others.

    Members of a block are of one class, and pairwise share no vertex and, at any position, no degree and no label.
    """

    size: int
    blocks: tuple[Ints, ...]  # vertices by position, each of shape (M, x)
    targets: Ints  # attacked subgraphs with images outside the blocks, shape (T, x)
    images: Ints  # shape (T, k - 1, x)


@record(eq=False)
class Certificate:
    """Proof of item 4 of Definition 4.1 that can be checked without a search.

    A certificate is not trusted: all donors and copies are checked in the release.
    """

    k: int  # number of occurrences that it shows
    donors: tuple[Donors, ...] = ()  # for each size
    # or the k - 1 copies of each original vertex v, ``copies[:, v]``: they show item 4 for every size and any rules
    copies: Ints | None = None
    complaints: tuple[str, ...] = ()  # known faults, for instance that it belongs to another release
    # differences of the files of release and mapping from those recorded in it; `None` if they were not compared
    files: tuple[Fault, ...] | None = None
    further: tuple[Further, ...] = ()  # further guarantees that it states; they are decided in the release

    def of(self, size: int, k: int) -> tuple[Donors, ...]:
        """Donors of one size; empty if the certificate has faults or a smaller k."""
        return () if self.complaints or self.k < k else tuple(d for d in self.donors if d.size == size)


@record
class Delta:
    """δ: share of the attacked subgraphs X1 for which item 4 holds, or an estimate of it.

    Attributes
    ----------
    satisfied, total
        Subgraphs with k - 1 images; all subgraphs, or the drawn ones.
    undecided
        Subgraphs whose search was given up; they do not count as satisfied.
    population
        Number of subgraphs from which a sample was drawn without replacement; `None` if all were examined.
    every
        Whether all subgraphs of every size are satisfied, shown without counting them.

    Examples
    --------
    >>> print(Delta(997, 1000, population=13_668))
    ESTIMATE 0.997 (997 of 1,000 drawn from 13,668; with 95 % confidence between 0.9912 and 0.9994)
    """

    satisfied: int
    total: int
    undecided: int = 0
    population: int | None = None
    every: bool = False

    def __add__(self, other: Delta) -> Delta:
        both = (
            None
            if self.population is None or other.population is None
            else self.population + other.population
        )
        undecided = self.undecided + other.undecided
        return Delta(self.satisfied + other.satisfied, self.total + other.total, undecided, both)

    @property
    def sampled(self) -> bool:
        """Whether `value` is an estimate."""
        return self.population is not None

    @property
    def exact(self) -> bool:
        """Whether every subgraph was decided; otherwise `value` is an estimate or a lower bound."""
        return self.undecided == 0 and not self.sampled

    @property
    def value(self) -> float:
        """δ; 1.0 if there is no subgraph."""
        return self.satisfied / self.total if self.total else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of δ: certain, or of an estimate with 95 % confidence.

        References
        ----------
        Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.
        The interval is exact, and conservative for sampling without replacement.
        """
        most = self.satisfied + self.undecided
        if not self.total:
            return (0.0, 1.0) if self.population else (1.0, 1.0)
        if not self.sampled:
            return self.value, most / self.total
        from scipy.special import betaincinv

        n, s, tail = self.total, self.satisfied, (1 - CONFIDENCE) / 2
        low = float(betaincinv(s, n - s + 1, tail)) if s else 0.0
        high = float(betaincinv(most + 1, n - most, 1 - tail)) if most < n else 1.0
        return low, high

    def __str__(self) -> str:
        value = math.floor(self.value * 1000) / 1000  # a violation is never rounded to 1.000
        if self.every:
            return f"{value:.3f} (all of any size, exact)"
        share = f"{self.satisfied:,} of {self.total:,}"
        undecided = f", {self.undecided:,} undecided" if self.undecided else ""
        if self.population is not None:
            low, high = self.interval
            between = f"{math.floor(low * 1e4) / 1e4:.4f} and {math.ceil(high * 1e4) / 1e4:.4f}"
            confidence = f"with {CONFIDENCE * 100:.0f} % confidence between {between}"
            return f"ESTIMATE {value:.3f} ({share} drawn from {self.population:,}{undecided}; {confidence})"
        if self.exact:
            return f"{value:.3f} ({share}, exact)"
        return f"at least {self.value:.3f} ({share}{undecided})"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        return {
            "value": self.value,
            "satisfied": self.satisfied,
            "total": self.total,
            "undecided": self.undecided,
            "exact": self.exact,
            "every": self.every,
            "estimate": self.sampled,
            "population": self.total if self.population is None else self.population,
            "interval": list(self.interval),
            "confidence": CONFIDENCE if self.sampled else 1.0,
        }


@record
class Edits:
    """Numbers of changes of a release that deletes edges.

    Examples
    --------
    >>> print(Edits(vertices=1, inserted=25, deleted=1_341))
    1 vertices added, 25 edges inserted, 1,341 edges deleted
    """

    vertices: int
    inserted: int
    deleted: int

    def as_dict(self) -> dict[str, int]:
        """Return a JSON-serializable dict."""
        return {
            "vertices_added": self.vertices,
            "edges_inserted": self.inserted,
            "edges_deleted": self.deleted,
        }

    def __str__(self) -> str:
        return f"{self.vertices:,} vertices added, {self.inserted:,} edges inserted, {self.deleted:,} edges deleted"


@record
class Joined:
    """What an attacker who joins the releases of a window finds.

    Attributes
    ----------
    k, window
        Number of occurrences; number of joined releases.
    unchanged, changed
        δ of the attacked subgraphs that have the same edges in all originals of the window, and of the others.

    Examples
    --------
    >>> print(Joined(3, 2, Delta(998, 1_000), Delta(0, 7)))
    99.8 % of the subgraphs that did not change keep 3 occurrences for an attacker who joins the last 2 releases
    """

    k: int
    window: int
    unchanged: Delta
    changed: Delta

    def __str__(self) -> str:
        who = f"for an attacker who joins the last {self.window} releases"
        if self.unchanged.every:
            return f"every subgraph keeps {self.k} occurrences {who}"
        if not self.unchanged.total:
            return f"no subgraph is unchanged over the last {self.window} releases"
        share = "all" if self.unchanged.value == 1 else f"{math.floor(1000 * self.unchanged.value) / 10} %"
        about = "about " * self.unchanged.sampled
        return f"{about}{share} of the subgraphs that did not change keep {self.k} occurrences {who}"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        shares = {"unchanged": self.unchanged.as_dict(), "changed": self.changed.as_dict()}
        return {"k": self.k, "window": self.window, **shares}


@dataclass(frozen=True)
class Verdict(Examined, Displayed):
    """Verdict of the checker on a release: (k,x)-isomorphism, or k-isomorphism.

    Attributes
    ----------
    k, x
        Parameters of the guarantee that was checked; with ``"k-iso"`` x is that of δ alone.
    items
        Conditions in the order of the definition.
    delta
        δ-anonymity; `None` if a violated earlier condition makes it meaningless.
    also
        Further sizes that were checked.
    commute
        Whether the rules are known to commute; what holds for x vertices then holds for fewer.
    unseen
        Sizes of which a sample contains no subgraph, so that they are undecided.
    needs_original
        Conditions that cannot be decided without the original if only the release was checked; not in `items`.
    model
        Anonymity model. With ``"k-iso"`` no condition requires images, and `delta` is informative only.
    alike
        With ``"k-iso"``: δ-anonymity without degree diversity.
    edits
        With ``"k-iso"``, if the original is known: numbers of changes.
    joined
        For a release of a series that was joined with earlier ones: the share of the subgraphs that keep k occurrences.
    certificate
        Images of all attacked subgraphs, if all have some.
    """

    k: int
    x: int
    items: tuple[Item, ...]
    delta: Delta | None
    also: tuple[int, ...] = ()
    commute: bool = False
    needs_original: tuple[str, ...] = ()
    unseen: tuple[int, ...] = ()
    model: Model = "kx-isomorphism"
    alike: Delta | None = None
    edits: Edits | None = None
    joined: Joined | None = None
    certificate: Certificate | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"<Verdict: {self.model}, k = {self.k}, {self.sizes}: {self.state}>"

    @property
    def sizes(self) -> str:
        """Sizes that were checked, in words."""
        if self.delta is not None and self.delta.every:
            return "every x"
        least = min((*self.also, self.x))
        fewer = " and fewer (the rules commute)" if least > 1 and self.commute and self.as_promised else ""
        return f"x = {', '.join(map(str, (*self.also, self.x)))}{fewer}"

    @property
    def decided_by(self) -> Literal["certificate", "sample", "search"]:
        """How images were found: by certificate, or by search for all x-subgraphs or for a sample."""
        if any(item.name == "certificate" for item in self.items):
            return "certificate"
        return "sample" if self.delta is not None and self.delta.sampled else "search"

    @property
    def nothing_against(self) -> bool:
        """Whether no evidence against the guarantee was found: it is as promised, or all of a sample have images.

        A sample is no proof: `holds` and `as_promised` are then false.
        """
        clean = self.delta is not None and self.delta.sampled and self.delta.satisfied == self.delta.total
        clean = clean and not self.fails and not self.unseen
        clean = clean and all(i.name.startswith("images") for i in self.items if i.state == "undecided")
        return self.as_promised or (self.model == "kx-isomorphism" and clean)

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        figures = {"delta_alike": self.alike, "edits": self.edits, "series": self.joined}
        return {
            "model": self.model,
            "k": self.k,
            "x": self.x,
            "also": list(self.also),
            "commute": self.commute,
            "as_promised": self.as_promised,
            "nothing_against": self.nothing_against,
            "decided_by": self.decided_by,
            "unseen": list(self.unseen),
            "delta": self.delta and self.delta.as_dict(),
            **{name: figure.as_dict() for name, figure in figures.items() if figure is not None},
            **super().as_dict(),
        }
