"""The loop of construct.py: vertices are joined with those who lack most, which are kept in order by counting.

`order` holds the vertices by what they lack, most first, `place` says where each of them is, and `head[r]` where those
begin that lack at most r. Whoever gets an edge changes places with the last of those who lack as much, and the border
moves over him: no sorting is needed.
"""

from __future__ import annotations

from kgreason.jit import Ints, Rows, kernel


@kernel
def lower(lack: Ints, order: Ints, place: Ints, head: Ints, v: int) -> None:
    """Let v lack one edge less."""
    last = head[lack[v] - 1] - 1
    other = order[last]
    order[place[v]], place[other] = other, place[v]
    order[last], place[v] = v, last
    lack[v] -= 1
    head[lack[v]] = last


@kernel
def join_all(
    start: Ints, near: Ints, lack: Ints, turns: Ints, order: Ints, place: Ints, head: Ints, taken: Ints, chosen: Ints,
    stuck: Ints, made: Rows,
) -> int:  # fmt: skip
    """Join each vertex, in its turn, with as many others as it lacks: those who lack most and are not linked with it.

    Nobody lacks anything after its turn. Whoever finds too few others is stuck, as all who lack an edge are linked with
    it by then; it is joined with nobody any more.

    Parameters
    ----------
    start, near
        Who is linked with whom from the beginning: row v is `near[start[v] : start[v + 1]]`.
    lack
        Edges that each vertex lacks, shape (n,); zero throughout at the end.
    turns
        The vertices that lack an edge, in the order of their turns, shape (l,).
    order, place, head
        As above; shapes (l,), (n,), (most + 1,).
    taken, chosen
        Scratch, shape (n,); `taken` -1 throughout.
    stuck
        What each vertex lacks after all goes here, shape (n,).
    made
        The new pairs go here, in no order, shape (at least half of what is lacking, 2).

    Returns
    -------
    count
        How many pairs were made.
    """
    count = 0
    for u in turns:
        wanted = lack[u]
        if wanted == 0:
            continue
        for _ in range(wanted):
            lower(lack, order, place, head, u)
        taken[u] = u
        for i in range(start[u], start[u + 1]):
            taken[near[i]] = u
        some = 0
        for i in range(head[0]):
            if some == wanted:
                break
            if taken[order[i]] != u:
                chosen[some] = order[i]
                some += 1
        for i in range(some):  # only now, as the order changes
            v = chosen[i]
            lower(lack, order, place, head, v)
            made[count, 0], made[count, 1] = u, v
            count += 1
        stuck[u] = wanted - some
    return count
