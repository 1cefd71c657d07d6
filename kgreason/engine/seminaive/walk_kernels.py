"""Compiled breadth-first walks over steps, one for each fixed value of a separable recursion.

States are numbered 0, 1, ...; steps are in compressed sparse rows: those from state s are ``ptr[s]:ptr[s+1]``. The walk
for value i begins at the states ``seeds[seed_ptr[i]:seed_ptr[i+1]]``. Reached states are appended to `out`, which also
serves as the queue.
"""

from __future__ import annotations

from kgreason.base.jit import Doubles, Ints, Rows, Shorts, inlined, kernel

FACTOR = 0x9E3779B9  # 2^32 divided by the golden ratio


@kernel
def count(source: Shorts, ptr: Ints) -> None:
    """Add the number of steps from state s to ``ptr[s + 2]``."""
    for i in range(len(source)):
        ptr[source[i] + 2] += 1


@kernel
def place(
    source: Shorts, target: Shorts, weights: Doubles, ptr: Ints, to: Shorts, to_weights: Doubles
) -> None:
    """Append steps to the rows of their sources: that of state s ends at ``ptr[s + 1]`` so far."""
    for i in range(len(source)):
        at = ptr[source[i] + 1]
        to[at] = target[i]
        if len(weights):
            to_weights[at] = weights[i]
        ptr[source[i] + 1] = at + 1


@kernel
def renumber(
    ptr: Ints,
    to: Shorts,
    weights: Doubles,
    numbers: Shorts,
    new_ptr: Ints,
    new_to: Shorts,
    new_weights: Doubles,
) -> None:
    """Rows of the steps between states with new numbers; `new_ptr` is initially 0."""
    states = len(ptr) - 1
    for s in range(states):
        new_ptr[numbers[s] + 1] = ptr[s + 1] - ptr[s]
    for s in range(states):
        new_ptr[s + 1] += new_ptr[s]
    for s in range(states):
        at = new_ptr[numbers[s]]
        for e in range(ptr[s], ptr[s + 1]):
            new_to[at] = numbers[to[e]]
            if len(weights):
                new_weights[at] = weights[e]
            at += 1


@kernel
def repeated(ptr: Ints, to: Shorts, last: Shorts) -> bool:
    """Whether a state has two steps to another; `last`, initially 0, has one entry per state."""
    for s in range(len(ptr) - 1):
        for e in range(ptr[s], ptr[s + 1]):
            if last[to[e]] == s + 1:
                return True
            last[to[e]] = s + 1
    return False


@inlined
def gap_for(size: int) -> int:
    """First gap of a Shell sort, which is insertion sort for the few steps from most states."""
    gap = 1
    while 9 * gap < size:
        gap = 3 * gap + 1
    return gap


@kernel
def keep_greatest(ptr: Ints, to: Shorts, weights: Doubles) -> int:
    """Sort the steps from each state by target, and keep one of greatest weight to each; returns their number."""
    kept = start = 0
    for s in range(len(ptr) - 1):
        end = ptr[s + 1]
        gap = gap_for(end - start)
        while gap > 0:
            for i in range(start + gap, end):
                t, weight = to[i], weights[i]
                j = i - gap
                while j >= start and (to[j] > t or (to[j] == t and weights[j] > weight)):
                    to[j + gap], weights[j + gap] = to[j], weights[j]
                    j -= gap
                to[j + gap], weights[j + gap] = t, weight
            gap //= 3
        for e in range(start, end):
            if e + 1 == end or to[e + 1] != to[e]:
                to[kept], weights[kept] = to[e], weights[e]
                kept += 1
        start = end
        ptr[s + 1] = kept
    return kept


@kernel
def sort_rows(ptr: Ints, values: Shorts) -> None:
    """Sort each row."""
    for s in range(len(ptr) - 1):
        start, end = ptr[s], ptr[s + 1]
        gap = gap_for(end - start)
        while gap > 0:
            for i in range(start + gap, end):
                value = values[i]
                j = i - gap
                while j >= start and values[j] > value:
                    values[j + gap] = values[j]
                    j -= gap
                values[j + gap] = value
            gap //= 3


@kernel
def add_up(to: Shorts, weights: Doubles, totals: Doubles) -> None:
    """Add the weights of all steps to the totals of their targets."""
    for i in range(len(to)):
        totals[to[i]] += weights[i]


@kernel
def preorder(ptr: Ints, to: Shorts, sum_ptr: Ints, sum_to: Shorts, stack: Shorts, numbers: Shorts) -> None:
    """Number the states in depth-first preorder, so that states visited in one walk are close in memory.

    `stack` has room for all steps and one more; `numbers`, initially -1, receives the new number of each state.
    """
    n = 0
    for root in range(len(numbers)):
        if numbers[root] >= 0:
            continue
        stack[0] = root
        top = 1
        while top > 0:
            top -= 1
            s = stack[top]
            if numbers[s] >= 0:
                continue
            numbers[s] = n
            n += 1
            for e in range(ptr[s], ptr[s + 1]):
                if numbers[to[e]] < 0:
                    stack[top] = to[e]
                    top += 1
            for e in range(sum_ptr[s], sum_ptr[s + 1]):
                if numbers[sum_to[e]] < 0:
                    stack[top] = sum_to[e]
                    top += 1


@inlined
def home(keys: Shorts, s: int) -> int:
    """First cell of a state in a hash table, whose length is a power of two; successive states have different ones."""
    return int((s * FACTOR >> 20) & (len(keys) - 1))


@inlined
def cell(keys: Shorts, stamps: Shorts, stamp: int, s: int) -> int:
    """Cell of a state that this walk has reached, or the free one for it."""
    c = home(keys, s)
    while stamps[c] == stamp and keys[c] != s:
        c = (c + 1) & (len(keys) - 1)
    return c


@kernel
def reach(
    seed_ptr: Ints,
    seeds: Shorts,
    ptr: Ints,
    to: Shorts,
    keys: Shorts,
    stamps: Shorts,
    out: Shorts,
    used: int,
    counts: Ints,
    first: int,
    last: int,
) -> tuple[int, int, int]:
    """Walk for the values first, ..., last - 1, while `out` and the cells have room for a walk.

    `stamps`, initially 0, is owned by the thread: value i leaves the stamp ``i + 1``. It has one cell per state, or if
    `keys` is not empty, `keys` holds the state of each cell with the stamp of the walk; seeds and tried steps of a walk
    must not be more than half of the cells. `counts` receives the number of states reached from each value. Returns the
    value with which to continue, the number of used entries of `out`, and the number of tried steps.
    """
    i = first
    tried = 0
    hashed = len(keys) > 0
    most = len(keys) // 2 if hashed else len(stamps)
    while i < last and used + most <= len(out):
        stamp = i + 1
        head = tail = used
        left = most - (seed_ptr[i + 1] - seed_ptr[i])
        steps = 0
        if hashed and left < 0:
            return i, used, tried
        for j in range(seed_ptr[i], seed_ptr[i + 1]):
            s = seeds[j]
            c = cell(keys, stamps, stamp, s) if hashed else s
            if stamps[c] != stamp:
                stamps[c] = stamp
                if hashed:
                    keys[c] = s
                out[tail] = s
                tail += 1
        while head < tail:
            s = out[head]
            head += 1
            steps += ptr[s + 1] - ptr[s]
            if hashed and steps > left:
                return i, used, tried
            for e in range(ptr[s], ptr[s + 1]):
                t = to[e]
                c = cell(keys, stamps, stamp, t) if hashed else t
                if stamps[c] != stamp:
                    stamps[c] = stamp
                    if hashed:
                        keys[c] = t
                    out[tail] = t
                    tail += 1
        counts[i] = tail - used
        used = tail
        tried += steps
        i += 1
    return i, used, tried


@inlined
def add(cells: Doubles, c: int, stamp: float, x: float) -> float:
    """Add x to the total of the state whose cells begin at c (see `accumulate`); returns the total."""
    high = low = 0.0
    if cells[c + 1] == stamp:
        high = cells[c + 2]
        low = cells[c + 3]
    total = high + x  # Knuth's two-sum
    part = total - high
    low += (high - (total - part)) + (x - part)
    high = total + low
    low -= high - total
    cells[c + 1] = stamp
    cells[c + 2] = high
    cells[c + 3] = low
    return high


@inlined
def total_cell(keys: Shorts, cells: Doubles, stamp: float, s: int) -> int:
    """Cell of a state that this walk has reached or found a total of; if there is none, a free one, which is taken."""
    c = home(keys, s)
    while (cells[4 * c] == stamp or cells[4 * c + 1] == stamp) and keys[c] != s:
        c = (c + 1) & (len(keys) - 1)
    keys[c] = s
    return c


@kernel
def accumulate(
    seed_ptr: Ints,
    seeds: Shorts,
    ptr: Ints,
    to: Shorts,
    rules: Doubles,
    sum_ptr: Ints,
    sum_to: Shorts,
    weights: Doubles,
    sum_rules: Ints,
    bounds: Doubles,
    keys: Shorts,
    cells: Doubles,
    out: Shorts,
    used: int,
    counts: Ints,
    tally: Rows,
    first: int,
    last: int,
) -> tuple[int, int, int]:
    """Walk like `reach`; a state is also reached when the total weight of steps from reached states passes a bound.

    Weights of the steps `sum_to` are summed at their target, with the precision of a double-double. All targets in
    ``[p * n, (p + 1) * n)`` have bound p of ``len(bounds)``: the greatest total that does not pass the threshold; n is
    the number of states divided by that of bounds. `cells`, owned by the thread and initially 0, has four entries per
    cell: stamp of the walk that reached its state; stamp of the total; high and low part of the total.

    With rows in `tally`, count the work of each rule in each round. A round is one step of all walks from the states
    reached in the previous round, as in semi-naive evaluation. There is one row per round, the last one for all later
    rounds too, and two columns per rule, for tried steps and new states; `rules` and `sum_rules` are the numbers of the
    rules of plain steps, and of the rule with each bound.
    """
    i = first
    tried = 0
    each = (len(ptr) - 1) // len(bounds)
    hashed = len(keys) > 0
    most = len(keys) // 2 if hashed else len(ptr) - 1
    counting = len(tally) > 0
    while i < last and used + most <= len(out):
        stamp = float(i + 1)
        head = tail = used
        left = most - (seed_ptr[i + 1] - seed_ptr[i])
        steps = 0
        if hashed and left < 0:
            return i, used, tried
        for j in range(seed_ptr[i], seed_ptr[i + 1]):
            s = seeds[j]
            c = 4 * (total_cell(keys, cells, stamp, s) if hashed else s)
            if cells[c] != stamp:
                cells[c] = stamp
                out[tail] = s
                tail += 1
        here = 0
        end = tail  # end of the states from which this round continues
        while head < tail:
            if counting and head == end:
                end = tail
                here = min(here + 1, len(tally) - 1)
            s = out[head]
            head += 1
            steps += ptr[s + 1] - ptr[s] + sum_ptr[s + 1] - sum_ptr[s]
            if hashed and steps > left:
                return i, used, tried
            for e in range(ptr[s], ptr[s + 1]):
                t = to[e]
                c = 4 * (total_cell(keys, cells, stamp, t) if hashed else t)
                new = cells[c] != stamp
                if new:
                    cells[c] = stamp
                    out[tail] = t
                    tail += 1
                if counting:
                    tally[here, 2 * int(rules[e])] += 1
                    tally[here, 2 * int(rules[e]) + 1] += new
            for e in range(sum_ptr[s], sum_ptr[s + 1]):
                t = sum_to[e]
                c = 4 * (total_cell(keys, cells, stamp, t) if hashed else t)
                new = cells[c] != stamp and add(cells, c, stamp, weights[e]) > bounds[t // each]
                if new:
                    cells[c] = stamp
                    out[tail] = t
                    tail += 1
                if counting:
                    tally[here, 2 * sum_rules[t // each]] += 1
                    tally[here, 2 * sum_rules[t // each] + 1] += new
        counts[i] = tail - used
        used = tail
        tried += steps
        i += 1
    return i, used, tried


@kernel
def unfold(
    values: Ints, counts: Ints, states: Shorts, codes: Ints, fixed: Ints, moving: Ints, first: int, last: int
) -> None:
    """Write the facts of values first, ..., last - 1: each value once per reached state, with the state's code."""
    at = 0
    for i in range(first, last):
        for _ in range(counts[i]):
            fixed[at] = values[i]
            moving[at] = codes[states[at]]
            at += 1
