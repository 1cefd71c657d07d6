"""The words of a release of a graph under rules: its rule file, which runs in the folder, and its README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.expressions import walk
from kgreason.anonymizers.base import Release
from kgreason.errors import ReleaseError
from kgreason.lang.ast import Constant, Variable
from kgreason.layout import LISTING, Layout, Stored


def check_publishable(program: CheckedProgram, labels: Iterable[str]) -> None:
    """Refuse rules whose text would publish the name of a vertex.

    Raises
    ------
    ReleaseError
        If a string constant or a fact of the rules holds a label of the graph, or if a variable has the name of a
        vertex.
    """
    told = list(dict.fromkeys(_told(program)))
    for label in labels:
        for what, words in told:
            if label == words or (len(label) >= 4 and _plain(label) in _plain(words)):
                raise ReleaseError(
                    f"the rules hold {what} {words!r}, which names the vertex {label!r}, and would be published",
                    hint="take the name out of the rules",
                )


def _plain(words: str) -> str:
    return "".join(c if c.isalnum() else " " for c in words.lower())


def _told(program: CheckedProgram) -> Iterator[tuple[str, str]]:
    """What the text of the rules says besides predicates and numbers in conditions."""
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


def write_rules(folder: Path, program: CheckedProgram, layout: Layout) -> None:
    """Write ``rules.vada``, as `public_rules` has it."""
    (folder / "rules.vada").write_text(public_rules(program, layout), encoding="utf-8")


def public_rules(program: CheckedProgram, layout: Layout | None = None) -> str:
    """Write the rules so that they tell nothing of the input: no comments, no paths, no facts of the graph.

    Binds point to the tables of the release, so that the file runs in its folder.

    Parameters
    ----------
    layout
        Those tables; default: CSV files.
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


def write_readme(
    folder: Path,
    program: CheckedProgram,
    release: Release,
    layout: Layout,
    sizes: str,
    *,
    holds: bool,
    seeded: bool,
) -> None:
    """Write README.txt: what was promised, and for which x, in words, the check confirmed it."""
    warnings = []
    baseline = release.guarantee.model == "k-iso"
    asked = "" if baseline else f" for {sizes}"
    if not holds:
        (folder / "UNVERIFIED").touch()
        warnings.append(
            f"UNVERIFIED\n\nThe guarantee below was checked{asked} and does NOT hold. Do not publish this.\n\n"
        )
    if seeded:
        warnings.append(
            "EXPERIMENT\n\nMade with a fixed seed: it can be computed again. Do not publish this.\n\n"
        )
    weighted = any(r.weight is not None for r in release.graph.relations.values())
    promise = K_ISO if baseline else KX_ISOMORPHISM
    text = README.format(
        guarantee=release.guarantee,
        edges=", ".join(program.edges if baseline else [*program.edges, *program.derived]),
        checked=f"Confirmed by an exact check{asked}.\n" if holds else "",
        promise=promise.format(k=release.guarantee.k),
        files=_files(layout),
        weights=WEIGHTS if weighted else "",
        cut=CUT if release.guarantee.cut else "",
    )
    (folder / "README.txt").write_text("".join([*warnings, text]), encoding="utf-8")


def _files(layout: Layout) -> str:
    """Say what each file holds, and how it is read."""
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
    holds["rules.vada"] = ["the rules under which the guarantee was made; run them with", RUN]
    holds["report.html"] = ["a page about the release, for reading; report.json is the same for programs"]
    width = max(map(len, holds)) + 2
    lines = [
        f"  {name if not number else '':<{width}} {words}"
        for name, told in holds.items()
        for number, words in enumerate(told)
    ]
    return "\n".join(lines)


def _inside(stored: Stored) -> str:
    return f" (table {stored.options['table']})" if "table" in stored.options else ""


RUN = "kgreason reason --rules rules.vada"
README = """Anonymized knowledge graph

Guarantee: {guarantee}, for the edges {edges}.
{checked}
{promise}
Files
{files}

{weights}Vertices and edges may be synthetic. Rows are in random order.
{cut}"""
KX_ISOMORPHISM = """Whoever knows a connected part of the original graph with x vertices, and everything that the rules
derive from that part alone, finds in this graph at least {k} places that look the same and share no vertex;
between any two of them all vertices differ in label, in-degree and out-degree.
"""
K_ISO = """This graph consists of {k} isomorphic blocks without edges between them, so every part of it stands in it
at least {k} times. Edges of the original were deleted and others inserted for that.

NOT PROTECTED: derived edges, that is, what the rules derive from a part, may differ between the blocks and tell them
apart. Vertices in the same place of different blocks have the same degrees. This is a baseline to compare with.
"""
CUT = """The graph was divided into parts. Original edges between parts are left out, and the guarantee is one for
the graph without them.
"""
WEIGHTS = "Weights lie between 0 and 1; all were replaced by others of a similar distribution.\n"
