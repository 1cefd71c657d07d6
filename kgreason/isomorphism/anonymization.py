"""Pipeline steps of the (k,x)-isomorphism anonymization of a graph under rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.reading import Pair, read_release, renumbered
from kgreason.isomorphism.report import private_report
from kgreason.isomorphism.result import Anonymization
from kgreason.release.pipeline import Family

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.definition import Anonymizer, Release
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.release.folder_contents import Contents
    from kgreason.release.publication import Folders
    from kgreason.release.report.report_data import Report
    from kgreason.release.table_layout import Layout


@dataclass(frozen=True, eq=False)
class Isomorphism(Family["Release", Pair, Anonymization]):
    """One run of `kgreason.anonymize`.

    Attributes
    ----------
    algorithm
        Anonymizer with its parameters.
    graph, program
        Original graph and its rules.
    sizes
        Sizes x of the x-subgraphs that are verified.
    most
        Largest number of x-subgraphs for which graphs are verified; `None`: the caller counted them before.
    layout
        Tables of the release; `None`: nothing is written.
    """

    algorithm: Anonymizer
    graph: KnowledgeGraph
    program: CheckedProgram
    sizes: Sequence[int]
    most: int | None
    layout: Layout | None

    def anonymize(self) -> Release:
        """Augment the graph and relabel it with random labels, or with numbers if the format requires them."""
        from kgreason.isomorphism.anonymizers.assembly import publish

        augmented = self.algorithm.augment(self.graph, self.program, self.rng, self.progress)
        numbered = self.layout is not None and self.layout.numbered
        labels = None if numbered else frozenset(self.graph.labels.tolist())
        return publish(augmented, labels, self.secret)

    def held(self, made: Release) -> Pair:
        """Return the release in memory with its original."""
        return Pair(self.graph, made.graph, made.mapping, made.parts)

    def write(self, made: Release, public: Path, private: Path) -> None:
        """Write the tables and the rules, and the mapping into the private folder."""
        from kgreason.isomorphism.folder import RULES, public_rules
        from kgreason.isomorphism.release_tables import write_parts, write_tables
        from kgreason.release.mapping import write_mapping

        layout = self._fitting(made.graph, self.progress)
        write_tables(public, made.graph, layout, self.program.nodes[0] if self.program.nodes else "node")
        (public / RULES).write_text(public_rules(self.program, layout), encoding="utf-8")
        write_mapping(private / "mapping.csv", self.graph.labels, made.graph.labels, made.mapping)
        if made.parts is not None:
            write_parts(private / "parts.csv", self.graph, made.parts)

    def _fitting(self, released: KnowledgeGraph, progress: Progress = SILENT) -> Layout:
        from kgreason.isomorphism.release_tables import fitting

        assert self.layout is not None
        return fitting(self.layout, released, progress)

    def read(self, made: Release, public: Path, private: Path) -> Pair:  # noqa: ARG002
        """Read the release back from its folders."""
        return read_release(self.program, self.graph, public, private / "mapping.csv")

    def judge(self, made: Release, read: Pair) -> Anonymization:
        """Verify the guarantee, by copies if the anonymizer made them, else by image search; and score."""
        from kgreason.isomorphism.assessment import score, verify
        from kgreason.isomorphism.verification.verdict import Certificate

        graphs, guarantee = (read.original, read.released, read.mapping), made.guarantee
        certificate = None
        if made.copies is not None:
            certificate = Certificate(guarantee.k, copies=renumbered(made.copies, made.graph, read.released))
        verdict = verify(
            *graphs,
            self.program,
            k=guarantee.k,
            x=self.sizes,
            parts=read.parts,
            certificate=certificate,
            max_subgraphs=self.most,
            model=guarantee.model,
            progress=self.progress,
        )
        self.clock.lap("verify")
        found = score(*graphs, self.program, progress=self.progress)
        self.clock.lap("score")
        told = verdict, read.original, made, found, self.program.derived
        return Anonymization(*told, seconds=self.clock.laps, run=self.run)

    def report(self, found: Anonymization) -> Report:
        """Return the private report."""
        return private_report(found, found.run, self.progress)

    def contents(self, found: Anonymization, read: Pair) -> Contents:
        """Return what the public folder must hold."""
        from kgreason.isomorphism.folder import contents_of

        claim = found.release.guarantee, found.verdict.sizes
        return contents_of(self.program, self._fitting(found.release.graph), read.released, claim)

    def certify(self, found: Anonymization, read: Pair, public: Path, private: Path) -> None:
        """Write the certificate, with digests of all files in the folders."""
        from kgreason.isomorphism.certificates import write_certificate

        if found.verdict.certificate is not None:
            write_certificate(
                private / "certificate.json", found.verdict.certificate, read, (public, private)
            )

    def noted(self, folders: Folders) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters and the seed of the release."""
        told = self.run.parameters
        return {"trials": told["trials"], "method": told["method"], "seed": self.run.seed}
