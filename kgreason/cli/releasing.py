"""Commands about releases: anonymize, verify, score."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgreason.choices import MAX_SUBGRAPHS, Method, Mode
from kgreason.cli.base import guarded, load_rules, print_json, sources
from kgreason.cli.options import (
    AsJson,
    DataFiles,
    K,
    KeepCuts,
    MappingFile,
    MaxSubgraphs,
    OriginalFiles,
    ReleasedFiles,
    RulesFile,
    Seed,
    Sizes,
    Split,
    X,
)
from kgreason.errors import DataError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
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
            help="klone protects every x by k copies, kguard one x, or some, by far fewer additions."
        ),
    ] = "kguard",
    mode: Annotated[
        Mode, typer.Option(help="Of kguard: exact protects every subgraph, published is the paper.")
    ] = "exact",
    k: K = 3,
    x: X = None,
    sizes: Sizes = None,
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
            sizes=sizes,
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


@guarded
def verify(
    rules: RulesFile,
    original: OriginalFiles,
    release: ReleasedFiles,
    mapping: MappingFile,
    k: K = 3,
    x: X = None,
    sizes: Sizes = None,
    max_subgraphs: MaxSubgraphs = None,
    as_json: AsJson = False,
) -> int:
    """Decide exactly whether a release is a (k,x)-isomorphism anonymization."""
    from kgreason import api
    from kgreason.pairs import read_pair
    from kgreason.terminal import print_verdict, print_witnesses, progress

    program = load_rules(rules)
    with progress() as shown:
        pair = read_pair(program, _tables(program, original), _tables(program, release), mapping)
        verdict = api.verify(
            *(pair.original, pair.released, pair.mapping, program),
            k=k,
            x=x,
            sizes=sizes,
            parts=pair.parts,
            max_subgraphs=max_subgraphs or MAX_SUBGRAPHS,
            progress=shown,
        )
    if as_json:
        print_json({"format": 1, **verdict.as_dict()})
    else:
        print_verdict(verdict)
        print_witnesses(verdict)
    return int(not verdict.as_promised)


@guarded
def score(
    rules: RulesFile,
    original: OriginalFiles,
    release: ReleasedFiles,
    mapping: MappingFile,
    as_json: AsJson = False,
) -> int:
    """Measure what a release is still worth: utility U and U△, fidelity, and whether synthetic vertices can be told."""
    from kgreason import api
    from kgreason.pairs import read_pair
    from kgreason.terminal import print_score, progress

    program = load_rules(rules)
    with progress() as shown:
        pair = read_pair(program, _tables(program, original), _tables(program, release), mapping)
        result = api.score(pair.original, pair.released, pair.mapping, program, progress=shown)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        print_score(result)
    return 0


def _tables(program: CheckedProgram, files: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """Sources of the edge predicates; the name may be left out where there is only one."""
    named = [f if f.split("=", 1)[0] in program.edges else _only_edge(program, f) + "=" + f for f in files]
    return sources(named)


def _only_edge(program: CheckedProgram, file: str) -> str:
    if len(program.edges) == 1:
        return program.edges[0]
    names = ", ".join(program.edges) or "none"
    raise DataError(
        file, f"which edge predicate is this a table of? The rules have: {names}", hint="write PRED=FILE"
    )
