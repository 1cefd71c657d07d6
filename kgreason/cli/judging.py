"""Commands that judge releases: verify, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from kgreason.choices import MAX_SUBGRAPHS, AnyModel, Model, PeopleModel, Strategy
from kgreason.cli.base import guarded, load_rules, print_json, sources, tables
from kgreason.cli.errors import original_of
from kgreason.cli.every import taking
from kgreason.cli.options import (
    DEFAULT_X,
    AsJson,
    MappingFile,
    MaxSubgraphs,
    Original,
    Release,
    Releases,
    SomeRules,
    X,
)
from kgreason.cli.people import FILES, kinds_of
from kgreason.cli.refusing import given, refuse
from kgreason.cli.run import tell
from kgreason.errors import CallError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.assess.verdict import Verdict
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.isomorphism.reading import Pair
    from kgreason.progress import Progress


DEFAULT_K = 3
OF_PARTS = "certificate", "sample", "seed", "max_subgraphs", "x"
OF_PEOPLE = "k_values", "window", "all_edges"
OF_LINKS = "sensitive", "strategy", "percent"
OF_FILES = tuple(option.name for option in FILES)


@guarded
@taking(*FILES)
def verify(
    context: typer.Context,
    releases: Releases,
    rules: SomeRules = None,
    data: Original = None,
    mapping: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The private folder, or the table original,released in it; not for a release alone. For kw-tad one "
            "for each release.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--k",
            min=2,
            metavar="N",
            show_default="3",
            help="Number of places or users that look the same, 2 or more.",
        ),
    ] = None,
    x: X = DEFAULT_X,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="The private folder, or the certificate.json in it: look the images up there, search for none.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Decide only N connected parts, drawn uniformly at random, and estimate δ with a 95 % confidence "
            "interval: for graphs with too many of them. --max-subgraphs then bounds those of one vertex less.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Draw the same sample again.")] = None,
    model: Annotated[
        AnyModel,
        typer.Option(
            metavar="MODEL",
            help="kx-isomorphism: under rules; "
            "k-iso: decide instead whether the release is k isomorphic blocks without edges between them; δ of "
            "its connected parts is told, too. Of people, whose releases are folders, without rules: whether all users "
            "share with k - 1 others degrees (paired-k-degree), values and degrees (k-ad), those as the k of each asks "
            "(p-k-ad), or their series over several releases, the latest last (kw-tad); of an undirected graph, "
            "degrees (k-degree). Of links: whether the release is what its strategy says, and keeps the sensitive "
            "relation to itself (links).",
        ),
    ] = "kx-isomorphism",
    max_subgraphs: MaxSubgraphs = None,
    schema: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Of people: schema (.toml) of the original; for kw-tad one for each release."
        ),
    ] = None,
    k_values: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="For p-k-ad: table user,k, with users of the original, or of the release if no original is named.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="W", help="For kw-tad: judge the last W releases; default: all that are named."
        ),
    ] = None,
    all_edges: Annotated[
        bool,
        typer.Option(
            "--all-edges",
            help="For k-degree: ask for all original edges, too, as --construction supergraph keeps them.",
        ),
    ] = False,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="NAME", help="Of links: the relation that must not be told."),
    ] = None,
    strategy: Annotated[
        Strategy | None,
        typer.Option(show_default="as the release says", help="Of links: how they must have been made."),
    ] = None,
    percent: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Of links: share that partial must have left out of each relation."
        ),
    ] = None,
    as_json: AsJson = False,
    **more: Any,
) -> int:
    """Decide whether a release is a (k,x)-isomorphism anonymization: of its original, or of any, if it is alone.

    Exit code 0: it is; with --sample, which proves nothing, no part was found unprotected; of a release alone, every
    part of it is protected; with --model k-iso, it is k isomorphic blocks; of people, it satisfies the model. 1: it is
    not, or that was not decided. 2: bad usage or input.
    """
    from kgreason import api
    from kgreason.exchange import check_settled
    from kgreason.isomorphism.certificates import Files, read_certificate
    from kgreason.terminal import print_verdict, print_witnesses, progress

    _warn_marked(releases)
    for place in (*map(Path, releases), *(mapping or [])):
        check_settled(place)
    other = "name another --model"
    kinds = kinds_of(more)
    if model == "links":
        from kgreason.cli import judging_links
        from kgreason.cli.links_releasing import one_sensitive

        refuse(context, (*OF_PARTS, *OF_PEOPLE), "for the model links", other)
        if not (data or schema or rules):
            refuse(context, ["percent"], "without the original", "name the original")
        return judging_links.verify(
            *(_one(releases), data, k, rules, schema or [], mapping or [], kinds, one_sensitive(sensitive)),
            *(strategy, percent, as_json),
        )
    refuse(context, OF_LINKS, f"for the model {model}", other)
    if model not in get_args(Model):
        from kgreason.cli import judging_people

        refuse(context, ("rules", *OF_PARTS), f"for the model {model}", other)
        return judging_people.verify(
            *(
                releases,
                data,
                cast(PeopleModel, model),
                k,
                schema or [],
                kinds,
                mapping or [],
                k_values,
                window,
            ),
            as_json,
            all_edges=all_edges,
        )
    people = "for a release of people name its --model, such as p-k-ad"
    refuse(context, ("schema", *OF_FILES, *OF_PEOPLE), f"for the model {model}", people)
    if rules is None:
        theirs = Path(releases[0]) / "rules.vada"
        # these read the release: where there is an original, others are needed
        file = theirs if theirs.is_file() and not (data or mapping) else "FILE"
        hint = f"say --rules {file}; releases of people are judged without, with --model k-ad for instance"
        raise CallError(f"the model {model} is of a graph with rules, and none are named", hint=hint)
    if mapping is not None and len(mapping) > 1:
        raise CallError("several mappings are named", hint="say --mapping FILE once")
    known = None if mapping is None else mapping[0]
    release, original = _one(releases), sources(data)
    _tell_promise(context, release, model)
    program = load_rules(rules, given=original)
    most = max_subgraphs or MAX_SUBGRAPHS
    with progress() as shown:
        asked: Any = {
            "k": DEFAULT_K if k is None else k,
            "x": x,
            "max_subgraphs": most,
            "sample": sample,
            "seed": seed,
            "model": model,
            "progress": shown,
        }
        if not original and known is None:
            if certificate is not None:
                what = "a certificate is of an original and its release, and who is who is not said"
                raise CallError(what, hint="say --mapping FILE")
            released, before = _released(program, release, shown), None
            verdict = api.verify_alone(released, program, **asked)
        else:
            pair = _pair(program, original, release, known, shown)
            released, before = pair.released, pair.original
            graphs = before, released, pair.mapping
            proof = None
            if certificate is not None and known is not None:
                named = {name: found[0].path for name, found in tables(program, [release]).items()}
                proof = read_certificate(certificate, pair, Files(named, known))
            verdict = api.verify(*graphs, program, parts=pair.parts, certificate=proof, **asked)
        verdict = _with_files(verdict, program, release, released, before, shown)
    if as_json:
        print_json({"format": 1, **verdict.as_dict()})
    else:
        print_verdict(verdict)
        print_witnesses(verdict)
    return int(not verdict.nothing_against)


@guarded
def score(
    context: typer.Context,
    release: Release,
    mapping: MappingFile,
    rules: SomeRules = None,
    data: Original = None,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of people, without rules: schema (.toml) of the original."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure what a release is still worth.

    Under rules: utility U and U△, fidelity, and whether synthetic vertices can be told. Of people: information lost.
    """
    from kgreason import api
    from kgreason.terminal import print_score, progress

    if schema is not None:
        from kgreason.cli import judging_people

        refuse(context, ["rules", "data"], "for graphs of people")
        return judging_people.score(release, schema, mapping, as_json)
    if rules is None:
        raise CallError(
            "neither rules nor a schema are named", hint="say --rules FILE, or of people --schema FILE"
        )
    original = sources(data)
    program = load_rules(rules, given=original)
    with progress() as shown:
        pair = _pair(program, original, release, mapping, shown)
        result = api.score(pair.original, pair.released, pair.mapping, program, progress=shown)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        print_score(result)
    return 0


def _warn_marked(folders: Sequence[str]) -> None:
    """Tell of releases that their maker's check did not confirm; what is found here may be less than that found."""
    for folder in folders:
        if (Path(folder) / "UNVERIFIED").exists():
            tell(f"{folder} is marked UNVERIFIED: it was not confirmed when it was made", "warning")


def _tell_promise(context: typer.Context, release: str, model: str) -> None:
    """Tell of what a release says that it promises, where other numbers are asked for only by default."""
    from kgreason.isomorphism.folder import claim_of
    from kgreason.release.contents import README

    file = Path(release) / README
    claim = claim_of(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
    if claim is None or (promised := claim[0]).model != model:
        return
    sizes = [] if promised.x is None else [*promised.also, promised.x]
    others = given(context, "k") is None and promised.k != DEFAULT_K
    others |= given(context, "x") is None and bool(sizes) and sizes != [*DEFAULT_X]
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
    from kgreason.release.contents import FILES, both

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
    """The release, where one is judged.

    Raises
    ------
    CallError
        If several are named, such as the original before it.
    """
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


def _released(program: CheckedProgram, release: str, progress: Progress) -> KnowledgeGraph:
    from kgreason.isomorphism.reading import read_released

    progress.step("Reading")
    return read_released(program, tables(program, [release]), progress)
