"""Reports on releases of graphs of people: private for the owner, and public (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.people.attacks import STANDS, candidates_of_users
from kgreason.people.model import EMPTY, Attribute, PeopleGraph, links_of
from kgreason.people.result import OF_DEGREES, UNPROTECTED, Claim
from kgreason.people.utility import Changes
from kgreason.people.verification.verdict import PeopleVerdict
from kgreason.release.report.candidate_tables import risk_items
from kgreason.release.report.charts import Series, distribution, series_charts
from kgreason.release.report.report_data import FILES, TEXTS, Chart, Figure, Item, Report, Section, Table
from kgreason.release.report.sections import (
    Run,
    drawn,
    files_section,
    findings,
    limits_section,
    plain,
    published,
    run_section,
    safe_for_everybody,
    safe_for_owner,
    sentence,
    state_words,
)

if TYPE_CHECKING:
    from kgreason.people.result import PeopleAnonymization
    from kgreason.people.utility import Utility


METHODS = {
    "cdga": "CDGA",
    "ckga": "CKGA",
    "pckga": "PCKGA",
    "ctkga": "CTKGA",
    "k-degree": "k-degree anonymization",
}
SHARED = TEXTS["shared"]
NAMED = 20  # removed users
MOST = 12  # values of an attribute with a bar of their own
MANY = 20  # attributes, and relations, with a chart


def _meaning(claim: Claim) -> str:
    return plain(claim.promise).split(". ")[0].removesuffix(".")


def private_report(result: PeopleAnonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Build the owner's report (private)."""
    original, release, verdict = result.original, result.release, result.verdict
    released, claim, seeded = release.graph, Claim.of(result), run.seed is not None
    progress.step("Writing the report")
    candidates = list(candidates_of_users(original, released, release.mapping))
    stands = [one for one in candidates if one.knowledge.endswith(STANDS)]
    others = [one for one in candidates if one not in stands]
    graphs = as_graph(original), as_graph(released, original)
    guarantee: tuple[Item, ...] = (
        Figure("Guarantee", verdict.asked, "", verdict.model),
        Figure("Verdict", state_words(verdict), "better is holds", verdict.model),
        *verdict_figures(verdict),
        *findings(verdict),
        *notes(verdict),
    )
    sections = (
        Section("Guarantee", f"{plain(claim.promise)} {SHARED['guarantee']}", guarantee),
        Section(
            "Risk before and after",
            TEXTS["people"]["risk"],
            tuple(risk_items(stands, others, verdict.k or 2, ("users", "users"))),
        ),
        Section(
            "Utility",
            SHARED["utility"],
            (*utility_items(result.utility, result.release.figures), *_removed(result)),
        ),
        Section(
            "Distributions",
            "Numbers of links and values, in the original and in the release.",
            (*_link_charts(released, original), *value_charts(released.attributes, original.attributes)),
        ),
        *(drawn(*graphs, release.mapping, run.generator) if original.relations else ()),
        run_section(result.seconds, release.figures),
    )
    return Report(
        f"Release of a graph of people by {METHODS[result.settings.method]}",
        True,
        verdict.state,
        f"{claim.asked} {state_words(verdict)}",
        _done(result),
        safe_for_owner(
            verdict,
            f"{_meaning(claim)}; an independent check of what was written confirmed it for every user.",
            "could not decide whether all users are protected",
            seeded=seeded,
        ),
        sections,
        {"guarantee": claim.asked, **run.whole()},
        (SHARED["seeded"],) if seeded else (),
    )


def _done(result: PeopleAnonymization) -> str:
    original, name = result.original, METHODS[result.settings.method]
    values, links = (sum(map(len, kind.values())) for kind in (original.attributes, original.relations))
    counts = {"values": values, "links": links, "removed": len(result.removed)}
    return sentence("done_people", name=name, original=original, released=result.release.graph, **counts)


def verdict_figures(verdict: PeopleVerdict) -> Iterator[Figure]:
    """Figures on the equivalence classes of users."""
    found, enough = verdict.figures, "better is k or more"
    shown = f"{found.smallest:,} users"
    yield Figure("Smallest class", shown, enough, "classes", number=found.smallest)
    shown = f"{found.classes:,} of {found.users:,} users"
    yield Figure("Classes", shown, "", "classes", number=found.classes)
    if (ratio := found.ratio) is not None:
        shown = f"{ratio:,.2f}".removesuffix(".00")
        yield Figure("Least class over k", shown, "better is 1 or more", "classes", number=ratio)


def notes(verdict: PeopleVerdict) -> Iterator[Table]:
    """Limits of the model: what it does not protect in a release."""
    if verdict.notes:
        yield Table("Not protected in this release", ("what",), tuple((note,) for note in verdict.notes))


def utility_items(
    found: Utility | None, figures: Mapping[str, object] = MappingProxyType({})
) -> Iterator[Item]:
    """Items on utility; `figures` are those of the method, if known."""
    if found is None:
        note = "it could not be decided; the guarantee does not depend on it"
        yield Figure("What is lost", "not measured", note=note)
        return
    parts = {
        "values": found.ail_attributes,
        "degrees": found.ail_degrees,
        "removed users": found.ail_removed,
    }
    by_part = ", ".join(f"{loss:.4f} by {what}" for what, loss in parts.items() if loss)
    shown = f"{found.ail:.4f}" + f" ({by_part})" * bool(by_part)
    yield Figure("AIL", shown, "better is 0", "AIL", number=found.ail, key=True)
    shown = f"{found.rru:.4f} ({found.removed:,} of {found.users:,} users)"
    yield Figure("RRU", shown, "better is 0", "RRU", number=found.rru, key=True)
    yield Figure("Synthetic users", f"{found.fake:,}", "better is 0", "fakes", number=found.fake)
    if found.values:
        share, added = found.true_share, found.values_added
        shown = f"{share:.1%} of {found.values_released:,} released values"
        yield Figure("True values", shown, "better is 100 %", "true values", number=share, key=True)
        shown = f"{added:,} ({added / found.values:+.1%} of {found.values:,}; {found.added_per_user:.1f} per user)"
        yield Figure("Values added", shown, "better is 0", "added values", number=added, key=True)
        wrong = found.untruthful
        yield Figure("Untruthful associations", f"{wrong:,}", "better is 0", number=wrong)
    changes = found.changes
    if (edges := found.structure) is not None:  # undirected: each link counts once
        changes = dict.fromkeys(changes, Changes(edges.edges, edges.added, edges.removed))
    rows = tuple(
        (name, *(f"{n:,}" for n in (of.original, of.added, of.removed)), f"{of.true_share:.1%}")
        for name, of in changes.items()
    )
    if rows:
        columns = ("relation", "original", "added", "left out", "true")
        yield Table("Links", columns, rows, "fewer changes are better", "changed links")
    same, after = "better is as before", found.clustering_released
    before = f"{found.clustering:.3f}"
    yield Figure("Clustering coefficient", f"{after:.3f}", same, "clustering", before, after)
    if edges is not None:
        tries, cheapest = figures.get("tries", 1), figures.get("cheapest")
        probed = isinstance(tries, int) and isinstance(cheapest, int) and tries > 1
        shown = f"{edges.l1:,}" + (f" ({cheapest:,} before {tries:,} tries)" if probed else "")
        yield Figure("L1", shown, "better is 0", "L1", number=edges.l1, key=True)
        if (number := edges.path_length_released) is not None and edges.path_length is not None:
            some = "" if edges.sources is None else f" (from {edges.sources:,} sources)"
            shown, before = f"{number:.3f}{some}", f"{edges.path_length:.3f}"
            yield Figure("Path length", shown, same, "path length", before, number)


def _removed(result: PeopleAnonymization) -> Iterator[Table]:
    if removed := result.removed:
        some = tuple((name,) for name in removed[:NAMED])
        more = f"and {len(removed) - NAMED:,} more, whom report.json names" if len(removed) > NAMED else ""
        yield Table("Users who are not released", ("user",), some, "fewer is better", "RRU", more)


def public_report(
    released: PeopleGraph, claim: Claim, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Build the public report, from published data alone: the graph, and the claim of ``README.txt``.

    The other parameters are those of `kgreason.isomorphism.report.public_report`.
    """
    held, model = "holds" if confirmed else "was not confirmed", claim.model
    unprotected = plain(OF_DEGREES if model == "k-degree" else UNPROTECTED)
    limits = {"Not protected": unprotected[0].upper() + unprotected[1:]}
    if released.attributes:
        limits["Values"] = "Users of one class have the values of all of them, so some are not their own."
    if released.relations:
        limits["Links"] = "Some are not real and some real ones are left out: do not rely on a single one."
    guarantee = (
        Figure("Guarantee", claim.asked, "", model),
        Figure("Verdict", held, "better is holds", model),
    )
    return published(
        "Anonymized graph of people",
        f"{claim.asked} {held}",
        "Users have random names, and the users of each class were made equal.",
        safe_for_everybody(
            f"{_meaning(claim)}; an exact check confirmed it.", confirmed=confirmed, seeded=seeded
        ),
        (
            Section("Guarantee", plain(claim.promise), guarantee),
            limits_section(limits.items()),
            Section(
                "Distributions",
                "How many links the users of the release have, and their values.",
                (*_link_charts(released), *value_charts(released.attributes)),
            ),
            files_section(files, FILES["people"]),
        ),
        state="holds" if confirmed else "fails",
        seeded=seeded,
    )


def _link_charts(released: PeopleGraph, original: PeopleGraph | None = None) -> Iterator[Chart]:
    """Charts of the degrees of each relation: in total for mutual ones, otherwise out and in."""
    return series_charts(partial(_series, like=original or released), released, original)


def _series(graph: PeopleGraph, like: PeopleGraph) -> dict[str, Series]:
    """Degrees of the relations of `like`."""
    found = {}
    for name in sorted(like.relations)[:MANY]:
        links = links_of(graph, name)
        sides = [("links", "degree", links.source)]
        if not like.relations[name].mutual:
            sides = [("links out", "out-degree", links.source), ("links in", "in-degree", links.target)]
        for what, term, ends in sides:
            counts = np.bincount(ends, minlength=graph.n)
            found[f"{name}: {what}"] = Series(what, counts, "users", term)
    return found


def value_charts(
    released: Mapping[str, Attribute], original: Mapping[str, Attribute] | None = None
) -> Iterator[Chart]:
    """Charts of the share of entries of each value, or range of numbers, of each attribute."""
    for name in sorted(released if original is None else original)[:MANY]:
        new, old = released.get(name), None if original is None else original[name]
        if not (new or old):  # an attribute without values
            continue
        kind = (new or old or EMPTY).kind
        if kind == "numeric":
            numbers = [None if a is None else a.numbers[a.value] for a in (new, old)]
            after = np.empty(0) if numbers[0] is None else numbers[0]
            yield distribution(f"Values of {name}", Series(name, after, "entries", ""), numbers[1])
        else:
            yield _categories(name, new or EMPTY, old)


def _categories(name: str, new: Attribute, old: Attribute | None) -> Chart:
    after = _shares(new)
    before = None if old is None else _shares(old)
    order = sorted(after | (before or {}), key=lambda text: (-(before or after).get(text, 0.0), text))
    shown, rest = order[:MOST], order[MOST:]
    labels = (*shown, *([f"{len(rest):,} others"] if rest else []))

    def bars(shares: Mapping[str, float]) -> tuple[float, ...]:
        more = [sum(shares.get(text, 0.0) for text in rest)] if rest else []
        return tuple(round(share, 4) for share in (*(shares.get(text, 0.0) for text in shown), *more))

    first = () if before is None else bars(before)
    return Chart(f"Values of {name}", name, labels, first, bars(after), "share of entries")


def _shares(attribute: Attribute) -> dict[str, float]:
    counts = np.bincount(attribute.value, minlength=len(attribute.domain)) / max(len(attribute), 1)
    return {
        str(text): share
        for text, share in zip(attribute.domain.tolist(), counts.tolist(), strict=True)
        if share
    }


def as_graph(graph: PeopleGraph, like: PeopleGraph | None = None) -> KnowledgeGraph:
    """Links as a knowledge graph, for pictures, mutual ones once; with the relations of `like`."""
    relations = {}
    for name in (like or graph).relations:
        links = links_of(graph, name)
        once = links.source < links.target if links.mutual else np.ones(len(links), dtype=np.bool_)
        relations[name] = Relation(links.source[once], links.target[once], None, ("source", "target"))
    return KnowledgeGraph(graph.labels.copy(), relations)
