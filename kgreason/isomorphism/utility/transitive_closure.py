"""Answers of transitive-closure queries, counted without listing them, exactly or on a sample of targets.

A closure of a million vertices has up to 10^12 pairs. If the graph has few strongly connected components, or they reach
few others, bit sets of the vertices that each component reaches are propagated for thousands of vertices at a time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.jit import Ints, Rows, inlined, kernel
from kgreason.base.records import record
from kgreason.engine.relations.hash_kernels import GOLDEN
from kgreason.graph.facts import answers
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Filter,
    Step,
    Stratum,
)
from kgreason.language.check.expressions import names
from kgreason.language.check.genericity import vertex_positions
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import Binary, Variable
from kgreason.release.verdicts import NORMAL

Flags = npt.NDArray[np.bool_]

EFFORT = 4_000_000_000  # words of 64 targets carried along edges, beyond which targets are sampled
_BYTES = 1 << 26  # memory for bits per thread
_SAMPLES = 30  # minimum number of groups of sampled targets, whose variance gives the error

BASE, STEP = "#base", "#step"


@record
class ClosureRules:
    """Rules of a predicate that may be a transitive closure; `cycles`: whether vertices on cycles reach themselves.

    The program derives the pairs of the other rules as `BASE`, and the pairs that recursive rules append as `STEP`.
    """

    program: CheckedProgram
    cycles: bool


def closure_rules(program: CheckedProgram, query: str) -> ClosureRules | None:
    """Recognize a predicate whose recursive rules append a step at either end, or join the predicate with itself.

    The predicate is the closure of its base if base and steps are the same pairs, which depends on the data.

    >>> from kgreason.language.check.program_checker import load_text
    >>> text = '@edge("e"). r(X,Y) :- e(X,Y). r(X,Y) :- r(X,Z), e(Z,Y){}.'
    >>> [closure_rules(load_text(text.format(more)), "r") is None for more in ("", ", X != Y", ", X != 3")]
    [False, False, True]
    """
    stratum = next((s for s in program.strata if query in s.predicates), None)
    vertices = vertex_positions(program)
    if (
        stratum is None
        or stratum.predicates != {query}
        or not stratum.recursive
        or program.arities[query] != 2
        or query in program.keyed
        or query in (*program.edges, *program.nodes, *(fact.predicate for fact in program.facts))
        or not {(query, 0), (query, 1)} <= vertices
        or program.unifications
    ):
        return None
    recursive = [r for r in stratum.rules if any(a.predicate == query for a in r.positives)]
    base = [r for r in stratum.rules if r not in recursive]
    steps = [_step(rule, query) for rule in recursive]
    if not base or any(s is None for s in steps) or len({s[1] for s in steps if s}) > 1:
        return None
    cycles = all(s[1] for s in steps if s)
    found = [s[0] for s in steps if s and s[0] is not None]
    heads = [replace(r, head=replace(r.head, predicate=BASE)) for r in base]
    strata = [s for s in program.strata if s is not stratum]
    at = program.strata.index(stratum)
    new = [Stratum(frozenset({BASE}), tuple(heads), recursive=False)]
    if found:
        new.append(Stratum(frozenset({STEP}), tuple(found), recursive=False))
    strata[at:at] = new
    outputs = (BASE, STEP) if found else (BASE,)
    arities = {**program.arities, BASE: 2, STEP: 2}
    whole = replace(program, strata=tuple(strata), arities=arities, outputs=outputs, queries=outputs)
    return ClosureRules(restricted(whole, outputs), cycles)


def _step(rule: CheckedRule, query: str) -> tuple[CheckedRule | None, bool] | None:
    """Rule of the steps of a recursive rule (none for ``p(X,Z), p(Z,Y)``), and whether it closes cycles."""
    here = [a for a in rule.positives if a.predicate == query]
    plain = not (rule.negatives or rule.aggregation or rule.inventions)
    if not plain or not all(len(a.terms) == len(a.variables) == 2 for a in (rule.head, *here)):
        return None
    start, end = (t.name for t in rule.head.terms if isinstance(t, Variable))
    differ = [step for step in rule.before if _unequal(step, start, end)]
    before = tuple(step for step in rule.before if step not in differ)
    rest = tuple(a for a in rule.positives if a.predicate != query)
    if len(here) == 2 and not rest and not before:
        middle = {t for a in here for t in a.variables} - {start, end}
        ends = {tuple(a.variables) for a in here}
        if len(middle) == 1 and ends == {(start, *middle), (*middle, end)}:
            return None, not differ
        return None
    if len(here) != 1 or not rest:
        return None
    one, other = here[0].variables
    if one == start and other not in (start, end):
        kept, terms = start, (other, end)
    elif other == end and one not in (start, end):
        kept, terms = end, (start, one)
    else:
        return None
    used = {v for a in rest for v in a.variables}
    # a condition that the two ends of the pair differ is allowed; otherwise the kept end must not matter
    turned = [step for step in before if _unequal(step, kept, terms[0] if kept == start else terms[1])]
    before = tuple(step for step in before if step not in turned) if differ else before
    if kept in used or any(kept in names(step.expression) for step in before):
        return None
    head = CheckedAtom(STEP, tuple(Variable(t) for t in terms), rule.head.span)
    return replace(rule, head=head, positives=rest, before=before), not differ


def _unequal(step: Step, a: str, b: str) -> bool:
    """Whether a step only requires that two variables differ."""
    match step:
        case Filter(expression=Binary(operator="!=", left=Variable(name=left), right=Variable(name=right))):
            return {left, right} == {a, b}
    return False


@record(eq=False)
class Closure:
    """All pairs of n vertices joined by a path of steps, none of which is a loop.

    `loops` says which vertices reach themselves by a fact, shape (n,); `cycles` whether those on cycles do.
    """

    n: int
    source: Ints
    target: Ints
    loops: Flags
    cycles: bool


def closure(graph: KnowledgeGraph, rules: ClosureRules, *, loops: bool = True) -> Closure | None:
    """Closure that the rules define on a graph, with or without `loops`; `None` if base and steps differ."""
    found = answers(graph, rules.program)
    base = found[BASE]
    steps = found.get(STEP, base)
    pairs, step_pairs = base[base[:, 0] != base[:, 1]], steps[steps[:, 0] != steps[:, 1]]
    if not np.array_equal(pairs, step_pairs):
        return None
    themselves = np.zeros(graph.n, dtype=np.bool_)
    if loops:
        themselves[base[base[:, 0] == base[:, 1], 0]] = True
    return Closure(graph.n, pairs[:, 0].copy(), pairs[:, 1].copy(), themselves, loops and rules.cycles)


@kernel
def spread(ptr: Ints, to: Ints, marks: Rows) -> None:
    """Propagate bits: each row receives the bits of the rows that its edges lead to, all with smaller numbers."""
    width = marks.shape[1]
    for v in range(len(ptr) - 1):
        for i in range(ptr[v], ptr[v + 1]):
            u = to[i]
            for w in range(width):
                marks[v, w] |= marks[u, w]


@inlined
def _bits(word: int) -> int:
    word = word - ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (word * 0x0101010101010101) >> 56


@kernel
def common_bits(sizes: Ints, a: Ints, marks_a: Rows, b: Ints, marks_b: Rows) -> int:
    """Count the common bits of rows ``a[i]`` and ``b[i]``, weighted by ``sizes[i]``."""
    total = 0
    for i in range(len(sizes)):
        shared = 0
        for w in range(marks_a.shape[1]):
            shared += _bits(marks_a[a[i], w] & marks_b[b[i], w])
        total += sizes[i] * shared
    return total


@record
class Pairs:
    """Numbers of pairs of two closures, and of common pairs.

    They are estimated from a number of sampled targets; 0: all targets were examined, and the numbers are exact.
    `margin` is the half-width of the 95 % confidence interval of the share of pairs that only one closure has.
    """

    before: int
    after: int
    common: int
    sampled: int = 0
    margin: float = 0.0


def compare(before: Closure, after: Closure, mapping: Vertices, effort: int = EFFORT) -> Pairs:
    """Count the pairs of two closures by vertex identity, by work that is bounded by `effort`.

    Vertex v of `before` is vertex ``mapping[v]`` of `after`.

    >>> ends = np.array([0, 1]), np.array([1, 2])
    >>> path = Closure(3, *ends, np.zeros(3, dtype=bool), cycles=False)
    >>> longer = Closure(4, np.array([3, 2, 1]), np.array([2, 1, 0]), np.zeros(4, dtype=bool), cycles=False)
    >>> compare(path, longer, np.array([3, 2, 0]))
    Pairs(before=3, after=6, common=3, sampled=0, margin=0.0)
    """
    first, second = _Condensed(before), _Condensed(after)
    origin = np.full(after.n, -1, dtype=np.int64)
    origin[mapping] = np.arange(before.n)
    kept = _contained(before, after, mapping)
    one, other, sizes = _classes(first.of[: before.n], second.of[mapping])
    cost = len(first.to) + len(second.to) + first.count + second.count + (0 if kept else len(sizes))
    words = -(-after.n // 64)
    affordable = max(effort // max(cost, 1), _SAMPLES)
    width = max(1, min(words, _BYTES // (8 * max(first.count, second.count, 1))))
    if affordable < words:
        words, width = affordable, max(1, min(width, affordable // _SAMPLES))
    # a pseudorandom order, so that the first targets are a sample
    column = np.argsort(np.arange(1, after.n + 1) * GOLDEN, kind="stable")[: 64 * words]

    def block(start: int) -> tuple[int, int, int]:
        here = column[start : start + 64 * width]
        to, bits = origin[here], np.arange(len(here), dtype=np.int64)
        old = to >= 0
        marks = first.reached(first.of[to[old]], bits[old], width)
        more = second.reached(second.of[here], bits, width)
        ones, twos = (np.arange(c.count, dtype=np.int64) for c in (first, second))
        own = int(old.sum())  # each vertex is marked as reached from itself, which is not a pair here
        held = common_bits(first.sizes, ones, marks, ones, marks) - own
        both = held if kept else common_bits(sizes, one, marks, other, more) - own
        return held, common_bits(second.sizes, twos, more, twos, more) - len(here), both

    counted = np.array(each(block, range(0, len(column), 64 * width)), dtype=np.int64).reshape(-1, 3)
    diagonals = first.diagonal(before), second.diagonal(after)
    same = int((diagonals[0] & diagonals[1][mapping]).sum())
    loops = np.array([int(diagonals[0].sum()), int(diagonals[1].sum()), same])
    if len(column) == after.n:
        found = counted.sum(axis=0) + loops
        return Pairs(int(found[0]), int(found[1]), int(found[2]))
    share = len(column) / after.n
    found = np.rint(counted.sum(axis=0) / share).astype(np.int64) + loops
    return Pairs(int(found[0]), int(found[1]), int(found[2]), len(column), _margin(counted, share))


def _margin(counted: npt.NDArray[np.int64], share: float) -> float:
    """Error of a ratio of sums over groups (W. G. Cochran, Sampling Techniques, 3rd edition, 1977, §6.4)."""
    common = counted[:, 2].astype(np.float64)
    union = counted[:, 0] + counted[:, 1] - common
    if not union.sum():
        return 0.0
    rest = common - union * (common.sum() / union.sum())
    groups = len(counted)
    variance = groups / max(groups - 1, 1) * float((rest**2).sum()) * (1 - share)
    return NORMAL * float(np.sqrt(variance)) / float(union.sum())


def _contained(before: Closure, after: Closure, mapping: Vertices) -> bool:
    """Whether all steps of `before` are steps of `after`, which implies the same for all pairs."""
    ours = mapping[before.source] * after.n + mapping[before.target]
    theirs = after.source * after.n + after.target
    at = np.searchsorted(theirs, ours)
    return not len(ours) or (len(theirs) > 0 and np.array_equal(theirs.take(at, mode="clip"), ours))


def _classes(a: Ints, b: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct pairs of two numbers, and their counts."""
    base = int(b.max(initial=0)) + 1
    keys, counts = np.unique(a * base + b, return_counts=True)
    return keys // base, keys % base, counts.astype(np.int64)


class _Condensed:
    """Strongly connected components and the edges between them, which lead to smaller numbers."""

    def __init__(self, closure: Closure) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = closure.n
        ones = np.ones(len(closure.source), dtype=np.int8)
        matrix = coo_array((ones, (closure.source, closure.target)), shape=(n, n))
        count, of = connected_components(matrix, connection="strong")
        self.count, self.of = int(count), of.astype(np.int64)
        a, b = self.of[closure.source], self.of[closure.target]
        sources, self.to, _ = _classes(a[a != b], b[a != b])
        # SciPy numbers components as Pearce's algorithm completes them: targets of edges before sources
        assert (self.to < sources).all()
        self.ptr: Ints = np.searchsorted(sources, np.arange(self.count + 1)).astype(np.int64)
        self.sizes: Ints = np.bincount(self.of, minlength=self.count).astype(np.int64)

    def reached(self, rows: Ints, columns: Ints, width: int) -> npt.NDArray[np.int64]:
        """Bits of the columns that each component reaches; `rows` are the components of the columns."""
        marks = np.zeros((self.count, width), dtype=np.int64)
        np.bitwise_or.at(marks, (rows, columns >> 6), np.int64(1) << (columns & 63))
        spread(self.ptr, self.to, marks)
        return marks

    def diagonal(self, closure: Closure) -> Flags:
        turning: Flags = self.sizes[self.of] > 1
        return closure.loops | turning if closure.cycles else closure.loops
