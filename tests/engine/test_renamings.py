import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgreason.language.values import Null
from tests.renamings import isomorphic

a, b, c, d = map(Null, range(1, 5))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ([(a, 1), (b, 2)], [(c, 2), (d, 1)], True),
        ([(a, 1), (b, 2)], [(c, 2), (c, 1)], False),
        ([(a, 1), (b, 1)], [(c, 1)], False),
        ([(a, b), (b, c)], [(c, a), (b, c)], True),
        ([(a, b), (b, a), (c, d), (d, c)], [(a, b), (b, c), (c, d), (d, a)], False),  # two cycles against one
        ([(a, frozenset({b, 1}))], [(b, frozenset({1, a}))], True),
        ([(a, frozenset({a}))], [(b, frozenset({a}))], False),
        ([((a, b),)], [((b, b),)], False),
        ([(1,)], [(True,)], False),
        ([(1,)], [(1.0,)], True),
        ([], [], True),
    ],
)
def test_facts_with_nulls(left, right, same):
    assert isomorphic({"p": left}, {"p": right}) is same


def test_integers_and_doubles_can_be_told_apart():
    assert not isomorphic({"p": [(1,)]}, {"p": [(1.0,)]}, typed=True)


def test_a_null_is_the_same_in_all_predicates():
    assert not isomorphic({"p": [(a,)], "q": [(a,)]}, {"p": [(a,)], "q": [(b,)]})


nulls = st.integers(0, 4).map(Null)


@given(st.sets(st.tuples(nulls, nulls | st.integers(0, 1)), max_size=8), st.permutations(range(5)))
def test_renaming_changes_nothing(rows, order):
    renamed = {tuple(Null(order[v.number] + 7) if isinstance(v, Null) else v for v in row) for row in rows}
    assert isomorphic({"p": rows}, {"p": renamed})
    assert not isomorphic({"p": rows}, {"p": renamed | {("more", 1)}})
