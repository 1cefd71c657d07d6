"""What the files of a graph of people hold: a schema, read from TOML or put together from options.

::

    [[triples]]                       # lines user, relation, value (or another user)
    files = ["facts.csv"]
    header = true

    [[tables]]                        # a line per user, an attribute per column
    files = ["people.csv"]
    id = "name"

    [kinds]                           # what each relation and column is
    numeric = ["age"]
    categorical = ["job", "city"]
    relations = ["follows"]
    mutual = ["married"]              # relations whose links run both ways
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.raw import no_file
from kgreason.graph.io.source import SourceSpec, parse_file
from kgreason.graph.people.sections import Section, sections, typed, typed_text
from kgreason.graph.people.sources import OTHERS, ROLES, File, Kinds, Names, Schema, Table, Triples


def read_schema(path: Path | str) -> Schema:
    """Read a schema file; the files it names are relative to it.

    Raises
    ------
    DataError
        If it is no TOML, has an unknown key, a value of a wrong type or one that does not fit the others.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    found = sections(path)
    triples = tuple(_triples(part, path.parent) for part in found if part.kind == "triples")
    tables = tuple(_table(part, path.parent) for part in found if part.kind == "tables")
    names = tuple(_names(part, path.parent) for part in found if part.kind == "names")
    kinds = next((part for part in found if part.kind == "kinds"), Section(str(path), "kinds", {}))
    if not triples and not tables:
        raise DataError(
            str(path), "no data are named", hint="write a section [[triples]] or [[tables]] with files"
        )
    return _whole(Schema(triples, tables, names, _kinds(kinds), str(path), kinds.line))


def schema_of_options(
    files: Sequence[str],
    *,
    attributes: Sequence[str] = (),
    numeric: Sequence[str] = (),
    relations: Sequence[str] = (),
    mutual: Sequence[str] = (),
    ignore: Sequence[str] = (),
    others: str | None = None,
    table: bool = False,
) -> Schema:
    """Put a schema together without a schema file.

    Parameters
    ----------
    files
        Files of triples, each perhaps with options behind a question mark: the keys of a section of the schema,
        lists separated by commas, as in ``facts.txt?columns=user,target,relation&skip=1``.
    attributes, numeric, relations, mutual, ignore
        Names of categorical and numeric attributes, of relations, of mutual ones, and of what is left out.
    others
        What all others are; see `Kinds`.
    table
        The files are tables.

    Raises
    ------
    DataError
        If an option is unknown or does not fit the others.

    Examples
    --------
    >>> schema = schema_of_options(["a.csv?header=true", "b.tsv"], numeric=["age"], relations=["follows"])
    >>> [t.files[0].options.header for t in schema.triples], schema.kinds.named()
    ([True, False], {'age': 'numeric', 'follows': 'relations'})
    """
    parts = []
    for text in files:
        spec = parse_file(text)
        given = typed_text(str(spec.path), "tables" if table else "triples", spec.options)
        parts.append(
            Section(str(spec.path), "tables" if table else "triples", {"files": [str(spec.path)], **given})
        )
    here = Path()
    lists = numeric, attributes, relations, mutual, ignore
    kinds: dict[str, Any] = {name: list(given) for name, given in zip(OTHERS, lists, strict=True)}
    if others is not None:
        kinds["others"] = others
    return _whole(
        Schema(
            () if table else tuple(_triples(part, here) for part in parts),
            tuple(_table(part, here) for part in parts) if table else (),
            (),
            _kinds(Section("options", "kinds", kinds)),
        )
    )


def _triples(part: Section, folder: Path) -> Triples:
    given = typed(part)
    relation = given.get("relation")
    roles = tuple(r for r in ROLES if r != "relation" or relation is None)
    columns = tuple(given.get("columns", roles))
    part.check_columns(columns, roles, constant="relation" if relation is not None else None)
    return Triples(
        _files(part, folder, given, header=given.get("header", False)),
        columns,
        relation,
        given.get("names", True),
        tuple(given.get("missing", ())),
    )


def _table(part: Section, folder: Path) -> Table:
    given = typed(part)
    header = given.get("header", True)
    columns = given.get("columns")
    if columns is not None and header:
        raise part.error(
            "columns", "the columns have names already", "write header = false if the file has none"
        )
    return Table(
        _files(part, folder, given, header=header),
        given.get("id"),
        None if columns is None else tuple(columns),
        given.get("names", True),
        tuple(given.get("missing", ())),
    )


def _names(part: Section, folder: Path) -> Names:
    given = typed(part)
    of = tuple(given.get("of", ()))
    wrong = [o for o in of if o not in ("users", "values", "relations")]
    if wrong or not of:
        said = f"of cannot be {wrong[0]!r}" if wrong else "it is not said what has these names"
        raise part.error("of", said, 'write of = ["users"], or "values", "relations", or several of them')
    columns = tuple(given.get("columns", ("name", "id")))
    part.check_columns(columns, ("name", "id"))
    return Names(of, _files(part, folder, given, header=given.get("header", False)), columns)


def _files(part: Section, folder: Path, given: Mapping[str, Any], *, header: bool) -> tuple[File, ...]:
    if not given.get("files"):
        raise part.error("files", "no file is named", 'write files = ["..."]')
    return tuple(file_of(part, folder / name, given, header=header) for name in given["files"])


def file_of(part: Section, path: Path, given: Mapping[str, Any], *, header: bool) -> File:
    """Bring the keys of a section to the options that readers have.

    Raises
    ------
    DataError
        If the file is of a format that people are not read from.
    """
    from kgreason.graph.io.formats import understood

    options = {name: str(given[name]) for name in ("delimiter", "quote", "encoding", "skip") if name in given}
    spec = SourceSpec(path, given.get("format"), options)
    kind = spec.kind("edges")
    if kind not in ("csv", "tsv", "edges", "konect", "parquet"):
        raise part.error(
            "format", f"{path}: people are not read from {kind} files", "csv, tsv, edges and parquet are read"
        )
    if kind != "parquet":
        options["useHeaders"] = str(header).lower()
    elif "header" in given:
        raise part.error("header", f"{path}: the columns of parquet files have names", "leave it out")
    spec = SourceSpec(path, kind, options)
    return File(spec, understood(spec))


def _kinds(part: Section) -> Kinds:
    given = typed(part)
    seen: dict[str, str] = {}
    for kind in OTHERS:
        for name in given.get(kind, ()):
            if name in seen:
                twice = f"twice in {kind}" if seen[name] == kind else f"in {seen[name]} and in {kind}"
                raise part.error(kind, f"{name!r} is {twice}", "a name is of one kind: leave out one")
            seen[name] = kind
    others = given.get("others")
    if others is not None and others not in OTHERS:
        raise part.error("others", f"others cannot be {others!r}", f"one of {', '.join(OTHERS)}")
    return Kinds(**{kind: tuple(given.get(kind, ())) for kind in OTHERS}, others=others)


def _whole(schema: Schema) -> Schema:
    """See that what the parts say fits."""
    unnamed = [t for t in schema.tables if t.id is None]
    if len(unnamed) > 1 or (unnamed and len(schema.tables) + len(schema.triples) > 1):
        raise DataError(
            schema.file or unnamed[0].files[0].spec.file,
            "the users of a table are numbered, and other files name users as well",
            hint='say which column of the table names them: id = "..."',
        )
    return schema
