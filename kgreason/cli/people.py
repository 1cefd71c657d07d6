"""Commands on graphs of people: anonymize, verify, score, generate-k; risk, attack and snapshots have files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgreason.base.errors import CallError
from kgreason.cli import options, terminal
from kgreason.cli.commands import (
    Group,
    check_free,
    command,
    counted,
    original_schemas,
    print_json,
    refuse,
    the_schema,
)
from kgreason.cli.options import FILES, ORIGINAL, REQUIRED, WRITTEN, argument, names, option
from kgreason.cli.people_risk import attack, risk
from kgreason.cli.people_snapshots import snapshots
from kgreason.cli.releases import (
    FOLDERS,
    PLAIN_FORMAT,
    check_for_each,
    check_releases,
    print_verdict,
    publish,
)
from kgreason.people.settings import PeopleModel, Settings

if TYPE_CHECKING:
    from kgreason.people.anonymity_levels import Levels
    from kgreason.people.file_schema import Schema
    from kgreason.people.model import PeopleGraph
    from kgreason.people.verification.verdict import Published


SETTINGS = options.settings_options(Settings)


@command(options.SOURCES, *SETTINGS, *FOLDERS, PLAIN_FORMAT, options.AS_JSON, *FILES)
def anonymize(data: Sequence[str], **asked: Any) -> int:
    """Anonymize a graph of people, and verify the release."""
    from kgreason.people import api

    where = f"with --method {asked['method']}"
    chosen = {name: asked[name] for name in names(*SETTINGS)}
    deciding = ("method", "mode", "loss", "clustering", "partition")
    settings = Settings(**{name: asked[name] for name in deciding})
    for name in settings.unused():
        other = settings.instead(name)
        refuse((name,), where, f"say --{other.replace('_', '-')}" if other else "")

    def make(folders: Any) -> Any:
        schema = the_schema(data, asked)
        with terminal.progress() as shown:
            return api.anonymize(schema, **chosen, folders=folders, progress=shown)

    return publish(make, terminal.anonymized_people_rows, asked)[1]


@command(
    argument("releases", list[str], "RELEASE", "Folder of the release; for kw-tad several, the latest last."),
    option(
        "--model",
        PeopleModel,
        "Whether all users share with k - 1 others degrees (paired-k-degree), values and degrees (k-ad), those as the "
        "k of each asks (p-k-ad), or their series over several releases, the latest last (kw-tad); of an undirected "
        "graph, degrees (k-degree).",
        REQUIRED,
    ),
    ORIGINAL,
    option(
        "--mapping FILE",
        list[Path],
        "The private folder, or the table original,released in it; not for a release alone. For kw-tad one for each "
        "release.",
    ),
    option("-k --k N", int, "Number of users that look the same, 2 or more.", least=2, show_default="3"),
    option(
        "--k-values FILE",
        str,
        "For p-k-ad: table user,k, with users of the original, or of the release if no original is named.",
    ),
    option("--window W", int, "For kw-tad: judge the last W releases; default: all that are named.", least=1),
    option(
        "--all-edges",
        bool,
        "For k-degree: ask for all original edges, too, as --construction supergraph keeps them.",
    ),
    options.AS_JSON,
    *FILES,
)
def verify(
    releases: Sequence[str], mapping: Sequence[Path], model: PeopleModel, as_json: bool, **asked: Any
) -> int:
    """Decide whether a release of a graph of people satisfies a model.

    Exit code 0: it does; of a release alone, every part of the model that it shows. 1: it does not, or that was not
    decided. 2: bad usage or input.
    """
    from kgreason.people.api import verify as verify_people
    from kgreason.people.folder import read_published

    mappings = mapping
    check_releases(releases, mappings)
    schemas: Sequence[Path | Schema] = original_schemas(asked["original"], asked, several=model == "kw-tad")
    k, k_values = asked["k"], asked["k_values"]
    _check(releases, model, schemas, mappings, asked)
    unknown: list[Path | None] = [None] * len(releases)
    places = zip(releases, schemas if mappings else unknown, mappings or unknown, strict=True)
    with terminal.progress() as shown:
        found = [read_published(Path(release), schema, place, shown) for release, schema, place in places]
        levels = None if k_values is None else _levels(k_values, found[0], schemas, k)
    one = k if levels is None else None
    rest = {name: asked[name] for name in ("window", "all_edges")}
    verdict = verify_people(found, model=model, k=one, levels=levels, **rest)
    return print_verdict(verdict, terminal.people_rows, as_json=as_json)


def _check(
    releases: Sequence[str],
    model: PeopleModel,
    schemas: Sequence[Path | Schema],
    mappings: Sequence[Path],
    asked: Mapping[str, Any],
) -> None:
    k_values = asked["k_values"]
    if model != "kw-tad" and len(releases) > 1:
        hint = "name the release alone, and its original by --original; for a series say --model kw-tad"
        raise CallError(f"{model} is of one release, and {len(releases)} are named", hint=hint)
    if model != "p-k-ad" and k_values is not None:
        raise CallError(
            f"{model} has one k for all users", hint="leave out --k-values, or say --model p-k-ad"
        )
    if mappings and not schemas:
        raise CallError("a mapping is named, but no original", hint="name it with --original")
    if schemas and not mappings and k_values is None:
        hint = "say --mapping FILE, or leave the original out to judge the release alone"
        raise CallError("the original is named, but no mapping", hint=hint)
    for flag, places in (("--original", schemas), ("--mapping", mappings)):
        if places:
            check_for_each(releases, flag, places)
    if model != "k-degree" and asked["all_edges"]:
        hint = "leave it out, or say --model k-degree"
        raise CallError(f"--all-edges has no meaning with --model {model}", hint=hint)


def _levels(file: str, release: Published, schemas: Sequence[Path | Schema], k: int | None) -> dict[str, int]:
    """The k of each user of the original, or of the release if there is none named; `k` for those not in the table."""
    from kgreason.people.anonymity_levels import read_levels
    from kgreason.people.reading import read as read_people

    if release.source is not None:
        graph = release.source.graph
    else:
        graph = read_people(schemas[0]) if schemas else release.graph
    return dict(zip(graph.labels.tolist(), read_levels(file, graph, k).tolist(), strict=True))


@command(options.RELEASE, options.mapping_file(Path, default=REQUIRED), ORIGINAL, options.AS_JSON, *FILES)
def score(release: str, mapping: Path, original: Sequence[str], as_json: bool, **asked: Any) -> int:
    """Measure what information a release of a graph of people keeps."""
    from kgreason.people import api
    from kgreason.people.folder import read_published
    from kgreason.people.report import utility_items

    schema = the_schema(original, asked, "--original")
    with terminal.progress() as shown:
        found = read_published(Path(release), schema, mapping, shown)
    assert found.source is not None
    result = api.score(found.source.graph, found.graph, found.source.mapping)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        terminal.table(list(terminal.rows(utility_items(result))))
    return 0


# --- generate-k ---


def _range(text: str | tuple[int, int, int]) -> tuple[int, int, int]:
    if isinstance(text, tuple):  # the default
        return text
    if found := re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,18})", text):
        return int(found[1]), int(found[2]), int(found[3])
    raise click.BadParameter(f"{text!r} is no range LOW-HIGH-STEP; say for instance 2-5-1 or 5-50-5")


RANGE = option(
    "--range LOW-HIGH-STEP", Any, "The levels, as in 2-5-1 or 5-50-5.", "2-5-1", type=_range, name="steps"
)
Steps = tuple[int, int, int]


@command(
    options.OUT,
    options.SOURCES,
    RANGE,
    option("--alpha", float, "Exponent of the Zipf distribution, above 1.", 2.0),
    *WRITTEN,
    *FILES,
)
def zipf(steps: Steps, alpha: float, seed: int | None, **more: Any) -> int:
    """Random levels, low ones by far the most frequent."""
    import numpy as np

    from kgreason.people.anonymity_levels import zipf_levels

    rng = np.random.default_rng(seed)
    return _write_levels(lambda graph: zipf_levels(graph, *steps, alpha, rng), **more)


@command(options.OUT, options.SOURCES, RANGE, options.FORCE, options.AS_JSON, *FILES)
def te(steps: Steps, **more: Any) -> int:
    """Levels that grow with the number of a user's edges."""
    from kgreason.people.anonymity_levels import te_levels

    return _write_levels(lambda graph: te_levels(graph, *steps), **more)


def _write_levels(
    make: Callable[[PeopleGraph], Levels],
    out: Path,
    data: Sequence[str],
    force: bool,
    as_json: bool,
    **files: Any,
) -> int:
    import numpy as np

    from kgreason.people.anonymity_levels import write_levels
    from kgreason.people.reading import read as read_people

    with terminal.progress() as shown:
        graph = read_people(the_schema(data, files), shown)
    levels = make(graph)
    check_free(out, force)
    write_levels(out, graph, levels)
    drawn = {int(k): int(n) for k, n in zip(*np.unique(levels, return_counts=True), strict=True)}
    if as_json:
        print_json({"format": 1, "file": str(out), "users": graph.n, "k": drawn})
        return 0
    print(f"{out}: {counted(graph.n, 'user')}")
    for level, number in drawn.items():
        print(f"  k = {level}: {number:,}")
    return 0


levels = Group("generate-k", help="Make up the k of each user, for experiments.", commands=[zipf, te])
app = Group(
    "people",
    help="Graphs of people: users with attributes, and relations between users.",
    commands=[risk, anonymize, verify, attack, score, snapshots, levels],
)
