"""Choices of releases of links."""

from typing import Literal

LinksMethod = Literal["links"]


LinksModel = Literal["links"]


Strategy = Literal["intact", "partial", "cluster-edge", "constrained", "removed"]


CLUSTERED: tuple[Strategy, ...] = ("cluster-edge", "constrained")  # whose nodes are clusters, not entities


THRESHOLDS = (0.2, 0.4, 0.6, 0.8)  # beyond which adversaries of links believe


DONE: dict[Strategy, str] = {
    "intact": """Nodes are entities, and all links that are released stand here as they were: a count is the number
of links of a pair.""",
    "partial": """Nodes are entities. Of each relation a share of the links, chosen at random, was left out; the others
stand here as they were: a count is the number of links of a pair that are left. That two nodes are not linked
here does not say that they were not.""",
    "cluster-edge": """Nodes are clusters of entities. A count is the number of links between all entities of one
cluster and all of the other, or among the entities of one; which of them are linked is not told.""",
    "constrained": """Nodes are clusters of entities. A count is the largest number of links that an entity of one
cluster has with an entity of the other; how many of them are linked, and which, is not told.""",
    "removed": """Nodes are entities. All links were left out.""",
}
