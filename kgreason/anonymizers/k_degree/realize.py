"""From degrees to graphs: from the degrees alone, with all edges of the original graph, or with most of them."""

from kgreason.anonymizers.k_degree.construct import Degrees, Edges, construct
from kgreason.anonymizers.k_degree.relaxed import relaxed, switched
from kgreason.anonymizers.k_degree.supergraph import supergraph

__all__ = ["Degrees", "Edges", "construct", "relaxed", "supergraph", "switched"]
