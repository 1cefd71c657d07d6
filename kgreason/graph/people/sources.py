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
class Triples:
    """Files with a statement on each line.

    Attributes
    ----------
    files
        Their statements are joined.
    columns
        Role of each column: user, relation, target or `SKIPPED`.
    relation
        The relation (or attribute) of all lines, of files that have no column for it.
    names
        Whether the tables of names apply.
    missing
        Texts that stand for no value, besides nothing at all.
    """

    files: tuple[File, ...]
    columns: tuple[str, ...]
    relation: str | None = None
    names: bool = True
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Files with a user on each line and an attribute in each column.

    Attributes
    ----------
    files
        Their lines are joined.
    id
        Column that names the users; `None`: they are numbered from 1.
    columns
        Names for the columns of files without a line of names; `None`: their numbers.
    names, missing
        As for `Triples`; only users are looked up.
    """

    files: tuple[File, ...]
    id: str | None = None
    columns: tuple[str, ...] | None = None
    names: bool = True
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """Files that say which name an id stands for.

    Attributes
    ----------
    of
        What has such ids: users, values, relations.
    files
        Their lines are joined.
    columns
        Role of each column: name, id or `SKIPPED`.
    """

    of: tuple[str, ...]
    files: tuple[File, ...]
    columns: tuple[str, ...]


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

    triples: tuple[Triples, ...]
    tables: tuple[Table, ...]
    names: tuple[Names, ...]
    kinds: Kinds
    file: str | None = None
    line: int | None = None

    @property
    def format(self) -> str:
        """Format of the first file."""
        parts: tuple[Triples | Table, ...] = (*self.triples, *self.tables)
        return parts[0].files[0].spec.kind("edges")

    def error(self, message: str, hint: str | None = None) -> DataError:
        """Build the error that points at the kinds."""
        return DataError(self.file or "options", message, self.line, hint=hint)
