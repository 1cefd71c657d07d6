"""Source file and line of input facts; sources are read again at the first request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.data.program_tables import Data, Loaded, Loader
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Kind
from kgreason.lang.values import Value
from kgreason.progress import SILENT

Lookup = Callable[[str, tuple[Value, ...]], str | None]


def sources(program: CheckedProgram, data: Data) -> Lookup:
    """Prepare to tell where facts come from.

    Parameters
    ----------
    program, data
        As for `kgreason.data.load.load_facts`.

    Returns
    -------
    callable
        From a predicate and the values of a fact to ``file:line`` (``file:row N`` where the format has no lines), or
        `None` if no source has the fact. The first call for a predicate reads its sources again.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> find = sources(load_text("t(X, Y) :- e(X, Y)."), {"e": [("a", "b"), ("b", "c")]})
    >>> find("e", ("b", "c")), find("e", ("c", "a"))
    ('<e>:row 2', None)
    """

    @cache
    def loader() -> Loader:
        return Loader(program, data, SILENT)

    @cache
    def loaded(predicate: str) -> Loaded | None:
        return loader().load(predicate) if loader().sources(predicate) else None

    @cache
    def first_line(predicate: str, number: int) -> int | None:
        """Line of the first row of a source, if rows and lines correspond one to one."""
        table = loaded(predicate)
        raw = table.parts[number].raw if table else None
        first, last = (raw.line(0), raw.line(len(raw) - 1)) if raw else (None, None)
        even = raw and first is not None and last is not None and last - first == len(raw) - 1
        return first if even else None

    def row_with(predicate: str, values: Mapping[int, Value]) -> str | None:
        """Place of the first row that has some values at some positions."""
        table = loaded(predicate)
        codes = {p: _code(v, table.kinds[p], loader().symbols) for p, v in values.items()} if table else {}
        if table is None or not codes or None in codes.values():
            return None
        for number, part in enumerate(table.parts):
            same = np.logical_and.reduce([part.columns[place] == code for place, code in codes.items()])
            if not same.any():
                continue
            raw, row = part.raw, int(part.rows[np.argmax(same)])
            if not raw.ordered:
                return raw.file
            first = first_line(predicate, number)
            line = raw.line(row) if first is None else first + row
            return f"{raw.file}:{line}" if line is not None else f"{raw.file}:row {row + 1}"
        return None

    def find(predicate: str, values: tuple[Value, ...]) -> str | None:
        found = row_with(predicate, dict(enumerate(values)))
        if found is not None or len(values) != 1 or predicate not in program.nodes:
            return found
        ends = ((edge, row_with(edge, {end: values[0]})) for edge in program.edges for end in (0, 1))
        return next((f"{place} (end of {edge})" for edge, place in ends if place is not None), None)

    return find


def _code(value: Value, kind: Kind, symbols: Symbols) -> int | None:
    """Code of a value in a column; `None` if the column holds nothing of its type."""
    from kgreason.engine.columns import code
    from kgreason.plan.types import join, kind_of

    if kind is Kind.STRING and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # vertices that are integers are read as strings first
    own = kind_of(value)
    if kind is Kind.INT and isinstance(value, float) and value.is_integer():
        return int(value)  # the rules made a double of it
    return code(value, kind, symbols) if own is kind or join(own, kind) is kind else None
