"""Results of `kgreason.reason`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kgreason.base.printable import Displayed
from kgreason.language.values import plain
from kgreason.language.vocabulary import suggest

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow

    from kgreason.base.errors import Diagnostic
    from kgreason.engine.relations.fact_tables import Facts
    from kgreason.engine.statistics import Stats
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value

from typing import TYPE_CHECKING

from kgreason.engine.relations.fact_tables import Facts

if TYPE_CHECKING:
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value


def no_output(predicate: str, outputs: Sequence[str]) -> str:
    """Message for a predicate that is none of the outputs."""
    near = suggest(str(predicate), outputs)
    means = f"did you mean {near!r}? " if near else ""
    return f"{predicate!r} is no output; {means}there are {', '.join(outputs) or 'none'}"


@dataclass(frozen=True)
class Reasoned(Displayed):
    """Derived facts by output predicate, and what it took to derive them.

    Attributes
    ----------
    facts, stats
        The facts, as ``@post`` wants them, and counts and times.
    warnings
        What the evaluation had to say, such as a chase that was cut off.
    program
        The rules.
    """

    facts: Facts
    stats: Stats
    warnings: tuple[Diagnostic, ...]
    program: CheckedProgram

    def __repr__(self) -> str:
        return (
            f"<Reasoned: {', '.join(f'{p} {self.facts.count(p):,}' for p in self.predicates) or 'no output'}>"
        )

    @property
    def predicates(self) -> tuple[str, ...]:
        """The output predicates."""
        return tuple(self.facts.tables)

    def rows(self, predicate: str) -> list[tuple[Value, ...]]:
        """Facts of a predicate as Python tuples.

        Raises
        ------
        KeyError
            If it is not among `predicates`.
        """
        self._known(predicate)
        return list(self.facts.rows(predicate))

    def _known(self, predicate: str) -> None:
        if predicate not in self.facts.tables:
            raise KeyError(no_output(predicate, self.predicates))

    def as_dict(self, predicates: Sequence[str], *, profile: bool = False) -> dict[str, Any]:
        """Ready for JSON: counts of all predicates, facts of some; `format` is the version of this layout.

        Dates and labelled nulls are strings, lists and sets arrays. With `profile` each round and join is told.
        """
        facts = {p: [[plain(value) for value in row] for row in self.facts.rows(p)] for p in predicates}
        counts = {p: self.facts.count(p) for p in self.predicates}
        return {"format": 1, "counts": counts, "facts": facts, "stats": self.stats.as_dict(profile=profile)}

    def to_arrow(self, predicate: str) -> pyarrow.Table:
        """Facts of a predicate as an Arrow table; columns are named as head variables where the rules agree."""
        from kgreason.data.exchange import facts_to_arrow
        from kgreason.data.targets import column_names

        self._known(predicate)
        arity = self.facts.tables[predicate].arity
        return facts_to_arrow(self.facts, predicate, column_names(self.program, predicate, arity))

    def to_pandas(self, predicate: str) -> pandas.DataFrame:
        """Facts of a predicate as a pandas frame.

        Raises
        ------
        DataError
            If pandas is not installed.
        """
        from kgreason.data.exchange import as_frame

        return as_frame(self.to_arrow(predicate))

    def to_polars(self, predicate: str) -> polars.DataFrame:
        """Facts of a predicate as a Polars frame.

        Raises
        ------
        DataError
            If Polars is not installed.
        """
        from kgreason.data.exchange.arrow import as_polars

        return as_polars(self.to_arrow(predicate))

    def to_networkx(self, predicate: str) -> networkx.MultiDiGraph[str]:
        """Facts of a predicate as a NetworkX graph: edges from the first argument to the second.

        Edges carry ``relation``; a third argument that is a number is their ``weight``, and what follows stands under
        the name of its column.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments.
        """
        from kgreason.data.exchange.graph_objects import as_networkx, edges_of

        made = as_networkx(edges_of(self.to_arrow(predicate), predicate))
        return cast("networkx.MultiDiGraph[str]", made)

    def to_igraph(self, predicate: str) -> igraph.Graph:
        """Facts of a predicate as a graph of igraph, as `to_networkx`; vertices carry ``name``.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments, or igraph is not installed.
        """
        from kgreason.data.exchange.graph_objects import as_igraph, edges_of

        return as_igraph(edges_of(self.to_arrow(predicate), predicate))
