"""Reports about releases of links: one for the owner, one for everybody (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kgreason.assess.links.conditions import classes as classes_of_values
from kgreason.assess.links.verdict import LinksVerdict
from kgreason.assess.people.information import paired
from kgreason.choices import CLUSTERED
from kgreason.graph.links.model import LinkGraph, Observations, Released
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.links.folder import DONE
from kgreason.progress import SILENT, Progress
from kgreason.report.data import Chart, Figure, Item, Report, Section, State, Table
from kgreason.report.distributions import counts_chart, values_chart
from kgreason.report.files import files_section
from kgreason.report.findings import findings
from kgreason.report.graphs import drawn
from kgreason.report.run import Run, release_version, run_section
from kgreason.report.seen import Seen, as_shown, risk_items
from kgreason.report.users import MANY, STANDS, value_charts
from kgreason.report.words import NOT_PUBLIC, SEEDED, SEEDED_PUBLIC, plain, safe_seeded

if TYPE_CHECKING:
    from kgreason.links.release import LinksAnonymization

NO_PROMISE = (
    "It is confirmed that the release is what its strategy says and that it nowhere names the sensitive relation; how "
    "well that relation can be guessed from what is released depends on the data, so try `kgreason attack` before you "
    "publish"
)
NO_PROMISE_PUBLIC = (
    "Links that are not released can be guessed with some probability from what is; which relation was left out is not "
    "told"
)
GUARANTEE = (
    "The release was checked as it was written. There is no promise here such as other methods make: the check "
    "confirms what was released, not how much can be guessed from it."
)
RISK = (
    "Somebody knows values or numbers of links of an entity, as the graph shows them, and looks for it: before, in the "
    "original without its names; after, in the release. Entities of one node cannot be told apart. This is not the "
    "risk that sensitive links are guessed, which `kgreason attack --model noisy-or` measures."
)
FILES = {
    "nodes": "the nodes, and for how many entities each stands; labels are random",
    "attributes": "their values",
    "links": "links between nodes",
    "links.toml": "says what the tables hold; kgreason reads the release by it",
}


def private_report(result: LinksAnonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Write the owner's report, which is secret."""
    original, verdict = result.original.graph, result.verdict
    released, mapping = result.release.released.graph, result.release.mapping
    seeded, merged = run.seed is not None, result.asked.strategy in CLUSTERED
    progress.step("Writing the report")
    seen = list(_seen(original, released, mapping))
    picture = None if merged else drawn(_graph(original), _graph(released, original), mapping, run.generator)
    sections = (
        Section("Guarantee", GUARANTEE, (*_guarantee(verdict), *findings(verdict))),
        Section(
            "Risk before and after",
            RISK,
            tuple(risk_items([], seen, verdict.k or 2, ("entities", "entities"))),
        ),
        Section("Utility", "What the release costs those who work with it.", tuple(_utility(result))),
        Section(
            "Distributions",
            "Numbers of links of the nodes, and values, in the original and in the release."
            + " Nodes of the release are clusters of entities." * merged,
            (*_charts(released, original), *value_charts(released.attributes, original.attributes)),
        ),
        *([picture] if picture else []),
        run_section(result.seconds, {}),
    )
    return Report(
        f"Release of links without {result.original.sensitive.name}",
        True,
        verdict.state,
        f"strategy {verdict.asked}: {_held(verdict)}",
        _done(result),
        _safe(verdict, seeded=seeded),
        sections,
        {"strategy": verdict.asked, **run.whole()},
        (SEEDED,) if seeded else (),
    )


def _held(verdict: LinksVerdict) -> str:
    return {"holds": "holds", "undecided": "was not decided"}.get(verdict.state, "does not hold")


def _done(result: LinksAnonymization) -> str:
    original, sensitive = result.original.graph, result.original.sensitive
    before, after = (sum(numbers) for numbers in zip((0, 0), *result.links.values(), strict=True))
    return (
        f"All {len(sensitive) + sensitive.left_out:,} links of {sensitive.name} were left out, and of {before:,} other "
        f"links between {original.n:,} entities {after:,} are released, by the strategy {result.verdict.asked}."
    )


def _safe(verdict: LinksVerdict, *, seeded: bool) -> str:
    if seeded:
        return safe_seeded(confirmed=verdict.holds)
    if verdict.holds:
        return f"{NO_PROMISE}."
    if verdict.state == "undecided":
        return "The check could not decide whether the release is what it should be: do not publish it."
    failing = ", ".join(item.name for item in verdict.items if item.state == "fails")
    return f"It is not safe: the check found that this does not hold: {failing}; do not publish the release."


def _guarantee(verdict: LinksVerdict) -> Iterator[Figure]:
    nodes = verdict.nodes
    yield Figure("Strategy", verdict.asked, "", "strategy")
    yield Figure("Verdict", _held(verdict), "better is holds", "strategy")
    yield Figure(
        "Smallest cluster",
        f"{nodes.smallest:,} entities",
        "better is k or more",
        "clusters",
        None,
        nodes.smallest,
        key=True,
    )
    yield Figure(
        "Clusters", f"{nodes.groups:,} of {nodes.entities:,} entities", "", "clusters", None, nodes.groups
    )


def _seen(original: LinkGraph, released: LinkGraph, mapping: Vertices) -> Iterator[Seen]:
    size = released.size
    kinds = [("values", _values), ("numbers of links", _degrees), ("values and numbers of links", _both)]
    for name, classes in kinds if original.attributes else kinds[1:2]:
        yield as_shown(f"{name}{STANDS}", classes(original), classes(released), mapping, size)


def _values(graph: LinkGraph) -> Vertices:
    return classes_of_values(graph)


def _degrees(graph: LinkGraph) -> Vertices:
    columns = [
        counts for name in sorted(graph.observed) for _, counts in _counts(graph, graph.observed[name])
    ]
    return reduce(paired, columns, np.zeros(graph.n, dtype=np.int64))


def _both(graph: LinkGraph) -> Vertices:
    return paired(_values(graph), _degrees(graph))


def _counts(graph: LinkGraph, found: Observations) -> Iterator[tuple[str, Vertices]]:
    """Numbers of links of each node: of a mutual relation all, of others those that go out and those that come in."""
    out, in_ = (
        np.bincount(ends, found.count, graph.n).astype(np.int64) for ends in (found.source, found.target)
    )
    if found.mutual:
        inner = np.bincount(found.source, np.where(found.source == found.target, found.count, 0), graph.n)
        yield "links", out + in_ - inner.astype(np.int64)
    else:
        yield "links out", out
        yield "links in", in_


def _charts(released: LinkGraph, original: LinkGraph | None = None) -> Iterator[Chart]:
    for name in sorted(released.observed)[:MANY]:
        new = released.observed[name]
        old = None if original is None else original.observed.get(name)
        before = {} if old is None or original is None else dict(_counts(original, old))
        for what, counts in _counts(released, new):
            yield counts_chart(f"{name}: {what}", what, counts, before.get(what), "nodes", "degree")
        if new.weight is not None:
            yield values_chart(
                f"Weights of {name}",
                "weight",
                new.weight,
                None if old is None else old.weight,
                f"links of {name}",
            )


def _utility(result: LinksAnonymization) -> Iterator[Item]:
    yield Figure(
        "Links kept", f"{result.utility:.1%}", "better is 100 %", "links kept", None, result.utility, key=True
    )
    rows = tuple(
        (name, f"{had:,}", f"{kept:,}", f"{kept / had if had else 1:.1%}")
        for name, (had, kept) in result.links.items()
    )
    yield Table("Links", ("relation", "original", "released", "kept"), rows, "more is better", "links kept")


def _graph(graph: LinkGraph, like: LinkGraph | None = None) -> KnowledgeGraph:
    """Pairs that are linked, for pictures. Relations are those of `like`."""
    none = np.empty(0, dtype=np.int64)
    relations = {}
    for name in (like or graph).observed:
        found = graph.observed.get(name, Observations(none, none, none))
        relations[name] = Relation(found.source.copy(), found.target.copy(), None, ("source", "target"))
    return KnowledgeGraph(graph.labels.copy(), relations)


def public_report(
    released: Released, k: int | None, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Write the report for everybody: it is made of what is published alone, and so tells nothing else.

    Parameters
    ----------
    released
        What was published.
    k
        Least number of entities of a cluster, as README.txt says it; `None` where there are none.
    confirmed, seeded, files
        As for `kgreason.report.rules_public.public_report`.

    Examples
    --------
    >>> none = np.empty(0, dtype=np.int64)
    >>> graph = LinkGraph(np.array(["x"], dtype=object), {"knows": Observations(none, none, none)})
    >>> public_report(Released(graph, "removed"), None, confirmed=True, seeded=False).verdict
    'strategy removed, as it says'
    """
    graph, strategy = released.graph, released.strategy
    state: State = "holds" if confirmed else "fails"
    held = "as it says" if confirmed else "not confirmed"
    meaning = [Figure("Strategy", strategy, "", "strategy"), Figure("Checked", held, "", "strategy")]
    if k is not None:
        meaning.insert(1, Figure("k", f"{k:,}", "", "clusters", None, k))
    sections = (
        Section("What was done", plain(DONE[strategy]), tuple(meaning)),
        Section("Limits", f"{NO_PROMISE_PUBLIC}.", ()),
        Section(
            "Distributions",
            "How many links the nodes of the release have, and their values.",
            (*_charts(graph), *value_charts(graph.attributes)),
        ),
        files_section(files, FILES),
    )
    if seeded:
        safe = NOT_PUBLIC
    elif confirmed:
        safe = f"{NO_PROMISE_PUBLIC}; that the release is what is said here was confirmed by an exact check."
    else:
        safe = "What is said here was checked and not confirmed: it is not safe, and must not be published."
    return Report(
        "Anonymized graph of links",
        False,
        state,
        f"strategy {strategy}, {held}",
        "Nodes have random names, and links were released as the strategy says.",
        safe,
        sections,
        release_version(),
        (SEEDED_PUBLIC,) if seeded else (),
    )
