"""Attackers who know something of single vertices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kgreason.assess.refinement import degrees, neighbourhoods, refined
from kgreason.attacks.results import Attack, Exposed, Rate, Run, quantiles
from kgreason.attacks.seeds import fingerprints, hubs, propagate
from kgreason.attacks.setting import World, united

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHOWN = 5  # exposed vertices that are named


def vertex_attack(
    name: str, worlds: Mapping[str, World], targets: Ints, everything: bool, labels: npt.NDArray[np.object_]
) -> Attack:
    """Look for vertices by something that is known of them.

    Parameters
    ----------
    name
        ``degree``, ``neighbourhood``, ``hubs`` or ``refinement:I``.
    worlds
        Runs by name, all with the vertices of the original in the same order.
    targets, everything
        Vertices that are looked for, and whether these are all.
    """
    runs, sure = {}, np.zeros(len(targets))
    for run, world in worlds.items():
        sizes, right = vertex_candidates(name, world, targets)
        runs[run] = judged(sizes, right, everything)
        if run == "main":
            sure = _found(sizes, right)
    runs["naive"] = guessing(worlds["main"].released.n, len(targets), everything)
    return Attack(name, 0, runs, most_exposed(targets, sure, labels))


def vertex_candidates(name: str, world: World, targets: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Numbers of candidates of some vertices, and whether the true one is among them."""
    both = united(world.known, world.released)
    n = world.known.n
    match name.split(":"):
        case ["degree"]:
            traits = degrees(both)
        case ["neighbourhood"]:
            traits = neighbourhoods(both)
        case ["hubs"]:
            found = hubs(world.known)
            traits = fingerprints(both, np.stack([found, world.truth[found] + n], axis=1))
        case [_, rounds]:
            traits = refined(both, int(rounds))
    counts = np.bincount(traits[n:], minlength=int(traits.max(initial=0)) + 1)
    return counts[traits[targets]], traits[targets] == traits[world.truth[targets] + n]


def seed_attack(worlds: Mapping[str, World], seeds: Ints, labels: npt.NDArray[np.object_]) -> Attack:
    """Spread from known vertices over the whole graph; a vertex that is not reached is guessed among the rest."""
    runs, sure = {}, np.zeros(0)
    n = worlds["main"].known.n
    targets = np.setdiff1d(np.arange(n), seeds)
    for run, world in worlds.items():
        given = dict(zip(seeds.tolist(), world.truth[seeds].tolist(), strict=True))
        mapped = propagate(world.known, world.released, given)
        place = np.array([mapped.get(v, -1) for v in targets.tolist()], dtype=np.int64)
        truth = world.truth[targets]
        rest = world.released.n - len(mapped)
        taken = np.isin(truth, list(mapped.values()))
        sizes = np.where(place >= 0, 1, rest)
        right = np.where(place >= 0, place == truth, ~taken)
        runs[run] = judged(sizes, right, True)
        if run == "main":
            sure = _found(sizes, right)
    runs["naive"] = guessing(worlds["main"].released.n, len(targets), True)
    return Attack("seeds", 0, runs, most_exposed(targets, sure, labels))


def judged(sizes: Ints, right: npt.NDArray[np.bool_], everything: bool, complete: bool = True) -> Run:
    """Figures of a run from the candidates of each target."""
    return Run(
        *(len(sizes), everything, quantiles(sizes.astype(np.float64))),
        Rate.of(_found(sizes, right), everything),
        Rate.of((right & (sizes == 1)).astype(np.float64), everything),
        Rate.of((~right).astype(np.float64), everything),
        complete,
    )


def guessing(places: int, targets: int, everything: bool, complete: bool = True) -> Run:
    """Figures of a guess among all places."""
    return judged(np.full(targets, places), np.ones(targets, dtype=np.bool_), everything, complete)


def _found(sizes: Ints, right: npt.NDArray[np.bool_]) -> Floats:
    return np.where(right, 1 / np.maximum(sizes, 1), 0.0)


def most_exposed(targets: Ints, sure: Floats, labels: npt.NDArray[np.object_]) -> tuple[Exposed, ...]:
    """Vertices that are found most surely, those of them that are found at all."""
    order = np.argsort(-sure, kind="stable")[:SHOWN]
    return tuple(Exposed(str(labels[targets[i]]), float(sure[i])) for i in order.tolist() if sure[i] > 0)
