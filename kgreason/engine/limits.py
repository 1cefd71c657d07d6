"""Resource limits: termination bounds for evaluation, and cost bounds for incremental updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Parts = int | Literal["auto"]
"""Number of parts in which facts are derived; ``"auto"``: as the memory allows."""

MOST_PARTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one evaluation.

    Attributes
    ----------
    rounds
        Maximal number of rounds of a recursive stratum that computes new values (by arithmetic or aggregation). Strata
        without new values terminate and have no bound.
    growth
        An improvement of a double of a keyed predicate by at most this fraction is stored, but not propagated.
    patience
        Number of rounds before `growth` applies, so that recursions which converge keep full precision.
    depth
        Maximal nesting of nulls of the same existential variable, for rules that are not warded; deeper nulls are
        omitted, with a warning. Warded rules have no bound: they terminate without losing answers.
    cyclic
        Maximal number of activations that nest a null in a null of the same rule, in addition to two for each
        activation that does not, for rules that are not warded or have harmful joins. The number can explode where
        several atoms join through branching nulls. Further activations are omitted, with a warning.
    length
        Maximal number of elements (nested ones included) by which a list or set that a recursive rule computes may
        exceed twice the longest previous value; ten characters of a string count as one element. Rules that exceed the
        bound are treated as non-terminating.
    restarts
        Maximal number of restarts after runs that created new nulls, because of unified nulls.
    memory
        Maximal memory of the process in bytes; by default the memory that is free at the start.
    """

    rounds: int = 100_000
    growth: float = 1e-12
    patience: int = 1000
    depth: int = 3
    cyclic: int = 1000
    length: int = 2_000
    restarts: int = 1000
    memory: int | None = None
