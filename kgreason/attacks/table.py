"""Attacks as a table of text."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.attacks.results import Attack, Attacks, Rate
from kgreason.attacks.setting import PARTS

HEAD = (
    "attacker knows",
    "x'",
    "candidates",
    "found",
    "unique",
    "naive",
    "others",
    "before",
    "filtered",
    "guarantee",
)
NAMED = 5  # exposed vertices
NOTED = 0.01  # found less surely, they are not named
FORMULAS = {part.name: part.formula for part in PARTS}


def as_text(found: Attacks) -> str:
    """A line for each attack, what the filter dropped, and the most exposed vertices."""
    rows = [HEAD, *(row(attack) for attack in found.attacks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in rows
    ]
    return "\n".join([*lines, "", *_legend(found), "", *_rest(found)])


def row(attack: Attack) -> tuple[str, ...]:
    """Cells of an attack below `HEAD`."""
    main = attack.runs["main"]
    about = "" if main.complete else "≥ "
    candidates = about + "..".join(f"{c:,.0f}" for c in main.candidates[::2])
    return (
        FORMULAS.get(attack.knowledge, attack.knowledge),
        str(attack.size or ""),
        candidates,
        f"{percent(main.found)}{_margin(main.found)}",
        percent(main.unique),
        *(percent(attack.runs[run].found) if run in attack.runs else "-" for run in RUNS),
        _guarantee(attack),
    )


RUNS = ("naive", "control", "unprotected", "filtered")


def percent(rate: Rate) -> str:
    """A rate in per cent.

    Examples
    --------
    >>> percent(Rate(0.0004, 0, 0)), percent(Rate(0.5, 0.4, 0.6)), percent(Rate(0.0, 0.0, 0.0))
    ('0.04 %', '50.0 %', '0 %')
    """
    value = 100 * rate.value
    if not value:
        return "0 %"
    return f"{value:.1f} %" if value >= 0.95 else f"{value:.2g} %"


def _margin(rate: Rate) -> str:
    return f" ({100 * rate.low:.1f}..{100 * rate.high:.1f})" if rate.high > rate.low else ""


def _guarantee(attack: Attack) -> str:
    promise = attack.promise
    if promise is None:
        return "none"
    open_ = promise.undecided if promise.state == "undecided" else 0
    failed = open_ or promise.targets - promise.resisted - promise.undecided
    count = f" {failed:,}/{promise.targets:,}" if failed else ""
    return f"{'promised' if promise.promised else f'not asked ({promise.reason})'}: {promise.state}{count}"


def _legend(found: Attacks) -> Iterator[str]:
    """What the columns mean, those that the table has something in."""
    reasons = {attack.promise.reason for attack in found.attacks if attack.promise}
    sizes = ", ".join(map(str, found.x))
    yield "x'          vertices of the part of the original that the attacker knows"
    yield "candidates  places in the release that fit this knowledge: least..median..greatest"
    yield "found       chance to pick the true place among the candidates, mean over the targets (95 % interval)"
    yield "unique      targets whose true place is the only candidate"
    yield "naive       found without any knowledge"
    yield "others      found with the knowledge of somebody who is not in the data"
    yield "before      found in the original"
    yield "filtered    found in the release without implausible edges"
    yield f"guarantee   promised: covered by -k {found.k} -x {sizes}; resists: every target keeps {found.k} places"
    yield "            that share no vertex and differ in all degrees; succeeds n/m: n of m targets do not"
    if any(reason.startswith("x'") for reason in reasons):
        yield f"            not asked (x' > ... or < ...): -x {sizes} does not cover parts of this size. KLONE promises"
        yield "            every size: name this one by -x, too, for its releases"
    if "other rules" in reasons:
        yield "            not asked (other rules): the definition knows the rules of the release alone"
    if "original weights" in reasons:
        yield "            not asked (original weights): the definition speaks of what released weights derive"


def _rest(found: Attacks) -> Iterator[str]:
    dropped = found.filtered
    yield (
        f"filter: {dropped.dropped:,} of {dropped.edges:,} edges dropped; {dropped.right:,} of them are among the "
        f"{dropped.synthetic:,} synthetic ones (precision {dropped.precision:.2f}, by chance "
        f"{dropped.synthetic / max(dropped.edges, 1):.2f}; recall {dropped.recall:.2f})"
    )
    yield from found.notes
    if found.broken:
        yield "BROKEN: an attacker against whom the guarantee protects tells some places apart"
    if found.undecided:
        yield "UNDECIDED: it is not known whether the guarantee stands up to an attacker against whom it protects"
    exposed = sorted(
        ((e.found, e.vertex, attack) for attack in found.attacks for e in attack.exposed if e.found >= NOTED),
        key=lambda found: (-found[0], found[1]),
    )
    first = dict[str, str]()
    for rate, vertex, attack in exposed:
        size = f" of {attack.size} vertices" if attack.size else ""
        first.setdefault(vertex, f"{vertex} ({100 * rate:.0f} % by {attack.knowledge}{size})")
    if first:
        yield f"most exposed (original vertices: keep this secret): {', '.join([*first.values()][:NAMED])}"
