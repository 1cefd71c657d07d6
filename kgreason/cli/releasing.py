"""The command that makes releases: anonymize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from kgreason.choices import AnyMethod, Method, Mode, PeopleMethod
from kgreason.cli import links_releasing, people_releasing
from kgreason.cli.base import guarded, load_rules, sources
from kgreason.cli.every import taking
from kgreason.cli.links_releasing import OF_LINKS
from kgreason.cli.options import (
    DEFAULT_X,
    AsJson,
    K,
    KeepCuts,
    MaxSubgraphs,
    Original,
    ReleaseFormat,
    Seed,
    SomeRules,
    Split,
    X,
)
from kgreason.cli.people import FILES, SchemaFile, kinds_of, the_schema
from kgreason.cli.people_releasing import OF_PEOPLE, OF_RULES
from kgreason.cli.refusing import given, refuse
from kgreason.errors import CallError

PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. Without `--mode published` every subgraph is protected."
)


@guarded
@taking(*FILES, *people_releasing.OPTIONS, *links_releasing.OPTIONS)
def anonymize(
    context: typer.Context,
    rules: SomeRules = None,
    data: Original = None,
    method: Annotated[
        AnyMethod,
        typer.Option(
            metavar="METHOD",
            help="Under rules: klone protects every x by k copies, kguard one x, or some, by far fewer additions; "
            "k-iso is the baseline: k isomorphic blocks, which protect neither derived edges nor degrees. Of people: "
            "cdga makes degrees alike, ckga values, too, pckga with each user's own k, ctkga in a series of releases; "
            "k-degree makes degrees of undirected graphs alike. Of links: links leaves a sensitive relation "
            "out, and as much of what tells of it as --strategy says.",
        ),
    ] = "kguard",
    mode: Annotated[
        Mode,
        typer.Option(
            metavar="MODE",
            help="Of kguard: exact protects every subgraph, published is the paper with a lighter reading of line "
            "11 of its Algorithm 3. Of people: exact betters the clusters of the paper.",
        ),
    ] = "exact",
    k: K = 3,
    x: X = DEFAULT_X,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of random weights; the most useful is kept.")
    ] = 10,
    seed: Seed = None,
    release: Annotated[Path, typer.Option(metavar="DIR", help="Folder to publish.")] = Path("release"),
    private: Annotated[Path, typer.Option(metavar="DIR", help="Folder to keep secret.")] = Path("private"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace earlier releases in these folders.")
    ] = False,
    format: ReleaseFormat = None,
    max_subgraphs: MaxSubgraphs = None,
    split: Split = None,
    keep_cuts: KeepCuts = False,
    schema: SchemaFile = None,
    as_json: AsJson = False,
    **more: Any,
) -> int:
    """Make an anonymous version of a graph, and prove that it is.

    Of a graph under rules (--rules) or, by the methods cdga, ckga, pckga, ctkga and k-degree, of a graph of people; by
    the method links of a graph with a sensitive relation.
    """
    from kgreason import api
    from kgreason.cli.finishing import finish
    from kgreason.cli.run import tell
    from kgreason.release.publication import Folders
    from kgreason.terminal import print_anonymization, progress

    folders = Folders(release, private, force, format)
    for mended in folders.check():
        tell(mended)
    kinds, least = kinds_of(more), given(context, "k", k)
    of_links = {name: more.pop(name) for name in OF_LINKS}
    if method == "links":
        schema_there = None if rules else the_schema(data, schema, kinds)
        of_links |= {"sensitive": links_releasing.one_sensitive(of_links["sensitive"]), "k": least}
        return links_releasing.anonymize(
            *(context, folders, schema_there, rules, data),
            clustering=more["clustering"],
            seed=seed,
            as_json=as_json,
            **of_links,
        )
    refuse(
        context,
        OF_LINKS,
        f"with --method {method}",
        "say --method links for links that tell of sensitive ones",
    )
    if method in get_args(PeopleMethod):
        refuse(context, OF_RULES, f"with --method {method}")
        people_releasing.refuse_unused(
            context, method, mode, more["loss"], more["clustering"], more["partition"]
        )
        return people_releasing.anonymize(
            the_schema(data, schema, kinds),
            folders,
            as_json=as_json,
            seed=seed,
            method=method,
            mode=mode,
            k=least,
            **more,
        )
    refuse(context, OF_PEOPLE, f"with --method {method}", "say --method pckga for a graph of people")
    if rules is None:
        raise CallError(
            f"{method} protects what rules derive, and none are given",
            hint="say --rules FILE.vada; a graph of people takes --method pckga",
        )
    if split is None:
        refuse(context, ["keep_cuts"], "without --split", "say for instance --split 1000")
    program = load_rules(rules)
    with progress() as shown:
        result = api.anonymize(
            program,
            sources(data),
            method=cast(Method, method),
            mode=mode,
            k=k,
            x=x,
            trials=trials,
            max_subgraphs=max_subgraphs,
            split=split,
            keep_cuts=keep_cuts,
            seed=seed,
            folders=folders,
            progress=shown,
        )
    unprotected = mode == "published" and method == "kguard" and not result.verdict["images"].holds
    return finish(
        result,
        folders,
        print_anonymization,
        "which subgraphs are not protected",
        as_json=as_json,
        seed=seed,
        remark=PUBLISHED_MAY_FAIL if unprotected else None,
    )
