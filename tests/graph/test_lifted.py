"""A lifted program derives in each part what the program derives from that part alone."""

from __future__ import annotations

import pytest

from kgreason.base.resources import resource
from kgreason.graph.induced.lifted import lift
from kgreason.language.check.program_checker import load_text
from tests.naive import evaluate

PARTS = {
    1: [("a", "d", 0.6), ("d", "e", 0.8), ("e", "b", 0.25), ("a", "b", 0.4)],
    2: [("a", "b", 0.4), ("e", "b", 0.25)],
    3: [("x", "y", 0.9), ("y", "z", 0.5), ("x", "z", 0.1), ("z", "x", 0.7)],
}
PROGRAMS = {
    name: resource("rules", f"{name}.vada").read_text(encoding="utf-8")
    for name in ("control", "ultimate_controller", "reachability", "holding")
} | {
    "facts and no positive atom": """seed("a"). seed(X) :- own(X,_,W), W > 0.75. always(1).
        empty(1) :- not seed("z"). Part(1) :- seed("a").""".replace(
        "Part(1)", "p(Part) :- own(Part,_,_). q(1)"
    ),
    "least": "d(X,Y,D) :- own(X,Y,W), D = mmin(W). d(X,Z,D) :- d(X,Y,A), own(Y,Z,W), D = mmin(A+W).",
    "stratified": 't(X,S) :- own(X,_,W), S = sum(W). n(C) :- own(_,Y,_), C = count(Y). d("a","b",0.01).',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_do_not_meet(name: str) -> None:
    program = load_text(PROGRAMS[name])
    vertices = {p: {(v,) for row in rows for v in row[:2]} for p, rows in PARTS.items()}
    inputs = {"own": [(p, *row) for p, rows in PARTS.items() for row in rows]}
    inputs["company"] = [(p, *v) for p, vs in vertices.items() for v in vs]
    lifted = evaluate(lift(program), {**inputs, "part_": [(p,) for p in PARTS]})
    for part, rows in PARTS.items():
        alone = evaluate(program, {"own": rows, "company": vertices[part]})
        for predicate in program.outputs:
            together = {row[1:] for row in lifted.get(predicate, set()) if row[0] == part}
            assert together == alone.get(predicate, set()), (predicate, part)


def test_shape() -> None:
    program = load_text(PROGRAMS["least"])
    lifted = lift(program)
    assert (program.keyed["d"].position, lifted.keyed["d"].position) == (2, 3)
    assert lifted.arities == {"d": 4, "own": 4, "part_": 1}
    assert [r.aggregation.group[1:] for r in lifted.rules if r.aggregation] == [("X", "Y"), ("X", "Z")]


def test_the_name_of_the_parts_must_be_free() -> None:
    with pytest.raises(ValueError, match="uses the predicate 'part_' itself"):
        lift(load_text("part_(1)."))
