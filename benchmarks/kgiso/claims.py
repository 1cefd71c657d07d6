"""Claims of the text of the KGISO paper about its figures and tables, compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphs import erdos_renyi

from kgiso.cases import (
    EXACT,
    KLONE,
    OURS,
    PUBLISHED,
    REACH,
    TABLE_2,
    TITLES,
    Figure,
    K,
    Line,
    N,
    Scale,
    Setting,
    Sweep,
)
from kgiso.compare import BETTER, EQUAL, METRICS, WORSE, Results, verdict

Values = Mapping[int, float]  # of a metric, by what is varied
HALF = 0.5  # what grows "slightly" grows at most half as much as what it is held against


@dataclass(frozen=True)
class Claim:
    """A statement of the paper; `name` is that of its part and a number."""

    name: str
    says: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class Lines:
    """Measured lines of a sweep."""

    results: Results
    sweep: Sweep

    def values(self, metric: str, method: str, *, split: bool = False) -> Values:
        """Values of a metric along a line, those that there are."""
        line = self.sweep.lines.get(Line(method, split), {})
        found = {at: self.results.value(setting, metric) for at, setting in line.items()}
        return {at: value for at, value in found.items() if value is not None}


def span(metric: str, values: Iterable[float]) -> str:
    """Least and greatest value."""
    found, text = list(values), METRICS[metric].text
    low, high = text(min(found)), text(max(found))
    return low if low == high else f"{low} to {high}"


def ends(metric: str, values: Values) -> str:
    """The value at the least and at the greatest point."""
    first, last = min(values), max(values)
    text = METRICS[metric].text
    if first == last:
        return f"{text(values[first])} at {first:,}"
    return f"{text(values[first])} at {first:,}, {text(values[last])} at {last:,}"


def about(lines: Lines, name: str, says: str, expected: Callable[[int], float]) -> Claim | None:
    """KLONE adds about so many vertices."""
    values = lines.values("added", KLONE)
    if not values:
        return None
    found = {verdict(value, expected(at)) for at, value in values.items()}
    worst = WORSE if WORSE in found else BETTER if BETTER in found else EQUAL
    return Claim(name, says, f"KLONE {ends('added', values)}", worst)


def below(lines: Lines, name: str, metric: str, says: str) -> Claim | None:
    """KGUARD stays below KLONE, at each point; both modes must."""
    klone = lines.values(metric, KLONE)
    modes = {mode: lines.values(metric, mode) for mode in (EXACT, PUBLISHED)}
    if not klone or not all(modes.values()):
        return None
    holds = all(value < klone[at] for mode in modes.values() for at, value in mode.items() if at in klone)
    measured = "; ".join(
        f"{TITLES[m]} {ends(metric, values)}" for m, values in (modes | {KLONE: klone}).items()
    )
    return Claim(name, says, measured, EQUAL if holds else WORSE)


def grows(lines: Lines, name: str, metric: str, says: str, *, most: float | None = None) -> Claim | None:
    """KGUARD's values grow, which is better not so; with `most` by at most that much of KLONE's growth."""
    exact, klone = lines.values(metric, EXACT), lines.values(metric, KLONE)
    if len(exact) < 2 or len(klone) < 2:
        return None
    rise, other = (v[max(v)] - v[min(v)] for v in (exact, klone))
    found = BETTER if rise <= 0 else EQUAL if most is None or rise <= most * other else WORSE
    published = lines.values(metric, PUBLISHED)
    parts = [f"{TITLES[EXACT]} {ends(metric, exact)}"]
    parts += [f"{TITLES[PUBLISHED]} {ends(metric, published)}"] if published else []
    return Claim(name, says, "; ".join(parts), found)


def falls(lines: Lines, name: str, metric: str, says: str) -> Claim | None:
    """KGUARD's values get smaller from the least to the greatest point, or are 0 anyway."""
    exact = lines.values(metric, EXACT)
    if len(exact) < 2:
        return None
    first, last = exact[min(exact)], exact[max(exact)]
    found = BETTER if first == last == 0 else EQUAL if last < first else WORSE
    return Claim(name, says, f"{TITLES[EXACT]} {ends(metric, exact)}", found)


def stays(lines: Lines, name: str, metric: str, says: str, share: float) -> Claim | None:
    """KLONE's values stay within a share of their mean."""
    klone = lines.values(metric, KLONE)
    if len(klone) < 2:
        return None
    mean = sum(klone.values()) / len(klone)
    holds = max(klone.values()) - min(klone.values()) <= 2 * share * mean
    return Claim(name, says, f"KLONE {span(metric, klone.values())}", EQUAL if holds else WORSE)


def in_parts(
    lines: Lines, name: str, metric: str, says: str, slack: Callable[[float], float]
) -> Claim | None:
    """In parts a value is at most what `slack` makes of that of the whole, for each method and size."""
    found, parts = [], []
    for method in OURS:
        whole, split = lines.values(metric, method), lines.values(metric, method, split=True)
        if common := whole.keys() & split.keys():
            at = max(common)
            text = METRICS[metric].text
            parts.append(
                f"{TITLES[method]} at {at:,}: {text(split[at])} in parts, {text(whole[at])} as a whole"
            )
            found += [split[n] <= slack(whole[n]) for n in common]
    return Claim(name, says, "; ".join(parts), EQUAL if all(found) else WORSE) if found else None


def protected(lines: Sequence[Lines], name: str) -> list[Claim | None]:
    """Every subgraph is protected, in all runs on whole graphs: one statement a method."""
    found: list[Claim | None] = []
    for method in OURS:
        values = [value for each in lines for value in each.values("delta", method).values()]
        if values:
            whole = EQUAL if min(values) == 1 else WORSE
            says = f"{TITLES[method]}: every subgraph is protected"
            found.append(Claim(name, says, f"δ {span('delta', values)}", whole))
    return found


def figure_4(results: Results, figure: Figure) -> list[Claim | None]:
    """Section 7.1, Erdős–Rényi."""
    n, k, x = (Lines(results, sweep) for sweep in figure.sweeps)
    bound = 100.0 * (2 * K - 1)
    return [
        about(
            n, "4a", f"KLONE consistently adds around 200 % vertices (bound: {bound:.0f} %)", lambda _: 200.0
        ),
        below(n, "4a", "added", "KGUARD adds fewer vertices"),
        below(n, "4b", "u_symmetric", "KGUARD has a significantly lower U△"),
        about(k, "4c", "KLONE's additional vertices are linear in k", lambda at: 100.0 * (at - 1)),
        grows(k, "4c", "added", "KGUARD's grow only slightly", most=HALF),
        below(k, "4d", "u_symmetric", "KLONE has the worse U△ for each k"),
        stays(x, "4e", "added", "KLONE is unaffected by x", 0.01),
        grows(x, "4e", "added", "KGUARD's overhead grows with x"),
        below(x, "4f", "u_symmetric", "KGUARD has the lower U△"),
        grows(x, "text", "seconds", "KGUARD's time grows with x"),
        *protected((n, k, x), "Prop. 5.1, 6.1"),
    ]


def figure_5(results: Results, figure: Figure) -> list[Claim | None]:
    """Section 7.1, scale-free."""
    (n,) = (Lines(results, sweep) for sweep in figure.sweeps)
    return [
        about(n, "5a", "KLONE consistently adds around 200 % vertices", lambda _: 200.0),
        falls(n, "5a", "added", "KGUARD adds very few as the graph grows"),
        in_parts(n, "5a", "added", "split & merge adds no significant overhead", lambda whole: whole + 10.0),
        falls(n, "5b", "degree", "KGUARD's degrees come closer to the original's as the graph grows"),
        below(n, "5b", "degree", "KLONE's degrees differ more"),
        stays(n, "5b", "degree", "KLONE's distance is stable", 0.25),
        falls(n, "5c", "weights", "KGUARD's weights come closer as the graph grows"),
        below(n, "5c", "weights", "KLONE's weights differ more"),
        in_parts(n, "5b", "degree", "split & merge impacts degrees only slightly", lambda whole: whole + 0.5),
        in_parts(n, "5d", "seconds", "splitting significantly reduces the time", lambda whole: HALF * whole),
        *protected((n,), "Prop. 5.1, 6.1"),
    ]


def table_1(results: Results, scale: Scale) -> list[Claim | None]:
    """Section 7.1, its end: denser graphs take longer."""
    dense = erdos_renyi(N, 5_000)
    if not scale.takes(dense):
        return []
    times = {
        method: [results.value(Setting(graph, REACH, method), "seconds") for graph in (erdos_renyi(N), dense)]
        for method in OURS
    }
    found = {
        TITLES[m]: (few, many) for m, (few, many) in times.items() if few is not None and many is not None
    }
    parts = [f"{name} {few:.2f} s, {many:.2f} s" for name, (few, many) in found.items()]
    longer = EQUAL if any(many > few for few, many in found.values()) else BETTER
    says = "with three times the edges (Erdős–Rényi, n = 500) the time increases"
    return [Claim("text", says, "; ".join(parts), longer)] if found else []


def table_2(results: Results, scale: Scale) -> list[Claim | None]:
    """Section 7.2."""
    pairs = [(row, graph) for row, _, graph in TABLE_2.taken(scale)]

    def values(metric: str, method: str) -> list[float | None]:
        return [results.value(Setting(graph, row.rules, method), metric) for row, graph in pairs]

    lost = [value for method in OURS for value in values("u", method) if value is not None]
    both = zip(values("u_symmetric", EXACT), values("u_symmetric", KLONE), strict=True)
    extra = [(mine, copies) for mine, copies in both if mine is not None and copies is not None]
    if not lost or not extra:
        return []
    lower = all(mine < copies for mine, copies in extra)
    exact, klone = (span("u_symmetric", found) for found in zip(*extra, strict=True))
    says = "on each graph KLONE has more incorrect answers than KGUARD"
    return [
        Claim(
            "text", "U is close to 0 (at most 0.010)", f"at most {max(lost):.3f}", verdict(max(lost), 0.010)
        ),
        Claim("text", says, f"{TITLES[EXACT]} {exact}; KLONE {klone}", EQUAL if lower else WORSE),
    ]


def on_table(results: Results, scale: Scale, number: int) -> list[Claim]:
    """Statements on a table of which something was measured."""
    found = {1: table_1, 2: table_2}.get(number)
    return [claim for claim in found(results, scale) if claim] if found else []


def claims(results: Results, figure: Figure) -> list[Claim]:
    """Statements on a figure of which something was measured."""
    found = figure_4(results, figure) if figure.number == 4 else figure_5(results, figure)
    return [claim for claim in found if claim]
