"""Settings of releases of links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kgreason.base.setting_fields import setting
from kgreason.release.publication import RunSettings

Strategy = Literal["intact", "partial", "cluster-edge", "constrained", "removed"]
Criterion = Literal["random", "degree"]
CLUSTERED: tuple[Strategy, ...] = ("cluster-edge", "constrained")  # whose nodes are clusters, not entities
THRESHOLDS = (0.2, 0.4, 0.6, 0.8)  # probabilities above which an attacker of links believes
DONE: dict[Strategy, str] = {
    "intact": """Nodes are entities, and all observed links are unchanged: a count is the number of links
of a pair.""",
    "partial": """Nodes are entities. Of each relation a random share of the links was removed; the others are
unchanged: a count is the number of remaining links of a pair. Two nodes without a link may have had one in the
original.""",
    "cluster-edge": """Nodes are clusters of entities. A count is the number of links between all entities of one
cluster and all of the other, or among the entities of one; the release does not say which of them are linked.""",
    "constrained": """Nodes are clusters of entities. A count is the largest number of links that an entity of one
cluster has with an entity of the other; the release does not say how many of them are linked, and which.""",
    "removed": """Nodes are entities. All links were removed.""",
}
DONE_BY_DEGREE = """Nodes are entities. Of each relation the links with the largest product of the degrees of their
ends were removed; the others are unchanged: a count is the number of remaining links of a pair. Two nodes without a
link may have had one in the original, above all if both had many links."""
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
    """The sensitive relation; under rules, in place of the one that @sensitive names."""
    strategy: Strategy = setting("cluster-edge")
    """Released observed links: all (intact), a share of them (partial), their numbers between clusters of entities
    (cluster-edge), the largest number between two entities of clusters (constrained), none (removed)."""
    k: int | None = setting(None, option="-k --k", metavar="N", least=1, shown="3, or that of the clusters")
    """Least number of entities of a cluster."""
    percent: float | None = setting(None, least=0, most=100, shown="50")
    """For partial: percentage of the links of each relation that is removed."""
    criterion: Criterion | None = setting(None, shown="random")
    """For partial: which links are removed, any (random), or those with the largest product of the degrees of their
    ends (degree)."""
    clustering: str | None = setting(None, metavar="NAME", shown="vac; random without attributes")
    """Clustering: random, vac (by values), or another clustering of graphs of people. Strategies whose nodes are
    entities use clusters only for attributes: the entities of a cluster share their values."""
    clusters: Clusters | None = setting(None, metavar="FILE", reported=False)
    """Cluster of each entity, in place of a clustering: names, a table user,cluster, or int64, shape (n,)."""
    closeness: float | None = setting(None, metavar="T", least=0, most=1)
    """Largest distance of the released values of a cluster from those of all entities (t-closeness), for each
    attribute; clusters are merged until it holds."""
