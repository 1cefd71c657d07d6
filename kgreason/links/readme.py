"""What README.txt of a release of links says: what was done, what counts mean, and what is not protected.

It says nothing of the relation that was left out, not even what it is called.
"""

from __future__ import annotations

from kgreason.choices import CLUSTERED, Strategy
from kgreason.graph.io.plain_tables import cell, indented, width
from kgreason.graph.links.model import Released

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
TEXT = """Anonymized graph of links

Made by the strategy {strategy}{k}.
{checked}
{done}

NOT PROTECTED: links that are not released can be guessed with some probability from what is; how well, the
owner of the original finds out with `kgreason attack`.{more}

Files
  {nodes}the nodes, and for how many entities each stands; labels are random
  {values}their values{mixed}
  {links}links between nodes{weights}
  {schema}says what the tables hold; kgreason reads the release by it
  {report}a page about the release, for reading; report.json is the same for programs
"""
DEGREES = """ With how many others a node is linked, and with whom,
stands here as it was, or nearly: whoever knows that of an entity may find its node."""
SHARED = """ Whoever knows links among
several entities may find their nodes."""
SIZE = ", with at least {k} entities in each cluster"
ALIKE = "; each entity has the same values as others, at least {k} together"
MIXED = """; entities that look alike have the values of all of them, so some are not
                  their own"""
UNITED = "; those of all entities of a node"
MEANS = "; a weight is the mean of all of them"
KEPT = """, with the weights that they had: whoever knows some of an entity may find
                  its node"""
NONE = ", of which there are none"
UNVERIFIED = """UNVERIFIED

What is said below was checked and does NOT hold, or was not decided. Do not publish this.

"""
EXPERIMENT = """EXPERIMENT

Made with a fixed seed: it can be computed again. Do not publish this.

"""


def readme(released: Released, k: int | None, *, holds: bool, seeded: bool, format: str = "csv") -> str:
    """Write the text of README.txt.

    Parameters
    ----------
    k
        Least number of entities of a cluster; `None` where there are none.
    holds
        Whether the checker confirmed the release.
    seeded
        Whether the run can be repeated.
    format
        Of the tables.
    """
    graph, strategy = released.graph, released.strategy
    merged = strategy in CLUSTERED
    weighted = any(found.weight is not None for found in graph.observed.values())
    valued = any(len(a) for a in graph.attributes.values())
    size = "" if k is None else (SIZE if merged else ALIKE).format(k=k)
    text = TEXT.format(
        strategy=strategy,
        k=size,
        checked="Confirmed by an exact check of these files.\n" if holds else "",
        done=DONE[strategy],
        more=SHARED if merged else "" if strategy == "removed" else DEGREES,
        nodes=cell("nodes", format),
        values=cell("attributes", format),
        links=cell("links", format),
        schema=f"{'links.toml':<{width(format)}}",
        report=f"{'report.html':<{width(format)}}",
        mixed=NONE if not valued else UNITED if merged else indented(MIXED, format),
        weights=NONE
        if strategy == "removed"
        else ""
        if not weighted
        else MEANS
        if merged
        else indented(KEPT, format),
    )
    return "".join([UNVERIFIED * (not holds), EXPERIMENT * seeded, text])
