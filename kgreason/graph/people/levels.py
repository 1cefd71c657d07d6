"""Anonymity levels: the k of each user, from a table ``user,k`` or made up for experiments (PCKGA, section 6.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.data.delimited import write_csv
from kgreason.errors import AnonymizationError
from kgreason.graph.io.raw import Raw
from kgreason.graph.model import Vertices
from kgreason.graph.people.beside import Beside, read_beside
from kgreason.graph.people.model import PeopleGraph
from kgreason.output.place import replacing

Levels = npt.NDArray[np.int64]
"""Anonymity level k of each user, shape (n,)."""
_MEND = "write a whole number of at least 1: the user will be one of k that are alike"


def read_levels(given: Path | str, graph: PeopleGraph, default: int | None = None) -> Levels:
    """Read a table ``user,k``, with or without this line of names.

    Parameters
    ----------
    given
        The file, perhaps with options behind a question mark, as in ``k.csv?delimiter=;``.
    default
        Level of users that are not in the table; `None`: there must be none.

    Raises
    ------
    DataError
        If the table names a user that is not in the graph, or one twice, lacks one, or a k is no whole number of at
        least 1.
    AnonymizationError
        If the default is less than 1.
    """
    table = read_beside(given, "k", graph.labels)
    levels = np.full(graph.n, -1, dtype=np.int64)
    for row, user in enumerate(table.numbers(graph.labels), table.first):
        levels[user] = _level(table.raw, row, table.users[row], table.cells[row])
    return _complete(table, levels, graph, default)


def _level(raw: Raw, row: int, user: str, text: str) -> int:
    bare = text.strip()
    if not (bare.isascii() and bare.isdecimal() and len(bare) < 19):
        raise raw.error(row, f"the k of user {user!r} is {text!r}", hint=_MEND)
    if int(bare) < 1:
        raise raw.error(row, f"the k of user {user!r} is less than 1", hint=_MEND)
    return int(bare)


def _complete(table: Beside, levels: Levels, graph: PeopleGraph, default: int | None) -> Levels:
    if default is not None and default < 1:
        raise AnonymizationError(f"the default level is at least 1, not {default}")
    lacking = np.flatnonzero(levels < 0)
    if default is not None:
        levels[lacking] = default
    elif len(lacking):
        hint = "add a line for each of them, or say with -k what holds for the others"
        raise table.lacking(lacking, graph.labels, hint)
    return levels


def write_levels(path: Path, graph: PeopleGraph, levels: Levels) -> None:
    """Write the table ``user,k`` that `read_levels` reads.

    Raises
    ------
    ReleaseError
        If the file cannot be written.
    """
    with replacing(path) as temporary:
        write_csv(temporary, ("user", "k"), (graph.labels, levels))


def zipf_levels(
    graph: PeopleGraph, low: int, high: int, step: int, alpha: float, rng: np.random.Generator
) -> Levels:
    """Draw the level of each user: the i-th of low, low + step, ... high is about i to the power -alpha as frequent.

    A number i is drawn from the Zipf distribution over 1, 2, 3, ...; one beyond the last level stands for any level,
    all being equally likely. The levels of the authors of PCKGA are distributed so, not by a distribution over their
    levels alone.

    Raises
    ------
    AnonymizationError
        If the range is none, or alpha is not above 1.

    References
    ----------
    PCKGA, section 6.1, zipf.
    """
    values = level_range(low, high, step)
    return values[rng.choice(len(values), graph.n, p=zipf_shares(len(values), alpha))]


def zipf_shares(count: int, alpha: float) -> npt.NDArray[np.float64]:
    """Probability of each of `count` levels, shape (count,); see `zipf_levels`.

    Examples
    --------
    >>> zipf_shares(4, 2.0).round(3).tolist()
    [0.642, 0.186, 0.101, 0.072]
    """
    from scipy.special import zeta

    if not alpha > 1:
        raise AnonymizationError(f"alpha must be above 1, not {alpha:g}", hint="alpha = 2 is usual")
    share = np.arange(1, count + 1, dtype=np.float64) ** -alpha / zeta(alpha)
    shares: npt.NDArray[np.float64] = share + (1 - share.sum()) / count
    shares /= shares.sum()
    return shares


def te_levels(graph: PeopleGraph, low: int, high: int, step: int) -> Levels:
    """Levels that grow with the number of a user's edges: values, links from the user and links to the user.

    The range of these numbers is divided into equal parts, one less than there are levels; the highest level is that
    of the users with the most edges.

    Raises
    ------
    AnonymizationError
        If the range is none.

    References
    ----------
    PCKGA, section 6.1, te. The paper does not give the rule; this one gives the levels of the authors' Freebase.

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
    """Spread levels over the range of some counts; see `te_levels`.

    Examples
    --------
    >>> binned(np.array([1, 4, 5, 34, 35]), np.arange(5, 51, 5)).tolist()
    [5, 5, 10, 45, 50]
    """
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    least, most = int(counts.min()), int(counts.max())
    place = (counts - least) * (len(values) - 1) // max(most - least, 1)
    return values[place]


def level_range(low: int, high: int, step: int) -> Levels:
    """Levels from `low` to `high`, both included.

    Raises
    ------
    AnonymizationError
        If there are none, or steps from the one do not lead to the other.
    """
    if low < 1 or step < 1 or high < low or (high - low) % step:
        raise AnonymizationError(
            f"levels cannot run from {low} to {high} by {step}",
            hint="the lowest is at least 1 and the highest some steps above it, as in 2 to 5 by 1 or 5 to 50 by 5",
        )
    return np.arange(low, high + 1, step, dtype=np.int64)
