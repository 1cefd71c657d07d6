"""The indicator of truthful associations of attribute values, and the bilinear function that it learns.

    g(r, v) = tanh(e_r W_g e_v + b_g),   f((r, v), (r', v')) = sigmoid(g(r, v) W_f g(r', v') + b_f)

The thesis gives b_f as a vector; a probability requires a scalar.

Literally, the thesis closes truthful associations under "h1 ~ t1 and h2 ~ t2 make h1 ~ t2 and h2 ~ t1 truthful". This
rule has no further condition, so it would make all pairs of associated values truthful. Here an association is truthful
if a user has both values (the closed-world assumption of the same chapter).

References
----------
THESIS, sections 4.2, 4.3.2 (equation 4.1) and 4.5.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError, TooLargeError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.losses import all_values
from kgreason.people.model import PeopleGraph

Reals = npt.NDArray[np.float32]
Truth = npt.NDArray[np.bool_]
Parameters = dict[str, Reals]
PAIRS = 1 << 21  # pairs per batch
_STEPS = 800
_RATE = 0.004
_MEAN, _SQUARE, _LITTLE = 0.9, 0.99, 1e-8


@record(eq=False)
class Bilinear:
    """f over the values 0 .. p-1 of all attributes.

    Attributes
    ----------
    bounds
        Values of attribute a are ``bounds[a] .. bounds[a + 1] - 1``; int64, shape (attributes + 1,).
    name
        Vector e_v of each value: values of the same text share one, as they are one vertex of the graph; (p,).
    parameters
        ``e_r`` (attributes, d), ``e_v`` (names, d), ``w_g`` (d, d, d), ``b_g`` (d,), ``w_f`` (d, d), ``b_f`` (1,).
    """

    bounds: Vertices
    name: Vertices
    parameters: Parameters

    @classmethod
    def random(cls, bounds: Vertices, name: Vertices, dimensions: int, rng: np.random.Generator) -> Bilinear:
        """Random initial parameters."""

        def normal(scale: float, *shape: int) -> Reals:
            return rng.normal(0, scale, shape).astype(np.float32)

        d = dimensions
        parameters = {
            "e_r": normal(1, len(bounds) - 1, d),
            "e_v": normal(1, int(name.max(initial=-1)) + 1, d),
            "w_g": normal(0.5 / d, d, d, d),
            "b_g": normal(0.1, d),
            "w_f": normal(1 / d, d, d),
            "b_f": np.full(1, -2, dtype=np.float32),
        }
        return cls(bounds, name, parameters)

    def features(self) -> Reals:
        """Vectors g of all values, shape (p, d)."""
        q = self.parameters
        made = np.empty((len(self.name), len(q["b_g"])), dtype=np.float32)
        maps = np.tensordot(q["e_r"], q["w_g"], 1)
        for a, of in self._each():
            made[of] = np.tanh(q["e_v"][self.name[of]] @ maps[a] + q["b_g"])
        return made

    def logits(self, features: Reals, rows: Vertices | slice) -> Reals:
        """Arguments of the sigmoid for some values with all values."""
        left: Reals = features[rows] @ self.parameters["w_f"]
        found: Reals = left @ features.T
        found += self.parameters["b_f"]
        return found

    def judged(self) -> Truth:
        """Ordered pairs predicted as truthful, shape (p, p)."""
        features, width = self.features(), _width(len(self.name))
        found = np.empty((len(features), len(features)), dtype=np.bool_)
        for i in range(0, len(features), width):  # in batches, for memory
            found[i : i + width] = self.logits(features, slice(i, i + width)) >= 0
        return found

    def learn(self, truth: Truth, rng: np.random.Generator) -> None:
        """Minimise the mean cross entropy with Adam; each step covers all pairs of a sample of values with all values.

        `truth` holds the truthful ordered pairs, shape (p, p).
        """
        adam = _Adam(self.parameters)
        p = len(self.name)
        for step in range(_STEPS if p else 0):
            rows = rng.choice(p, min(p, _width(p)), replace=False)
            adam.step(self._gradient(rows, truth[rows]), _RATE * (1 + np.cos(np.pi * step / _STEPS)) / 2)

    def _gradient(self, rows: Vertices, truth: Truth) -> Parameters:
        """Gradient of the mean cross entropy over the pairs of some values with all values."""
        from scipy.special import expit

        q = self.parameters
        features = self.features()
        error = self.logits(features, rows)
        expit(error, out=error)
        error -= truth
        error /= error.size
        some = features[rows]
        forth = error @ features
        back = error.T @ some
        by_features = back @ q["w_f"]
        by_features[rows] += forth @ q["w_f"].T
        slope: Reals = by_features * (1 - features * features)
        found = self._backwards(slope)
        found["w_f"] = some.T @ forth
        found["b_f"] = error.sum(keepdims=True)[0]
        return found

    def _backwards(self, slope: Reals) -> Parameters:
        """Gradient for the parameters of g, from that for the argument of its tanh."""
        q = self.parameters
        maps = np.tensordot(q["e_r"], q["w_g"], 1)
        by_maps = np.empty_like(maps)
        by_name = np.empty((len(self.name), slope.shape[1]), dtype=np.float32)
        for a, of in self._each():
            by_maps[a] = q["e_v"][self.name[of]].T @ slope[of]
            by_name[of] = slope[of] @ maps[a].T
        by_vector = np.zeros_like(q["e_v"])
        np.add.at(by_vector, self.name, by_name)
        return {
            "e_r": np.tensordot(by_maps, q["w_g"], ([1, 2], [1, 2])),
            "e_v": by_vector,
            "w_g": np.tensordot(q["e_r"], by_maps, ([0], [0])),
            "b_g": slope.sum(axis=0),
        }

    def _each(self) -> Iterator[tuple[int, slice]]:
        bounds = self.bounds.tolist()
        return enumerate(slice(*ends) for ends in pairwise(bounds))


class _Adam:
    """The Adam optimizer (Kingma and Ba, "Adam: a method for stochastic optimization", 2015, Algorithm 1)."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._mean = {k: np.zeros_like(v) for k, v in parameters.items()}
        self._square = {k: np.zeros_like(v) for k, v in parameters.items()}
        self._time = 0

    def step(self, gradient: Parameters, rate: float) -> None:
        self._time += 1
        lasting = np.sqrt(1 - _SQUARE**self._time) / (1 - _MEAN**self._time)
        for k, slope in gradient.items():
            self._mean[k] += (1 - _MEAN) * (slope - self._mean[k])
            self._square[k] += (1 - _SQUARE) * (slope * slope - self._square[k])
            self.parameters[k] -= (
                np.float32(rate * lasting) * self._mean[k] / (np.sqrt(self._square[k]) + _LITTLE)
            )


def _width(p: int) -> int:
    return max(1, PAIRS // max(p, 1))


_MOST = 30_000  # values; all pairs are held in memory


def learn(graph: PeopleGraph, dimensions: int, rng: np.random.Generator) -> Truth:
    """Learn the indicator R of truthful associations on all ordered pairs of attribute values of a graph.

    Values are numbered through all attributes, in the order of the graph; the result has the shape (p, p). `dimensions`
    is the length d1 of the vectors of attributes and values; 50 is usual.
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
    attributes = graph.attributes.values()
    bounds = np.cumsum([0, *(len(a.domain) for a in attributes)])
    texts = np.concatenate([np.empty(0, dtype=object), *(a.domain for a in attributes)])
    model = Bilinear.random(bounds, np.unique(texts.astype(str), return_inverse=True)[1], dimensions, rng)
    model.learn(values.together(), rng)
    return model.judged()
