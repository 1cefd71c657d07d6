"""Source file and line of input facts; sources are read again at the first request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.data.edges import Rows
from kgreason.data.program_tables import Data, Loader
from kgreason.data.raw import Raw
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
    origins = _Origins(program, data)
    return origins.find


@dataclass
class _Origins:
    program: CheckedProgram
    data: Data
    tables: dict[str, _Table | None] = field(default_factory=dict)
    loader: Loader | None = None

    def find(self, predicate: str, values: tuple[Value, ...]) -> str | None:
        table = self._table(predicate)
        found = table.find(values) if table else None
        if found is None and len(values) == 1 and predicate in self.program.nodes:
            return self._end(values[0])
        return found

    def _end(self, vertex: Value) -> str | None:
        """The first edge that has a vertex at one of its ends."""
        for edge in self.program.edges:
            table = self._table(edge)
            found = table.end(vertex) if table else None
            if found is not None:
                return f"{found} (end of {edge})"
        return None

    def _table(self, predicate: str) -> _Table | None:
        if predicate not in self.tables:
            if self.loader is None:
                self.loader = Loader(self.program, self.data, SILENT)
            has = self.loader.sources(predicate)
            loaded = self.loader.load(predicate) if has else None
            self.tables[predicate] = (
                _Table(loaded.kinds, loaded.parts, self.loader.symbols) if loaded else None
            )
        return self.tables[predicate]


@dataclass
class _Table:
    """Rows of a predicate, source by source."""

    kinds: tuple[Kind, ...]
    parts: tuple[Rows, ...]
    symbols: Symbols
    lines: dict[int, int | None] = field(default_factory=dict)

    def find(self, values: tuple[Value, ...]) -> str | None:
        codes = [_code(v, k, self.symbols) for v, k in zip(values, self.kinds, strict=True)]
        if None in codes or not codes:
            return None
        for number, part in enumerate(self.parts):
            same = np.logical_and.reduce([c == v for c, v in zip(part.columns, codes, strict=True)])
            if same.any():
                return self._where(number, int(np.argmax(same)))
        return None

    def end(self, vertex: Value) -> str | None:
        """The first row that has the vertex at one of its first two places."""
        for number, part in enumerate(self.parts):
            for column, kind in zip(part.columns[:2], self.kinds[:2], strict=True):
                code = _code(vertex, kind, self.symbols)
                rows = np.flatnonzero(column == code)
                if code is not None and rows.size:
                    return self._where(number, int(rows[0]))
        return None

    def _where(self, number: int, row: int) -> str:
        part = self.parts[number]
        row = int(part.rows[row])
        line = self._line(number, part.raw, row)
        if not part.raw.ordered:
            return part.raw.file
        return f"{part.raw.file}:{line}" if line is not None else f"{part.raw.file}:row {row + 1}"

    def _line(self, number: int, raw: Raw, row: int) -> int | None:
        """Line of a row, without reading the file again if rows and lines correspond one to one."""
        if number not in self.lines:
            first, last = raw.line(0), raw.line(len(raw) - 1)
            even = first is not None and last is not None and last - first == len(raw) - 1
            self.lines[number] = first if even else None
        first = self.lines[number]
        return raw.line(row) if first is None else first + row


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
