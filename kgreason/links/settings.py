"""Settings of releases of links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kgreason.base.setting_fields import setting
from kgreason.release.publication import RunSettings

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
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Clusters = Mapping[str, object] | npt.NDArray[np.int64] | Path | str
else:
    Clusters = Mapping[str, object] | Path | str
"""The name of the cluster of each entity, a table ``user,cluster`` of them, or numbers, int64, shape (n,)."""


@dataclass(frozen=True, kw_only=True)
class Settings(RunSettings):
    """A strategy with its parameters."""

    sensitive: str | None = setting(None, metavar="NAME", reported=False)
    """The relation that must not be told; under rules, in place of the one that @sensitive names."""
    strategy: Strategy = setting("cluster-edge")
    """What is released of the observed links: all (intact), a share of them (partial), their numbers between clusters
    of entities (cluster-edge), the largest number that two entities of these have (constrained), none (removed)."""
    k: int | None = setting(None, option="-k --k", metavar="N", least=1, shown="3, or that of the clusters")
    """Least number of entities of a cluster."""
    percent: float | None = setting(None, least=0, most=100, shown="50")
    """Of partial: share that is left out of each relation."""
    clustering: str | None = setting(None, metavar="NAME", shown="vac; random without attributes")
    """How clusters are found: random, vac (by values), or another clustering of graphs of people. Entities that remain
    nodes are clustered only if they have attributes, whose values those of a cluster then share."""
    clusters: Clusters | None = setting(None, metavar="FILE", reported=False)
    """Cluster of each entity, in place of a clustering: names, a table user,cluster, or int64, shape (n,)."""
