"""The figures of LINKS for a sensitive relation that rules derive: control, from released shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kgreason.graph.generators import ownership, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.language.check.program_checker import load_file
from kgreason.links.attacks.entity_pairs import Beliefs
from kgreason.links.attacks.noisy_or import knowledge_of
from kgreason.links.attacks.rule_attacker import rule_beliefs
from kgreason.links.model import Original, Released
from kgreason.links.reading import links_of_program
from zheleva.conclusions import Check, Conclusion, formatted, over_thresholds, precise
from zheleva.series import (
    COARSE,
    COARSE_CONSTRAINED,
    FINE,
    FINE_CONSTRAINED,
    INTACT,
    PARTIAL,
    SIX,
    THRESHOLDS,
    Release,
    Series,
    attacked,
)

RULES = load_file(Path(__file__).with_name("control.vada"))
CERTAINTY = 0.9  # the probability of the rule of a majority there
COMPANIES = 100
WORLDS = 50
REGISTER, RANDOM = "register", "scale-free"
# mean companies in a group, beside the 6 that registers have: the larger, the more is controlled
SIZES = (
    2,
    16,
)
OVER_SIZE = SIX[:4]


@dataclass(frozen=True)
class Derived:
    """Series of graphs of shares.

    Attributes
    ----------
    graphs
        By how they are drawn: as a register of companies and persons, or scale-free.
    by_group
        Registers, by the mean number of companies in a group.
    """

    graphs: Mapping[str, Series]
    by_group: Mapping[int, Series]


def derived(graphs: int, seed: int) -> Derived:
    """Draw graphs of shares, and attack each release by the attacker with rules."""
    drawn = {
        REGISTER: lambda rng: ownership(COMPANIES, rng),
        RANDOM: lambda rng: scale_free(COMPANIES, 3.0, rng, economic=True),
    }
    found = {
        name: _measured(graphs, (seed, 11, place), SIX, draw)
        for place, (name, draw) in enumerate(drawn.items())
    }
    small, large = (
        _measured(graphs, (seed, 12, size), OVER_SIZE, partial(ownership, COMPANIES, group_size=size))
        for size in SIZES
    )
    return Derived(found, {SIZES[0]: small, 6: found[REGISTER], SIZES[1]: large})


def _measured(
    graphs: int,
    seed: tuple[int, ...],
    releases: tuple[Release, ...],
    draw: Callable[[np.random.Generator], KnowledgeGraph],
) -> Series:
    return attacked(
        graphs,
        seed,
        releases,
        lambda rng: controlled(draw(rng)),
        lambda released, original, _, rng: believed(released, original, rng),
    )


def controlled(graph: KnowledgeGraph) -> Original:
    """Shares, and the control that follows from them by rules taken as certain; nobody's control of himself."""
    own = graph.relations["own"]
    assert own.weight is not None
    ends = (graph.labels[found].tolist() for found in (own.source, own.target))
    data = {
        "company": [(label,) for label in graph.labels.tolist()],
        "own": list(zip(*ends, own.weight.tolist(), strict=True)),
    }
    return links_of_program(RULES, data, "control")


def believed(released: Released, original: Original, rng: np.random.Generator) -> Beliefs:
    """Beliefs of an attacker who has the rules and knows of no control without a cause."""
    return rule_beliefs(
        released,
        RULES,
        sensitive="control",
        leak=0.0,
        worlds=WORLDS,
        rng=rng,
        limits=knowledge_of(original.graph).limits,
    )


def conclusions_of_rules(found: Derived) -> list[Conclusion]:
    """The paper's, as far as they can be asked here, and what rules add."""
    graphs = found.graphs
    return [
        *over_thresholds(graphs, graphs, "links of control"),
        Conclusion(
            "5. Where there is more of the sensitive relation, cluster-edge k=6 comes to the recall of partial 50 %",
            "recall of at least that of partial 50 %, in registers with larger groups",
            tuple(
                _recalls(f"groups of {size}, {at:g}", series, at)
                for size, series in found.by_group.items()
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            "R1. What follows from fewer shares is true",
            "precision of intact and of partial 50 % is 1",
            tuple(
                Check(
                    f"{name}, {release}, {at:g}",
                    precise(series.points[release, at]),
                    series.points[release, at].precision == 1,
                )
                for name, series in graphs.items()
                for release in (INTACT, PARTIAL)
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            "R2. Without clusters no threshold below the probability of the rule hides anything",
            "as many links of control revealed at all thresholds",
            tuple(_flat(name, series, release) for name, series in graphs.items() for release in SIX[:2]),
        ),
        Conclusion(
            "R3. Half of the shares tell less than half of the control",
            "recall of partial 50 % below 0.5 times that of intact",
            tuple(
                Check(
                    name,
                    f"{series.points[PARTIAL, 0.6].recall:.2f} : {series.points[INTACT, 0.6].recall:.2f}",
                    2 * series.points[PARTIAL, 0.6].recall < series.points[INTACT, 0.6].recall,
                )
                for name, series in graphs.items()
            ),
        ),
        Conclusion(
            "R4. Clusters of six reveal no control at all",
            "none revealed, at any threshold",
            tuple(
                _none(name, series, release, at)
                for name, series in graphs.items()
                for release in (COARSE, COARSE_CONSTRAINED)
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            "R5. Clusters of two reveal no control above 0.6",
            "none revealed at 0.6 and 0.8",
            tuple(
                _none(name, series, release, at)
                for name, series in graphs.items()
                for release in (FINE, FINE_CONSTRAINED)
                for at in (0.6, 0.8)
            ),
        ),
        Conclusion(
            "R6. At 0.2 clusters of two reveal more than removing 50 %, but less surely",
            "more links of control revealed, with less than a third of the precision",
            tuple(_more(name, series) for name, series in graphs.items()),
        ),
    ]


def _none(name: str, series: Series, release: Release, at: float) -> Check:
    revealed = series.points[release, at].revealed
    return Check(f"{name}, {release}, {at:g}", f"{revealed:,.2f}", revealed == 0)


def _more(name: str, series: Series) -> Check:
    low = THRESHOLDS[0]
    a, b = series.points[FINE, low], series.points[PARTIAL, low]
    fine = a.revealed > b.revealed and 3 * (a.precision or 0) < (b.precision or 0)
    return Check(name, f"{formatted(a)} : {formatted(b)}", fine)


def _recalls(where: str, series: Series, at: float) -> Check:
    a, b = series.points[COARSE, at].recall, series.points[PARTIAL, at].recall
    return Check(where, f"{a:.3f} : {b:.3f}", a >= b)


def _flat(name: str, series: Series, release: Release) -> Check:
    values = [series.points[release, at].revealed for at in THRESHOLDS]
    return Check(f"{name}, {release}", " ".join(f"{value:,.1f}" for value in values), len(set(values)) == 1)
