"""Attackers who know attribute values and degrees of single users, and the candidates they find in a release.

References
----------
THESIS, Definitions 6 to 8 (one release) and 18 to 21 (a series); PCKGA, section 3.
M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi: A unified framework for quantifying privacy risk in synthetic data
(Anonymeter), 2022: attacks on a control set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.refinement import paired
from kgreason.people.attacker_knowledge import Series, aligned, known_k
from kgreason.people.model import Counts, Numbers, PeopleGraph
from kgreason.people.verification.information import Classes, information, sizes
from kgreason.people.verification.verdict import Published, Source
from kgreason.release.rates import Rate, chances
from kgreason.release.report.candidate_tables import Candidates, CandidateSets, as_shown, by_classes

STANDS = ", as released"  # end of the kinds of knowledge of what a graph shows, be it true or not


def candidates_of_users(
    original: PeopleGraph, released: PeopleGraph, mapping: Counts
) -> Iterator[Candidates]:
    """Candidates for attackers who know the true data of a user, or the data as the graph shows them."""
    series = Series.of([Published(released, Source(original, mapping))])
    n = original.n
    kinds = series.traits.kinds()
    for name, found in kinds.items():
        yield by_classes(f"true {name}", found[:n], found[n:], mapping)
    for name, found in kinds.items():
        yield as_shown(f"{name}{STANDS}", found[:n], found[n:], mapping)


def attack_users(
    releases: Sequence[Published],
    k: Counts,
    rng: np.random.Generator,
    *,
    personal: bool = False,
    targets: int | None = None,
    sensitive: Sequence[str] = (),
    confidence: float = 1.0,
) -> UserAttacks:
    """Attack all users of one or several releases with each kind of knowledge, and as a control with that of twins.

    Parameters
    ----------
    k
        The k of each original user, in the order of `Series.labels`; int64, shape (n,).
    personal
        Whether attackers know that k, and that the class of their target has as many users.
    targets
        Number of users to draw; `None`: all.
    sensitive, confidence
        Attributes whose values the attacker concludes from the class of a user, and the confidence that should not be
        exceeded; of one release.
    """
    series = Series.of(releases)
    n, mapping = len(k), series.mapping
    m = series.traits.n - n
    groups = series.present[:n], series.present[n:]
    seen: list[Candidates] = []
    control: list[CandidateSets] = []
    true = series.traits.with_twins(n, groups[0], rng).kinds()
    for name, found in true.items():
        seen.append(by_classes(f"true {name}", found[:n], found[n : n + m], mapping))
        control.append(_of_twins(found[n + m :], found[n : n + m], mapping))
    shown = series.traits.take(np.arange(n, n + m)).with_twins(m, groups[1], rng).kinds()
    there = mapping >= 0
    place = np.where(there, mapping, m)  # an entry behind all released users, for those who are not released
    for name, found in shown.items():
        seen.append(as_shown(f"{name}{STANDS}", true[name][:n], found[:m], mapping))
        control.append(_of_twins(np.append(found[m:], 0)[place], found[:m], mapping))
    if personal:
        size = sizes([*shown.values()][-1][:m])
        fits = there & (np.append(size, 0)[place] >= k)
        for name, found in shown.items():
            own, twins = (np.append(side, 0)[place] for side in (found[:m], found[m:]))
            before = CandidateSets(sizes(paired(true[name][:n], k)), np.ones(n, dtype=np.bool_))
            after = CandidateSets(np.where(there, _large(found[:m], size, own, k), 0), fits)
            seen.append(Candidates(f"{known_k(name)}{STANDS}", before, after))
            control.append(CandidateSets(_large(found[:m], size, twins, k), fits & (own == twins)))
    drawn = np.arange(n)
    if targets is not None and targets < n:
        drawn = np.sort(rng.permutation(n)[:targets])
        seen = [replace(one, before=_only(one.before, drawn), after=_only(one.after, drawn)) for one in seen]
    return UserAttacks(
        tuple(seen),
        k[drawn],
        {one.knowledge: _only(twins, drawn) for one, twins in zip(seen, control, strict=True)},
        float((mapping[drawn] >= 0).mean()) / max(m, 1) if len(drawn) else 0.0,
        len(drawn) == n,
        tuple(belief(releases[0], name, confidence) for name in sensitive),
    )


def _of_twins(twins: Classes, released: Classes, mapping: Counts) -> CandidateSets:
    """Candidates for knowledge of twins, of whom each searches for the user of the same number."""
    count = np.bincount(released, minlength=1 + int(twins.max(initial=0)))
    right = mapping >= 0
    right[right] = released[mapping[right]] == twins[right]
    return CandidateSets(count[twins], right)


def _large(classes: Classes, size: Counts, known: Classes, k: Counts) -> Counts:
    """Number of users of each known class whose size is at least k; `size` is that of each released user."""
    width = int(max(size.max(initial=0), 0)) + 2
    ordered = np.sort(classes * width + size)
    first = np.searchsorted(ordered, known * width + np.minimum(k, width - 1))
    return (np.searchsorted(ordered, (known + 1) * width) - first).astype(np.int64)


def _only(sets: CandidateSets | None, users: Counts) -> CandidateSets:
    """Candidates of some of the targets."""
    assert sets is not None
    every = len(users) == len(sets.candidates)
    return replace(
        sets,
        candidates=sets.candidates[users],
        right=sets.right[users],
        fits=None if sets.fits is None else sets.fits[users],
        alone=sets.alone if every else None,
        sampled=not every,
    )


@record(eq=False)
class Belief:
    """Conclusions of an attacker who finds the class of a user, on the user's values of one attribute.

    A value is believed with the share of the users of the class who truly have it.

    Attributes
    ----------
    attribute
        Name of the attribute.
    users
        Original users with values who are released; int64, shape (m,).
    confidence
        Highest confidence in a true value of each of them; float64, shape (m,).
    above
        Those with a value whose confidence exceeds both `limit` and the share of all original users with the value.
    limit
        Confidence that should not be exceeded.
    """

    attribute: str
    users: Vertices
    confidence: Numbers
    above: Vertices
    limit: float

    @property
    def highest(self) -> float:
        """Highest confidence in a true value of any user."""
        return float(self.confidence.max(initial=0.0))

    @property
    def average(self) -> float:
        """Mean over the users of the highest confidence."""
        return float(self.confidence.mean()) if len(self.users) else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without users."""
        return {
            "attribute": self.attribute,
            "limit": self.limit,
            "users": len(self.users),
            "above": len(self.above),
            "highest": self.highest,
            "average": self.average,
        }

    def __str__(self) -> str:
        share = len(self.above) / max(len(self.users), 1)
        return (
            f"values of {self.attribute} concluded from the class: confidence {self.average:.3f} on average, "
            f"{self.highest:.3f} at most; for {len(self.above):,} of {len(self.users):,} users ({share:.1%}) it is "
            f"above {self.limit:g} and above the share of all users with the value"
        )


def belief(release: Published, name: str, limit: float) -> Belief:
    """Measure what an attacker concludes from classes of equal users of a release; `limit` is that of `Belief`."""
    assert release.source is not None
    original, mapping = release.source.graph, release.source.mapping
    if name not in original.attributes:
        known = ", ".join(original.attributes) or "none"
        raise AnonymizationError(f"there is no attribute {name!r}", hint=f"the attributes are: {known}")
    classes, held = information(release.graph), original.attributes[name]
    there = mapping[held.user] >= 0
    user, value = held.user[there], held.value[there]
    own = classes[mapping[user]]
    _, place, holders = np.unique(
        own * max(len(held.domain), 1) + value, return_inverse=True, return_counts=True
    )
    share = holders[place] / np.bincount(classes, minlength=1)[own]
    overall = np.bincount(held.value, minlength=len(held.domain))[value] / max(original.n, 1)
    most = np.zeros(original.n)
    np.maximum.at(most, user, share)
    users = np.unique(user)
    above = np.unique(user[share > np.maximum(limit, overall) + 1e-12])
    return Belief(name, users, most[users], above, limit)


HEAD = (
    "an attacker knows",
    "smallest",
    "unique",
    "fewer than k",
    "average risk",
    "others",
    "misled",
)


@dataclass(frozen=True, eq=False)
class UserAttacks(Displayed):
    """Candidates for attackers who know single users, before and after the anonymization.

    Attributes
    ----------
    seen
        Candidates for each kind of knowledge, from little knowledge to much.
    k
        Least number of candidates of each target, int64, shape (targets,).
    control
        Candidates by kind of knowledge if the attacker knows a person who is not in the data instead of the target.
    naive
        Mean probability that a guess without knowledge is right.
    all
        Whether all users are targets; otherwise they were drawn.
    beliefs
        What attackers conclude on values of sensitive attributes.
    """

    seen: tuple[Candidates, ...]
    k: Counts
    control: Mapping[str, CandidateSets]
    naive: float
    all: bool
    beliefs: tuple[Belief, ...] = ()

    def __repr__(self) -> str:
        return f"<UserAttacks: {len(self.seen)} kinds of knowledge; {self.state}>"

    def short(self, seen: Candidates) -> int:
        """Number of targets with fewer than k candidates."""
        after = seen.after
        return 0 if after is None else int((after.right & (after.candidates < self.k)).sum())

    def found(self, sets: CandidateSets) -> Rate:
        """Mean probability of a right guess among candidates, with its 95 % interval (Wilson) over drawn targets."""
        return Rate.of(chances(sets.candidates, sets.right), self.all)

    def excess(self, seen: Candidates) -> float:
        """Risk that is due to the data of the target: (main - control) / (1 - control), at least 0."""
        assert seen.after is not None
        main, control = (self.found(sets).value for sets in (seen.after, self.control[seen.knowledge]))
        return max(0.0, (main - control) / (1 - control)) if control < 1 else 0.0

    @property
    def promised(self) -> tuple[Candidates, ...]:
        """Knowledge against which every anonymity model guarantees candidates: what the release shows of a user."""
        return tuple(one for one in self.seen if one.knowledge.endswith(STANDS))

    @property
    def holds(self) -> bool:
        """Whether each target has k candidates, for an attacker who knows what the release shows of the user."""
        return not any(map(self.short, self.promised))

    @property
    def state(self) -> str:
        """The finding in one sentence."""
        if self.holds:
            return f"every {'user' if self.all else 'drawn user'} has as many candidates as its level"
        few = max(map(self.short, self.promised))
        if few == 1:
            return "1 user has fewer candidates than its level"
        return f"{few:,} users have fewer candidates than their level"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "holds": self.holds,
            "targets": len(self.k),
            "all": self.all,
            "naive": self.naive,
            "attacks": [self._as_dict(one) for one in self.seen],
            "beliefs": [one.as_dict() for one in self.beliefs],
        }

    def _as_dict(self, seen: Candidates) -> dict[str, Any]:
        figures = ("fewest", "median", "unique", "highest", "average", "misled")
        sides = {"before": seen.before, "after": seen.after, "control": self.control[seen.knowledge]}
        return {
            "knowledge": seen.knowledge,
            "promised": seen in self.promised,
            "fewer_than_k": self.short(seen),
            "excess": self.excess(seen),
            **{
                side: {name: getattr(candidates, name) for name in figures}
                | {"found": asdict(self.found(candidates))}
                for side, candidates in sides.items()
                if candidates is not None
            },
        }

    def __str__(self) -> str:
        lines = aligned([HEAD, *map(self.row, self.seen)])
        more = [*map(str, self.beliefs), ""] if self.beliefs else []
        naive = f"naive             a guess without knowledge is right with probability {self.naive:.4f}"
        interval = (
            [] if self.all else [f"[...]             95 % interval over the {len(self.k):,} drawn users"]
        )
        return "\n".join([*lines, "", *LEGEND, naive, *interval, "", *more, self.state])

    def row(self, seen: Candidates) -> tuple[str, ...]:
        """Table cells in the order of `HEAD`: before and after the anonymization."""
        before, after = seen.before, seen.after
        assert before is not None
        assert after is not None
        fewer = int((before.right & (before.candidates < self.k)).sum())
        rate = self.found(after)
        interval = "" if self.all else f" [{rate.low:.3f}, {rate.high:.3f}]"
        return (
            seen.knowledge,
            f"{before.fewest:,} -> {after.fewest:,}",
            f"{before.unique:,} -> {after.unique:,}",
            f"{fewer:,} -> {self.short(seen):,}",
            f"{before.average:.3f} -> {rate.value:.3f}{interval}",
            f"{self.found(self.control[seen.knowledge]).value:.3f}",
            f"{after.misled:.1%}",
        )


LEGEND = (
    "candidates        users who fit what the attacker knows: before -> after the anonymization",
    "smallest          fewest candidates of a user who is one of them, 0 if none is; the highest risk is 1 / smallest",
    "unique            users who are the only candidate",
    "fewer than k      users with fewer candidates than their anonymity level",
    "average risk      probability to pick the right candidate, on average",
    "others            the same for knowledge of a person who is not in the data",
    "misled            users who are not among the candidates in the release",
    "as released       the attacker knows what the release shows of a user, which is the worst case",
)
