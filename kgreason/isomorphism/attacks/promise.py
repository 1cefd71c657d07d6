"""Check whether a release fulfils its guarantee against an attacker who knows an x-subgraph."""

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

FEW = 1 << 8  # occurrences of a class among which images are searched before all are
PATIENCE = 1 << 28  # comparisons for one x-subgraph
VISITED = (
    1 << 28
)  # sets of a release visited at most if the guarantee does not apply; otherwise as many as `verify` visits
DEFINED = next(part for part in PARTS if part.name == "part:weights+rules")  # the attacker of the definition


def unpromised(part: Part, size: int, sizes: Sequence[int], commute: bool, weights: str) -> str:
    """Reason why Definition 4.1 does not protect against knowledge of an x-subgraph; empty if it does.

    For the sizes of the guarantee it protects against attackers who know Σ, and so against those who know less. A
    smaller subgraph lies in one of a guaranteed size, and its images in the images of that: they have the same edges,
    so that rules which see no weights derive the same, and edges derived from the smaller subgraph are present as well.
    Only attackers who know Σ and weights may distinguish the smaller subgraphs, if the rules do not commute
    (Proposition 4.1). The definition covers neither other rules with weights nor edges derived from weights other than
    the ``"released"`` ones. The result is equal for rows of Table 4 with equal keys.
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
    """Count the x-subgraphs with k candidates that pairwise share no vertex and no degree at any position.

    Parameters
    ----------
    reason
        Reason why the definition does not cover this attacker; empty if it does.
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
    """Number of occurrences with images in the whole release, and number of those given up."""
    if not len(rows):
        return 0, 0
    most = ENDLESS if asked else VISITED
    outcome = decide(space_of(world.released, part, rules), rows.shape[1], rows, k, SILENT, most=most)
    return outcome.satisfied, outcome.undecided


def _loose(
    found: Loose, world: World, rules: Mapping[str, CheckedProgram], k: int, asked: bool
) -> tuple[int, int]:
    """As `_decided` for an attacker without rules, among the examined occurrences."""
    # If not all occurrences were examined, k of them suffice, but fewer are inconclusive. If the definition covers the
    # attacker, images for an attacker who also knows the rules are images for this one.
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
    """Whether `need` candidates are apart from the true occurrence and each other: 1, 0, or -1 given up."""
    target = world.truth[found.parts[i]][found.order[i]]
    own = np.arange(len(target))[None, :]
    for most in (FEW, None):
        fit = placements(target, found.placed(i, most), own, traits)
        status = packs(tokens(fit, traits), need, PATIENCE)[0] if len(fit) else int(need == 0)
        if status == 1:
            break
    return status
