"""Anonymization runs of graphs of people in the release pipeline (docs/people.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.errors import KgreasonError
from kgreason.people.anonymizers.history import fingerprint, read_history, write_history
from kgreason.people.folder import contents_of, read_named, read_published
from kgreason.people.release_tables import write_people
from kgreason.people.report import private_report
from kgreason.people.result import Claim, PeopleAnonymization
from kgreason.people.utility import Utility, measure
from kgreason.people.verification import conditions
from kgreason.people.verification.checker import Demands, verify_people
from kgreason.people.verification.verdict import PeopleVerdict, Published, Source
from kgreason.release.earlier_releases import earlier_folders, noted
from kgreason.release.mapping import write_mapping
from kgreason.release.pipeline import Family
from kgreason.release.verdicts import Item

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import Vertices
    from kgreason.people.anonymizers.generalization import PeopleRelease
    from kgreason.people.model import Counts, PeopleGraph
    from kgreason.people.settings import Settings
    from kgreason.release.folder_contents import Contents
    from kgreason.release.publication import Folders
    from kgreason.release.report.report_data import Report


@dataclass(frozen=True, eq=False)
class People(Family["PeopleRelease", Published, PeopleAnonymization]):
    """One run of `kgreason.people.anonymize`.

    Attributes
    ----------
    levels
        The k of each user, int64, shape (n,).
    after
        Private folder of the previous release, for ``"ctkga"``.
    asked
        The k of a graph without users.
    format
        Format of the published tables.
    """

    graph: PeopleGraph
    settings: Settings
    levels: Counts
    after: Path | None
    asked: int
    format: str

    @property
    def k(self) -> int | None:
        """The common k of all users; `None` if levels differ."""
        most = int(self.levels.max()) if len(self.levels) else self.asked
        return most if (self.levels == most).all() else None

    def anonymize(self) -> PeopleRelease:
        """Compute the release, after the previous one of a series."""
        from kgreason.people.anonymizers.methods import release_of

        history = None if self.after is None else read_history(self.after / "history.json")
        return release_of(
            *(self.graph, self.levels, self.settings, history, self.rng, self.progress),
            k=self.asked,
            seeded=self.run.seed is not None,
        )

    def held(self, made: PeopleRelease) -> Published:
        """The release in memory, with its original."""
        return Published(made.graph, Source(self.graph, made.mapping))

    def write(self, made: PeopleRelease, public: Path, private: Path) -> None:
        """Write the graph, the mapping and the history of a series."""
        write_people(public, made.graph, self.format)
        write_mapping(private / "mapping.csv", self.graph.labels, made.graph.labels, made.mapping)
        if made.history is not None:
            write_history(private / "history.json", made.history)

    def read(self, made: PeopleRelease, public: Path, private: Path) -> Published:  # noqa: ARG002
        """Read both folders back."""
        return replace(read_published(public, self.graph, private / "mapping.csv"), name="this release")

    def judge(self, made: PeopleRelease, read: Published) -> PeopleAnonymization:
        """Verify the release, written ones of a series with the earlier releases, and measure the utility."""
        assert read.source is not None
        written = read.files is not None
        earlier = (
            list(earlier_folders(self.after, self.settings.window - 1))
            if written and self.settings.method == "ctkga"
            else []
        )
        marks = () if made.history is None else made.history.fingerprints
        verdict = self._verdict(read, earlier, marks)
        self.progress.step("Measuring what is lost")
        utility = self._measured(read.graph, read.source.mapping)
        self.clock.lap("verify")
        return PeopleAnonymization(
            *(verdict, self.graph, made, self.settings, utility), seconds=self.clock.laps, run=self.run
        )

    def report(self, found: PeopleAnonymization) -> Report:
        """The owner's report (private)."""
        return private_report(found, found.run, self.progress)

    def contents(self, found: PeopleAnonymization, read: Published) -> Contents:
        """Contents of the public folder."""
        return contents_of(read.graph, Claim.of(found), self.format)

    def noted(self, folders: Folders) -> dict[str, Any]:
        """Paths of the folders of a series, relative to the private folder."""
        if self.settings.method != "ctkga":
            return {}
        return noted(folders, self.after)

    def _measured(self, released: PeopleGraph, mapping: Vertices) -> Utility | None:
        """Utility; `None`, with a note, if it cannot be measured, which does not invalidate the release."""
        try:
            return measure(self.graph, released, mapping, rng=self.run.generator)
        except (ArithmeticError, KgreasonError, MemoryError, ValueError) as error:
            self.progress.note(f"what is lost could not be measured: {str(error) or type(error).__name__}")
            return None

    def _verdict(
        self, one: Published, earlier: list[tuple[Path, Path]], marks: tuple[str, ...]
    ) -> PeopleVerdict:
        model = self.settings.model
        if model != "kw-tad":
            demands = Demands(self.levels) if self.k is None else None
            whole = self.settings.method == "k-degree" and self.settings.construction == "supergraph"
            return verify_people([one], model, self.k, demands, all_edges=whole)
        single = verify_people([one], "kw-tad", self.k)
        gone = [folder for folder, _ in earlier if not folder.is_dir()]
        if gone:
            absent = tuple(f"{folder} is not there" for folder in gone)
            detail = (
                f"the window was not examined: {', '.join(absent)}; bring it back and run "
                "`kgreason people verify RELEASE... --model kw-tad`"
            )
            missing = Item("earlier releases", False, detail, absent, undecided=True)
            return replace(single, items=(*single.items, missing))
        if not earlier:
            return single
        before = [replace(read_named(*folders), files=None) for folders in reversed(earlier)]
        others = [
            f"{one.name} is not the release that was made then"
            for one, mark in zip(reversed(before), reversed(marks[:-1]), strict=False)
            if fingerprint(one.graph) != mark
        ]
        series = verify_people([*before, one], "kw-tad", self.k)
        names = conditions.names([*before, one])
        known = {"names", *(item.name for item in series.items)}
        rest = [item for item in single.items if item.name not in known]
        found = [Item("earlier releases", False, "; ".join(others), tuple(others))] if others else []
        return replace(series, items=(*series.items, *rest, names, *found), needs_original=())
