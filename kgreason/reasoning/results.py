"""Results of `kgreason.reason`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kgreason.base.printable import Displayed
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.values import plain
from kgreason.language.vocabulary import suggest

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars
    import pyarrow

    from kgreason.base.errors import Diagnostic
    from kgreason.engine.statistics import Stats
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value


def no_output(predicate: str, outputs: Sequence[str]) -> str:
    """Error message for a predicate that is not an output."""
    near = suggest(str(predicate), outputs)
    means = f"did you mean {near!r}? " if near else ""
    return f"{predicate!r} is no output; {means}there are {', '.join(outputs) or 'none'}"


@dataclass(frozen=True)
class Reasoned(Displayed):
    """Derived facts by output predicate, with statistics of the evaluation.

    Attributes
    ----------
    facts, stats, program
        The facts after ``@post`` operations; counts and times; the rules.
    warnings
        Warnings of the evaluation, for instance that the chase was cut off.
    """

    facts: Facts
    stats: Stats
    warnings: tuple[Diagnostic, ...]
    program: CheckedProgram

    def __repr__(self) -> str:
        counts = ", ".join(f"{p} {self.facts.count(p):,}" for p in self.predicates)
        return f"<Reasoned: {counts or 'no output'}>"

    @property
    def predicates(self) -> tuple[str, ...]:
        """The output predicates."""
        return tuple(self.facts.tables)

    def rows(self, predicate: str) -> list[tuple[Value, ...]]:
        """Facts of a predicate as Python tuples; KeyError if it is not among `predicates`."""
        self._known(predicate)
        return list(self.facts.rows(predicate))

    def _known(self, predicate: str) -> None:
        if predicate not in self.facts.tables:
            raise KeyError(no_output(predicate, self.predicates))

    def as_dict(self, predicates: Sequence[str], *, profile: bool = False) -> dict[str, Any]:
        """JSON-ready dictionary: counts of all predicates, facts of `predicates`; `format` is the layout version.

        Dates and labelled nulls become strings; lists and sets become arrays. With `profile`, each round and join is
        included.
        """
        facts = {p: [[plain(value) for value in row] for row in self.facts.rows(p)] for p in predicates}
        counts = {p: self.facts.count(p) for p in self.predicates}
        return {"format": 1, "counts": counts, "facts": facts, "stats": self.stats.as_dict(profile=profile)}

    def to_arrow(self, predicate: str) -> pyarrow.Table:
        """Facts of a predicate as an Arrow table; columns are named after head variables where the rules agree."""
        from kgreason.data.fact_columns import facts_to_arrow
        from kgreason.data.targets import column_names

        self._known(predicate)
        arity = self.facts.tables[predicate].arity
        return facts_to_arrow(self.facts, predicate, column_names(self.program, predicate, arity))

    def to_pandas(self, predicate: str) -> pandas.DataFrame:
        """Facts of a predicate as a pandas data frame.

        Raises
        ------
        DataError
            If pandas is not installed.
        """
        from kgreason.data.library_exports import as_frame

        return as_frame(self.to_arrow(predicate))

    def to_polars(self, predicate: str) -> polars.DataFrame:
        """Facts of a predicate as a Polars data frame.

        Raises
        ------
        DataError
            If Polars is not installed.
        """
        from kgreason.data.library_exports import as_polars

        return as_polars(self.to_arrow(predicate))

    def to_networkx(self, predicate: str) -> networkx.MultiDiGraph[str]:
        """Facts of a predicate as a NetworkX graph, with edges from the first argument to the second.

        Edges have the attribute ``relation``; a numeric third argument becomes ``weight``, and further arguments are
        stored under their column names.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments.
        """
        from kgreason.data.library_exports import as_networkx, edges_of

        made = as_networkx(edges_of(self.to_arrow(predicate), predicate))
        return cast("networkx.MultiDiGraph[str]", made)

    def to_igraph(self, predicate: str) -> igraph.Graph:
        """Facts of a predicate as an igraph graph, as `to_networkx`; vertices have the attribute ``name``.

        Raises
        ------
        DataError
            If the facts have fewer than two arguments, or igraph is not installed.
        """
        from kgreason.data.library_exports import as_igraph, edges_of

        return as_igraph(edges_of(self.to_arrow(predicate), predicate))
