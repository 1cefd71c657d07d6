"""The page: conclusions of the paper, their verdicts, and the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template

from zheleva.conclusions import Conclusion, conclusions, formatted, precise
from zheleva.derived import CERTAINTY, OVER_SIZE, WORLDS, Derived, conclusions_of_rules
from zheleva.series import (
    COARSE,
    FINE,
    INTACT,
    PARTIAL,
    READINGS,
    SHARP,
    SIX,
    THRESHOLDS,
    Measured,
    Point,
    Series,
)
from zheleva.values import ALIKE, ATTACKERS, CLOSE, COUNTRIES, WAYS, Valued
from zheleva.values import WORLDS as DEALS

WORDS = Path(__file__).with_name("page.md")
READING_TITLES = {"slots": "pairs of the clusters", "one": "one observation", "all": "all pairs, V²"}
AT = 0.6  # threshold of the tables of Figure 9


def page(found: Measured, rules: Derived, values: Valued, command: str, seed: int) -> str:
    """The whole page."""
    said = conclusions(found)
    of_rules = conclusions_of_rules(rules)
    parts = {
        "command": command,
        "graphs": str(found.graphs),
        "seed": f"The seed is {seed}.",
        "conclusions": listed(said),
        "conclusions_rules": listed(of_rules),
        "sharp": sharp(found),
        "shared": f"{found.by_density[0.2].densities['classmates']:.2f}",
        "friends": f"{found.by_density[0.2].friends:.2f}",
        "later": " and ".join(f"{found.by_density[at].friends:.2f}" for at in (0.4, 0.5)),
        "readings": readings(found),
        "figure_7": by_threshold({"dense": found.dense, "sparse": found.sparse}),
        "figure_9": over("density", {f"{at:g}": series for at, series in found.by_density.items()}),
        "figure_size": over("students", {str(n): series for n, series in found.by_size.items()}),
        "checks": "\n\n".join(map(checks, said)),
        "checks_rules": "\n\n".join(map(checks, of_rules)),
        "certainty": f"{CERTAINTY:g}",
        "worlds": str(WORLDS),
        "control": derived_links(rules),
        "figure_rules": of_control(rules.graphs),
        "figure_groups": over_groups(rules.by_group),
        "alike": f"{ALIKE:g}",
        "countries": str(COUNTRIES),
        "close": f"{CLOSE:g}",
        "deals": str(DEALS),
        "friends_values": f"{values.friends:.2f}",
        "figure_values": of_values(values),
    }
    return Template(WORDS.read_text(encoding="utf-8")).substitute(parts)


def listed(said: Iterable[Conclusion]) -> str:
    """Rows of conclusions: the claim, its measurable reading, and the verdict."""
    return "\n".join(f"| {one.says} | {one.means} | {_mark(one)} |" for one in said)


def _mark(one: Conclusion) -> str:
    verdict = f"**{one.verdict}**"
    return verdict if len(verdict) < 60 else f"**fails** in some: {one.verdict.removeprefix('fails at: ')}"


def sharp(found: Measured) -> str:
    """Pairs that the stronger attacker discloses in constrained clusters."""
    parts = []
    for name, series in (("dense", found.dense), ("sparse", found.sparse)):
        of = " and ".join(f"{series.points[r, 0.4].revealed:,.1f} for k={r.k}" for r in SHARP)
        parts.append(f"{name}, threshold 0.4: {of} instead of {series.points[SIX[4], 0.4].revealed:,.1f}")
    return "; ".join(parts)


def readings(found: Measured) -> str:
    """Friends revealed by cluster-edge under each reading."""
    rows = []
    places = (
        ("dense", found.dense, (0.4, 0.6)),
        ("sparse", found.sparse, (0.4, 0.6)),
        ("density 0.5", found.by_density[0.5], (0.4, 0.6)),
    )
    for release in (FINE, COARSE, *READINGS):
        cells = [
            formatted(series.points[release, at]) for _, series, thresholds in places for at in thresholds
        ]
        rows.append([READING_TITLES[release.reading], str(release.k), *cells])
    head = [f"{name}, {at:g}" for name, _, thresholds in places for at in thresholds]
    return "Friends revealed (precision):\n\n" + markdown(("divided by", "k", *head), rows)


def by_threshold(graphs: Mapping[str, Series]) -> str:
    """Friends revealed and precision at each threshold."""
    rows = [
        [name, str(release), *(formatted(series.points[release, at]) for at in THRESHOLDS)]
        for name, series in graphs.items()
        for release in SIX
    ]
    heads = ("graph", "release", *(f"above {at:g}" for at in THRESHOLDS))
    friends = "; ".join(
        f"{name}: {series.friends:.0%} of {series.students * (series.students - 1) // 2:,} pairs are friends"
        for name, series in graphs.items()
    )
    return f"Friends revealed (precision). {friends}.\n\n{markdown(heads, rows)}"


def over(x: str, series: Mapping[str, Series]) -> str:
    """Precision and recall at one threshold; folded."""
    releases = (INTACT, PARTIAL, FINE, COARSE, SIX[5])
    rows = [
        [at, f"{one.friends:.2f}", *(both(one.points[release, AT]) for release in releases)]
        for at, one in series.items()
    ]
    table = markdown((x, "friendship density", *map(str, releases)), rows)
    return folded(f"Precision, recall at threshold {AT:g}", table)


def derived_links(rules: Derived) -> str:
    """How many links of control there are."""
    return "; ".join(
        f"{name}: {series.points[INTACT, AT].sensitive:,.1f} links of control, {series.friends:.2%} of all pairs"
        for name, series in rules.graphs.items()
    )


def of_control(graphs: Mapping[str, Series]) -> str:
    """Links of control revealed, precision and recall at each threshold."""
    rows = [
        [name, str(release), *(_three(series.points[release, at]) for at in THRESHOLDS)]
        for name, series in graphs.items()
        for release in SIX
    ]
    return markdown(("graph", "release", *(f"above {at:g}" for at in THRESHOLDS)), rows)


def over_groups(by_group: Mapping[int, Series]) -> str:
    """Precision and recall of registers at the lowest threshold and at 0.6."""
    thresholds = (THRESHOLDS[0], AT)
    rows = [
        [str(size), f"{one.friends:.2%}", *(both(one.points[r, at]) for at in thresholds for r in OVER_SIZE)]
        for size, one in by_group.items()
    ]
    heads = (f"{release}, {at:g}" for at in thresholds for release in OVER_SIZE)
    return markdown(("companies in a group", "density of control", *heads), rows)


def of_values(found: Valued) -> str:
    """Friends revealed, precision and recall by each attacker."""
    rows = [
        [
            str(way),
            f"{found.clusters[way]:.1f}",
            f"{found.apart[way]:.2f}",
            attacker,
            *(_three(found.points[way, attacker, at]) for at in THRESHOLDS),
        ]
        for way in WAYS
        for attacker in ATTACKERS
    ]
    heads = (
        "release",
        "clusters",
        "distance of values",
        "attacker sees",
        *(f"above {at:g}" for at in THRESHOLDS),
    )
    return markdown(heads, rows)


def _three(point: Point) -> str:
    return f"{formatted(point)}, {point.recall:.2f}"


def both(point: Point) -> str:
    """Precision and recall."""
    return f"{precise(point)}, {point.recall:.2f}"


def checks(one: Conclusion) -> str:
    """All comparisons of a conclusion; folded."""
    rows = [[check.where, check.figures, "holds" if check.holds else "fails"] for check in one.checks]
    return folded(one.says, markdown(("where", "measured", ""), rows))


def folded(title: str, text: str) -> str:
    """Text that is shown on demand."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
