"""The attacker with rules: sensitive links derived from released ones, each rule with a probability.

The noisy-or attacker (`kgreason.links.attacks.noisy_or`) is the special case of rules of the form
``friends(X, Y) :- classmates(X, Y)``.

References
----------
LINKS, section 6.1: noisy-or of independent causes, with a leak. Rules are an extension of this model.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_numbers, check_probabilities
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.vocabulary import suggest
from kgreason.links.attacks.entity_pairs import Beliefs, Doubles, check_unheld, pairs_between, place
from kgreason.links.attacks.grounding import Grounder, relevant
from kgreason.links.attacks.noisy_or import least_fixpoint
from kgreason.links.model import Released

Ints = npt.NDArray[np.int64]


def is_certain(released: Released) -> bool:
    """Whether a release needs no random placement of links: nodes are entities, or there are no links."""
    graph = released.graph
    return bool((graph.size == 1).all()) or released.strategy == "removed" or not graph.observed


def rule_beliefs(
    released: Released,
    program: CheckedProgram,
    *,
    sensitive: str,
    leak: float,
    worlds: int,
    rng: np.random.Generator,
    mutual: bool = False,
    limits: Mapping[str, int] | None = None,
    progress: Progress = SILENT,
) -> Beliefs:
    """Beliefs of an attacker with rules about a release.

    The released links are facts of the predicate of their relation (source, target and, if the rules give it three
    arguments, a weight: 1 for unweighted relations), without ``@edge``; mutual ones hold in both directions. Node
    predicates hold for all entities.

    **Causes.** Each grounding of a rule whose head is the sensitive relation, that is, each assignment of all variables
    that satisfies the body, is an independent cause of the head with the probability λ of ``@label("name", λ)``, or 1.
    It counts once for each combination of links behind its facts: two students who take three classes together have
    three causes to be friends. A rule with an aggregate has one cause for each derived head, and its aggregate sees
    each fact once. If the sensitive relation is mutual, groundings of (a, b) and (b, a) that read the same facts are
    one cause.

    **Recursion.** If a body contains the sensitive relation, the probability of its cause is λ times that of each of
    these atoms. Probabilities are the least fixpoint of P(h) = 1 - (1 - leak) Π (1 - λ Π P(b)), iterated from 0; a
    grounding that needs its own head is no cause. Only derived links satisfy a body: the leak raises P(b) of a link
    that has a cause, but a pair with no cause other than the leak satisfies no body. In rules with aggregates, under
    ``not`` and for other derived predicates, derived facts are certain. Derived loops of an entity can satisfy bodies,
    but are not links: they have no leak and are not reported.

    **Uncertain observations.** If nodes are clusters, several graphs of entities (worlds) are drawn: each link is
    placed on a random pair of entities of its nodes (`entity_pairs.place`), with the released weight. The rules are
    evaluated on each world, and probabilities are averaged over all worlds and over the pairs of two nodes, whose
    entities are indistinguishable. For constrained clusters, whose counts are lower bounds, as many links are placed as
    the release has.

    Parameters
    ----------
    released
        The released graph. If all links were removed, only the leak remains.
    program
        The rules of the attacker; declarations of data are ignored.
    sensitive
        The sensitive relation, which some rule derives.
    leak
        Probability of a sensitive link without any observed cause, from 0 to 1.
    worlds
        Number of worlds; always 1 if nodes are entities.
    mutual
        Whether the sensitive relation is symmetric.
    limits
        Most links of an observed relation between two different entities, where the attacker knows it.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation, the release holds it, a rule reads an unknown predicate, a number is out of
        range, or two nodes have more links than their limit allows.
    ProgramError
        If the rules depend on names of entities, create labelled nulls, or need data beyond the graph.
    EvaluationError
        As `kgreason.reason`.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> from kgreason.links.model import LinkGraph, observations
    >>> rules = load_text('@label("together", 0.4). friends(X, Y) :- classmates(X, Y).')
    >>> links = observations(np.array([0, 0, 1]), np.array([1, 1, 2]), mutual=True)
    >>> graph = LinkGraph(np.array(["a", "b", "c"], dtype=object), {"classmates": links})
    >>> found = rule_beliefs(
    ...     Released(graph, "intact"), rules, sensitive="friends", leak=0.2, worlds=1,
    ...     rng=np.random.default_rng(), mutual=True,
    ... )
    >>> found.source.tolist(), found.target.tolist(), found.probability.round(3).tolist(), found.others
    ([0, 1], [1, 2], [0.712, 0.52], 0.2)
    """
    _check(released, sensitive, leak, worlds, limits or {})
    rules = relevant(program, sensitive, released.graph.observed)
    _check_read(released, rules, progress)
    grounder = Grounder(rules, sensitive, mutual=mutual)
    _tell_certain(rules, sensitive, progress)
    size = released.graph.size
    observed = MappingProxyType({}) if released.strategy == "removed" else released.graph.observed
    certain = is_certain(released)
    sums, late = _Sums(size, leak, mutual), False
    wanted = 1 if certain else worlds
    progress.step("Carrying out the adversary's rules", wanted, "worlds")
    for _ in range(wanted):
        links = observed
        if not certain:
            links = {
                name: place(found, size, (limits or {}).get(name), name, rng)
                for name, found in observed.items()
            }
        grounded = grounder.ground(links, int(size.sum()))
        different = grounded.source != grounded.target
        believed, reached = least_fixpoint(grounded.causes, np.where(different, leak, 0.0))
        sums.add(grounded.source[different], grounded.target[different], believed[different])
        late |= not reached
        progress.advance()
    if late:
        progress.note("the adversary's probabilities did not settle in time; they are a little too small")
    return sums.beliefs(wanted)


def _check(released: Released, sensitive: str, leak: float, worlds: int, limits: Mapping[str, int]) -> None:
    check_numbers(
        worlds=(worlds, 1), **{f"the limit of {name!r}": (most, 0) for name, most in limits.items()}
    )
    check_probabilities(**{"the leak": leak})
    check_unheld(released, sensitive)


def _check_read(released: Released, rules: CheckedProgram, progress: Progress) -> None:
    """Reject rules that read unknown predicates, which satisfy nothing; note relations that no rule reads."""
    observed = released.graph.observed
    read = {a.predicate for rule in rules.rules for a in (*rule.positives, *rule.negatives)}
    known = {*observed, *rules.heads, *rules.nodes, *(a.predicate for a in rules.facts)}
    if unknown := sorted(read - known):
        near = suggest(unknown[0], known)
        raise AnonymizationError(
            f"the adversary's rules read {unknown[0]!r}, which is no relation of the release "
            f"(there are: {', '.join(observed) or 'none'}), and nothing derives it",
            hint=f"did you mean {near!r}?" if near else "leave out the rules that read it",
        )
    if unread := [name for name in observed if name not in read]:
        progress.note(f"the adversary's rules do not read {', '.join(unread)}, which the release holds")


def _tell_certain(rules: CheckedProgram, sensitive: str, progress: Progress) -> None:
    """Note rules whose probability is ignored, which makes the attacker stronger than the rules say."""
    others = [rule for rule in rules.rules if rule.head.predicate != sensitive]
    said = [(rule.label, rule.weight) for rule in others if rule.weight is not None and rule.weight < 1.0]
    for label, weight in dict.fromkeys(said):
        progress.note(
            f"the adversary's rule {label!r}, with the probability {weight}, is taken as certain: "
            f"probabilities count for rules of {sensitive} alone"
        )


class _Sums:
    """Probabilities of entity pairs, summed per pair of nodes over all worlds."""

    def __init__(self, size: Ints, leak: float, mutual: bool) -> None:
        self._size, self._leak, self._mutual = size, leak, mutual
        self._node = np.repeat(np.arange(len(size)), size)
        self._keys = np.empty(0, dtype=np.int64)
        self._found = np.empty((2, 0))  # sums of probabilities, and numbers of pairs

    def add(self, source: Ints, target: Ints, probability: Doubles) -> None:
        """Add one world: the pairs of entities with a cause, each once."""
        ends = np.stack([self._node[source], self._node[target]])
        if self._mutual:
            ends.sort(axis=0)
        keys, at = np.unique(
            np.concatenate([self._keys, len(self._size) * ends[0] + ends[1]]), return_inverse=True
        )
        more = np.concatenate([self._found, np.stack([probability, np.ones(len(source))])], axis=1)
        self._keys = keys
        self._found = np.stack([np.bincount(at, row, minlength=len(keys)) for row in more])

    def beliefs(self, worlds: int) -> Beliefs:
        """Mean probabilities; pairs without a cause have the leak."""
        nodes = max(len(self._size), 1)
        source, target = self._keys // nodes, self._keys % nodes
        every = worlds * pairs_between(self._size, source, target, self._mutual)
        total, caused = self._found
        mean = np.clip((total + (every - caused) * self._leak) / every, 0.0, 1.0)
        return Beliefs(source, target, mean, self._leak, self._mutual)
