"""Commands on graphs under rules: anonymize, verify, score, attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgreason.base.errors import AnonymizationError, CallError
from kgreason.cli import options, terminal
from kgreason.cli.commands import command, engine, given, load_rules, print_json, refuse, sources, tables
from kgreason.cli.options import REQUIRED, names, option, rule_files, setting_option
from kgreason.cli.releases import FOLDERS, check_releases, one_mapping, print_verdict, publish
from kgreason.cli.run import complain, tell
from kgreason.isomorphism.settings import MAX_SUBGRAPHS, Further, Model, Settings

if TYPE_CHECKING:
    from kgreason.base.progress import Progress
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
    from kgreason.isomorphism.folder import Claim
    from kgreason.isomorphism.reading import Pair
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.language.check.checked_program import CheckedProgram

PUBLISHED_MAY_FAIL = (
    "The published KGUARD does not always protect every subgraph. The release is kept, marked UNVERIFIED: do not\n"
    "publish it. Without `--mode {mode}` every subgraph is protected."
)
K = setting_option(Settings, "k")
X = setting_option(Settings, "x", range, type=options.sizes)
SETTINGS = options.settings_options(Settings, x=X, also=setting_option(Settings, "also", list[Further]))


@command(
    options.RULES,
    options.DATA,
    *SETTINGS,
    *options.ENGINES,
    *FOLDERS,
    option(
        "--format FORMAT",
        options.Format,
        f"Format of the released tables: {options.FORMATS}; default: that of the input.",
    ),
    options.AS_JSON,
)
def anonymize(rules: Path, data: Sequence[str], **asked: Any) -> int:
    """Anonymize a graph under rules, and verify the release.

    Graphs of people and links have commands of their own: kgreason people, kgreason links.
    """
    from kgreason.isomorphism import api

    if asked["after"] is None:
        refuse(["window"], "without --after", "name the private folder of the release before: --after DIR")
    if asked["split"] is None:
        refuse(["keep_cuts"], "without --split", "say for instance --split 1000")
    else:
        refuse(["engine"], "with --split, whose parts are anonymized on this machine")
    if asked["method"] != "kguard":
        refuse(["engine"], f"with --method {asked['method']}, which enumerates no subgraphs")
    on_engine = engine(asked)
    chosen = {name: asked[name] for name in names(*SETTINGS)}

    def make(folders: Any) -> Any:
        program = load_rules(rules)
        with terminal.progress() as shown, on_engine:
            return api.anonymize(program, sources(data), **chosen, folders=folders, progress=shown)

    result, code = publish(
        make, terminal.anonymization_rows, asked, failed="which subgraphs are not protected"
    )
    if asked["method"] == "kguard" and asked["mode"] != "exact" and not result.verdict["images"].holds:
        complain(PUBLISHED_MAY_FAIL.format(mode=asked["mode"]))
    return code


@command(
    options.RELEASE,
    options.RULES,
    options.DATA,
    options.mapping_file(list[Path]),
    K,
    X,
    option(
        "--also",
        list[Further],
        "Decide also whether at least k vertices of the release share each in- and out-degree, or also the degrees of "
        "all neighbours; repeatable.",
    ),
    option(
        "--certificate FILE",
        Path,
        "The private folder, or the certificate.json in it: look the images up there, search for none.",
    ),
    option(
        "--after DIR",
        Path,
        "Private folder of the release before in a series: decide also which subgraphs keep k occurrences for an "
        "attacker who joins the releases. --mapping then names the private folder of this release.",
    ),
    option(
        "--window N",
        int,
        "With --after: number of consecutive releases that are joined.",
        Settings.window,
        least=2,
    ),
    option(
        "--sample N",
        int,
        "Decide only N connected subgraphs, drawn uniformly at random, and estimate δ with a 95 % confidence interval: "
        "for graphs with too many of them. --max-subgraphs then bounds those of one vertex less.",
        least=1,
    ),
    option("--seed N", int, "Draw the same sample again.", least=0),
    option(
        "--model",
        Model,
        "kx-isomorphism; or k-iso: decide instead whether the release is k isomorphic blocks without edges between "
        "them; δ of its connected subgraphs is reported, too.",
        "kx-isomorphism",
    ),
    option(
        "--max-subgraphs N",
        int,
        "Refuse graphs with more connected subgraphs of x vertices.",
        MAX_SUBGRAPHS,
        least=1,
        show_default="10^9",
    ),
    *options.ENGINES,
    options.AS_JSON,
)
def verify(
    release: str,
    rules: Path,
    data: Sequence[str],
    mapping: Sequence[Path],
    model: Model,
    as_json: bool,
    **asked: Any,
) -> int:
    """Decide whether a release is (k,x)-isomorphic to its original; alone, check what the release itself shows.

    Exit code 0: it is; with --sample, which proves nothing, no unprotected subgraph was found; of a release alone,
    every subgraph of it is protected; with --model k-iso, it is k isomorphic blocks. 1: it is not, or that was not
    decided. 2: bad usage or input.
    """
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.certificates import Files, read_certificate
    from kgreason.isomorphism.reading import read_released

    if asked["after"] is None:
        refuse(["window"], "without --after", "name the private folder of the release before: --after DIR")
    known = one_mapping(mapping)
    check_releases([release], [] if known is None else [known])
    original, certificate = sources(data), asked["certificate"]
    after, window = asked["after"], asked["window"]
    if after is not None and (known is None or model != "kx-isomorphism"):
        what = "a series is of releases under a mapping, and of no other model"
        raise CallError(what, hint="say --mapping with the private folder of this release")
    _tell_promise(release, model)
    program = load_rules(rules, bound=original)
    chosen = {name: asked[name] for name in ("k", "x", "also", "sample", "seed", "max_subgraphs")} | {
        "model": model
    }
    with engine(asked), terminal.progress() as shown:
        chosen["progress"] = shown
        if not original and known is None:
            if certificate is not None:
                what = "a certificate is of an original and its release, and no mapping is named"
                raise CallError(what, hint="say --mapping FILE")
            shown.step("Reading")
            released, known_pair = read_released(program, tables(program, [release]), shown), None
            verdict = assessment.verify_alone(released, program, **chosen)
        else:
            pair = _pair(program, original, release, known, shown)
            released, known_pair, proof = pair.released, (pair.original, pair.mapping), None
            if certificate is not None and known is not None:
                named = {name: found[0].path for name, found in tables(program, [release]).items()}
                proof = read_certificate(certificate, pair, Files(named, known))
            graphs = pair.original, released, pair.mapping
            verdict = assessment.verify(*graphs, program, parts=pair.parts, certificate=proof, **chosen)
        if after is not None:
            assert known is not None
            numbers = asked["k"], asked["x"], window, asked["seed"]
            verdict = _with_series(verdict, program, release, released, (known, after), *numbers, shown)
        found = _with_files(verdict, program, release, released, known_pair, shown)
    return print_verdict(found, terminal.verdict_rows, as_json=as_json)


@command(
    options.RELEASE,
    options.mapping_file(Path, default=REQUIRED),
    options.RULES,
    options.DATA,
    K,
    X,
    options.AS_JSON,
)
def score(
    release: str, mapping: Path, rules: Path, data: Sequence[str], k: int, x: Any, as_json: bool
) -> int:
    """Measure utility U and U△, fidelity, and how well a classifier detects synthetic vertices and edges.

    -k and -x are those of the guarantee, which is measured again without the edges that look synthetic. Of a release by
    KLONE with certificate.json beside its mapping, edges between copies are detected; otherwise, all that are not
    original.
    """
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.report import score_items

    _tell_promise(release, "kx-isomorphism")
    original = sources(data)
    program = load_rules(rules, bound=original)
    with terminal.progress() as shown:
        pair = _pair(program, original, release, mapping, shown)
        graphs = pair.original, pair.released, pair.mapping
        proof = _certificate_of_copies(release, mapping)
        result = assessment.score(
            *graphs, program, k=k, x=x, parts=pair.parts, certificate=proof, progress=shown
        )
    if as_json:
        print_json({"format": 1, **result.as_dict()})
    else:
        terminal.table(list(terminal.rows(score_items(result))))
    return 0


def _tell_promise(release: str, model: str) -> None:
    """Tell of what a release says that it promises, where other numbers are asked for only by default."""
    from kgreason.isomorphism.definition import KNOWN

    claim = _claimed(release)
    if claim is None or (promised := claim.guarantee).model != model:
        return
    if claim.series and given("after") is None:
        tell(f"the release says that {claim.series}: --after PRIVATE, of the release before, asks for that")
    sizes = [] if promised.x is None else [*promised.also, promised.x]
    others = given("k") is None and promised.k != Settings.k
    others |= given("x") is None and bool(sizes) and sizes != [Settings.x]
    more = "" if given("also") else "".join(f" --also {one}" for one in promised.further[-1:])
    if others or more:
        x = "..".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1]))) if sizes else ""
        says, asks = (f"k = {promised.k}, x = {x}", f" -x {x}") if x else (f"k = {promised.k}", "")
        says += f", {' and '.join(KNOWN[one] for one in promised.further)}" if more else ""
        tell(f"the release says {says}: -k {promised.k}{asks}{more} asks for that")


def _claimed(release: str) -> Claim | None:
    """Statements of the README.txt of a release."""
    from kgreason.isomorphism.folder import claim_of
    from kgreason.release.folder_contents import readme_text

    return claim_of(readme_text(Path(release)))


def _certificate_of_copies(release: str, mapping: Path) -> Path | None:
    """Certificate beside the mapping of a release that promises every x, as copies give it."""
    file = (mapping if mapping.is_dir() else mapping.parent) / "certificate.json"
    claim = _claimed(release)
    return file if claim and claim.guarantee.x is None and file.is_file() else None


def _with_series(
    verdict: Verdict,
    program: CheckedProgram,
    release: str,
    released: KnowledgeGraph,
    private: tuple[Path, Path],
    k: int,
    x: Any,
    window: int,
    seed: int | None,
    progress: Progress,
) -> Verdict:
    """Besides, which subgraphs keep k occurrences for who joins the release with earlier ones.

    `private` are the private folders of this release and of the one before.
    """
    from kgreason.isomorphism.api import verify_series
    from kgreason.isomorphism.arguments import attacked_sizes

    joined = verify_series(released, *private, program, k=k, x=x, window=window, seed=seed, progress=progress)
    item, found = joined
    claim = _claimed(release)
    sampled = found.unchanged.sampled or found.changed.sampled
    if claim is not None and not sampled and claim.asked_of_series == (found.k, found.window):
        stated = claim.guarantee
        same = stated.x is None or attacked_sizes(x) == (*stated.also, stated.x)
        if same and claim.series != str(found):
            words = f"{item.detail}; README.txt says: {claim.series}"
            item = replace(item, holds=False, given_up=False, detail=words)
    return replace(verdict, items=(*verdict.items, item), joined=found)


def _with_files(
    verdict: Verdict,
    program: CheckedProgram,
    release: str,
    released: KnowledgeGraph,
    original: tuple[KnowledgeGraph, Vertices] | None,
    progress: Progress,
) -> Verdict:
    """Besides, whether the folder of a release holds nothing else; of a table nothing is said."""
    from kgreason.isomorphism.folder import form
    from kgreason.release.folder_contents import FILES, both

    folders = {source.path for listed in tables(program, [release]).values() for source in listed}
    if len(folders) != 1 or not (folder := folders.pop()).is_dir():
        return verdict
    progress.step(f"Comparing the files of {folder}")
    found = form(folder, released, program, original)
    known = [item.name for item in verdict.items]
    if FILES not in known:
        return replace(verdict, items=(*verdict.items, found))
    # a certificate tells, too
    items = (both(item, found) if item.name == FILES else item for item in verdict.items)
    return replace(verdict, items=tuple(items))


def _pair(
    program: CheckedProgram,
    original: Mapping[str, Sequence[Any]],
    release: str,
    mapping: Path | None,
    progress: Progress,
) -> Pair:
    """Read a release, and its original from ``--data`` or where the rules say."""
    from kgreason.isomorphism.reading import read_pair

    progress.step("Reading")
    if mapping is None:
        raise CallError(
            "the original is named, but no mapping of its release is named",
            hint="say --mapping FILE, or leave out --data to judge the release alone",
        )
    return read_pair(program, original, tables(program, [release]), mapping, progress)


ATTACKERS = (
    option(
        "--knowledge",
        list[str],
        "What the attacker knows; repeatable: part (or one of its rows, as part:weights+rules), degree, neighbourhood, "
        "hubs, refinement:I, seeds, all.",
        show_default="all",
    ),
    K,
    X,
    option(
        "--known N|A..B",
        range,
        "Vertices of the subgraphs that the attacker knows, at most 8.",
        type=options.sizes,
        show_default="x, one less and one more",
    ),
    option(
        "--weights",
        Literal["released", "original"],
        "Weights that the attacker knows; released is the worst case.",
        "released",
    ),
    option(
        "--targets", int, "Number of target vertices, and of target subgraphs of each size.", 300, least=1
    ),
    option(
        "--seeds N|FILE",
        str,
        "How many vertices the attacker has already, or a file with a label a line.",
        show_default="10",
    ),
    option(
        "--drop SHARE",
        float,
        "Share of the released edges dropped as implausible.",
        least=0,
        most=1,
        show_default="as many as are synthetic",
    ),
)


@command(
    options.RELEASE,
    options.RULES,
    options.DATA,
    options.mapping_file(Path, default=REQUIRED),
    *ATTACKERS,
    option(
        "--other-rules FILE",
        Path,
        "Rules of an attacker, if other than --rules.",
        shell_complete=rule_files,
    ),
    options.SEED,
    options.AS_JSON,
)
def attack(release: str, rules: Path, data: Sequence[str], mapping: Path, as_json: bool, **asked: Any) -> int:
    """Simulate attackers with several kinds of knowledge, and report how many targets each identifies."""
    from kgreason.isomorphism import assessment
    from kgreason.isomorphism.reading import read_pair

    original = sources(data)
    program = load_rules(rules, bound=original)
    chosen = {name: asked[name] for name in (*names(*ATTACKERS), "seed")}
    chosen["knowledge"] = chosen["knowledge"] or "all"
    if (others := asked["other_rules"]) is not None:
        chosen["other_rules"] = load_rules(others)
    with terminal.progress() as shown:
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


def _seeds(text: str) -> int | list[str]:
    if text.isdecimal() and len(text) < 19:
        return int(text)
    file = Path(text)
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "say how many seeds are drawn, or name a file with an original label a line"
        raise AnonymizationError(f"{file}: cannot be read: {why}", hint=hint) from error
