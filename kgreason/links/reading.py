"""Reading observed and sensitive links: from files with a schema, or from rules and their data.

Notes warn of data that disclose sensitive links.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import DataError
from kgreason.base.progress import SILENT, Progress
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.formats.delimited import write_csv
from kgreason.data.program_tables import Data
from kgreason.engine.post_processing import apply_posts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.measures import keys
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.vocabulary import suggest
from kgreason.links.model import LinkGraph, Observations, Original, Sensitive, observations
from kgreason.people.file_schema import LINKS, ROLES, Schema
from kgreason.people.model import PeopleGraph, Texts, distinct_links
from kgreason.people.reading import Statements, joined, read_statements

_ALIKE = 0.9  # Jaccard index of two relations from which one discloses the other
_FEWEST = 10  # links needed to suspect that a relation is mutual
_SHOWN = 3


def read(schema: Schema | Path | str, sensitive: str, progress: Progress = SILENT) -> Original:
    """Read a graph of observed links and its sensitive relation.

    Files and entities are as for `kgreason.people.read`, but repeated rows of an observed relation are separate
    observations (two classes taken together) and are counted. Rows in both directions of a mutual relation state the
    same links: a pair has as many links as the direction with more rows. Entities that occur in sensitive links only
    are left out with these links, and the numbers of the others do not depend on sensitive links.

    Parameters
    ----------
    schema
        A schema, its file, or a folder with a ``people.toml``.
    sensitive
        Name of the sensitive relation, which is not part of the graph.
    progress
        Receives notes on data left out and on disclosed sensitive links.

    Raises
    ------
    DataError
        If a file does not match the schema, the relation does not exist, or there is no other one.
    """
    stated = read_statements(schema, progress, sensitive)
    _check_schema(stated, sensitive)
    secret = _sensitive(stated, sensitive, progress)
    stated.remarks.counts.pop("completed", None)  # a single row of an undirected link is complete
    relations = [name for name, kind in stated.kinds.items() if kind in LINKS and name != sensitive]
    observed = {name: _counted(stated, name) for name in relations}
    graph = LinkGraph(stated.labels[: stated.known], observed, stated.attributes())
    original = Original(graph, secret)
    stated.remarks.check(PeopleGraph(graph.labels, graph.attributes, {}))
    stated.remarks.report(progress)
    _note_reciprocal(graph, progress)
    _note_disclosing(original, progress)
    return original


def _check_schema(stated: Statements, sensitive: str) -> None:
    relations = [name for name, kind in stated.kinds.items() if kind in LINKS]
    kind = stated.kinds.get(sensitive)
    if kind is None:
        near = suggest(sensitive, relations)
        asked = f"did you mean {near!r}?" if near else f"there are {', '.join(relations) or 'no relations'}"
        raise stated.schema.error(f"there is no relation {sensitive!r} that could be sensitive", hint=asked)
    if kind not in LINKS:
        what = "ignored" if kind == "ignore" else f"a {kind} attribute, not a relation"
        hint = f"name it among relations or mutual if it links entities; the relations are {', '.join(relations)}"
        raise stated.schema.error(f"{sensitive!r}, which is to be sensitive, is {what}", hint=hint)
    if relations == [sensitive]:
        hint = "name the relations among relations or mutual; without any no link is released"
        raise stated.schema.error(f"besides the sensitive {sensitive!r} there is no relation", hint=hint)


def _sensitive(stated: Statements, name: str, progress: Progress) -> Sensitive:
    """Sensitive links between entities with other data."""
    found = stated.links(name)
    once = found.source < found.target if found.mutual else np.ones(len(found), dtype=np.bool_)
    known = np.maximum(found.source, found.target) < stated.known
    gone = int((once & ~known).sum())
    _note_left_out(stated.labels[stated.known :], gone, name, progress)
    rows = np.flatnonzero(once & known)
    return Sensitive(name, found.source[rows], found.target[rows], found.mutual, gone)


def _counted(stated: Statements, name: str) -> Observations:
    """Links of a relation; of a mutual pair with rows in both directions, the larger count of the two."""
    parts = stated.entries[name]
    source, target = joined([p.number for p in parts]), joined([p.other for p in parts])
    apart = source != target
    stated.remarks.count("loops", name, int((~apart).sum()))
    found = observations(source[apart], target[apart])
    if stated.kinds[name] != "mutual":
        return found
    n = max(stated.known, 1)
    key, place = np.unique(keys(n, found.source, found.target), return_inverse=True)
    count = np.zeros(len(key), dtype=np.int64)
    np.maximum.at(count, place, found.count)
    return Observations(key // n, key % n, count, mutual=True)


def _note_disclosing(original: Original, progress: Progress) -> None:
    """Note observed relations that nearly equal the sensitive one."""
    graph, secret = original.graph, original.sensitive
    hidden = np.unique(keys(graph.n, secret.source, secret.target))
    for name, found in graph.observed.items():
        pairs = np.unique(keys(graph.n, found.source, found.target))
        both = len(np.intersect1d(pairs, hidden, assume_unique=True))
        share = both / max(len(pairs) + len(hidden) - both, 1)
        if share >= _ALIKE:
            progress.note(
                f"{name} links nearly the same entities as {secret.name} ({100 * share:.0f} % of the pairs of either): "
                f"it discloses {secret.name}. Leave it out, or release no links"
            )


def _note_left_out(labels: Texts, links: int, name: str, progress: Progress) -> None:
    """Note entities that occur in sensitive links only, and the number of links left out with them."""
    if not len(labels):
        return
    shown = ", ".join(repr(label) for label in labels[:_SHOWN].tolist())
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    progress.note(
        f"of {shown}{more} nothing is known but {name}: {len(labels):,} entities and {links:,} links of {name} are "
        "removed, since nodes without links and values would disclose them. A table that lists entities keeps them"
    )


def _note_reciprocal(graph: LinkGraph, progress: Progress) -> None:
    """Note relations that may be mutual without being declared so: every link has its reverse."""
    for name, found in graph.observed.items():
        back = np.sort(found.target * graph.n + found.source)
        same = bool((back == found.source * graph.n + found.target).all())
        if not found.mutual and len(found) >= _FEWEST and same:
            progress.note(
                f"each link of {name} has its reverse: if {name} is mutual, say so, or each link counts as two"
            )


def links_of_program(
    program: CheckedProgram, data: Data, sensitive: str, progress: Progress = SILENT
) -> Original:
    """Read the ground edges of a program as observed links, and the sensitive links of a predicate.

    Links are directed, and weighted if edges are; parallel edges of different weights are separate links. Loops are
    left out, and so are entities that occur in sensitive edges only.

    Parameters
    ----------
    data
        Sources of facts; see `kgreason.data.fact_loading.load_facts`.
    sensitive
        An edge predicate, which is then not observed, or a predicate of pairs of entities that the rules derive or the
        data hold.

    Raises
    ------
    DataError
        If the predicate does not exist or holds no pairs of entities, nothing else is observed, or the data are
        invalid.
    ProgramError, EvaluationError
        If rules and data do not match.
    """
    _check(program, sensitive)
    others = tuple(edge for edge in program.edges if edge != sensitive)
    rest = {name: some for name, some in data.items() if name != sensitive or name not in program.edges}
    graph = load_graph(replace(program, edges=others), rest, progress)
    observed = {name: _observed(name, relation, progress) for name, relation in graph.relations.items()}
    source, target, left_out = (
        _derived(program, data, graph, sensitive, progress)
        if sensitive not in program.edges or sensitive in program.heads
        else _ground(program, data, graph, sensitive, progress)
    )
    if loops := int((source == target).sum()):
        progress.note(f"{sensitive}: {loops:,} pairs of an entity and itself are no links, left out")
    pairs = distinct_links(graph.n, source, target)
    secret = Sensitive(sensitive, pairs.source, pairs.target, left_out=left_out)
    original = Original(LinkGraph(graph.labels, observed), secret)
    _note_disclosing(original, progress)
    return original


def _check(program: CheckedProgram, sensitive: str) -> None:
    arity = program.arities.get(sensitive)
    if arity is None and sensitive not in program.edges:
        near = suggest(sensitive, program.arities)
        known = sorted({*program.edges, *(p for p in program.heads if program.arities[p] == 2)})
        asked = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
        raise DataError(
            program.file, f"there is no predicate {sensitive!r} that could be sensitive", hint=asked
        )
    if arity != 2 and sensitive not in program.edges:
        raise DataError(
            program.file,
            f"{sensitive!r}, which is to be sensitive, has {arity} arguments",
            hint=f"add a rule that leaves two entities, as in pair(X, Y) :- {sensitive}(X, Y, ...)",
        )
    if set(program.edges) == {sensitive}:
        hint = "say with @edge which other links are released"
        raise DataError(program.file, f"besides the sensitive {sensitive!r} there are no edges", hint=hint)


def _observed(name: str, relation: Relation, progress: Progress) -> Observations:
    links = relation.take(relation.source != relation.target)
    if loops := len(relation) - len(links):
        progress.note(f"{name}: {loops:,} edges from an entity to itself are no links, left out")
    return observations(links.source, links.target, weight=links.weight)


def _ground(
    program: CheckedProgram, data: Data, graph: KnowledgeGraph, sensitive: str, progress: Progress
) -> tuple[Vertices, Vertices, int]:
    """Sensitive edges between entities with other data, and the number of other sensitive edges."""
    own = {name: some for name, some in data.items() if name == sensitive}
    alone = load_graph(replace(program, edges=(sensitive,), nodes=()), own, progress)
    number = {label: i for i, label in enumerate(graph.labels.tolist())}
    entity = np.array([number.get(label, -1) for label in alone.labels.tolist()], dtype=np.int64)
    relation = alone.relations[sensitive]
    source, target = entity[relation.source], entity[relation.target]
    known = (source >= 0) & (target >= 0)
    apart = relation.source != relation.target
    gone = np.unique(np.stack([relation.source, relation.target])[:, ~known & apart], axis=1).shape[1]
    _note_left_out(alone.labels[entity < 0], gone, sensitive, progress)
    return source[known], target[known], gone


def _derived(
    program: CheckedProgram, data: Data, graph: KnowledgeGraph, sensitive: str, progress: Progress
) -> tuple[Vertices, Vertices, int]:
    """Pairs of entities in a predicate after reasoning, and the number of facts that are none."""
    _note_probabilities(program, sensitive, progress)
    facts = load_facts(program, data, SILENT, [sensitive])  # reading the graph has made the notes already
    found = evaluate(program, facts, goals=[sensitive], progress=progress).facts
    number = {label: i for i, label in enumerate(graph.labels.tolist())}
    rows = [
        [number.get(str(value), -1) if isinstance(value, str | int) else -1 for value in row]
        for row in apply_posts(program, found).rows(sensitive)
    ]
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    pairs = pairs[(pairs >= 0).all(axis=1)]
    if strange := len(rows) - len(pairs):
        if not len(pairs):
            raise DataError(
                program.file,
                f"{sensitive!r}, which is to be sensitive, holds no pairs of entities",
                hint="its arguments must be ends of edges or vertices",
            )
        progress.note(f"{sensitive}: {strange:,} facts are no pairs of entities of the graph, left out")
    return pairs[:, 0].copy(), pairs[:, 1].copy(), strange


def _note_probabilities(program: CheckedProgram, sensitive: str, progress: Progress) -> None:
    """Note rules with probabilities, which are taken as certain."""
    probable = [rule for rule in program.rules if rule.weight is not None and rule.weight < 1]
    if probable:
        progress.note(
            f"which {sensitive} are true is derived as if all rules were certain, but @label gives "
            f"{probable[0].label!r} the probability {probable[0].weight:g}. If that is an attacker's, name the "
            "true rules by --rules, and the attacker's by --other-rules"
        )


def write_triples(path: Path, original: Original) -> None:
    """Write a row ``user,relation,target`` for each link, sensitive ones last, without weights and values."""
    graph, secret = original.graph, original.sensitive
    source, name, target = [], [], []
    for relation, found in graph.observed.items():
        source.append(np.repeat(found.source, found.count))
        target.append(np.repeat(found.target, found.count))
        name.append(np.full(found.total, relation, dtype=object))
    source.append(secret.source)
    target.append(secret.target)
    name.append(np.full(len(secret), secret.name, dtype=object))
    ends = graph.labels[np.concatenate(source)], graph.labels[np.concatenate(target)]
    with replacing(path) as temporary:
        write_csv(temporary, ROLES, (ends[0], np.concatenate(name), ends[1]))
