"""Commands that judge releases, of graphs under rules, of people and of links: verify, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import typer

from kgreason.base.errors import CallError
from kgreason.cli import options
from kgreason.cli.commands import (
    given,
    guarded,
    holding,
    load_rules,
    print_json,
    refuse,
    sources,
    tables,
    the_schema,
)
from kgreason.cli.error_messages import original_of
from kgreason.cli.options import FILES, REQUIRED, AnyModel, argument, names, option, taking
from kgreason.cli.releasing import one_sensitive, read_links
from kgreason.cli.run import tell
from kgreason.isomorphism.settings import MAX_SUBGRAPHS, Model
from kgreason.links.settings import Strategy
from kgreason.people.settings import PeopleModel

if TYPE_CHECKING:
    from kgreason.base.progress import Progress
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.reading import Pair
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.links.verification.verdict import LinksVerdict
    from kgreason.people.file_schema import Schema
    from kgreason.people.verification.verdict import PeopleVerdict, Published

DEFAULT_K = 3
OF_PARTS = "certificate", "sample", "seed", "max_subgraphs", "x"
OF_PEOPLE = "k_values", "window", "all_edges"
OF_LINKS = "sensitive", "strategy", "percent"
ANOTHER = "name another --model"


@guarded
@taking(
    argument(
        "releases",
        list[str],
        "RELEASE",
        "The release: its folder or its table. For kw-tad several, the latest last.",
    ),
    options.SOME_RULES,
    options.ORIGINAL,
    option(
        "--mapping FILE",
        list[Path] | None,
        "The private folder, or the table original,released in it; not for a release alone. For kw-tad one for each "
        "release.",
    ),
    option(
        "-k --k N",
        int | None,
        "Number of places or users that look the same, 2 or more.",
        min=2,
        show_default="3",
    ),
    options.X,
    option(
        "--certificate FILE",
        Path | None,
        "The private folder, or the certificate.json in it: look the images up there, search for none.",
    ),
    option(
        "--sample N",
        int | None,
        "Decide only N connected parts, drawn uniformly at random, and estimate δ with a 95 % confidence interval: for "
        "graphs with too many of them. --max-subgraphs then bounds those of one vertex less.",
        min=1,
    ),
    option("--seed N", int | None, "Draw the same sample again.", min=0),
    option(
        "--model MODEL",
        AnyModel,
        "kx-isomorphism: under rules; k-iso: decide instead whether the release is k isomorphic blocks without edges "
        "between them; δ of its connected parts is told, too. Of people, whose releases are folders, without rules: "
        "whether all users share with k - 1 others degrees (paired-k-degree), values and degrees (k-ad), those as the "
        "k of each asks (p-k-ad), or their series over several releases, the latest last (kw-tad); of an undirected "
        "graph, degrees (k-degree). Of links: whether the release is what its strategy says, and keeps the sensitive "
        "relation to itself (links).",
        "kx-isomorphism",
    ),
    options.MAX_SUBGRAPHS,
    option(
        "--schema FILE",
        list[Path] | None,
        "Of people: schema (.toml) of the original; for kw-tad one for each release.",
    ),
    option(
        "--k-values FILE",
        str | None,
        "For p-k-ad: table user,k, with users of the original, or of the release if no original is named.",
    ),
    option(
        "--window W", int | None, "For kw-tad: judge the last W releases; default: all that are named.", min=1
    ),
    option(
        "--all-edges",
        bool,
        "For k-degree: ask for all original edges, too, as --construction supergraph keeps them.",
    ),
    option("--sensitive NAME", list[str] | None, "Of links: the relation that must not be told."),
    option(
        "--strategy",
        Strategy | None,
        "Of links: how they must have been made.",
        show_default="as the release says",
    ),
    option(
        "--percent",
        float | None,
        "Of links: share that partial must have left out of each relation.",
        min=0,
        max=100,
    ),
    options.AS_JSON,
    *FILES,
)
def verify(
    context: typer.Context,
    releases: Sequence[str],
    schema: Sequence[Path] | None,
    mapping: Sequence[Path] | None,
    model: str,
    as_json: bool,
    **asked: Any,
) -> int:
    """Decide whether a release is a (k,x)-isomorphism anonymization: of its original, or of any, if it is alone.

    Exit code 0: it is; with --sample, which proves nothing, no part was found unprotected; of a release alone, every
    part of it is protected; with --model k-iso, it is k isomorphic blocks; of people, it satisfies the model. 1: it is
    not, or that was not decided. 2: bad usage or input.
    """
    from kgreason.base.atomic_files import check_settled
    from kgreason.cli import terminal

    _warn_marked(releases)
    schemas, mappings = schema or [], mapping or []
    for place in (*map(Path, releases), *mappings):
        check_settled(place)
    where, found, rows = f"for the model {model}", cast(Any, None), cast(Any, terminal.verdict_rows)
    if model == "links":
        found, rows = _links(context, releases, schemas, mappings, asked), terminal.links_rows
    elif model not in get_args(Model):
        refuse(context, (*OF_LINKS, "rules", *OF_PARTS), where, ANOTHER)
        kind = cast(PeopleModel, model)
        found, rows = _people(releases, kind, schemas, mappings, asked), terminal.people_rows
    else:
        refuse(context, OF_LINKS, where, ANOTHER)
        people = "for a release of people name its --model, such as p-k-ad"
        refuse(context, ("schema", *names(*FILES), *OF_PEOPLE), where, people)
        found = _rules(context, releases, model, mappings, asked)
    if as_json:
        print_json({"format": 1, **found.as_dict()})
    else:
        terminal.table(rows(found))
        terminal.print_witnesses(found)
    return int(not getattr(found, "nothing_against", found.holds))


def _rules(
    context: typer.Context,
    releases: Sequence[str],
    model: str,
    mappings: Sequence[Path],
    asked: Mapping[str, Any],
) -> Verdict:
    from kgreason.cli.terminal import progress
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.certificates import Files, read_certificate
    from kgreason.isomorphism.reading import read_released

    rules, certificate = asked["rules"], asked["certificate"]
    if rules is None:
        theirs = Path(releases[0]) / "rules.vada"
        # these read the release: where there is an original, others are needed
        file = theirs if theirs.is_file() and not (asked["data"] or mappings) else "FILE"
        hint = f"say --rules {file}; releases of people are judged without, with --model k-ad for instance"
        raise CallError(f"the model {model} is of a graph with rules, and none are named", hint=hint)
    if len(mappings) > 1:
        raise CallError("several mappings are named", hint="say --mapping FILE once")
    known = mappings[0] if mappings else None
    release, original = _one(releases), sources(asked["data"])
    _tell_promise(context, release, model)
    program = load_rules(rules, given=original)
    chosen = {name: asked[name] for name in ("x", "sample", "seed")} | {"model": model}
    chosen |= {"k": asked["k"] or DEFAULT_K, "max_subgraphs": asked["max_subgraphs"] or MAX_SUBGRAPHS}
    with progress() as shown:
        chosen["progress"] = shown
        if not original and known is None:
            if certificate is not None:
                what = "a certificate is of an original and its release, and who is who is not said"
                raise CallError(what, hint="say --mapping FILE")
            shown.step("Reading")
            released, before = read_released(program, tables(program, [release]), shown), None
            verdict = assessment.verify_alone(released, program, **chosen)
        else:
            pair = _pair(program, original, release, known, shown)
            released, before, proof = pair.released, pair.original, None
            if certificate is not None and known is not None:
                named = {name: found[0].path for name, found in tables(program, [release]).items()}
                proof = read_certificate(certificate, pair, Files(named, known))
            graphs = before, released, pair.mapping
            verdict = assessment.verify(*graphs, program, parts=pair.parts, certificate=proof, **chosen)
        return _with_files(verdict, program, release, released, before, shown)


def _people(
    releases: Sequence[str],
    model: PeopleModel,
    named: Sequence[Path],
    mappings: Sequence[Path],
    asked: Mapping[str, Any],
) -> PeopleVerdict:
    """Judge a release of a graph of people, or a series of them; `named` are schemas of originals."""
    from kgreason.cli.terminal import progress
    from kgreason.people.api import verify as verify_people
    from kgreason.people.folder import read_published

    schemas: Sequence[Path | Schema] = named
    if asked["data"] or holding(asked):
        if model == "kw-tad":
            hint = "name the original of each release with --schema"
            raise CallError("options of files are for the original of one release", hint=hint)
        schemas = [the_schema(asked["data"], named[0] if named else None, asked)]
    k, k_values = asked["k"], asked["k_values"]
    _check_people(releases, model, schemas, mappings, asked)
    unknown: list[Path | None] = [None] * len(releases)
    places = zip(releases, schemas if mappings else unknown, mappings or unknown, strict=True)
    with progress() as shown:
        found = [read_published(Path(release), schema, mapping, shown) for release, schema, mapping in places]
        levels = None if k_values is None else _levels(k_values, found[0], schemas, k)
    one = k if levels is None else None
    rest = {name: asked[name] for name in ("window", "all_edges")}
    return verify_people(found, model=model, k=one, levels=levels, **rest)


def _check_people(
    releases: Sequence[str],
    model: PeopleModel,
    schemas: Sequence[Path | Schema],
    mappings: Sequence[Path],
    asked: Mapping[str, Any],
) -> None:
    k_values = asked["k_values"]
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
    for flag, places in (("--schema", schemas), ("--mapping", mappings)):
        if places and len(places) != len(releases):
            hint = f"repeat {flag} once for each release, in the same order"
            raise CallError(
                f"there are {len(releases)} releases, but {flag} stands {len(places)} times", hint=hint
            )
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


def _links(
    context: typer.Context,
    releases: Sequence[str],
    schemas: Sequence[Path],
    mappings: Sequence[Path],
    asked: Mapping[str, Any],
) -> LinksVerdict:
    from kgreason.cli.terminal import progress
    from kgreason.links import api

    refuse(context, (*OF_PARTS, *OF_PEOPLE), "for the model links", ANOTHER)
    data, rules = asked["data"], asked["rules"]
    known = bool(data or schemas or rules)
    if not known:
        refuse(context, ["percent"], "without the original", "name the original")
    release, sensitive = _one(releases), one_sensitive(asked["sensitive"])
    if len(schemas) > 1 or len(mappings) > 1:
        raise CallError("links are of one release", hint="say --schema and --mapping once")
    if mappings and not known:
        hint = "name it with --schema or --data"
        raise CallError("who is who is said, but not of which original", hint=hint)
    if known and not mappings:
        hint = "say --mapping FILE, or name the release alone"
        raise CallError("the original is named, but who is who is not said", hint=hint)
    if rules is not None and (schemas or holding(asked)):
        raise CallError("rules say what is read", hint="leave out --schema and the options of files")
    with progress() as shown:
        original = None
        if known:
            schema = None
            if rules is None:
                schema = the_schema(data, schemas[0] if schemas else None, asked)
            original = read_links(schema, rules, data, sensitive, shown)
        shown.step(f"Verifying {release}")
        return api.verify(
            Path(release),
            original=original,
            mapping=mappings[0] if original is not None else None,
            sensitive=sensitive if original is None else None,
            **{name: asked[name] for name in ("k", "strategy", "percent")},
        )


@guarded
@taking(
    options.RELEASE,
    options.mapping_file(Path, default=REQUIRED),
    options.SOME_RULES,
    options.ORIGINAL,
    option("--schema FILE", Path | None, "Of people, without rules: schema (.toml) of the original."),
    options.AS_JSON,
)
def score(
    context: typer.Context,
    release: str,
    mapping: Path,
    rules: Path | None,
    data: Sequence[str] | None,
    schema: Path | None,
    as_json: bool,
) -> int:
    """Measure what a release is still worth.

    Under rules: utility U and U△, fidelity, and whether synthetic vertices can be told. Of people: information lost.
    """
    from kgreason.cli.terminal import progress, rows, table
    from kgreason.isomorphism import assessment as isomorphism_assessment
    from kgreason.people import api as people_api

    result: Any
    if schema is not None:
        from kgreason.people.folder import read_published
        from kgreason.people.report import utility_items

        refuse(context, ["rules", "data"], "for graphs of people")
        with progress() as shown:
            found = read_published(Path(release), schema, mapping, shown)
        assert found.source is not None
        result = people_api.score(found.source.graph, found.graph, found.source.mapping)
        items = utility_items(result)
    elif rules is None:
        raise CallError(
            "neither rules nor a schema are named", hint="say --rules FILE, or of people --schema FILE"
        )
    else:
        from kgreason.isomorphism.report import score_items

        original = sources(data)
        program = load_rules(rules, given=original)
        with progress() as shown:
            pair = _pair(program, original, release, mapping, shown)
            result = isomorphism_assessment.score(
                pair.original, pair.released, pair.mapping, program, progress=shown
            )
        items = score_items(result)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        table(list(rows(items)))
    return 0


def _warn_marked(folders: Sequence[str]) -> None:
    """Tell of releases that their maker's check did not confirm; what is found here may be less than that found."""
    for folder in folders:
        if (Path(folder) / "UNVERIFIED").exists():
            tell(f"{folder} is marked UNVERIFIED: it was not confirmed when it was made", "warning")


def _tell_promise(context: typer.Context, release: str, model: str) -> None:
    """Tell of what a release says that it promises, where other numbers are asked for only by default."""
    from kgreason.isomorphism.folder import claim_of
    from kgreason.release.folder_contents import README

    file = Path(release) / README
    claim = claim_of(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
    if claim is None or (promised := claim[0]).model != model:
        return
    sizes = [] if promised.x is None else [*promised.also, promised.x]
    others = given(context, "k") is None and promised.k != DEFAULT_K
    others |= given(context, "x") is None and bool(sizes) and sizes != [*options.DEFAULT_X]
    if others:
        x = "..".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1]))) if sizes else ""
        says, asks = (f"k = {promised.k}, x = {x}", f" -x {x}") if x else (f"k = {promised.k}", "")
        tell(f"the release says {says}: -k {promised.k}{asks} asks for that")


def _with_files(
    verdict: Verdict,
    program: CheckedProgram,
    release: str,
    released: KnowledgeGraph,
    original: KnowledgeGraph | None,
    progress: Progress,
) -> Verdict:
    """Besides, whether the folder of a release holds nothing else; of a table nothing is said."""
    from kgreason.isomorphism.folder import form
    from kgreason.release.folder_contents import FILES, both

    folders = {source.path for given in tables(program, [release]).values() for source in given}
    if len(folders) != 1 or not (folder := folders.pop()).is_dir():
        return verdict
    progress.step(f"Comparing the files of {folder}")
    found = form(folder, released, program, original)
    known = [item.name for item in verdict.items]
    if FILES not in known:
        return replace(verdict, items=(*verdict.items, found))
    items = (
        both(item, found) if item.name == FILES else item for item in verdict.items
    )  # a certificate tells, too
    return replace(verdict, items=tuple(items))


def _one(releases: Sequence[str]) -> str:
    """The release, where one is judged; `CallError` if several are named, such as the original before it."""
    if len(releases) > 1:
        what = f"one release is judged, and {len(releases)} are named: {', '.join(releases)}"
        raise CallError(
            what, hint=f"name the original by --data, as in --data own={original_of(releases) or releases[0]}"
        )
    return releases[0]


def _pair(
    program: CheckedProgram,
    original: Mapping[str, Sequence[Any]],
    release: str,
    mapping: Path | None,
    progress: Progress,
) -> Pair:
    """Read a release, and its original from ``--data`` or where the rules say."""
    from kgreason.isomorphism.reading import read_pair

    progress.step("Reading")
    if mapping is None:
        raise CallError(
            "the original is named, but who is who in its release is not said",
            hint="say --mapping FILE, or leave out --data to judge the release alone",
        )
    return read_pair(program, original, tables(program, [release]), mapping, progress)
