"""Read graphs of people from files: statements, what each is of, and sets of values and links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from kgreason.data.raw import Column
from kgreason.errors import DataError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, Kind, Links, PeopleGraph, Texts, completed, distinct_links
from kgreason.graph.people.names import Lookup, lookups
from kgreason.graph.people.parts import Part, Users, empty, parts_of
from kgreason.graph.people.remarks import Remarks
from kgreason.graph.people.schema import read_schema
from kgreason.graph.people.sources import LINKS, Schema
from kgreason.lang.names import suggest
from kgreason.progress import SILENT, Progress

_SHOWN = 8
_LARGEST = 1e300  # whose differences are numbers, too
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*$"


def _kinds_of(schema: Schema, parts: Sequence[Part], progress: Progress) -> dict[str, str]:
    """Kind of each relation and column, one of `OTHERS`: first those of the data, then those that the schema names.

    A relation is also mutual if a file with statements of it says that its links run both ways.
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


@dataclass(frozen=True)
class Entries:
    """Statements with the numbers of users.

    Attributes
    ----------
    part
        The statements.
    user
        Whom they are about, int64, shape (m,).
    other
        Whom they lead to, int64, shape (m,); -1: to no user.
    """

    part: Part
    user: Vertices
    other: Vertices

    def take(self, rows: Vertices) -> Entries:
        """Some of the statements."""
        return Entries(self.part.take(rows), self.user[rows], self.other[rows])


def _links_of(name: str, entries: Sequence[Entries], n: int, remarks: Remarks, *, mutual: bool) -> Links:
    """Links of a relation among n users; loops, repetitions and links completed by their reverse are counted."""
    source, target = _joined([e.user for e in entries]), _joined([e.other for e in entries])
    links = distinct_links(n, source, target)
    loops = int((source == target).sum())
    remarks.count("loops", name, loops)
    remarks.count("repeated", name, len(source) - loops - len(links))
    if not mutual:
        return links
    both = completed(n, links)
    remarks.count("completed", name, len(both) - len(links))
    return both


def _attribute_of(
    name: str, kind: Kind, entries: Sequence[Entries], names: Lookup | None, remarks: Remarks
) -> Attribute:
    """An attribute, as `kgreason.graph.people.model.attribute` makes it; repetitions are counted."""
    import pyarrow as pa

    texts = [_values(e.part, names) for e in entries]
    coded = pa.concat_arrays([*texts, pa.array([], pa.large_string())]).dictionary_encode()
    code = coded.indices.to_numpy().astype(np.int64)
    distinct = np.array(coded.dictionary.to_pylist(), dtype=object)
    if kind == "numeric":
        _check_numbers(name, coded, entries)
        same = _same_numbers(distinct)
        remarks.count("numbers", name, len(distinct) - len(np.unique(same)))
        code = same[code]
    domain, place = _ordered(distinct, code)
    user = _joined([e.user for e in entries])
    width = max(len(domain), 1)
    key = np.unique(user * width + place)
    remarks.count("repeated", name, len(user) - len(key))
    return Attribute(kind, domain, key // width, key % width)


def _joined(arrays: Sequence[Vertices]) -> Vertices:
    return np.concatenate([*arrays, np.empty(0, dtype=np.int64)])


def _values(part: Part, names: Lookup | None) -> Column:
    return names.of(part.target, part.raw, part.row) if names is not None and part.looked_up else part.target


def _ordered(texts: Texts, code: Vertices) -> tuple[Texts, Vertices]:
    """Values that occur in ascending order, and the place of each entry's value among them."""
    used = np.unique(code)
    order = used[np.argsort(texts[used], kind="stable")]
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(order))
    return texts[order], place[code]


def _check_numbers(name: str, coded: Column, entries: Sequence[Entries]) -> None:
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(coded.dictionary, _NUMBER).to_numpy(zero_copy_only=False)
    words = np.array(coded.dictionary.to_pylist(), dtype=object)
    fits[fits] = np.abs(words[fits].astype(np.float64)) < _LARGEST
    if fits.all():
        return
    bad = np.flatnonzero(~fits[coded.indices.to_numpy()])
    first, shown = int(bad[0]), coded.dictionary[coded.indices[int(bad[0])].as_py()].as_py()
    for entry in entries:
        if first < len(entry.part):
            raise entry.part.raw.error(
                int(entry.part.row[first]),
                f"{shown!r} is no number, as the values of {name} are to be",
                hint=f'name {name} among the categorical attributes, or say missing = ["{shown}"] if there is no value',
            )
        first -= len(entry.part)


def _same_numbers(texts: Texts) -> Vertices:
    """Of texts that are the same number, the first of the shortest, for each of them."""
    if not len(texts):
        return np.empty(0, dtype=np.int64)
    best: dict[Decimal, int] = {}
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
    same = np.empty(len(texts), dtype=np.int64)
    for i in order:  # as decimals: doubles would take 9007199254740993 for its neighbour
        same[i] = best.setdefault(Decimal(texts[i]), i)
    return same


@dataclass(frozen=True)
class Statements:
    """What files say of users, who have numbers.

    Attributes
    ----------
    schema
        How the files were read.
    labels
        Name of each user; str objects, shape (n,).
    kinds
        Kind of each relation and attribute; see `_kinds_of`.
    entries
        Statements of each of them; none of what is ignored.
    names
        Names that stand for the values of attributes, where there are any.
    remarks
        What was left out.
    known
        How many users others than the last relation name: they have the first numbers.
    """

    schema: Schema
    labels: Texts
    kinds: Mapping[str, str]
    entries: Mapping[str, Sequence[Entries]]
    names: Lookup | None
    remarks: Remarks
    known: int

    def attributes(self) -> dict[str, Attribute]:
        """Put statements together as attributes.

        Raises
        ------
        DataError
            If a value has no name, or one of a numeric attribute is no number.
        """
        found = {}
        for name, kind in self.kinds.items():
            if kind not in LINKS and kind != "ignore":
                of: Kind = "numeric" if kind == "numeric" else "categorical"
                found[name] = _attribute_of(name, of, self.entries[name], self.names, self.remarks)
        return found

    def links(self, name: str) -> Links:
        """Put statements together as the links of a relation."""
        mutual = self.kinds[name] == "mutual"
        return _links_of(name, self.entries[name], len(self.labels), self.remarks, mutual=mutual)


def read_people(schema: Schema | Path | str, progress: Progress = SILENT) -> PeopleGraph:
    """Read a graph of people.

    Users are those whom lines of tables and statements are about, and those whom relations lead to. They are numbered
    as they occur first: in tables, in front of statements, and as what relations lead to.

    Parameters
    ----------
    schema
        A schema, its file, or a folder with a ``people.toml``, such as a release.
    progress
        Is told what was left out: loops, repetitions, empty values, what the schema ignores; and what looks amiss.

    Raises
    ------
    DataError
        If a file does not hold what the schema says.
    """
    said = read_statements(schema, progress)
    relations = {name: said.links(name) for name, kind in said.kinds.items() if kind in LINKS}
    graph = PeopleGraph(said.labels, said.attributes(), relations)
    said.remarks.suspect(graph)
    said.remarks.tell(progress)
    return graph


def schema_of(schema: Schema | Path | str) -> Schema:
    """Read a schema, if it is a file or a folder with a ``people.toml``.

    Raises
    ------
    DataError
        As `read_schema`.
    """
    if isinstance(schema, Schema):
        return schema
    place = Path(schema)
    return read_schema(place / "people.toml" if place.is_dir() else place)


def read_statements(schema: Schema | Path | str, progress: Progress, last: str | None = None) -> Statements:
    """Read what files say, as `read_people` does, up to where it becomes attributes and links.

    Parameters
    ----------
    last
        A relation whose statements number users after all others, so that numbers of these do not depend on them.

    Raises
    ------
    DataError
        If a file does not hold what the schema says.
    """
    schema = schema_of(schema)
    files = [
        file for part in (schema.triples, schema.tables, schema.names) for some in part for file in some.files
    ]
    progress.step("Reading files", len(files))
    names = lookups(schema, progress)
    parts = [_renamed(part, names) for part in parts_of(schema, progress)]
    kinds = _kinds_of(schema, [part for part in parts if isinstance(part, Part)], progress)
    remarks = Remarks()
    first, rest = (
        [some for part in group for some in _kept(part, kinds, remarks)] for group in _split(parts, last)
    )
    labels, entries, known = _numbered(first, rest, kinds, names)
    if not len(labels):
        for raw in (part.raw for part in parts if not len(part.raw)):
            has = "has names of columns alone" if raw.title_line is not None else "is empty"
            progress.note(f"{raw.file}: the file {has}")
    return Statements(schema, labels, kinds, _by_name(entries, kinds), names.get("values"), remarks, known)


def _split(parts: Sequence[Part | Users], last: str | None) -> tuple[list[Part | Users], list[Part | Users]]:
    """Statements of all relations but one, and of this one."""
    others: list[Part | Users] = []
    those: list[Part | Users] = []
    for part in parts:
        if isinstance(part, Users) or last not in part.names:
            others.append(part)
            continue
        of = np.isin(part.name, [code for code, name in enumerate(part.names) if name == last])
        others.append(part.take(np.flatnonzero(~of)))
        those.append(part.take(np.flatnonzero(of)))
    return others, those


def _renamed(part: Part | Users, names: Mapping[str, Lookup]) -> Part | Users:
    """Look up the names of relations."""
    import pyarrow as pa

    if isinstance(part, Users) or "relations" not in names or not part.looked_up or part.constant:
        return part
    codes, first = np.unique(part.name, return_index=True)
    ids = pa.array(part.names, pa.large_string()).take(pa.array(codes))
    looked_up = names["relations"].of(ids, part.raw, part.row[first]).to_pylist()
    found = dict(zip(codes.tolist(), looked_up, strict=True))
    return replace(part, names=tuple(found.get(i, name) for i, name in enumerate(part.names)))


def _kept(part: Part | Users, kinds: Mapping[str, str], remarks: Remarks) -> Iterator[Part | Users]:
    """Leave out what is ignored, and of empty values all but the users."""
    if isinstance(part, Users):
        yield part
        return
    ignored = np.array([kinds[name] == "ignore" for name in part.names], dtype=np.bool_)[part.name]
    gone = ~ignored & empty(part.target, part.missing)
    for what, left_out in (("ignored", ignored), ("empty", gone)):
        for code, number in enumerate(np.bincount(part.name[left_out], minlength=len(part.names)).tolist()):
            remarks.count(what, part.names[code], number)
    if gone.any():
        some = part.take(np.flatnonzero(gone))
        yield Users(some.raw, some.row, some.user, some.users_looked_up)
    yield part.take(np.flatnonzero(~(ignored | gone))) if (ignored | gone).any() else part


def _numbered(
    first: Sequence[Part | Users],
    rest: Sequence[Part | Users],
    kinds: Mapping[str, str],
    names: Mapping[str, Lookup],
) -> tuple[Texts, list[Entries], int]:
    """Number the users, and put their numbers in the place of their names; how many the first parts name."""
    import pyarrow as pa

    lookup = names.get("users")
    texts: list[Column] = []
    places: list[
        tuple[Part, int, int, Vertices]
    ] = []  # where among the texts are its users, and its other users
    ends = []
    for parts in (first, rest):
        start = len(texts)
        texts += [_looked_up(lookup, part, part.user, part.row) for part in parts]
        for i, part in enumerate(parts, start):
            if isinstance(part, Part):
                link = np.array([kinds[name] in LINKS for name in part.names], dtype=np.bool_)
                rows = np.flatnonzero(link[part.name])
                places.append((part, i, len(texts), rows))
                texts.append(_looked_up(lookup, part, part.target.take(pa.array(rows)), part.row[rows]))
        ends.append(len(texts))
    coded = pa.concat_arrays([*texts, pa.array([], pa.large_string())]).dictionary_encode()
    bounds = np.cumsum([len(t) for t in texts])
    numbers = np.split(coded.indices.to_numpy().astype(np.int64), bounds[:-1] if len(bounds) else [])
    entries = []
    for part, user, target, rows in places:
        other = np.full(len(part), -1, dtype=np.int64)
        other[rows] = numbers[target]
        entries.append(Entries(part, numbers[user], other))
    known = max((int(some.max(initial=-1)) for some in numbers[: ends[0]]), default=-1) + 1
    return np.array(coded.dictionary.to_pylist(), dtype=object), entries, known


def _looked_up(lookup: Lookup | None, part: Part | Users, column: Column, row: Vertices) -> Column:
    return lookup.of(column, part.raw, row) if lookup is not None and part.users_looked_up else column


def _by_name(entries: Sequence[Entries], kinds: Mapping[str, str]) -> dict[str, list[Entries]]:
    """Statements of each relation and attribute."""
    found: dict[str, list[Entries]] = {name: [] for name in kinds}
    for entry in entries:
        names, name = entry.part.names, entry.part.name
        if len(names) == 1:
            found[names[0]].append(entry)
            continue
        order = np.argsort(name, kind="stable")
        bounds = np.searchsorted(name[order], np.arange(len(names) + 1))
        for code, text in enumerate(names):
            rows = order[bounds[code] : bounds[code + 1]]
            if len(rows):
                found[text].append(entry.take(rows))
    return found
