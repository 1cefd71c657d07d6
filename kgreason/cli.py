"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize`` and ``verify``: the guarantee holds), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from kgreason.choices import MAX_SUBGRAPHS, Method, Mode
from kgreason.errors import DataError, KgreasonError, render_all

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.graph.model import KnowledgeGraph

P = ParamSpec("P")
PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. `--method klone` gives a release in which every subgraph is protected."
)

app = typer.Typer(
    name="kgreason",
    help="Reason over knowledge graphs, anonymize them against derived edges, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
generate_app = typer.Typer(help="Make a random graph.", no_args_is_help=True)
app.add_typer(generate_app, name="generate")

RulesFile = Annotated[Path, typer.Option("--rules", metavar="FILE", help="Rule file (.vada).")]
DataFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PRED=FILE",
        help="Facts of PRED, in place of its @bind; repeatable. Options follow a question mark: "
        "'own=shares.csv?percent=true&columns=owner,company,share'.",
    ),
]
K = Annotated[int, typer.Option("-k", min=2, help="Number of places that look the same, 2 or more.")]
X = Annotated[
    int,
    typer.Option(
        "-x", min=1, help="Vertices of the part that an attacker knows; kguard 1 to 6, klone 1 to 8."
    ),
]
MaxSubgraphs = Annotated[
    int, typer.Option(min=1, help="Refuse graphs with more connected subgraphs of x vertices.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Repeatable randomness: for experiments only.")
]
OriginalFiles = Annotated[
    list[str],
    typer.Option(
        "--original", metavar="[PRED=]FILE", help="Original edges; repeatable, PRED= if there are several."
    ),
]
ReleasedFiles = Annotated[list[str], typer.Option("--release", metavar="[PRED=]FILE", help="Released edges.")]
MappingFile = Annotated[
    Path, typer.Option("--mapping", metavar="FILE", help="The private table original,released.")
]
OutFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file to write.")]
Vertices = Annotated[int, typer.Option("-n", min=1, max=100_000_000, help="Number of vertices.")]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows a question mark
            stream.reconfigure(errors="replace")
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # a signal ends the work as Ctrl-C does: nothing is left behind
            signal.signal(getattr(signal, name), signal.default_int_handler)
    app()


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """Turn the errors of a user into one message and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except KgreasonError as error:
            text = str(error)
            _stop(text if ": error[" in text or text.startswith("error") else f"error: {text}", 2)
        except BrokenPipeError:  # whoever read our output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except OSError as error:
            _stop(f"error: {error.filename or 'a file'}: {error.strerror or error}", 2)
        except MemoryError:
            _stop(
                "error: there is not enough memory for this\n  help: choose a smaller k or x, or a smaller graph",
                2,
            )
        except KeyboardInterrupt:
            _stop("interrupted; nothing was written", 130)
        raise typer.Exit(code)

    return run


def _stop(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        from kgreason import __version__

        print(f"kgreason {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Reason over knowledge graphs, anonymize them against derived edges, and prove it."""


@app.command()
@guarded
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files.")],
) -> int:
    """Print everything that is wrong with rule files."""
    from kgreason.analysis.check import check_file
    from kgreason.terminal import source_of

    failed = False
    for file in files:
        diagnostics = check_file(file)
        errors = sum(d.severity == "error" for d in diagnostics)
        if diagnostics:
            print(render_all(diagnostics, source_of(file)), end="\n\n")
        print(f"{file}: {_count(errors, 'error')}, {_count(len(diagnostics) - errors, 'warning')}")
        failed = failed or errors > 0
    return int(failed)


@app.command()
@guarded
def reason(
    rules: RulesFile,
    data: DataFiles = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="PRED", help="Derive PRED; default: every @output."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write PRED.csv files into DIR.")
    ] = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print counts and times.")] = False,
    as_json: AsJson = False,
) -> int:
    """Derive facts from rules and data."""
    from kgreason import api
    from kgreason.publication import write_facts
    from kgreason.terminal import print_facts, print_stats, progress

    program = _load(rules)
    with progress() as shown:
        result = api.reason(program, _sources(data), outputs=output or None, progress=shown)
        if out is not None:
            write_facts(out, result.facts)
    if as_json:
        facts = {p: result.rows(p) for p in result.predicates} if out is None else {}
        counts = {p: result.facts.count(p) for p in result.predicates}
        _print_json({"format": 1, "counts": counts, "facts": facts, "stats": asdict(result.stats)})
        return 0
    if out is None:
        print_facts(result.facts)
    else:
        for predicate in result.predicates:
            print(f"{out / predicate}.csv: {_count(result.facts.count(predicate), 'fact')}")
    if stats:
        print_stats(result.stats)
    return 0


@app.command()
@guarded
def anonymize(
    rules: RulesFile,
    data: DataFiles = None,
    method: Annotated[
        Method, typer.Option(help="klone protects every x by k copies, kguard one x by far fewer additions.")
    ] = "kguard",
    mode: Annotated[Mode, typer.Option(help="Of kguard; this version has only published.")] = "published",
    k: K = 3,
    x: X = 4,
    trials: Annotated[
        int, typer.Option(min=1, help="Draws of random weights; the most useful is kept.")
    ] = 10,
    seed: Seed = None,
    release: Annotated[Path, typer.Option(metavar="DIR", help="Folder to publish.")] = Path("release"),
    private: Annotated[Path, typer.Option(metavar="DIR", help="Folder to keep secret.")] = Path("private"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace earlier releases in these folders.")
    ] = False,
    max_subgraphs: MaxSubgraphs = MAX_SUBGRAPHS,
    as_json: AsJson = False,
) -> int:
    """Make an anonymous version of a graph, and prove that it is."""
    from kgreason import api
    from kgreason.publication import Folders
    from kgreason.terminal import print_anonymization, progress

    folders = Folders(release, private, force)
    folders.check()
    program = _load(rules)
    with progress() as shown:
        result = api.anonymize(
            program,
            _sources(data),
            method=method,
            mode=mode,
            k=k,
            x=x,
            trials=trials,
            max_subgraphs=max_subgraphs,
            seed=seed,
            folders=folders,
            progress=shown,
        )
    if as_json:
        _print_json(result.summary() | {"release": str(release), "private": str(private)})
    else:
        print_anonymization(result, release, private, seeded=seed is not None)
    if seed is not None:
        print("Made with --seed: anybody can compute it again, so it is not for publishing.", file=sys.stderr)
    if not result.holds:
        print(f"{private / 'report.json'} tells which subgraphs are not protected, and why.", file=sys.stderr)
        if method == "kguard" and not result.verdict["images"].holds:
            print(PUBLISHED_MAY_FAIL, file=sys.stderr)
    return int(not result.holds)


@app.command()
@guarded
def verify(
    rules: RulesFile,
    original: OriginalFiles,
    release: ReleasedFiles,
    mapping: MappingFile,
    k: K = 3,
    x: X = 4,
    max_subgraphs: MaxSubgraphs = MAX_SUBGRAPHS,
    as_json: AsJson = False,
) -> int:
    """Decide exactly whether a release is a (k,x)-isomorphism anonymization."""
    from kgreason import api
    from kgreason.pairs import read_pair
    from kgreason.terminal import print_verdict, print_witnesses, progress

    program = _load(rules)
    with progress() as shown:
        pair = read_pair(program, _tables(program, original), _tables(program, release), mapping)
        verdict = api.verify(
            *(pair.original, pair.released, pair.mapping, program),
            k=k,
            x=x,
            max_subgraphs=max_subgraphs,
            progress=shown,
        )
    if as_json:
        _print_json({"format": 1, **verdict.as_dict()})
    else:
        print_verdict(verdict)
        print_witnesses(verdict)
    return int(not verdict.holds)


@app.command()
@guarded
def score(
    rules: RulesFile,
    original: OriginalFiles,
    release: ReleasedFiles,
    mapping: MappingFile,
    as_json: AsJson = False,
) -> int:
    """Measure what a release is still worth: utility U and U△, and fidelity."""
    from kgreason import api
    from kgreason.pairs import read_pair
    from kgreason.terminal import print_score, progress

    program = _load(rules)
    with progress() as shown:
        pair = read_pair(program, _tables(program, original), _tables(program, release), mapping)
        result = api.score(pair.original, pair.released, pair.mapping, program, progress=shown)
    if as_json:
        _print_json({"format": 1, "utility": result.utility.as_dict(), "fidelity": result.fidelity.as_dict()})
    else:
        print_score(result)
    return 0


@generate_app.command("er")
@guarded
def generate_er(
    out: OutFile,
    n: Vertices = 1000,
    m: Annotated[int | None, typer.Option("-m", min=0, help="Number of edges; default n ln(n) / 2.")] = None,
    seed: Seed = None,
) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.erdos_renyi(n, m, rng), out, seed)


@generate_app.command("scale-free")
@guarded
def generate_scale_free(
    out: OutFile,
    n: Vertices = 1000,
    alpha: Annotated[float, typer.Option(help="Exponent of the out-degree distribution, above 1.")] = 3.0,
    economic: Annotated[bool, typer.Option("--economic", help="Incoming weights sum to at most 1.")] = False,
    seed: Seed = None,
) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.scale_free(n, alpha, rng, economic=economic), out, seed)


@generate_app.command("ownership")
@guarded
def generate_ownership(out: OutFile, n: Vertices = 1000, seed: Seed = None) -> int:
    """Company ownership: groups, joint ventures, dispersed holders; incoming shares sum to at most 1."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.ownership(n, rng), out, seed)


def _write(make: Callable[[Any], KnowledgeGraph], out: Path, seed: int | None) -> int:
    import numpy as np

    from kgreason.publication import write_graph

    graph = make(np.random.default_rng(seed))
    write_graph(out, graph)
    isolated = int(((graph.in_degree() + graph.out_degree()) == 0).sum())
    print(f"{out}: {_count(graph.n - isolated, 'vertex', 'vertices')}, {_count(graph.m, 'edge')}")
    if isolated:
        print(
            f"{_count(isolated, 'vertex', 'vertices')} without edges cannot stand in a table of edges",
            file=sys.stderr,
        )
    return 0


def _load(rules: Path) -> CheckedProgram:
    from kgreason.api import load

    program = load(rules)
    if program.warnings:
        print(render_all(program.warnings, program.text), file=sys.stderr)
    return program


def _sources(data: Sequence[str] | None) -> dict[str, list[Any]]:
    from kgreason.graph.io.source import parse_source

    sources: dict[str, list[Any]] = {}
    for text in data or ():
        predicate, source = parse_source(text)
        sources.setdefault(predicate, []).append(source)
    return sources


def _tables(program: CheckedProgram, files: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """Sources of the edge predicates; the name may be left out where there is only one."""
    named = [f if f.split("=", 1)[0] in program.edges else _only_edge(program, f) + "=" + f for f in files]
    return _sources(named)


def _only_edge(program: CheckedProgram, file: str) -> str:
    if len(program.edges) == 1:
        return program.edges[0]
    names = ", ".join(program.edges) or "none"
    raise DataError(
        file, f"which edge predicate is this a table of? The rules have: {names}", hint="write PRED=FILE"
    )


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _print_json(data: Mapping[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
