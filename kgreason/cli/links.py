"""Commands on links that may disclose a sensitive relation: anonymize, verify, attack, generate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.errors import CallError
from kgreason.cli import options, terminal
from kgreason.cli.commands import (
    Group,
    check_free,
    command,
    counted,
    given,
    holding,
    is_schema,
    load_rules,
    print_json,
    refuse,
    sources,
    the_schema,
)
from kgreason.cli.options import FILES, WRITTEN, names, option, rule_files, setting_option
from kgreason.cli.releases import FOLDERS, PLAIN_FORMAT, check_releases, one_mapping, print_verdict, publish
from kgreason.cli.run import tell
from kgreason.links.settings import THRESHOLDS, Criterion, Settings, Strategy

if TYPE_CHECKING:
    from kgreason.base.progress import Progress
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.links.model import Original
    from kgreason.people.file_schema import Schema


SENSITIVE = setting_option(Settings, "sensitive", list[str])
K = setting_option(Settings, "k", least=2, show_default="3")
SETTINGS = options.settings_options(Settings, sensitive=SENSITIVE, k=K)
RULES = options.rules_file(Path, "Rule file (.vada) whose edges are observed; then data are PRED=FILE.")
ORIGINAL = option(
    "--original FILE",
    list[str],
    "The original: its schema (.toml), or its files; under rules PRED=FILE. Repeatable.",
    shell_complete=options.files_of_people,
)
ADVERSARY = (
    option(
        "--noise NAME=P",
        list[str],
        "Probability with which a link of an observed relation causes a sensitive one; repeatable, one for each.",
    ),
    option(
        "--leak", float, "Probability of a sensitive link without any observed cause.", 0.0, least=0, most=1
    ),
    option(
        "--thresholds P,...",
        str,
        "Pairs that are believed in with more than these probabilities are predicted.",
        show_default=",".join(f"{at:g}" for at in THRESHOLDS),
    ),
    option("--sharp", bool, "For constrained clusters: the attacker also uses which clusters are linked."),
    option(
        "--worlds",
        int,
        "With rules: number of random placements of links of clusters, and of shared values.",
        100,
        least=1,
    ),
)


@command(options.SOURCES, RULES, *SETTINGS, *FOLDERS, PLAIN_FORMAT, options.AS_JSON, *FILES)
def anonymize(data: Sequence[str], rules: Path | None, **asked: Any) -> int:
    """Release observed links by a strategy, without the sensitive relation, and verify the release."""
    from kgreason.links import api

    if rules is not None:
        refuse(names(*FILES), "under rules")
    sensitive = one_sensitive(asked["sensitive"])
    chosen = {name: asked[name] for name in names(*SETTINGS)} | {"sensitive": sensitive}

    def make(folders: Any) -> Any:
        read: Any = sources(data) if rules else _schema(data, asked, sensitive)
        with terminal.progress() as shown:
            program = None if rules is None else _program_of(rules, data)
            return api.anonymize(read, rules=program, **chosen, folders=folders, progress=shown)

    return publish(make, terminal.anonymized_links_rows, asked)[1]


@command(
    options.RELEASE,
    ORIGINAL,
    options.mapping_file(list[Path]),
    RULES,
    SENSITIVE,
    option(
        "--strategy",
        Strategy,
        "How the release must have been made.",
        show_default="as the release says",
    ),
    option("--percent", float, "Share that partial must have left out of each relation.", least=0, most=100),
    option(
        "--criterion",
        Criterion,
        "Which links partial must have left out.",
        show_default="as the release says",
    ),
    K,
    option(
        "--closeness T",
        float,
        "Largest distance of the values of a node from those of all entities (t-closeness).",
        least=0,
        most=1,
    ),
    options.AS_JSON,
    *FILES,
)
def verify(
    release: str,
    original: Sequence[str],
    mapping: Sequence[Path],
    rules: Path | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Decide whether a release of links follows its strategy and does not contain the sensitive relation.

    Exit code 0: it is; 1: it is not, or that was not decided. 2: bad usage or input.
    """
    from kgreason.links import api

    place = one_mapping(mapping)
    check_releases([release], [] if place is None else [place])
    known, sensitive = bool(original or rules), one_sensitive(asked["sensitive"])
    if not known:
        refuse(["percent"], "without the original", "name the original")
    if place is not None and not known:
        hint = "name it with --original"
        raise CallError("a mapping is named, but no original", hint=hint)
    if known and place is None:
        hint = "say --mapping FILE, or name the release alone"
        raise CallError("the original is named, but no mapping", hint=hint)
    if rules is not None and holding(asked):
        raise CallError("rules say what is read", hint="leave out the options of files")
    with terminal.progress() as shown:
        read = _read_original(original, rules, asked, sensitive, shown) if known else None
        shown.step(f"Verifying {release}")
        found = api.verify(
            Path(release),
            original=read,
            mapping=place if read is not None else None,
            sensitive=sensitive if read is None else None,
            **{name: asked[name] for name in ("k", "strategy", "percent", "criterion", "closeness")},
        )
    return print_verdict(found, terminal.links_rows, as_json=as_json)


@command(
    options.RELEASE,
    ORIGINAL,
    options.mapping_file(Path),
    options.rules_file(
        Path, "Rules that the attacker infers by; with --original PRED=FILE also what is true."
    ),
    option(
        "--other-rules FILE",
        Path,
        "Rules of an attacker, if other than --rules, which then define what is true.",
        shell_complete=rule_files,
    ),
    SENSITIVE,
    *ADVERSARY,
    options.SEED,
    options.AS_JSON,
    *FILES,
)
def attack(release: str, mapping: Path | None, as_json: bool, **asked: Any) -> int:
    """Infer sensitive links from a release of links, and compare them with the truth."""
    from kgreason.links import api
    from kgreason.links.arguments import meaningless
    from kgreason.links.folder import read_released

    if mapping is None:
        raise CallError("no mapping of this release is named", hint="say --mapping FILE")
    rules, other_rules, noise = asked["rules"], asked["other_rules"], asked["noise"]
    original, sensitive = asked["original"], one_sensitive(asked["sensitive"])
    if noise and (rules or other_rules):
        hint = "leave out --noise, or --rules; a rule has its probability by @label"
        raise CallError("an attacker infers by noise, or by rules", hint=hint)
    in_files = holding(asked) or any(is_schema(text) for text in original)
    if other_rules and (rules is None or in_files):
        what = "--other-rules are an attacker's where --rules say what is true, and here they do not"
        raise CallError(what, hint="name the attacker's rules by --rules")
    by_rules = rules is not None
    if by_rules:
        refuse(["sharp"], "with --rules", "infer by --noise")
    else:
        refuse(("worlds", "seed"), "with --noise", "infer by --rules")
    chosen = {name: asked[name] for name in ("leak", "seed", "sharp")}
    chosen["worlds"] = given("worlds", asked["worlds"])
    if asked["thresholds"] is not None:
        chosen["thresholds"] = [
            _number(part, "each of --thresholds") for part in asked["thresholds"].split(",")
        ]
    with terminal.progress() as shown:
        found = read_released(Path(release))
        if not by_rules and not noise and found.strategy != "removed":
            hint = "say --noise NAME=P for each observed relation, or --rules FILE"
            raise CallError("neither noise nor rules of the attacker are named", hint=hint)
        if by_rules:
            chosen["rules"] = load_rules(
                other_rules or rules, bound=(*found.graph.observed, *found.graph.attributes)
            )
            sensitive = _the_sensitive(chosen["rules"], sensitive)
        else:
            chosen["noise"] = _noise(noise)
        # under rules triples only if anything says what they hold
        truth = _read_original(original, None if in_files else rules, asked, sensitive, shown)
        for name, where in meaningless(found, chosen.get("rules"), truth.sensitive.name).items():
            refuse([name], where)
        disclosed = api.attack(found, truth, mapping, progress=shown, **chosen)
    if as_json:
        print_json({"format": 1, "strategy": found.strategy, **disclosed.as_dict()})
    else:
        print(disclosed)
    return 0


_most = partial(option, least=0)
_probability = partial(option, least=0, most=1)


@command(
    options.OUT,
    option("--students", int, "Number of students.", 100, least=1),
    _most("--classes", int, "Number of classes.", 10),
    _most("--groups", int, "Number of research groups.", 10),
    _most("--classes-each", int, "Classes that each student takes.", 2),
    _most("--groups-each", int, "Groups that each student belongs to.", 1),
    _most("--class-size", int, "Most students of a class.", 25),
    _most("--group-size", int, "Most students of a group.", 15),
    _probability("--leak", float, "Probability of a friendship without a cause.", 0.2),
    _probability("--class-weight", float, "Probability that a shared class causes one.", 0.4),
    _probability("--group-weight", float, "Probability that a shared group causes one.", 0.6),
    *WRITTEN,
)
def generate(out: Path, seed: int | None, force: bool, as_json: bool, **asked: Any) -> int:
    """Students with classmates, groupmates and friends: triples user, relation, target, a row for each shared class."""
    import numpy as np

    from kgreason.links.reading import write_triples
    from kgreason.links.school import school

    check_free(out, force)
    drawn = school(np.random.default_rng(seed), **asked)
    write_triples(out, drawn)
    observed = drawn.graph.observed
    links = {name: found.total for name, found in observed.items()} | {"friends": len(drawn.sensitive)}
    if as_json:
        print_json({"format": 1, "file": str(out), "students": drawn.graph.n, "links": links})
    else:
        counts = ", ".join(f"{number:,} links of {name}" for name, number in links.items())
        print(f"{out}: {counted(drawn.graph.n, 'student')}, {counts}")
    drawn_links: list[Any] = [*observed.values(), drawn.sensitive]
    ends = [end for found in drawn_links for end in (found.source, found.target)]
    if alone := drawn.graph.n - len(np.unique(np.concatenate(ends))):
        tell(f"{counted(alone, 'student')} without links cannot be in a table of links")
    return 0


def _read_original(
    data: Sequence[str],
    rules: Path | None,
    asked: Mapping[str, Any],
    sensitive: str | None,
    progress: Progress,
) -> Original:
    """Read the graph that rules, or files of people, name, with its sensitive relation."""
    from kgreason.links import api
    from kgreason.links.reading import read

    progress.step("Reading")
    if rules is not None:
        return api.of_rules(_program_of(rules, data), sources(data), sensitive=sensitive, progress=progress)
    schema = _schema(data, asked, sensitive, "--original")
    return read(schema, str(sensitive), progress)


def _schema(
    files: Sequence[str], asked: Mapping[str, Any], sensitive: str | None, flag: str = "FILE"
) -> Schema:
    schema = the_schema(files, asked, flag)
    if sensitive is None:
        hint = "name it with --sensitive, for instance friends"
        raise CallError("no sensitive relation is named", hint=hint)
    return schema


def one_sensitive(values: Sequence[str]) -> str | None:
    """The relation that ``--sensitive`` names; `CallError` if it names several: all but one would be published."""
    names = [name.strip() for text in values for name in text.split(",")]
    if len(names) > 1:
        rest = ", ".join(f'"{name}"' for name in names[1:])
        hint = (
            f"name {names[0]} alone, and leave the rest out of the release: in a schema by ignore = [{rest}] under "
            "[kinds]; of rules, take its @edge out"
        )
        what = f"one relation can be sensitive, and {len(names)} are named: {', '.join(names)}"
        raise CallError(what, hint=hint)
    return names[0] if names else None


def _program_of(rules: Path, data: Sequence[str]) -> CheckedProgram:
    """Load rules whose facts may come from files that the command line names."""
    return load_rules(rules, bound=[text.split("=", 1)[0] for text in data])


def _the_sensitive(program: CheckedProgram, asked: str | None) -> str | None:
    """The relation to infer: that of ``--sensitive`` or of the attacker's rules, which must agree."""
    named = program.sensitive
    if asked is not None and named and asked not in named:
        hint = "leave out --sensitive, or take @sensitive out of the rules"
        raise CallError(f"the rules call {named[0]} sensitive, and --sensitive says {asked}", hint=hint)
    return asked or (named[0] if len(named) == 1 else None)


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
            raise CallError(f"the noise of {name} is given twice", hint="give it once")
        found[name] = _number(number, f"--noise {name}")
    return found


def _number(text: str, where: str) -> float:
    from kgreason.base.setting_fields import check_probabilities

    try:
        number: float | str = float(text)
    except ValueError:
        number = text
    check_probabilities(**{where: number})
    return float(number)


app = Group(
    "links",
    help="Observed links that may disclose a sensitive relation.",
    commands=[anonymize, verify, attack, generate],
)
