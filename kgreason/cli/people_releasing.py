"""Options and output of `kgreason anonymize` for graphs of people."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import typer

from kgreason.anonymizers.people.settings import Settings
from kgreason.choices import Loss, Mode, Partition, PeopleMethod
from kgreason.cli.every import parameter
from kgreason.cli.people import FILES
from kgreason.cli.refusing import refuse

if TYPE_CHECKING:
    from kgreason.graph.people.sources import Schema
    from kgreason.release.publication import Folders

PANEL = "Graphs of people: cdga, ckga, ctkga, pckga, k-degree"
_option = partial(parameter, rich_help_panel=PANEL)
_OWN = "the method's own"
_SETTINGS: dict[str, dict[str, Any]] = {
    "loss": {"help": "Compare users by attributes and degrees (adm), or by truth of pairs of values (atdm)."},
    "alpha": {
        "min": 0,
        "max": 1,
        "metavar": "P",
        "help": "Share of attributes in the loss; the rest is of degrees.",
    },
    "clustering": {
        "show_default": _OWN,
        "metavar": "NAME",
        "help": "vac, degrees, merging, k-means, k-medoids, hdbscan, hdb-star, or a clusterer of scikit-learn by name.",
    },
    "partition": {
        "show_default": _OWN,
        "help": "How clusters are brought to enough users, and not too many.",
    },
    "tau": {
        "min": 0,
        "max": 1,
        "metavar": "P",
        "help": "How far users whom clustering left over may be from those they join; less removes outliers. Not of "
        "pckga in exact mode.",
    },
    "removal_price": {
        "metavar": "P",
        "help": "Of pckga in exact mode: what a removed user costs, where 1 is all that can be lost of a user who "
        "stays; more removes fewer.",
    },
    "omega": {
        "min": 0,
        "max": 1,
        "metavar": "P",
        "help": "Of merging: share of the invalid clusters looked at in each step.",
    },
    "epsilon": {
        "min": 1,
        "show_default": "2k",
        "metavar": "N",
        "help": "Of merging: most users of a cluster.",
    },
    "dimensions": {
        "min": 1,
        "metavar": "N",
        "help": "Of the points that stand for users, and of the vectors of atdm's indicator.",
    },
    "window": {
        "min": 1,
        "metavar": "N",
        "help": "Of ctkga: number of consecutive releases that an attacker may put together.",
    },
    "left_out": {
        "help": "Of ctkga: leave users out with those of their likes who left, while these are too few (withhold), or "
        "let fake users take the places of those who left (replace)."
    },
    "sequence": {"help": "Of k-degree: degrees at the least cost (dp), or by a quick choice (greedy)."},
    "construction": {
        "help": "Of k-degree: change as few edges as possible (relaxed), keep all (supergraph), or make a new graph of "
        "which degrees alone are kept (construct)."
    },
    "tries": {
        "min": 1,
        "metavar": "N",
        "help": "Of k-degree: how many sequences of degrees are tried until a graph has one.",
    },
}
_DEFAULTS = {f.name: f.default for f in fields(Settings)}
_TYPES = get_type_hints(Settings)
OPTIONS = (
    _option(
        *("k_values", str | None, None),
        metavar="FILE",
        help="Table user,k: each user's own k, for pckga; default: -k for all.",
    ),
    *(_option(name, _TYPES[name], _DEFAULTS[name], **said) for name, said in _SETTINGS.items()),
    _option(
        *("after", Path | None, None),
        metavar="DIR",
        help="Of ctkga: private folder of the release before; none for the first.",
    ),
)
"""What `kgreason.anonymize_people` takes besides what it shares with `kgreason.anonymize`."""
OF_PEOPLE = ("schema", *(option.name for option in (*FILES, *OPTIONS)))
OF_RULES = ("rules", "x", "trials", "max_subgraphs", "split", "keep_cuts")


def refuse_unused(
    context: typer.Context,
    method: str,
    mode: Mode,
    loss: Loss,
    clustering: str | None,
    partition: Partition | None,
) -> None:
    """Refuse options that have no meaning with others."""
    chosen = Settings(cast(PeopleMethod, method), mode, loss, clustering=clustering, partition=partition)
    for name in chosen.unused():
        other = chosen.instead(name)
        says = f"say --{other.replace('_', '-')}" if other else ""
        refuse(context, (name,), f"with --method {method}", says)


def anonymize(schema: Schema, folders: Folders, *, as_json: bool, seed: int | None, **asked: Any) -> int:
    """Anonymize a graph of people, and prove it."""
    from kgreason import api
    from kgreason.cli.finishing import finish
    from kgreason.terminal import print_people, progress

    with progress() as shown:
        result = api.anonymize_people(schema, folders=folders, seed=seed, progress=shown, **asked)
    return finish(result, folders, print_people, "what does not hold", as_json=as_json, seed=seed)
