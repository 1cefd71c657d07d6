"""Command that attacks releases, of graphs under rules and of links: attack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from kgreason.base.errors import AnonymizationError, CallError
from kgreason.cli import options
from kgreason.cli.commands import (
    given,
    guarded,
    holding,
    load_rules,
    print_json,
    refuse,
    sources,
    tables,
    the_schema,
)
from kgreason.cli.options import FILES, names, option, rule_files, taking
from kgreason.cli.releasing import one_sensitive, read_links
from kgreason.links.settings import THRESHOLDS

if TYPE_CHECKING:
    from kgreason.language.check.checked_program import CheckedProgram

PARTS_ALONE = (
    option(
        "--knowledge",
        list[str] | None,
        "What the attacker knows; repeatable: part (or one of its rows, as part:weights+rules), degree, neighbourhood, "
        "hubs, refinement:I, seeds, all.",
        show_default="all",
    ),
    options.K,
    options.X,
    option(
        "--known N|A..B",
        range | None,
        "Vertices of the parts that the attacker knows, at most 8.",
        parser=options.sizes,
        show_default="x, one less and one more",
    ),
    option(
        "--weights",
        Literal["released", "original"],
        "Which weights the attacker knows of his part; released is the worst case.",
        "released",
    ),
    option("--targets", int, "How many vertices, and parts of each size, are looked for.", 300, min=1),
    option(
        "--seeds N|FILE",
        str | None,
        "How many vertices the attacker has already, or a file with a label a line.",
        show_default="10",
    ),
    option(
        "--drop SHARE",
        float | None,
        "Share of the released edges dropped as implausible.",
        min=0,
        max=1,
        show_default="as many as are synthetic",
    ),
)
"""What `kgreason.attack` takes, and `kgreason.links.attack` does not."""
_of_links = partial(option, rich_help_panel="Links: noisy-or")
LINKS_ALONE = (
    _of_links(
        "--sensitive NAME",
        list[str] | None,
        "The relation that is inferred; rules may name it by @sensitive.",
    ),
    _of_links(
        "--noise NAME=P",
        list[str] | None,
        "Probability with which a link of an observed relation causes a sensitive one; repeatable, one for each.",
    ),
    _of_links(
        "--leak", float, "Probability of a sensitive link without any observed cause.", 0.0, min=0, max=1
    ),
    _of_links(
        "--thresholds P,...",
        str | None,
        "Pairs that are believed in with more than these probabilities are predicted.",
        show_default=",".join(f"{at:g}" for at in THRESHOLDS),
    ),
    _of_links("--sharp", bool, "Of constrained clusters: let the adversary use which of them are linked."),
    _of_links(
        "--worlds", int, "With rules: how many ways to place the links of clusters are drawn.", 100, min=1
    ),
)
"""What `kgreason.links.attack` takes besides what it shares with `kgreason.attack`."""


@guarded
@taking(
    options.RELEASE,
    options.rules_file(
        Path | None,
        "Rule file (.vada). Of links: what an adversary infers by; with --data PRED=FILE also what is true.",
    ),
    options.ORIGINAL,
    options.mapping_file(Path | None),
    option(
        "--model",
        Literal["parts", "noisy-or"],
        "Who attacks: those who look for vertices and parts that they know (parts), or who infers sensitive links from "
        "released ones (noisy-or).",
        "parts",
    ),
    *PARTS_ALONE,
    option(
        "--other-rules FILE",
        Path | None,
        "Rules of an attacker who has others than --rules; of links, these then say what is true.",
        autocompletion=rule_files,
    ),
    options.SCHEMA,
    options.SEED,
    options.AS_JSON,
    *LINKS_ALONE,
    *FILES,
)
def attack(context: typer.Context, mapping: Path | None, model: str, as_json: bool, **asked: Any) -> int:
    """Simulate attackers on a release: what each knows, whom he finds, and whether the guarantee stands up to him.

    With --model noisy-or, on a release of links: how many of the sensitive ones can be inferred from it.
    """
    if mapping is None:
        raise CallError("who is who in this release is not said", hint="say --mapping FILE")
    make = _of_parts if model == "parts" else _of_noise
    shown, found, code = make(context, mapping, asked)
    if as_json:
        print_json(shown)
    else:
        print(found)
    return code


Told = tuple[Mapping[str, Any], object, int]
"""What is printed as JSON, and as text, and the exit code."""


def _of_parts(context: typer.Context, mapping: Path, asked: Mapping[str, Any]) -> Told:
    """Look for vertices and parts in a release of a graph under rules."""
    from kgreason.cli.terminal import progress
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.reading import read_pair

    refuse(context, ("schema", *names(*LINKS_ALONE, *FILES)), "in attacks of parts", "say --model noisy-or")
    if asked["rules"] is None:
        hint = "say --rules FILE; a release of links is attacked with --model noisy-or"
        raise CallError("the attackers know rules, and none are named", hint=hint)
    original = sources(asked["data"])
    program = load_rules(asked["rules"], given=original)
    chosen = {name: asked[name] for name in (*names(*PARTS_ALONE), "seed")}
    chosen["knowledge"] = chosen["knowledge"] or "all"
    if (others := asked["other_rules"]) is not None:
        chosen["other_rules"] = load_rules(others)
    with progress() as shown:
        shown.step("Reading")
        pair = read_pair(program, original, tables(program, [asked["release"]]), mapping)
        if chosen["seeds"] is not None:
            chosen["seeds"] = _seeds(chosen["seeds"])
        graphs = pair.original, pair.released, pair.mapping
        found = assessment.attack(*graphs, program, **chosen, parts=pair.parts, progress=shown)
    return found.as_dict(), found, int(not found.as_promised)


def _seeds(given: str) -> int | list[str]:
    if given.isdecimal() and len(given) < 19:
        return int(given)
    file = Path(given)
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "say how many seeds are drawn, or name a file with an original label a line"
        raise AnonymizationError(f"{file}: cannot be read: {why}", hint=hint) from error


def _of_noise(context: typer.Context, mapping: Path, asked: Mapping[str, Any]) -> Told:
    """Infer sensitive links from a release of links, and compare them with the truth."""
    from kgreason.cli.terminal import progress
    from kgreason.links import api
    from kgreason.links.arguments import meaningless
    from kgreason.links.folder import read_released

    refuse(context, names(*PARTS_ALONE), "in attacks of links", "leave out --model noisy-or")
    rules, other_rules, noise = asked["rules"], asked["other_rules"], asked["noise"]
    schema, sensitive = asked["schema"], one_sensitive(asked["sensitive"])
    if noise and (rules or other_rules):
        hint = "leave out --noise, or --rules; a rule has its probability by @label"
        raise CallError("an adversary infers by noise, or by rules", hint=hint)
    in_files = schema or holding(asked)
    if other_rules and (rules is None or in_files):
        what = "--other-rules are an adversary's where --rules say what is true, and here they do not"
        raise CallError(what, hint="say his rules by --rules")
    by_rules = rules is not None
    if by_rules:
        refuse(context, ["sharp"], "with --rules", "infer by --noise")
    else:
        refuse(context, ("worlds", "seed"), "with --noise", "infer by --rules")
    chosen = {name: asked[name] for name in ("leak", "seed", "sharp")}
    chosen["worlds"] = given(context, "worlds", asked["worlds"])
    if asked["thresholds"] is not None:
        chosen["thresholds"] = [
            _number(part, "each of --thresholds") for part in asked["thresholds"].split(",")
        ]
    with progress() as shown:
        found = read_released(Path(asked["release"]))
        if not by_rules and not noise and found.strategy != "removed":
            hint = "say --noise NAME=P for each observed relation, or --rules FILE"
            raise CallError("it is not said how the adversary infers", hint=hint)
        for name, where in meaningless(found, by_rules=by_rules).items():
            refuse(context, [name], where)
        if by_rules:
            chosen["rules"] = load_rules(other_rules or rules, given=found.graph.observed)
            sensitive = _the_sensitive(chosen["rules"], sensitive)
        else:
            chosen["noise"] = _noise(noise or ())
        if by_rules and not in_files:  # else triples, if anything says what they hold
            original = read_links(None, rules, asked["data"], sensitive, shown)
        else:
            original = read_links(the_schema(asked["data"], schema, asked), None, None, sensitive, shown)
        told = api.attack(found, original, mapping, progress=shown, **chosen)
    return {"format": 1, "strategy": found.strategy, **told.as_dict()}, told, 0


def _the_sensitive(program: CheckedProgram, said: str | None) -> str | None:
    """What is inferred: what is said, or what the adversary's rules name; both must be one if both are there."""
    named = program.sensitive
    if said is not None and named and said not in named:
        hint = "leave out --sensitive, or take @sensitive out of the rules"
        raise CallError(f"the rules call {named[0]} sensitive, and --sensitive says {said}", hint=hint)
    return said or (named[0] if len(named) == 1 else None)


def _noise(texts: Iterable[str]) -> dict[str, float]:
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


def _number(text: str, where: str) -> float:
    from kgreason.base.argument_checks import check_probabilities

    try:
        number: float | str = float(text)
    except ValueError:
        number = text
    check_probabilities(**{where: number})
    return float(number)
