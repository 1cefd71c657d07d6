"""What attackers may know, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sees = Literal["edges", "derived", "rules", "other"]


@dataclass(frozen=True)
class Part:
    """Knowledge of a part X of the graph: a row of Table 4 of the KGISO paper.

    Attributes
    ----------
    name, formula
        What it is called here and in the paper.
    sees
        The edges alone; also what the rules derive from them, without the rules; the rules; or other rules.
    weighted
        Whether what is derived from X is derived with weights.
    """

    name: str
    formula: str
    sees: Sees
    weighted: bool

    @property
    def key(self) -> tuple[Sees, bool]:
        """What decides the candidates: where no rules are run, weights, all of which are changed, tell nothing."""
        return self.sees, self.weighted and self.sees in {"rules", "other"}


PARTS = (
    Part("part:edges", "Gᵘ[X]", "edges", False),
    Part("part:edges+derived", "Σ(Gᵘ[X])", "derived", False),
    Part("part:edges+rules", "(Gᵘ[X],Σ)", "rules", False),
    Part("part:edges+other", "(Gᵘ[X],Σ*)", "other", False),
    Part("part:weights", "G[X]", "edges", True),
    Part("part:weights+derived", "Σ(G[X])", "derived", True),
    Part("part:weights+rules", "(G[X],Σ)", "rules", True),
    Part("part:weights+other", "(G[X],Σ*)", "other", True),
)
"""Table 4, top to bottom."""

VERTEX = ("degree", "neighbourhood", "hubs", "refinement:2", "refinement:4")
"""Knowledge of single vertices in the default panel; ``refinement:I`` goes for every I from 0 to 9."""

SEEDS = "seeds"
LARGEST = 8  # vertices of a known part; canonical forms try all permutations


def known_as(name: str) -> tuple[str, ...]:
    """Names of the kinds of knowledge that a name stands for; none if it is no name.

    Examples
    --------
    >>> known_as("degree"), known_as("refinement"), known_as("part")[0], known_as("everything")
    (('degree',), ('refinement:2',), 'part:edges', ())
    """
    parts = tuple(part.name for part in PARTS)
    if name == "all":
        return (*parts, *VERTEX, SEEDS)
    if name == "part":
        return parts
    if name == "refinement":
        return ("refinement:2",)
    rounds = name.removeprefix("refinement:")
    fine = name in (*parts, *VERTEX, SEEDS) or (rounds != name and rounds in set("0123456789"))
    return (name,) if fine else ()
