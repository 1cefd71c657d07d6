"""How results and progress look on a terminal; plain text where there is none. Used by the command line alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from kgreason.base import memory
from kgreason.base.printable import printable, raw
from kgreason.cli.run import logged
from kgreason.engine.statistics import condensed, visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from kgreason.base.progress import Progress
    from kgreason.engine.relations.fact_tables import Facts
    from kgreason.engine.statistics import Stats
    from kgreason.isomorphism.result import Anonymization
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.links.result import LinksAnonymization
    from kgreason.links.verification import LinksVerdict
    from kgreason.people.result import PeopleAnonymization
    from kgreason.people.verification.verdict import PeopleVerdict
    from kgreason.release.report.report_data import Item as Block
    from kgreason.release.verdicts import Examined


SHOWN = 20  # facts of a predicate shown to a person
UNPROTECTED = (
    "in- and out-degree",
    "neighbours' degrees",
    "degrees within two hops",
)  # knowledge that is shown
WITNESSES = 3  # of a violated item
PROFILED = 16  # lines about the rounds of a rule
LINE_AFTER = 2.0  # seconds; a line about shorter steps would only be noise

Row = tuple[str, str]


class Plain:
    """Progress as lines of text on standard error: a line per step that takes long enough."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._unit, self._done, self._since = "", 0, monotonic()

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """End the step before and begin the next."""
        self.close()
        self._title = title + (f" ({total:,})" if total else "")
        self._unit, self._done, self._since = unit, 0, monotonic()

    def advance(self, units: int = 1) -> None:
        """Say nothing: lines are for whole steps."""
        self._done += units

    def note(self, message: str) -> None:
        """Print the message."""
        print(message, file=sys.stderr)

    def close(self) -> None:
        """End the current step."""
        seconds = monotonic() - self._since
        if self._title and seconds > LINE_AFTER:
            rate = f", {self._done:,} {self._unit}, {self._done / seconds:,.0f} a second"
            print(f"{self._title}: {seconds:.1f} s{rate if self._unit else ''}", file=sys.stderr)
        self._title = None


class _Rich:
    """Progress as bars with counts and remaining time."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._other: TaskID | None = None

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Replace the bar of the step before."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(printable(title), total=total, unit=unit)

    def advance(self, units: int = 1) -> None:
        if self._task is not None:
            self._bars.advance(self._task, units)

    def besides(self, title: str, done: int, total: int) -> None:
        """Show work that interrupts the current step, until all of it is done."""
        if self._other is None:
            self._other = self._bars.add_task(title, unit="")
        self._bars.update(self._other, completed=done, total=total)
        if done == total:
            self._bars.remove_task(self._other)
            self._other = None

    def note(self, message: str) -> None:
        self._bars.console.print(printable(message), markup=False, highlight=False)


def _compiling(progress: Progress, shown: Progress) -> Callable[[int, int, bool], None]:
    """Receiver of the progress of compiling kernels: a message, once, and a bar besides that of the current step."""

    @cache
    def say(kept: bool) -> None:
        once = "compiling kernels for this machine, once"
        again = (
            "compiling kernels in each run: no folder is writable to keep them, NUMBA_CACHE_DIR may name one"
        )
        progress.note(once if kept else again)

    def compiled(done: int, total: int, kept: bool) -> None:
        say(kept)
        if isinstance(shown, _Rich):
            shown.besides("kernel files to compile", done, total)

    return compiled


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error, and log it, while the block runs."""
    from kgreason.base import jit

    with _shown() as shown, logged(shown) as both:
        jit.compiling = _compiling(both, shown)
        yield both


@contextmanager
def _shown() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        plain = Plain()
        yield plain
        plain.close()
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.text import Text

    class Rate(bars.ProgressColumn):
        """Units per second, of steps whose unit is known."""

        def render(self, task: bars.Task) -> Text:
            known = task.fields.get("unit") and task.speed
            return Text(f"{task.speed:,.0f} {task.fields['unit']}/s" if known else "")

    title = bars.TextColumn("{task.description}", markup=False)  # files may be called [red].csv
    amount = bars.BarColumn(), bars.MofNCompleteColumn(), Rate(), bars.TimeRemainingColumn()
    console = Console(file=raw(sys.stderr), emoji=False)
    with bars.Progress(bars.SpinnerColumn(), title, *amount, console=console, transient=True) as shown:
        yield _Rich(shown)


def print_facts(facts: Facts, predicates: Iterable[str]) -> None:
    """Print facts as clauses: all of them into a pipe or file, the first few of each predicate on a terminal."""
    from kgreason.language.syntax.syntax_tree import Atom, Constant

    for predicate in predicates:
        limit = SHOWN if sys.stdout.isatty() else None
        for number, row in enumerate(facts.rows(predicate)):
            if number == limit:
                rest = facts.count(predicate) - number
                print(f"% ... and {rest:,} more of {predicate}; --out DIR writes all")
                break
            print(f"{Atom(predicate, tuple(Constant(v) for v in row))}.")


def print_stats(stats: Stats, counts: Mapping[str, int] | None = None) -> None:
    """Print the totals of an evaluation, on standard error; without `counts` of facts it has failed."""
    seconds, strata = max(stats.seconds, 1e-9), len(stats.strata)
    walks = sum(stratum.walks for stratum in stats.strata)
    found = "none, for the run did not end"
    if counts is not None:
        found = f"{sum(counts.values()):,} of {', '.join(counts)}"
    walked = f", and {_many(walks, 'walk')}" if walks else ""
    lines = {
        "facts": found,
        "derived": f"{stats.facts:,} new ones of {stats.tried:,} tried",
        "rounds": f"{stats.rounds:,} in {strata:,} strat{'um' if strata == 1 else 'a'}{walked}",
        "time": f"{stats.seconds:.3f} s of evaluation, {stats.facts / seconds:,.0f} facts/s",
    }
    if (most := memory.peak()) is not None:
        lines["memory"] = f"{memory.shown(most)} at most, of the whole process"
    for name, value in lines.items():
        print(f"{name:<8} {value}", file=sys.stderr)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count > 1)}"


def print_profile(stats: Stats) -> None:
    """Print what each rule did in each round, and the costliest joins, on standard error."""
    for line in _profile(stats):
        print(line, file=sys.stderr)


def _profile(stats: Stats) -> Iterator[str]:
    for stratum in stats.strata:
        how = _many(stratum.walks, "walk") if stratum.walks else _many(stratum.rounds, "round")
        yield f"stratum {', '.join(visible(stratum.predicates))}: {how}, {stratum.seconds:.3f} s"
        if stratum.walks:
            yield "  a round is one step of all walks; seconds are shared out by what is tried"
        for rule in stratum.rules:
            yield f"  {rule.rule}"
            yield f"    {'round':>13} {'tried':>15} {'new':>15} {'seconds':>9}"
            for first, done in condensed(rule.rounds, PROFILED):
                span = f"{first:,}" if first == done.round else f"{first:,}-{done.round:,}"
                yield _counts(span, done.tried, done.facts, done.seconds)
            if len(rule.rounds) != 1:
                yield _counts("all", rule.tried, rule.facts, rule.seconds)
    joins = stats.costliest()
    if joins:
        yield "costliest joins"
    for join in joins:
        found = f"{join.probed:,} looked up, {join.found:,} found"
        yield f"  {join.seconds:>9.3f} s  {join.atom}: {found}, in {join.rule}"


def _counts(name: str, tried: int, facts: int, seconds: float) -> str:
    return f"    {name:>13} {tried:>15,} {facts:>15,} {seconds:>9.3f}"


def anonymization_rows(result: Anonymization) -> list[Row]:
    """Rows on an anonymization under rules."""
    from kgreason.isomorphism.report import score_items, verdict_figures

    graph, published, verdict = result.original, result.release.graph, result.verdict
    derived = ", ".join(result.derived) or "none: the guarantee covers ground edges alone"
    if verdict.model == "k-iso":
        derived = "NOT PROTECTED, nor are degrees: k-Iso is a baseline to compare with"
    return [
        ("graph", f"{graph.n:,} vertices, {graph.m:,} edges -> {published.n:,}, {published.m:,}"),
        ("guarantee", f"{result.release.guarantee}"),
        ("derived edges", derived),
        ("verified", _held(verdict) + _for_x(verdict)),
        *conditions(verdict),
        *rows(verdict_figures(verdict)),
        *_still_found(result),
        *rows(score_items(result.score)),
    ]


def _still_found(result: Anonymization) -> Iterator[Row]:
    """Rows on vertices that are unique for attackers who know more of the whole graph than the guarantee covers."""
    n = max(result.original.n, 1)
    head = "original vertices that are unique by what each graph shows of them, before -> after"
    if result.unchanged:
        head = "the graph is released as it is, under other labels and weights"
    yield "what others could still find", head
    for found in result.exposed:
        if found.knowledge not in UNPROTECTED:
            continue
        sides = found.before, found.after
        alone = (side.alone for side in sides if side is not None and side.alone is not None)
        counts = (f"{count:,} ({count / n:.1%})" for count in alone)
        yield f"  unique by {found.knowledge}", " -> ".join(counts) or found.remark


def anonymized_people_rows(result: PeopleAnonymization) -> list[Row]:
    """Rows on an anonymization of a graph of people."""
    from kgreason.people.report import utility_items

    graph = f"{result.original!r}".strip("<>").removeprefix("PeopleGraph with ")
    if result.utility is not None and result.utility.structure is not None:  # each edge once, as in all rows
        (links,) = result.original.relations.values()
        graph = graph.removesuffix(f"{len(links):,}") + f"{result.utility.structure.edges:,}"
    figures, withheld = result.release.figures, []
    if count := figures.get("withheld"):  # for the sake of those who left a series
        why = "too few of those like them left or stay; --left-out replace would keep them"
        withheld.append(("withheld", f"{count:,} users: {why}"))
    return [
        ("graph", graph),
        ("method", result.settings.method),
        *people_rows(result.verdict),
        *withheld,
        *rows(utility_items(result.utility, figures)),
    ]


def anonymized_links_rows(result: LinksAnonymization) -> list[Row]:
    """Rows on an anonymization of links."""
    from kgreason.links.report import utility_items

    asked, secret, verdict = result.asked, result.original.sensitive, result.verdict
    percent = "" if asked.percent is None else f", {asked.percent:g} % left out"
    percent += " by degree" if asked.criterion == "degree" else ""
    how = {None: ", clusters as given", "random": ", clusters at random"}
    by = how.get(asked.clustering, f", clusters by {asked.clustering}") if result.clusters is not None else ""
    gone = f", and {secret.left_out:,} of entities that are left out" if secret.left_out else ""
    return [
        ("strategy", f"{asked.strategy}{percent}{by}"),
        ("left out", f"{len(secret):,} links of {secret.name}, which is sensitive{gone}"),
        *rows(utility_items(result)),
        *links_rows(verdict),
    ]


def _for_x(verdict: Verdict, joint: str = " for ") -> str:
    """Numbers of vertices that a verdict is for; that on k-Iso is for none."""
    return "" if verdict.model == "k-iso" else f"{joint}{verdict.sizes}"


def _held(verdict: Examined) -> str:
    from kgreason.release.report.sections import state_words

    if verdict.needs_original and verdict.holds:
        return "holds, for all conditions that a release alone shows"
    return state_words(verdict) if verdict.as_promised else state_words(verdict).upper()


def verdict_rows(verdict: Verdict) -> list[Row]:
    """Rows on each item of the definition, δ-anonymity, and the verdict on a graph under rules."""
    from kgreason.isomorphism.report import verdict_figures

    comma = "," if verdict.needs_original and verdict.holds else ""
    found = f"{_held(verdict)}{comma} for k = {verdict.k}{_for_x(verdict, ', ')}"
    return [*conditions(verdict), *rows(verdict_figures(verdict)), ("verdict", found)]


def people_rows(verdict: PeopleVerdict) -> list[Row]:
    """Rows on the conditions, who looks alike, and the verdict on a graph of people."""
    from kgreason.people.report import verdict_figures

    names = {"users": "released"} | ({"fakes": "fake users"} if verdict.model == "kw-tad" else {})
    return [
        *conditions(verdict),
        *rows(verdict_figures(verdict)),
        *((names[item.name], item.detail) for item in verdict.items if item.holds and item.name in names),
        *(("not protected", note) for note in verdict.notes),
        ("verdict", f"{_held(verdict)}: {verdict.asked}"),
    ]


def links_rows(verdict: LinksVerdict) -> list[Row]:
    """Rows on the conditions, clusters, and the verdict on links."""
    from kgreason.links.report import verdict_figures

    chosen = [item for item in verdict.items if item.name == "links" and item.holds]
    return [
        *rows(verdict_figures(verdict)),
        # of other strategies nothing is left to choice
        *(("links", item.detail) for item in chosen if verdict.strategy == "partial"),
        *conditions(verdict),
        ("verified", f"{_held(verdict)}: {verdict.asked}"),
    ]


def print_witnesses(verdict: Examined) -> None:
    """Print for each violated item the first few witnesses."""
    for item in verdict.items:
        if item.witnesses:
            head = "Undecided of" if item.state == "undecided" else "Witnesses against"
            print(f"\n{head} {item.name}:")
            for witness in item.witnesses[:WITNESSES]:
                print("\n".join(f"  {line}" for line in witness.splitlines()))


def conditions(verdict: Examined) -> list[Row]:
    """Rows on conditions: those that do not hold each, the others in one, then those that cannot be decided."""
    kept = ", ".join(item.name for item in verdict.items if item.holds)
    found: list[Row] = [
        ("violated" if item.state == "fails" else item.state, f"{item.name}: {item.detail}")
        for item in verdict.items
        if not item.holds
    ]
    found.append(("checked and kept", kept or "nothing"))
    if verdict.needs_original:
        names = ", ".join(what.split(":")[0] for what in verdict.needs_original)
        found.append(("undecidable alone", f"{names}: needs the original"))
    return found


def rows(items: Iterable[Block]) -> Iterator[Row]:
    """Rows on figures of a report, and on the rows of its tables."""
    from kgreason.release.report.report_data import Figure, Table

    for item in items:
        if isinstance(item, Figure):
            name = item.name[:1].lower() + item.name[1:] if item.name[1:2].islower() else item.name
            best = f" ({item.better.removeprefix('better is ')} is best)" if item.better else ""
            yield f"{name}{best}", item.value if item.before is None else f"{item.before} -> {item.value}"
        elif isinstance(item, Table):
            for first, *cells in item.rows:
                named = (f"{cell} {name}" for name, cell in zip(item.columns[1:], cells, strict=True))
                yield f"{item.title.lower()} of {first}", ", ".join(named)


def table(rows: list[Row]) -> None:
    """Print two aligned columns, with borders on a terminal."""
    if not sys.stdout.isatty():
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            print(f"{name:<{width}}  {value}".rstrip())
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(show_header=False)
    for name, value in rows:
        shown.add_row(printable(name), printable(value))
    Console(file=raw(sys.stdout), emoji=False).print(shown, markup=False)
