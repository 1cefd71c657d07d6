"""How results on links look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.terminal import Row, item_rows, publishable, table

if TYPE_CHECKING:
    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.graph.links.model import Sensitive
    from kgreason.links.release import LinksAnonymization


def print_links(result: LinksAnonymization, release: Path, private: Path, *, seeded: bool) -> None:
    """Print the one table of an anonymization."""
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
    before, after = result.original.graph, result.release.released.graph
    secret = result.original.sensitive
    table(
        [
            ("nodes", f"{before.n:,} -> {after.n:,}"),
            ("strategy", _strategy(result)),
            *((f"links of {name}", _kept(*numbers)) for name, numbers in result.links.items()),
            ("left out", _secret(secret)),
            *_clusters(result),
            *links_rows(result.verdict),
            ("time", f"{sum(result.seconds.values()):.1f} s ({seconds})"),
            ("to publish", publishable(result, release, seeded)),
            ("to keep secret", f"{private}/"),
        ]
    )


def _secret(secret: Sensitive) -> str:
    gone = f", and {secret.left_out:,} of entities that are left out" if secret.left_out else ""
    return f"{len(secret):,} links of {secret.name}, which is sensitive{gone}"


def _strategy(result: LinksAnonymization) -> str:
    asked = result.asked
    return asked.strategy + ("" if asked.percent is None else f", {asked.percent:g} % left out")


def _kept(before: int, after: int) -> str:
    return f"{before:,} -> {after:,}" + (f" ({after / before:.0%} kept)" if before else "")


def _clusters(result: LinksAnonymization) -> Iterator[Row]:
    sizes = result.cluster_sizes
    if len(sizes):
        by = result.asked.clustering
        how = ", as given" if by is None else ", at random" if by == "random" else f", by {by}"
        yield "clusters", f"{len(sizes):,}, the smallest of {sizes.min():,} entities{how}"


def print_links_verdict(verdict: LinksVerdict) -> None:
    """Print each item, the clusters, and what is found of all."""
    nodes = verdict.nodes
    told = f"{nodes.entities:,} entities in {nodes.number:,} nodes"
    left = [("links", i.detail) for i in verdict.items if i.name == "links" and i.holds]
    shown = left if verdict.strategy == "partial" else []  # of other strategies nothing is left to choice
    table([("nodes", told), *shown, *links_rows(verdict)])


def links_rows(verdict: LinksVerdict) -> Iterator[Row]:
    """Rows on the conditions and the verdict."""
    held = {"fails": "DOES NOT HOLD", "undecided": "NOT DECIDED"}.get(verdict.state, "holds")
    alone = ", as far as a release alone tells" if verdict.needs_original and verdict.holds else ""
    yield from item_rows(verdict.items, verdict.needs_original)
    yield "verified", f"{held}{alone}: {verdict.asked}"
