"""What each figure and condition of a report means, in plain words, and where the documentation defines it.

A page shows the definition itself (it has no network); `Term.link` is the page of the documentation that says more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

DOCUMENTATION = "docs/"
"""Where the pages of the documentation are, relative to the project; links of terms are relative to it."""


@dataclass(frozen=True)
class Term:
    """A word of the reports.

    Attributes
    ----------
    name
        As reports write it.
    definition
        One or two sentences.
    link
        Page and section below `DOCUMENTATION`.
    """

    name: str
    definition: str
    link: str

    @property
    def anchor(self) -> str:
        """Identifier of the definition within a page.

        Examples
        --------
        >>> TERMS["δ-anonymity"].anchor, TERMS["(k,x)-isomorphism"].anchor
        ('term-d-anonymity', 'term-k-x-isomorphism')
        """
        plain = self.name.lower().replace("△", " sym").replace("δ", "d")
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in plain).split()
        return "-".join(["term", *words])


PAGES: Mapping[str, Mapping[str, str]] = {
    "anonymization.md#definition-41": {
        "(k,x)-isomorphism": (
            "Every connected part of x vertices of the original stands in the release at k places at least that "
            "share no vertex, from which the rules derive the same, and whose vertices differ in label, in-degree "
            "and out-degree."
        ),
        "δ-anonymity": (
            "Share of the connected parts of x vertices of the original that stand at k places of the release. 1 "
            "means that all of them are protected."
        ),
        "parameters": "The graph is large enough for the k and x that were asked for.",
        "mapping": (
            "Each original vertex, user or entity has its place in the release, as the secret mapping says."
        ),
        "connected": "All vertices of the release hang together, if directions do not count.",
        "augmentation": (
            "All edges of the original are in the release; a release in parts gives up those between parts."
        ),
        "labels": "No name of the original is a name in the release.",
        "weights": "Every original edge has another weight in the release.",
        "weight range": "All weights of the release lie between 0 and 1.",
        "incoming sums": "The weights of the edges into each vertex sum to no more than the rules allow.",
        "images": (
            "Every attacked part has its k places. This is the heart of (k,x)-isomorphism, and is decided for "
            "each part."
        ),
    },
    "anonymization.md#k-iso": {
        "k-isomorphism": (
            "The release consists of k isomorphic blocks without edges between them. What rules derive from a "
            "block is not protected: it is a baseline to compare with."
        ),
    },
    "people.md#what-is-promised": {
        "paired-k-degree": (
            "Each user has the same number of links that go out and come in, in each relation, as k - 1 others at "
            "least."
        ),
        "k-ad": (
            "Each user has the same attribute values and the same numbers of links, in each relation and "
            "direction, as k - 1 others at least."
        ),
        "p-k-ad": "As k-ad, where each user has his own k.",
        "kw-tad": (
            "Over any w consecutive releases each user has the same history of values, numbers of links and "
            "absences as k - 1 others at least."
        ),
    },
    "k_degree.md": {
        "k-degree": (
            "In an undirected graph, each user has the same number of links as k - 1 others at least."
        ),
    },
    "links.md#the-five-strategies": {
        "strategy": (
            "What is released of the observed links: all of them, a share, counts between clusters of entities, "
            "the largest of these counts, or none."
        ),
    },
    "verification.md#a-release-alone": {
        "distinct labels": "Each name of the release stands for one vertex.",
    },
    "verification.md#certificates": {
        "certificate": (
            "A record of the k places of each part, by which a release is verified again without a search."
        ),
    },
    "verification.md#what-else-is-in-the-folder": {
        "files": "Each file is byte for byte what kgreason writes of this release, so nothing hides in it.",
    },
    "verification.md#k-iso": {
        "blocks": "The release divides into k isomorphic blocks without edges between them.",
        "edits": "Vertices and edges that k-Iso adds, and edges that it deletes.",
    },
    "people.md#how-to-read-the-table": {
        "classes": (
            "Users who share what the guarantee speaks of are a class; each class has as many users as each of "
            "them asks for."
        ),
        "levels": "Each released user has the k that he asked for.",
        "users": "Each original user is released, or listed as removed.",
        "values": "No value is lost: who is released has his own values, perhaps with others.",
        "simple": "No row stands twice, and nobody is linked with himself.",
        "mutual": "Links of relations that are mutual by nature run both ways.",
        "fakes": "Released users who stand for nobody occur only where the guarantee allows it.",
        "each release": "Each release of a series is k-ad by itself.",
        "earlier releases": "The earlier releases of the series are those that were made then.",
        "names": "Users keep their released name throughout a series, and no two share one.",
        "AIL": (
            "Average information loss: half by attribute values, half by numbers of links; of a removed user 1."
        ),
        "RRU": "Ratio of removed users: share of the original users who are not released.",
        "added values": "Values that users have only in the release.",
        "changed links": "Links that are only in the release, and links that are only in the original.",
    },
    "k_degree.md#what-is-not-promised": {
        "relation": "The release has one relation, whose links run both ways.",
        "attributes": "The release tells no attribute values.",
    },
    "k_degree.md#how-to-read-the-table": {
        "edges": "All original edges are in the release.",
        "L1": "Sum of the changes of all users' numbers of links.",
        "clustering": (
            "Share of the pairs of a user's neighbours that are linked themselves, mean over users."
        ),
        "path length": "Mean number of links on a shortest way between two users.",
    },
    "links.md#what-is-written-and-how-to-read-the-table": {
        "sensitive": "No link of the sensitive relation is released, nor is its name.",
        "clusters": "Nothing but links tells an entity from k - 1 others.",
        "links": "The released links are those that the strategy leaves.",
        "links kept": "Share of the observed links that is in the release.",
    },
    "risk.md#candidates-and-risks": {
        "candidate set": (
            "The vertices that fit what an attacker knows of his target. The more there are, the less he knows "
            "which one it is."
        ),
        "unique": "Vertices that alone fit what is known of them: whoever knows it has found them.",
        "prosecutor's risk": (
            "Chance that an attacker who knows that his target is in the graph picks it from the candidates: 1 "
            "over their number, and 0 if the target is not among them. The highest is that of the most exposed "
            "vertex."
        ),
        "journalist's risk": (
            "Chance that an attacker who does not know whether his target is in the graph names a vertex of it "
            "rightly: he looks in the population for whom fits what the graph shows of the vertex. Here the "
            "population is the original, or the graph itself where that shows what is not true."
        ),
        "marketer's risk": (
            "Share of the vertices that would be named rightly, on average, if each were matched with a candidate "
            "at random."
        ),
        "vertices at risk": "Vertices that fewer than k candidates are left for.",
    },
    "attacks.md#the-figures": {
        "misled": (
            "Share of the vertices that are not among the candidates, because the release has changed what the "
            "attacker knows of them: he picks somebody else."
        ),
    },
    "links.md#the-adversary": {
        "disclosure": (
            "Share of all pairs of entities that an adversary who weighs the released links believes to be linked "
            "by the sensitive relation, with more than some threshold."
        ),
    },
    "anonymization.md#utility-and-fidelity": {
        "U": "Share of the true answers of a query that the release does not give, mean over queries.",
        "U△": (
            "Share of all answers, of the original and of the release together, that only one of them gives; mean "
            "over queries."
        ),
        "pooled": (
            "The same share counted over the answers of all queries together: a query with many answers weighs "
            "more."
        ),
        "query": "What the rules are asked; answers are compared vertex by vertex.",
        "fidelity": "How many vertices and edges the release has more than the original.",
        "Wasserstein-1": (
            "How far, on average, values of one distribution have to be moved to become those of the other, in "
            "their own unit."
        ),
    },
    "anonymization.md#can-synthetic-vertices-be-told": {
        "told": (
            "How well a classifier tells synthetic from original vertices (area under the ROC curve): 0.5 is "
            "guessing, 1 is certainty."
        ),
    },
    "risk.md#what-an-attacker-may-know": {
        "in-degree": "Number of edges that come into a vertex.",
        "out-degree": "Number of edges that go out of a vertex.",
        "degree": "Number of links of a user or entity.",
        "refinement": "What is known of a vertex, of its neighbours, of theirs, and so on.",
    },
    "anonymization.md#weights": {
        "weight": "The number on an edge, such as a share.",
    },
    "anonymization.md#kguard": {
        "synthetic": "A vertex or edge that the release has and the original has not.",
    },
    "anonymization.md#split--merge": {
        "part": "A part of the original that was anonymized on its own.",
    },
}
"""Definitions by the page and section of the documentation that says more."""

TERMS: Mapping[str, Term] = MappingProxyType(
    {name: Term(name, text, link) for link, terms in PAGES.items() for name, text in terms.items()}
)
"""All words by name."""


def term_of(condition: str) -> str:
    """Name in `TERMS` of a condition that a verdict names; empty if there is none.

    Examples
    --------
    >>> term_of("incoming sums of own"), term_of("images of 2 vertices"), term_of("labels")
    ('incoming sums', 'images', 'labels')
    """
    name = condition.split(" of ")[0]
    return name if name in TERMS else ""
