"""Tables of what attackers find: in a graph before it is anonymized, and in releases."""

from __future__ import annotations

from kgreason.advice.report import Risk
from kgreason.assess.risk import Exposure
from kgreason.attacks import table
from kgreason.attacks.links import disclosure
from kgreason.attacks.links.disclosure import Disclosure
from kgreason.attacks.results import Attacks
from kgreason.report.data import Table


def risk_table(found: Risk) -> Table:
    """A row for each kind of knowledge: prosecutor's risks, and of a population journalist's and marketer's."""
    columns = ("an attacker knows", "unique", "", f"fewer than {found.k}", "highest risk", "average")
    among = ("in population: highest", f"fewer than {found.k}", "marketer")
    population = found.population is not None
    return Table(
        "Prosecutor's risk" + ", and those of a journalist and a marketer" * population,
        (*columns, *(among if population else ())),
        tuple(_exposure(exposure, population) for exposure in found.exposures),
        "better is 0 everywhere",
        note="~ is an estimate" if any(e.looked is not None for e in found.exposures) else "",
    )


def _exposure(e: Exposure, population: bool) -> tuple[str, ...]:
    name = e.knowledge if e.looked is None else f"{e.knowledge} ~"
    share = f"{e.unique / max(1, e.vertices):.1%}"
    row = (name, f"{e.unique:,}", share, f"{e.at_risk:.1%}", f"{e.highest:.4f}", f"{e.average:.4f}")
    if not population:
        return row
    return (*row, f"{e.journalist_highest:.4f}", f"{e.journalist_at_risk:.1%}", f"{e.marketer:.4f}")


def attacks_table(found: Attacks) -> Table:
    """A row for each attack."""
    rows = tuple(map(table.row, found.attacks))
    return Table("", table.HEAD, rows, "better is found 0 %, and no unique target")


def disclosure_table(found: Disclosure) -> Table:
    """A row for each threshold."""
    better = "better is a precision as that of a guess (lift 1), and recall and δ 0"
    return Table("", disclosure.HEAD, tuple(map(disclosure.cells, found.at)), better)
