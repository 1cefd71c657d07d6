"""Command that attacks releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kgreason.cli import attacking_links
from kgreason.cli.attacking_links import OF_LINKS
from kgreason.cli.base import guarded, load_rules, print_json, sources, tables
from kgreason.cli.completing import rule_files
from kgreason.cli.every import taking
from kgreason.cli.links_releasing import one_sensitive
from kgreason.cli.options import DEFAULT_X, AsJson, K, Known, Original, Release, Seed, X
from kgreason.cli.people import FILES, SchemaFile, kinds_of
from kgreason.cli.refusing import refuse
from kgreason.errors import AnonymizationError, CallError

AttackedMapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping", metavar="FILE", help="The private folder, or the table original,released in it."
    ),
]
AttackRules = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        autocompletion=rule_files,
        help="Rule file (.vada). Of links: what an adversary infers by; with --data PRED=FILE also what is true.",
    ),
]
AttackModel = Annotated[
    Literal["parts", "noisy-or"],
    typer.Option(
        "--model",
        help="Who attacks: those who look for vertices and parts that they know (parts), or who infers sensitive links "
        "from released ones (noisy-or).",
    ),
]
Knowledge = Annotated[
    list[str] | None,
    typer.Option(
        "--knowledge",
        show_default="all",
        help="What the attacker knows; repeatable: part (or one of its rows, as part:weights+rules), degree, "
        "neighbourhood, hubs, refinement:I, seeds, all.",
    ),
]
OtherRules = Annotated[
    Path | None,
    typer.Option(
        "--other-rules",
        metavar="FILE",
        autocompletion=rule_files,
        help="Rules of an attacker who has others than --rules; of links, these then say what is true.",
    ),
]
Targets = Annotated[
    int, typer.Option("--targets", min=1, help="How many vertices, and parts of each size, are looked for.")
]
Seeds = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        metavar="N|FILE",
        show_default="10",
        help="How many vertices the attacker has already, or a file with a label a line.",
    ),
]
Drop = Annotated[
    float | None,
    typer.Option(
        "--drop",
        min=0,
        max=1,
        metavar="SHARE",
        show_default="as many as are synthetic",
        help="Share of the released edges dropped as implausible.",
    ),
]
Weights = Annotated[
    Literal["released", "original"],
    typer.Option(
        "--weights", help="Which weights the attacker knows of his part; released is the worst case."
    ),
]
OF_PARTS = "knowledge", "k", "x", "known", "weights", "targets", "seeds", "drop"


@guarded
@taking(*attacking_links.OPTIONS, *FILES)
def attack(
    context: typer.Context,
    release: Release,
    rules: AttackRules = None,
    data: Original = None,
    mapping: AttackedMapping = None,
    model: AttackModel = "parts",
    knowledge: Knowledge = None,
    k: K = 3,
    x: X = DEFAULT_X,
    known: Known = None,
    other_rules: OtherRules = None,
    weights: Weights = "released",
    targets: Targets = 300,
    seeds: Seeds = None,
    drop: Drop = None,
    schema: SchemaFile = None,
    seed: Seed = None,
    as_json: AsJson = False,
    **more: Any,
) -> int:
    """Simulate attackers on a release: what each knows, whom he finds, and whether the guarantee stands up to him.

    With --model noisy-or, on a release of links: how many of the sensitive ones can be inferred from it.
    """
    from kgreason import api
    from kgreason.isomorphism.reading import read_pair
    from kgreason.terminal import progress

    if mapping is None:
        raise CallError("who is who in this release is not said", hint="say --mapping FILE")
    if model == "noisy-or":
        refuse(context, OF_PARTS, "in attacks of links", "leave out --model noisy-or")
        kinds, sensitive = kinds_of(more), one_sensitive(more.pop("sensitive"))
        return attacking_links.attack(
            *(context, release, data or [], rules, mapping, schema, kinds),
            sensitive=sensitive,
            other_rules=other_rules,
            seed=seed,
            as_json=as_json,
            **more,
        )
    refuse(context, OF_LINKS, "in attacks of parts", "say --model noisy-or")
    if rules is None:
        hint = "say --rules FILE; a release of links is attacked with --model noisy-or"
        raise CallError("the attackers know rules, and none are named", hint=hint)
    original = sources(data)
    program = load_rules(rules, given=original)
    others = None if other_rules is None else load_rules(other_rules)
    with progress() as shown:
        shown.step("Reading")
        pair = read_pair(program, original, tables(program, [release]), mapping)
        found = api.attack(
            *(pair.original, pair.released, pair.mapping, program),
            knowledge=knowledge or "all",
            k=k,
            x=x,
            known=known,
            other_rules=others,
            weights=weights,
            targets=targets,
            seeds=None if seeds is None else _seeds(seeds),
            drop=drop,
            parts=pair.parts,
            seed=seed,
            progress=shown,
        )
    if as_json:
        print_json(found.as_dict())
    else:
        print(found)
    return int(not found.as_promised)


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
