"""Data model of the people family: the graph G(V, E, R) of users, values and relations (THESIS, section 4.2).

All parts are sets: values of a user and edges of a relation are unique, and there are no loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.graph.knowledge_graph import EdgeTable, GraphTables, Vertices

Kind = Literal["categorical", "numeric"]
Texts = npt.NDArray[np.object_]
Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attribute:
    """Values of one attribute: entry i states that user ``user[i]`` has the value ``domain[value[i]]``.

    Attributes
    ----------
    kind
        Whether values are names or numbers.
    domain
        Unique values, as text; shape (d,).
    user, value
        int64, shape (m,), ordered by user, then value; pairs are unique.
    """

    kind: Kind
    domain: Texts
    user: Vertices
    value: Vertices

    @cached_property
    def numbers(self) -> Numbers:
        """The domain of a numeric attribute as float64."""
        return self.domain.astype(np.float64)

    def listed(self, n: int) -> list[list[object]]:
        """Values of each of n users, as lists."""
        found: list[list[object]] = [[] for _ in range(n)]
        for user, value in zip(self.user.tolist(), self.values.tolist(), strict=True):
            found[user].append(value)
        return found

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """Value of each entry, as text or number; shape (m,)."""
        return (self.numbers if self.kind == "numeric" else self.domain)[self.value]

    def bounds(self, n: int) -> tuple[Numbers, Numbers]:
        """Least and largest number of each of n users, inf and -inf without a number."""
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(low, self.user, self.numbers[self.value])
        np.maximum.at(high, self.user, self.numbers[self.value])
        return low, high

    def renumbered(self, number: Vertices) -> Attribute:
        """The attribute with new numbers of its users; users with number -1 are left out."""
        kept = number[self.user] >= 0
        user, value = number[self.user[kept]], self.value[kept]
        order = np.lexsort((value, user))
        return replace(self, user=user[order], value=value[order])

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class Links:
    """Edges of one relation between users, from ``source[i]`` to ``target[i]``: unique, without loops.

    Attributes
    ----------
    source, target
        int64 user numbers, shape (m,), ordered by source, then target.
    mutual
        Whether the relation is symmetric by nature (married, friends): each link is stored in both directions.
    """

    source: Vertices
    target: Vertices
    mutual: bool = False

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False)
class PeopleGraph(Displayed):
    """Immutable graph of the users 0 .. n-1.

    Attributes
    ----------
    labels
        Unique name of each user; numpy array of str objects, shape (n,).
    attributes
        Attributes by name (the relation types R^UA).
    relations
        Relations between users by name (the relation types R^UU).

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(
    ...     ["Ken", "Mary"],
    ...     [("Ken", "age", "18"), ("Mary", "age", "19"), ("Mary", "job", "Student")],
    ...     [("Ken", "follows", "Mary")],
    ...     numeric=["age"],
    ... )
    >>> graph
    <PeopleGraph with 2 users; attributes: age 2, job 1; relations: follows 1>
    >>> graph.out_degrees().tolist(), graph.in_degrees().tolist()
    ([[1], [0]], [[0], [1]])
    """

    labels: Texts
    attributes: Mapping[str, Attribute]
    relations: Mapping[str, Links]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        object.__setattr__(self, "relations", MappingProxyType(dict(self.relations)))

    @classmethod
    def from_triples(
        cls,
        users: Iterable[str],
        values: Iterable[tuple[str, str, str]],
        links: Iterable[tuple[str, str, str]] = (),
        numeric: Iterable[str] = (),
        relations: Iterable[str] = (),
        mutual: Iterable[str] = (),
    ) -> PeopleGraph:
        """Build a graph from triples (user, attribute, value) and (user, relation, user).

        Repeated triples and loops are dropped. `relations` names relations without links. Links of `mutual` relations
        are added in both directions.
        """
        labels = list(dict.fromkeys(users))
        number = {label: i for i, label in enumerate(labels)}
        by_attribute: dict[str, list[tuple[int, str]]] = {}
        for user, name, text in values:
            by_attribute.setdefault(name, []).append((number[user], text))
        both = set(mutual)
        by_relation: dict[str, list[tuple[int, int]]] = {name: [] for name in (*relations, *sorted(both))}
        for source, name, target in links:
            by_relation.setdefault(name, []).append((number[source], number[target]))
        numbers = set(numeric)
        attributes = {
            name: attribute(
                "numeric" if name in numbers else "categorical",
                np.array([u for u, _ in pairs], dtype=np.int64),
                np.array([t for _, t in pairs], dtype=object),
            )
            for name, pairs in by_attribute.items()
        }
        found = {}
        for name, pairs in by_relation.items():
            given = distinct_links(len(labels), *np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
            found[name] = completed(len(labels), given) if name in both else given
        return cls(np.array(labels, dtype=object), attributes, found)

    def __reduce__(self) -> tuple[object, ...]:
        return PeopleGraph, (self.labels, dict(self.attributes), dict(self.relations))

    def __repr__(self) -> str:
        parts = [f"{self.n:,} users"]
        for title, group in (("attributes", self.attributes), ("relations", self.relations)):
            if group:
                parts.append(f"{title}: " + ", ".join(f"{name} {len(g):,}" for name, g in group.items()))
        return f"<PeopleGraph with {'; '.join(parts)}>"

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.labels)

    def tables(self) -> GraphTables:
        """Link and attribute tables."""
        edges = {}
        for name, links in self.relations.items():
            once = links.source < links.target if links.mutual else slice(None)
            edges[name] = EdgeTable(links.source[once], links.target[once], mutual=links.mutual)
        vertices = {name: a.listed(self.n) for name, a in self.attributes.items()}
        return GraphTables(vertices, edges, {name: (a.user, a.values) for name, a in self.attributes.items()})

    def out_degrees(self) -> Counts:
        """Out-degree of each user in each relation, in the order of `relations`; int64, shape (n, relations)."""
        return self._degrees([links.source for links in self.relations.values()])

    def in_degrees(self) -> Counts:
        """In-degree of each user in each relation, in the order of `relations`; int64, shape (n, relations)."""
        return self._degrees([links.target for links in self.relations.values()])

    def _degrees(self, ends: list[Vertices]) -> Counts:
        degrees = np.empty((self.n, len(ends)), dtype=np.int64)
        for column, end in enumerate(ends):
            degrees[:, column] = np.bincount(end, minlength=self.n)
        return degrees

    def of(self, users: Vertices) -> PeopleGraph:
        """The subgraph of some users, in the given order.

        Domains keep all their values, also those without users.
        """
        number = np.full(self.n, -1, dtype=np.int64)
        number[users] = np.arange(len(users))
        attributes = {name: a.renumbered(number) for name, a in self.attributes.items()}
        relations = {}
        for name, r in self.relations.items():
            kept = (number[r.source] >= 0) & (number[r.target] >= 0)
            ends = number[r.source[kept]], number[r.target[kept]]
            relations[name] = distinct_links(len(users), *ends, mutual=r.mutual)
        return PeopleGraph(self.labels[users], attributes, relations)


def attribute(kind: Kind, user: Vertices, texts: Texts) -> Attribute:
    """Build an attribute from users and their values, in any order and with repetitions; the domain is ascending."""
    distinct, value = np.unique(texts.astype(str), return_inverse=True)
    return attribute_of(kind, distinct.astype(object), user, value.astype(np.int64))


def attribute_of(kind: Kind, domain: Texts, user: Vertices, value: Vertices) -> Attribute:
    """Build an attribute from users and the indices of their values in `domain`, with repetitions."""
    width = max(len(domain), 1)
    key = np.unique(user * width + value)
    return Attribute(kind, domain, key // width, key % width)


def distinct_links(n: int, source: Vertices, target: Vertices, *, mutual: bool = False) -> Links:
    """Links without repetitions and loops, from any order; a mutual relation is given in both directions."""
    key = np.unique((source * n + target)[source != target])
    return Links(key // max(n, 1), key % max(n, 1), mutual)


def completed(n: int, links: Links) -> Links:
    """The symmetric closure of links, as a mutual relation."""
    ends = np.concatenate([links.source, links.target]), np.concatenate([links.target, links.source])
    return distinct_links(n, *ends, mutual=True)


_NOBODY = np.empty(0, dtype=np.int64)
EMPTY = Attribute("categorical", np.empty(0, dtype=object), _NOBODY, _NOBODY)


def links_of(graph: PeopleGraph, name: str) -> Links:
    """Links of a relation, empty if the graph lacks it."""
    return graph.relations.get(name, Links(_NOBODY, _NOBODY))
