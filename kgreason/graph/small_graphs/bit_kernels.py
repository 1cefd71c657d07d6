"""Interpreter of plans: rules on many small subgraphs, with relations represented as bits of a word.

In a subgraph of x <= 8 vertices, bit ``a * x + b`` of a word says whether a relation holds from vertex a to vertex b. A
relation of one vertex is the same for all b, one without vertices for all a and b. Each operation of a plan is executed
on a block of subgraphs before the next one is read, which amortizes the interpretation of the plan.

An operation finds, for all a and b at once, where the conjunction of its terms holds, for one value of a third vertex z
after the other. A term states that a relation holds

- from a to b: its word;
- from a to z: column z of its word, in place of each column;
- from z to b: row z of its word, in place of each row.

The other directions use transposed words. Composition, join and projection thus become shifts, conjunctions and
multiplications. Operations on weights, mainly sums, process the bits one by one.

Memory is one array of integers, `m`, and one of doubles, `d`. `m` holds the plan from index 0 (the header comes first),
then the words, the records of pairs, and the terms met last, each for the subgraphs of a block.
"""

from __future__ import annotations

from kgreason.base.jit import Doubles, Ints, Rows, Shorts, inlined, kernel

BLOCK = 128  # subgraphs that are worked on together
MOST = 64  # bits of a word, and registers
SHORT = 24  # row length up to which a linear scan is faster than bisection; saves a fifth of the time of plain rules

# Header: places of words, records, met terms (in `m`) and computed values (in `d`); slots of weights; first word of
# edges; places of the words that derived ones begin with, of the strata, and of the words that come out.
WORDS, RECORDS, MET, TABLES, SLOTS, EDGES, GIVEN, STRATA, OUTPUTS, HEADER = range(10)

ALL, NONE, FIRST = range(3)  # words of all vertices and of nothing; then come those of derived predicates

# Of an operation: its kind; whether it is repeated while facts of its stratum are new; the word it adds to; of a
# transposition the word it reads, else the number of values of z that count: all (-1) or the first (1).
OP_KIND, OP_AGAIN, OP_WORD, OP_SOURCE = range(4)
# Place of its terms; number of its place among the met terms; form of its groups; place of its total.
OP_TERMS, OP_MET, OP_SHAPE, OP_TOTAL = range(4, 8)

COMBINE, TRANSPOSE, TOTAL = range(3)

# Kinds of terms; equalities have the word ALL. Terms: their number, then for each: kind, word, -1 where it is negated,
# else 0.
PLAIN, COLUMN, ROW, A_IS_B, A_IS_Z, Z_IS_B = range(6)

# Forms of groups: two vertices, one, none; one, which stands twice in the head.
PAIRS, ONES, NOTHING, DIAGONAL = range(4)

# Of a total: function; registers of its argument and result; place of the steps after it; slot in which the value is
# kept, or -1; place of the steps before it; number of values, then for each: slot of computed values or -1, slot of
# weights, the two vertices of the pair (0 is a, 1 is b, 2 is z; -1 is none), the register that receives it.
T_FUNCTION, T_ARGUMENT, T_RESULT, T_AFTER, T_TABLE, T_STEPS, T_VALUES = range(7)

SUM, COUNT, LEAST, GREATEST, EXISTS = range(5)

# Operators. Steps: their number, then for each: operator, register of the result (-1: it must be true), two operands;
# those of MEET are vertices.
ADD, SUBTRACT, TIMES, DIVIDE, BELOW, UP_TO, AND, OR, NOT, EQUAL, MEET = range(11)

# Places in `d`: registers, contributions of a group and parts of their sum, a b and z, then constants.
PART, CHOSEN_, CONSTANT = MOST, 2 * MOST, 2 * MOST + 4


@inlined
def _place(bit: int) -> int:
    """Index of the one bit that is set, below 8."""
    place = 4 if bit & 0xF0 else 0
    place += 2 if bit & 0xCC else 0
    return place + (1 if bit & 0xAA else 0)


@inlined
def _note(m: Ints, word: int, record: int, held: int, pair: int, s: int) -> None:
    """Set the record and the words of a pair in subgraph s."""
    m[m[RECORDS] + pair * BLOCK + s] = record
    while held:
        m[word + s] |= (held & 1) << pair
        held >>= 1
        word += BLOCK


@inlined
def _gather(
    m: Ints, members: Rows, first: int, count: int, indptr: Ints, entries: Shorts, loop: Shorts, flags: Shorts
) -> None:
    """Read the edges within each subgraph of a block, each pair of vertices once."""
    # Short rows are scanned, with a bit mask that rules out most neighbours; otherwise each pair is searched
    # by bisection in the shorter of its two rows.
    x = members.shape[1]
    edges = m[WORDS] + m[EDGES] * BLOCK
    for s in range(count):
        row = first + s
        present = 0
        for a in range(x - 1, -1, -1):
            u = members[row, a]
            begin, end = indptr[u], indptr[u + 1]
            if loop[u] >= 0:
                _note(m, edges, loop[u], flags[loop[u]], a * x + a, s)
            if end - begin <= SHORT:
                for e in range(3 * begin, 3 * end, 3):
                    v = entries[e]
                    if present >> (v & 63) & 1:
                        for b in range(a + 1, x):
                            if members[row, b] == v:
                                if entries[e + 1] >= 0:
                                    _note(m, edges, entries[e + 1], flags[entries[e + 1]], a * x + b, s)
                                if entries[e + 2] >= 0:
                                    _note(m, edges, entries[e + 2], flags[entries[e + 2]], b * x + a, s)
            else:
                for b in range(a + 1, x):
                    low, high, wanted, forth, back = begin, end, members[row, b], a * x + b, b * x + a
                    if indptr[wanted + 1] - indptr[wanted] < end - begin:
                        low, high, wanted, forth, back = indptr[wanted], indptr[wanted + 1], u, back, forth
                    stop = high
                    while low < high:
                        middle = (low + high) >> 1
                        if entries[3 * middle] < wanted:
                            low = middle + 1
                        else:
                            high = middle
                    e = 3 * low
                    if low < stop and entries[e] == wanted:
                        if entries[e + 1] >= 0:
                            _note(m, edges, entries[e + 1], flags[entries[e + 1]], forth, s)
                        if entries[e + 2] >= 0:
                            _note(m, edges, entries[e + 2], flags[entries[e + 2]], back, s)
            present |= 1 << (u & 63)


@inlined
def _meet(m: Ints, op: int, x: int, heads: int, whole: int, count: int) -> None:
    """Find where all terms of an operation hold, for a block."""
    # Results are added to the word of the operation or, with a total, to its met terms for each z; new bits
    # are recorded.
    full = (1 << x) - 1
    found = m[m[MET] : m[MET] + count]  # slices are indexed without a sign, which allows vectorization
    new = m[m[MET] + BLOCK : m[MET] + BLOCK + count]
    target = m[WORDS] + m[op + OP_WORD] * BLOCK
    terms = m[op + OP_TERMS]
    for s in range(count):
        new[s] = 0
    for z in range(x if m[op + OP_SOURCE] < 0 else 1):
        for s in range(count):
            found[s] = whole
        for t in range(terms + 1, terms + 1 + 3 * m[terms], 3):
            kind, flip = m[t], m[t + 2]
            shift, kept, times = 0, whole, 1
            if kind == COLUMN:
                shift, kept, times = z, heads, full
            elif kind == ROW:
                shift, kept, times = z * x, full, heads
            elif kind == Z_IS_B:
                kept = heads << z
            elif kind == A_IS_Z:
                kept = full << (z * x)
            elif kind == A_IS_B:
                kept = 0
                for a in range(x):
                    kept |= 1 << (a * x + a)
            word = m[m[WORDS] + m[t + 1] * BLOCK : m[WORDS] + m[t + 1] * BLOCK + count]
            for s in range(count):
                found[s] &= (((word[s] >> shift) & kept) * times) ^ flip
        if m[op + OP_KIND] == TOTAL:
            target = m[MET] + (m[op + OP_MET] + z) * BLOCK
        known = m[target : target + count]
        for s in range(count):
            more = found[s] & ~known[s]
            new[s] |= more
            known[s] |= more


@inlined
def _transpose(m: Ints, op: int, x: int, heads: int, count: int) -> None:
    target = m[m[WORDS] + m[op + OP_WORD] * BLOCK : m[WORDS] + m[op + OP_WORD] * BLOCK + count]
    source = m[m[WORDS] + m[op + OP_SOURCE] * BLOCK : m[WORDS] + m[op + OP_SOURCE] * BLOCK + count]
    full, top = (1 << x) - 1, (x - 1) * (x - 1)
    gather = 0
    for a in range(x):
        gather |= 1 << (top - a * (x - 1))
    for s in range(count):
        target[s] = 0
    for z in range(x):
        for s in range(count):  # multiplying a column by `gather` gives a row
            target[s] |= (((((source[s] >> z) & heads) * gather) >> top) & full) << (z * x)


@inlined
def _carry_out(m: Ints, d: Doubles, at: int) -> bool:
    """Execute steps; returns whether all conditions among them hold."""
    for i in range(m[at]):
        s = at + 1 + 4 * i
        operator, target, a, b = m[s], m[s + 1], m[s + 2], m[s + 3]
        if operator == MEET:
            a, b = CHOSEN_ + a, CHOSEN_ + b
        left, right = d[a], d[b]
        value = 0.0
        if operator == BELOW:
            value = 1.0 if left < right else 0.0
        elif operator == UP_TO:
            value = 1.0 if left <= right else 0.0
        elif operator >= EQUAL:
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
            value = left * right
        elif operator == OR:
            value = left + right - left * right
        else:
            value = 1.0 - left
        if target >= 0:
            d[target] = value
        elif value == 0.0:
            return False
    return True


@inlined
def _sum(d: Doubles, number: int) -> float:
    """Correctly rounded sum of contributions in any order, computed with non-overlapping partial sums."""
    # J. R. Shewchuk: Adaptive precision floating-point arithmetic, Discrete & Computational Geometry 18,
    # 1997, §2.
    used = 0
    for k in range(PART, PART + number):
        carried = d[k]
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
    high: float = d[PART + used - 1]
    for i in range(PART + used - 2, PART - 1, -1):
        total = high + d[i]
        low = d[i] - (total - high)
        high = total
        if low != 0.0:
            # a tie was rounded to even, but the lower partial sums may decide otherwise
            if i > PART and (low > 0.0) == (d[i - 1] > 0.0) and (high + 2 * low) - high == 2 * low:
                high += 2 * low
            break
    return high


@inlined
def _better(function: int, old: float, new: float) -> float:
    if function == LEAST:
        return old if old < new else new
    return old if old > new else new


@inlined
def _value(m: Ints, d: Doubles, at: Shorts, values: Doubles, op: int, x: int, record: int, s: int) -> bool:
    """Whether some combination of values meets the conditions; the best argument goes to register MOST - 1."""
    # Parallel edges have several weights: all combinations are enumerated, in the order of their numbers.
    total = m[op + OP_TOTAL]
    met = False
    combination = 0
    going = True
    while going:
        rest = combination
        for i in range(m[total + T_VALUES]):
            v = total + T_VALUES + 1 + 5 * i
            pair = 0
            if m[v + 2] >= 0:
                pair = int(d[CHOSEN_ + m[v + 2]]) * x
            if m[v + 3] >= 0:
                pair += int(d[CHOSEN_ + m[v + 3]])
            if m[v] >= 0:
                d[m[v + 4]] = d[m[TABLES] + (m[v] * BLOCK + s) * MOST + pair]
            else:
                begin = m[record + pair * BLOCK] * m[SLOTS] + m[v + 1]
                several = at[begin + 1] - at[begin]
                d[m[v + 4]] = values[at[begin] + rest % several]
                rest //= several
        going = rest == 0
        if going and _carry_out(m, d, m[total + T_STEPS]):
            argument = d[m[total + T_ARGUMENT]]
            d[MOST - 1] = _better(m[total + T_FUNCTION], d[MOST - 1], argument) if met else argument
            met = True
            going = m[total + T_FUNCTION] != EXISTS
        combination += 1
    return met


@inlined
def _groups(
    m: Ints, d: Doubles, at: Shorts, values: Doubles, op: int, x: int, heads: int, whole: int, count: int
) -> bool:
    """Derive heads from groups whose total meets the conditions; returns whether there are new ones."""
    # A total changes only if there are new contributors, and matters only if the head is not derived yet.
    target = m[m[WORDS] + m[op + OP_WORD] * BLOCK : m[WORDS] + m[op + OP_WORD] * BLOCK + count]
    changed = m[m[MET] + BLOCK : m[MET] + BLOCK + count]
    met = m[MET] + m[op + OP_MET] * BLOCK
    total, shape, third = m[op + OP_TOTAL], m[op + OP_SHAPE], x if m[op + OP_SOURCE] < 0 else 1
    function, full = m[total + T_FUNCTION], (1 << x) - 1
    counted = whole if shape == PAIRS else 1 if shape == NOTHING else heads
    new = False
    for s in range(count):
        groups = changed[s] & counted
        if shape != DIAGONAL:  # there, bits of heads differ from bits of groups
            groups &= ~target[s]
        record = m[RECORDS] + s
        a = 0
        while groups:
            row = groups & full
            while row:
                bit = row & -row
                row ^= bit
                b = _place(bit)
                pair = a * x + b
                number = 0
                for z in range(third):
                    if not m[met + z * BLOCK + s] >> pair & 1:
                        continue
                    d[CHOSEN_], d[CHOSEN_ + 1], d[CHOSEN_ + 2] = a, b, z
                    if _value(m, d, at, values, op, x, record, s):
                        d[PART + number] = d[MOST - 1]
                        number += 1
                        if function == EXISTS:
                            break
                if number == 0:
                    continue
                result = d[PART]
                if function == COUNT:
                    result = float(number)
                elif function == SUM:
                    result = _sum(d, number)
                else:
                    for i in range(PART + 1, PART + number):
                        result = _better(function, result, d[i])
                d[m[total + T_RESULT]] = result
                if not _carry_out(m, d, m[total + T_AFTER]):
                    continue
                if m[total + T_TABLE] >= 0:
                    d[m[TABLES] + (m[total + T_TABLE] * BLOCK + s) * MOST + pair] = result
                if shape == PAIRS:
                    target[s] |= bit << (a * x)
                elif shape == DIAGONAL:
                    target[s] |= 1 << (a * x + a)
                else:
                    target[s] |= full << (a * x) if shape == ONES else whole
                new = True
            groups = (groups >> x) & (whole ^ full << (x * x - x))
            a += 1
    return new


@kernel
def derive(
    m: Ints, d: Doubles, members: Rows, indptr: Ints, entries: Shorts, loop: Shorts, flags: Shorts, at: Shorts,
    values: Doubles, out: Rows,
) -> None:  # fmt: skip
    """Execute a plan on the induced subgraphs of vertex tuples, each separately.

    `m` and `d` are the memory; `members` has shape (N, x), x <= 8; the arrays from `indptr` to `values` are those of
    `kgreason.graph.small_graphs.interpreter.Pairs`; `out`, shape (N, outputs), receives the words of the outputs.
    """
    size, x = members.shape
    heads = 0
    for a in range(x):
        heads |= 1 << (a * x)
    whole = -1 if x == 8 else (1 << (x * x)) - 1
    start = 0
    while start < size:
        count = min(BLOCK, size - start)
        m[m[WORDS] : m[RECORDS]] = 0
        m[m[MET] :] = 0
        for s in range(count):
            m[m[WORDS] + ALL * BLOCK + s] = whole
        _gather(m, members, start, count, indptr, entries, loop, flags)
        for i in range(m[m[GIVEN]]):  # each derived predicate begins with its given facts
            given, word = m[m[GIVEN] + 1 + i], m[WORDS] + (FIRST + i) * BLOCK
            if given != NONE:
                for s in range(count):
                    m[word + s] = m[m[WORDS] + given * BLOCK + s]
        place = m[STRATA] + 1
        for _ in range(m[m[STRATA]]):
            recursive, operations = m[place], m[place + 1]
            first = going = True
            while going:
                going = False
                for i in range(place + 2, place + 2 + operations):
                    op = m[i]
                    if not first and m[op + OP_AGAIN] == 0:
                        continue
                    if m[op + OP_KIND] == TRANSPOSE:
                        _transpose(m, op, x, heads, count)
                        continue
                    _meet(m, op, x, heads, whole, count)
                    if m[op + OP_KIND] == TOTAL:
                        going |= _groups(m, d, at, values, op, x, heads, whole, count)
                    else:
                        for s in range(m[MET] + BLOCK, m[MET] + BLOCK + count):
                            going |= m[s] != 0
                first = False
                going &= recursive != 0
            place += 2 + operations
        for i in range(m[m[OUTPUTS]]):
            wanted = m[WORDS] + m[m[OUTPUTS] + 1 + 2 * i] * BLOCK
            given = m[WORDS] + m[m[OUTPUTS] + 2 + 2 * i] * BLOCK
            for s in range(count):
                out[start + s, i] = m[wanted + s] & ~m[given + s]
        start += count
