"""From a release of a graph under rules to two folders, and to what the checker finds in them.

What `kgreason.people.stage` and `kgreason.links.stage` are for the other families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.api.assessing import score, verify
from kgreason.choices import MAX_SUBGRAPHS
from kgreason.progress import SILENT
from kgreason.results import Anonymization, Clock

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.anonymizers.base import Release
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.layout import Layout
    from kgreason.pairs import Pair
    from kgreason.progress import Progress
    from kgreason.report.run import Run


@dataclass(frozen=True, eq=False)
class Stage:
    """One run of `kgreason.anonymize`.

    Attributes
    ----------
    graph
        The original.
    program
        The rules.
    run
        How it was called.
    sizes
        Numbers of vertices of the parts that are verified.
    most
        Subgraphs above which graphs are refused; `None`: the default.
    clock
        Where the time goes.
    """

    graph: KnowledgeGraph
    program: CheckedProgram
    run: Run
    sizes: Sequence[int]
    most: int | None
    clock: Clock

    @property
    def seeded(self) -> bool:
        """Whether the run can be repeated."""
        return self.run.seed is not None

    def judged(self, release: Release, progress: Progress) -> Anonymization:
        """What the checker finds of a release in memory."""
        from kgreason.pairs import Pair

        pair = Pair(self.graph, release.graph, release.mapping, release.parts)
        return self._judged(pair, release, progress)

    def write(self, release: Release, layout: Layout, public: Path, private: Path) -> None:
        """Write the tables and the rules, and who is who."""
        from kgreason.publication import write_mapping, write_parts
        from kgreason.release_tables import write_tables
        from kgreason.release_text import write_rules

        nodes = self.program.nodes[0] if self.program.nodes else "node"
        write_tables(public, release.graph, layout, nodes)
        write_rules(public, self.program, layout)
        write_mapping(private / "mapping.csv", self.graph, release)
        if release.parts is not None:
            write_parts(private / "parts.csv", self.graph, release.parts)

    def judged_as_written(
        self, release: Release, public: Path, private: Path, progress: Progress
    ) -> tuple[Anonymization, Pair]:
        """What the checker finds in the folders, and what it read there."""
        from kgreason.pairs import read_release

        pair = read_release(self.program, self.graph, public, private / "mapping.csv")
        return self._judged(pair, release, progress), pair

    def conclude(
        self,
        result: Anonymization,
        pair: Pair,
        layout: Layout,
        public: Path,
        private: Path,
        progress: Progress = SILENT,
    ) -> None:
        """Write what was found: for everybody, and for the owner."""
        from kgreason.certificates import write_certificate
        from kgreason.report.write import write_report

        self._explain(result, pair, layout, public)
        if result.verdict.certificate is not None:  # with an imprint of all that is in the folders by now
            write_certificate(
                private / "certificate.json", result.verdict.certificate, pair, (public, private)
            )
        report = result.report(progress)
        self.clock.lap("report")
        told = {name: self.run.parameters[name] for name in ("trials", "method")}
        write_report(private, report, result.as_dict() | told | {"seed": self.run.seed})

    def _explain(self, result: Anonymization, pair: Pair, layout: Layout, public: Path) -> None:
        """Write README.txt and the report that is made of what is published alone."""
        from kgreason.release_text import readme
        from kgreason.report.rules import promise_of, public_report
        from kgreason.report.write import FILES, write_report

        checked, guarantee = result.verdict.sizes, result.release.guarantee
        weighted = any(relation.weight is not None for relation in pair.released.relations.values())
        marks = {"holds": result.holds, "seeded": self.seeded}
        text = readme(self.program, guarantee, layout, checked, weighted=weighted, **marks)
        (public / "README.txt").write_text(text, encoding="utf-8")
        if not result.holds:
            (public / "UNVERIFIED").touch()
        names = {*FILES, *(path.name for path in public.iterdir())}
        told = public_report(
            pair.released, promise_of(result), confirmed=result.holds, seeded=self.seeded, files=names
        )
        write_report(public, told)

    def _judged(self, pair: Pair, release: Release, progress: Progress) -> Anonymization:
        from kgreason.assess.certificate import Certificate
        from kgreason.pairs import renumbered

        graphs, guarantee = (pair.original, pair.released, pair.mapping), release.guarantee
        certificate = None
        if release.copies is not None:
            copies = renumbered(release.copies, release.graph, pair.released)
            certificate = Certificate(guarantee.k, copies=copies)
        verdict = verify(
            *graphs,
            self.program,
            k=guarantee.k,
            x=self.sizes,
            parts=pair.parts,
            certificate=certificate,
            max_subgraphs=self.most or MAX_SUBGRAPHS,
            model=guarantee.model,
            progress=progress,
        )
        self.clock.lap("verify")
        found = score(*graphs, self.program, progress=progress)
        self.clock.lap("score")
        derived, laps = self.program.derived, self.clock.laps
        return Anonymization(pair.original, release, verdict, found, derived, laps, self.run)
