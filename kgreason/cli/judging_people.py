"""The part of ``verify`` that judges releases of graphs of people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.choices import PeopleModel
from kgreason.cli.base import print_json
from kgreason.cli.people import Kinds, the_schema
from kgreason.errors import CallError
from kgreason.graph.people.levels import read_levels
from kgreason.graph.people.read import read_people

if TYPE_CHECKING:
    from kgreason.assess.people.verdict import Published
    from kgreason.graph.people.sources import Schema
    from kgreason.progress import Progress


def verify(
    releases: Sequence[str],
    data: Sequence[str] | None,
    model: PeopleModel,
    k: int | None,
    named: Sequence[Path],
    kinds: Kinds,
    mappings: Sequence[Path],
    k_values: str | None,
    window: int | None,
    as_json: bool,
    *,
    all_edges: bool,
) -> int:
    """Decide whether a release of a graph of people satisfies a model, or a series of them.

    Parameters
    ----------
    data
        Files of the original, if no schema names them.
    named
        Schemas of originals.
    kinds
        Attributes, numeric ones, relations and mutual ones of files of triples, and whether they are tables.
    """
    from kgreason.api.people import verify_people
    from kgreason.terminal import people_rows, print_witnesses, progress, table

    schemas = _originals(data, model, named, kinds)
    _check(releases, model, schemas, mappings, k_values)
    if model != "k-degree" and all_edges:
        hint = "leave it out, or say --model k-degree"
        raise CallError(f"--all-edges has no meaning with --model {model}", hint=hint)
    with progress() as shown:
        found = _read(releases, schemas, mappings, shown)
        levels = None if k_values is None else _levels(k_values, found[0], schemas, k)
    one = k if levels is None else None
    verdict = verify_people(found, model=model, k=one, levels=levels, window=window, all_edges=all_edges)
    if as_json:
        print_json(verdict.as_dict())
    else:
        table(people_rows(verdict))
        print_witnesses(verdict)
    return int(not verdict.holds)


def _originals(
    data: Sequence[str] | None, model: PeopleModel, named: Sequence[Path], kinds: Kinds
) -> Sequence[Path | Schema]:
    """Where the originals are.

    Raises
    ------
    CallError
        If options of files are given for a series, or besides a schema.
    DataError
        If they do not fit the files.
    """
    if not data and not any(kinds.values()):
        return named
    if model == "kw-tad":
        hint = "name the original of each release with --schema"
        raise CallError("options of files are for the original of one release", hint=hint)
    return [the_schema(data, named[0] if named else None, kinds)]


def score(release: str, schema: Path, mapping: Path, as_json: bool) -> int:
    """Measure what information a release of a graph of people keeps."""
    from kgreason.api.people import score_people
    from kgreason.people.folder import read_published
    from kgreason.report.people import utility_items
    from kgreason.terminal import progress, rows, table

    with progress() as shown:
        found = read_published(Path(release), schema, mapping, shown)
    assert found.source is not None
    utility = score_people(found.source.graph, found.graph, found.source.mapping)
    if as_json:
        print_json({"format": 1, **utility.as_dict()})
    else:
        table(list(rows(utility_items(utility))))
    return 0


def _check(
    releases: Sequence[str],
    model: PeopleModel,
    schemas: Sequence[Path | Schema],
    mappings: Sequence[Path],
    k_values: str | None,
) -> None:
    """Refuse options that do not fit together.

    Raises
    ------
    CallError
        Naming them.
    """
    if model != "kw-tad" and len(releases) > 1:
        hint = (
            "name the release alone, and its original by --schema or --data; for a series say --model kw-tad"
        )
        raise CallError(f"{model} is of one release, and {len(releases)} are named", hint=hint)
    if model != "p-k-ad" and k_values is not None:
        raise CallError(
            f"{model} has one k for all users", hint="leave out --k-values, or say --model p-k-ad"
        )
    if mappings and not schemas:
        raise CallError(
            "who is who is said, but not of which original",
            hint="name it with --schema or --data",
        )
    if schemas and not mappings and k_values is None:
        hint = "say --mapping FILE, or leave the original out to judge the release alone"
        raise CallError("the original is named, but who is who is not said", hint=hint)
    for option, given in (("--schema", schemas), ("--mapping", mappings)):
        if given and len(given) != len(releases):
            hint = f"repeat {option} once for each release, in the same order"
            raise CallError(
                f"there are {len(releases)} releases, but {option} stands {len(given)} times", hint=hint
            )


def _read(
    releases: Sequence[str], schemas: Sequence[Path | Schema], mappings: Sequence[Path], progress: Progress
) -> list[Published]:
    from kgreason.people.folder import read_published

    unknown: list[Path | None] = [None] * len(releases)
    originals = schemas if mappings else unknown
    return [
        read_published(Path(release), original, mapping, progress)
        for release, original, mapping in zip(releases, originals, mappings or unknown, strict=True)
    ]


def _levels(file: str, release: Published, schemas: Sequence[Path | Schema], k: int | None) -> dict[str, int]:
    """The k of each user of the original, or of the release if there is none named; `k` for those not in the table."""
    if release.source is not None:
        graph = release.source.graph
    else:
        graph = read_people(schemas[0]) if schemas else release.graph
    return dict(zip(graph.labels.tolist(), read_levels(file, graph, k).tolist(), strict=True))
