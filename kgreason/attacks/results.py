"""What attacks find, in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kgreason.assess.population import NORMAL
from kgreason.printable import Displayed

Floats = npt.NDArray[np.float64]
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Rate:
    """A mean over targets of a number between 0 and 1, with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, exact: bool) -> Rate:
        """Mean of some values.

        The interval is that of Wilson for shares; a mean of numbers in [0, 1] varies less than a share. Where all
        targets were looked at there is nothing to estimate.

        Examples
        --------
        >>> Rate.of(np.array([1.0, 0.0, 1.0, 0.0]), exact=False)
        Rate(value=0.5, low=0.15003898915214947, high=0.8499610108478506)
        """
        count = len(values)
        mean = float(values.mean()) if count else 0.0
        if exact or not count:
            return cls(mean, mean, mean)
        z = NORMAL
        centre = (mean + z * z / (2 * count)) / (1 + z * z / count)
        width = z * math.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count)) / (1 + z * z / count)
        return cls(mean, max(0.0, centre - width), min(1.0, centre + width))


@dataclass(frozen=True)
class Run:
    """One run of an attack: against the release, or against something it is compared with.

    Attributes
    ----------
    targets
        Number of vertices or parts that were looked for.
    all
        Whether these are all there are.
    candidates
        Sizes of the candidate sets: least, quartiles and greatest; none if there was no target.
    found
        Share of the targets that a guess, uniform among the candidates, finds.
    unique
        Share of the targets that are the only candidate.
    misled
        Share of the targets that are not among their candidates.
    complete
        Whether the whole release was searched; else candidates are at least, and rates at most, as many.
    """

    targets: int
    all: bool
    candidates: tuple[float, ...]
    found: Rate
    unique: Rate
    misled: Rate
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        sizes = dict(zip(("least", "lower", "median", "upper", "greatest"), self.candidates, strict=False))
        return asdict(self) | {"candidates": sizes}


@dataclass(frozen=True)
class Promise:
    """Whether the guarantee of the release stands up to an attacker who knows a part of it.

    Attributes
    ----------
    reason
        Why Definition 4.1, with the given k and x, does not promise that it does; empty if it promises it.
    resisted, undecided, targets
        Parts for which it does: at least k candidates share no vertex and differ in all degrees, the true one among
        them, or the true one is no candidate at all; those whose search was given up; all.
    """

    reason: str
    resisted: int
    undecided: int
    targets: int

    @property
    def promised(self) -> bool:
        """Whether the definition promises it."""
        return not self.reason

    @property
    def resists(self) -> bool:
        """Whether every part is known to be protected."""
        return self.resisted == self.targets

    @property
    def state(self) -> Literal["resists", "succeeds", "undecided"]:
        """What the guarantee, or the attacker, does: he succeeds if a part is known to be without protection.

        Examples
        --------
        >>> Promise("", 3, 0, 3).state, Promise("", 2, 0, 3).state, Promise("", 2, 1, 3).state
        ('resists', 'succeeds', 'undecided')
        """
        if self.resists:
            return "resists"
        return "undecided" if self.resisted + self.undecided == self.targets else "succeeds"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"promised": self.promised, "state": self.state, "resists": self.resists, **asdict(self)}


@dataclass(frozen=True)
class Exposed:
    """An original vertex and how surely it is found."""

    vertex: str
    found: float


@dataclass(frozen=True)
class Attack:
    """One attacker.

    Attributes
    ----------
    knowledge
        Name of what is known.
    size
        Vertices of the known part; 0 if it is not about parts.
    runs
        By name: ``main`` (against the release), ``naive`` (without knowledge), ``control`` (with knowledge of others),
        ``unprotected`` (against the original) and ``filtered`` (against the release without implausible edges).
    exposed
        The most surely found vertices in the main run, with their original labels: secret.
    promise
        What the guarantee has to say; `None` where it says nothing.
    """

    knowledge: str
    size: int
    runs: Mapping[str, Run]
    exposed: tuple[Exposed, ...]
    promise: Promise | None = None

    @property
    def excess(self) -> float:
        """How much of what was left to find the release gave away: (main - control) / (1 - control), at least 0."""
        control = self.runs["control"].found.value
        return max(0.0, (self.runs["main"].found.value - control) / (1 - control)) if control < 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "knowledge": self.knowledge,
            "size": self.size or None,
            "runs": {name: run.as_dict() for name, run in self.runs.items()},
            "excess": self.excess,
            "promise": self.promise and self.promise.as_dict(),
            "exposed": list(map(asdict, self.exposed)),
        }


@dataclass(frozen=True)
class Filtered:
    """What a filter of implausible edges drops.

    Attributes
    ----------
    dropped, synthetic, right
        Edges that were dropped, edges of the release that are synthetic, and those that are both.
    """

    edges: int
    dropped: int
    synthetic: int
    right: int

    @property
    def precision(self) -> float:
        """Share of the dropped edges that are synthetic."""
        return self.right / self.dropped if self.dropped else 0.0

    @property
    def recall(self) -> float:
        """Share of the synthetic edges that are dropped."""
        return self.right / self.synthetic if self.synthetic else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; `base` is the precision of dropping edges at random."""
        base = self.synthetic / self.edges if self.edges else 0.0
        return asdict(self) | {"precision": self.precision, "recall": self.recall, "base": base}


@dataclass(frozen=True)
class Attacks(Displayed):
    """All attacks on a release.

    Attributes
    ----------
    k, x
        What was promised.
    attacks
        One after the other.
    filtered
        What the filter of implausible edges dropped.
    """

    k: int
    x: tuple[int, ...]
    attacks: tuple[Attack, ...]
    filtered: Filtered
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Attacks: {len(self.attacks)}, {'as promised' if self.as_promised else 'not as promised'}>"

    def __str__(self) -> str:
        from kgreason.attacks.table import as_text

        return as_text(self)

    def __getitem__(self, key: str | tuple[str, int]) -> Attack:
        """Look an attack up by its knowledge, or by its knowledge and size.

        Raises
        ------
        KeyError
            If there is none.
        """
        name, size = key if isinstance(key, tuple) else (key, None)
        for attack in self.attacks:
            if attack.knowledge == name and size in (None, attack.size):
                return attack
        raise KeyError(key)

    @property
    def broken(self) -> tuple[Attack, ...]:
        """Attacks that succeed although the guarantee promises that they do not."""
        return self._promised("succeeds")

    @property
    def undecided(self) -> tuple[Attack, ...]:
        """Attacks of which the guarantee promises that they do not succeed, but the search was given up."""
        return self._promised("undecided")

    @property
    def as_promised(self) -> bool:
        """Whether all attacks against which the guarantee protects are known to be resisted."""
        return not self.broken and not self.undecided

    def _promised(self, state: str) -> tuple[Attack, ...]:
        return tuple(a for a in self.attacks if a.promise and a.promise.promised and a.promise.state == state)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; `format` is the version of this layout. It names original vertices: keep it secret."""
        return {
            "format": 1,
            "k": self.k,
            "x": list(self.x),
            "as_promised": self.as_promised,
            "attacks": [attack.as_dict() for attack in self.attacks],
            "filter": self.filtered.as_dict(),
            "notes": list(self.notes),
        }


def quantiles(sizes: Floats) -> tuple[float, ...]:
    """Least, quartiles and greatest.

    Examples
    --------
    >>> quantiles(np.array([3.0, 1.0, 2.0]))
    (1.0, 1.5, 2.0, 2.5, 3.0)
    """
    return tuple(np.quantile(sizes, QUANTILES).tolist()) if len(sizes) else ()
