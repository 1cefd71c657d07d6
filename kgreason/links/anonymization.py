"""Anonymizations of links, through the pipeline of all releases (docs/links.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.base.progress import SILENT, Progress
from kgreason.links.arguments import mapping_of
from kgreason.links.folder import contents_of, form, read_released, write_links
from kgreason.links.verification.checker import verify_links
from kgreason.links.verification.verdict import LinksVerdict, Source
from kgreason.release.mapping import write_mapping
from kgreason.release.pipeline import Family, Result

if TYPE_CHECKING:
    from kgreason.base.choices import Strategy
    from kgreason.graph.knowledge_graph import Vertices
    from kgreason.isomorphism.verification.verdict import Item
    from kgreason.links.anonymizers.strategies import LinksRelease
    from kgreason.links.model import LinkGraph, Original, Released
    from kgreason.release.folder_contents import Contents
    from kgreason.release.report.report_data import Report


@dataclass(frozen=True)
class Asked:
    """How links are to be anonymized.

    Attributes
    ----------
    strategy
        What is released of them.
    k
        Least number of entities of a cluster; `None`: no clusters are made, for nothing of them would show.
    percent
        Of ``"partial"``: share of the links of each relation that is left out; else `None`.
    clustering
        How clusters are found; `None`: they were given, or there are none.
    """

    strategy: Strategy
    k: int | None
    percent: float | None = None
    clustering: str | None = None


@dataclass(frozen=True)
class LinksAnonymization(Result):
    """An anonymized graph of links with its proof.

    Attributes
    ----------
    original
        The input graph, with its secret.
    release
        The graph to publish and the secret mapping.
    asked
        How it was made.
    clusters
        Cluster of each entity, int64, shape (n,): part of the secret; `None` where none were made.
    verdict
        What the independent checker found.
    """

    original: Original
    release: LinksRelease
    asked: Asked
    clusters: Vertices | None
    verdict: LinksVerdict

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<LinksAnonymization: {self.verdict.asked} {found}; {self.utility:.0%} of the links kept>"

    @property
    def mapping(self) -> dict[str, str]:
        """Released node of each original entity: the secret."""
        released = self.release.released.graph.labels
        pairs = zip(self.original.graph.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[place]) for label, place in pairs}

    @property
    def links(self) -> dict[str, tuple[int, int]]:
        """Observed links of each relation, in the original and in the release."""
        after = self.release.released.graph.observed
        return {
            name: (found.total, after[name].total if name in after else 0)
            for name, found in self.original.graph.observed.items()
        }

    @property
    def utility(self) -> float:
        """Share of the observed links that are in the release, 1 where there were none (LINKS, section 6.3)."""
        before, after = (sum(numbers) for numbers in zip((0, 0), *self.links.values(), strict=True))
        return after / before if before else 1.0

    @property
    def cluster_sizes(self) -> Vertices:
        """Entities of each cluster, int64; empty where none were made."""
        return np.empty(0, dtype=np.int64) if self.clusters is None else np.bincount(self.clusters)

    def report(self, progress: Progress = SILENT) -> Report:
        """The owner's report: what was protected, at what price, from whom; secret (docs/report.md)."""
        from kgreason.links.report import private_report

        return private_report(self, self.run, progress)

    def figures_by_name(self) -> dict[str, Any]:
        """What is told as JSON besides the verdict and times."""
        original, asked = self.original, self.asked
        return {
            "method": "links",
            "strategy": asked.strategy,
            "k": asked.k,
            "percent": asked.percent,
            "clustering": asked.clustering,
            "original": _sizes(original.graph),
            "released": _sizes(self.release.released.graph),
            "sensitive": {
                "name": original.sensitive.name,
                "links": len(original.sensitive),
                "left_out": original.sensitive.left_out,
            },
            "clusters": {
                "number": len(self.cluster_sizes),
                "smallest": int(self.cluster_sizes.min(initial=original.graph.n)),
            }
            if self.clusters is not None
            else None,
            "links": {name: {"original": had, "released": kept} for name, (had, kept) in self.links.items()},
            "utility": self.utility,
        }


def _sizes(graph: LinkGraph) -> dict[str, int]:
    return {
        "nodes": graph.n,
        "values": sum(len(a) for a in graph.attributes.values()),
        "links": sum(found.total for found in graph.observed.values()),
    }


@dataclass(frozen=True, eq=False)
class Judged:
    """A release with the released node of each entity, and what was found of its files."""

    released: Released
    mapping: Vertices
    files: Item | None = None


@dataclass(frozen=True, eq=False)
class Links(Family["LinksRelease", Judged, LinksAnonymization]):
    """One run of `kgreason.links.anonymize`.

    Attributes
    ----------
    original
        The links, with their secret.
    asked
        How they are anonymized.
    clusters
        Cluster of each entity; `None` where none are made.
    format
        Of the tables that are published.
    """

    original: Original
    asked: Asked
    clusters: Vertices | None
    format: str

    def anonymize(self) -> LinksRelease:
        """Leave out what the strategy leaves out, and give nodes random labels."""
        from kgreason.links.anonymizers.strategies import apply, publish

        graph, strategy = self.original.graph, self.asked.strategy
        alone = np.arange(graph.n) if self.clusters is None else self.clusters
        made, node = apply(graph, alone, strategy, self.asked.percent or 0, self.rng)
        return publish(made, strategy, node, graph.labels, self.secret)

    def held(self, made: LinksRelease) -> Judged:
        """The release in memory, with its mapping."""
        return Judged(made.released, made.mapping)

    def write(self, made: LinksRelease, public: Path, private: Path) -> None:
        """Write the graph, and who is where; the check of files covers README.txt and the reports, too."""
        write_links(public, made.released, self.format)
        seeded = self.run.seed is not None
        contents_of(made.released, self.asked.k, self.format).publish(public, holds=True, seeded=seeded)
        labels = self.original.graph.labels
        write_mapping(private / "mapping.csv", labels, made.released.graph.labels, made.mapping)

    def read(self, made: LinksRelease, public: Path, private: Path) -> Judged:  # noqa: ARG002
        """Read the folders back, and compare their files with what kgreason writes."""
        written = read_released(public)
        mapping = mapping_of(private, self.original.graph, written.graph)
        return Judged(written, mapping, form(public, written))

    def judge(self, made: LinksRelease, read: Judged) -> LinksAnonymization:
        """Decide whether the release is what its strategy says."""
        asked = self.asked
        verdict = verify_links(
            read.released,
            secret=self.original.sensitive.name,
            source=Source(self.original.graph, read.mapping),
            k=asked.k,
            strategy=asked.strategy,
            percent=asked.percent,
            form=read.files,
        )
        self.clock.lap("verify")
        told = verdict, self.original, made, asked, self.clusters
        return LinksAnonymization(*told, seconds=self.clock.laps, run=self.run)

    def contents(self, found: LinksAnonymization, read: Judged) -> Contents:
        """What the public folder holds."""
        return contents_of(read.released, found.asked.k, self.format)
