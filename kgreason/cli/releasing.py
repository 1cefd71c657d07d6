"""The command that makes releases of graphs under rules: anonymize."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from kgreason.cli import options
from kgreason.cli.commands import guarded, load_rules, refuse, sources
from kgreason.cli.options import names, option, taking
from kgreason.cli.releases import FOLDERS, publish
from kgreason.cli.run import complain
from kgreason.isomorphism.settings import Settings

PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. Without `--mode published` every subgraph is protected."
)
SETTINGS = options.settings_options(Settings, x=options.X)


@guarded
@taking(
    options.RULES,
    options.DATA,
    *SETTINGS,
    *FOLDERS,
    option("--format", options.Format | None, "Of the tables to publish; default: that of the input."),
    options.AS_JSON,
)
def anonymize(
    context: typer.Context,
    rules: Path,
    data: list[str] | None,
    release: Path,
    private: Path,
    force: bool,
    format: options.Format | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Make an anonymous version of a graph under rules, and prove that it is.

    Graphs of people and links have commands of their own: kgreason people, kgreason links.
    """
    from kgreason.cli import terminal
    from kgreason.isomorphism import api

    if asked["split"] is None:
        refuse(context, ["keep_cuts"], "without --split", "say for instance --split 1000")
    chosen = {name: asked[name] for name in names(*SETTINGS)}

    def make(folders: Any) -> Any:
        program = load_rules(rules)
        with terminal.progress() as shown:
            return api.anonymize(program, sources(data), **chosen, folders=folders, progress=shown)

    result, code = publish(
        make,
        terminal.anonymization_rows,
        release=release,
        private=private,
        force=force,
        format=format,
        as_json=as_json,
        seeded=asked["seed"] is not None,
        failed="which subgraphs are not protected",
    )
    if asked["method"] == "kguard" and asked["mode"] == "published" and not result.verdict["images"].holds:
        complain(PUBLISHED_MAY_FAIL)
    return code
