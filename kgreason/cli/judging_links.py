"""The part of ``verify`` that judges releases of links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgreason.choices import Strategy
from kgreason.cli.base import print_json
from kgreason.cli.links_releasing import read
from kgreason.cli.people import Kinds, the_schema
from kgreason.errors import CallError


def verify(
    release: str,
    data: Sequence[str] | None,
    k: int | None,
    rules: Path | None,
    schemas: Sequence[Path],
    mappings: Sequence[Path],
    kinds: Kinds,
    sensitive: str | None,
    strategy: Strategy | None,
    percent: float | None,
    as_json: bool,
) -> int:
    """Decide whether a release of links is what its strategy says, and keeps the sensitive relation to itself.

    Parameters
    ----------
    kinds
        Attributes, numeric ones, relations and mutual ones of files of triples, and whether they are tables.
    """
    from kgreason import api
    from kgreason.terminal import links_rows, print_witnesses, progress, table

    known = bool(data or schemas or rules)
    if len(schemas) > 1 or len(mappings) > 1:
        raise CallError("links are of one release", hint="say --schema and --mapping once")
    if mappings and not known:
        hint = "name it with --schema or --data"
        raise CallError("who is who is said, but not of which original", hint=hint)
    if known and not mappings:
        hint = "say --mapping FILE, or name the release alone"
        raise CallError("the original is named, but who is who is not said", hint=hint)
    with progress() as shown:
        original = None
        if rules is not None and (schemas or any(kinds.values())):
            raise CallError("rules say what is read", hint="leave out --schema and the options of files")
        if rules is not None:
            original = read(None, rules, data, sensitive, shown)
        elif known:
            schema = the_schema(data, schemas[0] if schemas else None, kinds)
            original = read(schema, None, None, sensitive, shown)
        shown.step(f"Verifying {release}")
        verdict = api.verify_links(
            Path(release),
            original=original,
            mapping=mappings[0] if original is not None else None,
            sensitive=sensitive if original is None else None,
            k=k,
            strategy=strategy,
            percent=percent,
        )
    if as_json:
        print_json(verdict.as_dict())
    else:
        table(links_rows(verdict))
        print_witnesses(verdict)
    return int(not verdict.holds)
