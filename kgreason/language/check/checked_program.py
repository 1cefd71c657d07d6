"""Checked program, the input of the engines. Only the checker builds it, so engines do not check again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal, NamedTuple

from kgreason.base.errors import Diagnostic, ProgramError, Span
from kgreason.base.records import record
from kgreason.language.syntax.syntax_tree import Atom, Expression, Term, Variable


@record
class CheckedAtom:
    """An atom whose arguments are variables and constants only."""

    predicate: str
    terms: tuple[Term, ...]
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return str(Atom(self.predicate, self.terms))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, each once, in order."""
        return tuple(dict.fromkeys(t.name for t in self.terms if isinstance(t, Variable)))


Position = tuple[str, int]
"""A predicate and a 0-based argument of it."""


def positions_of(atoms: Iterable[CheckedAtom]) -> Iterator[tuple[Position, Variable]]:
    """Variables of atoms with their positions."""
    for atom in atoms:
        yield from (((atom.predicate, i), t) for i, t in enumerate(atom.terms) if isinstance(t, Variable))


@record
class Assign:
    """Assign the value of `expression`, whose variables are all bound before, to `variable`."""

    variable: str
    expression: Expression
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.variable} = {self.expression}"


@record
class Filter:
    """Keep the bindings for which the boolean `expression` holds; ``=`` is represented as ``==``."""

    expression: Expression
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.expression)


Step = Assign | Filter


@record
class Aggregation:
    """``variable = function(argument, <contributors>)`` of one rule.

    Attributes
    ----------
    group
        Variables that define a group: the other variables of the whole head.
    contributors
        Variables that distinguish contributions: one value counts per tuple of them. Without ``<...>`` in the rule: all
        variables of the positive atoms except those at aggregated positions (docs/language.md); for ``mcount(X)`` and
        ``count(X)``, X alone.
    argument
        The aggregated expression; `None` for a plain count.
    monotonic
        True for the ``m...`` functions and for ``sum prod count min max`` in recursion, which get their ``m`` name.
    """

    variable: str
    function: str
    argument: Expression | None
    contributors: tuple[str, ...]
    group: tuple[str, ...]
    monotonic: bool
    span: Span = field(compare=False, repr=False)


class Invention(NamedTuple):
    """Bind an existential `variable` to the null ``function(frontier)``: the same null for the same frontier values.

    The `function` is unique for each variable of each rule as written, ``"<rule number>:<variable>"``, and the same for
    all heads of a rule. The `frontier` is the head variables of the rule as written that its body binds, except an
    aggregated one.
    """

    variable: str
    function: str
    frontier: tuple[str, ...]


@record
class CheckedRule:
    """A safe rule with one head atom and its body in evaluation order.

    Evaluation: join `positives`, drop matches of `negatives`, run `before` in order; if there is an `aggregation`,
    aggregate, then run `after` in order on the groups (where only the group variables and the aggregated one are
    visible); then create the nulls of `inventions` and emit `head`.

    A variable of a negative atom that is not bound by the positives and `before` is existential in that atom. `text` is
    the rule as written, for messages; `number` numbers the rules as written from 1 over all files (rules made from one
    with several heads share it); `label` and `documentation` come from ``@label`` and ``%%``. `weight` is the
    probability given by ``@label("name", 0.9)`` that the body causes the head, `None` if there is none; engines ignore
    it.
    """

    head: CheckedAtom
    positives: tuple[CheckedAtom, ...]
    negatives: tuple[CheckedAtom, ...]
    before: tuple[Step, ...]
    aggregation: Aggregation | None
    after: tuple[Step, ...]
    text: str
    span: Span = field(compare=False, repr=False)
    inventions: tuple[Invention, ...] = ()
    number: int = 0
    label: str = ""
    documentation: str = field(default="", compare=False, repr=False)
    weight: float | None = None

    @property
    def body(self) -> tuple[CheckedAtom, ...]:
        """Atoms of the body, negated ones last."""
        return (*self.positives, *self.negatives)

    @property
    def atoms(self) -> tuple[CheckedAtom, ...]:
        """The head and the atoms of the body."""
        return (self.head, *self.positives, *self.negatives)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps before and after the aggregation."""
        return (*self.before, *self.after)


class Stratum(NamedTuple):
    """Rules evaluated together: one strongly connected component of predicates.

    `recursive` is true if some head predicate also occurs in a positive body of the stratum.
    """

    predicates: frozenset[str]
    rules: tuple[CheckedRule, ...]
    recursive: bool


class Keyed(NamedTuple):
    """A predicate with one final value per group.

    Its argument `position` (0-based) holds a monotonic aggregate, or a copy of one that a recursion still improves; the
    other positions are the key. Of two values for one key, `keep` tells the one that remains; ``"union"``: their union.
    """

    position: int
    keep: Literal["greatest", "least", "union"]

    def value(self, atom: CheckedAtom) -> Term | None:
        """The aggregated value of an atom; `None` if the atom lacks arguments, which E104 reports."""
        return atom.terms[self.position] if self.position < len(atom.terms) else None


@record
class Bind:
    """Source of the facts of an input predicate: ``@bind(predicate, source options, folder, file)``.

    `options` are the ``key='value'`` words after the source name; `path` is resolved against the rule file. For sqlite
    and duckdb `path` is the file and `table` the last argument; for postgresql `path` is the address of the server, and
    `options` hold the database or schema of the third argument; otherwise `table` is empty.
    """

    predicate: str
    source: str
    options: Mapping[str, str]
    path: str
    span: Span = field(compare=False, repr=False)
    table: str = ""


@record
class Query:
    """Input facts from the rows of an SQL query: ``@qbind(predicate, source options, outer, query)``.

    `source` is ``sqlite``, ``duckdb`` or ``postgresql``. `path` is the database file or, for duckdb, a folder, resolved
    against the rule file; if it is empty (duckdb only), tables are files named in the query, relative to the folder of
    ``span.file``. For postgresql `path` is the address of the server.
    """

    predicate: str
    source: str
    options: Mapping[str, str]
    path: str
    query: str
    span: Span = field(compare=False, repr=False)


@record
class Post:
    """Post-processing of an output: ``@post(predicate, "operation(arguments)")``.

    Operations are carried out in text order, ``prelimit`` before all others. Positions count from 1 and are within the
    arity. Before the first operation, facts are sorted by their values.

    ==================  =========================================================================================
    `operation`         effect and `arguments`
    ==================  =========================================================================================
    certain             ``()``: drop facts that hold a null
    unique              positions, optional: the first fact for each combination of values there (of all values,
                        if there are no positions)
    min, max            positions, at least one: for each group (equal values at all other positions) the facts whose
                        values at these positions, compared lexicographically, are least (greatest)
    argmin, argmax      one position, then those of the group, optional (``argmin(3,<1,2>)`` is ``(3, 1, 2)``):
                        for each group all facts whose value at the first position is least (greatest)
    orderby             positions, at least one, negative for descending order; the sort is stable
    limit               ``(n,)``: keep the first n facts
    prelimit            ``(n,)``: keep the first n facts before any other operation
    ==================  =========================================================================================
    """

    predicate: str
    operation: str
    arguments: tuple[int, ...]
    span: Span = field(compare=False, repr=False)


class Unification(NamedTuple):
    """An equality-generating dependency ``X = Y :- body.``, represented by a rule.

    The rule derives the hidden `predicate` (its name starts with ``#``); its first two arguments must be equal, the
    others are the remaining named variables of the body, for messages.
    """

    predicate: str
    rule: CheckedRule


class Denial(NamedTuple):
    """A constraint ``#F :- body.``, represented by a rule.

    The rule derives the hidden `predicate` with the named variables of the body: each of its facts is a violation.
    """

    predicate: str
    rule: CheckedRule


@record
class Wardedness:
    """Result of `kgreason.language.check.wardedness` for a program.

    Attributes
    ----------
    fragment
        ``"Datalog"``, ``"linear"``, ``"guarded"``, ``"piecewise linear"``, ``"warded"`` or ``"none"``.
    affected
        Positions (predicate, 0-based) that can hold nulls.
    warded
        Whether all rules are warded, so that the chase can be cut off without losing answers.
    harmful_joins
        Largest number of atoms of one rule body that are joined through variables bound to nulls only; 0 if there is no
        such join. Negation and aggregates over such variables count as well.
    closed
        Whether some rule negates or aggregates over such variables.
    """

    fragment: str = "Datalog"
    affected: frozenset[tuple[str, int]] = frozenset()
    warded: bool = True
    harmful_joins: int = 0
    closed: bool = False


@record
class Mapped:
    """``@mapping(predicate, position, column, type)``; type is int, double, string, boolean, date or percent.

    A column of type percent is divided by 100: 25 and ``25%`` both become 0.25.
    """

    predicate: str
    position: int
    column: str
    type: str
    span: Span = field(compare=False, repr=False)


@record
class CheckedProgram:
    """A program that is safe, stratified and consistent.

    Attributes
    ----------
    facts
        Ground atoms written in the file.
    strata
        In evaluation order.
    arities
        By predicate, of all that occur.
    keyed
        Predicates with a monotonic aggregate in the head, or with a copy of one of their own stratum.
    inputs, outputs
        As annotated. Without any ``@output`` all derived predicates are outputs.
    nodes, edges, derived, queries, incoming_sums
        The annotations for anonymization; without ``@derived`` in the file, `derived` is every derived binary output
        except the ``@query`` predicates.
    sensitive
        Binary relations, ground or derived, that ``@sensitive`` declares secret.
    targets
        Binds of outputs: where their facts are written.
    queries_bound
        The ``@qbind`` sources.
    unifications, denials
        Equality-generating dependencies and constraints. Their rules are in `strata` like all others, and their hidden
        predicates in `arities`; they are kept whatever the goals are.
    sources
        Text of every file that was read, including included ones, by its name in spans.
    allow_files
        Whether the user allows annotations and DuckDB views to read and write any file and to reach any server.
    beyond
        Errors of sources and targets that the rules may not reach, by the positions of their annotations; see `permit`.
    """

    facts: tuple[CheckedAtom, ...]
    strata: tuple[Stratum, ...]
    arities: Mapping[str, int]
    keyed: Mapping[str, Keyed]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    binds: tuple[Bind, ...]
    mappings: tuple[Mapped, ...]
    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    derived: tuple[str, ...]
    queries: tuple[str, ...]
    incoming_sums: Mapping[str, float]
    warnings: tuple[Diagnostic, ...]
    file: str = "<text>"
    text: str = field(default="", repr=False)
    sensitive: tuple[str, ...] = ()
    targets: tuple[Bind, ...] = ()
    queries_bound: tuple[Query, ...] = ()
    posts: tuple[Post, ...] = ()
    unifications: tuple[Unification, ...] = ()
    denials: tuple[Denial, ...] = ()
    wardedness: Wardedness = Wardedness()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_files: bool = False
    beyond: Mapping[Span, Diagnostic] = field(default_factory=dict, repr=False)

    def permit(self, annotation: Span | None) -> None:
        """Raise `ProgramError` before an annotation reads or writes what the rules may not reach."""
        if annotation is not None and annotation in self.beyond:
            raise ProgramError((self.beyond[annotation],), self.sources)

    @property
    def rules(self) -> tuple[CheckedRule, ...]:
        """All rules in evaluation order."""
        return tuple(rule for stratum in self.strata for rule in stratum.rules)

    @property
    def heads(self) -> frozenset[str]:
        """Predicates derived by some rule."""
        return frozenset(rule.head.predicate for rule in self.rules)

    def without_graph(self) -> CheckedProgram:
        """The program without vertices and edges written in the file, i.e. the rules without the data."""
        ground = {*self.nodes, *self.edges}
        return replace(self, facts=tuple(a for a in self.facts if a.predicate not in ground))
