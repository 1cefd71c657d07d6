"""How results and progress look on a terminal; plain text where there is none. Used by the command line alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

from kgreason import memory
from kgreason.engine.stats import condensed, visible
from kgreason.printable import printable, raw

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.assess.utility import Utility
    from kgreason.assess.verdict import Item
    from kgreason.assess.verify import Verdict
    from kgreason.engine.stats import Stats
    from kgreason.engine.table import Facts
    from kgreason.isomorphism.release import Anonymization, Score
    from kgreason.links.release import LinksAnonymization
    from kgreason.people.release import PeopleAnonymization
    from kgreason.progress import Progress

SHOWN = 20  # facts of a predicate shown to a person
WITNESSES = 3  # of a violated item
PROFILED = 16  # lines about the rounds of a rule
LINE_AFTER = 2.0  # seconds; a line about shorter steps would only be noise

Row = tuple[str, str]


class Plain:
    """Progress as lines of text on standard error: a line per step that takes long enough."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._unit = ""
        self._done = 0
        self._since = monotonic()

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
            rate = (
                f", {self._done:,} {self._unit}, {self._done / seconds:,.0f} a second" if self._unit else ""
            )
            print(f"{self._title}: {seconds:.1f} s{rate}", file=sys.stderr)
        self._title = None


class Rich:
    """Progress as bars with counts and remaining time."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Replace the bar of the step before."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(printable(title), total=total, unit=unit)

    def advance(self, units: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, units)

    def note(self, message: str) -> None:
        """Print the message above the bar."""
        self._bars.console.print(printable(message), markup=False, highlight=False)


def _compiling(progress: Progress) -> Callable[[bool], None]:
    """What to say, once, when kernels are compiled."""
    told: list[bool] = []

    def tell(kept: bool) -> None:
        if not told:
            progress.note(
                "compiling kernels for this machine: each once, some seconds"
                if kept
                else "compiling kernels, some seconds in each run: no folder can be written to keep them, "
                "NUMBA_CACHE_DIR may name one"
            )
            told.append(True)

    return tell


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error, and log it, while the block runs."""
    from kgreason import jit
    from kgreason.cli.run import logged

    with _shown() as shown, logged(shown) as both:
        jit.compiling = _compiling(both)
        yield both


@contextmanager
def _shown() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        plain = Plain()
        yield plain
        plain.close()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units per second, of steps whose unit is known."""

        def render(self, task: Task) -> Text:
            known = task.fields.get("unit") and task.speed
            return Text(f"{task.speed:,.0f} {task.fields['unit']}/s" if known else "")

    title = TextColumn("{task.description}", markup=False)  # files may be called [red].csv
    columns = (SpinnerColumn(), title, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    console = Console(file=raw(sys.stderr), emoji=False)
    with Bars(*columns, console=console, transient=True) as bars:
        yield Rich(bars)


def print_facts(facts: Facts, predicates: Iterable[str]) -> None:
    """Print facts as clauses: all of them into a pipe or file, the first few of each predicate on a terminal."""
    from kgreason.lang.ast import Atom, Constant

    for predicate in predicates:
        limit = SHOWN if sys.stdout.isatty() else None
        for number, row in enumerate(facts.rows(predicate)):
            if number == limit:
                rest = facts.count(predicate) - number
                print(f"% ... and {rest:,} more of {predicate}; --out DIR writes all")
                break
            print(f"{Atom(predicate, tuple(Constant(v) for v in row))}.")


def print_stats(stats: Stats, facts: Facts | None = None) -> None:
    """Print the totals of an evaluation, on standard error; without `facts` it has failed."""
    seconds = max(stats.seconds, 1e-9)
    total = 0 if facts is None else sum(table.length for table in facts.tables.values())
    lines = [
        (
            "facts",
            "none, for the run did not end" if facts is None else f"{total:,} of {', '.join(facts.tables)}",
        ),
        ("derived", f"{stats.facts:,} new ones of {stats.tried:,} tried"),
        ("rounds", f"{stats.rounds:,} in {_strata(len(stats.strata))}{_walked(stats)}"),
        ("time", f"{stats.seconds:.3f} s of evaluation, {stats.facts / seconds:,.0f} facts/s"),
    ]
    most = memory.peak()
    if most is not None:
        lines.append(("memory", f"{memory.shown(most)} at most, of the whole process"))
    for name, value in lines:
        print(f"{name:<8} {value}", file=sys.stderr)


def _strata(count: int) -> str:
    return f"{count:,} strat{'um' if count == 1 else 'a'}"


def _walked(stats: Stats) -> str:
    walks = sum(stratum.walks for stratum in stats.strata)
    return f", and {walks:,} walk{'s' * (walks > 1)}" if walks else ""


def print_profile(stats: Stats) -> None:
    """Print what each rule did in each round, and the costliest joins, on standard error."""
    for stratum in stats.strata:
        names = ", ".join(visible(stratum.predicates))
        how = (
            f"{stratum.walks:,} walk{'s' * (stratum.walks > 1)}"
            if stratum.walks
            else f"{stratum.rounds:,} round{'s' * (stratum.rounds > 1)}"
        )
        print(f"stratum {names}: {how}, {stratum.seconds:.3f} s", file=sys.stderr)
        if stratum.walks:
            print(
                "  a round is one step of all walks; seconds are shared out by what is tried", file=sys.stderr
            )
        for rule in stratum.rules:
            print(f"  {rule.rule}", file=sys.stderr)
            print(f"    {'round':>13} {'tried':>15} {'new':>15} {'seconds':>9}", file=sys.stderr)
            for first, done in condensed(rule.rounds, PROFILED):
                span = f"{first:,}" if first == done.round else f"{first:,}-{done.round:,}"
                _print_counts(span, done.tried, done.facts, done.seconds)
            if len(rule.rounds) != 1:
                _print_counts("all", rule.tried, rule.facts, rule.seconds)
    joins = stats.costliest()
    if joins:
        print("costliest joins", file=sys.stderr)
    for join in joins:
        found = f"{join.probed:,} looked up, {join.found:,} found"
        print(f"  {join.seconds:>9.3f} s  {join.atom}: {found}, in {join.rule}", file=sys.stderr)


def _print_counts(name: str, tried: int, facts: int, seconds: float) -> None:
    print(f"    {name:>13} {tried:>15,} {facts:>15,} {seconds:>9.3f}", file=sys.stderr)


def print_anonymization(result: Anonymization, release: Path, private: Path, *, seeded: bool) -> None:
    """Print the one table of an anonymization."""
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
    graph, published = result.original, result.release.graph
    table(
        [
            ("graph", f"{graph.n:,} vertices, {graph.m:,} edges -> {published.n:,}, {published.m:,}"),
            ("guarantee", f"{result.release.guarantee}"),
            ("derived edges", _derived(result)),
            ("verified", _held(result.verdict) + _for_x(result.verdict)),
            *verdict_rows(result.verdict),
            *score_rows(result.score),
            ("time", f"{sum(result.seconds.values()):.1f} s ({seconds})"),
            ("to publish", publishable(result, release, seeded)),
            ("to keep secret", f"{private}/"),
        ]
    )


def _derived(result: Anonymization) -> str:
    if result.verdict.model == "k-iso":
        return "NOT PROTECTED, nor are degrees: k-Iso is a baseline to compare with"
    return ", ".join(result.derived) or "none: the guarantee covers ground edges alone"


def _for_x(verdict: Verdict, joint: str = " for ") -> str:
    """Numbers of vertices that a verdict is for; that on k-Iso is for none."""
    return "" if verdict.model == "k-iso" else f"{joint}{verdict.sizes}"


def publishable(
    result: Anonymization | PeopleAnonymization | LinksAnonymization, release: Path, seeded: bool
) -> str:
    """Say which folder may be published."""
    if not result.holds:
        return f"nothing; {release}/ is marked UNVERIFIED"
    return f"nothing; {release}/ was made with a seed" if seeded else f"{release}/"


def _held(verdict: Verdict) -> str:
    if verdict.holds:
        return "holds, as far as a release alone tells," if verdict.needs_original else "holds"
    if verdict.as_promised:
        return "holds within parts"
    if verdict.nothing_against:
        return "ESTIMATE: nothing found against it"
    return "NOT DECIDED" if verdict.state == "undecided" else "DOES NOT HOLD"


def print_verdict(verdict: Verdict) -> None:
    """Print each item of the definition and δ-anonymity."""
    table(
        [
            *verdict_rows(verdict),
            (
                "verdict",
                f"{_held(verdict)} for k = {verdict.k}{_for_x(verdict, ', ')}",
            ),
        ]
    )


def print_score(score: Score) -> None:
    """Print utility, fidelity, and how well synthetic vertices can be told."""
    table(score_rows(score))


def print_witnesses(verdict: Verdict | PeopleVerdict | LinksVerdict) -> None:
    """Print for each violated item the first few witnesses."""
    for item in verdict.items:
        if item.witnesses:
            head = "Undecided of" if item.state == "undecided" else "Witnesses against"
            print(f"\n{head} {item.name}:")
            for witness in item.witnesses[:WITNESSES]:
                print("\n".join(f"  {line}" for line in witness.splitlines()))


def item_rows(items: Sequence[Item], needs_original: Sequence[str]) -> list[Row]:
    """Rows on conditions: those that do not hold each, the others in one, then those that cannot be decided."""
    kept = ", ".join(item.name for item in items if item.holds)
    rows: list[Row] = [
        ("violated" if item.state == "fails" else item.state, f"{item.name}: {item.detail}")
        for item in items
        if not item.holds
    ]
    rows.append(("checked and kept", kept or "nothing"))
    if needs_original:
        names = ", ".join(what.split(":")[0] for what in needs_original)
        rows.append(("undecidable alone", f"{names}: only the original could tell"))
    return rows


def verdict_rows(verdict: Verdict) -> list[Row]:
    """Rows on the items of the definition: those that do not hold each, the others in one."""
    rows = item_rows(verdict.items, verdict.needs_original)
    delta = "not decided" if verdict.delta is None else str(verdict.delta)
    rows.append(("δ of the release" if verdict.needs_original else "δ-anonymity", delta))
    return [*rows, *_rows_on_k_iso(verdict)]


def _rows_on_k_iso(verdict: Verdict) -> Iterator[Row]:
    if verdict.alike is not None:
        yield "  whatever degrees", f"{verdict.alike}"
    if verdict.edits is not None:
        yield "changes", f"{verdict.edits}"


def score_rows(score: Score) -> list[Row]:
    """Rows on utility, fidelity and the classifier."""
    utility, fidelity = score.utility, score.fidelity
    weights = [f"weights of {name} {distance:.3f}" for name, distance in fidelity.weights.items()]
    return [
        ("U (0 is best)", _mean_and_pooled(utility, "u")),
        ("U△ (0 is best)", _mean_and_pooled(utility, "u_symmetric")),
        *_estimates(utility),
        (
            "fidelity",
            f"vertices {fidelity.vertices_added_percent:+.1f} %, edges {fidelity.edges_added_percent:+.1f} %",
        ),
        ("  Wasserstein-1", ", ".join([f"degree {fidelity.degree:.3f}", *weights])),
        ("told (0.5 is best)", f"{score.telling}"),
    ]


def _mean_and_pooled(utility: Utility, figure: Literal["u", "u_symmetric"]) -> str:
    """Mean over the queries and, where these are several, the share of the answers of all of them."""
    queries = len(utility.per_query)
    if not queries:
        return "nothing asked"
    mean = f"{getattr(utility, figure):.3f}"
    return (
        f"{mean} (mean of {queries} queries; pooled {getattr(utility.pooled, figure):.3f})"
        if queries > 1
        else mean
    )


def _estimates(utility: Utility) -> Iterator[Row]:
    """Rows on queries whose answers are too many to count."""
    for name, query in utility.per_query.items():
        if query.sampled:
            what = f"U {query.u:.3f}, U△ {query.u_symmetric:.3f} ± {query.margin:.3f} (95 %)"
            yield f"  estimate: {name}", f"{what}, from {query.sampled:,} random targets"


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
