"""Anonymity levels: the k of each user, read from a table or generated for experiments (PCKGA, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import AnonymizationError, DataError
from kgreason.base.progress import SILENT
from kgreason.base.records import record
from kgreason.data.formats.delimited import write_csv
from kgreason.data.raw_table import Raw
from kgreason.data.sources import parse_file
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.vocabulary import suggest
from kgreason.people.file_schema import USER_TABLE, Section, file_of, typed_text
from kgreason.people.model import PeopleGraph, Texts
from kgreason.people.statements import by_role, read_raw

SHOWN = 3


@record
class UserTable:
    """A table with one row for each user.

    Attributes
    ----------
    what
        Name of the second column, for instance "cluster".
    first
        First data row: 1 after a header line, else 0.
    users, cells
        Cells of each row, as text.
    """

    raw: Raw
    what: str
    first: int
    users: list[str]
    cells: list[str]

    def numbers(self, labels: Texts) -> list[int]:
        """Index in `labels` of the user of each data row; a `DataError` names an unknown or repeated user."""
        number = {label: i for i, label in enumerate(labels.tolist())}
        users = self.users[self.first :]
        if strange := [row for row, user in enumerate(users, self.first) if user not in number]:
            raise self._nobody(strange, number)
        listed: set[str] = set()
        for row, user in enumerate(users, self.first):
            if user in listed:
                raise self.raw.error(
                    row, f"user {user!r} has a {self.what} already", hint="remove one of the lines"
                )
            listed.add(user)
        return [number[user] for user in users]

    def _nobody(self, rows: Sequence[int], number: dict[str, int]) -> DataError:
        label = self.users[rows[0]]
        near = suggest(label, number)
        hint = f"did you mean {near!r}?" if near else "remove the line, or use the names of the data"
        if not near and self.what == "cluster":
            hint += " (entities with sensitive links only are removed)"
        if rows[0] == 0:
            hint += f"; a first line of names must be user,{self.what}"
        more = f" ({len(rows):,} such users of {len(self.users) - self.first:,})" if len(rows) > 1 else ""
        return self.raw.error(rows[0], f"there is no user {label!r} in the graph{more}", hint=hint)

    def lacking(self, users: Vertices, labels: Texts, hint: str) -> DataError:
        """Build the error for users without a row."""
        some = ", ".join(map(repr, labels[users[:SHOWN]])) + ", ..." * (len(users) > SHOWN)
        more = f" ({len(users):,} of {len(labels):,} users)" if len(users) > 1 else ""
        return DataError(self.raw.file, f"no {self.what} for {some}{more}", hint=hint)


def read_user_table(given: Path | str, what: str, labels: Texts) -> UserTable:
    """Read a table ``user,WHAT``, with or without this header line.

    Parameters
    ----------
    given
        The file, optionally with options after a question mark, as in ``clusters.csv?delimiter=;``.
    labels
        The users; tells a header line from the row of a user with that name.
    """
    spec = parse_file(str(given))
    options: dict[str, Any] = typed_text(spec.file, USER_TABLE, spec.options)
    section = Section(spec.file, USER_TABLE, options)
    columns = tuple(options.get("columns", ("user", what)))
    section.check_columns(columns, ("user", what))
    titled = options.get("header", False)
    raw = read_raw(file_of(section, spec.path, options, header=titled), SILENT)
    found = by_role(raw, columns, inline=True)
    users, cells = found["user"].to_pylist(), [cell.strip() for cell in found[what].to_pylist()]
    names = bool(users) and not titled and cells[0].lower() == what
    if names and users[0] in set(labels.tolist()):  # a header only if that user has another row
        names = users.count(users[0]) > 1
    return UserTable(raw, what, int(names), users, cells)


Levels = npt.NDArray[np.int64]  # anonymity level k of each user, shape (n,)
_MEND = "write a whole number of at least 1: the size of the class of the user"


def read_levels(given: Path | str, graph: PeopleGraph, default: int | None = None) -> Levels:
    """Read a table ``user,k``, with or without this header line.

    Parameters
    ----------
    given
        The file, optionally with options after a question mark, as in ``k.csv?delimiter=;``.
    default
        Level of users without a row; `None`: every user needs a row.

    Raises
    ------
    DataError
        If the table has an unknown user, repeats or lacks a user, or a k is no integer of at least 1.
    AnonymizationError
        If the default is less than 1.
    """
    table = read_user_table(given, "k", graph.labels)
    levels = np.full(graph.n, -1, dtype=np.int64)
    for row, user in enumerate(table.numbers(graph.labels), table.first):
        words = table.cells[row]
        if not (words.isascii() and words.isdecimal() and len(words) < 19 and int(words)):
            less = words.isascii() and words.isdecimal() and not int(words)
            said = "less than 1" if less else repr(words)
            raise table.raw.error(row, f"the k of user {table.users[row]!r} is {said}", hint=_MEND)
        levels[user] = int(words)
    if default is not None and default < 1:
        raise AnonymizationError(f"the default level is at least 1, not {default}")
    lacking = np.flatnonzero(levels < 0)
    if default is None and len(lacking):
        hint = "add a line for each of them, or say with -k what holds for the others"
        raise table.lacking(lacking, graph.labels, hint)
    levels[lacking] = 0 if default is None else default
    return levels


def write_levels(path: Path, graph: PeopleGraph, levels: Levels) -> None:
    """Write the table ``user,k`` for `read_levels`."""
    with replacing(path) as temporary:
        write_csv(temporary, ("user", "k"), (graph.labels, levels))


def zipf_levels(
    graph: PeopleGraph, low: int, high: int, step: int, alpha: float, rng: np.random.Generator
) -> Levels:
    """Draw the level of each user from low, low + step, ..., high: the i-th has frequency about i to the power -alpha.

    The index i is drawn from the Zipf distribution over 1, 2, 3, ...; an index beyond the last level is replaced by a
    uniformly random one. The levels published by the authors of PCKGA follow this distribution, not a Zipf distribution
    truncated to the levels.

    References
    ----------
    PCKGA, section 6.1, zipf.
    """
    values = level_range(low, high, step)
    return values[rng.choice(len(values), graph.n, p=zipf_shares(len(values), alpha))]


def zipf_shares(count: int, alpha: float) -> npt.NDArray[np.float64]:
    """Probabilities of `count` levels, shape (count,); see `zipf_levels`."""
    from scipy.special import zeta

    if not alpha > 1:
        raise AnonymizationError(f"alpha must be above 1, not {alpha:g}", hint="alpha = 2 is usual")
    share = np.arange(1, count + 1, dtype=np.float64) ** -alpha / zeta(alpha)
    shares: npt.NDArray[np.float64] = share + (1 - share.sum()) / count
    shares /= shares.sum()
    return shares


def te_levels(graph: PeopleGraph, low: int, high: int, step: int) -> Levels:
    """Levels that grow with the number of a user's edges: values, outgoing and incoming links.

    The range of these numbers is divided into equal intervals, one fewer than there are levels; users with the most
    edges have the highest level.

    References
    ----------
    PCKGA, section 6.1, te. The paper omits the rule; this one reproduces the levels of the authors' Freebase data.

    Examples
    --------
    >>> graph = PeopleGraph.from_triples("abc", [("a", "job", str(i)) for i in range(9)], [("b", "knows", "c")])
    >>> te_levels(graph, 2, 5, 1).tolist()
    [5, 2, 2]
    """
    edges = graph.out_degrees().sum(axis=1) + graph.in_degrees().sum(axis=1)
    for a in graph.attributes.values():
        edges += np.bincount(a.user, minlength=graph.n)
    return binned(edges, level_range(low, high, step))


def binned(counts: Vertices, values: Levels) -> Levels:
    """Levels by equal intervals of the range of some counts; see `te_levels`."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    least, most = int(counts.min()), int(counts.max())
    place = (counts - least) * (len(values) - 1) // max(most - least, 1)
    return values[place]


def level_range(low: int, high: int, step: int) -> Levels:
    """Levels from `low` to `high`, both included; an `AnonymizationError` if `step` does not divide the range."""
    if low < 1 or step < 1 or high < low or (high - low) % step:
        raise AnonymizationError(
            f"levels cannot run from {low} to {high} by {step}",
            hint="the lowest is at least 1 and the highest some steps above it, as in 2 to 5 by 1 or 5 to 50 by 5",
        )
    return np.arange(low, high + 1, step, dtype=np.int64)
