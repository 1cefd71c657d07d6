"""Evaluation statistics: counts and times by stratum, rule, round and join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class RoundStats(NamedTuple):
    """Statistics of one rule in one round: derived facts, new facts and seconds.

    In a separable stratum a round is one step of all walks, and the seconds are proportional to the facts tried.
    """

    round: int
    tried: int
    facts: int
    seconds: float


class JoinStats(NamedTuple):
    """Statistics of one join of a rule: bindings looked up, resulting bindings and seconds."""

    rule: str
    atom: str
    probed: int
    found: int
    seconds: float


class RuleStats(NamedTuple):
    """Statistics of one rule, by its text; that of a join split off by the planner begins with ``#join``.

    `facts` counts new facts (or improved values of keyed facts), and `tried` all derived facts; with an aggregate,
    contributions. `rounds` has the same counts per round; rounds without work are omitted.
    """

    rule: str
    facts: int
    seconds: float
    tried: int = 0
    rounds: tuple[RoundStats, ...] = ()


class StratumStats(NamedTuple):
    """Statistics of one stratum.

    `walks` is the number of values for which a separable stratum was evaluated independently (`separable_strata`), 0 if
    it was evaluated as a whole, in rounds. Unless walks are profiled (`Recorder`), the first recursive rule of each
    predicate gets the counts of all its rules, and the very first rule gets all tried facts.
    """

    predicates: tuple[str, ...]
    rounds: int
    seconds: float
    rules: tuple[RuleStats, ...]
    walks: int = 0
    joins: tuple[JoinStats, ...] = ()


class Stats(NamedTuple):
    """Statistics of an evaluation by stratum; `seconds` includes planning and loading.

    After restarts because of unified nulls, `strata` describes the last run and `restarts` counts the restarts.
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
        """Number of facts that the rules derived, known ones included."""
        return sum(rule.tried for stratum in self.strata for rule in stratum.rules)

    @property
    def rounds(self) -> int:
        """Number of rounds of all strata."""
        return sum(stratum.rounds for stratum in self.strata)

    def as_dict(self, *, profile: bool = False) -> dict[str, Any]:
        """JSON-compatible dictionary; rounds and joins only with `profile`."""
        found: dict[str, Any] = _as_dicts(self)
        for stratum in found["strata"] if not profile else ():
            del stratum["joins"]
            for rule in stratum["rules"]:
                del rule["rounds"]
        return found

    def costliest(self, count: int = 3) -> list[JoinStats]:
        """The `count` slowest joins, slowest first."""
        joins = (join for stratum in self.strata for join in stratum.joins)
        return sorted(joins, key=lambda join: -join.seconds)[:count]


def _as_dicts(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _as_dicts(part) for name, part in value._asdict().items()}
    return tuple(map(_as_dicts, value)) if isinstance(value, tuple) else value


class Recorder:
    """Receiver of the statistics of an evaluation, also of one that fails, set when it ends.

    With `profile`, walks count per rule and round, which makes them slower.
    """

    def __init__(self, *, profile: bool = False) -> None:
        self.profile = profile
        self.stats: Stats | None = None


def visible(predicates: Sequence[str]) -> list[str]:
    """Names of predicates for display, without the internal ones of constraints and split joins."""
    return [p for p in predicates if not p.startswith("#")] or ["constraints"]


def condensed(rounds: Sequence[RoundStats], most: int) -> list[tuple[int, RoundStats]]:
    """Condense rounds to about `most` entries: the first ones separately, the later ones summed up.

    Each entry is the pair of a first round and the sum from there up to and including the round of the sum.
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
