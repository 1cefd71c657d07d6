"""Syntax tree of the rule language.

All nodes are frozen. Spans are ignored by comparisons, so two trees are equal if their texts are equal up to layout.
``str(node)`` returns source text that parses to an equal node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal

from kgreason.base.errors import Span
from kgreason.base.records import record
from kgreason.language.values import Value, identity, source

NOWHERE = Span("<generated>", 1, 1, 1, 1)


@record
class _Node:
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@record
class Variable(_Node):
    """A variable; each anonymous one has a unique name that starts with ``_``."""

    name: str

    @property
    def anonymous(self) -> bool:
        """Whether the variable is anonymous and cannot be referred to again."""
        return self.name.startswith("_")

    def __str__(self) -> str:
        return "_" if self.anonymous else self.name


@record
class Constant(_Node):
    """An integer (64 bit), double, string, boolean or date; ``1``, ``1.0`` and ``#T`` are three different constants.

    The parser never returns a list or set as a constant (see `Collection`); the checker converts those whose elements
    are all constants.
    """

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and identity(self.value) == identity(other.value)

    def __hash__(self) -> int:
        return hash(identity(self.value))

    def __str__(self) -> str:
        return source(self.value)


@record
class Collection(_Node):
    """A list ``[1, "a"]`` or a set ``{1, 2}``."""

    kind: Literal["list", "set"]
    elements: tuple[Expression, ...]

    def __str__(self) -> str:
        left, right = "[]" if self.kind == "list" else "{}"
        return left + ", ".join(map(str, self.elements)) + right


@record
class Skolem(_Node):
    """Skolem term ``#f(X, Y)``: a null, the same for equal names and arguments; `function` excludes the ``#``."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"#{self.function}({', '.join(map(str, self.arguments))})"


@record
class Unsupported(_Node):
    """An expression of Vadalog that this version does not support; the checker refuses it by name."""

    feature: str
    text: str

    def __str__(self) -> str:
        return self.text


@record
class Unary(_Node):
    """``-x`` or ``!x``."""

    operator: str
    operand: Expression

    def __str__(self) -> str:
        return f"{self.operator}{_inner(self.operand)}"


@record
class Binary(_Node):
    """Arithmetic ``+ - * / %``, comparison ``< <= > >= == != in !in`` or logic ``&& ||``."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.operator} {_inner(self.right)}"


@record
class Call(_Node):
    """A function call ``f(x, y)``."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@record
class Aggregate(_Node):
    """``msum(W, <Y>)``; `contributors` is `None` if no ``<...>`` was written.

    `groups` is set in the older forms: ``msum(W, [X], [Y])`` repeats the group given by the head, and the only list of
    ``msum(W, [X])`` repeats the group or names contributors; `contributors` is `None` there.
    """

    function: str
    argument: Expression | None
    contributors: tuple[Variable, ...] | None
    groups: tuple[Variable, ...] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        parts = [str(self.argument)] if self.argument is not None else []
        if self.groups is not None:
            lists = (self.groups, self.contributors)
            parts += [f"[{', '.join(map(str, names))}]" for names in lists if names is not None]
        elif self.contributors is not None:
            parts.append(f"<{', '.join(map(str, self.contributors))}>")
        return f"{self.function}({', '.join(parts)})"


Expression = Variable | Constant | Collection | Skolem | Unary | Binary | Call | Aggregate | Unsupported
Term = Variable | Constant
PARTS: Mapping[type, tuple[str, ...]] = {
    Collection: ("elements",),
    Skolem: ("arguments",),
    Unary: ("operand",),
    Binary: ("left", "right"),
    Call: ("arguments",),
    Aggregate: ("argument",),
}
"""Attributes that hold the expressions within an expression; contributors and groups excepted."""


def children(node: Expression) -> Iterator[Expression]:
    """Child expressions, left to right."""
    for name in PARTS.get(type(node), ()):
        part = getattr(node, name)
        yield from part if isinstance(part, tuple) else () if part is None else (part,)


def _inner(node: Expression) -> str:
    loose = isinstance(node, Binary) or (isinstance(node, Unary) and node.operator == "!")
    return f"({node})" if loose else str(node)


@record
class Atom(_Node):
    """``own(X, Y, W)``; a predicate without arguments is written ``p``."""

    predicate: str
    arguments: tuple[Expression, ...]

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.arguments)

    def __str__(self) -> str:
        if not self.arguments:
            return f"{self.predicate}()" if ":" in self.predicate else self.predicate
        return f"{self.predicate}({', '.join(map(str, self.arguments))})"


@record
class Negation(_Node):
    """``not p(X)``."""

    atom: Atom

    def __str__(self) -> str:
        return f"not {self.atom}"


@record
class Equation(_Node):
    """``left = right``; the checker decides whether it is an assignment or a comparison."""

    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@record
class Condition(_Node):
    """A boolean expression that must hold."""

    expression: Expression

    def __str__(self) -> str:
        return str(self.expression)


BodyItem = Atom | Negation | Equation | Condition


def expressions(item: BodyItem) -> tuple[Expression, ...]:
    """Expressions of a body item."""
    match item:
        case Atom():
            return item.arguments
        case Negation():
            return item.atom.arguments
        case Equation():
            return (item.left, item.right)
        case Condition():
            return (item.expression,)


def atoms(body: Iterable[BodyItem]) -> Iterator[Atom]:
    """Atoms of a body, including negated ones."""
    for item in body:
        if isinstance(item, Negation):
            yield item.atom
        elif isinstance(item, Atom):
            yield item


@record
class Fact(_Node):
    """A clause without a body."""

    atom: Atom
    documentation: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.atom}."


@record
class Rule(_Node):
    """``head :- body.``; `documentation` is the text of the ``%%`` lines above it, `label` that of ``@label``.

    `weight` is the probability given by ``@label("name", 0.9)``, else `None`.
    """

    head: tuple[Atom, ...]
    body: tuple[BodyItem, ...]
    documentation: str = field(default="", compare=False)
    label: str = field(default="", kw_only=True)
    weight: float | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.head))} :- {', '.join(map(str, self.body))}."


@record
class Equality(_Node):
    """An equality-generating dependency ``X = Y :- body.``: where the body holds, both sides are equal."""

    left: Variable
    right: Variable
    body: tuple[BodyItem, ...]
    documentation: str = field(default="", compare=False)
    label: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"{self.left} = {self.right} :- {', '.join(map(str, self.body))}."


@record
class Constraint(_Node):
    """``#F :- body.``: the body must never hold."""

    body: tuple[BodyItem, ...]
    documentation: str = field(default="", compare=False)
    label: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"#F :- {', '.join(map(str, self.body))}."


@record
class UnsupportedClause(_Node):
    """A clause of Vadalog that kgreason does not support (temporal operators, SQL, ...)."""

    feature: str
    text: str

    def __str__(self) -> str:
        return self.text


@record
class Annotation(_Node):
    """``@output("control").``; arguments are constants (an unquoted word counts as a string)."""

    name: str
    arguments: tuple[Constant, ...]

    def __str__(self) -> str:
        return f"@{self.name}({', '.join(map(str, self.arguments))})."


Bodied = Rule | Equality | Constraint
Clause = Fact | Bodied | Annotation | UnsupportedClause


@record
class Program:
    """A parsed file.

    Attributes
    ----------
    clauses
        In text order.
    file
        Name used in diagnostics; relative paths in annotations are relative to its folder.
    text
        The source.
    whole
        Whether the clauses contain all predicates of the text.
    """

    clauses: tuple[Clause, ...]
    file: str = field(default="<text>", compare=False)
    text: str = field(default="", compare=False, repr=False)
    whole: bool = field(default=True, compare=False, repr=False)

    def __str__(self) -> str:
        return "".join(f"{clause}\n" for clause in self.clauses)

    @property
    def bodied(self) -> Iterator[Bodied]:
        """Rules, equalities and constraints."""
        return (c for c in self.clauses if isinstance(c, Bodied))

    @property
    def facts(self) -> Iterator[Fact]:
        """Clauses without a body."""
        return (c for c in self.clauses if isinstance(c, Fact))

    @property
    def heads(self) -> Iterator[Atom]:
        """Heads of the rules."""
        return (atom for c in self.clauses if isinstance(c, Rule) for atom in c.head)

    @property
    def atoms(self) -> Iterator[Atom]:
        """Every atom, in text order."""
        for clause in self.clauses:
            if isinstance(clause, Fact):
                yield clause.atom
            if isinstance(clause, Rule):
                yield from clause.head
            if isinstance(clause, Bodied):
                yield from atoms(clause.body)
