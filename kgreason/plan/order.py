"""Pass: the order in which a rule joins its atoms."""

from __future__ import annotations

from collections.abc import Mapping

from kgreason.engine.table import Kind
from kgreason.lang.ast import Constant
from kgreason.plan.ir import Join, Line, Operator, Part, Scan


def order_atoms(line: Line, _kinds: Mapping[str, Kind]) -> Line:
    """Start with the recent facts or else the smallest relation; go on with what is bound the most."""
    atoms = [o for o in line.operators if isinstance(o, Scan | Join)]
    rest = [o for o in line.operators if not isinstance(o, Scan | Join)]
    bound: set[str] = set()
    ordered: list[Operator] = []
    while atoms:
        rank = _next if ordered else _first
        best = min(atoms, key=lambda atom: rank(atom, bound))
        atoms.remove(best)
        bound.update(best.atom.variables)
        ordered.append((Join if ordered else Scan)(best.atom, best.part, best.size))
    return Line((*ordered, *rest))


def _first(operator: Scan | Join, _bound: set[str]) -> tuple[int, ...]:
    constants = sum(isinstance(t, Constant) for t in operator.atom.terms)
    return (operator.part is not Part.RECENT, -constants, operator.size)


def _next(operator: Scan | Join, bound: set[str]) -> tuple[int, ...]:
    terms = operator.atom.terms
    free = sum(not isinstance(t, Constant) and t.name not in bound for t in terms)
    apart = free == len(terms) and free > 0  # would be a product
    return (free > 0, apart, free, operator.size)
