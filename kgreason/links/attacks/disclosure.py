"""Disclosure by an attacker who predicts every pair whose probability exceeds a threshold.

References
----------
LINKS, sections 6.2 (disclosure, Equation 1) and 8.2 (revealed links, precision and recall).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.base.setting_fields import check_probabilities
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.attacks.entity_pairs import Beliefs, Doubles, all_pairs, pairs_between
from kgreason.links.model import LinkGraph, Sensitive
from kgreason.links.settings import THRESHOLDS

HEAD = ("above", "predicted", "revealed", "precision", "lift", "recall", "δ")
ROUNDING = 1e-12  # a probability this little above a threshold counts as equal to it


@record
class Revealed:
    """Disclosure at one threshold ρ.

    Attributes
    ----------
    predicted
        Number of pairs of entities whose probability exceeds it, unordered if the sensitive relation is mutual.
    revealed
        Number of predicted pairs that are sensitive.
    precision
        Share of the predicted pairs that are sensitive; `None` if none is predicted.
    lift
        Precision over the base rate; `None` without precision, or without sensitive pairs.
    recall
        Share of the sensitive pairs that are predicted; `None` if there are none.
    delta
        Share of all |V|² relationships that are predicted; a mutual one counts in both directions.
    """

    threshold: float
    predicted: int
    revealed: int
    precision: float | None
    lift: float | None
    recall: float | None
    delta: float


@dataclass(frozen=True)
class Disclosure(Displayed):
    """Disclosure at several thresholds, compared with random guessing.

    Attributes
    ----------
    entities, pairs, sensitive
        Numbers of entities, of their pairs, and of those that are sensitive.
    at
        One `Revealed` for each threshold.
    """

    entities: int
    pairs: int
    sensitive: int
    at: tuple[Revealed, ...]

    def __repr__(self) -> str:
        return f"<Disclosure of {self.sensitive:,} sensitive links at {len(self.at)} thresholds>"

    @property
    def base_rate(self) -> float:
        """Share of all pairs that are sensitive: the precision of random guessing, at any recall."""
        return self.sensitive / self.pairs if self.pairs else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "entities": self.entities,
            "pairs": self.pairs,
            "sensitive": self.sensitive,
            "base_rate": self.base_rate,
            "thresholds": list(map(asdict, self.at)),
        }

    def __str__(self) -> str:
        rows = [HEAD, *map(cells, self.at)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        ]
        guess = f"a guess among all {self.pairs:,} pairs finds a sensitive one with probability"
        return "\n".join([*lines, f"{guess} {_digits(self.base_rate)}"])


def cells(one: Revealed) -> tuple[str, ...]:
    """Table cells of one threshold, in the order of `HEAD`."""
    shares = one.precision, one.lift, one.recall, one.delta
    return f"{one.threshold:g}", f"{one.predicted:,}", f"{one.revealed:,}", *map(_digits, shares)


def _digits(number: float | None) -> str:
    """Three significant digits without an exponent: shares of all pairs are tiny."""
    if number is None:
        return "none"
    if number >= 99.95 or not number:
        return f"{number:,.0f}"
    return f"{Decimal(f'{number:.2e}'):f}"


def disclosure(
    beliefs: Beliefs,
    graph: LinkGraph,
    sensitive: Sensitive,
    mapping: Vertices,
    thresholds: Sequence[float] = THRESHOLDS,
) -> Disclosure:
    """Compare the beliefs of an attacker with the true sensitive links.

    Time and memory grow with the rows of the beliefs and the sensitive links, not with all pairs.

    Parameters
    ----------
    graph
        The released graph, to whose nodes the beliefs refer.
    sensitive
        The true links between entities of the original.
    mapping
        Released node of each entity, int64, shape (n,).

    Raises
    ------
    AnonymizationError
        If a threshold is no probability, or the mapping belongs to another release.

    Examples
    --------
    >>> one = np.array([0])
    >>> graph = LinkGraph(np.array(["a", "b", "c"], dtype=object), {})
    >>> beliefs = Beliefs(one, one + 1, np.array([0.5]), 0.2, mutual=True)
    >>> print(disclosure(beliefs, graph, Sensitive("friends", one, one + 1, mutual=True), np.arange(3), [0.2]))
    above  predicted  revealed  precision  lift  recall      δ
      0.2          1         1       1.00  3.00    1.00  0.222
    a guess among all 3 pairs finds a sensitive one with probability 0.333
    """
    n = len(mapping)
    if not np.array_equal(np.bincount(mapping, minlength=graph.n), graph.size):
        raise AnonymizationError(
            "the mapping does not fit the release: numbers of entities differ",
            hint="take the mapping that was made with this release",
        )
    if beliefs.mutual != sensitive.mutual:
        raise AnonymizationError("beliefs and sensitive links must both be mutual, or neither")
    pairs = all_pairs(n, beliefs.mutual)
    weight = pairs_between(graph.size, beliefs.source, beliefs.target, beliefs.mutual)
    unlisted = pairs - int(weight.sum())
    true = _believed(beliefs, sensitive, mapping, graph.n)
    found = []
    guess = len(sensitive) / pairs if pairs else 0.0
    for threshold in thresholds:
        check_probabilities(**{"a threshold": threshold})
        bound = threshold + ROUNDING
        predicted = int(weight[beliefs.probability > bound].sum()) + unlisted * (beliefs.others > bound)
        revealed = int((true > bound).sum())
        precision = revealed / predicted if predicted else None
        found.append(
            Revealed(
                float(threshold),
                predicted,
                revealed,
                precision,
                precision / guess if precision is not None and guess else None,
                revealed / len(true) if len(true) else None,
                predicted * (2 if beliefs.mutual else 1) / (n * n) if n else 0.0,
            )
        )
    return Disclosure(n, pairs, len(sensitive), tuple(found))


def _believed(beliefs: Beliefs, sensitive: Sensitive, mapping: Vertices, n: int) -> Doubles:
    source, target = mapping[sensitive.source], mapping[sensitive.target]
    if beliefs.mutual:
        source, target = np.minimum(source, target), np.maximum(source, target)
    believed = np.full(len(source), beliefs.others)
    if len(beliefs.source):
        keys = beliefs.source * n + beliefs.target
        order = np.argsort(keys)
        keys, wanted = keys[order], source * n + target
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        listed = keys[at] == wanted
        believed[listed] = beliefs.probability[order][at[listed]]
    return believed
