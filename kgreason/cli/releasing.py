"""The command that makes releases: anonymize."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgreason.choices import Method, Mode
from kgreason.cli.base import guarded, load_rules, print_json, sources
from kgreason.cli.options import (
    DEFAULT_X,
    AsJson,
    DataFiles,
    K,
    KeepCuts,
    MaxSubgraphs,
    RulesFile,
    Seed,
    Split,
    X,
)

if TYPE_CHECKING:
    from kgreason.publication import Folders
    from kgreason.results import Anonymization

PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. Without `--mode published` every subgraph is protected."
)


@guarded
def anonymize(
    rules: RulesFile,
    data: DataFiles = None,
    method: Annotated[
        Method,
        typer.Option(
            help="klone protects every x by k copies, kguard one x, or some, by far fewer additions. k-iso is the "
            "baseline: k isomorphic blocks, which protect neither derived edges nor degrees."
        ),
    ] = "kguard",
    mode: Annotated[
        Mode, typer.Option(help="Of kguard: exact protects every subgraph, published is the paper.")
    ] = "exact",
    k: K = 3,
    x: X = DEFAULT_X,
    trials: Annotated[
        int, typer.Option(min=1, help="Draws of random weights; the most useful is kept.")
    ] = 10,
    seed: Seed = None,
    release: Annotated[Path, typer.Option(metavar="DIR", help="Folder to publish.")] = Path("release"),
    private: Annotated[Path, typer.Option(metavar="DIR", help="Folder to keep secret.")] = Path("private"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace earlier releases in these folders.")
    ] = False,
    max_subgraphs: MaxSubgraphs = None,
    split: Split = None,
    keep_cuts: KeepCuts = False,
    as_json: AsJson = False,
) -> int:
    """Make an anonymous version of a graph, and prove that it is."""
    from kgreason import api
    from kgreason.publication import Folders, interrupted
    from kgreason.terminal import progress

    folders = Folders(release, private, force)
    folders.check()
    program = load_rules(rules)
    with progress() as shown:
        result = api.anonymize(
            program,
            sources(data),
            method=method,
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
    try:
        _print_release(result, folders, as_json=as_json, seeded=seed is not None)
        if mode == "published" and method == "kguard" and not result.verdict["images"].holds:
            print(PUBLISHED_MAY_FAIL, file=sys.stderr)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(folders)) from None
    return int(not result.holds)


def _print_release(result: Anonymization, folders: Folders, *, as_json: bool, seeded: bool) -> None:
    from kgreason.terminal import print_anonymization

    release, private = folders.release, folders.private
    if as_json:
        print_json(result.summary() | {"release": str(release), "private": str(private)})
    else:
        print_anonymization(result, release, private, seeded=seeded)
    if seeded:
        print("Made with --seed: anybody can compute it again, so it is not for publishing.", file=sys.stderr)
    if not result.holds:
        print(f"{private / 'report.json'} tells which subgraphs are not protected, and why.", file=sys.stderr)
