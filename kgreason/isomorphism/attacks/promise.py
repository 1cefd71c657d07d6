"""Whether a release keeps its promise to somebody of whom an attacker knows a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT
from kgreason.isomorphism.attacks.attack_results import Promise
from kgreason.isomorphism.attacks.attack_settings import PARTS, Part, World
from kgreason.isomorphism.attacks.known_parts import Candidates, Loose, space_of
from kgreason.isomorphism.verification.image_search import packs, placements, tokens
from kgreason.isomorphism.verification.images import decide
from kgreason.isomorphism.verification.release_index import Space
from kgreason.isomorphism.verification.subgraph_visits import ENDLESS
from kgreason.language.check.checked_program import CheckedProgram

Ints = npt.NDArray[np.int64]

FEW = 1 << 8  # places of a class among which images are looked for before all are
PATIENCE = 1 << 28  # comparisons for one part
VISITED = (
    1 << 28
)  # sets of a release at most where nothing is promised; what is promised is decided as by `verify`
DEFINED = next(part for part in PARTS if part.name == "part:weights+rules")  # the attacker of the definition


def unpromised(part: Part, size: int, sizes: Sequence[int], commute: bool, weights: str) -> str:
    """Why Definition 4.1 does not protect from the knowledge of a part; empty if it does.

    Of the sizes asked for it protects from whoever has Σ, and so from whoever has less. A smaller part lies in one of
    a size asked for, and its images in that one's: they have the same edges, so that rules derive the same where they
    see no weights, and what was derived from the smaller part stands there as well. Only whoever has Σ and weights
    may tell the smaller parts apart, if the rules do not commute (Proposition 4.1). Of other rules with weights it
    says nothing, nor of what is derived with weights that are not the ``"released"`` ones. Rows with the same key are
    promised alike.
    """
    if part.sees == "other" and part.weighted:
        return "other rules"
    if weights != "released" and (part.sees == "derived" or part.key[1]):
        return "original weights"
    if size > max(sizes):
        return f"x' > {max(sizes)}"
    if part.sees == "rules" and part.weighted and not commute and size not in sizes:
        return f"x' < {min(sizes)}" if size < min(sizes) else f"x' = {size}"
    return ""


def kept(
    found: Candidates, world: World, part: Part, rules: Mapping[str, CheckedProgram], k: int, reason: str
) -> Promise:
    """Count the parts with k candidates that are apart from each other: no vertex in common, no equal degree.

    Parameters
    ----------
    reason
        Why the definition does not promise that there are so many; empty if it does.
    """
    asked = not reason
    right = np.flatnonzero(found.right)
    rows = world.truth[found.parts[right]]
    if isinstance(found, Loose):
        resisted, undecided = _loose(found, world, rules, k, asked)
    else:
        resisted, undecided = _decided(rows, world, part, rules, k, asked)
    return Promise(reason, len(found.parts) - len(right) + resisted, undecided, len(found.parts))


def _decided(
    rows: Ints, world: World, part: Part, rules: Mapping[str, CheckedProgram], k: int, asked: bool
) -> tuple[int, int]:
    """How many places have images in the whole release, and how many were given up."""
    if not len(rows):
        return 0, 0
    most = ENDLESS if asked else VISITED
    outcome = decide(space_of(world.released, part, rules), rows.shape[1], rows, k, SILENT, most=most)
    return outcome.satisfied, outcome.undecided


def _loose(
    found: Loose, world: World, rules: Mapping[str, CheckedProgram], k: int, asked: bool
) -> tuple[int, int]:
    """The same for somebody without rules, among the places that were looked at."""
    # If these are not all, k of them are enough, but fewer tell nothing. Where the definition protects him,
    # images for whoever has the rules as well are images for him.
    right = np.flatnonzero(found.right)
    traits = Space(world.released, rules["rules"]).traits
    status = np.array([_apart(found, world, traits, i, k - 1) for i in right.tolist()], dtype=np.int64)
    resisted = int((status == 1).sum())
    if found.complete:
        return resisted, int((status == -1).sum())
    if asked:
        rest = world.truth[found.parts[right[status != 1]]]
        resisted += _decided(rest, world, DEFINED, rules, k, asked)[0]
    return resisted, len(right) - resisted


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
