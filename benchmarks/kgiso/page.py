"""The page: figures and tables compared with the paper, verdicts, and runs that are missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from kgiso import cases
from kgiso.cases import TITLES, Figure, Row, Scale, Setting, Sweep, Table
from kgiso.claims import claims, on_table
from kgiso.compare import BETTER, EQUAL, METRICS, WORSE, Results, together, verdict
from kgiso.reasons import Verdict, explained

WORDS = Path(__file__).with_name("page.md")
QUICK = "**A quick series: small graphs, none of the public ones. It is no measurement.**\n"
KEPT = (
    "*Kept from an earlier measurement, before the latest [changes](../../CHANGELOG.md) of KLONE and KGUARD.*"
)
UNDONE = "Runs without a result"
SIGNS = {BETTER: "▲", EQUAL: "=", WORSE: "▼"}


@dataclass
class Page:
    """A page that is being written.

    Attributes
    ----------
    results, scale
        What was measured.
    verdicts
        All so far, by section.
    """

    results: Results
    scale: Scale
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)

    def text(self, command: str) -> str:
        """The whole page: the words of ``page.md`` with what was measured; `command` is what made it."""
        parts = {f"figure_{figure.number}": self.figure(figure) for figure in cases.figures(self.scale)}
        parts |= {f"table_{table.number}": self.table(table) for table in cases.TABLES}
        parts |= {"command": command, "quick": QUICK if self.scale.most else "", "seeds": self.seeds()}
        parts |= {"machine": self.machine(), "summary": self.summary(), "undone": self.undone()}
        text = Template(WORDS.read_text(encoding="utf-8")).substitute(parts)
        return text.replace("\n\n\n", "\n\n")  # where a part is empty

    def seeds(self) -> str:
        """How often each run is made."""
        repeats = self.scale.repeats
        if repeats == 1:
            return "Each is run once, with seed 0."
        small = f"Random graphs of up to {cases.SMALL:,} vertices are drawn anew for each of {repeats} seeds"
        return f"{small}, and medians are shown; everything else is run once, with seed 0."

    def machine(self) -> str:
        """Machines and versions of the runs, and bounds."""
        records = self.results.runs.records.values()
        machines = sorted({r.machine for r in records if r.machine}) or ["no runs yet"]
        seconds, memory = self.results.runs.bounds
        bound = f"A run is ended after {seconds:g} s, or at {memory / 2**30:g} GB; then it is shown as such."
        return "\n".join([*(f"- {machine}" for machine in machines), f"- {bound}"])

    def summary(self) -> str:
        """Counts of verdicts, by section and by what they are on."""
        methods = [cases.KLONE, cases.PUBLISHED, cases.LITERAL, cases.EXACT, cases.K_ISO]
        head = ("ours is ▲ better, = equal, ▼ worse", "statements of the text", *(TITLES[m] for m in methods))
        lines = []
        for section, found in self.verdicts.items():
            of = [[v for v in found if v.method == method] for method in ("", *methods)]
            lines.append([f"[{section}](#{section.lower().replace(' ', '-')})", *map(self.counts, of)])
        return markdown(head, lines)

    @staticmethod
    def counts(verdicts: Sequence[Verdict]) -> str:
        """How many verdicts of each kind there are, in brackets on graphs of the paper's size; empty of none at all."""
        parts = []
        for kind, sign in SIGNS.items() if verdicts else ():
            found = [v for v in verdicts if v.verdict == kind]
            # a statement is on no single graph
            same = f" ({sum(v.same_size for v in found)})" if verdicts[0].method else ""
            parts.append(f"{sign} {len(found)}{same}")
        return ", ".join(parts)

    def figure(self, figure: Figure) -> str:
        """Statements of the paper, medians."""
        name = f"Figure {figure.number}"
        found = claims(self.results, figure)
        self.verdicts[name] = [Verdict(name, claim.verdict, row=claim.says) for claim in found]
        stated = markdown(
            ("panel", "the paper says", "measured", "ours is"),
            [[c.name, c.says, c.measured, f"{SIGNS[c.verdict]} {c.verdict}"] for c in found],
        )
        parts = [stated if found else "There are too few runs to check what the paper says.", self.why(name)]
        return "\n\n".join([*filter(None, parts), *(self.medians(figure, sweep) for sweep in figure.sweeps)])

    def medians(self, figure: Figure, sweep: Sweep) -> str:
        """All points of a sweep; folded, as the plot has them, too."""
        names = " · ".join(METRICS[m].axis for m in figure.metrics)
        lines = []
        for at in sweep.values:
            cells = [self.point(line.get(at), figure.metrics) for line in sweep.lines.values()]
            lines.append([f"{at:,}", *cells])
        table = markdown((sweep.axis, *map(str, sweep.lines)), lines)
        return f"<details><summary>{figure.title} {sweep.title}: {names}</summary>\n\n{table}\n\n</details>"

    def point(self, setting: Setting | None, metrics: Sequence[str]) -> str:
        """Medians of one setting, or why there are none."""
        if setting is None:
            return ""
        values = [METRICS[m].text(self.results.value(setting, m)) for m in metrics]
        done = self.results.value(setting, metrics[0]) is not None
        return " · ".join(values) if done else self.results.why_not(setting)

    def table(self, table: Table) -> str:
        """Rows with the paper's figures in brackets and a verdict on each."""
        name = f"Table {table.number}"
        self.verdicts[name] = []
        head = ("graph", "V / E", "algorithm", *(METRICS[m].title for m in table.metrics), "ours is")
        lines = [
            self.line(table, row, reading, Setting(graph, row.rules, method))
            for row, reading, graph in table.taken(self.scale)
            for method in row.methods(table, reading)
        ]
        body = markdown(head, lines) if lines else "No row belongs to this series."
        stated = on_table(self.results, self.scale, table.number)
        self.verdicts[name] += [Verdict(name, c.verdict, row=c.says) for c in stated]
        said = markdown(
            ("the paper says", "measured", "ours is"),
            [[c.says, c.measured, f"{SIGNS[c.verdict]} {c.verdict}"] for c in stated],
        )
        return "\n\n".join(filter(None, [body, said if stated else "", self.why(name)]))

    def line(self, table: Table, row: Row, reading: str, setting: Setting) -> list[str]:
        """One line of a table."""
        sizes = [self.results.value(setting, m) for m in ("vertices", "edges")]
        size = [METRICS[m].text(value) for m, value in zip(("vertices", "edges"), sizes, strict=True)]
        title = f"{row.title}: {reading}" if reading else row.title
        start = [title, " / ".join(size), TITLES[setting.method]]
        if self.results.value(setting, table.metrics[0]) is None:
            why = self.results.why_not(setting)
            return [*start, *[why or "no figure"], *[""] * (len(table.metrics) - 1), "not measured"]
        cells, found, same = [], [], row.same_size(*sizes)
        estimated = self.results.estimated(setting)
        for metric, paper in zip(table.metrics, row.printed(setting.method), strict=True):
            ours = self.results.value(setting, metric)
            cell = METRICS[metric].text(ours)
            if estimated and METRICS[metric].higher and ours is not None:
                cell += " est."
            if ours is not None and paper is not None:
                kind = verdict(ours, paper, higher=METRICS[metric].higher)
                name = f"Table {table.number}"
                found.append(Verdict(name, kind, row.title, setting.method, metric, same))
                cell += f" ({METRICS[metric].text(paper)}) {SIGNS[kind]}"
            cells.append(cell)
        self.verdicts[f"Table {table.number}"] += found
        return [*start, *cells, together([v.verdict for v in found])]

    def why(self, name: str) -> str:
        """Reasons for the verdicts of a section, and those that have none."""
        reasons, rest = explained(self.verdicts[name])
        lines = [f"- {reason.text}" for reason in reasons]
        if rest:
            named = (
                ", ".join(filter(None, (v.row, TITLES.get(v.method), v.metric and METRICS[v.metric].title)))
                for v in rest
            )
            lines.append(f"- No reason is known for ▼ in: {'; '.join(named)}.")
        return "\n".join(["Why:", "", *lines]) if lines else ""

    def undone(self) -> str:
        """Settings without a result, and why."""
        wanted = cases.settings(self.scale)
        missing = [[str(s), why] for s in wanted if (why := self.results.why_not(s))]
        return markdown(("run", "why there is no result"), missing) if missing else "All runs have a result."


def merged(new: str, old: str, only: Collection[str]) -> str:
    """A new page with the sections that were not measured again as they are on the old page, and a note in each.

    `only` names those that were. Rows of the summary and of runs without a result are kept, too.
    """
    fresh, kept = _sections(new), _sections(old)
    for name in fresh.keys() - set(only):
        if name in kept and re.fullmatch(r"(Figure|Table) \d+", name):
            rest = kept[name].removeprefix(f"## {name}\n\n").removeprefix(KEPT).lstrip("\n")
            fresh[name] = f"## {name}\n\n{KEPT}\n\n{rest}"
    summary = {name: row for row in kept[""].splitlines() if (name := _named(row)) and name not in only}
    lines = fresh[""].splitlines(keepends=True)
    fresh[""] = "".join(_row(summary[_named(row)], row) if _named(row) in summary else row for row in lines)
    if UNDONE in fresh and UNDONE in kept:
        fresh[UNDONE] = _undone(fresh[UNDONE], kept[UNDONE])
    return "".join(fresh.values())


def _row(kept: str, new: str) -> str:
    """A kept row of the summary, of a figure with as many empty cells as the new one has columns of methods."""
    cells = kept.strip("| ").split(" | ")
    if kept.count("|") == new.count("|"):
        return f"{kept}\n"
    if "".join(cells[2:]).strip(" |"):
        raise SystemExit(f"the summary has other columns than the page: measure {cells[0]} again, too")
    return f"| {' | '.join(cells[:2])} |" + "  |" * (new.count("|") - 3) + "\n"


def _undone(new: str, old: str) -> str:
    """Runs without a result: those that were not run at all stand as the old page has them, if it has them."""
    before = {row.split(" | ")[0]: row for row in old.splitlines(keepends=True) if row.startswith("| ")}
    found = []
    for row in new.splitlines(keepends=True):
        if not row.endswith("| not run |\n") and not row.endswith("| not run |"):
            found.append(row)
        elif row.split(" | ")[0] in before:
            found.append(before[row.split(" | ")[0]])
    return "".join(found)


def _sections(page: str) -> dict[str, str]:
    """Sections of a page by their heading; the words before the first one have none."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    return {
        part.partition("\n")[0].removeprefix("## ") if part.startswith("## ") else "": part for part in parts
    }


def _named(row: str) -> str:
    """Section that a row of the summary is of; empty of other lines."""
    found = re.match(r"\| \[((?:Figure|Table) \d+)\]", row)
    return found[1] if found else ""


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; bars in cells are replaced."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows)
