"""Exchange of graphs and tables with other libraries, one module per family of types."""

from kgreason.data.exchange.arrow import as_frame, facts_to_arrow
from kgreason.data.exchange.graph_objects import (
    from_igraph,
    from_networkx,
    to_arrow,
    to_igraph,
    to_networkx,
    to_pandas,
    to_polars,
)
from kgreason.data.exchange.table_objects import as_raw, as_table, is_table

__all__ = [
    "as_frame",
    "as_raw",
    "as_table",
    "facts_to_arrow",
    "from_igraph",
    "from_networkx",
    "is_table",
    "to_arrow",
    "to_igraph",
    "to_networkx",
    "to_pandas",
    "to_polars",
]
