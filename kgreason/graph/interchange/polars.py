"""DataFrames of Polars out; in, they are tables with the Arrow interface (`kgreason.graph.interchange.arrow`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgreason.graph.interchange.arrow import to_arrow
from kgreason.graph.interchange.present import needed

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from kgreason.graph.interchange.plain import Graph


def to_polars(graph: Graph, relation: str | None = None) -> pl.DataFrame:
    """`kgreason.to_arrow` as a Polars DataFrame; needs Polars installed.

    Raises
    ------
    DataError
        If it is not.

    Examples
    --------
    >>> from kgreason import KnowledgeGraph
    >>> to_polars(KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")).rows()
    [('A', 'D', 0.6)]
    """
    return as_polars(to_arrow(graph, relation))


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Make a Polars DataFrame of an Arrow table.

    Raises
    ------
    DataError
        If Polars is not installed, with the command that installs it.
    """
    library = needed("polars", "a Polars DataFrame", "to_polars", "to_arrow does without")
    frame: pl.DataFrame = library.from_arrow(table)
    return frame
