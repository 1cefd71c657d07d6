"""The page: tables of papers with our figures, a verdict on each, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from kgiso.compare import BETTER, EQUAL, WORSE
from kgiso.page import SIGNS, markdown
from kgiso.reasons import Verdict, explained

from people_kg.figures import Cell, Row, Table
from people_kg.measurements import NOT_RUN, Measurements

WORDS, REASONS = Path(__file__).with_name("people.md"), Path(__file__).with_name("why.toml")
QUICK = "**A quick series on parts of the data, with one run each. It is no measurement.**\n"
SHARE = 0.05  # of the paper's figure: a difference that is none


def verdict(ours: float, paper: str, *, higher: bool = False) -> str:
    """Compare a figure with a printed one: `EQUAL` if it rounds to it, or differs by at most 5 % of it.

    Examples
    --------
    >>> [verdict(ours, "0.002") for ours in (0.0024, 0.0026, 0.001, 0.0)]
    ['equal', 'worse', 'better', 'better']
    """
    printed = float(paper)
    digits = len(paper.partition(".")[2])
    if round(ours, digits) == printed or abs(ours - printed) <= SHARE * abs(printed):
        return EQUAL
    return BETTER if (ours > printed) == higher else WORSE


@dataclass
class ComparisonPage:
    """A page that is being written.

    Attributes
    ----------
    measurements
        What was measured.
    verdicts
        All so far, by table.
    """

    measurements: Measurements
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)

    def text(self, papers: Mapping[str, Sequence[Table]], command: str, *, quick: bool) -> str:
        """The whole page: the words of ``people.md``, and below each paper's name its tables."""
        words = Template(WORDS.read_text(encoding="utf-8"))
        parts = dict.fromkeys(words.get_identifiers(), "")  # a paper may be left out
        parts |= {name: "\n\n".join(map(self.table, tables)) for name, tables in papers.items()}
        cases = dict.fromkeys(case for tables in papers.values() for table in tables for case in table.cases)
        made = [m for case in cases for m in self.measurements.of(case) if m.figures]
        machines = sorted({m.machine for m in made}) or ["no runs yet"]
        reasons = [[c.name, why] for c in cases if (why := self.measurements.why_not(c))]
        missing = [line for line in reasons if line[1] != NOT_RUN]
        parts |= {
            "command": command,
            "quick": QUICK if quick else "",
            "machine": "\n".join(f"- {machine}" for machine in machines),
            "runs": f"{len(made):,}",
            "held": self.held([m.figures["holds"] for m in made if "holds" in m.figures]),
            "summary": self.summary(),
            "undone": markdown(("run", "why there is no result"), missing)
            if missing
            else "All runs have a result.",
            "not_run": f"{len(reasons) - len(missing)} cases were not run; their cells are – above."
            * (len(reasons) > len(missing)),
        }
        text = words.substitute(parts)
        return text.replace("\n\n\n", "\n\n")  # where a part is empty

    @staticmethod
    def held(verified: Sequence[float]) -> str:
        """How many releases were verified, and how many of them hold."""
        good = sum(verified)
        all_ = f"{len(verified):,} releases"
        return f"All {all_} hold" if good == len(verified) else f"**{good:,.0f} of {all_} hold**"

    def summary(self) -> str:
        """Counts of verdicts: a row for each table, a column for each kind."""
        lines = []
        for name, found in self.verdicts.items():
            kinds = [v.verdict for v in found]
            lines.append([f"[{name}](#{anchor(name)})", *(str(kinds.count(kind)) for kind in SIGNS)])
        return markdown(("ours is", *(f"{sign} {kind}" for kind, sign in SIGNS.items())), lines)

    def table(self, table: Table) -> str:
        """A table with the paper's figures in brackets and a verdict on each."""
        self.verdicts[table.name] = []
        body = markdown((table.head, *table.columns), [self.line(table, row) for row in table.rows])
        parts = [f"### {table.name}", f"{table.title}.", table.words, body, self.why(table.name)]
        return "\n\n".join(filter(None, parts))

    def line(self, table: Table, row: Row) -> list[str]:
        """One line of a table."""
        cells = [
            self.cell(table, row, column, cell) for column, cell in zip(table.columns, row.cells, strict=True)
        ]
        return [row.title, *cells]

    def cell(self, table: Table, row: Row, column: str, cell: Cell | None) -> str:
        """Our figure, in brackets the paper's, and the sign of the verdict."""
        if cell is None:
            return ""
        ours = self.measurements.value(cell)
        if ours is None:
            return f"– ({cell.paper})" if cell.paper else "–"
        text = f"{ours:,.{table.digits}f}"
        if not cell.paper:
            return text
        kind = verdict(ours, cell.paper, higher=table.higher)
        self.verdicts[table.name].append(Verdict(table.name, kind, row.title, column, cell.figure))
        return f"{text} ({cell.paper}) {SIGNS[kind]}"

    def why(self, name: str) -> str:
        """Reasons for the verdicts of a table, and those worse that have none."""
        reasons, rest = explained(self.verdicts[name], REASONS)
        lines = [f"- {reason.text}" for reason in reasons]
        if rest:
            named = (f"{v.row}, {v.method}" for v in rest)
            lines.append(f"- No reason is known for ▼ in: {'; '.join(named)}.")
        return "\n".join(["Why:", "", *lines]) if lines else ""


def anchor(title: str) -> str:
    """Anchor of a heading, as GitHub and the site make it."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def chosen(papers: Mapping[str, Sequence[Table]], only: Iterable[str]) -> dict[str, Sequence[Table]]:
    """Tables with one of some words in their names; all if there are none."""
    words = [word.lower() for word in only]
    return {
        name: [t for t in tables if not words or any(word in t.name.lower() for word in words)]
        for name, tables in papers.items()
    }
