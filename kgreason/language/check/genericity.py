"""Genericity: whether rules depend on vertex names; such rules cannot be used for anonymization.

A release has new names. Generic rules (Abiteboul, Hull, Vianu, *Foundations of Databases*, 1995, section 16.1) derive
from it what they derived from the original graph; a rule with a vertex name in it does not, and publishing it would
reveal the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kgreason.base.errors import Diagnostic, Findings, Span
from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Filter,
    Position,
    positions_of,
)
from kgreason.language.check.expressions import grown, names, walk
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Term,
    Unary,
    Variable,
    children,
)
from kgreason.language.vocabulary import ARITHMETIC, COMPARISONS, MEMBERSHIP, ORDERS

_NAMES = "an anonymized graph has new vertex names, so that rules must treat all vertices alike"
_JOIN = "compare vertices with vertices only, by `==` and `!=`"
MOST_DERIVED = 40  # a pair kind is one word: a bit per derived predicate, and the number of its ground kind

NODES = "nodes"
"""Table of the vertices in a release."""


def for_anonymization(program: CheckedProgram) -> CheckedProgram:
    """The rules needed for anonymization, without the data in their file."""
    needed = (*program.outputs, *program.derived, *program.queries)
    return replace(restricted(program.without_graph(), needed), outputs=program.outputs)


def refusals(program: CheckedProgram) -> tuple[Diagnostic, ...]:
    """Reasons why a result of `for_anonymization` cannot be used, whatever the graph: E4xx and E127 to E129."""
    findings = Findings()
    grounded = _check_ground(program, findings)
    if len(program.derived) > MOST_DERIVED:
        findings.add(
            "E128",
            f"{len(program.derived)} derived predicates are too many to be protected together",
            None,
            hint=f"name those that matter, at most {MOST_DERIVED}, with @derived",
        )
    for predicate in program.edges:
        if predicate.lower() == NODES:
            findings.add(
                "E129",
                f"the edges `{predicate}` would be written to where the vertices go",
                _first_use(program, predicate),
                note=f"the table {NODES} of a release holds its vertices",
                hint="give them another name",
            )
    return (*findings.all, *(check_generic(grounded) if grounded is not None else ()))


def not_given(program: CheckedProgram) -> tuple[Diagnostic, ...]:
    """Errors E127 for derived edges without data in the rule file; only ``--data`` could supply the data."""
    findings = Findings()
    given = {*program.inputs, *(fact.predicate for fact in program.facts)}
    given |= {bind.predicate for bind in program.binds} | {query.predicate for query in program.queries_bound}
    for predicate in program.edges:
        if predicate in program.heads and predicate not in given:
            findings.add(
                "E127",
                f"@edge says that `{predicate}` is given, but it has no data: rules derive it",
                next(rule.head.span for rule in program.rules if rule.head.predicate == predicate),
                hint=f'leave @edge("{predicate}") out: what rules derive from the graph goes by '
                f'@derived("{predicate}"); or give its table, --data {predicate}=FILE',
            )
    return findings.all


def _check_ground(program: CheckedProgram, findings: Findings) -> CheckedProgram | None:
    """Refuse vertices and edges derived from other tables; returns the remaining rules, `None` if there are none."""
    ground, side_tables = {*program.nodes, *program.edges}, {a.predicate for a in _side_tables(program)}
    positions = vertex_positions(program)
    wrong: list[str] = []
    for rule in program.rules:
        predicate = rule.head.predicate
        if predicate not in ground or predicate in wrong:
            continue
        if not side_tables & _needed(program, predicate) and not _derives_other(rule, positions):
            continue
        wrong.append(predicate)
        kind = "edge" if predicate in program.edges else "node"
        findings.add(
            "E127",
            f"rules derive `{predicate}` from other tables, and @{kind} says that it is given",
            rule.head.span,
            note="anonymization begins with a graph that is given; what rules derive from it goes by @derived",
            hint=f"derive it first, `kgreason reason --rules {program.file} --output {predicate} --out derived`, "
            f'and anonymize that table: @bind("{predicate}", "csv", "derived", "{predicate}.csv") '
            "in place of its rules",
        )
    if not wrong:
        return program
    kept = [tuple(r for r in s.rules if r.head.predicate not in wrong) for s in program.strata]
    strata = tuple(s._replace(rules=rules) for s, rules in zip(program.strata, kept, strict=True))
    needed = {name for predicate in wrong for name in _needed(program, predicate)}
    derived = tuple(p for p in program.derived if p not in needed)
    goals = (*derived, *(p for p in (*program.outputs, *program.queries) if p not in needed))
    return restricted(replace(program, strata=strata, derived=derived), goals) if goals else None


def _derives_other(rule: CheckedRule, positions: frozenset[Position]) -> bool:
    """Whether a rule puts something other than a vertex of the graph at a vertex position of its head."""
    terms = [t for i, t in enumerate(rule.head.terms) if (rule.head.predicate, i) in positions]
    vertices = _vertices(rule, positions)
    return any(not isinstance(term, Variable) or term.name not in vertices for term in terms)


def _needed(program: CheckedProgram, goal: str) -> set[str]:
    return {a.predicate for rule in restricted(program, (goal,)).rules for a in rule.atoms}


def check_generic(program: CheckedProgram, attributes: tuple[str, ...] = ()) -> tuple[Diagnostic, ...]:
    """Errors E4xx of rules that do more than identify vertices by their edges.

    `attributes` are predicates of a vertex and a value that are published with the graph.
    """
    findings = Findings()
    _check_declarations(program, findings)
    side = dict.fromkeys(a.predicate for a in _side_tables(program)) if program.edges else {}
    for predicate in (name for name in side if name not in attributes):
        findings.add(
            "E407",
            f"`{predicate}` is neither derived nor part of the graph",
            _first_use(program, predicate),
            note="an anonymized graph is its vertices and edges; other tables are not published with it",
            hint=f"write the facts of `{predicate}` into the rule file, or annotate it with @edge or @node",
        )
    positions = vertex_positions(program, attributes)
    _check_uses(program, positions, findings)
    for rule in program.rules:
        _check_nulls(rule, program, findings)
    for predicate in program.derived:
        if not holds_edges(predicate, positions):
            heads = (rule.head.span for rule in program.rules if rule.head.predicate == predicate)
            findings.add(
                "E406",
                f"`{predicate}` is no derived edge: not both of its arguments are vertices",
                next(heads, None),
                note="without any @derived, every binary output counts as derived edges",
                hint='name the derived edges of your rules: @derived("...")',
            )
    return findings.all


def _check_declarations(program: CheckedProgram, findings: Findings) -> None:
    if not program.edges:
        findings.add(
            "E401",
            "no @edge says which predicate holds the edges of the graph",
            None,
            hint='add @edge("own") with the name of your predicate',
        )
    if len(program.nodes) > 1:
        several = ", ".join(program.nodes)
        findings.add(
            "E402",
            f"there are several @node predicates: {several}",
            None,
            note="(k,x)-isomorphism does not protect what distinguishes kinds of vertices",
            hint="keep one of them",
        )
    for predicate in program.nodes:
        if program.arities.get(predicate, 1) > 1:
            findings.add(
                "E402",
                f"the @node predicate `{predicate}` has attributes",
                _first_use(program, predicate),
                note="attributes of vertices are not protected by (k,x)-isomorphism",
                hint=f"use a predicate of the vertex alone: {predicate}(X)",
            )


def _side_tables(program: CheckedProgram) -> Iterator[CheckedAtom]:
    """Atoms of predicates that are neither derived, nor facts of the rule file, nor part of the graph."""
    known = {*program.nodes, *program.edges, *program.heads, *(fact.predicate for fact in program.facts)}
    return (a for rule in program.rules for a in rule.atoms if a.predicate not in known)


def _first_use(program: CheckedProgram, predicate: str) -> Span | None:
    spans = [a.span for rule in program.rules for a in rule.atoms if a.predicate == predicate]
    return min(spans, key=lambda s: (s.line, s.column), default=None)


def is_generic(program: CheckedProgram) -> bool:
    """Whether renaming the vertices of the input renames the answers and has no other effect."""
    return not check_generic(program)


def met_by_vertices(program: CheckedProgram) -> frozenset[Position] | None:
    """Positions (predicate, 0-based argument) that rules compare with vertices, including those of side tables.

    `None` if rules use vertices other than by joins and tests for equality, or name one.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> met = met_by_vertices(load_text('@edge("own"). n(X) :- own(X,Y,_), of(Y,P), not sold(P,Y).'))
    >>> sorted(met)
    [('n', 0), ('of', 0), ('own', 0), ('own', 1), ('sold', 1)]
    """

    def met(positions: set[Position]) -> Iterator[Position]:
        for rule in program.rules:
            vertices = _vertices(rule, positions)
            vertices |= {term.name for position, term in positions_of(rule.atoms) if position in positions}
            yield from [position for position, term in positions_of(rule.atoms) if term.name in vertices]

    positions = frozenset(grown(vertex_positions(program), met))
    findings = Findings()
    _check_uses(program, positions, findings)
    return None if findings.all else positions


def vertex_positions(program: CheckedProgram, attributes: tuple[str, ...] = ()) -> frozenset[Position]:
    """Positions (predicate, 0-based argument) that vertices of the graph reach through the rules.

    `attributes` as in `check_generic`.
    """

    def reached(positions: set[Position]) -> Iterator[Position]:
        for rule in program.rules:
            vertices = _vertices(rule, positions)
            yield from [position for position, term in positions_of([rule.head]) if term.name in vertices]

    given = {(p, 0) for p in (*program.nodes, *program.edges, *attributes)} | {(p, 1) for p in program.edges}
    return frozenset(grown(given, reached))


def holds_edges(predicate: str, positions: frozenset[Position]) -> bool:
    """Whether the first two arguments of a predicate are vertices."""
    return {(predicate, 0), (predicate, 1)} <= positions


def _vertices(rule: CheckedRule, positions: set[Position] | frozenset[Position]) -> set[str]:
    found = {term.name for position, term in positions_of(rule.positives) if position in positions}
    for step in rule.steps:
        match step:
            case Assign(variable, Variable(name)) if name in found:
                found.add(variable)
    return found


def _check_uses(program: CheckedProgram, positions: frozenset[Position], findings: Findings) -> None:
    """Check the uses of vertices in facts and rules."""
    for fact in program.facts:
        for term in [t for i, t in enumerate(fact.terms) if (fact.predicate, i) in positions][:1]:
            findings.add(
                "E403",
                f"the fact names the vertex {term}",
                term.span,
                note=_NAMES,
                hint="put the graph into a file: rules and data are published apart",
            )
    for rule in program.rules:
        _Rule(rule, positions, findings).check()


def _check_nulls(rule: CheckedRule, program: CheckedProgram, findings: Findings) -> None:
    term = next((n for s in rule.steps for n in walk(s.expression) if isinstance(n, Skolem)), None)
    if any(u.predicate == rule.head.predicate for u in program.unifications):
        what = "merges values that its body finds"
    elif any(d.predicate == rule.head.predicate for d in program.denials):
        what = "is a constraint"
    elif rule.inventions:
        made = dict.fromkeys("`_`" if i.variable.startswith("_") else i.variable for i in rule.inventions)
        what = f"invents a null for {', '.join(made)}"
    elif term:
        what = f"makes the null `{term}`"
    else:
        return
    findings.add(
        "E408",
        f"the rule {what}, which anonymization cannot follow",
        rule.span,
        note="an anonymized graph is judged by the edges that rules derive from vertices and weights alone",
        hint="leave the rule out of the rule file for anonymization",
    )


class _Rule:
    def __init__(self, rule: CheckedRule, positions: frozenset[Position], findings: Findings) -> None:
        self.rule, self.positions, self.findings = rule, positions, findings
        self.vertices = _vertices(rule, positions)

    def check(self) -> None:
        """Find every use of a vertex other than joining, grouping, counting and testing for equality."""
        for atom in self.rule.atoms:
            for i, term in enumerate(atom.terms):
                self._check_term(atom, i, term)
        for step in self.rule.steps:
            for part in walk(step.expression):
                self._check_expression(part)
        aggregation = self.rule.aggregation
        if aggregation and aggregation.argument is not None and names(aggregation.argument) & self.vertices:
            self.findings.add(
                "E405",
                f"`{aggregation.function}` aggregates vertices",
                aggregation.argument.span,
                note=_NAMES,
                hint="count them (mcount), or use them as contributors: <X>",
            )

    def _check_term(self, atom: CheckedAtom, i: int, term: Term) -> None:
        expected = (atom.predicate, i) in self.positions
        where = f"argument {i + 1} of `{atom.predicate}`"
        if isinstance(term, Constant):
            if expected:
                message = f"the constant {term} is at a vertex position of `{atom.predicate}`"
                self._report("E403", message, term.span)
        elif (term.name in self.vertices) != expected and not self._existential(atom, term):
            message = f"the vertex {term} meets {where}, which is no vertex of the graph"
            if expected:
                message = f"{where} holds vertices, and {term} is none"
            self._report("E404", message, term.span)

    def _existential(self, atom: CheckedAtom, term: Variable) -> bool:
        """Whether the variable occurs in negated atoms only."""
        bound = {v for a in self.rule.positives for v in a.variables}
        bound |= {s.variable for s in self.rule.before if isinstance(s, Assign)}
        return atom in self.rule.negatives and term.name not in bound

    def _check_expression(self, node: Expression) -> None:
        if isinstance(node, Call | Collection):  # a function can use only the name of a vertex
            for part in filter(self._is_vertex, children(node)):
                self.findings.add(
                    "E408",
                    f"`{node}` takes the vertex {part}",
                    node.span,
                    note=_NAMES,
                    hint="functions may take weights and counts",
                )
            return
        if isinstance(node, Unary) and self._is_vertex(node.operand):
            self._report("E405", f"`{node}` computes with the vertex {node.operand}", node.span)
        if not isinstance(node, Binary):
            return
        vertices = [side for side in (node.left, node.right) if self._is_vertex(side)]
        others = [side for side in (node.left, node.right) if not self._is_vertex(side)]
        if vertices and node.operator in ORDERS:
            self._report("E405", f"`{node}` compares vertices by their names", node.span)
        elif vertices and node.operator in ARITHMETIC:
            self._report("E405", f"`{node}` computes with the vertex {vertices[0]}", node.span)
        elif vertices and others and node.operator in COMPARISONS | MEMBERSHIP:
            other = others[0]
            what = f"the constant {other}" if isinstance(other, Constant) else f"`{other}`, which is none"
            self._report("E404", f"the vertex {vertices[0]} is compared with {what}", node.span)

    def _is_vertex(self, node: Expression) -> bool:
        return isinstance(node, Variable) and node.name in self.vertices

    def _report(self, code: str, message: str, span: Span) -> None:
        self.findings.add(code, message, span, note=_NAMES, hint=_JOIN)


def hidden_vertices(program: CheckedProgram) -> tuple[Variable, ...]:
    """Find the vertices that rules hide on the way to the derived edges; if there are none, the rules commute.

    Rules commute with taking an induced subgraph if Σ(G[X]) is Σ(G) restricted to X, for all G and X. This is
    undecidable, but it holds if no rule hides a vertex. A rule *hides* a vertex if its body holds one that its head
    does not: whether the rule applies may then depend on a vertex outside of X. Without such rules, let p|X be the
    facts of p whose vertices all lie in X. By induction over the strata, and in each over the rounds, the rules derive
    p|X from G[X] where they derive p from G:

    - G[X] holds the facts of G whose vertices lie in X, and the facts in the rule file name no vertices.
    - A match of a rule on G has the vertices of its head. So it is a match on G[X] if and only if the head is in p|X;
      for negated atoms, lower strata agree on the vertices of X.
    - The head has all vertices of the body, so the matches of a group of an aggregate have the same vertices:
      on G[X] there are all of them or none.
    - Functions and comparisons see the values of one match or group.

    Parameters
    ----------
    program
        Rules without errors of `check_generic`.

    Returns
    -------
    tuple of Variable
        For each rule that hides vertices, the first variable that holds one, in text order.

    References
    ----------
    The KGISO paper, Proposition 4.1 (commutative property).
    """
    program = restricted(program, program.derived)
    positions = vertex_positions(program)
    hidden = [next(_hidden(rule, positions), None) for rule in program.rules]
    # heads of a rule share its body
    by_position = {(v.span.file, v.span.line, v.span.column): v for v in hidden if v}
    return tuple(by_position[position] for position in sorted(by_position))


def _hidden(rule: CheckedRule, positions: frozenset[Position]) -> Iterator[Variable]:
    """Variables that hold vertices, including those of negated atoms only, and occur in no head."""
    shown = _equal(set(rule.head.variables), rule)
    for position, term in positions_of(rule.body):
        if position in positions and term.name not in shown:
            yield term


def _equal(shown: set[str], rule: CheckedRule) -> set[str]:
    pairs = []
    for step in rule.before:
        match step:
            case Assign(variable, Variable() as other):
                pairs.append({variable, other.name})
            case Filter(Binary("==", Variable() as left, Variable() as right)):
                pairs.append({left.name, right.name})
    return grown(shown, lambda known: set[str]().union(*(pair for pair in pairs if pair & known)))
