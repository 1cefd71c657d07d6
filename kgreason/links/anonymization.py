"""Anonymization runs of link graphs in the release pipeline (docs/links.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.records import record
from kgreason.links.arguments import mapping_of
from kgreason.links.folder import contents_of, form, read_released, write_links
from kgreason.links.left_links import Source
from kgreason.links.report import private_report
from kgreason.links.result import LinksAnonymization
from kgreason.links.settings import Settings
from kgreason.links.verification import verify_links
from kgreason.release.mapping import write_mapping
from kgreason.release.pipeline import Family

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import Vertices
    from kgreason.links.anonymizers import LinksRelease
    from kgreason.links.model import Original, Released
    from kgreason.release.folder_contents import Contents
    from kgreason.release.report.report_data import Report
    from kgreason.release.verdicts import Item


@record(eq=False)
class Judged:
    """A release, its mapping and the result of the file check."""

    released: Released
    mapping: Vertices
    files: Item | None = None


@dataclass(frozen=True, eq=False)
class Links(Family["LinksRelease", Judged, LinksAnonymization]):
    """One run of `kgreason.links.anonymize`.

    Attributes
    ----------
    clusters
        Cluster of each entity; `None` for strategies without clusters.
    format
        Format of the published tables.
    """

    original: Original
    asked: Settings
    clusters: Vertices | None
    format: str

    def anonymize(self) -> LinksRelease:
        """Apply the strategy and give the nodes random labels."""
        from kgreason.links.anonymizers import apply, publish

        graph, strategy = self.original.graph, self.asked.strategy
        clusters = np.arange(graph.n) if self.clusters is None else self.clusters
        criterion = self.asked.criterion or "random"
        made, node = apply(graph, clusters, strategy, self.asked.percent or 0, self.rng, criterion)
        return publish(made, strategy, node, graph.labels, self.secret, criterion)

    def held(self, made: LinksRelease) -> Judged:
        """The release in memory with its mapping."""
        return Judged(made.released, made.mapping)

    def write(self, made: LinksRelease, public: Path, private: Path) -> None:
        """Write the public folder, with README.txt and the reports that the file check covers, and the mapping."""
        write_links(public, made.released, self.format)
        seeded = self.run.seed is not None
        contents_of(made.released, self.asked.k, self.format).publish(public, holds=True, seeded=seeded)
        labels = self.original.graph.labels
        write_mapping(private / "mapping.csv", labels, made.released.graph.labels, made.mapping)

    def read(self, made: LinksRelease, public: Path, private: Path) -> Judged:  # noqa: ARG002
        """Read both folders back and check the files."""
        written = read_released(public)
        mapping = mapping_of(private, self.original.graph, written.graph)
        return Judged(written, mapping, form(public, written))

    def judge(self, made: LinksRelease, read: Judged) -> LinksAnonymization:
        """Verify that the release matches its strategy."""
        asked = self.asked
        verdict = verify_links(
            read.released,
            secret=self.original.sensitive.name,
            source=Source(self.original.graph, read.mapping),
            k=asked.k,
            strategy=asked.strategy,
            percent=asked.percent,
            criterion=asked.criterion,
            closeness=asked.closeness,
            form=read.files,
        )
        self.clock.lap("verify")
        return LinksAnonymization(
            verdict, self.original, made, asked, self.clusters, seconds=self.clock.laps, run=self.run
        )

    def report(self, found: LinksAnonymization) -> Report:
        """The owner's report (private)."""
        return private_report(found, found.run, self.progress)

    def contents(self, found: LinksAnonymization, read: Judged) -> Contents:
        """Contents of the public folder."""
        return contents_of(read.released, found.asked.k, self.format)
