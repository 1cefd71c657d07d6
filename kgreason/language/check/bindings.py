"""Form of annotations; ``@bind``, ``@qbind`` and ``@mapping``: sources and targets of facts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kgreason.base.errors import Findings
from kgreason.base.printable import HINT, hidden, in_address, names_password
from kgreason.language.check.checked_program import Bind, Mapped, Query
from kgreason.language.check.file_access import address, connection
from kgreason.language.syntax.syntax_tree import Annotation, Constant
from kgreason.language.vocabulary import DATABASES, LATER_SOURCES, SERVERS, SOURCES, TYPES, meant

# An unquoted value ends at the next blank, or at the comma before the next option.
_BARE = r"(?:(?!,\s*(?:\w+\s*=|\s|$))\S)*"
_OPTION = re.compile(rf"""[\s,]*(\w+)\s*=\s*('[^']*'|"[^"]*"|{_BARE})""")
_ALIASES = {"pajek": "net"}
FORMS = {
    "input": '@input("predicate")',
    "output": '@output("predicate")',
    "bind": '@bind("predicate", "csv useHeaders=true", "folder", "file.csv")',
    "qbind": '@qbind("predicate", "sqlite", "file.db", "select ...")',
    "mapping": '@mapping("predicate", 0, "column", "type")',
    "post": '@post("predicate", "orderby(1)")',
    "param": '@param("name", value)',
    "include": '@include("file.vada")',
    "module": '@module("name")',
    "label": '@label("name") or @label("name", 0.9) before a rule',
    "node": '@node("predicate")',
    "edge": '@edge("predicate")',
    "derived": '@derived("predicate")',
    "query": '@query("predicate")',
    "sensitive": '@sensitive("predicate")',
    "incoming_sum": '@incoming_sum("predicate", 1.0)',
}

_SHAPES: dict[str, tuple[type | tuple[type, ...], ...]] = {
    "bind": (str, str, str, str),
    "qbind": (str, str, str, str),
    "mapping": (str, int, str, str),
    "post": (str, str),
    "param": (str, object),
    "incoming_sum": (str, (int, float)),
}


def well_formed(clause: Annotation, findings: Findings) -> bool:
    """Whether number and types of the arguments are correct."""
    shape, values = _SHAPES.get(clause.name, (str,)), [argument.value for argument in clause.arguments]
    if clause.name == "label" and len(values) > 1:
        shape = (str, (int, float))
    if len(shape) == len(values) and all(
        kind is object or (isinstance(value, kind) and not isinstance(value, bool))
        for value, kind in zip(values, shape, strict=True)
    ):
        return True
    wrong(clause, None, f"wrong arguments of @{clause.name}", findings)
    return False


def wrong(clause: Annotation, culprit: Constant | None, message: str, findings: Findings) -> None:
    """Report an annotation with invalid arguments."""
    findings.add("E302", message, (culprit or clause).span, hint=f"write {_form(clause)}")


def _form(clause: Annotation) -> str:
    """Expected form of an annotation; for databases it names a file and a table."""
    if clause.name == "bind" and len(clause.arguments) > 1:
        source = str(clause.arguments[1].value).split(" ")[0]
        if source in SERVERS:
            options = "host='localhost' database='register'"
            return f'@bind("predicate", "{source} {options}", "schema", "table")'
        if source in DATABASES:
            return f'@bind("predicate", "{source}", "file.db", "table")'
    return FORMS[clause.name]


def read_bind(clause: Annotation, folder: Path, findings: Findings) -> Bind | None:
    """Read ``@bind("p", "csv useHeaders=true", "folder", "file.csv")``."""
    read = _source(clause, SOURCES, findings)
    if read is None:
        return None
    source, options = read
    predicate, _, where, what = (str(a.value) for a in clause.arguments)
    if source not in DATABASES:
        return Bind(predicate, source, options, _path(folder / where / what), clause.span)
    form = f'@bind("{predicate}", "{source}", "file.db", "table")' if source not in SERVERS else _form(clause)
    for name, argument in zip(("file", "table"), clause.arguments[2:], strict=True):
        if not argument.value and (name == "table" or source not in SERVERS):
            message = f"@bind: which {name} of {source} is meant?"
            findings.add("E302", message, argument.span, hint=f"write {form}")
            return None
    if source in SERVERS:
        options = _within(options, where)
        return Bind(predicate, source, options, address(options), clause.span, what)
    return Bind(predicate, source, options, _path(folder / where), clause.span, what)


def read_query(clause: Annotation, folder: Path, findings: Findings) -> Query | None:
    """Read ``@qbind("p", "sqlite", "file.db", "select ...")``."""
    read = _source(clause, DATABASES, findings)
    if read is None:
        return None
    source, options = read
    predicate, _, where, query = (str(a.value) for a in clause.arguments)
    if not query.strip():
        wrong(clause, clause.arguments[3], "the query is empty", findings)
        return None
    if not where and source == "sqlite":
        wrong(clause, clause.arguments[2], "@qbind: which file of sqlite is meant?", findings)
        return None
    path = _path(folder / where) if where else ""
    if source in SERVERS:
        options = _within(options, where)
        path = address(options)
    return Query(predicate, source, options, path, query, clause.span)


def _within(options: Mapping[str, str], where: str) -> Mapping[str, str]:
    """Options of a server including the third argument: the database or, if that is an option, the schema."""
    if not where:
        return options
    return {**options, "schema" if "database" in connection(options) else "database": where}


def _path(path: Path) -> str:
    """Path without ``folder/..``, unless the folder is a symbolic link that leads elsewhere."""
    short = os.path.normpath(path)
    return short if Path(short).resolve() == path.resolve() else str(path)


def _source(
    clause: Annotation, allowed: frozenset[str], findings: Findings
) -> tuple[str, Mapping[str, str]] | None:
    words = str(clause.arguments[1].value).strip().split(None, 1)
    source = words[0].rstrip(",") if words else ""
    if source not in allowed:
        _refuse(clause, source, allowed, findings)
        return None
    options: dict[str, str] = {}
    rest = words[1].strip() if len(words) > 1 else ""
    end = 0
    while match := _OPTION.match(rest, end):
        value = match[2]
        options[match[1]] = value[1:-1] if value[:1] in ("'", '"') and len(value) > 1 else value
        end = match.end()
    if any(map(names_password, options)) or in_address(" ".join(words)):
        findings.add(
            "E208",
            "a rule file must not hold a password",
            clause.arguments[1].span,
            note="who may read the rules could read the database; libpq finds the password where you keep it",
            hint=HINT,
        )
        return None
    if rest[end:].strip(" ,"):
        findings.add(
            "E302",
            hidden(f"cannot read the options from `{rest[end:].strip()}` on"),
            clause.arguments[1].span,
            note="options are written name=value, with blanks or commas between them",
            hint="put quotes around a value with blanks in it, as in columns='owner, company, share'",
        )
        return None
    return _ALIASES.get(source, source), options


def _refuse(clause: Annotation, source: str, allowed: frozenset[str], findings: Findings) -> None:
    span = clause.arguments[1].span
    if source in LATER_SOURCES:
        findings.add("E207", f"the source {source!r} is not supported by this version", span)
    elif source in SOURCES:
        predicate = clause.arguments[0].value
        findings.add(
            "E307",
            f"@qbind: the source {source!r} answers no queries",
            span,
            note=f"queries go to {', '.join(sorted(allowed))}",
            hint=f'duckdb reads files, too: @qbind("{predicate}", "duckdb", "", "select * from \'file\'")',
        )
    else:
        findings.add(
            "E307",
            f"there is no source {source!r}",
            span,
            note="the sources are " + ", ".join(sorted(allowed)),
            hint=meant(source, allowed) or f"write {FORMS[clause.name]}",
        )


def read_mapping(clause: Annotation, before: list[Mapped], findings: Findings) -> Mapped | None:
    """Read ``@mapping("p", 0, "column", "type")``; `before` holds the preceding mappings."""
    predicate = str(clause.arguments[0].value)
    position, column, kind = (a.value for a in clause.arguments[1:])
    if not isinstance(position, int) or position < 0:
        wrong(clause, clause.arguments[1], "positions count from 0", findings)
        return None
    if kind not in TYPES:
        findings.add(
            "E302",
            f"there is no type {kind!r}",
            clause.arguments[3].span,
            note="the types are int, double, string, boolean, date and percent (25 and 25% are read as 0.25)",
            hint=meant(str(kind), TYPES),
        )
        return None
    taken = [m for m in before if (m.predicate, m.position) == (predicate, position)]
    if taken:
        findings.add(
            "E305",
            f"position {position} of `{predicate}` is mapped twice",
            clause.span,
            hint="keep one of them",
            related=((taken[0].span, "the first one"),),
        )
        return None
    return Mapped(predicate, position, str(column), TYPES[str(kind)], clause.span)
