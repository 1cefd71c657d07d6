"""From a release in memory to two folders, and to what the checker finds in them (docs/people.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgreason.anonymizers.people.history import fingerprint
from kgreason.anonymizers.people.history_file import write_history
from kgreason.assess.people import conditions
from kgreason.assess.people.published import Published, Source
from kgreason.assess.people.utility import Utility, measure
from kgreason.assess.people.verdict import PeopleVerdict
from kgreason.assess.people.verify import Demands, verify_people
from kgreason.assess.verdict import Item
from kgreason.data.delimited import write_csv
from kgreason.errors import DataError, KgreasonError
from kgreason.graph.people.write import write_people
from kgreason.people.pairs import read_named, read_published
from kgreason.people.readme import Claim, readme
from kgreason.progress import SILENT

if TYPE_CHECKING:
    from kgreason.anonymizers.people.publish import PeopleRelease
    from kgreason.anonymizers.people.settings import Settings
    from kgreason.graph.model import Vertices
    from kgreason.graph.people.model import Counts, PeopleGraph
    from kgreason.people.results import PeopleAnonymization
    from kgreason.progress import Progress
    from kgreason.publication import Folders

Judged = tuple[PeopleVerdict, Utility | None]


@dataclass(frozen=True, eq=False)
class Stage:
    """One run of `kgreason.anonymize_people`.

    Attributes
    ----------
    graph
        The original.
    settings
        How it is anonymized.
    levels
        The k of each user, int64, shape (n,).
    after
        Private folder of the release before, for ``"ctkga"``.
    seeded
        Whether the run can be repeated.
    asked
        The k where there is nobody to ask for one.
    sampling
        Draws the users whose distances are measured, as for `measure`.
    format
        Of the tables that are published.
    """

    graph: PeopleGraph
    settings: Settings
    levels: Counts
    after: Path | None
    seeded: bool
    asked: int = 3
    sampling: np.random.Generator | None = None
    format: str = "csv"

    @property
    def k(self) -> int | None:
        """The one k of all users; `None` where each has his own."""
        most = int(self.levels.max()) if len(self.levels) else self.asked
        return most if (self.levels == most).all() else None

    def judged(self, release: PeopleRelease, progress: Progress) -> Judged:
        """What the checker finds of a release in memory."""
        found = self._verdict(Published(release.graph), release.mapping, [], ())
        return found, self._measured(release.graph, release.mapping, progress)

    def judged_as_written(
        self, release: PeopleRelease, public: Path, private: Path, progress: Progress
    ) -> Judged:
        """What the checker finds in the folders; of a series, in those of the earlier releases, too."""
        progress.step("Verifying what was written")
        written = read_published(public, self.graph, private / "mapping.csv")
        assert written.source is not None
        earlier = [] if self.settings.method != "ctkga" else list(self._earlier())
        marks = () if release.history is None else release.history.fingerprints
        mapping = written.source.mapping
        found = self._verdict(replace(written, name="this release"), mapping, earlier, marks)
        progress.step("Measuring what is lost")
        return found, self._measured(written.graph, mapping, progress)

    def _measured(self, released: PeopleGraph, mapping: Vertices, progress: Progress) -> Utility | None:
        """What is lost; `None`, with a note, if that cannot be told: a release is no worse for it."""
        try:
            return measure(self.graph, released, mapping, rng=self.sampling)
        except (ArithmeticError, KgreasonError, MemoryError, ValueError) as error:
            progress.note(f"what is lost could not be measured: {str(error) or type(error).__name__}")
            return None

    def _verdict(
        self,
        written: Published,
        mapping: Vertices,
        earlier: list[tuple[Path, Path]],
        marks: tuple[str, ...],
    ) -> PeopleVerdict:
        """What the checker finds of a release, and of a series."""
        one = replace(written, source=Source(self.graph, mapping))
        model = self.settings.model
        if model != "kw-tad":
            demands = Demands(self.levels) if self.k is None else None
            whole = self.settings.method == "k-degree" and self.settings.construction == "supergraph"
            return verify_people([one], model, self.k, demands, all_edges=whole)
        single = verify_people([one], "kw-tad", self.k)
        gone = [folder for folder, _ in earlier if not folder.is_dir()]
        if gone:
            return replace(single, items=(*single.items, _not_there(gone)))
        if not earlier:
            return single
        before = [replace(read_named(*folders), files=None) for folders in reversed(earlier)]
        others = [
            f"{one.name} is not the release that was made then"
            for one, mark in zip(reversed(before), reversed(marks[:-1]), strict=False)
            if fingerprint(one.graph) != mark
        ]
        series = verify_people([*before, written], "kw-tad", self.k)
        names = conditions.names([*before, one])
        told = {"names", *(item.name for item in series.items)}
        rest = [item for item in single.items if item.name not in told]
        found = [_other(others)] if others else []
        return replace(series, items=(*series.items, *rest, names, *found), needs_original=())

    def _earlier(self) -> Iterator[tuple[Path, Path]]:
        """Release and private folders of the other releases of the window, the latest first."""
        private = self.after
        for _ in range(self.settings.window - 1):
            if private is None:
                return
            release, before = _series(private)
            yield _beside(private, release), private
            private = None if before is None else _beside(private, before)

    def write(self, release: PeopleRelease, public: Path, private: Path) -> None:
        """Write the graph, who is who, and the state of a series."""
        write_people(public, release.graph, self.format)
        order = np.argsort(self.graph.labels.astype(str), kind="stable")
        place = release.mapping[order]
        released = np.full(len(order), "", dtype=object)
        released[place >= 0] = release.graph.labels[place[place >= 0]]
        write_csv(private / "mapping.csv", ("original", "released"), (self.graph.labels[order], released))
        if release.history is not None:
            write_history(private / "history.json", release.history)

    def conclude(
        self,
        result: PeopleAnonymization,
        public: Path,
        private: Path,
        folders: Folders,
        progress: Progress = SILENT,
    ) -> None:
        """Write what was found: for everybody, and for the owner."""
        from kgreason.report.people import public_report
        from kgreason.report.write import FILES, write_report

        valued = bool(result.release.graph.attributes)
        marks = {"valued": valued, "holds": result.holds, "seeded": self.seeded}
        text = readme(Claim.of(result), **marks, format=self.format)
        (public / "README.txt").write_text(text, encoding="utf-8")
        if not result.holds:
            (public / "UNVERIFIED").touch()
        series = {}
        if self.settings.method == "ctkga":
            home = folders.private
            after = None if self.after is None else os.path.relpath(self.after, home)
            series = {"series": {"release": os.path.relpath(folders.release, home), "after": after}}
        told = public_report(
            result.release.graph,
            Claim.of(result),
            confirmed=result.holds,
            seeded=self.seeded,
            files={*FILES, *(path.name for path in public.iterdir())},
        )
        write_report(public, told)
        write_report(private, result.report(progress), result.as_dict() | series)


def _series(private: Path) -> tuple[str, str | None]:
    """Where an earlier release is, and the private folder of the one before it, seen from its private folder."""
    path = private / "report.json"
    hint = "the private folders of earlier releases must stay where they are, seen from one another: bring it back"
    try:
        series = json.loads(path.read_text(encoding="utf-8"))["series"]
        return str(series["release"]), series["after"]
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror or error}", hint=hint) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(str(path), "this is no report of a release of a series", hint=hint) from error


def _beside(folder: Path, place: str) -> Path:
    return Path(os.path.normpath(folder / place))


def _other(words: list[str]) -> Item:
    return Item("earlier releases", False, "; ".join(words), tuple(words))


def _not_there(folders: list[Path]) -> Item:
    names = tuple(f"{folder} is not there" for folder in folders)
    return Item(
        "earlier releases",
        False,
        f"the window was not looked at: {', '.join(names)}; bring it back and run "
        "`kgreason verify RELEASE... --model kw-tad`",
        names,
        undecided=True,
    )
