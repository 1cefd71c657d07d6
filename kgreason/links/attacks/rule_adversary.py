"""The adversary with rules, who derives sensitive links from what is released, each rule with its probability.

The noisy-or adversary (`kgreason.links.attacks.noisy_or`) is the one whose rules are all of the form
``friends(X, Y) :- classmates(X, Y)``.

References
----------
LINKS, section 6.1: noisy-or of independent causes, with a leak. What a rule has to say is added to that here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.argument_checks import check_numbers, check_probabilities
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.vocabulary import suggest
from kgreason.links.attacks.entity_pairs import Beliefs, Doubles, check_unheld, pairs_between, place
from kgreason.links.attacks.grounding import Grounder, relevant
from kgreason.links.attacks.noisy_or import least_fixpoint
from kgreason.links.model import Released

Ints = npt.NDArray[np.int64]


def is_certain(released: Released) -> bool:
    """Whether a release says which entities are linked, so that no worlds need be drawn."""
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
    """What an adversary with rules believes when he sees a release.

    The released links are facts of the predicate of their relation (source, target and, if the rules give it three
    arguments, a weight: 1 where there is none), which needs no ``@edge``; mutual ones hold in both directions. Node
    predicates hold for all entities.

    **Causes.** Each grounding of a rule whose head is the sensitive relation, that is, each tuple of values of all
    variables for which the body is satisfied, is a cause of the head, independent of all others, with the probability λ
    that ``@label("name", λ)`` gives the rule, or 1. It counts as often as there are links behind the facts that it
    reads: two students who take three classes together have three causes to be friends. A rule with an aggregate has
    one cause for each head that it derives, and its aggregate sees facts, of which each is there once. If the sensitive
    relation is mutual, groundings of (a, b) and (b, a) that read the same facts are one cause.

    **Recursion.** If a body holds the sensitive relation itself, its cause has the probability λ times that of each of
    these atoms. Probabilities are the least fixpoint of P(h) = 1 - (1 - leak) Π (1 - λ Π P(b)), iterated from 0; a
    grounding that needs its own head is no cause. A body is satisfied by derived links alone: the leak raises P(b) of a
    link that has a cause, but a pair that nothing but the leak may link feeds no body. In rules with aggregates and
    under ``not``, and where other derived predicates stand, what is derived is certain. An entity may be derived to be
    linked with itself, which bodies can need, but that is no link: it has no leak, and nobody asks for it.

    **Uncertain observations.** Where nodes stand for several entities, graphs of entities are drawn: each link is
    placed at a random pair of entities of its nodes (`entity_pairs.place`), with the released weight.
    The rules are carried out on each of them, and probabilities are averaged over all, and over the pairs of two nodes,
    whose entities nobody can tell apart. Of constrained clusters, whose counts are least ones, as many links are placed
    as the release has.

    Parameters
    ----------
    released
        What was published. If everything was removed, nothing is left but the leak.
    program
        The rules of the adversary. What it says of data is ignored.
    sensitive
        The relation he is after; some rule derives it.
    leak
        Probability of a sensitive link without any cause, from 0 to 1.
    worlds
        How many graphs of entities are drawn; 1 is enough, and all that is done, where nodes are entities.
    mutual
        Whether the sensitive relation is.
    limits
        The most links of an observed relation between two different entities, as far as the adversary knows them.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation, the release holds it, a rule reads what there is not, a number makes no sense,
        or two nodes have more links than their limit allows.
    ProgramError
        If the rules depend on names of entities, make nulls, or need what is no part of a graph.
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
    """Refuse rules that read what there is not, which satisfies nothing, and tell which relations they do not read."""
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
    """Tell which probabilities do not count, so that the adversary is stronger than his rules say."""
    others = [rule for rule in rules.rules if rule.head.predicate != sensitive]
    said = [(rule.label, rule.weight) for rule in others if rule.weight is not None and rule.weight < 1.0]
    for label, weight in dict.fromkeys(said):
        progress.note(
            f"the adversary's rule {label!r}, with the probability {weight}, is taken as certain: "
            f"probabilities count for rules of {sensitive} alone"
        )


class _Sums:
    """Probabilities of the pairs of entities of two nodes, summed over all of them and over worlds."""

    def __init__(self, size: Ints, leak: float, mutual: bool) -> None:
        self._size, self._leak, self._mutual = size, leak, mutual
        self._node = np.repeat(np.arange(len(size)), size)
        self._keys = np.empty(0, dtype=np.int64)
        self._found = np.empty((2, 0))  # sums of probabilities, and of how many pairs

    def add(self, source: Ints, target: Ints, probability: Doubles) -> None:
        """Take up one world: pairs of entities that have a cause, none twice."""
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
        """Means; pairs without a cause have the leak."""
        nodes = max(len(self._size), 1)
        source, target = self._keys // nodes, self._keys % nodes
        every = worlds * pairs_between(self._size, source, target, self._mutual)
        total, caused = self._found
        mean = np.clip((total + (every - caused) * self._leak) / every, 0.0, 1.0)
        return Beliefs(source, target, mean, self._leak, self._mutual)
