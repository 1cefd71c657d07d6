"""The part of ``attack`` that infers sensitive links from released ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgreason.choices import THRESHOLDS
from kgreason.cli.base import load_rules, print_json
from kgreason.cli.every import parameter
from kgreason.cli.links_releasing import read
from kgreason.cli.people import FILES, Kinds, the_schema
from kgreason.cli.refusing import given, refuse
from kgreason.errors import CallError

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.graph.links.model import Original
    from kgreason.progress import Progress

PANEL = "Links: noisy-or"
_option = partial(parameter, rich_help_panel=PANEL)
OPTIONS = (
    _option(
        *("sensitive", list[str] | None, None),
        metavar="NAME",
        help="The relation that is inferred; rules may name it by @sensitive.",
    ),
    _option(
        *("noise", list[str] | None, None),
        metavar="NAME=P",
        help="Probability with which a link of an observed relation causes a sensitive one; repeatable, one for each.",
    ),
    _option(
        *("leak", float, 0.0),
        min=0,
        max=1,
        help="Probability of a sensitive link without any observed cause.",
    ),
    _option(
        *("thresholds", str | None, None),
        metavar="P,...",
        show_default=",".join(f"{at:g}" for at in THRESHOLDS),
        help="Pairs that are believed in with more than these probabilities are predicted.",
    ),
    _option(
        *("sharp", bool, False),
        help="Of constrained clusters: let the adversary use which of them are linked.",
    ),
    _option(
        *("worlds", int, 100),
        min=1,
        help="With rules: how many ways to place the links of clusters are drawn.",
    ),
)
"""What `kgreason.attack_links` takes besides what it shares with `kgreason.attack`."""
OF_LINKS = (*(option.name for option in (*OPTIONS, *FILES)), "schema")


def attack(
    context: typer.Context,
    release: str,
    data: Sequence[str],
    rules: Path | None,
    mapping: Path,
    schema: Path | None,
    kinds: Kinds,
    *,
    sensitive: str | None,
    other_rules: Path | None,
    noise: Sequence[str] | None,
    leak: float,
    thresholds: str | None,
    sharp: bool,
    worlds: int | None,
    seed: int | None,
    as_json: bool,
) -> int:
    """Infer sensitive links, and compare them with the truth."""
    from kgreason import api
    from kgreason.links.arguments import meaningless
    from kgreason.links.folder import read_released
    from kgreason.terminal import progress

    if noise and (rules or other_rules):
        hint = "leave out --noise, or --rules; a rule has its probability by @label"
        raise CallError("an adversary infers by noise, or by rules", hint=hint)
    if other_rules and (rules is None or schema or any(kinds.values())):
        what = "--other-rules are an adversary's where --rules say what is true, and here they do not"
        raise CallError(what, hint="say his rules by --rules")
    by_rules = rules is not None
    if not by_rules:
        refuse(context, ("worlds", "seed"), "with --noise", "infer by --rules")
    else:
        refuse(context, ["sharp"], "with --rules", "infer by --noise")
    worlds = given(context, "worlds", worlds)
    asked: dict[str, Any] = {"leak": leak, "seed": seed, "worlds": worlds, "sharp": sharp}
    if thresholds is not None:
        asked["thresholds"] = _numbers(thresholds)
    with progress() as shown:
        found = read_released(Path(release))
        if not by_rules and not noise and found.strategy != "removed":
            hint = "say --noise NAME=P for each observed relation, or --rules FILE"
            raise CallError("it is not said how the adversary infers", hint=hint)
        for option, where in meaningless(found, by_rules=by_rules).items():
            refuse(context, [option], where)
        infers = other_rules or rules
        if infers is None:
            asked["noise"] = _noise(noise or ())
        else:
            asked["rules"] = load_rules(infers, given=found.graph.observed)
            sensitive = _the_sensitive(asked["rules"], sensitive)
        original = _original(data, rules, schema, kinds, sensitive, shown)
        told = api.attack_links(found, original, mapping, progress=shown, **asked)
    if as_json:
        print_json({"format": 1, "strategy": found.strategy, **told.as_dict()})
    else:
        print(told)
    return 0


def _original(
    data: Sequence[str],
    rules: Path | None,
    schema: Path | None,
    kinds: Kinds,
    sensitive: str | None,
    progress: Progress,
) -> Original:
    """The graph with its secret: of triples if anything says what they hold, else under the rules."""
    if rules is not None and not (schema or any(kinds.values())):
        return read(None, rules, data, sensitive, progress)
    return read(the_schema(data, schema, kinds), None, None, sensitive, progress)


def _the_sensitive(program: CheckedProgram, said: str | None) -> str | None:
    """What is inferred: what is said, or what the adversary's rules name; both must be one if both are there."""
    named = program.sensitive
    if said is not None and named and said not in named:
        hint = "leave out --sensitive, or take @sensitive out of the rules"
        raise CallError(f"the rules call {named[0]} sensitive, and --sensitive says {said}", hint=hint)
    return said or (named[0] if len(named) == 1 else None)


def _noise(texts: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name:
            raise CallError(
                f"--noise {text} names no relation", hint="say for instance --noise classmates=0.4"
            )
        if "=" in name:
            raise CallError(f"--noise {text} names several relations", hint="say --noise once for each")
        if name in found:
            raise CallError(f"the noise of {name} is said twice", hint="say it once")
        found[name] = _number(number, f"--noise {name}")
    return found


def _numbers(text: str) -> list[float]:
    return [_number(part, "each of --thresholds") for part in text.split(",")]


def _number(text: str, where: str) -> float:
    from kgreason.arguments import check_probabilities

    try:
        number: float | str = float(text)
    except ValueError:
        number = text
    check_probabilities(**{where: number})
    return float(number)
