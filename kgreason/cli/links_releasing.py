"""Options and output of `kgreason anonymize` for links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgreason.choices import Strategy
from kgreason.cli.base import load_rules, sources
from kgreason.cli.every import parameter
from kgreason.cli.people import FILES
from kgreason.cli.people_releasing import OF_PEOPLE, OF_RULES
from kgreason.cli.refusing import refuse
from kgreason.errors import CallError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.graph.links.model import Original
    from kgreason.graph.people.sources import Schema
    from kgreason.progress import Progress
    from kgreason.release.publication import Folders

PANEL = "Links: links"
_option = partial(parameter, rich_help_panel=PANEL)
NAMED = ("schema", *(option.name for option in FILES))
OPTIONS = (
    _option(
        *("sensitive", list[str] | None, None),
        metavar="NAME",
        help="The relation that must not be told; under rules, in place of the one that @sensitive names.",
    ),
    _option(
        *("strategy", Strategy, "cluster-edge"),
        help="What is released of the observed links: all (intact), a share of them (partial), their numbers between "
        "clusters of entities (cluster-edge), the largest number that two entities of these have (constrained), none "
        "(removed).",
    ),
    _option(
        *("percent", float | None, None),
        min=0,
        max=100,
        show_default="50",
        help="Of partial: share that is left out of each relation.",
    ),
    _option(
        *("clusters", str | None, None),
        metavar="FILE",
        help="Table user,cluster: which entities go together, in place of --clustering, which may also be random.",
    ),
)
"""What `kgreason.anonymize_links` takes besides what it shares with others."""
OF_LINKS = tuple(option.name for option in OPTIONS)
OTHERS = (
    *(name for name in OF_PEOPLE if name not in (*NAMED, "clustering")),
    *(name for name in OF_RULES if name != "rules"),
    "mode",
)


def anonymize(
    context: typer.Context,
    folders: Folders,
    schema: Schema | None,
    rules: Path | None,
    data: Sequence[str] | None,
    *,
    sensitive: str | None,
    strategy: Strategy,
    as_json: bool,
    seed: int | None,
    **asked: Any,
) -> int:
    """Anonymize links, and check what is released.

    Parameters
    ----------
    schema
        Where they are; `None`: rules say it.
    """
    from kgreason import api
    from kgreason.cli.finishing import finish
    from kgreason.terminal import print_links, progress

    refuse(context, OTHERS, "with --method links")
    if rules is not None:
        refuse(context, NAMED, "with --method links under rules")
    with progress() as shown:
        program = None if rules is None else program_of(rules, data)
        result = api.anonymize_links(
            _named(schema, sensitive) if program is None else sources(data),
            rules=program,
            sensitive=sensitive,
            strategy=strategy,
            folders=folders,
            seed=seed,
            progress=shown,
            **asked,
        )
    return finish(result, folders, print_links, "what does not hold", as_json=as_json, seed=seed)


def read(
    schema: Schema | None,
    rules: Path | None,
    data: Sequence[str] | None,
    sensitive: str | None,
    progress: Progress,
) -> Original:
    """Read the graph that a schema or rules name, with its secret.

    Raises
    ------
    CallError
        If it is not said which relation is sensitive.
    """
    from kgreason import api
    from kgreason.graph.links.read import read_links

    progress.step("Reading")
    if rules is not None:
        program = program_of(rules, data)
        return api.links_of_rules(program, sources(data), sensitive=sensitive, progress=progress)
    return read_links(_named(schema, sensitive), sensitive or "", progress)


def one_sensitive(given: Sequence[str] | None) -> str | None:
    """The relation that ``--sensitive`` names.

    Raises
    ------
    CallError
        If it names several: all but one would be published.
    """
    names = [name.strip() for text in given or () for name in text.split(",")]
    if len(names) > 1:
        rest = ", ".join(f'"{name}"' for name in names[1:])
        hint = (
            f"name {names[0]} alone, and leave the rest out of the release: in a schema by ignore = [{rest}] under "
            "[kinds]; of rules, take its @edge out"
        )
        what = f"one relation can be sensitive, and {len(names)} are named: {', '.join(names)}"
        raise CallError(what, hint=hint)
    return names[0] if names else None


def program_of(rules: Path, data: Sequence[str] | None) -> CheckedProgram:
    """Load rules whose facts may come from ``--data``."""
    return load_rules(rules, given=[text.split("=", 1)[0] for text in data or ()])


def _named(schema: Schema | None, sensitive: str | None) -> Schema:
    """A schema whose sensitive relation is said."""
    assert schema is not None
    if sensitive is None:
        raise CallError(
            "it is not said which relation is sensitive",
            hint="name it with --sensitive, for instance friends",
        )
    return schema
