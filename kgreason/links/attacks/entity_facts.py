"""Facts about entities that an attacker's rules read: links, and values.

Values that several entities share are dealt among them at random.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.engine.relations.fact_tables import Kind, Table, doubles
from kgreason.engine.relations.symbols import Symbols
from kgreason.links.model import Observations, Released, observations
from kgreason.links.settings import CLUSTERED
from kgreason.links.verification import classes
from kgreason.people.model import Attribute

Ints = npt.NDArray[np.int64]


class LinkFacts:
    """Links of one relation as facts, in both directions if mutual, with the number of links of each fact."""

    def __init__(self, found: Observations, entities: int, arity: int) -> None:
        if arity == 2 and found.weight is not None:
            found = observations(found.source, found.target, count=found.count, mutual=found.mutual)
        self.mutual, self._entities = found.mutual, entities
        back = (found.source != found.target) if found.mutual else np.zeros(len(found), dtype=np.bool_)
        source = np.concatenate([found.source, found.target[back]])
        target = np.concatenate([found.target, found.source[back]])
        self._columns = [source, target]
        if arity == 3:
            weight = np.ones(len(found)) if found.weight is None else found.weight
            self._columns.append(doubles(np.concatenate([weight, weight[back]])))
        self._counts = np.concatenate([found.count, found.count[back]])
        self._single = bool((self._counts == 1).all())
        self._weights = np.unique(self._columns[2]) if arity == 3 else np.empty(0, dtype=np.int64)
        if not self._single:
            keys = self._keys(np.stack(self._columns, axis=1))
            order = np.argsort(keys)
            self._sorted, self._ordered = keys[order], self._counts[order]

    def table(self) -> Table:
        """The facts as a table of source, target and, with three arguments, weight."""
        return fact_table(self._columns)

    def _keys(self, rows: Ints) -> Ints:
        keys: Ints = self._entities * rows[:, 0] + rows[:, 1]
        if rows.shape[1] == 3:
            at = np.searchsorted(self._weights, rows[:, 2])
            known = self._weights[np.minimum(at, len(self._weights) - 1)] == rows[:, 2]
            keys = np.where(known, keys * len(self._weights) + at, -1)
        return keys

    def count(self, rows: Ints) -> Ints:
        """Number of links of each fact; 1 for derived facts."""
        if self._single or not len(rows):  # also if there is no link at all
            return np.ones(len(rows), dtype=np.int64)
        keys = self._keys(rows)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        found = self._sorted[at] == keys
        return np.where(found, self._ordered[at], 1)


def fact_table(columns: Sequence[Ints]) -> Table:
    """Table of two entity columns and an optional weight column."""
    kinds = (Kind.INT, Kind.INT, Kind.DOUBLE)[: len(columns)]
    return Table(kinds, tuple(columns), len(columns[0]))


def sharing(released: Released) -> Ints:
    """Group of each entity, int64, shape (entities,): entities of one node, or with equal values, share them."""
    graph = released.graph
    group = np.arange(graph.n) if released.strategy in CLUSTERED else classes(graph)
    return np.repeat(group, graph.size)


class Hands:
    """Values of one attribute, and the groups of entities among which they are dealt.

    The release says which values the entities of a group have together. In a world, each value goes to a random entity
    of its group, to different ones while there are enough, and each entity without a value gets a random one of its
    group. An entity alone has all values of its group.

    Parameters
    ----------
    node
        Released node of each entity, int64, shape (entities,).
    group
        As `sharing`.
    symbols
        Symbol table of the facts; values that are names get codes.
    """

    def __init__(self, values: Attribute, node: Ints, group: Ints, symbols: Symbols) -> None:
        self.kind = Kind.DOUBLE if values.kind == "numeric" else Kind.STRING
        codes = (
            doubles(values.numbers) if values.kind == "numeric" else symbols.encode(values.domain.tolist())
        )
        groups = int(group.max(initial=-1)) + 1
        of = np.empty(int(node.max(initial=-1)) + 1, dtype=np.int64)
        of[node] = group
        pairs = np.unique(np.stack([of[values.user], codes[values.value]]), axis=1)
        self._group, self._value = group, pairs[1]
        self._owner = pairs[0]  # group of each value
        self._size = np.bincount(group, minlength=groups)
        self._many = np.bincount(self._owner, minlength=groups)

    @property
    def certain(self) -> bool:
        """Whether there is only one way to deal: each group has one entity, or no more than one value."""
        return bool(((self._size <= 1) | (self._many <= 1)).all())

    def deal(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Entity and value of each fact of a world, distinct, as codes of `kind`.

        Examples
        --------
        >>> two = Attribute("numeric", np.array(["1", "2"], dtype=object), np.array([0, 0]), np.array([0, 1]))
        >>> node = np.zeros(2, dtype=np.int64)
        >>> entity, value = Hands(two, node, node, Symbols()).deal(np.random.default_rng(0))
        >>> sorted(entity.tolist()), sorted(value.view(np.float64).tolist())
        ([0, 1], [1.0, 2.0])
        """
        size, many = self._size, self._many
        each = np.where(many > 0, np.maximum(size, many), 0)  # facts of each group
        row = np.repeat(np.arange(len(size)), each)
        turn = np.arange(len(row)) - (np.cumsum(each) - each)[row]
        entities = np.lexsort((rng.random(len(self._group)), self._group))  # in random order, by group
        values = self._value[np.lexsort((rng.random(len(self._value)), self._owner))]
        pick = np.where(turn < many[row], turn, rng.integers(0, many[row]))
        entity = entities[(np.cumsum(size) - size)[row] + turn % size[row]]
        return entity, values[(np.cumsum(many) - many)[row] + pick]


def hands(released: Released, read: Collection[str], symbols: Symbols) -> dict[str, Hands]:
    """Hands of the attributes among the predicates that rules read."""
    graph = released.graph
    chosen = {name: a for name, a in graph.attributes.items() if name in read}
    if not chosen:
        return {}
    node, group = np.repeat(np.arange(graph.n), graph.size), sharing(released)
    return {name: Hands(values, node, group, symbols) for name, values in chosen.items()}


def dealt(held: Mapping[str, Hands], rng: np.random.Generator) -> dict[str, Table]:
    """The facts of one world."""
    found = {}
    for name, one in held.items():
        entity, value = one.deal(rng)
        found[name] = Table((Kind.INT, one.kind), (entity, value), len(entity))
    return found
