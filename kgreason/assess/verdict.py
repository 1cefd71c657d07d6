"""What the checker finds: each item of the definition, and for each violated one a witness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from kgreason.assess.certificate import Certificate
from kgreason.records import dataclass


@dataclass(frozen=True)
class Item:
    """One condition of Definition 4.1.

    Attributes
    ----------
    name
        Which condition.
    holds
        Whether it holds.
    detail
        What was found, in one sentence.
    witnesses
        For a violated condition, some of the places where it fails, in words.
    given_up
        Whether it is violated just as far as the release says that it gives it up.
    """

    name: str
    holds: bool
    detail: str
    witnesses: tuple[str, ...] = ()
    given_up: bool = False

    def __str__(self) -> str:
        head = f"{'holds' if self.holds else 'GIVEN UP' if self.given_up else 'FAILS'}  {self.name}: {self.detail}"
        return "\n".join([head, *("    " + line for w in self.witnesses for line in w.splitlines())])


@dataclass(frozen=True)
class Delta:
    """Share of the attacked subgraphs X1 for which item 4 holds.

    Attributes
    ----------
    satisfied, total
        Subgraphs with k - 1 images; all subgraphs.
    undecided
        Subgraphs whose search was given up; they do not count as satisfied.
    every
        Whether all are satisfied, of any number of vertices, and none had to be counted.
    """

    satisfied: int
    total: int
    undecided: int = 0
    every: bool = False

    def __add__(self, other: Delta) -> Delta:
        return Delta(
            self.satisfied + other.satisfied, self.total + other.total, self.undecided + other.undecided
        )

    @property
    def exact(self) -> bool:
        """Whether every subgraph was decided; else `value` is a lower bound."""
        return self.undecided == 0

    @property
    def value(self) -> float:
        """δ, 1.0 where there is no subgraph at all."""
        return self.satisfied / self.total if self.total else 1.0

    def __str__(self) -> str:
        value = math.floor(self.value * 1000) / 1000  # a violation never reads as 1.000
        if self.every:
            return f"{value:.3f} (all of any size, exact)"
        if self.exact:
            return f"{value:.3f} ({self.satisfied:,} of {self.total:,}, exact)"
        return (
            f"at least {self.value:.3f} ({self.satisfied:,} of {self.total:,}, {self.undecided:,} undecided)"
        )


@dataclass(frozen=True)
class Verdict:
    """Whether a release is a (k,x)-isomorphism anonymization of its original.

    Attributes
    ----------
    k, x
        Parameters of the guarantee that was checked.
    items
        All conditions, in the order of the definition.
    delta
        δ-anonymity; `None` when a violated earlier item leaves it without meaning.
    also
        Other numbers of vertices that were checked.
    commute
        Whether the rules are known to commute: then what holds for x vertices holds for fewer, too.
    certificate
        What shows the images, if all have some.
    """

    k: int
    x: int
    items: tuple[Item, ...]
    delta: Delta | None
    also: tuple[int, ...] = ()
    commute: bool = False
    certificate: Certificate | None = field(default=None, compare=False, repr=False)

    @property
    def sizes(self) -> str:
        """The numbers of vertices of the subgraphs that were checked, in words."""
        if self.delta is not None and self.delta.every:
            return "every x"
        fewer = " and fewer (the rules commute)" if self.commute and self.as_promised and self.x > 1 else ""
        return f"x = {', '.join(map(str, (*self.also, self.x)))}{fewer}"

    @property
    def holds(self) -> bool:
        """Whether every item holds, that is, Definition 4.1."""
        return all(item.holds for item in self.items)

    @property
    def as_promised(self) -> bool:
        """Whether every item holds but those that are given up."""
        return all(item.holds or item.given_up for item in self.items)

    def __getitem__(self, name: str) -> Item:
        """Look an item up by name."""
        return next(item for item in self.items if item.name == name)

    def __str__(self) -> str:
        return "\n".join(map(str, self.items))

    def as_dict(self) -> Mapping[str, object]:
        """Plain data for JSON."""
        delta = self.delta
        return {
            "k": self.k,
            "x": self.x,
            "also": list(self.also),
            "commute": self.commute,
            "holds": self.holds,
            "as_promised": self.as_promised,
            "delta": delta
            and {
                "value": delta.value,
                "satisfied": delta.satisfied,
                "total": delta.total,
                "undecided": delta.undecided,
                "exact": delta.exact,
                "every": delta.every,
            },
            "items": [
                {
                    "name": i.name,
                    "holds": i.holds,
                    "given_up": i.given_up,
                    "detail": i.detail,
                    "witnesses": list(i.witnesses),
                }
                for i in self.items
            ],
        }
