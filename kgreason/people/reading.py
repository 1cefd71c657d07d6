"""Reading graphs of people from files: statements, their kinds, and sets of values and links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from kgreason.base.arrays import pa, pc
from kgreason.base.errors import DataError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.data.raw_table import Column
from kgreason.graph.knowledge_graph import Vertices, grouped
from kgreason.language.vocabulary import suggest
from kgreason.people.file_schema import LINKS, Schema, read_schema
from kgreason.people.model import (
    Attribute,
    Kind,
    Links,
    PeopleGraph,
    Texts,
    attribute_of,
    completed,
    distinct_links,
)
from kgreason.people.statements import Flags, Lookup, Part, empty, lookups, parts_of

_SHOWN = 8
_LARGEST = 1e300  # largest number: differences must be finite
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*$"
_NOTES = {
    "empty": "empty values, left out",
    "loops": "links from a user to itself, left out",
    "repeated": "statements that repeat others, counted once",
    "numbers": "numbers written in several ways (1.0 and 1), read as one value",
    "completed": "links of mutual relations whose reverse was missing, completed by it",
    "ignored": "statements left out as the schema says",
    "untimed": "statements without a time, left out",
    "ended": "statements that end before they begin, left out",
    "users": "values of attributes that are names of users. They are released as they are: is one of these a relation?",
}
_NAMED = 5
_FEWEST = 10  # links needed to suspect that a relation is mutual
_MOSTLY = 0.5  # share of links with a reverse from which it is suspected
_OWN = 0.9  # share of values with a single user from which they may be identifiers
_DIGITS = re.compile(r"[+-]?[\d.,]+")


@dataclass
class Remarks:
    """Notes on the data: counts of omissions by kind and name, and warnings."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def count(self, what: str, name: str, number: int) -> None:
        """Increase a count."""
        if number:
            of = self.counts.setdefault(what, {})
            of[name] = of.get(name, 0) + number

    def check(self, graph: PeopleGraph) -> None:
        """Look for data that identify users.

        Counts values that are names of users, except numbers, which may have other meanings. Warns of relations whose
        links mostly have their reverse: generalization adds one-way links, which would be recognizable.
        """
        users = {label for label in graph.labels.tolist() if not _DIGITS.fullmatch(label)}
        for name, a in graph.attributes.items():
            self.count("users", name, len(users.intersection(a.domain.tolist())))
        for name, a in graph.attributes.items():
            self._naming(name, a)
        for name, counts in zip(graph.relations, _reversed(graph), strict=True):
            links = graph.relations[name]
            if len(links) >= _FEWEST:
                for other, count in zip(graph.relations, counts.tolist(), strict=True):
                    self._against(name, other, links, count / len(links))

    def _naming(self, name: str, a: Attribute) -> None:
        own = int((np.bincount(a.value) == 1).sum())
        if a.kind == "categorical" and len(a) >= _FEWEST and own >= _OWN * len(a):
            self.warnings.append(
                f"nearly all values of {name} are of one user each ({own:,} of {len(a):,}). They are released as they "
                f"are: if {name} names its user, leave it out (ignore)"
            )

    def _against(self, name: str, other: str, links: Links, share: float) -> None:
        if share < _MOSTLY:
            return
        if name != other:
            self.warnings.append(
                f"links of {name} mostly run against links of {other} ({100 * share:.0f} %): if the one follows from "
                "the other, leave one out, or added links are recognizable"
            )
        elif not links.mutual:
            self.warnings.append(
                f"{100 * share:.0f} % of the links of {name} have their reverse: if {name} is mutual, say so in "
                "[kinds], or added links are recognizable"
            )

    def report(self, progress: Progress) -> None:
        """Report all counts and warnings."""
        for what, said in _NOTES.items():
            if found := self.counts.get(what):
                progress.note(f"{said}: {sum(found.values()):,} ({_largest(found)})")
        for warning in self.warnings:
            progress.note(warning)


def _reversed(graph: PeopleGraph) -> Vertices:
    """Number of links of each relation (row) whose reverse is in each relation; int64, shape (relations, relations)."""
    listed = list(graph.relations.values())
    relation = np.repeat(np.arange(len(listed)), [len(r) for r in listed])
    source, target = joined([r.source for r in listed]), joined([r.target for r in listed])
    pairs, pair = np.unique(source * graph.n + target, return_inverse=True)
    size = np.bincount(pair, minlength=len(pairs))
    by_pair = relation[np.argsort(pair, kind="stable")]
    back = np.searchsorted(pairs, target * graph.n + source)
    found = np.flatnonzero(np.append(pairs, -1)[back] == target * graph.n + source)
    back, relation = back[found], relation[found]
    each = size[back]
    start = np.cumsum(size)[back] - np.cumsum(
        each
    )  # of the relations of each reverse pair, less those before
    other = by_pair[np.arange(each.sum()) + np.repeat(start, each)]
    count = np.bincount(np.repeat(relation, each) * len(listed) + other, minlength=len(listed) ** 2)
    return count.reshape(len(listed), len(listed))


def _largest(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {number:,}" for name, number in most[:_NAMED])
    return shown + (f", and {len(most) - _NAMED} more" if len(most) > _NAMED else "")


def _kinds_of(schema: Schema, parts: Sequence[Part], progress: Progress) -> dict[str, str]:
    """Kind of each relation and column, one of `OTHERS`: first those of the data, then others of the schema."""
    # A relation is also mutual if a file states that its links run both ways.
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
        raise _without_kind(schema, unknown)
    for name, kind in named.items():
        if name not in kinds:
            _check_spelling(schema, name, kind, [n for n in kinds if n not in named])
            progress.note(f"the data have nothing of {name!r}, which the schema names among {_among(kind)}")
            kinds[name] = kind
    return kinds


def _without_kind(schema: Schema, unknown: dict[str, Part]) -> DataError:
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
    message = f"no kind is given for {names}{more}"
    if not len(first):
        return DataError(part.raw.file, message, hint=asked + how)
    return part.raw.error(int(part.row[first[0]]), message, hint=asked + how)


def _check_spelling(schema: Schema, name: str, kind: str, others: Sequence[str]) -> None:
    near = suggest(name, others)
    if near is not None:
        raise schema.error(
            f"{_among(kind)} name {name!r}, which does not occur", hint=f"did you mean {near!r}?"
        )


def _among(kind: str) -> str:
    words = {"relations": "the relations", "mutual": "the mutual relations", "ignore": "those to ignore"}
    return words.get(kind, f"the {kind} attributes")


def _values_of(
    name: str, kind: Kind, parts: Sequence[Part], names: Lookup | None, remarks: Remarks
) -> tuple[Texts, Vertices]:
    """Distinct values of an attribute in ascending order, and the index of that of each statement."""
    texts = [
        names.of(p.target, p.raw, p.row) if names and p.looked_up and not p.table else p.target for p in parts
    ]
    coded = pa.concat_arrays([*texts, pa.array([], pa.large_string())]).dictionary_encode()
    code = coded.indices.to_numpy().astype(np.int64)
    distinct = np.array(coded.dictionary.to_pylist(), dtype=object)
    if kind == "numeric":
        _check_numbers(name, coded, parts)
        same = _same_numbers(distinct)
        remarks.count("numbers", name, len(distinct) - len(np.unique(same)))
        code = same[code]
    used = np.unique(code)
    order = used[np.argsort(distinct[used], kind="stable")]
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[code]


def joined(arrays: Sequence[Vertices]) -> Vertices:
    """Concatenation of arrays; empty for none."""
    return np.concatenate([*arrays, np.empty(0, dtype=np.int64)])


def _check_numbers(name: str, coded: Column, parts: Sequence[Part]) -> None:
    fits = pc.match_substring_regex(coded.dictionary, _NUMBER).to_numpy(zero_copy_only=False)
    words = np.array(coded.dictionary.to_pylist(), dtype=object)
    fits[fits] = np.abs(words[fits].astype(np.float64)) < _LARGEST
    if fits.all():
        return
    codes = coded.indices.to_numpy()
    first = int(np.flatnonzero(~fits[codes])[0])
    shown = words[codes[first]]
    for part in parts:
        if first < len(part):
            raise part.raw.error(
                int(part.row[first]),
                f"{shown!r} is no number, as the values of {name} are to be",
                hint=f'name {name} among the categorical attributes, or say missing = ["{shown}"] if there is no value',
            )
        first -= len(part)


def _same_numbers(texts: Texts) -> Vertices:
    best: dict[Decimal, int] = {}
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    same = np.empty(len(texts), dtype=np.int64)
    for i in order:  # decimals: doubles cannot distinguish 9007199254740993 from its neighbour
        same[i] = best.setdefault(Decimal(texts[i]), i)
    return same


@record
class Statements:
    """Statements of files, with numbered users.

    Attributes
    ----------
    labels
        Name of each user; str objects, shape (n,).
    kinds
        Kind of each relation and attribute; see `_kinds_of`.
    entries
        Statements of each relation and attribute, without ignored ones.
    names
        Names for ids in the values of attributes, if any.
    known
        Number of users that occur outside the `last` relation; they have the lowest numbers.
    """

    schema: Schema
    labels: Texts
    kinds: Mapping[str, str]
    entries: Mapping[str, Sequence[Part]]
    names: Lookup | None
    remarks: Remarks
    known: int

    def values(self, name: str) -> tuple[Texts, Vertices]:
        """Distinct values of an attribute, and the index of that of each statement, in the order of `entries`.

        A `DataError` names an id without a name, or a value that is no number.
        """
        kind: Kind = "numeric" if self.kinds[name] == "numeric" else "categorical"
        return _values_of(name, kind, self.entries[name], self.names, self.remarks)

    def attributes(self) -> dict[str, Attribute]:
        """Build the attributes as `kgreason.people.model.attribute` does, and count repetitions."""
        found = {}
        for name, kind in self.kinds.items():
            if kind not in LINKS and kind != "ignore":
                domain, value = self.values(name)
                user = joined([p.number for p in self.entries[name]])
                found[name] = attribute_of(
                    "numeric" if kind == "numeric" else "categorical", domain, user, value
                )
                self.remarks.count("repeated", name, len(user) - len(found[name]))
        return found

    def links(self, name: str) -> Links:
        """Build the links of a relation from its statements; counts omissions and additions."""
        n, parts = len(self.labels), self.entries[name]
        source, target = joined([p.number for p in parts]), joined([p.other for p in parts])
        links = distinct_links(n, source, target)
        loops = int((source == target).sum())
        self.remarks.count("loops", name, loops)
        self.remarks.count("repeated", name, len(source) - loops - len(links))
        if self.kinds[name] != "mutual":
            return links
        both = completed(n, links)
        self.remarks.count("completed", name, len(both) - len(links))
        return both


def read(schema: Schema | Path | str, progress: Progress = SILENT) -> PeopleGraph:
    """Read a graph of people.

    Users are the subjects of table rows and statements, and the targets of relations, numbered by first occurrence: in
    tables, as subjects of statements, as targets.

    Parameters
    ----------
    schema
        A schema, its file, or a folder with a ``people.toml``, such as a release.
    progress
        Receives notes on omissions (loops, repetitions, empty values, ignored names) and on suspicious data.

    Raises
    ------
    DataError
        If a file does not match the schema.
    """
    said = read_statements(schema, progress)
    relations = {name: said.links(name) for name, kind in said.kinds.items() if kind in LINKS}
    graph = PeopleGraph(said.labels, said.attributes(), relations)
    said.remarks.check(graph)
    said.remarks.report(progress)
    return graph


def schema_of(schema: Schema | Path | str) -> Schema:
    """Read a schema from a file, or from a folder with a ``people.toml``; a `Schema` is returned as is."""
    if isinstance(schema, Schema):
        return schema
    place = Path(schema)
    return read_schema(place / "people.toml" if place.is_dir() else place)


def read_statements(schema: Schema | Path | str, progress: Progress, last: str | None = None) -> Statements:
    """Read the statements of files, the first stage of `read`.

    The users of the relation `last` are numbered last, so that the numbers of the others do not depend on it.
    """
    schema = schema_of(schema)
    progress.step("Reading files", len(schema.files))
    names = lookups(schema, progress)
    parts = [_renamed(part, names) for part in parts_of(schema, progress)]
    kinds = _kinds_of(schema, parts, progress)
    remarks = Remarks()
    for i, part in enumerate(parts):
        ignored = _marked(part, [kinds[name] == "ignore" for name in part.names])
        _count(part, ignored, "ignored", remarks)
        parts[i] = part.take(np.flatnonzero(~ignored)) if ignored.any() else part
    labels, parts, known = _numbered(parts, kinds, names.get("users"), last)
    entries: dict[str, list[Part]] = {name: [] for name in kinds}
    for part in parts:
        gone = empty(part.target, part.missing)
        _count(part, gone & (part.name >= 0), "empty", remarks)
        kept = np.flatnonzero(~gone)
        for name, rows in zip(part.names, grouped(part.name[kept], len(part.names)), strict=True):
            if len(rows):
                entries[name].append(part if len(rows) == len(part) else part.take(kept[rows]))
    if not len(labels):
        for raw in (part.raw for part in parts if not len(part.raw)):
            has = "has names of columns alone" if raw.title_line is not None else "is empty"
            progress.note(f"{raw.file}: the file {has}")
    return Statements(schema, labels, kinds, entries, names.get("values"), remarks, known)


def _marked(part: Part, names: Sequence[bool]) -> Flags:
    """Mask of the statements of some relations and attributes."""
    return np.array([*names, False], dtype=np.bool_)[part.name]  # last: statements of none (-1)


def _count(part: Part, left_out: Flags, what: str, remarks: Remarks) -> None:
    for code, number in enumerate(np.bincount(part.name[left_out], minlength=len(part.names)).tolist()):
        remarks.count(what, part.names[code], number)


def _renamed(part: Part, names: Mapping[str, Lookup]) -> Part:
    if "relations" not in names or not part.looked_up or part.table or part.constant:
        return part
    codes, first = np.unique(part.name, return_index=True)
    ids = pa.array(part.names, pa.large_string()).take(pa.array(codes))
    looked_up = names["relations"].of(ids, part.raw, part.row[first]).to_pylist()
    found = dict(zip(codes.tolist(), looked_up, strict=True))
    return replace(part, names=tuple(found.get(i, name) for i, name in enumerate(part.names)))


def _numbered(
    parts: Sequence[Part], kinds: Mapping[str, str], lookup: Lookup | None, last: str | None
) -> tuple[Texts, list[Part], int]:
    """Number the users; also returns how many of them occur outside the last relation."""
    numbers = [{end: np.full(len(part), -1, dtype=np.int64) for end in ("number", "other")} for part in parts]
    texts: list[Column] = []
    numbered_rows: list[tuple[Vertices, Vertices]] = []  # numbers for a part, and the rows of their texts
    first = 0  # number of texts from outside the last relation
    for late in (False, True):
        for end in ("number", "other"):
            for part, own in zip(parts, numbers, strict=True):
                asked = _marked(part, [name == last for name in part.names]) == late
                if end == "other":
                    asked &= _marked(part, [kinds[name] in LINKS for name in part.names])
                    asked &= ~empty(part.target, part.missing)
                rows = np.flatnonzero(asked)
                column = part.user if end == "number" else part.target
                if len(rows) < len(part):
                    column = column.take(pa.array(rows))
                if lookup is not None and part.looked_up:
                    column = lookup.of(column, part.raw, part.row[rows])
                texts.append(column)
                numbered_rows.append((own[end], rows))
                first += 0 if late else len(rows)
    coded = pa.concat_arrays([*texts, pa.array([], pa.large_string())]).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)
    start = 0
    for own_numbers, rows in numbered_rows:
        own_numbers[rows] = codes[start : start + len(rows)]
        start += len(rows)
    found = [
        replace(part, number=own["number"], other=own["other"])
        for part, own in zip(parts, numbers, strict=True)
    ]
    known = int(codes[:first].max(initial=-1)) + 1
    return np.array(coded.dictionary.to_pylist(), dtype=object), found, known
