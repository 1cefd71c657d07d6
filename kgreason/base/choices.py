"""What a user chooses by name."""

from typing import Literal

Method = Literal["kguard", "klone", "k-iso"]
Mode = Literal["exact", "published"]
Model = Literal["kx-isomorphism", "k-iso"]

PeopleMethod = Literal["cdga", "ckga", "ctkga", "pckga", "k-degree"]
PeopleModel = Literal["paired-k-degree", "k-ad", "p-k-ad", "kw-tad", "k-degree"]
LinksMethod = Literal["links"]
LinksModel = Literal["links"]
Strategy = Literal["intact", "partial", "cluster-edge", "constrained", "removed"]
CLUSTERED: tuple[Strategy, ...] = ("cluster-edge", "constrained")  # whose nodes are clusters, not entities
Sequence = Literal["dp", "greedy"]
Construction = Literal["relaxed", "supergraph", "construct"]
AnyMethod = Literal[Method, PeopleMethod, LinksMethod]
AnyModel = Literal[Model, PeopleModel, LinksModel]
Loss = Literal["adm", "atdm"]
LeftOut = Literal["withhold", "replace"]
Partition = Literal["merge-split", "k-means", "k-medoids", "removal"]

THRESHOLDS = (0.2, 0.4, 0.6, 0.8)  # beyond which adversaries of links believe
MAX_SUBGRAPHS = 1_000_000_000  # by default more are refused: each takes time
MAX_STORED = 10_000_000  # the same where they are stored
MAX_VERTICES = 20_000_000  # larger releases are refused: at 64 bytes and more per vertex they fill memory
MAX_EXAMINED = 20_000_000  # of larger graphs a random part is looked at to tell what they give away
