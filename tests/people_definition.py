"""The models of graphs of people in plain Python, word for word as the definitions have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from kgreason.people.model import PeopleGraph

Triples = frozenset[tuple[str, str, str]]


@dataclass(frozen=True)
class People:
    """A graph of people: names, triples (user, attribute, value), triples (user, relation, user)."""

    users: tuple[str, ...]
    values: Triples = frozenset()
    links: Triples = frozenset()
    relations: tuple[str, ...] = ("follows",)

    def graph(self) -> PeopleGraph:
        return PeopleGraph.from_triples(
            self.users, sorted(self.values), sorted(self.links), relations=self.relations
        )

    def out_degrees(self, user: str) -> frozenset[tuple[str, int]]:
        return frozenset((r, sum((u, q) == (user, r) for u, q, _ in self.links)) for r in self.relations)

    def in_degrees(self, user: str) -> frozenset[tuple[str, int]]:
        return frozenset((r, sum((v, q) == (user, r) for _, q, v in self.links)) for r in self.relations)

    def degrees(self, user: str) -> object:
        return self.out_degrees(user), self.in_degrees(user)

    def information(self, user: str) -> object:
        """I(G, u) of a user of G."""
        return frozenset((a, v) for u, a, v in self.values if u == user), self.degrees(user)


def paired_k_degree(g: People, k: int) -> bool:
    degrees = [g.degrees(u) for u in g.users]
    return all(degrees.count(of) >= k for of in degrees)


def p_k_ad(g: People, k: Mapping[str, int]) -> bool:
    known = [g.information(u) for u in g.users]
    return all(known.count(of) >= k[u] for u, of in zip(g.users, known, strict=True))


def k_ad(g: People, k: int) -> bool:
    return p_k_ad(g, dict.fromkeys(g.users, k))


def k_w_tad(series: Sequence[People], k: int) -> bool:
    def information(user: str) -> object:
        return tuple(g.information(user) if user in g.users else None for g in series)

    historical = {user for g in series for user in g.users}
    count = Counter(information(user) for user in historical)
    return all(k_ad(g, k) for g in series) and all(size >= k for size in count.values())


def p_k_ad_of_somebody(g: People, k: Sequence[int]) -> str:
    """Whether p-k-ad holds for every way to say who has which k, for none, or for some."""
    given = [*k, *[1] * (len(g.users) - len(k))]
    known = [g.information(u) for u in g.users]
    size = [known.count(of) for of in known]
    found = {
        all(size >= k for size, k in zip(size, order, strict=True))
        for order in permutations(given, len(g.users))
    }
    return "undecided" if len(found) == 2 else "holds" if found == {True} else "fails"


def truthful(original: People, released: People, mapping: Mapping[str, str]) -> bool:
    """Each released user has all values that he had."""
    return all((mapping[u], a, v) in released.values for u, a, v in original.values if mapping.get(u))


def stable(mappings: Iterable[Mapping[str, str]]) -> bool:
    """No user has two names, no name has two users."""
    pairs = {(u, v) for mapping in mappings for u, v in mapping.items() if v}
    return len({u for u, _ in pairs}) == len({v for _, v in pairs}) == len(pairs)
