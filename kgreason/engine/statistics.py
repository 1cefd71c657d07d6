"""What an evaluation did: counts and times by stratum, rule, round and join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RoundStats:
    """What one rule did in one round: facts it came upon, those of them that were new, and seconds.

    In a walked stratum a round is one step of all walks, and the seconds are a share of all, by the facts tried.
    """

    round: int
    tried: int
    facts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JoinStats:
    """What one join of a rule did: bindings looked up, bindings that came out, and seconds."""

    rule: str
    atom: str
    probed: int
    found: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RuleStats:
    """What one rule did.

    Attributes
    ----------
    rule
        As written; a join that the planner has split off begins with ``#join``.
    facts
        New facts (or better values of keyed ones).
    tried
        Facts that it came upon, known ones among them; with an aggregate, contributions.
    rounds
        The same, round by round; rounds in which it had nothing to do are left out.
    """

    rule: str
    facts: int
    seconds: float
    tried: int = 0
    rounds: tuple[RoundStats, ...] = ()


@dataclass(frozen=True, slots=True)
class StratumStats:
    """What one stratum did.

    `walks` is the number of values for each of which it was evaluated alone (`separable_strata`), 0 if it was
    evaluated as a whole, in rounds. Of walks, the first recursive rule of a predicate counts for the others, and the
    first of all counts what is tried, unless they are profiled (`Recorder`).
    """

    predicates: tuple[str, ...]
    rounds: int
    seconds: float
    rules: tuple[RuleStats, ...]
    walks: int = 0
    joins: tuple[JoinStats, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """What an evaluation did, stratum by stratum; `seconds` includes planning and loading into the engine.

    Where unified nulls made it start again, `strata` tells of the last run, and `restarts` how often.
    """

    strata: tuple[StratumStats, ...]
    seconds: float
    restarts: int = 0

    @property
    def facts(self) -> int:
        """Number of new facts of all rules."""
        return sum(rule.facts for stratum in self.strata for rule in stratum.rules)

    @property
    def tried(self) -> int:
        """Number of facts that the rules came upon, known ones among them."""
        return sum(rule.tried for stratum in self.strata for rule in stratum.rules)

    @property
    def rounds(self) -> int:
        """Number of rounds of all strata."""
        return sum(stratum.rounds for stratum in self.strata)

    def as_dict(self, *, profile: bool = False) -> dict[str, Any]:
        """Ready for JSON; every round and join is in it if that is wanted."""
        found = asdict(self)
        for stratum in found["strata"] if not profile else ():
            del stratum["joins"]
            for rule in stratum["rules"]:
                del rule["rounds"]
        return found

    def costliest(self, count: int = 3) -> list[JoinStats]:
        """The joins that took longest, the longest first."""
        joins = (join for stratum in self.strata for join in stratum.joins)
        return sorted(joins, key=lambda join: -join.seconds)[:count]


class Recorder:
    """Gets what an evaluation did, even if it does not come to its end.

    Attributes
    ----------
    profile
        Whether walks count for each rule and round: then they take longer.
    stats
        What was done, as soon as the evaluation has ended or failed.
    """

    def __init__(self, *, profile: bool = False) -> None:
        self.profile = profile
        self.stats: Stats | None = None


def visible(predicates: Sequence[str]) -> list[str]:
    """Names of predicates for a user; those of constraints and of joins that the planner splits off are none of his.

    Examples
    --------
    >>> visible(["#join1", "p"]), visible(["#denial1"])
    (['p'], ['constraints'])
    """
    return [p for p in predicates if not p.startswith("#")] or ["constraints"]


def condensed(rounds: Sequence[RoundStats], most: int) -> list[tuple[int, RoundStats]]:
    """At most about `most` lines for any number of rounds: the first ones each, the later ones together.

    Returns
    -------
    list
        First round and the sum up to and with the round that the entry names.

    Examples
    --------
    >>> rounds = [RoundStats(i, 10, 1, 0.5) for i in range(1, 101)]
    >>> [(first, r.round, r.facts) for first, r in condensed(rounds, 8)]
    [(1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 28, 24), (29, 52, 24), (53, 76, 24), (77, 100, 24)]
    """
    if len(rounds) <= most:
        return [(r.round, r) for r in rounds]
    alone = most // 2
    rest = rounds[alone:]
    each = -(-len(rest) // (most - alone))
    found = [(r.round, r) for r in rounds[:alone]]
    for start in range(0, len(rest), each):
        part = rest[start : start + each]
        total = RoundStats(
            part[-1].round,
            sum(r.tried for r in part),
            sum(r.facts for r in part),
            sum(r.seconds for r in part),
        )
        found.append((part[0].round, total))
    return found
