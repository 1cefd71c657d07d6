"""Reports about releases of graphs of people: one for the owner, one for everybody (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kgreason.assess.people.verdict import PeopleVerdict
from kgreason.graph.people.model import PeopleGraph
from kgreason.people.folder import OF_DEGREES, PROMISES, UNPROTECTED
from kgreason.progress import SILENT, Progress
from kgreason.records import dataclass
from kgreason.report.data import Figure, Item, Report, Section, State, Table
from kgreason.report.files import files_section
from kgreason.report.findings import findings
from kgreason.report.graphs import drawn
from kgreason.report.run import Run, release_version, run_section
from kgreason.report.seen import risk_items
from kgreason.report.users import STANDS, as_graph, link_charts, seen_of_users, value_charts
from kgreason.report.words import NOT_PUBLIC, SEEDED, SEEDED_PUBLIC, plain, safe_seeded

if TYPE_CHECKING:
    from kgreason.assess.people.utility import Utility
    from kgreason.choices import PeopleModel
    from kgreason.people.release import PeopleAnonymization

TERMS: dict[PeopleModel, str] = {
    "paired-k-degree": "paired k-degree",
    "k-ad": "k-ad",
    "p-k-ad": "p-k-ad",
    "kw-tad": "kw-tad",
    "k-degree": "k-degree",
}
METHODS = {
    "cdga": "CDGA",
    "ckga": "CKGA",
    "pckga": "PCKGA",
    "ctkga": "CTKGA",
    "k-degree": "k-degree anonymization",
}
GUARANTEE = "Every condition was checked on what was written, by code that shares nothing with what made it."
RISK = (
    "Somebody knows values or numbers of links of a user and looks for him: before, in the original without its names; "
    "after, in the release. As they stand: he knows what the graph shows of his target, the worst case, which the "
    "guarantee speaks of. True: he knows what the original shows, looks for just that in the release, and is misled "
    "where it was changed, which is not promised. Where users have a k of their own, each has as many candidates as he "
    "asked for."
)
UTILITY = "What the release costs those who work with it."
NAMED = 20  # removed users
FILES = {
    "users": "the users, whose names are random",
    "attributes": "their values",
    "relations": "links between users",
    "people": "says what the tables hold; kgreason reads the release by it",
}


@dataclass(frozen=True)
class Promise:
    """What a release of people promises, as its README.txt says it.

    Attributes
    ----------
    text
        The guarantee.
    model
        What was promised.
    k
        How many users share; `None`: each has his own k.
    window
        Of a series, how many releases are put together.
    """

    text: str
    model: PeopleModel
    k: int | None
    window: int = 1

    @property
    def words(self) -> str:
        """What it means, in a few sentences."""
        kind: PeopleModel = "k-ad" if self.model == "p-k-ad" and self.k else self.model
        return plain(PROMISES[kind].format(k=self.k, w=self.window))

    @property
    def meaning(self) -> str:
        """The first of them, without a full stop."""
        return self.words.split(". ")[0].removesuffix(".")

    @property
    def unprotected(self) -> str:
        """What is not promised."""
        found = plain(OF_DEGREES if self.model == "k-degree" else UNPROTECTED)
        return found[0].upper() + found[1:]


def promise_of(result: PeopleAnonymization) -> Promise:
    """What a release promises."""
    verdict = result.verdict
    return Promise(verdict.asked, verdict.model, verdict.k, result.settings.window)


def private_report(result: PeopleAnonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Write the owner's report, which is secret."""
    original, release, verdict = result.original, result.release, result.verdict
    released, promise, seeded = release.graph, promise_of(result), run.seed is not None
    progress.step("Writing the report")
    seen = list(seen_of_users(original, released, release.mapping))
    stands = [one for one in seen if one.knowledge.endswith(STANDS)]
    others = [one for one in seen if one not in stands]
    picture = None
    if original.relations:
        graphs = as_graph(original), as_graph(released, original)
        picture = drawn(*graphs, release.mapping, run.generator)
    sections = (
        Section(
            "Guarantee",
            f"{promise.words} {GUARANTEE}",
            (*_guarantee(verdict), *findings(verdict), *_notes(verdict)),
        ),
        Section(
            "Risk before and after",
            RISK,
            tuple(risk_items(stands, others, verdict.k or 2, ("users", "users"))),
        ),
        Section("Utility", UTILITY, tuple(_utility(result))),
        Section(
            "Distributions",
            "Numbers of links and values, in the original and in the release.",
            (*link_charts(released, original), *value_charts(released.attributes, original.attributes)),
        ),
        *([picture] if picture else []),
        run_section(result.seconds, release.figures),
    )
    return Report(
        f"Release of a graph of people by {METHODS[result.settings.method]}",
        True,
        verdict.state,
        f"{promise.text} {_held(verdict)}",
        _done(result),
        _safe(promise, verdict, seeded=seeded),
        sections,
        {"guarantee": promise.text, **run.whole()},
        (SEEDED,) if seeded else (),
    )


def _held(verdict: PeopleVerdict) -> str:
    return {"holds": "holds", "undecided": "was not decided"}.get(verdict.state, "does not hold")


def _done(result: PeopleAnonymization) -> str:
    original, released = result.original, result.release.graph
    values, links = (sum(map(len, kind.values())) for kind in (original.attributes, original.relations))
    removed = len(result.removed)
    gone = f", left {removed:,} of them out" if removed else ""
    return (
        f"{METHODS[result.settings.method]} took {original.n:,} users with {values:,} values and {links:,} links"
        f"{gone}, made those alike who are to look alike, and gave {released.n:,} users random names."
    )


def _safe(promise: Promise, verdict: PeopleVerdict, *, seeded: bool) -> str:
    if seeded:
        return safe_seeded(confirmed=verdict.holds)
    if verdict.holds:
        return f"{promise.meaning}; an independent check of what was written confirmed it for every user."
    if verdict.state == "undecided":
        return "The check could not decide whether all users are protected: do not publish the release."
    failing = ", ".join(item.name for item in verdict.items if item.state == "fails")
    return f"It is not safe: the check found that this does not hold: {failing}; do not publish the release."


def _guarantee(verdict: PeopleVerdict) -> Iterator[Figure]:
    term, found = TERMS[verdict.model], verdict.figures
    yield Figure("Guarantee", verdict.asked, "", term)
    yield Figure("Verdict", _held(verdict), "better is holds", term)
    yield Figure(
        "Smallest class", f"{found.smallest:,} users", "better is k or more", "classes", None, found.smallest
    )
    yield Figure("Classes", f"{found.classes:,} of {found.users:,} users", "", "classes", None, found.classes)
    if found.ratio is not None:
        yield Figure(
            "Least class over k", f"{found.ratio:.2f}", "better is 1 or more", "classes", None, found.ratio
        )


def _notes(verdict: PeopleVerdict) -> Iterator[Table]:
    if verdict.notes:
        yield Table("Not protected in this release", ("what",), tuple((note,) for note in verdict.notes))


def _utility(result: PeopleAnonymization) -> Iterator[Item]:
    found = result.utility
    if found is None:
        yield Figure(
            "What is lost", "not measured", note="it could not be told; the guarantee does not depend on it"
        )
    else:
        yield from _losses(found)
    if removed := result.removed:
        some = tuple((name,) for name in removed[:NAMED])
        more = f"and {len(removed) - NAMED:,} more, whom report.json names" if len(removed) > NAMED else ""
        yield Table("Users who are not released", ("user",), some, "fewer is better", "RRU", more)


def _losses(found: Utility) -> Iterator[Item]:
    yield Figure("AIL", f"{found.ail:.4f}", "better is 0", "AIL", None, found.ail, key=True)
    yield Figure(
        "RRU", f"{found.rru:.4f} ({found.removed:,} users)", "better is 0", "RRU", None, found.rru, key=True
    )
    yield Figure("Users who stand for nobody", f"{found.fake:,}", "better is 0", "fakes", None, found.fake)
    if found.values:
        percent = f"{found.values_added / found.values:+.1%}"
        added = f"{found.values_added:,} ({percent})"
        yield Figure(
            "Values added",
            added,
            "better is 0",
            "added values",
            f"{found.values:,} values",
            found.values_added,
            key=True,
        )
    rows = tuple(
        (name, f"{c.original:,}", f"{c.added:,}", f"{c.removed:,}") for name, c in found.changes.items()
    )
    if rows:
        yield Table(
            "Links",
            ("relation", "original", "added", "left out"),
            rows,
            "fewer changes are better",
            "changed links",
        )
    yield Figure(
        "Clustering coefficient",
        f"{found.clustering_released:.3f}",
        "better is as before",
        "clustering",
        f"{found.clustering:.3f}",
        found.clustering_released,
    )
    if (edges := found.structure) is not None:
        yield Figure("L1", f"{edges.l1:,}", "better is 0", "L1", None, edges.l1, key=True)
        if edges.path_length_released is not None and edges.path_length is not None:
            note = "" if edges.sources is None else f"measured from {edges.sources:,} users drawn at random"
            yield Figure(
                "Path length",
                f"{edges.path_length_released:.3f}",
                "better is as before",
                "path length",
                f"{edges.path_length:.3f}",
                edges.path_length_released,
                note,
            )


def public_report(
    released: PeopleGraph, promise: Promise, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Write the report for everybody: it is made of what is published alone, and so tells nothing else.

    Parameters
    ----------
    released
        The graph as it was published.
    promise, confirmed, seeded, files
        As for `kgreason.report.rules_public.public_report`.

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(["x", "y"], [("x", "job", "cook"), ("y", "job", "cook")])
    >>> report = public_report(graph, Promise("k-ad with k = 2", "k-ad", 2), confirmed=True, seeded=False)
    >>> report.verdict, report.secret
    ('k-ad with k = 2 holds', False)
    """
    held, term = "holds" if confirmed else "was not confirmed", TERMS[promise.model]
    state: State = "holds" if confirmed else "fails"
    limits: list[tuple[str, str]] = [("Not protected", promise.unprotected)]
    if released.attributes:
        limits.append(
            ("Values", "Users who look alike have the values of all of them, so some are not their own.")
        )
    if released.relations:
        limits.append(
            ("Links", "Some are not real and some real ones are left out: do not rely on a single one.")
        )
    sections = (
        Section(
            "Guarantee",
            promise.words,
            (Figure("Guarantee", promise.text, "", term), Figure("Verdict", held, "better is holds", term)),
        ),
        Section(
            "Limits",
            "What is not promised, or must be reckoned with.",
            (Table("Limits", ("what", "how far"), tuple(limits)),),
        ),
        Section(
            "Distributions",
            "How many links the users of the release have, and their values.",
            (*link_charts(released), *value_charts(released.attributes)),
        ),
        files_section(files, FILES),
    )
    if seeded:
        safe = NOT_PUBLIC
    elif confirmed:
        safe = f"{promise.meaning}; an exact check confirmed it."
    else:
        safe = (
            "What is promised here was checked and not confirmed: it is not safe, and must not be published."
        )
    return Report(
        "Anonymized graph of people",
        False,
        state,
        f"{promise.text} {held}",
        "Users have random names, and those who are to look alike were made alike.",
        safe,
        sections,
        release_version(),
        (SEEDED_PUBLIC,) if seeded else (),
    )
