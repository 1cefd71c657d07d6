"""Decide whether a release of links is what its strategy says, and keeps the sensitive relation to itself.

The checker shares no code with the anonymizers, but the graph.

References
----------
LINKS, section 4.
"""

from __future__ import annotations

from kgreason.assess.conditions import no_label_kept
from kgreason.assess.links import conditions
from kgreason.assess.links.conditions import sensitive
from kgreason.assess.links.counts import links
from kgreason.assess.links.verdict import LinksVerdict, Source
from kgreason.assess.verdict import Item
from kgreason.choices import Strategy
from kgreason.graph.links.model import Released

NEEDED = (
    "mapping: whether each entity is in a node that counts it",
    "labels: whether original names are in the release",
    "values: whether nodes have the values of their entities",
    "links: whether the links are those that the strategy leaves",
)
UNNAMED = "sensitive: whether the release names the sensitive relation"


def verify_links(
    released: Released,
    *,
    secret: str | None = None,
    source: Source | None = None,
    k: int | None = None,
    strategy: Strategy | None = None,
    percent: float | None = None,
    form: Item | None = None,
) -> LinksVerdict:
    """Decide whether a release of links is what its strategy says, and keeps the sensitive relation to itself.

    Parameters
    ----------
    secret
        Name of the sensitive relation.
    source
        The original and who is who; `None`: only the release is looked at.
    k
        Entities that nothing but links may tell apart; `None`: it is not asked.
    strategy
        How the release must have been made; `None`: as it says itself.
    percent
        Of ``"partial"``: how much of each relation must be missing at least.
    form
        What was found of the files that it was read from; `None`: it is in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from kgreason.graph.links.model import LinkGraph, observations
    >>> taken = observations(np.array([0, 1, 0]), np.array([1, 2, 2]), mutual=True)
    >>> names = np.array(["Ann", "Bob", "Cem", "Dee"], dtype=object)
    >>> original = LinkGraph(names, {"classmates": taken})
    >>> between = observations(np.array([0, 0, 0]), np.array([0, 1, 1]), mutual=True)
    >>> two = np.array([2, 2])
    >>> graph = LinkGraph(np.array(["x", "y"], dtype=object), {"classmates": between}, {}, two)
    >>> where = Source(original, np.array([0, 0, 1, 1]))
    >>> verify_links(Released(graph, "cluster-edge"), secret="friends", source=where, k=2).holds
    True
    >>> print(verify_links(Released(graph, "constrained"), source=where, k=2)["links"].witnesses[0])
    classmates: x, y: more links than the entities have
    """
    simple = conditions.simple(released.graph)
    items = [] if secret is None else [sensitive(released.graph, secret)]
    if form is not None:
        items.append(form)
    if strategy is not None:
        items.append(conditions.strategy_is(strategy, released))
    if not conditions.shows_clusters(released):
        k = None
    found, nodes = conditions.clusters(released, k)
    items += [found, simple]
    needed = (UNNAMED,) if secret is None else ()
    if source is None:
        return LinksVerdict(released.strategy, k, tuple(items), nodes, (*needed, *NEEDED))
    paired = conditions.mapping(released, source)
    items += [paired, no_label_kept(source.graph, released.graph, "name")]
    if paired.holds and simple.holds:
        items += [conditions.values(released, source), links(released, source, percent)]
    else:
        why = "the mapping is broken" if simple.holds else "the release is no graph of links"
        items += [Item(name, False, f"not examined: {why}", undecided=True) for name in ("values", "links")]
    return LinksVerdict(released.strategy, k, tuple(items), nodes, needed)
