"""HTML views of results in notebooks: figures, tables and conditions, as in reports.

All text from data is escaped. Styles are inline, so the surrounding page is not affected. Only badges set colours;
other text follows the light or dark theme of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.base.records import record
from kgreason.language.values import source
from kgreason.release.report.html_page import blocks, page, templates
from kgreason.release.report.report_data import Figure, Finding, Item, Report, Table
from kgreason.release.verdicts import State

if TYPE_CHECKING:
    from kgreason.engine.relations.fact_tables import Facts
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.attacks.attack_results import Attacks
    from kgreason.isomorphism.result import Anonymization
    from kgreason.isomorphism.risk.advice import Risk
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.links.attacks.disclosure import Disclosure
    from kgreason.links.model import LinkGraph, Original, Released
    from kgreason.links.result import LinksAnonymization
    from kgreason.links.verification import LinksVerdict
    from kgreason.people.attacks import UserAttacks
    from kgreason.people.model import Attribute, PeopleGraph
    from kgreason.people.result import PeopleAnonymization
    from kgreason.people.user_risks import PeopleRisk
    from kgreason.people.verification.verdict import PeopleVerdict
    from kgreason.provenance.explanation import Explanation
    from kgreason.reasoning.results import Reasoned
    from kgreason.release.verdicts import Examined


# most that a view shows: rows of a table, predicates with facts, relations with edges, lines of an explanation
ROWS, PREDICATES, RELATIONS, LINES = 8, 6, 3, 40
# of badges, whose text is white: the contrast is above 4.5 in light and dark pages alike
COLOURS = {"holds": "#1a7f37", "fails": "#b42318", "undecided": "#8a5a00", "given up": "#57606a"}
MORE = ".verdict, .release (to publish), .mapping (secret) and kgreason.report(...) have more"


@record
class Lines:
    """Preformatted lines of text."""

    text: str


@record
class View:
    """View of a result in a notebook: a title, a badge unless `state` is `None`, and items below."""

    title: str
    items: Sequence[Item | Lines | str]
    state: State | None = None
    words: str = ""


KINDS: Mapping[type, str] = {
    Figure: "figures",
    Table: "tables",
    Finding: "findings",
    Lines: "lines",
    str: "notes",
}
VIEWS: dict[str, Callable[[Any], View]] = {}  # by the full names of the classes that they show


def html(result: object) -> str:
    """Render a result as one ``<div>``; a report as its page in an iframe."""
    if isinstance(result, Report):
        return f'<iframe srcdoc="{escape(page(result))}" style="width:100%;height:40em;border:0"></iframe>'
    return rendered(view(result))


def rendered(found: View) -> str:
    """Render a view as HTML."""
    groups = blocks(filter(None, found.items), KINDS)
    return templates().get_template("notebook.html").render(view=found, blocks=groups, colours=COLOURS)


def view(result: object) -> View:
    """Find the view of a result by its class or one of its base classes."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(result).__mro__)
    return next(VIEWS[name] for name in names if name in VIEWS)(result)


def shows(name: str) -> Callable[[Callable[[Any], View]], Callable[[Any], View]]:
    """Register the view of a class by its full name, which avoids importing the modules of all results."""

    def register(make: Callable[[Any], View]) -> Callable[[Any], View]:
        VIEWS[name] = make
        return make

    return register


def _judged(title: str, found: Examined, *items: Iterable[Item | str]) -> View:
    from kgreason.release.report.sections import state_words

    unsafe = "" if found.as_promised else ": do not publish"
    return View(title, [*chain(*items)], found.state, f"{state_words(found)}{unsafe}")


@shows("kgreason.isomorphism.verification.verdict.Verdict")
def _(found: Verdict) -> View:
    from kgreason.isomorphism import report

    model = "k-isomorphism" if found.model == "k-iso" else "(k,x)-isomorphism"
    return _verdict(f"{model}, k = {found.k}, {found.sizes}", found, report.verdict_figures(found))


@shows("kgreason.people.verification.verdict.PeopleVerdict")
def _(found: PeopleVerdict) -> View:
    from kgreason.people import report

    return _verdict(found.asked, found, report.verdict_figures(found), report.notes(found))


@shows("kgreason.links.verification.LinksVerdict")
def _(found: LinksVerdict) -> View:
    from kgreason.links import report

    return _verdict(found.asked, found, report.verdict_figures(found))


def _verdict(asked: str, found: Examined, figures: Iterable[Item], notes: Iterable[Item] = ()) -> View:
    from kgreason.release.report.sections import findings

    return _judged(f"Verdict: {asked}", found, figures, findings(found), notes)


@shows("kgreason.isomorphism.result.Anonymization")
def _(found: Anonymization) -> View:
    from kgreason.isomorphism import report

    return _judged(
        f"Anonymization: {found.release.guarantee}",
        found.verdict,
        report.verdict_figures(found.verdict),
        (item for item in report.utility_items(found.score.utility) if isinstance(item, Figure)),
        report.fidelity_figures(found.score.fidelity, (found.original, found.release.graph)),
        report.detection_figures(found.score),
        _rest(found),
    )


@shows("kgreason.people.result.PeopleAnonymization")
def _(found: PeopleAnonymization) -> View:
    from kgreason.people import report

    before, after = found.original, found.release.graph
    values, links = (
        [sum(map(len, kind.values())) for kind in kinds]
        for kinds in ((before.attributes, after.attributes), (before.relations, after.relations))
    )
    sizes = {"Users": (before.n, after.n), "Values": values, "Links": links}
    return _judged(
        f"Anonymization by {found.settings.method}: {found.verdict.asked}",
        found.verdict,
        (Figure(what, f"{new:,}", before=f"{old:,}") for what, (old, new) in sizes.items()),
        report.verdict_figures(found.verdict),
        report.utility_items(found.utility, found.release.figures),
        _rest(found),
    )


@shows("kgreason.links.result.LinksAnonymization")
def _(found: LinksAnonymization) -> View:
    from kgreason.links import report

    return _judged(
        f"Anonymization of links: {found.verdict.asked}",
        found.verdict,
        report.verdict_figures(found.verdict),
        report.utility_items(found),
        [f"sensitive, and left out: {found.original.sensitive.name}"],
        _rest(found),
    )


def _rest(found: Anonymization | PeopleAnonymization | LinksAnonymization) -> Iterator[Item | str]:
    """Conditions that do not hold (the verdict lists all), run times, and where to find more."""
    from kgreason.release.report.sections import findings

    if found.verdict.holds:
        yield f"{len(found.verdict.items)} conditions were checked, and hold"
    yield from (finding for finding in findings(found.verdict) if finding.state != "holds")
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in found.seconds.items())
    yield f"{sum(found.seconds.values()):.1f} s: {stages}"
    yield MORE


for family, name, title, items in (
    ("isomorphism", "result.Score", "Score of a release", "score_items"),
    ("isomorphism", "utility.query_utility.Utility", "Utility of a release", "utility_items"),
    ("isomorphism", "utility.query_utility.Fidelity", "Fidelity of a release", "fidelity_figures"),
    ("people", "utility.Utility", "What a release of people keeps", "utility_items"),
):

    @shows(f"kgreason.{family}.{name}")
    def _(found: object, title: str = title, family: str = family, items: str = items) -> View:
        return View(title, list(getattr(import_module(f"kgreason.{family}.report"), items)(found)))


@shows("kgreason.isomorphism.risk.advice.Risk")
def _(found: Risk) -> View:
    from kgreason.isomorphism.report import risk_table

    return View(
        f"Risk of {found.graph.n:,} vertices before anonymization, k = {found.k}",
        [
            risk_table(found),
            *(f"not examined: {name}, for {why}" for name, why in found.left_out.items()),
            f"advice: kgreason anonymize {found.advice.options}",
            found.advice.reason,
        ],
    )


@shows("kgreason.isomorphism.attacks.attack_results.Attacks")
def _(found: Attacks) -> View:
    from kgreason.isomorphism.report import attacks_table

    state: State = "fails" if found.broken else "undecided" if found.undecided else "holds"
    words = {
        "fails": f"{len(found.broken):,} attacks succeed against the guarantee",
        "undecided": f"{len(found.undecided):,} attacks are not decided",
        "holds": "resists all attacks that it is promised to resist",
    }
    title = f"Attacks on a release, k = {found.k}, x = {', '.join(map(str, found.x))}"
    items: list[Item | str] = [attacks_table(found), "print(...) explains the columns", *found.notes]
    return View(title, items, state, words[state])


@shows("kgreason.people.user_risks.PeopleRisk")
def _(found: PeopleRisk) -> View:
    from kgreason.people.user_risks import HEAD

    table = Table("", HEAD, tuple(found.rows()), "more candidates are better, and fewer unique users")
    return View("Risks of people before anonymization", [table, *found.remarks()])


@shows("kgreason.people.attacks.UserAttacks")
def _(found: UserAttacks) -> View:
    from kgreason.people.attacks import HEAD

    state: State = "holds" if found.holds else "fails"
    table = Table(
        "", HEAD, tuple(map(found.row, found.seen)), "more candidates are better, and fewer unique users"
    )
    items: list[Item | str] = [table, "print(...) explains the columns"]
    return View("Attacks on a release of people", items, state, found.state)


@shows("kgreason.links.attacks.disclosure.Disclosure")
def _(found: Disclosure) -> View:
    from kgreason.links.report import disclosure_table

    title = f"Sensitive links guessed: {found.sensitive:,} among {found.pairs:,} pairs"
    guess = f"a guess without the release is right with probability {found.base_rate:.3g}"
    return View(title, [disclosure_table(found), guess])


@shows("kgreason.reasoning.results.Reasoned")
def _(found: Reasoned) -> View:
    warnings = (f"warning: {warning.message}" for warning in found.warnings)
    return View("Derived facts", [*_facts(found.facts, found), *warnings])


@shows("kgreason.engine.relations.fact_tables.Facts")
def _(found: Facts) -> View:
    return View("Facts", list(_facts(found)))


def _facts(found: Facts, reasoned: Reasoned | None = None) -> Iterator[Table | str]:
    from kgreason.data.targets import column_names

    for predicate, data in islice(found.tables.items(), PREDICATES):
        if not data.arity:
            yield f"{predicate}: {'holds' if data.length else 'does not hold'}"
            continue
        names: Sequence[str] = [f"c{i + 1}" for i in range(data.arity)]
        if reasoned is not None:
            names = column_names(reasoned.program, predicate, data.arity)
        title = f"{predicate}: {data.length:,} fact{'s' * (data.length != 1)}"
        yield _first(title, names, found.rows(predicate), data.length)
    left = [f"{predicate} {found.count(predicate):,}" for predicate in islice(found.tables, PREDICATES, None)]
    if left:
        yield f"not shown: {', '.join(left)}"


def _first(title: str, names: Sequence[str], rows: Iterable[Sequence[Any]], count: int) -> Table:
    shown = tuple(tuple(map(_text, row)) for row in islice(rows, ROWS))
    return Table(title, tuple(names), shown, note=f"… {count - ROWS:,} more" if count > ROWS else "")


def _text(value: Any) -> str:
    """Strings without quotes, short numbers, other values in the syntax of the language."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
    return source(value)


@shows("kgreason.provenance.explanation.Explanation")
def _(found: Explanation) -> View:
    lines = found.as_text().splitlines()
    text = "\n".join(
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in lines[:LINES]
    )
    more = len(lines) - LINES
    rest = f"… {more:,} more lines; print(explanation.as_text()) shows all" if more > 0 else ""
    state: State = "holds" if found.holds else "given up"
    words = "holds" if found.holds else "does not hold"
    return View(f"Explanation of {found.goal}", [Lines(text), rest], state, words)


@shows("kgreason.graph.knowledge_graph.KnowledgeGraph")
def _(graph: KnowledgeGraph) -> View:
    relations = [(name, len(r), "no" if r.weight is None else "yes") for name, r in graph.relations.items()]
    tables = [_counts("", ("relation", "edges", "weights"), relations)]
    for name, relation in islice(graph.relations.items(), RELATIONS):
        ends = (graph.labels[end[:ROWS]] for end in (relation.source, relation.target))
        weights = [] if relation.weight is None else [relation.weight[:ROWS].tolist()]
        tables.append(_first(name, relation.columns, zip(*ends, *weights, strict=True), len(relation)))
    degrees = {"in": graph.in_degree(), "out": graph.out_degree()}
    title = f"Knowledge graph: {graph.n:,} vertices, {graph.m:,} edges"
    return View(title, [*tables, _degrees("degrees over all relations", degrees)])


@shows("kgreason.people.model.PeopleGraph")
def _(graph: PeopleGraph) -> View:
    items: list[Table | str] = [_attributes(graph.attributes)]
    if names := list(graph.attributes)[:6]:
        users = range(min(graph.n, ROWS))
        rows = ((graph.labels[u], *(_values(graph.attributes[name], u) for name in names)) for u in users)
        items.append(_first("users", ("user", *names), rows, graph.n))
    if graph.relations:
        links = [(n, len(r), "mutual" if r.mutual else "directed") for n, r in graph.relations.items()]
        ways = {"out": graph.out_degrees(), "in": graph.in_degrees()}
        names = list(graph.relations)
        degrees = {f"{n}, {way}": found[:, i] for i, n in enumerate(names) for way, found in ways.items()}
        items += [_counts("", ("relation", "links", "direction"), links), _degrees("degrees", degrees)]
    return View(f"Graph of people: {graph.n:,} users", items)


def _attributes(attributes: Mapping[str, Attribute]) -> Table | str:
    rows = [(name, a.kind, len(a), len(a.domain)) for name, a in attributes.items()]
    return _counts("", ("attribute", "kind", "values", "different"), rows) if rows else "no attributes"


def _values(attribute: Attribute, user: int) -> str:
    """Values of a user; the attribute's entries are grouped by user."""
    first, last = np.searchsorted(attribute.user, (user, user + 1))
    return ", ".join(attribute.domain[attribute.value[first:last]].tolist())


def _degrees(title: str, degrees: Mapping[str, Any]) -> Table:
    rows = []
    for name, d in degrees.items():
        figures = (int(d.min()), float(np.median(d)), float(d.mean()), int(d.max())) if len(d) else (0,) * 4
        rows.append((name, *figures))
    return _counts(title, ("degree", "least", "median", "mean", "greatest"), rows)


def _counts(title: str, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> Table:
    return Table(title, columns, tuple(tuple(map(_text, row)) for row in rows))


@shows("kgreason.links.model.LinkGraph")
def _(graph: LinkGraph) -> View:
    relations = [
        (n, r.total, len(r), "mutual" if r.mutual else "directed") for n, r in graph.observed.items()
    ]
    tables = [_counts("", ("relation", "links", "rows", "direction"), relations)]
    for name, found in islice(graph.observed.items(), RELATIONS):
        ends = (graph.labels[end[:ROWS]] for end in (found.source, found.target))
        rows = zip(*ends, found.count[:ROWS].tolist(), strict=True)
        tables.append(_first(name, ("source", "target", "links"), rows, len(found)))
    entities = int(graph.size.sum())
    of = "" if entities == graph.n else f" of {entities:,} entities"
    more = [_attributes(graph.attributes)] if graph.attributes else []
    return View(f"Graph of links: {graph.n:,} nodes{of}", [*tables, *more])


@shows("kgreason.links.model.Original")
def _(found: Original) -> View:
    secret, links = found.sensitive, view(found.graph)
    summary = f"sensitive: {secret.name}, {len(secret):,} links, which must not be disclosed"
    return View(f"{links.title}, with their secret", [summary, *links.items])


@shows("kgreason.links.model.Released")
def _(found: Released) -> View:
    links = view(found.graph)
    return View(f"Release: {links.title}", [f"strategy: {found.strategy}", *links.items])
