"""What is attacked and how, and what is refused beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.arguments import attacked_sizes, check_numbers
from kgreason.attacks.knowledge import LARGEST, PARTS, SEEDS, known_as
from kgreason.errors import AnonymizationError, ReleaseError
from kgreason.graph.model import KnowledgeGraph

Ints = npt.NDArray[np.int64]

DRAWN = 10  # seeds, if nothing else is said
WORDS = (
    "say all, part, "
    + ", ".join(p.name for p in PARTS)
    + ", degree, neighbourhood, hubs, refinement:2, seeds"
)


@dataclass(frozen=True, eq=False)
class Setting:
    """What is attacked, and how.

    Attributes
    ----------
    original, released, mapping
        As in `kgreason.verify`.
    rules
        The rules of the release as ``"rules"``, and those of an attacker with ``"other"`` ones.
    k, x
        What was promised; x ascending.
    sizes
        Vertices of the parts that attackers know.
    targets
        How many vertices or parts are looked for.
    seeds
        Vertices of the original that somebody knows who spreads from them, or how many are drawn.
    drop
        Share of the released edges that look implausible and are dropped; `None`: as many as are synthetic.
    weights
        Whether who knows weights knows the ``"released"`` or the ``"original"`` ones.
    parts
        Part of each original vertex, where the release gives up the edges between them.
    """

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Ints
    rules: Mapping[str, CheckedProgram]
    k: int
    x: tuple[int, ...]
    sizes: tuple[int, ...]
    targets: int
    seeds: Ints | int
    drop: float | None
    weights: str
    parts: Ints | None = None


def knowledge_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of knowledge, each once.

    Raises
    ------
    AnonymizationError
        Naming one that there is not.

    Examples
    --------
    >>> knowledge_of(["degree", "refinement", "degree"])
    ('degree', 'refinement:2')
    """
    found: dict[str, None] = {}
    for name in (names,) if isinstance(names, str) else tuple(names):
        if not isinstance(name, str) or not (meant := known_as(name)):
            raise AnonymizationError(f"there is no knowledge {name!r}", hint=WORDS)
        found |= dict.fromkeys(meant)
    if not found:
        raise AnonymizationError("no knowledge is named", hint=WORDS)
    return tuple(found)


def parts_known(known: object, x: Sequence[int], n: int) -> tuple[int, ...]:
    """Numbers of vertices of known parts: those asked for, or what was promised, one less and one more.

    Raises
    ------
    AnonymizationError
        If one is no whole number from 1 to 8.

    Examples
    --------
    >>> parts_known(None, (4,), 100), parts_known(range(2, 4), (4,), 100)
    ((3, 4, 5), (2, 3))
    """
    around = range(max(2, min(x) - 1), min(max(x) + 1, LARGEST) + 1)
    sizes = attacked_sizes(known) if known is not None else tuple(s for s in around if s <= n) or (1,)
    if sizes[-1] > LARGEST:
        raise AnonymizationError(
            f"places of a part of {sizes[-1]} vertices cannot be told apart exactly",
            hint=f"let attackers know parts of at most {LARGEST} vertices: --known {LARGEST}",
        )
    return sizes


def seeds_of(seeds: object, original: KnowledgeGraph) -> Ints | int:
    """Seeds as vertices, or their number, by default 10.

    Raises
    ------
    AnonymizationError
        If a label is none of the original's, or the number is below 1.
    """
    if seeds is None:
        return DRAWN
    if isinstance(seeds, int | np.integer):
        check_numbers(seeds=(int(seeds), 1))
        return int(seeds)
    given = (seeds,) if isinstance(seeds, str) else tuple(seeds) if isinstance(seeds, Iterable) else ()
    number = {label: i for i, label in enumerate(original.labels.tolist())}
    if unknown := next((label for label in given if label not in number), None):
        raise AnonymizationError(
            f"the seed {unknown!r} is no vertex of the original graph",
            hint="seeds are labels of the original graph, not of the release",
        )
    if not given:
        raise AnonymizationError("no seeds are given", hint="say how many, or name some vertices")
    return np.unique(np.array([number[label] for label in given], dtype=np.int64))


def check_effects(
    knowledge: Sequence[str], *, known: object, other_rules: object, weights: str, seeds: object
) -> None:
    """Refuse options that none of the attackers heeds.

    Raises
    ------
    AnonymizationError
        Naming the option.

    Examples
    --------
    >>> check_effects(["degree"], known=3, other_rules=None, weights="released", seeds=None)
    Traceback (most recent call last):
        ...
    kgreason.errors.AnonymizationError: --known has no effect: no attacker who knows a part is asked for
      help: leave it out, or add --knowledge part
    """
    parts = any(name.startswith("part:") for name in knowledge)
    others = any(name.endswith("+other") for name in knowledge)
    idle = [
        ("--known", known is not None and not parts, "knows a part", "part"),
        ("--weights original", weights == "original" and not parts, "knows a part", "part"),
        ("--other-rules", other_rules is not None and not others, "has other rules", "part:weights+other"),
        ("--seeds", seeds is not None and SEEDS not in knowledge, "spreads from seeds", SEEDS),
    ]
    for option, useless, who, missing in idle:
        if useless:
            raise AnonymizationError(
                f"{option} has no effect: no attacker who {who} is asked for",
                hint=f"leave it out, or add --knowledge {missing}",
            )


def check_setting(setting: Setting, knowledge: Sequence[str]) -> None:
    """Refuse what cannot be attacked.

    Raises
    ------
    AnonymizationError
        Naming what is wrong.
    ReleaseError
        If the mapping is broken.
    """
    mapping, released = setting.mapping, setting.released
    if not setting.original.n:
        raise AnonymizationError("the graph has no vertices", hint="does the file hold any rows?")
    if len(mapping) != setting.original.n or not ((mapping >= 0) & (mapping < released.n)).all():
        raise ReleaseError("some original vertices have no released vertex", hint="is this another mapping?")
    if len(np.unique(mapping)) != len(mapping):
        raise ReleaseError("some original vertices share a released vertex", hint="is this another mapping?")
    for graph in (setting.original, released):
        if any(r.weight is not None and np.isnan(r.weight).any() for r in graph.relations.values()):
            raise AnonymizationError(
                "some weights are not numbers", hint="look for NaN among the weights of the graph"
            )
    if setting.drop is not None and not 0 <= setting.drop <= 1:
        raise AnonymizationError(f"the share of edges to drop must lie between 0 and 1, not {setting.drop}")
    if setting.weights not in {"released", "original"}:
        raise AnonymizationError(f"weights are 'released' or 'original', not {setting.weights!r}")
    if "other" in setting.rules:
        if not setting.rules["other"].derived:
            raise AnonymizationError("the other rules derive no edges", hint='name some by @derived("...")')
    elif any(name.endswith("+other") for name in knowledge) and not _whole(knowledge):
        raise AnonymizationError(
            "which other rules does the attacker have?", hint="name them: --other-rules FILE"
        )


def _whole(knowledge: Sequence[str]) -> bool:
    """Whether all rows are asked for, of which those with other rules are then left out."""
    return {p.name for p in PARTS} <= set(knowledge)
