"""The command that attacks releases of graphs under rules: attack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from kgreason.base.errors import AnonymizationError
from kgreason.cli import options
from kgreason.cli.commands import guarded, load_rules, print_json, sources, tables
from kgreason.cli.options import REQUIRED, names, option, rule_files, taking

ATTACKERS = (
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


@guarded
@taking(
    options.RELEASE,
    options.RULES,
    options.DATA,
    options.mapping_file(Path, default=REQUIRED),
    *ATTACKERS,
    option(
        "--other-rules FILE",
        Path | None,
        "Rules of an attacker who has others than --rules.",
        autocompletion=rule_files,
    ),
    options.SEED,
    options.AS_JSON,
)
def attack(
    release: str, rules: Path, data: Sequence[str] | None, mapping: Path, as_json: bool, **asked: Any
) -> int:
    """Simulate attackers on a release: what each knows, whom he finds, and whether the guarantee stands up to him."""
    from kgreason.cli.terminal import progress
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.reading import read_pair

    original = sources(data)
    program = load_rules(rules, given=original)
    chosen = {name: asked[name] for name in (*names(*ATTACKERS), "seed")}
    chosen["knowledge"] = chosen["knowledge"] or "all"
    if (others := asked["other_rules"]) is not None:
        chosen["other_rules"] = load_rules(others)
    with progress() as shown:
        shown.step("Reading")
        pair = read_pair(program, original, tables(program, [release]), mapping)
        if chosen["seeds"] is not None:
            chosen["seeds"] = _seeds(chosen["seeds"])
        graphs = pair.original, pair.released, pair.mapping
        found = assessment.attack(*graphs, program, **chosen, parts=pair.parts, progress=shown)
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
