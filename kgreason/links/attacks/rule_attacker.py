"""The attacker with rules: sensitive links derived from released ones, each rule with a probability.

The noisy-or attacker (`kgreason.links.attacks.noisy_or`) is the special case of rules of the form
``friends(X, Y) :- classmates(X, Y)``.

References
----------
LINKS, section 6.1: noisy-or of independent causes, with a leak. Rules are an extension of this model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError, ProgramError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.base.setting_fields import check_numbers, check_probabilities
from kgreason.engine.relations.fact_tables import Facts, Table, doubles
from kgreason.engine.relations.symbols import Symbols
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import Constant, Term, Variable
from kgreason.language.vocabulary import suggest
from kgreason.links.attacks.entity_facts import Hands, LinkFacts, dealt, fact_table, hands
from kgreason.links.attacks.entity_pairs import Beliefs, Doubles, check_unheld, pairs_between, place
from kgreason.links.attacks.noisy_or import Causes, least_fixpoint
from kgreason.links.model import Observations, Released

Ints = npt.NDArray[np.int64]
NOTHING: Mapping[str, Table] = MappingProxyType({})


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
    predicates hold for all entities. Released values are facts of the predicate of their attribute (entity, value):
    names are strings, numbers are doubles.

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
    the release has. Values that several entities share, those of a node or of equal values, are dealt among them in
    each world (`entity_facts.Hands`).

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
        Number of worlds; always 1 if nodes are entities, and the rules read no values that several entities share.
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
    limits = limits or {}
    least = {f"the limit of {name!r}": (most, 0) for name, most in limits.items()}
    check_numbers(worlds=(worlds, 1), **least)
    check_probabilities(**{"the leak": leak})
    check_unheld(released, sensitive)
    rules = relevant(program, sensitive, released.graph.observed, released.graph.attributes)
    _check_read(released, rules, progress)
    grounder = Grounder(rules, sensitive, mutual=mutual, attributes=released.graph.attributes)
    _tell_certain(rules, sensitive, progress)
    size = released.graph.size
    links = {} if released.strategy == "removed" else dict(released.graph.observed)
    sums, converged = _Sums(size, leak, mutual), True
    held = hands(released, _read(rules), grounder.symbols)
    wanted = worlds if _uncertain(released, held) else 1
    progress.step("Carrying out the attacker's rules", wanted, "worlds")
    for _ in range(wanted):
        if not released.certain:
            links = {
                name: place(found, size, limits.get(name), name, rng)
                for name, found in released.graph.observed.items()
            }
        source, target, causes = grounder.ground(links, int(size.sum()), dealt(held, rng))
        different = source != target
        believed, reached = least_fixpoint(causes, np.where(different, leak, 0.0))
        sums.add(source[different], target[different], believed[different])
        converged &= reached
        progress.advance()
    if not converged:
        progress.note("the attacker's probabilities did not settle in time; they are a little too small")
    return sums.beliefs(wanted)


def draws_worlds(released: Released, program: CheckedProgram, sensitive: str) -> bool:
    """Whether the beliefs of `rule_beliefs` are averages over random worlds."""
    rules = relevant(program, sensitive, released.graph.observed, released.graph.attributes)
    return _uncertain(released, hands(released, _read(rules), Symbols()))


def _uncertain(released: Released, held: Mapping[str, Hands]) -> bool:
    return not released.certain or not all(one.certain for one in held.values())


def _read(rules: CheckedProgram) -> set[str]:
    """Predicates in bodies of rules."""
    return {a.predicate for rule in rules.rules for a in (*rule.positives, *rule.negatives)}


def _check_read(released: Released, rules: CheckedProgram, progress: Progress) -> None:
    """Reject rules that read unknown predicates, which satisfy nothing; note relations that no rule reads."""
    observed, attributes = released.graph.observed, released.graph.attributes
    read = _read(rules)
    known = {*observed, *attributes, *rules.heads, *rules.nodes, *(a.predicate for a in rules.facts)}
    if unknown := sorted(read - known):
        near = suggest(unknown[0], known)
        raise AnonymizationError(
            f"the attacker's rules read {unknown[0]!r}, which is no relation or attribute of the release "
            f"(there are: {', '.join((*observed, *attributes)) or 'none'}), and nothing derives it",
            hint=f"did you mean {near!r}?" if near else "leave out the rules that read it",
        )
    for name in attributes:
        if name in observed:
            raise AnonymizationError(
                f"{name!r} is a relation and an attribute of the release", hint="rename one of the two"
            )
        if (arity := rules.arities.get(name, 2)) != 2:
            raise AnonymizationError(
                f"{name!r} has {arity} arguments in the rules of the attacker",
                hint="an attribute has an entity and a value",
            )
    if unread := [name for name in (*observed, *attributes) if name not in read]:
        progress.note(f"the attacker's rules do not read {', '.join(unread)}, which the release holds")


def _tell_certain(rules: CheckedProgram, sensitive: str, progress: Progress) -> None:
    """Note rules whose probability is ignored, which makes the attacker stronger than the rules say."""
    others = [rule for rule in rules.rules if rule.head.predicate != sensitive]
    uncertain = [
        (rule.label, rule.weight) for rule in others if rule.weight is not None and rule.weight < 1.0
    ]
    for label, weight in dict.fromkeys(uncertain):
        progress.note(
            f"the attacker's rule {label!r}, with the probability {weight}, is taken as certain: "
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


# --- grounding of the rules -------------------------------------------------------------------------------


def relevant(
    program: CheckedProgram, sensitive: str, relations: Iterable[str], attributes: Collection[str] = ()
) -> CheckedProgram:
    """The rules that derive a sensitive relation, without the data of the program.

    Parameters
    ----------
    relations
        Relations of the release; they are edges even if the program does not declare them.
    attributes
        Attributes of the release.

    Raises
    ------
    AnonymizationError
        If no rule derives the relation.
    """
    if sensitive not in program.heads or program.arities[sensitive] != 2:
        raise AnonymizationError(
            f"no rule of the attacker derives {sensitive!r} of two arguments",
            hint=f'write one, as @label("name", 0.4). {sensitive}(X, Y) :- ...',
        )
    nodes, declared = ([p for p in given if p not in attributes] for given in (program.nodes, program.edges))
    edges = dict.fromkeys((*declared, *(p for p in relations if p in program.arities)))
    facts = tuple(fact for fact in program.facts if fact.predicate not in attributes)
    program = replace(program, nodes=tuple(nodes), edges=tuple(edges), facts=facts)
    return replace(restricted(program.without_graph(), (sensitive,)), derived=(sensitive,), queries=())


def packed(rows: Ints) -> Ints:
    """Row keys: at least 0, equal for equal rows; shape (m,)."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        if (
            column.min(initial=0) < 0
            or (int(key.max(initial=0)) + 1) * (int(column.max(initial=0)) + 1) >> 60
        ):
            key, column = (np.unique(c, return_inverse=True)[1] for c in (key, column))
        key = key * (column.max(initial=0) + 1) + column
    return key


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule for the sensitive relation, and a predicate that lists its groundings."""

    # Arguments of the predicate: those of the head, then all variables of the positive atoms; with an aggregate,
    # those of the head alone.

    predicate: str
    rule: CheckedRule
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, predicate: str, rule: CheckedRule) -> _Rule:
        if rule.aggregation is not None:
            return cls(predicate, rule, rule.head.terms)
        names = dict.fromkeys(v for atom in rule.positives for v in atom.variables)
        return cls(predicate, rule, (*rule.head.terms, *map(Variable, names)))

    def listing(self) -> CheckedRule:
        head = CheckedAtom(self.predicate, self.terms, self.rule.head.span)
        return replace(self.rule, head=head)

    def arguments(self, atom: CheckedAtom, rows: Ints, symbols: Symbols) -> Ints:
        """Arguments of an atom in each grounding, shape (rows, arity); weights and numbers as codes of doubles."""
        column = {term.name: i for i, term in enumerate(self.terms) if isinstance(term, Variable)}
        found = [
            np.full(len(rows), _code(term, symbols))
            if isinstance(term, Constant)
            else rows[:, column[term.name]]
            for term in atom.terms
        ]
        return np.stack(found, axis=1) if found else np.empty((len(rows), 0), dtype=np.int64)


def _code(term: Constant, symbols: Symbols) -> int:
    """Code of a constant as a weight or value."""
    if isinstance(term.value, int | float):
        return int(doubles(np.array([term.value], dtype=np.float64))[0])
    return symbols.intern(term.value)


class Grounder:
    """Finds the causes of sensitive links by evaluating the rules.

    Parameters
    ----------
    program
        The attacker's rules, with the relations of the release as edges; see `relevant`.
    mutual
        Whether the sensitive relation is symmetric. Then bodies read its links in both directions, and groundings of a
        pair in either direction that read the same links are one cause.
    attributes
        Attributes of the release.

    Raises
    ------
    ProgramError
        If the rules depend on names of entities, create labelled nulls, or need data beyond the graph.
    """

    def __init__(
        self, program: CheckedProgram, sensitive: str, *, mutual: bool, attributes: Collection[str] = ()
    ) -> None:
        self._sensitive, self._mutual = sensitive, mutual
        self.symbols = Symbols()
        from kgreason.language.check.genericity import check_generic

        # the sensitive relation links entities, even if only recursion or node predicates derive it
        rules = replace(program, edges=tuple(dict.fromkeys((*program.edges, sensitive))))
        if diagnostics := check_generic(rules, tuple(attributes)):
            raise ProgramError(diagnostics, program.sources or program.text)
        own = [rule for rule in rules.rules if rule.head.predicate == sensitive]
        self._rules = tuple(_Rule.of(f"cause {i}", rule) for i, rule in enumerate(own))
        listed = tuple(Stratum(frozenset({r.predicate}), (r.listing(),), False) for r in self._rules)
        strata = tuple(map(self._both_ways, rules.strata)) if mutual else rules.strata
        self._program = replace(
            rules,
            strata=(*strata, *listed),
            outputs=tuple(r.predicate for r in self._rules),
            arities={**rules.arities, **{r.predicate: len(r.terms) for r in self._rules}},
        )

    def _both_ways(self, stratum: Stratum) -> Stratum:
        """Add the symmetry rule of the sensitive relation to a recursive stratum that derives it."""
        if self._sensitive not in stratum.predicates or not stratum.recursive:
            return stratum
        first = next(rule for rule in stratum.rules if rule.head.predicate == self._sensitive)
        ends = (Variable("X"), Variable("Y"))
        head, body = (CheckedAtom(self._sensitive, e, first.span) for e in (ends, ends[::-1]))
        back = CheckedRule(head, (body,), (), (), None, (), f"{head} :- {body}.", first.span)
        return stratum._replace(rules=(*stratum.rules, back))

    def ground(
        self, observed: Mapping[str, Observations], entities: int, values: Mapping[str, Table] = NOTHING
    ) -> tuple[Ints, Ints, tuple[Causes, ...]]:
        """Find all causes: source and target of the pairs with a cause, ordered, and the causes of each rule.

        Causes refer to pairs by number; source <= target if the relation is mutual. Pairs include loops, which are no
        links but may be needed by rule bodies.

        Raises
        ------
        AnonymizationError
            If the rules use a relation with arguments other than two ends and an optional weight.
        ProgramError, EvaluationError
            As `kgreason.reason`.
        """
        from kgreason.engine.seminaive.evaluation import evaluate

        facts = self._facts(observed, entities)
        tables = {predicate: links.table() for predicate, links in facts.items()}
        tables |= values
        tables |= dict.fromkeys(self._program.nodes, fact_table([np.arange(entities, dtype=np.int64)]))
        found = evaluate(self._program, Facts(tables, self.symbols), goals=self._program.outputs).facts
        parts = [self._part(rule, found.tables[rule.predicate].matrix(), facts) for rule in self._rules]
        heads = [entities * part.head[:, 0] + part.head[:, 1] for part in parts]
        pairs = np.sort(np.concatenate(heads))
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # several times as fast as np.unique, which hashes
        causes = tuple(
            Causes(np.searchsorted(pairs, head), part.weight, part.count, part.needs(pairs, entities))
            for part, head in zip(parts, heads, strict=True)
        )
        return pairs // max(entities, 1), pairs % max(entities, 1), causes

    def _facts(self, observed: Mapping[str, Observations], entities: int) -> dict[str, LinkFacts]:
        """Facts of the relations that the rules read."""
        arities = {name: self._program.arities[name] for name in observed if name in self._program.arities}
        for predicate, arity in arities.items():
            if arity not in (2, 3):
                raise AnonymizationError(
                    f"{predicate!r} has {arity} arguments in the rules of the attacker",
                    hint="links have a source, a target and perhaps a weight",
                )
        return {name: LinkFacts(observed[name], entities, arity) for name, arity in arities.items()}

    def _part(self, rule: _Rule, rows: Ints, facts: Mapping[str, LinkFacts]) -> _Part:
        """Groundings of one rule, without those whose body contains the head."""
        weight = 1.0 if rule.rule.weight is None else rule.rule.weight
        if rule.rule.aggregation is not None:
            head = np.unique(self._ends(rows[:, :2]), axis=0)
            return _Part(head, weight, np.ones(len(head)), ())
        rows = self._once(rule, rows, facts)
        own = [a for a in rule.rule.positives if a.predicate == self._sensitive]
        head, body = self._ends(rows[:, :2]), [self._ends(rule.arguments(a, rows, self.symbols)) for a in own]
        new = np.ones(len(rows), dtype=np.bool_)
        for ends in body:
            new &= (ends != head).any(axis=1)
        count = np.ones(len(rows))  # floats: products of large counts overflow int64
        for atom in rule.rule.positives:
            if atom.predicate in facts:
                count *= facts[atom.predicate].count(rule.arguments(atom, rows, self.symbols))
        return _Part(head[new], weight, count[new], tuple(ends[new] for ends in body))

    def _ends(self, pairs: Ints) -> Ints:
        return np.sort(pairs, axis=1) if self._mutual else pairs

    def _once(self, rule: _Rule, rows: Ints, facts: Mapping[str, LinkFacts]) -> Ints:
        """Keep one of the groundings that are the same cause of a mutual link."""
        if not self._mutual or not len(rows):
            return rows
        atoms = rule.rule.positives
        predicates = list(dict.fromkeys(a.predicate for a in atoms))
        read = np.empty((len(rows), len(atoms)), dtype=np.int64)
        for number, predicate in enumerate(predicates):
            at = [i for i, a in enumerate(atoms) if a.predicate == predicate]
            arguments = np.concatenate([rule.arguments(atoms[i], rows, self.symbols) for i in at])
            if predicate == self._sensitive or (predicate in facts and facts[predicate].mutual):
                arguments[:, :2] = np.sort(arguments[:, :2], axis=1)
            read[:, at] = (len(predicates) * packed(arguments) + number).reshape(len(at), -1).T
        read.sort(axis=1)
        same = packed(np.concatenate([self._ends(rows[:, :2]), read], axis=1))
        return rows[np.unique(same, return_index=True)[1]]


@record(eq=False)
class _Part:
    """Groundings of one rule: head pairs (m, 2), and the pairs of each body atom of the sensitive relation."""

    head: Ints
    weight: float
    count: Doubles
    body: tuple[Ints, ...]

    def needs(self, pairs: Ints, entities: int) -> Ints:
        """Numbers of the body pairs, shape (m, atoms)."""
        needs = np.empty((len(self.head), len(self.body)), dtype=np.int64)
        for i, ends in enumerate(self.body):
            needs[:, i] = np.searchsorted(pairs, entities * ends[:, 0] + ends[:, 1])
        return needs
