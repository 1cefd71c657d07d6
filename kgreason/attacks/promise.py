"""Whether a release keeps its promise to somebody of whom an attacker knows a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess.images import decide
from kgreason.assess.packing import packs, placements, tokens
from kgreason.assess.space import Space
from kgreason.attacks.knowledge import Part
from kgreason.attacks.results import Promise
from kgreason.attacks.sight import Candidates, Loose, space_of
from kgreason.attacks.world import World
from kgreason.progress import SILENT

Ints = npt.NDArray[np.int64]

FEW = 1 << 8  # places of a class among which images are looked for before all are
PATIENCE = 1 << 28  # comparisons for one part


def promised(part: Part, size: int, sizes: Sequence[int], commute: bool) -> bool:
    """Whether Definition 4.1 protects from the knowledge of a part.

    Of the sizes asked for it protects from whoever has Σ, and so from whoever has less. A smaller part lies in one of
    a size asked for, and its images in that one's: they have the same edges, so that rules derive the same where they
    see no weights, and what was derived from the smaller part stands there as well. Only whoever has Σ and weights
    may tell the smaller parts apart, if the rules do not commute (Proposition 4.1). Of other rules with weights it
    says nothing.
    """
    if part.sees == "other" and part.weighted:
        return False
    if part.sees == "rules" and part.weighted and not commute:
        return size in sizes
    return size <= max(sizes)


def kept(found: Candidates, world: World, part: Part, rules: Mapping[str, CheckedProgram], k: int) -> Promise:
    """Count the parts with k candidates that are apart from each other: no vertex in common, no equal degree."""
    right = np.flatnonzero(found.right)
    resisted = len(found.parts) - len(right)
    undecided = 0
    if not found.complete:
        undecided = len(right)
    elif isinstance(found, Loose):
        traits = Space(world.released, rules["rules"]).traits
        status = [_apart(found, world, traits, i, k - 1) for i in right.tolist()]
        resisted += status.count(1)
        undecided = status.count(-1)
    elif len(right):
        rows = world.truth[found.parts[right]]
        outcome = decide(space_of(world.released, part, rules), rows.shape[1], rows, k, SILENT)
        resisted += outcome.satisfied
        undecided = outcome.undecided
    return Promise(False, resisted, undecided, len(found.parts))


def _apart(found: Loose, world: World, traits: Ints, i: int, need: int) -> int:
    """Whether some candidates are apart from the true place of a part and from each other: 1, 0, or -1 given up."""
    target = world.truth[found.parts[i]][found.order[i]]
    own = np.arange(len(target))[None, :]
    for most in (FEW, None):
        fit = placements(target, found.placed(i, most), own, traits)
        status = packs(tokens(fit, traits), need, PATIENCE)[0] if len(fit) else int(need == 0)
        if status == 1:
            break
    return status
