"""How results and progress look on a terminal; plain text where there is none. Used by the command line alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from kgreason.assess.verify import Verdict
    from kgreason.engine.seminaive import Stats
    from kgreason.engine.table import Facts
    from kgreason.progress import Progress
    from kgreason.results import Anonymization, Score

SHOWN = 20  # facts of a predicate shown to a person
WITNESSES = 3  # of a violated item
LINE_AFTER = 2.0  # seconds; a line about shorter steps would only be noise

Row = tuple[str, str]


class Plain:
    """Progress as lines of text on standard error: a line per step that takes long enough."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._since = monotonic()

    def step(self, title: str, total: int | None = None) -> None:
        """End the step before and begin the next."""
        self.close()
        self._title = title + (f" ({total:,})" if total else "")
        self._since = monotonic()

    def advance(self, units: int = 1) -> None:
        """Say nothing: lines are for whole steps."""

    def note(self, message: str) -> None:
        """Print the message."""
        print(message, file=sys.stderr)

    def close(self) -> None:
        """End the current step."""
        if self._title and monotonic() - self._since > LINE_AFTER:
            print(f"{self._title}: {monotonic() - self._since:.1f} s", file=sys.stderr)
        self._title = None


class Rich:
    """Progress as bars with counts and remaining time."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def step(self, title: str, total: int | None = None) -> None:
        """Replace the bar of the step before."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(title, total=total)

    def advance(self, units: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, units)

    def note(self, message: str) -> None:
        """Print the message above the bar."""
        self._bars.console.print(message, markup=False, highlight=False)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error while the block runs."""
    if not sys.stderr.isatty():
        plain = Plain()
        yield plain
        plain.close()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
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


def print_stats(stats: Stats) -> None:
    """Print what an evaluation took, on standard error."""
    for stratum in stats.strata:
        names = ", ".join(stratum.predicates)
        print(f"stratum {names}: {stratum.rounds:,} rounds, {stratum.seconds:.3f} s", file=sys.stderr)
        for rule in stratum.rules:
            print(f"  {rule.facts:>12,} facts {rule.seconds:>9.3f} s  {rule.rule}", file=sys.stderr)
    print(f"total: {stats.seconds:.3f} s", file=sys.stderr)


def print_anonymization(result: Anonymization, release: Path, private: Path, *, seeded: bool) -> None:
    """Print the one table of an anonymization."""
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
    graph, published = result.original, result.release.graph
    table(
        [
            ("graph", f"{graph.n:,} vertices, {graph.m:,} edges -> {published.n:,}, {published.m:,}"),
            ("guarantee", f"{result.release.guarantee}"),
            ("derived edges", ", ".join(result.derived) or "none: the guarantee covers ground edges alone"),
            ("verified", f"{'holds' if result.holds else 'DOES NOT HOLD'} for x = {result.verdict.x}"),
            *verdict_rows(result.verdict),
            *score_rows(result.score),
            ("time", f"{sum(result.seconds.values()):.1f} s ({seconds})"),
            ("to publish", _publishable(result, release, seeded)),
            ("to keep secret", f"{private}/"),
        ]
    )


def _publishable(result: Anonymization, release: Path, seeded: bool) -> str:
    if not result.holds:
        return f"nothing; {release}/ is marked UNVERIFIED"
    return f"nothing; {release}/ was made with a seed" if seeded else f"{release}/"


def print_verdict(verdict: Verdict) -> None:
    """Print each item of the definition and δ-anonymity."""
    table(
        [
            *verdict_rows(verdict),
            (
                "verdict",
                f"{'holds' if verdict.holds else 'DOES NOT HOLD'} for k = {verdict.k}, x = {verdict.x}",
            ),
        ]
    )


def print_score(score: Score) -> None:
    """Print utility and fidelity."""
    table(score_rows(score))


def print_witnesses(verdict: Verdict) -> None:
    """Print for each violated item the first few witnesses."""
    for item in verdict.items:
        if item.witnesses:
            print(f"\nWitnesses against {item.name}:")
            for witness in item.witnesses[:WITNESSES]:
                print("\n".join(f"  {line}" for line in witness.splitlines()))


def verdict_rows(verdict: Verdict) -> list[Row]:
    """Rows on the items of the definition: violated ones each, the others in one."""
    kept = ", ".join(item.name for item in verdict.items if item.holds)
    rows = [("violated", f"{item.name}: {item.detail}") for item in verdict.items if not item.holds]
    delta = "not decided" if verdict.delta is None else str(verdict.delta)
    return [*rows, ("checked and kept", kept or "nothing"), ("δ-anonymity", delta)]


def score_rows(score: Score) -> list[Row]:
    """Rows on utility and fidelity."""
    utility, fidelity = score.utility, score.fidelity
    weights = [f"weights of {name} {distance:.3f}" for name, distance in fidelity.weights.items()]
    return [
        ("U (0 is best)", f"{utility.u:.3f}" if utility.per_query else "nothing asked"),
        ("U△ (0 is best)", f"{utility.u_symmetric:.3f}" if utility.per_query else "nothing asked"),
        (
            "fidelity",
            f"vertices {fidelity.vertices_added_percent:+.1f} %, edges {fidelity.edges_added_percent:+.1f} %",
        ),
        ("  Wasserstein-1", ", ".join([f"degree {fidelity.degree:.3f}", *weights])),
    ]


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
        shown.add_row(name, value)
    Console().print(shown, markup=False)
