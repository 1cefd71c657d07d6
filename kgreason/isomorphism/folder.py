"""Folder of a release of a graph under rules: rule file, README, and the check of its contents.

`form` decides the condition ``files``: the folder holds exactly the files that kgreason writes. The rule file can be
run in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import wrap

from kgreason.base.errors import ReleaseError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.arguments import anonymizable
from kgreason.isomorphism.definition import KNOWN, Guarantee
from kgreason.isomorphism.release_tables import COLUMNS, safe_names, write_tables
from kgreason.isomorphism.report import public_report
from kgreason.isomorphism.report_words import Promise, synthetic_note, synthetic_words
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification.conditions import lost_edges
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.syntax_tree import Constant, Variable
from kgreason.release.folder_contents import FILES, Contents, files, is_of_kgreason, not_drawn, readme_text
from kgreason.release.table_layout import LISTING, README, Layout, Stored, found_edges, found_nodes
from kgreason.release.verdicts import Item

RULES = "rules.vada"
OTHER_RULES = (
    f"{RULES} holds other rules than the named ones, so whether it discloses more is not known: name the rules that "
    "the release was made with, or its table in place of the folder to judge the graph alone"
)


def check_publishable(program: CheckedProgram, labels: Iterable[str]) -> None:
    """Raise `ReleaseError` if a string, constant of a fact or variable of the rules would publish a vertex label."""
    published = list(dict.fromkeys(_published_words(program)))
    for label in labels:
        for kind, words in published:
            if label == words or (len(label) >= 4 and _plain(label) in _plain(words)):
                raise ReleaseError(
                    f"the rules hold {kind} {words!r}, which names the vertex {label!r}, and would be published",
                    hint="take the name out of the rules",
                )


def _plain(words: str) -> str:
    return "".join(c if c.isalnum() else " " for c in words.lower())


def _published_words(program: CheckedProgram) -> Iterator[tuple[str, str]]:
    """Words in the text of the rules other than predicates and numbers in conditions, after their kind."""
    for fact in program.facts:
        yield from (("the constant", str(t.value)) for t in fact.terms if isinstance(t, Constant))
    for rule in program.rules:
        terms = [t for atom in (rule.head, *rule.positives, *rule.negatives) for t in atom.terms]
        parts = [part for step in (*rule.before, *rule.after) for part in walk(step.expression)]
        for node in (*terms, *parts):
            if isinstance(node, Variable) and len(node.name) >= 4:
                yield "the variable", node.name
            elif isinstance(node, Constant) and isinstance(node.value, str):
                yield "the string", node.value


def public_rules(program: CheckedProgram, layout: Layout | None = None) -> str:
    """Write the rules without comments, paths and facts of the graph, so that they reveal nothing of the input.

    Binds refer to the tables of the release, by default CSV files, so that the file runs in its folder.
    """
    layout = layout or Layout.of(dict.fromkeys(program.edges, "csv"))
    lines = [f'@node("{p}").' for p in program.nodes] + [f'@edge("{p}").' for p in program.edges]
    lines += [f'@incoming_sum("{p}", {bound}).' for p, bound in program.incoming_sums.items()]
    lines += [layout.nodes.bind(predicate) for predicate in program.nodes]
    lines += [layout.edges[predicate].bind(predicate) for predicate in program.edges]
    lines += [f'@output("{p}").' for p in program.outputs]
    lines += [f'@derived("{p}").' for p in program.derived]
    lines += [f'@query("{p}").' for p in program.queries]
    lines += [f"{atom}." for atom in program.facts]
    lines += dict.fromkeys(rule.text for rule in program.rules)
    return "\n".join(lines) + "\n"


@record
class Claim:
    """Statements of ``README.txt``: guarantee; in words the checked x, synthetic shares, and what a series keeps.

    `listed_labels`: whether labels are from a list of the owner of the data; `other_weights`: as in `Promise`.
    """

    guarantee: Guarantee
    sizes: str
    synthetic: str
    series: str = ""
    listed_labels: bool = False
    other_weights: bool = False

    @property
    def asked_of_series(self) -> tuple[int, int] | None:
        """The k and the window to which the words on the series refer, if there are any."""
        stated = re.search(r"keeps? ([0-9]+) occurrences .* the last ([0-9]+) releases", self.series)
        if stated is None:
            return None
        return int(stated[1]), int(stated[2])


def contents_of(
    program: CheckedProgram, layout: Layout, released: KnowledgeGraph, claim: Claim | None
) -> Contents:
    """Contents of the folder of a release, of which the graph has all rows in the order of the tables.

    Without a `claim`, the folder has no ``README.txt`` by kgreason.
    """

    def write(folder: Path) -> None:
        write_tables(folder, released, layout, program.nodes[0] if program.nodes else "node")

    made = claim or Claim(Guarantee(1, None), "", "")
    checked = "" if made.guarantee.model == "k-iso" else f" for {made.sizes}"
    weighted = any(relation.weight is not None for relation in released.relations.values())
    edges = tuple(released.relations), program.derived
    promise = Promise.of(made.guarantee, made.sizes, *edges, made.synthetic, made.series)
    promise = replace(promise, other_weights=made.other_weights)
    readme = (
        partial(_readme, program, promise, layout, checked, weighted, made.listed_labels) if claim else None
    )
    report = partial(public_report, released, promise)
    return Contents(layout.files, write, readme, report, (RULES,), released.n + released.m, checked)


def form(
    folder: Path,
    released: KnowledgeGraph,
    rules: CheckedProgram,
    original: tuple[KnowledgeGraph, Vertices] | None = None,
) -> Item:
    """Condition ``files``: a folder holds the files of the release that was read from it, and nothing else.

    They are compared byte for byte; rows of edges are in random order, so every order is accepted. If the original is
    known, with its mapping, names of columns and the stated synthetic shares are compared with it.
    """
    program = anonymizable(rules)
    edges = {predicate: found_edges(folder, predicate) for predicate in program.edges}
    nodes = found_nodes(folder, edges.values())
    assert nodes is not None
    layout = Layout(edges, nodes)
    stored, ours = folder / RULES, is_of_kgreason(folder)
    if ours and stored.is_file() and stored.read_bytes() != public_rules(program, layout).encode():
        return Item(FILES, False, OTHER_RULES, undecided=True)
    claim = claim_of(readme_text(folder))
    drawn = not layout.numbered and not (claim is not None and claim.listed_labels)
    faults = [*not_drawn(released.labels.tolist())] if ours and drawn else []
    if original is not None and claim is not None:
        faults += _wrong_shares(*original, released, claim)
    for name, known in original[0].relations.items() if original is not None else ():
        columns = released.relations[name].columns
        if not {*columns} <= {*known.columns, *safe_names(known.columns), *COLUMNS}:
            names = f"{', '.join(columns)}, in the original {', '.join(known.columns)}"
            faults.append(f"{layout.edges[name].file}: columns are called {names}")
    found = files(folder, contents_of(program, layout, released, claim), faults)
    if claim is None or not claim.listed_labels:
        return found
    return replace(found, detail=f"{found.detail}; labels are from a list, whose words were not judged")


def _wrong_shares(
    original: KnowledgeGraph, mapping: Vertices, released: KnowledgeGraph, claim: Claim
) -> Iterator[str]:
    """Stated synthetic shares that are wrong, in words; of a broken mapping nothing is known."""
    if (mapping < 0).any() or (mapping >= released.n).any():
        return
    kept = original.m - lost_edges(original, released, mapping)
    true = synthetic_words(released, kept, original.n)
    if claim.synthetic != true:
        yield f"{README}: synthetic are {true}, and not {claim.synthetic or 'an unstated share'}"


def _readme(
    program: CheckedProgram,
    promise: Promise,
    layout: Layout,
    checked: str,
    weighted: bool,
    listed_labels: bool,
    holds: bool,
) -> str:
    baseline = promise.baseline
    return TEXT.format(
        guarantee=promise.text,
        edges=", ".join(program.edges if baseline else [*program.edges, *program.derived]),
        checked=f"Confirmed by an exact check{checked}.\n" if holds else "",
        promise=(K_ISO if baseline else KX_ISOMORPHISM).format(k=promise.k)
        + "".join(FURTHER[one].format(k=promise.k) for one in promise.further[-1:]),
        series=f"{_wrapped(f'Series: {promise.series}.')}\n\n" if promise.series else "",
        unprotected=_wrapped(f"NOT PROTECTED: {promise.unprotected}"),
        synthetic=_wrapped(f"Synthetic: {promise.synthetic}. {synthetic_note(promise)}"),
        files=_files(layout),
        weights=(OTHER_WEIGHTS if promise.other_weights else WEIGHTS) * weighted,
        labels=LISTED_LABELS * listed_labels,
        cut=CUT if promise.within_parts else "",
    )


def _wrapped(text: str) -> str:
    return "\n".join(wrap(text, 110, break_on_hyphens=False))


def claim_of(text: str) -> Claim | None:
    r"""Parse the statements of README.txt; `None` if it states no guarantee of kgreason.

    Examples
    --------
    >>> text = "Guarantee: (3,4)-isomorphism, for the edges own.\nConfirmed by an exact check for x = 4."
    >>> found = claim_of(text)
    >>> str(found.guarantee), found.sizes
    ('(3,4)-isomorphism', 'x = 4')
    """
    patterns = _GUARANTEE, _CHECKED, _SYNTHETIC, _SERIES
    stated, checked, synthetic, series = (pattern.search(text) for pattern in patterns)
    if not stated:
        return None
    words, sizes = stated[1], checked[1] if checked else ""
    stated_sizes = words.partition(" with ")[0]
    numbers, checked_sizes = ([int(n) for n in re.findall("[0-9]+", part)] for part in (stated_sizes, sizes))
    cut, further = int(" within parts" in words), tuple(one for one in KNOWN if f" {KNOWN[one]}" in words)
    if words.startswith("k-iso"):
        guarantee = Guarantee(numbers[0], None, model="k-iso")
    elif "for every x" in words:
        guarantee = Guarantee(numbers[0], None, cut=cut, further=further)
    else:
        guarantee = Guarantee(numbers[0], numbers[-1], tuple(numbers[1:-1]), cut, further=further)
    ascending = all(part == sorted(set(part)) for part in (numbers[1:], checked_sizes))
    if not ascending or str(guarantee) != words:
        return None
    return Claim(
        guarantee,
        sizes,
        synthetic[1] if synthetic else "",
        " ".join(series[1].split()) if series else "",
        f"\n{LISTED_LABELS}" in text,
        f"\n{OTHER_WEIGHTS}" in text,
    )


_SIZES = r"every x|x = [1-8](?:, [1-8])*(?: and fewer \(the rules commute\))?"
_GUARANTEE = re.compile(
    r"^Guarantee: (k-isomorphism: [0-9]{1,9} isomorphic blocks without edges between them"
    r"|\([0-9]{1,9},(?:x|[1-8])\)-isomorphism(?: for (?:every x|x = [1-8](?:, [1-8])*))?"
    r"(?: within parts \(edges between parts are left out\))?"
    r"(?: with [0-9]{1,9}-anonymous degrees(?: and neighbours' degrees)?)?), for the edges ",
    re.MULTILINE,
)
_CHECKED = re.compile(rf"check(?:ed)? for ({_SIZES})(?:\.$| and do NOT hold,)", re.MULTILINE)

_SERIES = re.compile(r"^Series: ([^.]*(?:\.[0-9][^.]*)?)\.$", re.MULTILINE)
_PART = r"(?:none|less than 1 %|about [0-9]{1,3} %)"
_SYNTHETIC = re.compile(rf"^Synthetic: ({_PART} of the edges, {_PART} of the vertices)\.", re.MULTILINE)


def _files(layout: Layout) -> str:
    """Description of each file and how to read it."""
    labels = "their numbers are" if layout.numbered else "labels are"
    holds: dict[str, list[str]] = {}
    if not layout.listed:
        holds[layout.nodes.file] = [f"the vertices{_inside(layout.nodes)}; {labels} random"]
    for predicate, stored in layout.edges.items():
        holds.setdefault(stored.file, []).append(f"edges of the relation {predicate}{_inside(stored)}")
        if stored.beside is not None:
            holds[stored.beside] = [f"the vertices; {labels} random"]
    if layout.listed and layout.nodes.format in LISTING:
        holds[layout.nodes.file].append(f"and all vertices; {labels} random")
    holds["rules.vada"] = [
        "the rules under which the guarantee was made; run them with",
        "kgreason reason --rules rules.vada",
    ]
    holds["report.html"] = ["a page about the release, for reading; report.json is the same for programs"]
    width = max(map(len, holds)) + 2
    return "\n".join(
        f"  {name if not number else '':<{width}} {words}"
        for name, lines in holds.items()
        for number, words in enumerate(lines)
    )


def _inside(stored: Stored) -> str:
    return f" (table {stored.options['table']})" if "table" in stored.options else ""


TEXT = """Anonymized knowledge graph

Guarantee: {guarantee}, for the edges {edges}.
{checked}
{promise}
{series}{unprotected}

{synthetic}

Files
{files}

{weights}Rows are in random order.
{labels}{cut}"""
KX_ISOMORPHISM = """An attacker who knows a connected subgraph of the original graph with x vertices, and all edges
that the rules derive from it alone, finds at least {k} occurrences in this graph. They have the same edges and share
no vertex; between any two of them all vertices differ in label, in-degree and out-degree.
"""
FURTHER: dict[Further, str] = {
    "degree": """An attacker who knows the in- and out-degree of a vertex in this graph finds at least {k} vertices.
""",
    "neighbours": """An attacker who knows the in- and out-degree of a vertex in this graph, and those of all its
neighbours, finds at least {k} vertices.
""",
}
K_ISO = """This graph consists of {k} isomorphic blocks without edges between them, so every subgraph of a block
occurs at least {k} times. Edges of the original were deleted and others inserted for that.
"""
CUT = """The graph was split into parts. Original edges between parts were removed, and the guarantee holds for
the graph without them.
"""
LISTED_LABELS = "Labels are from a list of the owner of the data, assigned at random.\n"
WEIGHTS = "Weights lie between 0 and 1; all were replaced by others of a similar distribution.\n"
OTHER_WEIGHTS = "Weights lie between 0 and 1; all were replaced by others of another distribution.\n"
