"""Whether a release of links names the sensitive relation, in what it calls things or in a value."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.graph.links.model import LinkGraph


def sensitive(graph: LinkGraph, name: str) -> Item:
    """Whether the sensitive relation has no links in the release, and its name is no word of what the release says.

    Of a folder its form must be checked, too: then nothing else stands in its files.

    Parameters
    ----------
    name
        The sensitive relation. A word ends at a sign that is no letter or digit, such as the _ of ``friends_list``.
    """
    word = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)
    found = [f"{where} is {said}" for where, said in _said(graph) if word.search(said)]
    if found:
        return Item("sensitive", False, "the release names the sensitive relation", listing(found))
    return Item(
        "sensitive",
        True,
        "no link of the sensitive relation is released, nor is its name in any name or value",
    )


def _said(graph: LinkGraph) -> Iterator[tuple[str, str]]:
    """All texts of a release, each with what it is."""
    yield from (("a node", label) for label in graph.labels.tolist())
    yield from (("a relation", relation) for relation in graph.observed)
    for attribute, a in graph.attributes.items():
        yield "an attribute", attribute
        values = a.domain[np.unique(a.value)].tolist()
        yield from ((f"a value of {attribute}", text) for text in values)
