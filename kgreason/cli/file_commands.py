"""Commands that write files: init, convert, generate, and report, which makes a page again from its data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import ReleaseError
from kgreason.base.memory import limited
from kgreason.cli import options, terminal
from kgreason.cli.commands import Group, check_free, command, counted, print_json
from kgreason.cli.options import FORMATS, WRITTEN, Format, argument, option
from kgreason.cli.reasoning import tell_alike
from kgreason.cli.run import running, tell

if TYPE_CHECKING:
    import numpy as np

    from kgreason.graph.knowledge_graph import KnowledgeGraph


@command(
    argument(
        "tables",
        list[str],
        "TABLE",
        "Tables of edges, perhaps of vertices, in any format that is read; options follow a question mark.",
    ),
    option("--out FILE", Path, "Rule file to write; default: called after the first table."),
    options.FORCE,
    options.AS_JSON,
)
def init(tables: list[str], out: Path | None, force: bool, as_json: bool) -> int:
    """Write a first rule file for tables: infer the roles of columns, with reasons. Asks nothing.

    Of one table with a line per person and no edges, a schema (.toml) is written instead.
    """
    from kgreason.data.first_files import start

    made = start(tables, out)
    check_free(made.file, force)
    if not made.file.parent.is_dir():
        raise ReleaseError(f"{made.file}: there is no folder {made.file.parent}", hint="make it first")
    with replacing(made.file) as temporary:
        temporary.write_text(made.text, encoding="utf-8")
    tell_alike(made.file)
    if as_json:
        named = {"file": str(made.file), "kind": made.kind, "tables": made.guesses, "next": made.next}
        print_json({"format": 1, **named})
        return 0
    for table, guesses in made.guesses.items():
        print("\n  ".join([f"{table}:", *guesses]))
    print(f"\n{made.file} is written: {made.kind}. Check it, then run:")
    print("\n".join(f"  {command}" for command in made.next))
    return 0


@command(
    argument(
        "source",
        str,
        "IN",
        "File to read, as for --data: options follow a question mark, 'own.csv?delimiter=;'.",
    ),
    argument(
        "target", str, "OUT", "File to write; options follow a question mark, 'own.mtx?labels=names.txt'."
    ),
    option("--from FORMAT", Format, f"Format of IN: {FORMATS}; default: by its extension.", name="given"),
    option("--to FORMAT", Format, "Format of OUT, as for --from; default: by its extension.", name="wanted"),
    option("--name PRED", str, "Name of the table or relation; default: as OUT is called."),
    options.FORCE,
    options.MEMORY_LIMIT,
    options.ALLOW_FILES,
    options.AS_JSON,
)
def convert(
    source: str,
    target: str,
    given: Format | None,
    wanted: Format | None,
    memory_limit: int | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Write a table or graph in another format."""
    from dataclasses import replace

    from kgreason.data.fact_writing import convert
    from kgreason.data.sources import parse_file
    from kgreason.data.targets import Target

    read, written = parse_file(source), parse_file(target)
    read = replace(read, format=given or read.format)
    written = replace(written, format=wanted or written.format)
    with limited(memory_limit), terminal.progress() as bar:
        done = convert(read, Target.at(written), allow_files=running().allow_files, progress=bar, **asked)
    if as_json:
        counts = {"read": done.read, "written": done.written, "vertices": done.vertices}
        files = {"source": read.file, "target": written.file}
        print_json({"format": 1, **files, **counts, "columns": done.names})
        return 0
    alone = f" and {counted(done.vertices, 'vertex', 'vertices')} without edges" if done.vertices else ""
    print(
        f"{read.file}: {counted(done.read, 'row')} -> {written.file}: {counted(done.written, 'row')}{alone}"
    )
    return 0


@command(
    argument(
        "folder", Path, "FOLDER", "Private folder of a release, or its report.json; or the release folder."
    ),
    option("--out FILE", Path, "Where to write the page; default: report.html there."),
    options.FORCE,
    options.AS_JSON,
)
def report(folder: Path, out: Path | None, force: bool, as_json: bool) -> int:
    """Render the page of a report again from report.json, for instance after an update of kgreason."""
    from kgreason.release.digests import renewed_digests
    from kgreason.release.report.html_page import HTML, write_page
    from kgreason.release.report.report_data import read_report

    file = _report_json(folder)
    found = read_report(file)
    if out is None and not found.secret:
        raise ReleaseError(
            f"{file.parent} is published: its files stay as they were written and checked",
            hint="say where the page goes: --out FILE",
        )
    page = file.parent / HTML if out is None else out
    if out is None and page.is_symlink():
        raise ReleaseError(
            f"{page} is a link to {page.resolve()}, which would be replaced",
            hint="remove the link, or say where the page goes: --out FILE",
        )
    if found.secret and _published(page.parent):
        raise ReleaseError(
            f"{page.parent} is published, and the page is secret", hint="name a file elsewhere: --out FILE"
        )
    if out is not None:
        check_free(out, force)
    write_page(page, found)
    if out is None and (text := renewed_digests(file.parent, HTML)) is not None:
        with replacing(file) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_text(text, encoding="utf-8")
    if as_json:
        about = {name: getattr(found, name) for name in ("secret", "state", "verdict")}
        print_json({"format": 1, "page": str(page), **about})
    else:
        print(f"{page}: {found.title}, {found.verdict}")
        if found.secret:
            print("It contains original data: keep it secret.")
    return 0


def _published(folder: Path) -> bool:
    from kgreason.release.read_back import KINDS

    marks = [mark for mark, _, _ in KINDS.values()]
    return (folder / "README.txt").is_file() and any((folder / mark).is_file() for mark in marks)


def _report_json(folder: Path) -> Path:
    from kgreason.release.digests import JSON

    file = folder / JSON if folder.is_dir() else folder
    if not file.is_file():
        what = "there is no such folder"
        if folder.exists():
            what = f"this is no folder of a release: {JSON} is missing"
        hint = "name the private folder that anonymize has written, such as private/"
        raise ReleaseError(f"{folder}: {what}", hint=hint)
    return file


N = option("-n N", int, "Number of vertices.", 1000, least=1, most=100_000_000)


@command(options.OUT, N, option("-m", int, "Number of edges; default n ln(n) / 2.", least=0), *WRITTEN)
def er(n: int, m: int | None, **more: Any) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.erdos_renyi(n, m, rng), **more)


@command(
    options.OUT,
    N,
    option("--alpha", float, "Exponent of the out-degree distribution, above 1.", 3.0),
    option("--economic", bool, "Incoming weights sum to at most 1."),
    *WRITTEN,
)
def scale_free(n: int, alpha: float, economic: bool, **more: Any) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.scale_free(n, alpha, rng, economic=economic), **more)


@command(options.OUT, N, *WRITTEN)
def ownership(n: int, **more: Any) -> int:
    """Company ownership: groups, joint ventures, dispersed holders; incoming shares sum to at most 1."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.ownership(n, rng), **more)


def _graph(
    make: Callable[[np.random.Generator], KnowledgeGraph],
    out: Path,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> int:
    import numpy as np

    from kgreason.isomorphism.release_tables import write_graph

    check_free(out, force)
    graph = make(np.random.default_rng(seed))
    write_graph(out, graph)
    isolated = int(((graph.in_degree() + graph.out_degree()) == 0).sum())
    if as_json:
        print_json({"format": 1, "file": str(out), "vertices": graph.n - isolated, "edges": graph.m})
    else:
        print(f"{out}: {counted(graph.n - isolated, 'vertex', 'vertices')}, {counted(graph.m, 'edge')}")
    if isolated:
        tell(f"{counted(isolated, 'vertex', 'vertices')} without edges cannot be in a table of edges")
    return 0


generate_app = Group("generate", help="Make a random graph.", commands=[er, scale_free, ownership])
