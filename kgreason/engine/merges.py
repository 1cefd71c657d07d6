"""Which facts made values one, and what every null was made of: written down only where explanations are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from kgreason.engine.frontiers import Activations
from kgreason.engine.relation import Relation
from kgreason.engine.rows import Rows
from kgreason.engine.table import Codes, Kind
from kgreason.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Two values that became one in a run.

    Attributes
    ----------
    left, right
        Codes of the values.
    run
        Counted from 0.
    predicate, row
        The hidden predicate of the dependency and its fact. Both are `None` for nulls of one function whose arguments
        had become equal.
    """

    left: int
    right: int
    run: int
    predicate: str | None = None
    row: Codes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A null: the function that made it (of the rule or the Skolem term `name`), and from what."""

    name: int | str
    function: str
    kinds: tuple[Kind, ...]
    frontier: Codes


@dataclass
class Merges:
    """All unifications of one evaluation.

    Attributes
    ----------
    links
        In the order in which they were made.
    made
        By the code of the null.
    relations
        Of each run that ended with unifications; what it had not come to yet is empty.
    roots
        Of each run, the last one included: what values had become when it began, perhaps in several steps.
    """

    links: list[Link] = field(default_factory=list)
    made: dict[int, Made] = field(default_factory=dict)
    relations: list[Mapping[str, Relation]] = field(default_factory=list)
    roots: list[dict[int, int]] = field(default_factory=lambda: [{}])

    def forget(self) -> None:
        """Forget everything: the evaluation begins anew, with new nulls."""
        self.links.clear()
        self.made.clear()
        self.relations.clear()
        self.roots = [{}]

    def make(
        self,
        activations: Activations,
        numbers: Codes,
        functions: Sequence[str],
        codes: Rows,
        new: npt.NDArray[np.bool_],
    ) -> None:
        """Write down the new ones among the nulls of some activations."""
        frontiers = activations.rows[numbers]
        for i, j in np.argwhere(new).tolist():
            made = Made(activations.name, functions[j], activations.kinds, frontiers[i])
            self.made[int(codes[i, j])] = made

    def link(self, left: int, right: int, predicate: str | None = None, row: Codes | None = None) -> None:
        """Write down that two values became one."""
        self.links.append(
            Link(left, right, len(self.relations), predicate, None if row is None else row.copy())
        )

    def again(self, relations: Mapping[str, Relation], roots: Mapping[int, int]) -> None:
        """End a run; with the roots of the next one."""
        self.relations.append(relations)
        self.roots.append(dict(roots))
