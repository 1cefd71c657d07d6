"""The command that makes the page of a report again: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgreason.cli.base import check_free, guarded, print_json
from kgreason.cli.options import AsJson, Force
from kgreason.errors import ReleaseError

SECRET = "It tells of the original: keep it secret."


@guarded
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Private folder of a release, or its report.json; or the release folder."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write the page; default: report.html there."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Make the page of a report again, from report.json: for instance after an update of kgreason."""
    from kgreason.data.whole_files import replacing
    from kgreason.imprint import renewed
    from kgreason.report.json import read_report
    from kgreason.report.write import HTML, write_page

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
    if out is None and (told := renewed(file.parent, HTML)) is not None:
        with replacing(file) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_text(told, encoding="utf-8")
    if as_json:
        print_json(
            {
                "format": 1,
                "page": str(page),
                "secret": found.secret,
                "state": found.state,
                "verdict": found.verdict,
            }
        )
    else:
        print(f"{page}: {found.title}, {found.verdict}")
        if found.secret:
            print(SECRET)
    return 0


def _published(folder: Path) -> bool:
    """Whether a folder is that of a release."""
    from kgreason.release.written import KINDS

    return (
        any((folder / mark).is_file() for mark, _, _ in KINDS.values()) and (folder / "README.txt").is_file()
    )


def _file(folder: Path) -> Path:
    """The JSON that a page is made of."""
    from kgreason.report.write import JSON

    if not folder.exists():
        raise ReleaseError(
            f"{folder}: there is no such folder",
            hint="name the private folder that anonymize has written, such as private/",
        )
    file = folder / JSON if folder.is_dir() else folder
    if not file.is_file():
        raise ReleaseError(
            f"{folder}: this is no folder of a release: {JSON} is missing",
            hint="name the private folder that anonymize has written, such as private/",
        )
    return file
