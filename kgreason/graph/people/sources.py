"""The files of a graph of people and what they hold, as a schema says it."""

from __future__ import annotations

from dataclasses import dataclass

from kgreason.data.options import Options
from kgreason.data.raw import Raw
from kgreason.data.source import SourceSpec
from kgreason.errors import DataError

OTHERS = ("numeric", "categorical", "relations", "mutual", "ignore")
LINKS = ("relations", "mutual")
"""Kinds of what relates users."""
ROLES = ("user", "relation", "target")
SKIPPED = "_"
"""Name of columns that are not read."""


@dataclass(frozen=True)
class File:
    """A file, with its format and options.

    Attributes
    ----------
    spec
        Path and format.
    options
        How it is read.
    table
        Its rows, of a table of the calling program that is no file.
    """

    spec: SourceSpec
    options: Options
    table: Raw | None = None


@dataclass(frozen=True)
class Data:
    """Files of one form, as a section of a schema names them; their lines are joined.

    Attributes
    ----------
    kind
        ``triples`` (a statement on each line), ``tables`` (a user on each line, an attribute in each column) or
        ``names`` (a name on each line, and the id that it stands for).
    columns
        Role of each column: user, relation, target, name, id or `SKIPPED`. Of tables without a line of names, the names
        of the columns; `None`: their numbers.
    relation
        Of triples: the relation (or attribute) of all lines, of files that have no column for it.
    id
        Of tables: the column that names the users; `None`: they are numbered from 1.
    of
        Of names: what has such ids (users, values, relations).
    names
        Whether the tables of names apply; of tables only users are looked up.
    missing
        Texts that stand for no value, besides nothing at all.
    """

    kind: str
    files: tuple[File, ...]
    columns: tuple[str, ...] | None = None
    relation: str | None = None
    id: str | None = None
    of: tuple[str, ...] = ()
    names: bool = True
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kinds:
    """What each relation and column is.

    Attributes
    ----------
    numeric, categorical
        Attributes, whose values are numbers or names.
    relations, mutual
        Relations between users; those that are mutual by nature, whose links run both ways.
    ignore
        What is left out.
    others
        What all others are; `None`: columns of tables are categorical, of triples it must be said.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    mutual: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    others: str | None = None

    def named(self) -> dict[str, str]:
        """Kind of each name that has one."""
        return {name: kind for kind in OTHERS for name in getattr(self, kind)}


@dataclass(frozen=True)
class Schema:
    """All that is said of the files of a graph of people.

    Attributes
    ----------
    file
        The schema's own file as messages show it; `None`: it was put together from options.
    line
        Line of its kinds.
    """

    data: tuple[Data, ...]
    kinds: Kinds
    file: str | None = None
    line: int | None = None

    @property
    def format(self) -> str:
        """Format of the first file of triples or, without any, of tables."""
        first = min((d for d in self.data if d.kind != "names"), key=lambda d: d.kind != "triples")
        return first.files[0].spec.kind("edges")

    @property
    def files(self) -> list[File]:
        """All files."""
        return [file for some in self.data for file in some.files]

    def error(self, message: str, hint: str | None = None) -> DataError:
        """Build the error that points at the kinds."""
        return DataError(self.file or "options", message, self.line, hint=hint)
