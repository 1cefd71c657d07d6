"""Commands on what attackers find in graphs of people: risk, attack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgreason.base.errors import CallError, ReleaseError
from kgreason.cli import options, terminal
from kgreason.cli.commands import check_free, command, original_schemas, print_json, refuse, the_schema
from kgreason.cli.options import FILES, ORIGINAL, REQUIRED, argument, option
from kgreason.cli.releases import check_for_each, check_releases
from kgreason.cli.run import tell

K_VALUES = option("--k-values FILE", str, "Table user,k: how many candidates each user asks for.")
CONFIDENCE = "Highest confidence with which an attacker may conclude something about a user, such as 0.2."
SENSITIVE = option(
    "--sensitive ATTRIBUTE",
    list[str],
    "With --confidence: an attribute whose values attackers should not conclude from the class of a user; repeatable.",
)


@command(
    options.SOURCES,
    option("-k --k N", int, "How many candidates each user asks for.", least=1, show_default="3"),
    K_VALUES,
    option("--confidence C", float, f"{CONFIDENCE} Recommends a k for each user."),
    SENSITIVE,
    option(
        "--exposed N", int, "Print the N users with the highest risk; keep the output secret.", 0, least=0
    ),
    option("--out FILE", Path, "CSV file with a row for each user, readable by you alone."),
    option(
        "--k-out FILE",
        Path,
        "With --confidence: write the recommended k as a table for --k-values of anonymize, readable by you alone.",
    ),
    options.FORCE,
    options.AS_JSON,
    *FILES,
)
def risk(
    data: Sequence[str],
    k: int | None,
    k_values: str | None,
    confidence: float | None,
    sensitive: Sequence[str],
    exposed: int,
    out: Path | None,
    k_out: Path | None,
    force: bool,
    as_json: bool,
    **files: Any,
) -> int:
    """Measure the risks of a graph of people before it is anonymized, and recommend a k for each user."""
    from kgreason.people import api

    if confidence is None:
        refuse(("sensitive", "k_out"), "without --confidence", "say --confidence C")
    for place in (out, k_out):
        if place is not None:
            if not place.parent.is_dir():
                raise ReleaseError(f"{place}: there is no folder {place.parent}", hint="make it first")
            check_free(place, force)
    if out is not None and k_out is not None and out.resolve() == k_out.resolve():
        raise CallError("--out and --k-out name one file", hint="name two")
    with terminal.progress() as shown:
        found = api.risk(
            the_schema(data, files),
            k=k,
            k_values=k_values,
            confidence=confidence,
            sensitive=sensitive,
            progress=shown,
        )
    if out is not None:
        found.write(out)
    if k_out is not None:
        found.write_levels(k_out)
    if as_json:
        print_json(found.as_dict(exposed))
    else:
        print(found.text(exposed))
    if exposed:
        tell("The named users are the most exposed ones: keep this output secret.")
    return 0


@command(
    argument(
        "releases", list[str], "RELEASE", "Folder of the release; of a series several, the latest last."
    ),
    option(
        "--mapping FILE",
        list[Path],
        "The private folder, or the table original,released in it; of a series one for each release.",
        REQUIRED,
    ),
    ORIGINAL,
    option(
        "-k --k N",
        int,
        "How many candidates each user asks for.",
        least=1,
        show_default="as the release says",
    ),
    K_VALUES,
    option("--targets N", int, "Attack N users, drawn at random; rates then have 95 % intervals.", least=1),
    option("--confidence C", float, CONFIDENCE),
    SENSITIVE,
    options.SEED,
    options.AS_JSON,
    *FILES,
)
def attack(
    releases: Sequence[str], mapping: Sequence[Path], original: Sequence[str], as_json: bool, **asked: Any
) -> int:
    """Look for each user in a release by the values and numbers of links that an attacker may know.

    Exit code 0: each user has as many candidates as its level, for knowledge of what the release shows. 1: some have
    fewer. 2: bad usage or input.
    """
    from kgreason.people import api
    from kgreason.people.folder import read_published
    from kgreason.people.result import Claim
    from kgreason.release.folder_contents import readme_text

    k, k_values, several = asked["k"], asked["k_values"], len(releases) > 1
    if several:
        refuse(("k_values", "sensitive", "confidence"), "with several releases")
    if bool(asked["sensitive"]) != (asked["confidence"] is not None):
        raise CallError("--sensitive and --confidence belong together", hint="say both, or neither")
    check_releases(releases, mapping)
    schemas = original_schemas(original, asked, several=several)
    check_for_each(releases, "--original", schemas)
    check_for_each(releases, "--mapping", mapping)
    with terminal.progress() as shown:
        found = [
            read_published(Path(release), schema, place, shown)
            for release, schema, place in zip(releases, schemas, mapping, strict=True)
        ]
    if k is None and k_values is None:
        claim = Claim.found(readme_text(Path(releases[-1])))
        if claim is not None and claim.k is None:
            raise CallError("each user of this release has an own k", hint="say --k-values FILE, or -k N")
        k = None if claim is None else claim.k
    sources = [one.source for one in found if one.source is not None]
    attacks = api.attack(
        [source.graph for source in sources],
        [one.graph for one in found],
        [source.mapping for source in sources],
        k=k,
        k_values=k_values,
        **{name: asked[name] for name in ("targets", "sensitive", "confidence", "seed")},
    )
    if as_json:
        print_json(attacks.as_dict())
    else:
        print(attacks)
    return int(not attacks.holds)
