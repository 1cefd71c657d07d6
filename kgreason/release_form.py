"""Whether the folder of a release of a graph under rules is what kgreason writes of it: condition ``files``.

Rows of edges stand in a random order, so any order is taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kgreason.analysis.checked import CheckedProgram
from kgreason.arguments import anonymizable
from kgreason.assess.verdict import Item
from kgreason.form import FILES, README, REPORT, UNVERIFIED, Expected, files, is_of_kgreason
from kgreason.graph.labels import fresh
from kgreason.graph.model import KnowledgeGraph
from kgreason.layout import Layout, found_edges, found_nodes
from kgreason.release_tables import COLUMNS, safe_names, write_tables
from kgreason.release_text import claim_of, public_rules, readme
from kgreason.report.rules import public_report
from kgreason.report.words import Promise
from kgreason.report.write import texts as report_texts

RULES = "rules.vada"
OTHER_RULES = (
    f"{RULES} holds other rules than those that are named, so whether it tells more is not known: name the rules that "
    "the release was made with, or its table in place of the folder to judge the graph alone"
)


def form(
    folder: Path, released: KnowledgeGraph, rules: CheckedProgram, original: KnowledgeGraph | None = None
) -> Item:
    """Whether a folder holds the files of a release and nothing else, not even in them.

    Parameters
    ----------
    released
        What was read from it: rows in their order, none left out.
    rules
        Those that the release was made with.
    original
        If it is known, names of columns must be those of it.

    Returns
    -------
    Item
        Called ``files``.
    """
    program = anonymizable(rules)
    edges = {predicate: found_edges(folder, predicate) for predicate in program.edges}
    nodes = found_nodes(folder, edges.values())
    assert nodes is not None
    layout = Layout(edges, nodes)
    node = program.nodes[0] if program.nodes else "node"
    text = public_rules(program, layout)
    given = folder / RULES
    if is_of_kgreason(folder) and given.is_file() and given.read_bytes() != text.encode():
        return Item(FILES, False, OTHER_RULES, undecided=True)
    weighted = any(relation.weight is not None for relation in released.relations.values())

    def texts(holds: bool, seeded: bool) -> Mapping[str, bytes]:
        made = {RULES: text.encode(), README: b"", **dict.fromkeys(REPORT, b"")}
        file = folder / README
        claim = claim_of(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
        if claim is None:
            return made
        guarantee, sizes = claim
        marks = {"holds": holds, "seeded": seeded}
        words = readme(program, guarantee, layout, sizes, weighted=weighted, **marks)
        names = (*layout.files, *made, *(() if holds else (UNVERIFIED,)))
        promise = Promise.of(guarantee, sizes, tuple(released.relations), program.derived)
        report = public_report(released, promise, confirmed=holds, seeded=seeded, files=names)
        return {**made, README: words.encode(), **report_texts(folder, report)}

    expected = Expected(
        layout.files,
        lambda place: write_tables(place, released, layout, node),
        texts,
        (RULES,),
        released.n + released.m,
    )
    return files(folder, expected, _told(folder, released, layout, original))


def _told(
    folder: Path, released: KnowledgeGraph, layout: Layout, original: KnowledgeGraph | None
) -> Iterator[str]:
    """Names that say something: of vertices that kgreason did not draw, of columns that the original does not have."""
    if is_of_kgreason(folder) and not layout.numbered:
        labels = (label for label in released.labels.tolist() if not fresh(label))
        yield from (f"{label}: no name that kgreason draws" for label in labels)
    for name, known in original.relations.items() if original is not None else ():
        columns = released.relations[name].columns
        if not {*columns} <= {*known.columns, *safe_names(known.columns), *COLUMNS}:
            named = f"{', '.join(columns)}, in the original {', '.join(known.columns)}"
            yield f"{layout.edges[name].file}: columns are called {named}"
