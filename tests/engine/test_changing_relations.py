"""What holds facts that come and go, beside plain sets and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base import memory
from kgreason.engine.incremental import database
from kgreason.engine.incremental.database import Change, Store
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import relation as relation_module
from kgreason.engine.relations.rows import grown
from tests import reference
from tests.examples import inputs

quick = settings(max_examples=inputs(60), deadline=None)


@pytest.fixture(autouse=True, scope="module")
def small():
    """What happens to large relations happens to small ones, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SLACK", 6)
        patch.setattr(database, "FEW", 4)
        yield


def array(rows, width):
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def as_rows(found):
    return [tuple(row) for row in found.tolist()]


@st.composite
def histories(draw):
    width = draw(st.integers(0, 3))
    values = st.integers(0, 5) | st.sampled_from([-1, 10**15])
    rows = st.lists(st.tuples(*[values] * width), max_size=20, unique=True)
    steps = draw(st.lists(st.tuples(st.booleans(), rows), max_size=12))
    columns = st.lists(st.integers(0, width - 1), unique=True).map(sorted) if width else st.just([])
    return width, draw(rows), steps, draw(st.none() | columns), draw(st.lists(columns, max_size=3))


@quick
@given(histories())
def test_a_store_holds_what_came_and_did_not_go(history):
    width, start, steps, key, indexed = history
    held, expected = Store(width, array(start, width), key), reference.Held(start)
    for i, (add, rows) in enumerate(steps):
        if i < len(indexed):
            held.index(tuple(indexed[i]))
        found = held.holds(array(rows, width))
        assert found.tolist() == expected.holds(rows)
        chosen = [row for row, there in zip(rows, found.tolist(), strict=True) if there != add]
        (held.append if add else held.remove)(array(chosen, width))
        (expected.append if add else expected.remove)(chosen)
        assert len(held) == len(expected.rows)
        assert sorted(as_rows(held.rows(Part.ALL))) == sorted(expected.rows)
        for columns, index in held.indexes.items():
            keys = sorted({tuple(row[j] for j in columns) for row in rows})
            matching = as_rows(index.matching(array(keys, len(columns))))
            assert sorted(matching) == expected.matching(columns, keys)


def test_a_dense_key_is_numbered_as_any_other():
    rows = np.random.default_rng(1).integers(0, 50, (400, 2))
    rows = np.unique(rows, axis=0)
    dense, other = Store(2, rows, [1]), Store(2, np.add(rows, [0, 2**40]), [1])
    keys = np.arange(60).reshape(-1, 1)
    assert as_rows(dense.primary.matching(keys)) == as_rows(other.primary.matching(keys + 2**40) - [0, 2**40])


@given(st.lists(st.integers(0, 8), unique=True), st.lists(st.integers(0, 8), unique=True))
def test_a_change_is_what_is_left_of_going_and_coming(went, came):
    change = Change.between(array(went, 1), array(came, 1))
    assert set(change.added[:, 0].tolist()) == set(came) - set(went)
    assert set(change.removed[:, 0].tolist()) == set(went) - set(came)


@quick
@given(
    first=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30),
    edits=st.lists(
        st.sets(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=12), max_size=8
    ),
    refused=st.integers(0, 12),
)
def test_rows_that_memory_refuses_are_in_no_index(first, edits, refused):
    """Whichever of the claims of an addition fails, the rows of before are there, and no others."""
    asked = 0

    def claim(size: int) -> None:
        nonlocal asked
        if memory._limit.get() is None:
            return
        asked += 1
        if asked > refused:
            raise memory.Exhausted("no")

    with pytest.MonkeyPatch.context() as patch:
        held = Store(2, array(sorted(first), 2))
        indexes = [held.index((0,)), held.index((1,)), held.index((0, 1))]
        patch.setattr(memory, "claim", claim)
        patch.setattr(relation_module, "grown", lambda a, n: (claim(n), grown(a, n))[1])
        known = set(first)
        for edit in edits:
            asked = 0
            new = sorted(edit - known)
            with memory.limited(10**15):
                try:
                    held.append(array(new, 2))
                    known |= edit
                except memory.Exhausted:
                    pass
            assert set(as_rows(held.rows(Part.ALL))) == known
            assert len(held) == len(known)
            for index in indexes:
                every = array([(i, j) for i in range(10) for j in range(4)], 2)
                assert index.holds(every).tolist() == [row in known for row in as_rows(every)]
            gone = sorted(known)[::3]
            held.remove(array(gone, 2))
            known -= set(gone)
