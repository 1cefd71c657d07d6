"""Which associations of attribute values are truthful, as learned from the original graph.

Taken literally, the text closes truthful associations under "h1 ~ t1 and h2 ~ t2 make h1 ~ t2 and h2 ~ t1 truthful".
That holds for any two of them, whatever they have in common, and so makes all pairs of values truthful that are in any
association. Here an association is truthful if somebody has both values (the closed world of the same chapter), and if
asked for, one step more: two values of *one attribute* are truthful together if both are so with a common third value,
as are the ages of two students (Example 12). Steps between values of different attributes would go through values that
nearly everybody has, such as a gender, and make 85 % of the pairs of Freebase truthful.

References
----------
THESIS, sections 4.2, 4.3.2 and 4.5.4, Example 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.people.bilinear import Bilinear, Truth
from kgreason.anonymizers.people.values import Values, all_values
from kgreason.errors import AnonymizationError, TooLargeError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph

_MOST = 30_000  # values, of which all pairs are held


@dataclass(frozen=True, eq=False)
class Indicator:
    """R: which ordered pairs of values are truthful.

    Values are numbered through all attributes, in the order of the graph.

    Attributes
    ----------
    truth
        R, shape (p, p).
    dimensions
        Length d1 of the vectors it was learned with.
    hits, misses
        Truthful pairs that R takes for truthful, and for untruthful.
    alarms, slips
        Untruthful pairs that R takes for untruthful, and for truthful.
    """

    truth: Truth
    dimensions: int
    hits: int
    misses: int
    alarms: int
    slips: int

    def truthful(self, pairs: Vertices) -> Truth:
        """Whether R takes ordered pairs of values for truthful; `pairs` is int64 of shape (m, 2)."""
        return self.truth[pairs[:, 0], pairs[:, 1]]

    @property
    def accuracy(self) -> float:
        """Share of ordered pairs that R is right about."""
        return _share(self.hits + self.alarms, self.truth.size)

    @property
    def base(self) -> float:
        """Accuracy of the better of the two indicators that say the same of all pairs."""
        untruthful = self.alarms + self.slips
        return _share(max(untruthful, self.truth.size - untruthful), self.truth.size)

    @property
    def precision(self) -> float:
        """Share of the pairs called untruthful that are."""
        return _share(self.alarms, self.alarms + self.misses)

    @property
    def recall(self) -> float:
        """Share of the untruthful pairs that are called so."""
        return _share(self.alarms, self.alarms + self.slips)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the shares of truthful and of untruthful pairs that R is right about; half for a constant."""
        return (_share(self.hits, self.hits + self.misses) + self.recall) / 2


def learn(
    graph: PeopleGraph,
    dimensions: int,
    rng: np.random.Generator,
    *,
    through_others: bool = False,
) -> Indicator:
    """Learn the indicator R of truthful associations, on all ordered pairs of the attribute values of a graph.

    Parameters
    ----------
    graph
        The original.
    dimensions
        Length d1 of the vectors of attributes and values, at least 1; 50 is usual.
    rng
        Draws where learning starts and what it looks at.
    through_others
        Whether two values of one attribute are truthful together also through a common third value.

    Raises
    ------
    AnonymizationError
        If `dimensions` is less than 1.
    TooLargeError
        If there are more than 30,000 values, of which all pairs would have to be held.
    """
    if dimensions < 1:
        raise AnonymizationError(
            f"the indicator needs vectors of at least 1 dimension, not {dimensions}", hint="50 is usual"
        )
    values = all_values(graph)
    if len(values) > _MOST:
        raise TooLargeError(
            f"{len(values):,} attribute values have too many associations to learn from",
            hint=f"the limit is {_MOST:,}; the loss ADM needs no indicator",
        )
    truth = associations(values, through_others=through_others)
    attributes = graph.attributes.values()
    bounds = np.cumsum([0, *(len(a.domain) for a in attributes)])
    texts = np.concatenate([np.empty(0, dtype=object), *(a.domain for a in attributes)])
    model = Bilinear.random(bounds, np.unique(texts.astype(str), return_inverse=True)[1], dimensions, rng)
    model.learn(truth, rng)
    return _measured(_judged(model), truth, dimensions)


def associations(values: Values, *, through_others: bool = False) -> Truth:
    """Which ordered pairs of values are truthful, shape (p, p); each value is so with itself.

    Parameters
    ----------
    values
        Values and who has them.
    through_others
        Whether two values of one attribute are truthful together also through a common third value.
    """
    truth = values.together()
    if through_others:
        beside = truth.astype(np.float32)
        for a in np.unique(values.attribute):
            of = np.flatnonzero(values.attribute == a)
            truth[np.ix_(of, of)] = beside[of] @ beside[:, of] > 0
    return truth


def _judged(model: Bilinear) -> Truth:
    """R of all ordered pairs."""
    features = model.features()
    judged = np.empty((len(features), len(features)), dtype=np.bool_)
    for rows in model.blocks():
        judged[rows] = model.logits(features, rows) >= 0
    return judged


def _measured(judged: Truth, truth: Truth, dimensions: int) -> Indicator:
    hits = int(np.count_nonzero(judged & truth))
    misses, slips = int(np.count_nonzero(truth)) - hits, int(np.count_nonzero(judged)) - hits
    return Indicator(judged, dimensions, hits, misses, truth.size - hits - misses - slips, slips)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
