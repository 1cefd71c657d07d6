"""On which side of the values that rules compare with a weight lies: as much as they can see of it.

A weight drawn on the same side of all of them keeps every answer of rules that compare weights, and one whose
incoming sums stay on their sides, too, those of rules that add them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram, Filter
from kgreason.analysis.expressions import COMPARISONS, walk
from kgreason.analysis.weights import Use, weight_uses
from kgreason.graph.model import Weights
from kgreason.lang.ast import Binary, Constant

Ints = npt.NDArray[np.int64]
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ABOVE = {">": (False,), "<=": (False,), ">=": (True,), "<": (True,)}


@dataclass(frozen=True, eq=False)
class Cuts:
    """Values that divide weights into sides.

    Attributes
    ----------
    value
        Ascending, shape (c,).
    above
        Whether what equals the value lies on its upper side, shape (c,). A value that rules ask for itself stands
        twice, once with either.

    Examples
    --------
    >>> cuts = Cuts.of([(0.5, False), (0.2, True)])
    >>> cuts.side(np.array([0.1, 0.2, 0.5, 0.6])).tolist()
    [0, 1, 1, 2]
    """

    value: Weights
    above: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, cuts: Iterable[tuple[float, bool]]) -> Cuts:
        """Make them of values and of where their equals lie."""
        # what equals a value asked for itself is above the one and below the other of the two
        ordered = sorted(set(cuts), key=lambda cut: (cut[0], not cut[1]))
        return cls(np.array([c[0] for c in ordered]), np.array([c[1] for c in ordered], dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.value)

    def side(self, weight: Weights) -> Ints:
        """Number of cuts below each weight, in the shape of `weight`."""
        side = np.zeros(weight.shape, dtype=np.int64)
        for value, above in zip(self.value.tolist(), self.above.tolist(), strict=True):
            side += weight >= value if above else weight > value
        return side


@dataclass(frozen=True, eq=False)
class Sight:
    """What the rules see of the weights of a relation.

    Attributes
    ----------
    use
        How much, from nothing to all.
    single
        Cuts of single weights.
    added
        Cuts of sums of weights into one vertex.
    """

    use: Use
    single: Cuts
    added: Cuts


BLIND = Sight(Use.UNREAD, Cuts.of(()), Cuts.of(()))
"""Of a relation that no rule looks at."""


def sights(program: CheckedProgram) -> dict[str, Sight]:
    """What rules see of the weights of each edge predicate.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '@edge("own"). p(Y) :- own(X,Y,W), V = msum(W, <X>), V > 0.5. q(X) :- own(X,_,W), W >= 0.2.'
    >>> own = sights(load_text(text))["own"]
    >>> own.use, own.single.value.tolist(), own.added.value.tolist(), own.added.above.tolist()
    (<Use.ADDED: 2>, [0.2, 0.5], [0.5], [False])
    """
    compared = _compared(program)

    def cuts(values: Iterable[float]) -> Cuts:
        return Cuts.of((value, above) for value in values for above in compared.get(value, {False, True}))

    return {
        name: Sight(use.use, cuts({*use.constants, *use.bounds}), cuts(use.bounds))
        for name, use in weight_uses(program).items()
    }


def _compared(program: CheckedProgram) -> dict[float, set[bool]]:
    """Each number that rules compare with, and on which sides its equals lie."""
    found: dict[float, set[bool]] = {}
    for operator, value in _comparisons(program):
        found.setdefault(value, set()).update(_ABOVE.get(operator, (False, True)))
    return found


def _comparisons(program: CheckedProgram) -> Iterable[tuple[str, float]]:
    """Operators and numbers, the numbers to the right."""
    steps = (step for rule in program.rules for step in (*rule.before, *rule.after))
    for step in steps:
        for node in walk(step.expression) if isinstance(step, Filter) else ():
            if isinstance(node, Binary) and node.operator in COMPARISONS:
                if isinstance(node.right, Constant) and isinstance(node.right.value, int | float):
                    yield node.operator, float(node.right.value)
                elif isinstance(node.left, Constant) and isinstance(node.left.value, int | float):
                    yield _MIRRORED.get(node.operator, node.operator), float(node.left.value)
