"""Compiled search for nearest users; the plain twins are in ``tests/test_people_clusters.py``."""

from __future__ import annotations

from kgreason.jit import Ints, SingleRows, Singles, kernel


@kernel
def nearest_rows(rows: SingleRows, users: Ints, start: Ints, found: Ints, near: Singles) -> None:
    """Find the nearest others of some users, ascending; of equally near ones those of the lowest number.

    Parameters
    ----------
    rows
        Distances to everybody, shape (users, n).
    start
        Those of user u go to ``start[u] .. start[u + 1] - 1`` of `found` and `near`; at most n-1.
    """
    for i in range(len(users)):
        u = users[i]
        first = start[u]
        room = start[u + 1] - first
        if room == 0:
            continue
        held = 0
        for v in range(rows.shape[1]):
            d = rows[i, v]
            if v == u or (held == room and d >= near[first + room - 1]):
                continue
            at = held if held < room else room - 1
            while at > 0 and near[first + at - 1] > d:
                near[first + at] = near[first + at - 1]
                found[first + at] = found[first + at - 1]
                at -= 1
            near[first + at] = d
            found[first + at] = v
            held = min(held + 1, room)
