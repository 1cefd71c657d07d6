"""Commands that judge releases: verify, score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgreason.choices import MAX_SUBGRAPHS, Model
from kgreason.cli.base import guarded, load_rules, print_json, tables
from kgreason.cli.options import DEFAULT_X, AsJson, Graphs, Judged, K, MappingFile, MaxSubgraphs, RulesFile, X
from kgreason.errors import CallError, DataError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.pairs import Pair
    from kgreason.progress import Progress


@guarded
def verify(
    graphs: Judged,
    rules: RulesFile,
    mapping: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The private folder, or the table original,released in it; not for a release alone.",
        ),
    ] = None,
    k: K = 3,
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
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the same sample again.")] = None,
    model: Annotated[
        Model,
        typer.Option(
            help="k-iso: decide instead whether the release is k isomorphic blocks without edges between them; δ of "
            "its connected parts is told, too."
        ),
    ] = "kx-isomorphism",
    max_subgraphs: MaxSubgraphs = None,
    as_json: AsJson = False,
) -> int:
    """Decide whether a release is a (k,x)-isomorphism anonymization: of its original, or of any, if it is alone.

    Exit code 0: it is; with --sample, which proves nothing, no part was found unprotected; of a release alone, every
    part of it is protected; with --model k-iso, it is k isomorphic blocks. 1: it is not, or that was not decided.
    2: bad usage or input.
    """
    from kgreason import api
    from kgreason.certificates import Files, read_certificate
    from kgreason.terminal import print_verdict, print_witnesses, progress

    program = load_rules(rules)
    most = max_subgraphs or MAX_SUBGRAPHS
    with progress() as shown:
        asked: Any = {
            "k": k,
            "x": x,
            "max_subgraphs": most,
            "sample": sample,
            "seed": seed,
            "model": model,
            "progress": shown,
        }
        if len(graphs) == 1 and mapping is None:
            if certificate is not None:
                raise CallError("a certificate needs the original and --mapping", "say ORIGINAL RELEASE")
            verdict = api.verify_alone(_released(program, graphs[0], shown), program, **asked)
        else:
            pair = _pair(program, graphs, mapping, shown)
            known = pair.original, pair.released, pair.mapping
            proof = None
            if certificate is not None and mapping is not None:
                named = {name: found[0].path for name, found in tables(program, graphs[-1:]).items()}
                proof = read_certificate(certificate, pair, Files(named, mapping))
            verdict = api.verify(*known, program, parts=pair.parts, certificate=proof, **asked)
    if as_json:
        print_json({"format": 1, **verdict.as_dict()})
    else:
        print_verdict(verdict)
        print_witnesses(verdict)
    return int(not verdict.nothing_against)


@guarded
def score(
    graphs: Graphs,
    rules: RulesFile,
    mapping: MappingFile,
    as_json: AsJson = False,
) -> int:
    """Measure what a release is still worth: utility U and U△, fidelity, and whether synthetic vertices can be told."""
    from kgreason import api
    from kgreason.terminal import print_score, progress

    program = load_rules(rules)
    with progress() as shown:
        pair = _pair(program, graphs, mapping, shown)
        result = api.score(pair.original, pair.released, pair.mapping, program, progress=shown)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        print_score(result)
    return 0


def _pair(program: CheckedProgram, graphs: Sequence[str], mapping: Path | None, progress: Progress) -> Pair:
    """Read the graphs named on the command line: those of the original, and last the release."""
    from kgreason.pairs import read_pair

    *original, release = graphs
    progress.step("Reading")
    if not original:
        raise DataError(release, "one graph is named, but there must be two", hint="say ORIGINAL RELEASE")
    if mapping is None:
        raise DataError(
            release,
            "who is who in this release is not said",
            hint="say --mapping FILE, or name the release alone",
        )
    return read_pair(program, tables(program, original), tables(program, [release]), mapping, progress)


def _released(program: CheckedProgram, release: str, progress: Progress) -> KnowledgeGraph:
    from kgreason.pairs import read_released

    progress.step("Reading")
    return read_released(program, tables(program, [release]), progress)
