"""Steps of the pipeline that anonymizes a graph under rules, and the choice of the anonymizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.cores import both
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Weights, inside
from kgreason.graph.subgraphs.patterns import LARGEST
from kgreason.isomorphism import assessment
from kgreason.isomorphism.algorithm_inputs import AlgorithmInputs
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.further_guarantees import WithFurther
from kgreason.isomorphism.anonymizers.k_iso import KIso
from kgreason.isomorphism.anonymizers.kguard import Kguard
from kgreason.isomorphism.anonymizers.kguard_published import PublishedKguard
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.partition import partition
from kgreason.isomorphism.certificates import write_certificate
from kgreason.isomorphism.definition import Anonymizer, Earlier, Release
from kgreason.isomorphism.folder import RULES, Claim, contents_of, public_rules
from kgreason.isomorphism.reading import Pair, read_release, renumbered
from kgreason.isomorphism.release_tables import fitting, write_parts, write_tables
from kgreason.isomorphism.report import private_report
from kgreason.isomorphism.report_words import synthetic_words
from kgreason.isomorphism.result import Anonymization
from kgreason.isomorphism.series import FILE, dated, release_in_series, write_series
from kgreason.isomorphism.settings import MAX_STORED, MAX_SUBGRAPHS, Further, Settings
from kgreason.isomorphism.verification.joined_releases import joined_occurrences
from kgreason.isomorphism.verification.verdict import Certificate
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.earlier_releases import noted
from kgreason.release.folder_contents import Contents
from kgreason.release.mapping import write_mapping
from kgreason.release.pipeline import Family
from kgreason.release.publication import Folders
from kgreason.release.report.report_data import Report
from kgreason.release.table_layout import Layout

PER_ROW = 16  # elementary steps of a stage for each vertex and edge, at least


@record(eq=False)
class Series:
    """Place of a release in a series: private folder of the release before, that release, and those of the window."""

    after: Path | None = None
    earlier: Earlier | None = None
    window: Sequence[Earlier] = ()


@dataclass(frozen=True, eq=False)
class Isomorphism(Family[Release, Pair, Anonymization]):
    """One run of `kgreason.anonymize`.

    The x-subgraphs of all `sizes` are verified, for graphs with at most `most` of them; `None`: the caller counted them
    before. Without `layout`, the tables of the release, nothing is written. Without `series`, no release can follow.
    The `inputs` are those of the algorithm.
    """

    algorithm: Anonymizer
    graph: KnowledgeGraph
    program: CheckedProgram
    sizes: Sequence[int]
    most: int | None
    layout: Layout | None
    series: Series | None = None
    inputs: AlgorithmInputs = field(default_factory=AlgorithmInputs)

    def anonymize(self) -> Release:
        """Augment the graph and relabel it with random labels, or with numbers if the format requires them."""
        augmented = self.algorithm.augment(self.graph, self.program, self.rng, self.progress)
        numbered = self.layout is not None and self.layout.numbered
        labels = None if numbered else frozenset(self.graph.labels.tolist())
        return publish(augmented, labels, self.secret, self.inputs.labels)

    def held(self, made: Release) -> Pair:
        """Return the release in memory with its original."""
        return Pair(self.graph, made.graph, made.mapping, made.parts)

    def write(self, made: Release, public: Path, private: Path) -> None:
        """Write the tables and the rules, and the mapping into the private folder."""
        layout = self._fitting(made.graph, self.progress)
        node = self.program.nodes[0] if self.program.nodes else "node"
        both(
            lambda: write_tables(public, made.graph, layout, node),
            lambda: write_mapping(
                private / "mapping.csv", self.graph.labels, made.graph.labels, made.mapping
            ),
            PER_ROW * (made.graph.n + made.graph.m),
        )
        (public / RULES).write_text(public_rules(self.program, layout), encoding="utf-8")
        if self.series is not None:
            write_series(private / FILE, self._in_series(made, self.held(made)))
        if made.parts is not None:
            write_parts(private / "parts.csv", self.graph, made.parts)

    def _in_series(self, made: Release, pair: Pair) -> Earlier:
        copies = None if made.copies is None else renumbered(made.copies, made.graph, pair.released)
        serials = np.zeros(made.graph.n, dtype=np.int64)
        assert made.serials is not None
        serials[renumbered(np.arange(made.graph.n), made.graph, pair.released)] = made.serials
        earlier = None if self.series is None else self.series.earlier
        last = 0 if earlier is None else earlier.last
        return release_in_series(pair.original, pair.released, pair.mapping, copies, serials, last)

    def _fitting(self, released: KnowledgeGraph, progress: Progress = SILENT) -> Layout:
        assert self.layout is not None
        return fitting(self.layout, released, progress)

    def read(self, made: Release, public: Path, private: Path) -> Pair:  # noqa: ARG002
        """Read the release back from its folders."""
        return read_release(self.program, self.graph, public, private / "mapping.csv")

    def judge(self, made: Release, read: Pair) -> Anonymization:
        """Verify the guarantee, by copies if the anonymizer made them, else by image search; and score."""
        graphs, guarantee = (read.original, read.released, read.mapping), made.guarantee
        copies = certificate = None
        if made.copies is not None:
            copies = renumbered(made.copies, made.graph, read.released)
            certificate = Certificate(guarantee.k, copies=copies, further=guarantee.further)
        verdict, found = self.clock.beside(
            "verify",
            lambda: assessment.verify(
                *graphs,
                self.program,
                k=guarantee.k,
                x=self.sizes,
                also=guarantee.further,
                parts=read.parts,
                certificate=certificate,
                max_subgraphs=self.most,
                model=guarantee.model,
                progress=self.progress,
            ),
            "score",
            lambda: assessment.scored(
                *(*graphs, self.program, made.answers, guarantee.k),
                () if guarantee.model == "k-iso" else self.sizes,
                read.parts,
                copies,
            ),
            PER_ROW * (read.released.n + read.released.m),
        )
        if self.series is not None and self.series.window:
            window = dated([*self.series.window, self._in_series(made, read)])
            item, joined = joined_occurrences(
                window, self.program, guarantee.k, self.sizes, self.rng, self.progress
            )
            verdict = replace(verdict, items=(*verdict.items, item), joined=joined)
            self.clock.lap("series")
        results = verdict, read.original, made, found, self.program.derived
        return Anonymization(*results, seconds=self.clock.laps, run=self.run)

    def report(self, found: Anonymization) -> Report:
        """Return the private report."""
        return private_report(found, found.run, self.progress)

    def contents(self, found: Anonymization, read: Pair) -> Contents:
        """Return what the public folder must hold."""
        guarantee, original = found.release.guarantee, read.original
        kept = original.m - guarantee.cut - guarantee.deleted
        joined = "" if found.verdict.joined is None else str(found.verdict.joined)
        synthetic = synthetic_words(read.released, kept, original.n)
        given = self.inputs.labels is not None, self.inputs.weights is not None
        claim = Claim(guarantee, found.verdict.sizes, synthetic, joined, *given)
        return contents_of(self.program, self._fitting(found.release.graph), read.released, claim)

    def certify(self, found: Anonymization, read: Pair, public: Path, private: Path) -> None:
        """Write the certificate, with digests of all files in the folders."""
        if found.verdict.certificate is not None:
            write_certificate(
                private / "certificate.json", found.verdict.certificate, read, (public, private)
            )

    def noted(self, folders: Folders) -> dict[str, Any]:
        """Return the parameters and the seed of the release."""
        parameters = self.run.parameters
        series = {} if self.series is None else noted(folders, self.series.after)
        return {
            **series,
            "trials": parameters["trials"],
            "method": parameters["method"],
            "seed": self.run.seed,
        }


def choose(
    settings: Settings,
    sizes: tuple[int, ...],
    further: tuple[Further, ...] = (),
    earlier: Earlier | None = None,
    window: Sequence[Earlier] = (),
    inputs: AlgorithmInputs | None = None,
) -> Anonymizer:
    """Return the anonymizer of settings; `sizes` of the attacked subgraphs ascend.

    `further` are the further guarantees that it prepares (see `guaranteed`), `earlier` is the release before in a
    series, and `window` are those that an attacker may join; `inputs` those of the settings, as read.

    Raises
    ------
    AnonymizationError
        If a size is too large for the method, or the method has no such mode.
    """
    k, trials = settings.k, settings.trials
    given = inputs or AlgorithmInputs.of(settings)
    degrees_given = given.in_degrees, given.out_degrees
    if settings.method != "kguard" and settings.mode != "exact":
        raise AnonymizationError("only KGUARD has modes", hint="leave --mode out, or the method")
    if settings.plans is not None and (settings.method != "kguard" or settings.mode != "exact"):
        raise AnonymizationError(
            "only KGUARD in its exact mode makes several plans",
            hint="leave --plans out, or the method and the mode",
        )
    if settings.method == "klone":
        return Klone(k, trials, earlier, given.weights, degrees_given)
    if settings.method == "k-iso":
        if further:
            raise AnonymizationError(
                "k-Iso has no further guarantees", hint="leave --also out, or the method"
            )
        return KIso(k, trials)
    if sizes[-1] > LARGEST:
        raise AnonymizationError(
            f"KGUARD handles x from 1 to {LARGEST}, not {sizes[-1]}",
            hint="choose a smaller x, or KLONE, which protects every x",
        )
    if settings.mode == "exact":
        limit = settings.max_subgraphs or MAX_SUBGRAPHS
        degrees = further == ("degree",) and not settings.keep_cuts
        return Kguard(k, sizes, trials, limit, settings.plans, degrees, earlier, window, given.weights)
    if len(sizes) > 1:
        raise AnonymizationError(
            "the published KGUARD protects one x, not several", hint=f"leave --mode {settings.mode} out"
        )
    most = settings.max_subgraphs or MAX_STORED
    literal = settings.mode == "literal"
    return PublishedKguard(k, sizes[0], trials, most, literal, given.weights, degrees_given)


def guaranteed(
    algorithm: Anonymizer, k: int, further: tuple[Further, ...], weights: Weights | None = None
) -> Anonymizer:
    """Return an anonymizer whose releases have the further guarantees, too."""
    return WithFurther(algorithm, k, further, weights) if further else algorithm


def divide(
    algorithm: Anonymizer,
    graph: KnowledgeGraph,
    size: int,
    k: int,
    x: int,
    progress: Progress,
    *,
    keep_cuts: bool,
    weights: Weights | None = None,
) -> tuple[Anonymizer, KnowledgeGraph]:
    """Apply an anonymizer to parts of about `size` vertices; also returns the graph whose subgraphs are then protected.

    Raises
    ------
    AnonymizationError
        If parts are too small, or the library that partitions graphs is not installed.
    """
    if isinstance(algorithm, KIso):
        raise AnonymizationError("k-Iso divides the graph itself", hint="leave --split out, or the method")
    from kgreason.isomorphism.anonymizers.split_keep import SplitKeep
    from kgreason.isomorphism.anonymizers.split_merge import SplitMerge  # starts processes: 13 ms to import

    parts = partition(graph, size, x)
    within = inside(graph, parts)
    progress.note(f"{parts.max() + 1:,} parts; {graph.m - within.m:,} edges run between them")
    if keep_cuts:
        return SplitKeep(algorithm, parts, k, x, weights), graph
    return SplitMerge(algorithm, parts, weights), within
