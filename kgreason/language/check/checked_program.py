"""The checked program: what the engines run. Only the checker builds it, so no engine checks again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kgreason.base.errors import Diagnostic, ProgramError, Span
from kgreason.language.syntax.syntax_tree import Atom, Expression, Term, Variable

MONOTONIC = frozenset({"msum", "mprod", "mcount", "mmin", "mmax", "munion"})
STRATIFIED = frozenset({"sum", "prod", "count", "min", "max", "avg", "median", "list", "set", "union"})


@dataclass(frozen=True, slots=True)
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


def places(atoms: Iterable[CheckedAtom]) -> Iterator[tuple[Position, Variable]]:
    """Yield the variables of atoms with their positions."""
    for atom in atoms:
        yield from (((atom.predicate, i), t) for i, t in enumerate(atom.terms) if isinstance(t, Variable))


@dataclass(frozen=True, slots=True)
class Assign:
    """Give `variable` the value of `expression`, all of whose variables are bound before."""

    variable: str
    expression: Expression
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.variable} = {self.expression}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the bindings for which the boolean `expression` holds; ``=`` has become ``==``."""

    expression: Expression
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.expression)


Step = Assign | Filter


@dataclass(frozen=True, slots=True)
class Aggregation:
    """``variable = function(argument, <contributors>)`` of one rule.

    Attributes
    ----------
    group
        Variables whose values a group shares: the other variables of the whole head.
    contributors
        Variables that tell contributions apart: one value counts per tuple of them. Where the rule has no
        ``<...>``: all variables of the positive atoms except those at aggregated positions (docs/language.md);
        for ``mcount(X)`` and ``count(X)``, X alone.
    argument
        The aggregated expression; `None` for a plain count.
    monotonic
        True for the ``m...`` functions and for ``sum prod count min max`` in recursion, which are
        then stored here under their ``m`` name.
    """

    variable: str
    function: str
    argument: Expression | None
    contributors: tuple[str, ...]
    group: tuple[str, ...]
    monotonic: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Invention:
    """Give an existential `variable` the null ``function(frontier)``: the same for the same frontier values.

    Attributes
    ----------
    function
        A name of its own for each existential variable of each rule as written, ``"<rule number>:<variable>"``; all
        heads of one rule share it.
    frontier
        Head variables of the rule as written that its body binds, an aggregated one excepted.
    """

    variable: str
    function: str
    frontier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A safe rule with one head atom, its body sorted into the order of evaluation.

    Evaluation: join `positives`, drop matches of `negatives`, run `before` in order; where there is an
    `aggregation`, aggregate, then run `after` in order on the groups (only the group variables and
    the aggregated one are visible there); then give the `inventions` their nulls and emit `head`.

    A variable of a negative atom that is not bound by the positives and `before` is existential in that atom.
    `text` is the rule as written, for messages; `number` counts the rules as written from 1 over all files (rules
    made from one with several heads share it); `label` and `documentation` are what ``@label`` and ``%%`` say.
    `weight` is the probability of ``@label("name", 0.9)`` that the body causes the head, `None` where none is given;
    engines do not heed it.
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
        """Atoms of the body, the negated ones last."""
        return (*self.positives, *self.negatives)

    @property
    def atoms(self) -> tuple[CheckedAtom, ...]:
        """The head and the atoms of the body."""
        return (self.head, *self.positives, *self.negatives)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps before and after the aggregation."""
        return (*self.before, *self.after)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules evaluated together: one strongly connected component of predicates.

    `recursive` tells whether some head predicate of it also stands in a positive body of it.
    """

    predicates: frozenset[str]
    rules: tuple[CheckedRule, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Keyed:
    """A predicate of which one value per group is final.

    A head position of it holds a monotonic aggregate, or a copy of one that a recursion still improves.

    Attributes
    ----------
    position
        0-based position of the aggregated value; the other positions are the key.
    keep
        Which of two values for one key replaces the other; ``"union"``: the union of both replaces them.
    """

    position: int
    keep: Literal["greatest", "least", "union"]

    def value(self, atom: CheckedAtom) -> Term | None:
        """The aggregated value of an atom; `None` where the atom lacks arguments, which E104 reports."""
        return atom.terms[self.position] if self.position < len(atom.terms) else None


@dataclass(frozen=True, slots=True)
class Bind:
    """Where the facts of an input predicate come from: ``@bind(predicate, source options, folder, file)``.

    `options` are the ``key='value'`` words behind the source name; `path` is resolved against the rule file.
    Of the databases sqlite and duckdb `path` is the file and `table` the last argument; of postgresql `path` is the
    address of the server, and `options` hold the database or schema of the third argument; else `table` is empty.
    """

    predicate: str
    source: str
    options: Mapping[str, str]
    path: str
    span: Span = field(compare=False, repr=False)
    table: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """``@qbind(predicate, source options, outer, query)``: facts are the rows of an SQL query.

    `source` is ``sqlite``, ``duckdb`` or ``postgresql``. `path` is the database file or, for duckdb, a folder, resolved
    against the rule file; empty (duckdb only): tables are files named in the query, relative to the folder of
    ``span.file``. Of postgresql `path` is the address of the server.
    """

    predicate: str
    source: str
    options: Mapping[str, str]
    path: str
    query: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Post:
    """``@post(predicate, "operation(arguments)")``: what is done with the facts of an output before it is given out.

    Operations are carried out in the order of the text, ``prelimit`` before all others. Positions count from 1 and
    lie within the arity. Before the first one the facts stand in the order of their values.

    ==================  =========================================================================================
    `operation`         what it does with `arguments`
    ==================  =========================================================================================
    certain             ``()``: drop facts that hold a null
    unique              positions, perhaps none: the first fact for each combination of values there (of all
                        values, where there are no positions)
    min, max            positions, at least one: for each group (equal values at all other positions) the facts whose
                        values at these positions, compared one after the other, are least (greatest)
    argmin, argmax      one position, then those of the group, perhaps none (``argmin(3,<1,2>)`` is ``(3, 1, 2)``):
                        for each group the facts whose value at the first position is least (greatest), all of them
                        if several are
    orderby             positions, at least one, negative for descending order; the sort is stable
    limit               ``(n,)``: keep the first n facts
    prelimit            ``(n,)``: keep the first n facts before anything else is done
    ==================  =========================================================================================
    """

    predicate: str
    operation: str
    arguments: tuple[int, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unification:
    """An equality-generating dependency ``X = Y :- body.``, made into a rule.

    Its rule derives `predicate`, a hidden one (its name starts with ``#``), whose first two arguments must be the same
    value and whose others are the other named variables of the body, for messages.
    """

    predicate: str
    rule: CheckedRule


@dataclass(frozen=True, slots=True)
class Denial:
    """A constraint ``#F :- body.``, made into a rule.

    Its rule derives `predicate`, a hidden one, with the named variables of the body: each of its facts is a violation.
    """

    predicate: str
    rule: CheckedRule


@dataclass(frozen=True, slots=True)
class Wardedness:
    """What `kgreason.language.check.wardedness` finds out about a program.

    Attributes
    ----------
    fragment
        ``"Datalog"``, ``"linear"``, ``"guarded"``, ``"piecewise linear"``, ``"warded"`` or ``"none"``.
    affected
        Positions (predicate, 0-based) that can hold nulls.
    warded
        Whether all rules are warded, so that the chase can be cut off without losing answers.
    harmful_joins
        Most atoms of one rule body that are joined through variables which can only be nulls; 0 where there is no
        such join. Negation and aggregates over such variables count, too.
    closed
        Whether some rule negates or aggregates over such variables.
    """

    fragment: str = "Datalog"
    affected: frozenset[tuple[str, int]] = frozenset()
    warded: bool = True
    harmful_joins: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Mapped:
    """``@mapping(predicate, position, column, type)``; type is int, double, string, boolean, date or percent.

    A column of type percent is divided by 100: 25 and ``25%`` are 0.25.
    """

    predicate: str
    position: int
    column: str
    type: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class CheckedProgram:
    """A program that is safe, stratified and consistent.

    Attributes
    ----------
    facts
        Ground atoms written in the file.
    strata
        In evaluation order.
    arities
        Of every predicate that occurs.
    keyed
        Predicates with a monotonic aggregate in the head, or with a copy of one of their own stratum.
    inputs, outputs
        As annotated. Without any ``@output`` all derived predicates are outputs.
    nodes, edges, derived, queries, incoming_sums
        The annotations for anonymization; `derived` is filled with every derived binary output (the ``@query``
        predicates excepted) if the file has no ``@derived``.
    warnings
        Diagnostics that do not stop the program.
    file, text
        Where it came from.
    sensitive
        Relations of pairs, ground or derived, that ``@sensitive`` says must not be told.
    targets
        Binds of outputs: where their facts are written.
    queries_bound
        The ``@qbind`` sources.
    posts
        In the order of the text.
    unifications, denials
        Equality-generating dependencies and constraints. The rules of both stand in `strata` like all others, and
        their hidden predicates in `arities`; they are kept whatever the goals are.
    wardedness
        What is known of its nulls.
    sources
        Text of every file that was read, the included ones too, by its name in spans.
    allow_files
        Whether the user lets the annotations and views of DuckDB read and write any file, and reach any server.
    beyond
        Errors of sources and targets that the rules may not reach, by the places of their annotations; see `permit`.
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
        """Stop before what an annotation names is read or written, if the rules may not reach that.

        Raises
        ------
        ProgramError
            With what is wrong with the annotation.
        """
        if annotation is not None and annotation in self.beyond:
            raise ProgramError((self.beyond[annotation],), self.sources)

    @property
    def rules(self) -> tuple[CheckedRule, ...]:
        """All rules in evaluation order."""
        return tuple(rule for stratum in self.strata for rule in stratum.rules)

    @property
    def heads(self) -> frozenset[str]:
        """Predicates that some rule derives."""
        return frozenset(rule.head.predicate for rule in self.rules)

    def without_graph(self) -> CheckedProgram:
        """Leave out the vertices and edges that are written in the file: the rules, apart from the data."""
        ground = {*self.nodes, *self.edges}
        return replace(self, facts=tuple(a for a in self.facts if a.predicate not in ground))
