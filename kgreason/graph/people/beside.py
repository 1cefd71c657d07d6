"""Tables that say one thing of each user, beside the data: ``user,k`` or ``user,cluster``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.source import parse_file
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Texts
from kgreason.graph.people.parts import by_role, read_raw
from kgreason.graph.people.schema import BESIDE, Section, file_of, typed_text
from kgreason.lang.names import suggest
from kgreason.progress import SILENT

SHOWN = 3


@dataclass(frozen=True)
class Beside:
    """What a table says of users.

    Attributes
    ----------
    raw
        The table.
    what
        What it says, for instance "cluster".
    first
        Its first row that is not of names.
    users, cells
        The texts of each row.
    """

    raw: Raw
    what: str
    first: int
    users: list[str]
    cells: list[str]

    def numbers(self, labels: Texts) -> list[int]:
        """Number among `labels` of the user of each row, from the first.

        Raises
        ------
        DataError
            If the table names somebody who is not among them, or one twice.
        """
        number = {label: i for i, label in enumerate(labels.tolist())}
        if strange := [row for row in range(self.first, len(self.users)) if self.users[row] not in number]:
            raise self._nobody(strange, number)
        seen: set[str] = set()
        for row in range(self.first, len(self.users)):
            if self.users[row] in seen:
                what = f"user {self.users[row]!r} has a {self.what} already"
                raise self.raw.error(row, what, hint="remove one of the lines")
            seen.add(self.users[row])
        return [number[user] for user in self.users[self.first :]]

    def _nobody(self, rows: Sequence[int], number: dict[str, int]) -> DataError:
        label = self.users[rows[0]]
        near = suggest(label, number)
        hint = (
            f"did you mean {near!r}?"
            if near
            else "remove the line, or use the names of the data (whoever has only sensitive links is left out)"
            if self.what == "cluster"
            else "remove the line, or use the names of the data"
        )
        if rows[0] == 0:
            hint += f"; a first line of names must be user,{self.what}"
        more = f" ({len(rows):,} such users of {len(self.users) - self.first:,})" if len(rows) > 1 else ""
        return self.raw.error(rows[0], f"there is no user {label!r} in the graph{more}", hint=hint)

    def lacking(self, users: Vertices, labels: Texts, hint: str) -> DataError:
        """Build the error for users of whom the table says nothing."""
        some = ", ".join(map(repr, labels[users[:SHOWN]])) + ", ..." * (len(users) > SHOWN)
        more = f" ({len(users):,} of {len(labels):,} users)" if len(users) > 1 else ""
        return DataError(self.raw.file, f"no {self.what} for {some}{more}", hint=hint)


def read_beside(given: Path | str, what: str, labels: Texts) -> Beside:
    """Read a table ``user,WHAT``, with or without this line of names.

    Parameters
    ----------
    given
        The file, perhaps with options behind a question mark, as in ``clusters.csv?delimiter=;``.
    labels
        The users: a line of names is not one of a user.

    Raises
    ------
    DataError
        If the file cannot be read, or has other columns.
    """
    spec = parse_file(str(given))
    options: dict[str, Any] = typed_text(spec.file, BESIDE, spec.options)
    section = Section(spec.file, BESIDE, options)
    columns = tuple(options.get("columns", ("user", what)))
    section.check_columns(columns, ("user", what))
    titled = options.get("header", False)
    raw = read_raw(file_of(section, spec.path, options, header=titled), SILENT)
    found = by_role(raw, columns, behind=True)
    users, cells = found["user"].to_pylist(), [cell.strip() for cell in found[what].to_pylist()]
    names = bool(users) and not titled and cells[0].lower() == what
    if names and users[0] in set(labels.tolist()):  # then it has a row of its own, or this is it
        names = users.count(users[0]) > 1
    return Beside(raw, what, int(names), users, cells)
