"""Commands that write a file again: convert, in another format, and report, from its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgreason.base.errors import ReleaseError
from kgreason.cli import options
from kgreason.cli.commands import check_free, counted, guarded, print_json
from kgreason.cli.options import Format, argument, option, taking
from kgreason.cli.run import running

SECRET = "It tells of the original: keep it secret."


@guarded
@taking(
    argument(
        "source",
        str,
        "IN",
        "File to read, as for --data: options follow a question mark, 'own.csv?delimiter=;'.",
    ),
    argument(
        "target", str, "OUT", "File to write; options follow a question mark, 'own.mtx?labels=names.txt'."
    ),
    option("--from", Format | None, "Format of IN; default: by its extension.", name="given"),
    option("--to", Format | None, "Format of OUT; default: by its extension.", name="wanted"),
    option("--name PRED", str | None, "Name of the table or relation; default: as OUT is called."),
    options.FORCE,
    options.MEMORY_LIMIT,
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

    from kgreason.base.memory import limited
    from kgreason.cli.terminal import progress
    from kgreason.data.fact_writing import convert
    from kgreason.data.sources import parse_file
    from kgreason.data.targets import Target

    read, written = parse_file(source), parse_file(target)
    read = replace(read, format=given or read.format)
    written = replace(written, format=wanted or written.format)
    with limited(memory_limit), progress() as bar:
        done = convert(read, Target.at(written), allow_files=running().allow_files, progress=bar, **asked)
    if as_json:
        told = {"read": done.read, "written": done.written, "vertices": done.vertices, "columns": done.names}
        print_json({"format": 1, "source": read.file, "target": written.file, **told})
        return 0
    alone = f" and {counted(done.vertices, 'vertex', 'vertices')} without edges" if done.vertices else ""
    print(
        f"{read.file}: {counted(done.read, 'row')} -> {written.file}: {counted(done.written, 'row')}{alone}"
    )
    return 0


@guarded
@taking(
    argument(
        "folder", Path, "FOLDER", "Private folder of a release, or its report.json; or the release folder."
    ),
    option("--out FILE", Path | None, "Where to write the page; default: report.html there."),
    options.FORCE,
    options.AS_JSON,
)
def report(folder: Path, out: Path | None, force: bool, as_json: bool) -> int:
    """Make the page of a report again, from report.json: for instance after an update of kgreason."""
    from kgreason.base.atomic_files import replacing
    from kgreason.release.digests import renewed_digests
    from kgreason.release.report.html_page import HTML, write_page
    from kgreason.release.report.report_data import read_report

    file = _file(folder)
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
            f"{page.parent} is published, and the page is secret",
            hint="name a file elsewhere: --out FILE",
        )
    if out is not None:
        check_free(out, force)
    write_page(page, found)
    if out is None and (told := renewed_digests(file.parent, HTML)) is not None:
        with replacing(file) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_text(told, encoding="utf-8")
    if as_json:
        about = {name: getattr(found, name) for name in ("secret", "state", "verdict")}
        print_json({"format": 1, "page": str(page), **about})
    else:
        print(f"{page}: {found.title}, {found.verdict}")
        if found.secret:
            print(SECRET)
    return 0


def _published(folder: Path) -> bool:
    from kgreason.release.read_back import KINDS

    return (
        any((folder / mark).is_file() for mark, _, _ in KINDS.values()) and (folder / "README.txt").is_file()
    )


def _file(folder: Path) -> Path:
    """The JSON that a page is made of."""
    from kgreason.release.digests import JSON

    file = folder / JSON if folder.is_dir() else folder
    if not file.is_file():
        what = (
            f"this is no folder of a release: {JSON} is missing"
            if folder.exists()
            else "there is no such folder"
        )
        hint = "name the private folder that anonymize has written, such as private/"
        raise ReleaseError(f"{folder}: {what}", hint=hint)
    return file
