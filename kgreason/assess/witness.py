"""Witnesses in words: what a person needs to see that a condition fails."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.assess.images import Outcome
from kgreason.assess.space import Scarcity, Space

Ints = npt.NDArray[np.int64]
DEGREES = "in-degree", "out-degree"
CHECKED = 1 << 18  # members of a class that a witness is written from


def image_witness(
    space: Space, found: Outcome, row: int, k: int, originals: npt.NDArray[np.object_] | None
) -> str:
    """Describe an attacked subgraph and why it lacks images.

    Parameters
    ----------
    row
        Which of the attacked subgraphs.
    originals
        For each released vertex the label of its original, `None` for synthetic ones; `None` if nobody knows.
    """
    vertices = found.members[row].tolist()
    labels = space.graph.labels
    names = [
        str(labels[v]) if originals is None else f"{labels[v]} (original {originals[v]})" for v in vertices
    ]
    lines = [f"subgraph of {', '.join(names)}", *_edges(space, found, row)]
    if found.status[row] == -1:
        return "\n  ".join([*lines, f"not decided: {found.given_up}"])
    return "\n  ".join([*lines, _reason(space, found, row, k)])


def _edges(space: Space, found: Outcome, row: int) -> list[str]:
    labels = space.graph.labels[found.members[row]]
    types = found.forms.form(int(found.classes[row])).types
    ground, derived = [], []
    for a, b in np.argwhere(types):
        counts = space.pairs.counts[types[a, b] % space.ground_types]
        bits = int(types[a, b]) // space.ground_types
        for name, count in zip(space.graph.relations, counts.tolist(), strict=True):
            if count:
                ground.append(f"{name}: {labels[a]} -> {labels[b]}" + f" ({count} edges)" * (count > 1))
        for number, name in enumerate(space.rules.derived):
            if bits >> number & 1:
                derived.append(f"{name}: {labels[a]} -> {labels[b]}")
    return [
        f"edges: {'; '.join(ground) or 'none'}",
        f"derived edges: {'; '.join(derived) or 'none'}",
    ]


def _reason(space: Space, found: Outcome, row: int, k: int) -> str:
    number = int(found.classes[row])
    target = found.members[row]
    if number not in found.pools and (scarce := Scarcity(space).of(found.forms.form(number), k)) is not None:
        return (  # the members were not listed
            f"the vertex in the place of {space.graph.labels[target[scarce.position]]} needs {scarce.ingoing} ingoing "
            f"and {scarce.outgoing} outgoing edges; vertices of the release that have them differ too little: number "
            f"of {DEGREES[scarce.trait]}s: {scarce.values}"
        )
    whole = found.pools.get(number, target[None, :])
    pool = whole[:CHECKED]
    about = "at least " if len(whole) > len(pool) else ""
    disjoint = pool[~np.isin(pool, target).any(axis=1)]
    same = max(len(whole) - 1, 0)
    text = (
        f"KG-isomorphic to {same:,} other subgraphs of the release; "
        f"{about}{len(disjoint):,} share no vertex with it"
    )
    if len(disjoint) < 1:
        return text
    turns = found.forms.form(number).automorphisms
    placed = disjoint[:, turns].reshape(-1, len(target))
    differs = space.traits[placed] != space.traits[target][None, :, :]
    fits = differs.all(axis=(1, 2))
    count = int(fits.reshape(len(disjoint), -1).any(axis=1).sum())
    text += (
        f"; of these {about}{count:,} can have all labels, in-degrees and out-degrees different from its own"
    )
    if count >= k - 1:
        return f"{text}, but no {k - 1} of them that are disjoint and different from each other"
    return text + _equal_degrees(space, target, differs)


def _equal_degrees(space: Space, target: Ints, differs: npt.NDArray[np.bool_]) -> str:
    """Name the vertex whose degree is the most common obstacle."""
    equal = (~differs[:, :, :2]).mean(axis=0)
    position, trait = np.unravel_index(int(equal.argmax()), equal.shape)
    degree = space.traits[target[position], trait]
    word = DEGREES[int(trait)]
    label = space.graph.labels[target[position]]
    share = equal[position, trait]
    return f"; in {share:.0%} of the placements the vertex in the place of {label} has its {word}, {degree}"
