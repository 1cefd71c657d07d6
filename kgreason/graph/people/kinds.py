"""Which relations and columns are attributes, and which relate users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgreason.errors import DataError
from kgreason.graph.people.parts import Part
from kgreason.graph.people.sources import Schema
from kgreason.lang.names import suggest
from kgreason.progress import Progress

_SHOWN = 8


def kinds_of(schema: Schema, parts: Sequence[Part], progress: Progress) -> dict[str, str]:
    """Kind of each relation and column, one of `OTHERS`.

    First those of the data, as they occur first, then those that the schema names and that have no statement. A
    relation is also mutual if a file with statements of it says that its links run both ways.

    Raises
    ------
    DataError
        If the schema does not say what one is, or seems to misspell one.
    """
    named = schema.kinds.named()
    kinds: dict[str, str] = {}
    unknown: dict[str, Part] = {}
    for part in parts:
        for name in part.names:
            kind = named.get(name) or schema.kinds.others or ("categorical" if part.table else None)
            if kind is not None:
                both = kind == "relations" and (part.both or kinds.get(name) == "mutual")
                kinds[name] = "mutual" if both else kind
            else:
                unknown.setdefault(name, part)
    if unknown:
        raise _unsaid(schema, unknown)
    for name, kind in named.items():
        if name not in kinds:
            _check_spelling(schema, name, kind, [n for n in kinds if n not in named])
            progress.note(f"the data have nothing of {name!r}, which the schema names among {_among(kind)}")
            kinds[name] = kind
    return kinds


def _unsaid(schema: Schema, unknown: dict[str, Part]) -> DataError:
    name, part = next(iter(unknown.items()))
    names = ", ".join(map(repr, list(unknown)[:_SHOWN]))
    more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
    near = suggest(name, schema.kinds.named())
    asked = f"did you mean {near!r}? " if near else ""
    how = (
        "name them in numeric, categorical, relations, mutual or ignore"
        if part.raw.memory
        else "give them with --attributes, --numeric, --relations or --mutual"
        if schema.file is None
        else "name them under [kinds]: numeric, categorical, relations, mutual or ignore; "
        'for all at once others = "categorical"'
    )
    first = np.flatnonzero(part.name == part.names.index(name))
    message = f"it is not said what {names}{more} {'is' if len(unknown) == 1 else 'are'}"
    if not len(first):
        return DataError(part.raw.file, message, hint=asked + how)
    return part.raw.error(int(part.row[first[0]]), message, hint=asked + how)


def _check_spelling(schema: Schema, name: str, kind: str, others: Sequence[str]) -> None:
    """Refuse a name that does not occur where one like it does, of which nothing is said."""
    near = suggest(name, others)
    if near is not None:
        raise schema.error(
            f"{_among(kind)} name {name!r}, which does not occur", hint=f"did you mean {near!r}?"
        )


def _among(kind: str) -> str:
    words = {"relations": "the relations", "mutual": "the mutual relations", "ignore": "those to ignore"}
    return words.get(kind, f"the {kind} attributes")
