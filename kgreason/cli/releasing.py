"""The command that makes releases: anonymize, of graphs under rules, of graphs of people and of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

import typer

from kgreason.base.errors import CallError
from kgreason.cli import options
from kgreason.cli.commands import given, guarded, load_rules, print_json, refuse, sources, the_schema
from kgreason.cli.options import FILES, AnyMethod, names, option, taking
from kgreason.cli.run import complain, tell
from kgreason.isomorphism.settings import Mode
from kgreason.links.settings import Strategy
from kgreason.people.settings import PeopleMethod, Settings

if TYPE_CHECKING:
    from kgreason.base.progress import Progress
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.links.model import Original
    from kgreason.people.file_schema import Schema

PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. Without `--mode published` every subgraph is protected."
)
_for_people = partial(option, rich_help_panel="Graphs of people: cdga, ckga, ctkga, pckga, k-degree")
_for_links = partial(option, rich_help_panel="Links: links")
_TYPES, _DEFAULTS = get_type_hints(Settings), {f.name: f.default for f in fields(Settings)}


def _setting(said: str, help: str, **more: Any) -> options.Option:
    """Declare an option by which `Settings` are chosen: type and default are those that stand there."""
    name = said.split()[0].removeprefix("--").replace("-", "_")
    return _for_people(said, _TYPES[name], help, _DEFAULTS[name], **more)


RULES_ALONE = (
    options.X,
    option("--trials N", int, "Draws of random weights; the most useful is kept.", 10, min=1),
    options.MAX_SUBGRAPHS,
    option(
        "--split VERTICES",
        int | None,
        "Anonymize parts of about so many vertices in parallel and leave out the edges between them: for graphs too "
        "large or too dense as a whole. The verdict says what is lost.",
        min=1,
    ),
    option(
        "--keep-cuts",
        bool,
        "With --split: keep the edges between parts, and copy their surroundings so that nothing is lost.",
    ),
)
"""What `kgreason.anonymize` takes, and the other two functions do not."""
PEOPLE_ALONE = (
    _for_people(
        "--k-values FILE", str | None, "Table user,k: each user's own k, for pckga; default: -k for all."
    ),
    _setting(
        "--loss", "Compare users by attributes and degrees (adm), or by truth of pairs of values (atdm)."
    ),
    _setting("--alpha P", "Share of attributes in the loss; the rest is of degrees.", min=0, max=1),
    _setting(
        "--clustering NAME",
        "vac, degrees, merging, k-means, k-medoids, hdbscan, hdb-star, or a clusterer of scikit-learn by name.",
        show_default="the method's own",
    ),
    _setting(
        "--partition",
        "How clusters are brought to enough users, and not too many.",
        show_default="the method's own",
    ),
    _setting(
        "--tau P",
        "How far users whom clustering left over may be from those they join; less removes outliers. Not of pckga in "
        "exact mode.",
        min=0,
        max=1,
    ),
    _setting(
        "--removal-price P",
        "Of pckga in exact mode: what a removed user costs, where 1 is all that can be lost of a user who stays; more "
        "removes fewer.",
    ),
    _setting("--omega P", "Of merging: share of the invalid clusters looked at in each step.", min=0, max=1),
    _setting("--epsilon N", "Of merging: most users of a cluster.", min=1, show_default="2k"),
    _setting(
        "--dimensions N", "Of the points that stand for users, and of the vectors of atdm's indicator.", min=1
    ),
    _setting(
        "--window N", "Of ctkga: number of consecutive releases that an attacker may put together.", min=1
    ),
    _setting(
        "--left-out",
        "Of ctkga: leave users out with those of their likes who left, while these are too few (withhold), or let fake "
        "users take the places of those who left (replace).",
    ),
    _setting("--sequence", "Of k-degree: degrees at the least cost (dp), or by a quick choice (greedy)."),
    _setting(
        "--construction",
        "Of k-degree: change as few edges as possible (relaxed), keep all (supergraph), or make a new graph of which "
        "degrees alone are kept (construct).",
    ),
    _setting(
        "--tries N", "Of k-degree: how many sequences of degrees are tried until a graph has one.", min=1
    ),
    _for_people(
        "--after DIR", Path | None, "Of ctkga: private folder of the release before; none for the first."
    ),
)
"""What `kgreason.people.anonymize` takes besides what it shares with `kgreason.anonymize`."""
LINKS_ALONE = (
    _for_links(
        "--sensitive NAME",
        list[str] | None,
        "The relation that must not be told; under rules, in place of the one that @sensitive names.",
    ),
    _for_links(
        "--strategy",
        Strategy,
        "What is released of the observed links: all (intact), a share of them (partial), their numbers between "
        "clusters of entities (cluster-edge), the largest number that two entities of these have (constrained), none "
        "(removed).",
        "cluster-edge",
    ),
    _for_links(
        "--percent",
        float | None,
        "Of partial: share that is left out of each relation.",
        min=0,
        max=100,
        show_default="50",
    ),
    _for_links(
        "--clusters FILE",
        str | None,
        "Table user,cluster: which entities go together, in place of --clustering, which may also be random.",
    ),
)
"""What `kgreason.links.anonymize` takes besides what it shares with others."""
IN_SCHEMAS = ("schema", *names(*FILES))
SHARED = "seed", "folders"
TO_LINKS = "say --method links for links that tell of sensitive ones"
_LINKS, _PEOPLE, _RULES = names(*LINKS_ALONE), names(*PEOPLE_ALONE), names(*RULES_ALONE)


@guarded
@taking(
    options.SOME_RULES,
    options.ORIGINAL,
    option(
        "--method METHOD",
        AnyMethod,
        "Under rules: klone protects every x by k copies, kguard one x, or some, by far fewer additions; k-iso is the "
        "baseline: k isomorphic blocks, which protect neither derived edges nor degrees. Of people: cdga makes degrees "
        "alike, ckga values, too, pckga with each user's own k, ctkga in a series of releases; k-degree makes degrees "
        "of undirected graphs alike. Of links: links leaves a sensitive relation out, and as much of what tells of it "
        "as --strategy says.",
        "kguard",
    ),
    option(
        "--mode MODE",
        Mode,
        "Of kguard: exact protects every subgraph, published is the paper with a lighter reading of line 11 of its "
        "Algorithm 3. Of people: exact betters the clusters of the paper.",
        "exact",
    ),
    options.K,
    *RULES_ALONE,
    options.SEED,
    option("--release DIR", Path, "Folder to publish.", Path("release")),
    option("--private DIR", Path, "Folder to keep secret.", Path("private")),
    option("--force", bool, "Replace earlier releases in these folders."),
    option(
        "--format",
        options.Format | None,
        "Of the tables to publish; default: that of the input. Of people and links csv, tsv or parquet.",
    ),
    options.SCHEMA,
    options.AS_JSON,
    *FILES,
    *PEOPLE_ALONE,
    *LINKS_ALONE,
)
def anonymize(
    context: typer.Context,
    release: Path,
    private: Path,
    force: bool,
    format: options.Format | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Make an anonymous version of a graph, and prove that it is.

    Of a graph under rules (--rules) or, by the methods cdga, ckga, pckga, ctkga and k-degree, of a graph of people; by
    the method links of a graph with a sensitive relation.
    """
    from kgreason.cli import terminal
    from kgreason.release.publication import Folders, interrupted

    folders = Folders(release, private, force, format)
    for mended in folders.check():
        tell(mended)
    method, seeded = asked["method"], asked["seed"] is not None
    failed, rows = "which subgraphs are not protected", cast(Any, terminal.anonymization_rows)
    make = _of_rules
    if method == "links":
        make, rows, failed = _of_links, terminal.anonymized_links_rows, "what does not hold"
    elif method in get_args(PeopleMethod):
        make, rows, failed = _of_people, terminal.anonymized_people_rows, "what does not hold"
    result = make(context, f"with --method {method}", asked | {"folders": folders})
    try:
        if as_json:
            print_json({**result.summary(), "release": str(release), "private": str(private)})
        else:
            publish = f"{release}/"
            if not result.holds:
                publish = f"nothing; {publish} is marked UNVERIFIED"
            elif seeded:
                publish = f"nothing; {publish} was made with a seed"
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in result.seconds.items())
            took = ("time", f"{sum(result.seconds.values()):.1f} s ({stages})")
            folders_rows = ("to publish", publish), ("to keep secret", f"{private}/")
            terminal.table([*rows(result), took, *folders_rows])
        if seeded:
            tell("Made with --seed: anybody can compute it again, so it is not for publishing.", "warning")
        if not result.holds:
            complain(f"{private / 'report.json'} tells {failed}, and why.")
        if method == "kguard" and asked["mode"] == "published" and not result.verdict["images"].holds:
            complain(PUBLISHED_MAY_FAIL)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(folders)) from None
    return int(not result.holds)


def _some(asked: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: asked[name] for name in names}


def _of_rules(context: typer.Context, where: str, asked: Mapping[str, Any]) -> Any:
    from kgreason.cli.terminal import progress
    from kgreason.isomorphism import api

    refuse(context, _LINKS, where, TO_LINKS)
    refuse(context, (*IN_SCHEMAS, *_PEOPLE), where, "say --method pckga for a graph of people")
    if asked["rules"] is None:
        raise CallError(
            f"{asked['method']} protects what rules derive, and none are given",
            hint="say --rules FILE.vada; a graph of people takes --method pckga",
        )
    if asked["split"] is None:
        refuse(context, ["keep_cuts"], "without --split", "say for instance --split 1000")
    program = load_rules(asked["rules"])
    chosen = _some(asked, "method", "mode", "k", *_RULES, *SHARED)
    with progress() as shown:
        return api.anonymize(program, sources(asked["data"]), **chosen, progress=shown)


def _of_people(context: typer.Context, where: str, asked: Mapping[str, Any]) -> Any:
    from kgreason.cli.terminal import progress
    from kgreason.people import api

    refuse(context, _LINKS, where, TO_LINKS)
    refuse(context, ("rules", *_RULES), where)
    chosen = _some(asked, "method", "mode", *_PEOPLE)
    settings = Settings(**_some(asked, "method", "mode", "loss", "clustering", "partition"))
    for name in settings.unused():
        other = settings.instead(name)
        refuse(context, (name,), where, f"say --{other.replace('_', '-')}" if other else "")
    chosen |= _some(asked, *SHARED) | {"k": given(context, "k", asked["k"])}
    schema = the_schema(asked["data"], asked["schema"], asked)
    with progress() as shown:
        return api.anonymize(schema, **chosen, progress=shown)


def _of_links(context: typer.Context, where: str, asked: Mapping[str, Any]) -> Any:
    from kgreason.cli.terminal import progress
    from kgreason.links import api

    rules, data = asked["rules"], asked["data"]
    schema = None if rules else the_schema(data, asked["schema"], asked)
    sensitive = one_sensitive(asked["sensitive"])
    refuse(context, (*(name for name in _PEOPLE if name != "clustering"), *_RULES, "mode"), where)
    if rules is not None:
        refuse(context, IN_SCHEMAS, f"{where} under rules")
    chosen = _some(asked, "clustering", *_LINKS, *SHARED) | {"sensitive": sensitive}
    chosen["k"] = given(context, "k", asked["k"])
    with progress() as shown:
        program = None if rules is None else _program_of(rules, data)
        read = sources(data) if program is not None else _named(schema, sensitive)
        return api.anonymize(read, rules=program, **chosen, progress=shown)


def read_links(
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
    from kgreason.links import api
    from kgreason.links.reading import read as read_links

    progress.step("Reading")
    if rules is not None:
        return api.of_rules(_program_of(rules, data), sources(data), sensitive=sensitive, progress=progress)
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


def _program_of(rules: Path, data: Sequence[str] | None) -> CheckedProgram:
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
