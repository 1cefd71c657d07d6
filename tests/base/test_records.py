"""Records behave as frozen dataclasses do, except that assignments are refused by type checkers alone."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgreason.base.records import entries, record


@record
class Position:
    predicate: str
    argument: int = 0
    line: int = field(default=0, compare=False, repr=False, kw_only=True)


@record
class Other:
    predicate: str
    argument: int = 0


@record
class Deeper(Position):
    more: tuple[object, ...] = ()


@dataclass(frozen=True)
class Frozen:
    predicate: str
    argument: int = 0
    line: int = field(default=0, compare=False, repr=False, kw_only=True)


@record(eq=False)
class Numbered:
    values: list[int]


@record
class Loose:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose) and other.name.lower() == self.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return f"<{self.name}>"


FIELDS = st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 1))


@given(FIELDS, FIELDS)
def test_compared_and_shown_as_a_dataclass(one: tuple[str, int, int], other: tuple[str, int, int]) -> None:
    first, second = (Position(name, argument, line=line) for name, argument, line in (one, other))
    frozen, still = (Frozen(name, argument, line=line) for name, argument, line in (one, other))
    assert (first == second) == (frozen == still)
    assert len({first, second}) == len({frozen, still})
    assert repr(first) == repr(frozen).replace("Frozen", "Position")


def test_types_differ() -> None:
    values: list[object] = [Position("a"), Other("a"), Deeper("a"), ("a", 0)]
    assert [values.index(value) for value in values] == [0, 1, 2, 3]
    assert len(set(values)) == 4


def test_fields_are_those_of_dataclasses() -> None:
    deeper = Deeper("a", 1, (2,), line=3)
    assert entries(deeper) == {"predicate": "a", "argument": 1, "line": 3, "more": (2,)}
    assert replace(deeper, argument=4) == Deeper("a", 4, (2,))
    assert pickle.loads(pickle.dumps(deeper)) == deeper
    assert not hasattr(deeper, "__dict__")
    with pytest.raises(TypeError, match="predicate"):
        Position()  # type: ignore[call-arg]


def test_a_record_that_holds_itself_is_shown() -> None:
    values: list[object] = []
    holder = Deeper("a", 0, (values,))
    values.append(holder)
    assert repr(holder) == "Deeper(predicate='a', argument=0, more=([...],))"


def test_records_with_identity() -> None:
    values = [1]
    assert Numbered(values) != Numbered(values)
    assert len({Numbered(values), Numbered(values)}) == 2
    assert repr(Numbered(values)) == "Numbered(values=[1])"


def test_methods_of_the_class_are_kept() -> None:
    assert Loose("A") == Loose("a")
    assert len({Loose("A"), Loose("a")}) == 1
    assert repr(Loose("A")) == "<A>"
