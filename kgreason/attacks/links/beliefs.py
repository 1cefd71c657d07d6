"""What an adversary believes of sensitive links: a probability for each pair of entities (LINKS, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.links.model import Released
from kgreason.graph.model import Vertices

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Probabilities that entities are linked by the sensitive relation.

    Row i is of any entity that the released node ``source[i]`` stands for and any (other) one of ``target[i]``.

    Attributes
    ----------
    source, target
        Nodes of the release, int64, shape (m,), no pair twice; if the relation is mutual source <= target. A node with
        itself is of pairs of different entities in it.
    probability
        float64, shape (m,).
    others
        Probability of all other pairs.
    mutual
        Whether direction means nothing.
    """

    source: Vertices
    target: Vertices
    probability: Doubles
    others: float
    mutual: bool


def check_unheld(released: Released, sensitive: str) -> None:
    """Refuse a release that holds the sensitive relation: there is nothing to infer.

    Raises
    ------
    AnonymizationError
        Saying so.
    """
    if sensitive in released.graph.observed:
        raise AnonymizationError(
            f"the release holds the relation {sensitive!r} itself",
            hint="who can read it need not infer it; is this the release, and this the sensitive relation?",
        )
