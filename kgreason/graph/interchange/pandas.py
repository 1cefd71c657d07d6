"""DataFrames of pandas, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgreason.graph.interchange.arrow import as_frame, check_types, to_arrow
from kgreason.graph.interchange.python import array, in_memory
from kgreason.graph.io.raw import Raw

if TYPE_CHECKING:
    import pandas as pd

    from kgreason.graph.interchange.plain import Graph


def from_frame(frame: Any, name: str) -> Raw:
    """Read a DataFrame; its index is no column."""
    import pyarrow as pa

    names = [str(c) for c in frame.columns]
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (
        TypeError,
        ValueError,
        OverflowError,
        pa.ArrowNotImplementedError,
    ):  # TypeError: of sparse columns, too
        series = [frame.iloc[:, i] for i in range(len(names))]
        cells = [s.astype(object).where(s.notna(), None).tolist() for s in series]
        return in_memory(name, names, [array(name, c, n) for c, n in zip(cells, names, strict=True)])
    check_types(name, table.schema)
    return in_memory(name, names, table.columns)


def to_pandas(graph: Graph, relation: str | None = None) -> pd.DataFrame:
    """`kgreason.to_arrow` as a pandas DataFrame; needs pandas installed.

    Raises
    ------
    DataError
        If it is not.

    Examples
    --------
    >>> from kgreason import KnowledgeGraph
    >>> to_pandas(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).to_dict("records")
    [{'source': 'A', 'target': 'D', 'weight': 0.6}]
    """
    return as_frame(to_arrow(graph, relation))
