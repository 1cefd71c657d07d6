"""Commands that judge releases: verify, score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgreason.choices import MAX_SUBGRAPHS
from kgreason.cli.base import guarded, load_rules, print_json, tables
from kgreason.cli.options import DEFAULT_X, AsJson, Graphs, K, MappingFile, MaxSubgraphs, RulesFile, X
from kgreason.errors import DataError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.pairs import Pair
    from kgreason.progress import Progress


@guarded
def verify(
    graphs: Graphs,
    rules: RulesFile,
    mapping: MappingFile,
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
    max_subgraphs: MaxSubgraphs = None,
    as_json: AsJson = False,
) -> int:
    """Decide exactly whether a release is a (k,x)-isomorphism anonymization."""
    from kgreason import api
    from kgreason.terminal import print_verdict, print_witnesses, progress

    program = load_rules(rules)
    with progress() as shown:
        pair = _pair(program, graphs, mapping, shown)
        verdict = api.verify(
            *(pair.original, pair.released, pair.mapping, program),
            k=k,
            x=x,
            parts=pair.parts,
            certificate=certificate,
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


def _pair(program: CheckedProgram, graphs: Sequence[str], mapping: Path, progress: Progress) -> Pair:
    """Read the graphs named on the command line: those of the original, and last the release."""
    from kgreason.pairs import read_pair

    *original, release = graphs
    progress.step("Reading")
    if not original:
        raise DataError(release, "one graph is named, but there must be two", hint="say ORIGINAL RELEASE")
    return read_pair(program, tables(program, original), tables(program, [release]), mapping)
