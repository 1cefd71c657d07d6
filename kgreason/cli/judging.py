"""Commands that judge releases of graphs under rules: verify, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgreason.base.errors import CallError
from kgreason.cli import options
from kgreason.cli.commands import given, guarded, load_rules, print_json, sources, tables
from kgreason.cli.options import REQUIRED, option, taking
from kgreason.cli.releases import check_releases, print_verdict
from kgreason.cli.run import tell
from kgreason.isomorphism.settings import MAX_SUBGRAPHS, Model

if TYPE_CHECKING:
    from kgreason.base.progress import Progress
    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.reading import Pair
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.language.check.checked_program import CheckedProgram

DEFAULT_K = 3


@guarded
@taking(
    options.RELEASE,
    options.RULES,
    options.DATA,
    options.mapping_file(Path | None),
    option(
        "-k --k N",
        int | None,
        "Number of places that look the same, 2 or more.",
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
        "--model",
        Model,
        "kx-isomorphism; or k-iso: decide instead whether the release is k isomorphic blocks without edges between "
        "them; δ of its connected parts is told, too.",
        "kx-isomorphism",
    ),
    options.MAX_SUBGRAPHS,
    options.AS_JSON,
)
def verify(
    context: typer.Context,
    release: str,
    rules: Path,
    data: Sequence[str] | None,
    mapping: Path | None,
    model: Model,
    as_json: bool,
    **asked: Any,
) -> int:
    """Decide whether a release is a (k,x)-isomorphism anonymization: of its original, or of any, if it is alone.

    Exit code 0: it is; with --sample, which proves nothing, no part was found unprotected; of a release alone, every
    part of it is protected; with --model k-iso, it is k isomorphic blocks. 1: it is not, or that was not decided. 2:
    bad usage or input.
    """
    from kgreason.cli.terminal import progress, verdict_rows
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.certificates import Files, read_certificate
    from kgreason.isomorphism.reading import read_released

    check_releases([release], [] if mapping is None else [mapping])
    known, original, certificate = mapping, sources(data), asked["certificate"]
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
        found = _with_files(verdict, program, release, released, before, shown)
    return print_verdict(found, verdict_rows, as_json=as_json)


@guarded
@taking(
    options.RELEASE,
    options.mapping_file(Path, default=REQUIRED),
    options.RULES,
    options.DATA,
    options.AS_JSON,
)
def score(release: str, mapping: Path, rules: Path, data: Sequence[str] | None, as_json: bool) -> int:
    """Measure what a release is still worth: utility U and U△, fidelity, and whether synthetic vertices can be told."""
    from kgreason.cli.terminal import progress, rows, table
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.report import score_items

    original = sources(data)
    program = load_rules(rules, given=original)
    with progress() as shown:
        pair = _pair(program, original, release, mapping, shown)
        result = assessment.score(pair.original, pair.released, pair.mapping, program, progress=shown)
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        table(list(rows(score_items(result))))
    return 0


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
