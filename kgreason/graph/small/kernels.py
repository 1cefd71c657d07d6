"""The interpreter of plans: rules on one small subgraph after another, relations being bits of a word.

In a subgraph of x <= 8 vertices, bit ``a * x + b`` of a word says whether a relation holds from vertex a to vertex b;
of a unary relation, bit a; of one without arguments, bit 0. A rule is matched variable by variable: the vertices that
a variable can be are a mask of x bits, the conjunction of rows and columns of words at the variables bound before.

Memory is one array of integers, `m`, and one of doubles, `d`: few arguments make quick calls. Scratch comes first, at
the places below; then comes the plan in `m`, and in `d` its constants and the values that rules compute.

What a plan is made of (`kgreason.graph.small.compile` writes it; numbers are places in `m`):

- ``0 ..``: as the names in capitals say;
- strata: their number, then for each: whether it is recursive, the number of its rules, their places;
- a rule: see the names that begin with ``R_``;
- constraints: their number, then for each: its kind, a word, a variable bound before, -1 where it is negated, else 0;
- values: their number, then for each: -1 or the slot in which a value was computed, the slot of the weights of the
  edges, the two variables of the pair (-1 for none), the register that receives it;
- steps: their number, then for each: operator, register of the result (-1: the step is a condition), two operands.
"""

from __future__ import annotations

import numpy as np

from kgreason.jit import Doubles, Ints, Rows, Shorts, kernel

MOST = 64
"""Greatest number of variables, registers of a rule, words, outputs, and bits of a word."""

WORD, CHANGED, FRESH, RECORD, PRESENT, CHOSEN, OPEN, TURN, PLAN = range(0, 9 * MOST, MOST)
"""Scratch in `m`. By word: its bits, and the rows that changed in the last round and in this one. By pair: its record,
and the contributors of the group. By variable: the vertex, and the vertices that are left. Then what counts through
combinations of values."""

REGISTER, PART, BEST, CONSTANT = 0, MOST, 2 * MOST, 2 * MOST + MOST * MOST
"""Scratch in `d`: registers, parts of a sum, and the best value of each contributor of each group."""

WORDS, SLOTS, COPIES, STRATA, OUTPUTS, TABLES = range(PLAN, PLAN + 6)
HEADER = 6
"""Number of words; slots of weights; places of what derived words begin with, of strata, of outputs; the place in `d` of
computed values."""

ALL, NONE, FIRST = range(3)
"""Word of all vertices and word of nothing; then come those of derived predicates, then those of edges."""

R_LEVELS, R_HEAD, R_ARITY, R_ARGUMENTS = 0, 1, 2, 3
R_WHEN, R_RECURSIVE, R_LEAF, R_VALUES, R_STEPS, R_TOTAL, R_CONSTRAINTS = 5, 6, 7, 8, 9, 10, 11
"""Of a rule: number of variables; word, arity and two variables of its head; when it is carried out; the place of its
recursive predicates; what its last variable is for; places of values, of steps, of its total (-1 without an aggregate),
and of the constraints on each variable."""

ONCE, AGAIN, BY_ROW = range(3)
"""When: in the first round; whenever a recursive predicate changed; then for the rows that changed alone."""

EACH, ROW, ANY = range(3)
"""What the last variable is for: each of its vertices counts; they are a row of the head; one of them will do."""

T_FUNCTION, T_ARGUMENT, T_GROUP, T_CONTRIBUTOR, T_RESULT, T_STEPS, T_TABLE = 0, 1, 2, 4, 6, 7, 8
"""Of a total: function; register of its argument; two variables of group and contributor each (-1 for none); register
of the result; place of the steps after it; slot in which the value is kept, or -1."""

SUM, COUNT, LEAST, GREATEST = range(4)

UNARY, FORTH, BACK, SAME, TRUE = range(5)
"""Kinds of constraints: in a unary relation; in a row or column; equal to; a relation without arguments holds."""

ADD, SUBTRACT, TIMES, DIVIDE, BELOW, UP_TO, EQUAL, AND, OR, NOT, MEET = range(11)
"""Operators of steps; MEET compares two vertices."""


@kernel
def _place(bit: int) -> int:
    """Number of the one bit that is set."""
    place = 32 if bit & -4294967296 else 0
    place += 16 if bit & -281470681808896 else 0
    place += 8 if bit & -71777214294589696 else 0
    place += 4 if bit & -1085102592571150096 else 0
    place += 2 if bit & -3689348814741910324 else 0
    return place + (1 if bit & -6148914691236517206 else 0)


@kernel
def _entry(indptr: Ints, neighbour: Shorts, u: int, v: int) -> int:
    """Place of v among the neighbours of u, which are sorted; -1 if it is none."""
    low, high = indptr[u], indptr[u + 1]
    while high - low > 16:
        middle = (low + high) >> 1
        if neighbour[middle] <= v:
            low = middle
        else:
            high = middle
    smaller = 0
    for i in range(low, high):  # no branch to predict
        smaller += 1 if neighbour[i] < v else 0
    low += smaller
    return low if low < high and neighbour[low] == v else -1


@kernel
def _load(m: Ints, word: int, record: int, held: int, pair: int) -> None:
    """Note what holds for a pair in the words from `word` on."""
    m[RECORD + pair] = record
    while held:
        m[word] |= (held & 1) << pair
        held >>= 1
        word += 1


@kernel
def _candidates(m: Ints, at: int, x: int, heads: int, gather: int) -> int:
    """Vertices that a variable can be; `heads` are the first bits of all rows, times `gather` a column."""
    found = (1 << x) - 1
    for c in range(at + 1, at + 1 + 4 * m[at], 4):
        kind, u = m[c], m[CHOSEN + m[c + 2]]
        word = m[m[c + 1]]
        if kind == FORTH:
            word >>= u * x
        elif kind == BACK:
            word = (((word >> u) & heads) * gather) >> ((x - 1) * (x - 1))
        elif kind == SAME:
            word = 1 << u
        elif kind == TRUE:
            word = -(word & 1)
        found &= word ^ m[c + 3]
    return found


@kernel
def _carry_out(m: Ints, d: Doubles, at: int) -> bool:
    """Carry out steps; whether all conditions among them hold."""
    for s in range(at + 1, at + 1 + 4 * m[at], 4):
        operator, target, a, b = m[s], m[s + 1], m[s + 2], m[s + 3]
        if operator == MEET:
            value = 1.0 if m[CHOSEN + a] == m[CHOSEN + b] else 0.0
        else:
            left, right = d[a], d[b]
            if operator == BELOW:
                value = 1.0 if left < right else 0.0
            elif operator == UP_TO:
                value = 1.0 if left <= right else 0.0
            elif operator == EQUAL:
                value = 1.0 if left == right else 0.0
            elif operator == TIMES:
                value = left * right
            elif operator == ADD:
                value = left + right
            elif operator == SUBTRACT:
                value = left - right
            elif operator == DIVIDE:
                value = left / right
            elif operator == AND:
                value = min(left, right)
            elif operator == OR:
                value = max(left, right)
            else:
                value = 1.0 - left
        if target >= 0:
            d[target] = value
        elif value == 0.0:
            return False
    return True


@kernel
def _sum(d: Doubles, base: int, present: int) -> float:
    """Sum that is rounded once, whatever the order: exact as parts that do not overlap (Shewchuk 1997)."""
    used = 0
    while present:
        bit = present & -present
        present ^= bit
        carried = d[base + _place(bit)]
        kept = 0
        for i in range(PART, PART + used):
            total = carried + d[i]
            shift = total - carried
            error = (carried - (total - shift)) + (d[i] - shift)
            if error != 0.0:
                d[PART + kept] = error
                kept += 1
            carried = total
        d[PART + kept] = carried
        used = kept + 1
    high = d[PART + used - 1]
    i = used - 2
    while i >= 0:
        total = high + d[PART + i]
        low = d[PART + i] - (total - high)
        high = total
        i -= 1
        if low != 0.0:
            # a half of the last bit was rounded to even, but what is below it may say otherwise
            if i >= 0 and (low > 0.0) == (d[PART + i] > 0.0) and (high + 2 * low) - high == 2 * low:
                high += 2 * low
            break
    return high


@kernel
def _total(d: Doubles, function: int, base: int, present: int) -> float:
    """Value of an aggregate for a group, whose contributors are `present`."""
    if function == COUNT:
        count = 0
        while present:
            present &= present - 1
            count += 1
        return float(count)
    first = present & -present
    rest = present ^ first
    result = d[base + _place(first)]
    if function == SUM:
        if rest & (rest - 1):
            return _sum(d, base, present)
        return result + d[base + _place(rest)] if rest else result
    while rest:
        bit = rest & -rest
        rest ^= bit
        value = d[base + _place(bit)]
        result = min(result, value) if function == LEAST else max(result, value)
    return result


@kernel
def _index(m: Ints, at: int, x: int) -> int:
    """Bit of the two variables at a place of the plan, -1 standing for none."""
    a, b = m[at], m[at + 1]
    if a < 0:
        return 0
    return m[CHOSEN + a] if b < 0 else m[CHOSEN + a] * x + m[CHOSEN + b]


@kernel
def _emit(m: Ints, rule: int, x: int) -> None:
    """Derive the head."""
    head = m[rule + R_HEAD]
    bit = 1 << _index(m, rule + R_ARGUMENTS, x)
    if not m[head] & bit:
        m[head] |= bit
        m[FRESH + head] |= 1 << m[CHOSEN + m[rule + R_ARGUMENTS]] if m[rule + R_ARITY] == 2 else 1


@kernel
def _finish(m: Ints, d: Doubles, rule: int, x: int, groups: int) -> None:
    """Derive heads from the groups that got contributions."""
    total = m[rule + R_TOTAL]
    first, second, table = m[total + T_GROUP], m[total + T_GROUP + 1], m[total + T_TABLE]
    while groups:
        bit = groups & -groups
        groups ^= bit
        group = _place(bit)
        value = _total(d, m[total + T_FUNCTION], BEST + group * MOST, m[PRESENT + group])
        m[PRESENT + group] = 0
        d[m[total + T_RESULT]] = value
        if not _carry_out(m, d, m[total + T_STEPS]):
            continue
        if second >= 0:
            m[CHOSEN + first] = group // x
            m[CHOSEN + second] = group % x
        elif first >= 0:
            m[CHOSEN + first] = group
        if table >= 0:
            d[m[TABLES] + table * MOST + _index(m, rule + R_ARGUMENTS, x)] = value
        _emit(m, rule, x)


@kernel
def _contribute(m: Ints, d: Doubles, total: int, group: int, contributor: int) -> None:
    """Keep the best value of a contributor."""
    value = d[m[total + T_ARGUMENT]]
    cell = BEST + group * MOST + contributor
    present = m[PRESENT + group]
    if present >> contributor & 1:
        old = d[cell]
        value = min(old, value) if m[total + T_FUNCTION] == LEAST else max(old, value)
    m[PRESENT + group] = present | 1 << contributor
    d[cell] = value


@kernel
def _values(
    m: Ints, d: Doubles, at: Ints, values: Doubles, rule: int, x: int, group: int, contributor: int
) -> bool:
    """Go through the values of the pairs of a match; contribute them, or tell whether one meets the conditions.

    Parallel edges have several weights. With all variables bound, TURN counts through the combinations.
    """
    place, slots, total = m[rule + R_VALUES], m[SLOTS], m[rule + R_TOTAL]
    number = m[place]
    for i in range(TURN, TURN + number):
        m[i] = 0
    met = False
    while True:
        more = -1
        turn = TURN
        for v in range(place + 1, place + 1 + 5 * number, 5):
            pair = _index(m, v + 2, x)
            if m[v] >= 0:
                d[m[v + 4]] = d[m[TABLES] + m[v] * MOST + pair]
            else:
                begin = m[RECORD + pair] * slots + m[v + 1]
                i = at[begin] + m[turn]
                d[m[v + 4]] = values[i]
                if i + 1 < at[begin + 1]:
                    more = turn  # the last one that can go on; those behind it begin anew
            turn += 1
        if _carry_out(m, d, m[rule + R_STEPS]):
            met = True
            if total < 0:
                return True
            _contribute(m, d, total, group, contributor)
        if more < 0:
            return met
        m[more] += 1
        for i in range(more + 1, TURN + number):
            m[i] = 0


@kernel
def _match(
    m: Ints, d: Doubles, at: Ints, values: Doubles, rule: int, x: int, heads: int, gather: int, rows: int
) -> None:
    """Carry out a rule, with its first variable in `rows`."""
    last = m[rule + R_LEVELS] - 1
    leaf, total, head = m[rule + R_LEAF], m[rule + R_TOTAL], m[rule + R_HEAD]
    direct = m[m[rule + R_VALUES]] == 0 and m[m[rule + R_STEPS]] == 0 and total < 0
    groups = 0
    group = contributor = 0
    level = 0
    left = _candidates(m, m[rule + R_CONSTRAINTS], x, heads, gather) & rows
    while level >= 0:
        if left == 0:
            level -= 1
            left = m[OPEN + level] if level >= 0 else 0
            continue
        if level == last and leaf == ROW:
            u = m[CHOSEN + m[rule + R_ARGUMENTS]]
            m[head] |= left << (u * x)  # all are new, since what is known is no candidate
            m[FRESH + head] |= 1 << u
            left = 0
            continue
        bit = left & -left
        left = 0 if level == last and leaf == ANY else left ^ bit
        m[CHOSEN + level] = _place(bit)
        if level < last:
            m[OPEN + level] = left
            level += 1
            left = _candidates(m, m[rule + R_CONSTRAINTS + level], x, heads, gather)
            continue
        if total >= 0:
            group = _index(m, total + T_GROUP, x)
            contributor = _index(m, total + T_CONTRIBUTOR, x)
        if direct or _values(m, d, at, values, rule, x, group, contributor):
            if total < 0:
                _emit(m, rule, x)
            else:
                groups |= 1 << group
    if groups:
        _finish(m, d, rule, x, groups)


@kernel
def _rows(m: Ints, rule: int, first: bool) -> int:
    """Vertices that the first variable of a rule can be in this round; 0 if there is nothing to do."""
    if first:
        return -1
    if m[rule + R_WHEN] == ONCE:
        return 0
    place = m[rule + R_RECURSIVE]
    rows = 0
    for i in range(place + 1, place + 1 + m[place]):
        rows |= m[CHANGED + m[i]]
    return rows if m[rule + R_WHEN] == BY_ROW else -1 if rows else 0


@kernel
def _strata(m: Ints, d: Doubles, at: Ints, values: Doubles, x: int, heads: int, gather: int) -> None:
    """Carry out all strata, each until nothing changes."""
    place = m[STRATA] + 1
    for _ in range(m[m[STRATA]]):
        recursive, rules = m[place], m[place + 1]
        first = going = True
        while going:
            for i in range(place + 2, place + 2 + rules):
                rows = _rows(m, m[i], first)
                if rows:
                    _match(m, d, at, values, m[i], x, heads, gather, rows)
            going = False
            for i in range(place + 2, place + 2 + rules):
                m[CHANGED + m[m[i] + R_HEAD]] = 0
            for i in range(place + 2, place + 2 + rules):
                head = m[m[i] + R_HEAD]
                m[CHANGED + head] |= m[FRESH + head]
                going |= m[FRESH + head] != 0
                m[FRESH + head] = 0
            first = False
            going &= recursive != 0
        place += 2 + rules


@kernel
def derive(
    m: Ints,
    d: Doubles,
    members: Rows,
    indptr: Ints,
    neighbour: Shorts,
    forth: Shorts,
    back: Shorts,
    loop: Shorts,
    flags: Ints,
    at: Ints,
    values: Doubles,
    out: Rows,
) -> None:
    """Carry out a plan on the induced subgraphs of vertex tuples, each alone.

    Parameters
    ----------
    m, d
        See above; what is no plan and no constant is 0.
    members
        Shape (N, x), x <= 8, no vertex twice in a row.
    indptr, neighbour, forth, back, loop, flags, at, values
        The graph, as `kgreason.graph.small.pairs.Pairs` describes.
    out
        Shape (N, outputs): receives the words of the outputs.
    """
    size, x = members.shape
    heads = gather = 0
    for a in range(x):
        heads |= 1 << (a * x)
        gather |= 1 << ((x - 1 - a) * (x - 1))
    copies, outputs, words = m[COPIES], m[OUTPUTS], m[WORDS]
    edges = FIRST + m[copies]
    for row in range(size):
        m[ALL] = (1 << x) - 1
        for i in range(NONE, words):
            m[i] = 0
        for a in range(x):
            u = members[row, a]
            if loop[u] >= 0:
                _load(m, edges, loop[u], flags[loop[u]], a * x + a)
            for b in range(a + 1, x):
                v = members[row, b]
                if indptr[u + 1] - indptr[u] <= indptr[v + 1] - indptr[v]:
                    e = _entry(indptr, neighbour, u, v)
                    if e < 0:
                        continue
                    f, g = forth[e], back[e]
                else:
                    e = _entry(indptr, neighbour, v, u)
                    if e < 0:
                        continue
                    f, g = back[e], forth[e]
                if f >= 0:
                    _load(m, edges, f, flags[f], a * x + b)
                if g >= 0:
                    _load(m, edges, g, flags[g], b * x + a)
        for i in range(m[copies]):  # each derived predicate begins with what is given
            m[FIRST + i] = m[m[copies + 1 + i]]
        _strata(m, d, at, values, x, heads, gather)
        for i in range(m[outputs]):
            out[row, i] = m[m[outputs + 1 + 2 * i]] & ~m[m[outputs + 2 + 2 * i]]
