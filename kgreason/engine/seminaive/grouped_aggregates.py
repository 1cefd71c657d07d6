"""Grouped aggregation: state of the aggregate of one rule, fed with batches of contributions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Doubles, Ints, Rows, inlined, kernel
from kgreason.engine.expressions.builtin_functions import Refusal
from kgreason.engine.plan.ir import plain
from kgreason.engine.plan.static_kinds import COLLECTING
from kgreason.engine.relations.fact_tables import Kind, doubles
from kgreason.engine.relations.hash_kernels import (
    ANY,
    DOUBLE,
    FACTOR,
    GREATEST,
    LEAST,
    LOW,
    before,
    find,
    hashed,
)
from kgreason.engine.relations.relation import NO_RANKS
from kgreason.engine.relations.rows import CHUNK, Keys, grown
from kgreason.engine.relations.symbols import Symbols
from kgreason.engine.seminaive.value_aggregates import Gathered, NoTotal, exact_mean, exact_product, exact_sum
from kgreason.language.check.checked_program import Aggregation

SUM, PROD, COUNT, EXTREME = 0, 1, 2, 3
FUNCTIONS = {
    "sum": SUM,
    "avg": SUM,
    "median": SUM,
    "prod": PROD,
    "count": COUNT,
    "min": EXTREME,
    "max": EXTREME,
}


# which value of a contributor counts, if not the greatest
KEEP = {
    "min": LEAST,
    "count": ANY,
    "prod": FACTOR,
}


# functions of finite doubles, rounded once
EXACT = {
    "sum": exact_sum,
    "prod": exact_product,
    "avg": exact_mean,
}


NOTHING = np.empty(0, dtype=np.int64)
SPLITTER = 134217729.0  # 2^27 + 1: splits a double into two halves whose products are exact
ONE = 0x3FF0000000000000  # 1.0, as a coded double


def grouping(
    aggregation: Aggregation,
    width: int,
    contributors: int,
    kind: Kind,
    symbols: Symbols,
    double: bool = False,
) -> Groups | Gathered:
    """State of an aggregate.

    The parameters are those of `Groups`; `double` states that numbers of kind ANY are doubles.
    """
    if plain(aggregation) in COLLECTING or (kind is Kind.ANY and plain(aggregation) != "count"):
        return Gathered(aggregation, width, kind, symbols, double and kind is Kind.ANY)
    return Groups(aggregation, width, contributors, kind, symbols)


class Groups:
    """Contributions by group; a batch holds `width` group columns, then contributor columns, then the value.

    Each contributor counts with its best value: the least for a minimum, and for a product with a value below 1;
    otherwise the greatest. In recursion, `add` maintains the totals, and `changes` returns those that changed;
    otherwise `totals` computes all at the end, so that no total depends on the order of contributions.
    """

    def __init__(
        self, aggregation: Aggregation, width: int, contributors: int, kind: Kind, symbols: Symbols
    ) -> None:
        self.name = plain(aggregation)
        self.kind = kind
        self.symbols = symbols
        self.keep = KEEP.get(self.name, GREATEST)
        self.contributors = Keys(width + contributors)
        self.groups = Keys(width)
        self.values = self.owner = NOTHING  # of each contributor: best value, number of its group
        self.high = self.low = np.empty(0)  # of each group: see `tally`
        self.whole = self.stamps = self.changed = NOTHING
        self.touched = self.olds = self.news = self.fresh = NOTHING  # changes of one batch
        self.now = self.n_changed = 0
        # groups whose total could depend on the order of contributions
        self.unsure = np.empty(0, dtype=np.bool_)

    def group(self, number: int) -> Ints:
        """Coded variables of a group."""
        row: Ints = self.groups.rows[number]
        return row

    def below(self, values: Ints, floor: int) -> npt.NDArray[np.bool_]:
        """Mask of the coded values less than `floor`."""
        return np.asarray((values.view(np.float64) if self.kind is Kind.DOUBLE else values) < floor)

    def add(self, batch: Rows, *, track: bool) -> None:
        """Add contributions (at most one chunk); with `track`, apply the changes to the totals."""
        self._reserve(len(batch))
        ranks = self.symbols.ranks() if self.kind is Kind.STRING else NO_RANKS
        many, one = self.contributors, self.groups
        many.count, one.count, changes = contribute(
            batch,
            self.keep,
            int(self.kind),
            ranks,
            many.rows,
            many.slots.array,
            many.key,
            many.count,
            self.values,
            self.owner,
            one.rows,
            one.slots.array,
            one.key,
            one.count,
            self.touched,
            self.olds,
            self.news,
            self.fresh,
        )
        if track and changes:
            self._tally(self.touched[:changes], self.olds, self.news, self.fresh)

    def changes(self) -> tuple[Rows, Ints]:
        """Groups whose total changed since the last call, and the coded totals; `NoTotal` if a total overflows."""
        changed = self.changed[: self.n_changed].copy()
        self.n_changed = 0
        self.now += 1
        return self.groups.rows[changed], self._totals(changed)

    def totals(self) -> tuple[Rows, Ints]:
        """All groups and their coded totals, if changes were not tracked; `NoTotal` if a total overflows."""
        count = self.contributors.count
        if self.name == "median":
            return self.groups.rows[: self.groups.count], self._medians()
        for start in range(0, count, CHUNK):
            stop = min(start + CHUNK, count)
            touched = np.arange(start, stop)
            values = self.values[start:stop]
            self._tally(touched, values, values, np.ones_like(touched))
        if self.kind is Kind.DOUBLE and self.name in EXACT:
            self.unsure = self._unsure()
        return self.changes()

    def _totals(self, groups: Ints) -> Ints:
        if self.name == "avg":
            sizes = np.bincount(self.owner[: self.contributors.count], minlength=self.groups.count)[groups]
            with np.errstate(invalid="ignore"):
                means = self.high[groups] / sizes
            return doubles(self._finite(groups, means))
        if self.name in ("min", "max"):
            return self.whole[groups]
        if self.kind is Kind.DOUBLE and self.name != "count":
            return doubles(self._finite(groups, self.high[groups]))
        apart = np.abs(self.high[groups] - self.whole[groups]) > 2.0**62
        if apart.any():
            raise NoTotal(int(groups[np.argmax(apart)]), Refusal("integer overflow"))
        return self.whole[groups]

    def _finite(self, groups: Ints, totals: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Totals of doubles, recomputed exactly where an intermediate result overflowed or `unsure` is set."""
        lost = ~np.isfinite(totals)
        if len(self.unsure):
            lost |= self.unsure[groups]
        if not lost.any():
            return totals
        owner = self.owner[: self.contributors.count]
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], groups)
        ends = np.searchsorted(owner[order], groups, side="right")
        for i in np.flatnonzero(lost).tolist():
            values = self.values[order[starts[i] : ends[i]]].view(np.float64).tolist()
            try:
                totals[i] = EXACT[self.name](values)
            except Refusal as refusal:
                raise NoTotal(int(groups[i]), refusal) from None
        return totals

    def _unsure(self) -> npt.NDArray[np.bool_]:
        """Mask of the groups for which `high + low` is too imprecise to determine the rounding of the exact total."""
        owner, count = self.owner[: self.contributors.count], self.groups.count
        values = self.values[: self.contributors.count].view(np.float64)
        high, low = self.high[:count], self.low[:count]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.name == "prod":
                _, exponents = np.frexp(values)
                deep = np.bincount(owner, np.maximum(-exponents, 0), minlength=count)
                far = np.bincount(owner, np.maximum(exponents, 0), minlength=count)
                rough = (deep > 900) | (far > 900)  # in some order, `low` may not be a normal double
                scale = np.abs(high)
            else:
                rough = np.zeros(count, dtype=np.bool_)
                scale = np.bincount(owner, np.abs(values), minlength=count)
            error = np.bincount(owner, minlength=count) * scale * 2.0**-100
            return np.asarray(rough | (high + (low + error) != high) | (high + (low - error) != high))

    def _medians(self) -> Ints:
        owner, values = self.owner[: self.contributors.count], self.values[: self.contributors.count]
        numbers = values.view(np.float64) if self.kind is Kind.DOUBLE else values
        order = np.lexsort((numbers, owner))
        sizes = np.bincount(owner, minlength=self.groups.count)
        starts = np.cumsum(sizes) - sizes
        lower = numbers[order[starts + (sizes - 1) // 2]]
        upper = numbers[order[starts + sizes // 2]]
        with np.errstate(over="ignore"):
            middle = (lower.astype(np.float64) + upper.astype(np.float64)) / 2
        middle = np.where(np.isfinite(middle), middle, lower / 2 + upper / 2)
        medians = np.where(lower == upper, lower.astype(np.float64), middle)
        return doubles(medians)

    def _tally(self, touched: Ints, olds: Ints, news: Ints, fresh: Ints) -> None:
        self.n_changed = tally(
            touched,
            self.owner,
            olds,
            news,
            fresh,
            FUNCTIONS[self.name],
            int(self.kind),
            self.high,
            self.low,
            self.whole,
            self.stamps,
            self.now,
            self.changed,
            self.n_changed,
        )

    def _reserve(self, rows: int) -> None:
        room = self.contributors.reserve(rows)
        if room > len(self.values):
            self.values = grown(self.values, room)
            self.owner = grown(self.owner, room)
        room = self.groups.reserve(rows)
        if room > len(self.stamps):
            self.high = grown(self.high, room, 0)
            self.low = grown(self.low, room, 0)
            self.whole = grown(self.whole, room, 0)
            self.stamps = grown(self.stamps, room, -1)
            self.changed = grown(self.changed, room)
        if rows > len(self.touched):
            buffers = [np.empty(rows, dtype=np.int64) for _ in range(4)]
            self.touched, self.olds, self.news, self.fresh = buffers


@kernel
def contribute(
    batch: Rows,
    keep: int,
    kind: int,
    ranks: Ints,
    contributors: Rows,
    contributor_slots: Ints,
    contributor_key: Ints,
    count: int,
    values: Ints,
    owner: Ints,
    groups: Rows,
    group_slots: Ints,
    group_key: Ints,
    group_count: int,
    touched: Ints,
    olds: Ints,
    news: Ints,
    fresh: Ints,
) -> tuple[int, int, int]:
    """Keep the best value of each contributor; rows of `batch` are group columns, contributor columns, value.

    The best of several factors is the least if one of them is below 1, so that it decreases the product; otherwise the
    greatest. `touched` lists the contributors that are new (`fresh`) or whose value improved from `olds` to `news`, in
    order, one entry per change. Returns the numbers of contributors, groups and changes.
    """
    width = len(contributor_key)
    one = ONE if kind == DOUBLE else 1
    n = 0
    for i in range(len(batch)):
        value = batch[i, width]
        tag = hashed(batch, i, contributor_key, contributor_key)
        s = find(
            batch, i, contributor_key, contributor_key, contributors, contributor_key, contributor_slots, tag
        )
        if contributor_slots[s] >= 0:
            row = contributor_slots[s] & LOW
            old = values[row]
            greatest = keep == GREATEST
            if keep == FACTOR:
                greatest = not before(old, one, kind, ranks) and not before(value, one, kind, ranks)
            low, high = (old, value) if greatest else (value, old)
            if keep == ANY or not before(low, high, kind, ranks):
                continue
            olds[n] = old
            fresh[n] = 0
        else:
            row = count
            contributor_slots[s] = tag << 32 | row
            for j in range(width):
                contributors[row, j] = batch[i, j]
            tag = hashed(batch, i, group_key, group_key)
            s = find(batch, i, group_key, group_key, groups, group_key, group_slots, tag)
            if group_slots[s] < 0:
                group_slots[s] = tag << 32 | group_count
                for j in range(len(group_key)):
                    groups[group_count, j] = batch[i, j]
                group_count += 1
            owner[row] = group_slots[s] & LOW
            count += 1
            fresh[n] = 1
        values[row] = value
        news[n] = value
        touched[n] = row
        n += 1
    return count, group_count, n


@inlined
def _add(high: float, low: float, x: float) -> tuple[float, float]:
    """Add to a double-double number (Knuth's two-sum)."""
    total = high + x
    part = total - high
    low += (high - (total - part)) + (x - part)
    high = total + low
    rest = low - (high - total)
    return (high, rest) if rest == rest else (total, 0.0)


@inlined
def _times(high: float, low: float, x: float) -> tuple[float, float]:
    """Multiply a double-double number (Dekker's product)."""
    product = high * x
    a = SPLITTER * high
    a_high = a - (a - high)
    a_low = high - a_high
    b = SPLITTER * x
    b_high = b - (b - x)
    b_low = x - b_high
    low = low * x + (((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
    high = product + low
    rest = low - (high - product)
    return (high, rest) if rest == rest else (product, 0.0)


@kernel
def tally(
    touched: Ints,
    owner: Ints,
    olds: Ints,
    news: Ints,
    fresh: Ints,
    function: int,
    kind: int,
    high: Doubles,
    low: Doubles,
    whole: Ints,
    stamps: Ints,
    now: int,
    changed: Ints,
    n_changed: int,
) -> int:
    """Apply changed contributions to the totals of their groups; the arrays are those of `contribute`.

    The total of a group is the double-double number `high + low` and, for integers, `whole` modulo 2^64: a distance
    between the two reveals an overflow. `changed[:n_changed]` lists the groups whose total has changed since round
    `now` began; returns the new n_changed.
    """
    old_doubles = olds.view(np.float64)
    new_doubles = news.view(np.float64)
    for i in range(len(touched)):
        g = owner[touched[i]]
        first = fresh[i] == 1
        if function == COUNT:
            whole[g] += 1
            high[g] += 1.0
        elif function == EXTREME:
            whole[g] = news[i]
        else:
            new = new_doubles[i] if kind == DOUBLE else float(news[i])
            old = old_doubles[i] if kind == DOUBLE else float(olds[i])
            if function == SUM:
                high[g], low[g] = _add(high[g], low[g], new)
                whole[g] += news[i]
                if not first:
                    high[g], low[g] = _add(high[g], low[g], -old)
                    whole[g] -= olds[i]
            else:
                if stamps[g] == -1:  # empty product
                    high[g] = 1.0
                    whole[g] = 1
                high[g], low[g] = _times(high[g], low[g], new)
                if first:
                    whole[g] *= news[i]
                else:  # values of an updated product are at least 1
                    whole[g] = whole[g] // olds[i] * news[i]
                    quotient = high[g] / old
                    h, p = _times(quotient, 0.0, old)
                    high[g], low[g] = _add(quotient, (high[g] - h - p + low[g]) / old, 0.0)
        if stamps[g] != now:
            stamps[g] = now
            changed[n_changed] = g
            n_changed += 1
    return n_changed
