"""From a release of links in memory to two folders, and to what the checker finds in them (docs/links.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgreason.assess.links.source import Source
from kgreason.assess.links.verdict import LinksVerdict
from kgreason.assess.links.verify import verify_links
from kgreason.assess.verdict import Item
from kgreason.data.delimited import write_csv
from kgreason.graph.links.write import write_links
from kgreason.links.form import form, reports
from kgreason.links.pairs import read_mapping, read_released
from kgreason.links.readme import readme
from kgreason.progress import SILENT

if TYPE_CHECKING:
    from kgreason.anonymizers.links.publish import LinksRelease
    from kgreason.graph.links.model import Original, Released
    from kgreason.graph.model import Vertices
    from kgreason.links.results import Asked, LinksAnonymization
    from kgreason.progress import Progress


@dataclass(frozen=True, eq=False)
class Stage:
    """One run of `kgreason.anonymize_links`.

    Attributes
    ----------
    original
        The links, with their secret.
    asked
        How they are anonymized.
    seeded
        Whether the run can be repeated.
    format
        Of the tables that are published.
    """

    original: Original
    asked: Asked
    seeded: bool
    format: str = "csv"

    def judged(self, release: LinksRelease) -> LinksVerdict:
        """What the checker finds of a release in memory."""
        return self._judged(release.released, release.mapping, None)

    def judged_as_written(self, public: Path, private: Path, progress: Progress) -> LinksVerdict:
        """What the checker finds in the folders."""
        progress.step("Verifying what was written")
        written = read_released(public)
        mapping = read_mapping(private / "mapping.csv", self.original.graph, written.graph)
        return self._judged(written, mapping, form(public, written))

    def _judged(self, released: Released, mapping: Vertices, files: Item | None) -> LinksVerdict:
        return verify_links(
            released,
            secret=self.original.sensitive.name,
            source=Source(self.original.graph, mapping),
            k=self.asked.k,
            strategy=self.asked.strategy,
            percent=self.asked.percent,
            form=files,
        )

    def write(self, release: LinksRelease, public: Path, private: Path) -> None:
        """Write the graph, and who is where; what README.txt confirms is checked with the other files."""
        write_links(public, release.released, self.format)
        self._explain(release.released, public, holds=True)
        graph = self.original.graph
        order = np.argsort(graph.labels.astype(str), kind="stable")
        nodes = release.released.graph.labels[release.mapping[order]]
        write_csv(private / "mapping.csv", ("original", "released"), (graph.labels[order], nodes))

    def conclude(
        self, result: LinksAnonymization, public: Path, private: Path, progress: Progress = SILENT
    ) -> None:
        """Write what was found: for everybody, and for the owner."""
        from kgreason.report.write import write_report

        if not result.holds:
            (public / "UNVERIFIED").touch()
            self._explain(result.release.released, public, holds=False)
        write_report(private, result.report(progress), result.as_dict())

    def _explain(self, released: Released, public: Path, *, holds: bool) -> None:
        text = readme(released, self.asked.k, holds=holds, seeded=self.seeded, format=self.format)
        (public / "README.txt").write_bytes(text.encode())
        made = reports(public, released, self.asked.k, holds=holds, seeded=self.seeded, format=self.format)
        for name, told in made.items():
            (public / name).write_bytes(told)
