"""What commands on releases of every family share: folders to write, and what is printed of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from kgreason.base.atomic_files import check_settled
from kgreason.base.errors import CallError
from kgreason.cli import terminal
from kgreason.cli.commands import counted, print_json
from kgreason.cli.options import option
from kgreason.cli.run import complain, tell

FOLDERS = (
    option("--release DIR", Path, "Folder to publish.", Path("release")),
    option("--private DIR", Path, "Folder to keep secret.", Path("private")),
    option("--force", bool, "Replace earlier releases in these folders."),
)
PlainFormat = Literal["csv", "tsv", "parquet"]
PLAIN_FORMAT = option("--format", PlainFormat, "Format of the released tables; default: that of the input.")


def publish(
    make: Callable[[Any], Any],
    rows: Callable[[Any], Sequence[tuple[str, str]]],
    asked: Mapping[str, Any],
    failed: str = "what does not hold",
) -> tuple[Any, int]:
    """Make a release, print the result, and return the result and the exit code.

    Parameters
    ----------
    make
        Makes the release in the folders that it is given.
    rows
        Rows of the table of a result.
    asked
        Values of options: those of `FOLDERS`, the format, the seed, and whether the result is printed as JSON.
    failed
        What the private report tells if the guarantee does not hold.
    """
    from kgreason.release.publication import Folders, interrupted

    release, private, seeded = asked["release"], asked["private"], asked["seed"] is not None
    folders = Folders(release, private, asked["force"], asked["format"])
    for mended in folders.check():
        tell(mended)
    result = make(folders)
    try:
        if asked["as_json"]:
            print_json({**result.summary(), "release": str(release), "private": str(private)})
        else:
            published = f"{release}/"
            if not result.holds:
                published = f"nothing; {published} is marked UNVERIFIED"
            elif seeded:
                published = f"nothing; {published} was made with a seed"
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in result.seconds.items())
            took = ("time", f"{sum(result.seconds.values()):.1f} s ({stages})")
            terminal.table(
                [*rows(result), took, ("to publish", published), ("to keep secret", f"{private}/")]
            )
        if seeded:
            tell("Made with --seed: anybody can compute it again, so it is not for publishing.", "warning")
        if not result.holds:
            complain(f"{private / 'report.json'} tells {failed}, and why.")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(folders)) from None
    return result, int(not result.holds)


def check_releases(releases: Sequence[str], mappings: Sequence[Path] = ()) -> None:
    """Warn of unconfirmed releases; `ReleaseError` if a folder is being replaced."""
    for folder in releases:
        if (Path(folder) / "UNVERIFIED").exists():
            tell(f"{folder} is marked UNVERIFIED: it was not confirmed when it was made", "warning")
    for place in (*map(Path, releases), *mappings):
        check_settled(place)


def check_for_each(releases: Sequence[str], flag: str, places: Sequence[object]) -> None:
    """Raise `CallError` unless an option is given once for each release."""
    if len(places) != len(releases):
        what = f"{flag} is given {counted(len(places), 'time')} for {counted(len(releases), 'release')}"
        raise CallError(what, hint=f"say {flag} once for each release, in the same order")


def one_mapping(mappings: Sequence[Path]) -> Path | None:
    """The mapping of one release; `CallError` if several are named."""
    if mappings and len(mappings) > 1:
        raise CallError("several mappings are named", hint="say --mapping FILE once")
    return mappings[0] if mappings else None


def print_verdict(found: Any, rows: Callable[[Any], Sequence[tuple[str, str]]], *, as_json: bool) -> int:
    """Print a verdict; returns the exit code."""
    if as_json:
        print_json({"format": 1, **found.as_dict()})
    else:
        terminal.table([*rows(found)])
        terminal.print_witnesses(found)
    return int(not found.nothing_against)
