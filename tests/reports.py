"""Reports for tests of the page: of every kind of item, secret and public, of each state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.graph.generators import ownership
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.release.publication import Folders
from kgreason.release.report.pictures import pictures
from kgreason.release.report.report_data import Chart, Figure, Finding, Picture, Report, Section, State, Table
from tests.conftest import CONTROL, OWNERSHIP

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "]]>--><svg onload=alert(1)>",
    "line\u2028separator\u2029and\x00nul\x1b[31m",
    "\u202egnp.exe",
    "\ud800 half a pair",
    "&lt;b&gt; {{ 7 * 7 }} {% raw %} ${7*7}",
    "x" * 300,
)


def companies(
    n: int = 120, made: int = 12, seed: int = 7
) -> tuple[KnowledgeGraph, KnowledgeGraph, np.ndarray]:
    """A graph, one with synthetic vertices and edges as a release would have, and the mapping."""
    rng = np.random.default_rng(seed)
    original = ownership(n, rng)
    (name,) = original.relations
    relation = original.relations[name]
    size = original.n + made
    mapping = rng.permutation(size)[: original.n]
    new = rng.choice(size, size=(len(relation) // 2 + made, 2))
    new = new[new[:, 0] != new[:, 1]]
    edges = Relation(
        np.concatenate([mapping[relation.source], new[:, 0]]),
        np.concatenate([mapping[relation.target], new[:, 1]]),
        np.round(rng.random(len(relation) + len(new)), 2),
    )
    labels = np.array([f"v{number:05d}" for number in rng.permutation(size)], dtype=object)
    return original, KnowledgeGraph(labels, {name: edges}), mapping


def two_pictures(n: int = 120) -> tuple[Picture, Picture]:
    """Pictures of a graph and its release."""
    return pictures(*companies(n), np.random.default_rng(3))


def hostile_pictures() -> tuple[Picture, Picture]:
    """Pictures of which every label tries to become something else."""
    count = len(HOSTILE)
    at = tuple(i / count for i in range(count))
    edges = tuple((i, (i + 1) % count, HOSTILE[i], HOSTILE[-1 - i], i % 2 == 0) for i in range(count))
    drawn = Picture(HOSTILE[0], at, at, HOSTILE, (False,) * count, edges, note=HOSTILE[1])
    return drawn, replace(drawn, title=HOSTILE[1], synthetic=(True,) * count)


def sample_report(secret: bool = True, state: State = "holds", vertices: int = 120) -> Report:
    """A report with items of every kind."""
    return Report(
        title="Release of own.csv" if secret else "An anonymized knowledge graph",
        secret=secret,
        state=state,
        verdict=f"(3,4)-isomorphism {state}",
        done="6 synthetic companies and 238 synthetic shareholdings were added to 291 companies and 329 shareholdings, "
        "and every share and every name was replaced.",
        safe="Whoever knows four connected companies and all that the rules derive from them finds them at three "
        "places of the release at least, and cannot tell which of the three is the right one.",
        sections=tuple(_sections(secret, state, vertices)),
        parameters=_PARAMETERS,
        warnings=(
            "The seed 7 was given: who knows it can draw the same release. Use it for experiments only.",
        ),
    )


def _sections(secret: bool, state: State, vertices: int) -> list[Section]:
    sections = [
        Section(
            "Guarantee", "What was promised, and whether an independent check confirms it.", _guarantee(state)
        ),
        Section("Risk", "How many vertices fit what an attacker may know of his target.", _risk(secret)),
        Section(
            "Utility", "What queries answer on the release, compared with the original.", _utility(secret)
        ),
        Section("Distributions", "How the shape of the graph has changed.", _distributions(secret)),
    ]
    files = Table("Files", ("file", "what it is"), (("own.csv", "edges of the relation own"),))
    sections.append(Section("Files", "How to read the release.", (files,)))
    if secret:
        shown = two_pictures(vertices)
        sections.append(Section("Picture", "The same vertices stand at the same places.", shown))
    return sections


def _guarantee(state: State) -> tuple[Figure | Finding, ...]:
    witnesses = tuple(f"{a}, {b}: only 2 places" for a, b in zip("ABCDE", "FGHIJ", strict=True))
    return (
        Figure(
            "δ-anonymity",
            "1.000 (1,850 of 1,850, exact)",
            "better is 1",
            "δ-anonymity",
            number=1.0,
            note="For x = 4.",
            key=True,
        ),
        Finding("mapping", "holds", "each of 291 vertices has its own among 297", term="mapping"),
        Finding("weights", "given up", "the weights stay as they are, as was asked for", term="weights"),
        Finding(
            "images",
            state,
            "1,850 of 1,850 subgraphs have 3 places",
            witnesses * (state != "holds"),
            "images",
        ),
        Finding("connected", "undecided", "the search was given up after 60 s", witnesses[:1]),
    )


def _risk(secret: bool) -> tuple[Figure | Table, ...]:
    before = "1.000" if secret else None
    rows = (
        ("degree", "1", "3", "0.012"),
        ("degree and neighbours", "1", "3", "1,204.5"),
        ("all", "—", "3", "0.333"),
    )
    return (
        Figure(
            "prosecutor's risk",
            "0.333",
            "better is less",
            "prosecutor's risk",
            before,
            1 / 3,
            "The highest.",
            True,
        ),
        Figure("journalist's risk", "0.333", "better is less", "journalist's risk", before, 1 / 3),
        Figure(
            "marketer's risk",
            "0.021",
            "better is less",
            "marketer's risk",
            "0.410" if secret else None,
            0.021,
        ),
        Table(
            "Candidate sets by what is known",
            ("known", "smallest before", "smallest after", "mean risk"),
            rows,
            "better is more",
            "candidate set",
            "Sizes of the sets of vertices that fit.",
        ),
    )


def _utility(secret: bool) -> tuple[Figure | Table, ...]:
    if not secret:
        return (Figure("U", "0.000", "better is 0", "U", number=0.0),)
    rows = (("holding", "59", "72", "0", "13", "0.181"), ("two_owns", "85", "111", "0", "26", "0.234"))
    columns = ("query", "answers before", "answers after", "lost", "gained", "U△")
    return (
        Figure("U", "0.000", "better is 0", "U", number=0.0),
        Figure("U△", "0.207", "better is 0", "U△", number=0.207, key=True),
        Table("Answers of each query", columns, rows, "better is fewer lost and gained", "query"),
    )


def _distributions(secret: bool) -> tuple[Chart, ...]:
    degrees = ("0", "1", "2", "3 to 4", "5 to 8", "9 to 16", "17 or more")
    shares = tuple(f"{i / 10:.1f} to {(i + 1) / 10:.1f}" for i in range(10))
    before = (0.41, 0.3, 0.14, 0.08, 0.04, 0.02, 0.01) if secret else ()
    weights = (0.2, 0.18, 0.15, 0.12, 0.1, 0.08, 0.07, 0.05, 0.03, 0.02) if secret else ()
    counted = "share of vertices"
    return (
        Chart(
            "In-degrees",
            "number of incoming edges",
            degrees,
            before,
            (0.2, 0.35, 0.2, 0.12, 0.08, 0.04, 0.01),
            counted,
            "in-degree",
            "Wasserstein-1 distance 0.78 edges; better is less.",
        ),
        Chart("Weights of own", "share held", shares, weights, (0.1,) * 10, "share of edges", "weight"),
    )


def real_reports(folder: Path) -> dict[str, Path]:
    """Pages of small releases of all three families, by family and folder."""
    import kgreason
    from kgreason.links.school import school

    places = {
        name: Folders(folder / name / "release", folder / name / "private")
        for name in ("rules", "people", "links")
    }
    rng = np.random.default_rng(1)
    kgreason.anonymize(
        CONTROL, {"own": OWNERSHIP}, method="klone", k=2, x=3, trials=2, folders=places["rules"]
    )
    names = [f"Canary {i}" for i in range(12)]
    people = kgreason.people.PeopleGraph.from_triples(
        names,
        [(name, "job", "cook" if i % 3 else "nurse") for i, name in enumerate(names)]
        + [(names[i], "follows", names[(i * i + 1) % 12]) for i in range(12) if (i * i + 1) % 12 != i],
    )
    kgreason.people.anonymize(people, method="pckga", k=3, folders=places["people"])
    kgreason.links.anonymize(school(rng, students=24, classes=6, groups=6), k=4, folders=places["links"])
    return {
        f"{name} {part.name}": part / "report.html"
        for name, both in places.items()
        for part in (both.private, both.release)
    }


_PARAMETERS = {
    "method": "kguard",
    "k": 3,
    "x": [4],
    "seed": None,
    "forced": False,
    "versions": {"kgreason": "0.1.0", "numpy": "2.4.1", "python": "3.11.2"},
    "sha256 of own.csv": "437c629951bab72dc8dd9aa93bbfd33e46e83704859ce4b62946820c7b82ce49",
    "command": "kgreason anonymize --rules control.vada --method kguard -k 3 -x 4",
}
