"""Semi-naive evaluation of one rule: a variant for each recursive atom.

With the atoms p1, ..., pk of the stratum in a body, the bindings that use at least one recent fact are the
disjoint union over i of: p1..p(i-1) stable, pi recent, the others any (Bancilhon and Ramakrishnan 1986, §4).
"""

from __future__ import annotations

from collections.abc import Collection

from kgreason.analysis.checked import CheckedRule
from kgreason.plan.ir import Part


def variants(rule: CheckedRule, recursive: Collection[str], keyed: Collection[str]) -> list[tuple[Part, ...]]:
    """Part that each positive atom reads, for each variant.

    A rule without recursive atoms has one variant that reads all facts. Facts of `keyed` predicates change in
    place, so none of them counts as stable.
    """
    here = [i for i, atom in enumerate(rule.positives) if atom.predicate in recursive]
    if not here:
        return [(Part.ALL,) * len(rule.positives)]

    def part(i: int, recent: int) -> Part:
        if i == recent:
            return Part.RECENT
        stable = i in here and i < recent and rule.positives[i].predicate not in keyed
        return Part.STABLE if stable else Part.ALL

    return [tuple(part(i, recent) for i in range(len(rule.positives))) for recent in here]
