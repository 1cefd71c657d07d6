"""Split & merge: parts that are protected, edges that are known to be lost, processes that agree and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.base.progress import SILENT
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph, inside, pieces
from kgreason.isomorphism.anonymizers import split_merge
from kgreason.isomorphism.anonymizers.assembly import is_symmetric, publish
from kgreason.isomorphism.anonymizers.kguard_published import PublishedKguard
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.partition import _with_least, partition
from kgreason.isomorphism.anonymizers.split_merge import SplitMerge, joining_edges
from kgreason.isomorphism.definition import Augmented
from kgreason.isomorphism.reading import read_parts
from kgreason.isomorphism.release_tables import write_graph, write_parts
from kgreason.isomorphism.verification.checker import verify
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_file
from kgreason.release.publication import Folders
from tests.cli.test_commands import run
from tests.examples import inputs
from tests.graphs import graphs, mirrored


def rules(name: str) -> CheckedProgram:
    return load_file(str(resource("rules", f"{name}.vada")))


CONTROL, REACH = rules("control"), rules("reachability")


@pytest.fixture(params=[1, 2])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(split_merge, "cores", lambda: request.param)
    return int(request.param)


def numbered(parts: list[int]) -> np.ndarray:
    return np.unique(np.array(parts), return_inverse=True)[1].reshape(-1)


@settings(max_examples=inputs(80), deadline=None)
@given(graphs(least=2), st.data())
def test_pieces_hold_all_but_the_edges_between(graph: KnowledgeGraph, data: st.DataObject) -> None:
    parts = numbered(data.draw(st.lists(st.integers(0, 2), min_size=graph.n, max_size=graph.n)))
    kept, divided = inside(graph, parts), pieces(graph, parts)
    assert sorted(v for p in divided for v in p.vertices.tolist()) == list(range(graph.n))
    for name, r in graph.relations.items():
        same = [i for i in range(len(r)) if parts[r.source[i]] == parts[r.target[i]]]
        assert sorted(i for p in divided for i in p.rows[name].tolist()) == same
        assert kept.relations[name].source.tolist() == r.source[same].tolist()
        for p in divided:
            own, rows = p.graph.relations[name], p.rows[name]
            assert p.vertices[own.source].tolist() == r.source[rows].tolist()
            assert p.vertices[own.target].tolist() == r.target[rows].tolist()
            assert (own.weight is None) == (r.weight is None)
            if own.weight is not None and r.weight is not None:
                assert own.weight.tolist() == r.weight[rows].tolist()
            assert p.graph.labels.tolist() == graph.labels[p.vertices].tolist()


@settings(max_examples=inputs(25), deadline=None)
@given(graphs(least=4, most=12, edges=20), st.integers(0, 99), st.booleans(), st.data())
def test_every_part_is_protected(graph: KnowledgeGraph, seed: int, both: bool, data: st.DataObject) -> None:
    graph = mirrored(graph) if both else graph
    parts = numbered(data.draw(st.lists(st.integers(0, 2), min_size=graph.n, max_size=graph.n)))
    if "knows" in graph.relations:
        graph = replace(graph, relations={"own": graph.relations["own"]})
    program = replace(CONTROL, incoming_sums={})
    rng = np.random.default_rng(seed)
    augmented = SplitMerge(Klone(2, 1), parts).augment(graph, program, rng, SILENT)
    release = publish(augmented, frozenset(graph.labels.tolist()), rng)
    x = min(3, graph.n)
    verdict = verify(graph, release.graph, release.mapping, program, 2, x, parts=parts)
    cut = graph.m - inside(graph, parts).m
    assert augmented.guarantee.cut == cut == augmented.figures["cut_edges"]
    assert verdict.as_promised
    assert verdict.holds == (cut == 0)
    assert verdict["augmentation"].given_up == (cut > 0)
    if cut:
        assert verdict["augmentation"].detail.startswith(f"lost for {cut:,} of ")
        strict = verify(graph, release.graph, release.mapping, program, 2, x)
        assert not strict.as_promised
        assert "within parts" in str(release.guarantee)
    if is_symmetric(graph) and all(is_symmetric(p.graph) for p in pieces(graph, parts)):
        assert is_symmetric(release.graph)


@settings(max_examples=inputs(60), deadline=None)
@given(graphs(least=2, most=9, second=False), st.integers(0, 99), st.booleans(), st.data())
def test_joints_leave_degrees_apart(
    graph: KnowledgeGraph, seed: int, both: bool, data: st.DataObject
) -> None:
    graph = mirrored(graph) if both else graph
    part = numbered(data.draw(st.lists(st.integers(0, 3), min_size=graph.n, max_size=graph.n)))
    no, rng = np.zeros(graph.n, dtype=np.bool_), np.random.default_rng(seed)
    source, target = joining_edges(graph, part, np.empty(0, dtype=np.int64), no, rng, symmetric=both)
    assert len(source) == part.max()
    tree = KnowledgeGraph.from_edges(
        [(str(a), str(b)) for a, b in zip(part[source], part[target], strict=True)], vertices=["0"]
    )
    assert tree.components()[0] == 1
    more = (np.concatenate([source, target]), np.concatenate([target, source])) if both else (source, target)
    for ends, before in zip(more, (graph.out_degree(), graph.in_degree()), strict=True):
        after = before + np.bincount(ends, minlength=graph.n)
        for u in range(graph.n):
            for v in range(u):
                assert part[u] != part[v] or before[u] == before[v] or after[u] != after[v]


def test_barred_edges_are_not_chosen() -> None:
    graph = KnowledgeGraph.from_edges([("a", "b"), ("c", "d"), ("a", "d"), ("c", "b")])
    part = np.array([0, 0, 1, 1])  # a -> b, c -> d, where a -> d and c -> b are cut
    kept = inside(graph, part)
    no = np.zeros(4, dtype=np.bool_)
    every = np.arange(16)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (source,), (target,) = joining_edges(kept, part, np.array([3, 12]), no, rng)
        assert (int(source), int(target)) == (
            2,
            1,
        )  # a and c have the greatest out-degrees, b and d in-degrees
    with pytest.raises(AnonymizationError, match="no edge was found that joins two parts"):
        joining_edges(kept, part, every, no, np.random.default_rng(0))


def test_the_checker_knows_exactly_which_edges_may_be_lost() -> None:
    rng = np.random.default_rng(0)
    graph = erdos_renyi(60, 180, rng)
    parts = np.arange(60) // 30
    augmented = SplitMerge(Klone(2, 1), parts).augment(graph, REACH, rng, SILENT)
    release = publish(augmented, frozenset(), rng)
    found = verify(graph, release.graph, release.mapping, REACH, 2, 2, parts=parts)
    assert found.as_promised
    assert found.as_dict()["as_promised"]
    (own,) = release.graph.relations.values()
    assert own.weight is not None
    other = parts.copy()
    other[0] = 1  # it says that other edges are cut than really are
    wrong = verify(graph, release.graph, release.mapping, REACH, 2, 2, parts=other)
    assert not wrong.as_promised
    r = graph.relations["own"]
    at = int(np.flatnonzero(parts[r.source] != parts[r.target])[0])
    ends = release.mapping[[r.source[at]]], release.mapping[[r.target[at]]]
    kept = replace(
        own,
        source=np.concatenate([own.source, ends[0]]),
        target=np.concatenate([own.target, ends[1]]),
        weight=np.concatenate([own.weight, [0.5]]),
    )
    more = replace(release.graph, relations={"own": kept})
    cut = int(augmented.figures["cut_edges"])
    item = verify(graph, more, release.mapping, REACH, 2, 2, parts=parts)["augmentation"]
    assert item.detail == f"{cut - 1} edges are lost, but {cut} run between parts"
    assert not item.given_up


def test_one_and_two_processes_agree(cores: int, ownership_of: Callable[[], KnowledgeGraph]) -> None:
    graph = ownership_of()
    parts = partition(graph, 40, 3)
    found = SplitMerge(PublishedKguard(2, 3, 2, 10**7), parts).augment(
        graph, CONTROL, np.random.default_rng(5), SILENT
    )
    (own,) = found.graph.relations.values()
    assert own.weight is not None
    seen = (own.source.tolist(), own.target.tolist(), own.weight.tolist(), found.figures)
    assert SEEN.setdefault("first", seen) == seen


SEEN: dict[str, object] = {}


@pytest.fixture
def ownership_of() -> Callable[[], KnowledgeGraph]:
    return lambda: scale_free(120, 3.0, np.random.default_rng(3), economic=True)


class Failing:
    """An anonymizer that refuses a part."""

    def __init__(self, failure: Callable[[KnowledgeGraph], None]) -> None:
        self.failure = failure

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: object
    ) -> Augmented:
        self.failure(graph)
        return Klone(2, 1).augment(graph, rules, rng, SILENT)


def refuse(graph: KnowledgeGraph) -> None:
    if "v0" in graph.labels:
        raise AnonymizationError("too odd a graph", hint="take another one")


def test_an_error_of_a_part_is_the_error_of_the_whole(cores: int) -> None:
    graph = erdos_renyi(40, 100, np.random.default_rng(0))
    graph = replace(graph, labels=np.array([f"v{i}" for i in range(40)], dtype=object))
    split = SplitMerge(Failing(refuse), np.arange(40) // 10)
    with pytest.raises(AnonymizationError, match="too odd a graph") as error:
        split.augment(graph, REACH, np.random.default_rng(0), SILENT)
    assert error.value.hint == "take another one"


@pytest.mark.skipif(sys.platform != "linux", reason="the function is handed over by a fork")
def test_a_process_that_the_system_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_merge, "cores", lambda: 2)
    with pytest.raises(MemoryError, match="the system ended one of the processes"):
        split_merge.in_processes(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1, 2, 3], lambda: None)


def test_processes_keep_the_order_and_tell_what_is_done(cores: int) -> None:
    done: list[int] = []
    found = split_merge.in_processes(lambda i: i * i, list(range(9)), lambda: done.append(1))
    assert found == [i * i for i in range(9)]
    assert len(done) == 9


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the processes of the system")
def test_an_interruption_ends_all_processes(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import time\n"
        "from kgreason.isomorphism.anonymizers import split_merge\n"
        "split_merge.cores = lambda: 2\n"
        "print('begun', flush=True)\n"
        "split_merge.in_processes(lambda _: time.sleep(600), [1, 2, 3], lambda: None)\n"
    )
    running = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    running.stdout.readline()

    def children() -> list[str]:
        return Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()

    deadline = time.monotonic() + 30
    while len(children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    begun = children()
    assert len(begun) == 2
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode != 0
    assert "KeyboardInterrupt" in said
    assert not any(Path(f"/proc/{pid}").exists() for pid in begun)


def test_parts_are_balanced_and_follow_the_graph() -> None:
    graph = scale_free(2_000, 5.0, np.random.default_rng(0))
    parts = partition(graph, 250, 4)
    sizes = np.bincount(parts)
    assert len(sizes) == 8
    assert sizes.max() < 1.1 * 250
    assert graph.m - inside(graph, parts).m < 0.1 * graph.m
    assert partition(graph, 250, 4).tolist() == parts.tolist()
    assert partition(graph, 5_000, 4).max() == 0


def test_parts_too_small_for_a_subgraph() -> None:
    graph = erdos_renyi(50, 100, np.random.default_rng(0))
    with pytest.raises(AnonymizationError, match="parts of 3 vertices hold no subgraph of 4"):
        partition(graph, 3, 4)
    assert _with_least(np.array([0, 0, 0, 5, 5, 9]), 3).tolist() == [0, 0, 0, 1, 1, 1]
    assert _with_least(np.array([4, 4]), 3).tolist() == [0, 0]


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    graph = erdos_renyi(50, 100, np.random.default_rng(0))
    with pytest.raises(AnonymizationError, match="needs the package pymetis") as error:
        partition(graph, 10, 4)
    assert "--split" in (error.value.hint or "")


def test_release_with_parts_is_verified_from_its_files(tmp_path: Path) -> None:
    graph = scale_free(120, 3.0, np.random.default_rng(0), economic=True)
    folders = Folders(tmp_path / "release", tmp_path / "private")
    done = kgreason.anonymize(
        resource("rules", "control.vada"),
        graph,
        method="klone",
        k=2,
        x=3,
        trials=1,
        split=30,
        folders=folders,
    )
    assert done.holds
    assert not done.verdict.holds
    assert done.release.parts is not None
    assert read_parts(folders.private / "parts.csv", graph).tolist() == done.release.parts.tolist()
    readme = (folders.release / "README.txt").read_text()
    assert "Original edges between parts were removed" in readme
    assert not (folders.release / "UNVERIFIED").exists()
    mapping, released = done.release.mapping, done.release.graph
    assert kgreason.verify(
        graph, released, mapping, resource("rules", "control.vada"), k=2, x=3, parts=done.release.parts
    ).as_promised


def test_the_command_line_says_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = scale_free(60, 3.0, np.random.default_rng(0), economic=True)
    write_graph(Path("own.csv"), graph)
    file = resource("rules", "control.vada")
    options = ["--rules", file, "--method", "klone", "-k", "2", "-x", "3", "--trials", "1"]
    done = run("anonymize", *options, "--data", "own=own.csv", "--split", "30")
    assert done.exit_code == 0
    lost = next(line for line in done.stdout.splitlines() if line.startswith("given up"))
    assert lost.split(maxsplit=2)[2].startswith("augmentation: lost for ")
    assert "holds within parts for every x" in done.stdout
    files = ["release/own.csv", "--data", "own=own.csv", "--mapping", "private"]
    sizes = ["--rules", file, "-k", "2", "-x", "3"]
    again = run("verify", *sizes, *files)
    assert again.exit_code == 0
    assert (
        lost.split()[2:]
        == next(line for line in again.stdout.splitlines() if line.startswith("given up")).split()[2:]
    )
    Path("private/parts.csv").unlink()
    without = run("verify", *sizes, *files)
    assert without.exit_code == 1
    assert "pairs lack original edges" in without.stdout
    kept = run("anonymize", *options, "--data", "own=own.csv", "--split", "30", "--keep-cuts", "--force")
    assert kept.exit_code == 0
    assert "given up" not in kept.stdout
    assert not Path("private/parts.csv").exists()
    small = run("anonymize", *options, "--data", "own=own.csv", "--split", "2", "--force")
    assert small.exit_code == 2
    assert "parts of 2 vertices hold no subgraph of 3" in small.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("original,released\na,0\nb,0\n", "the header must be original,part"),
        ("original,part\na,0\n", "the original vertex 'b' has no row"),
        ("original,part\na,0\nb,-1\n", "'-1' is no number of an x-subgraph"),
        ("original,part\na,0\na,1\n", "stands twice"),
        ("original,part\na\n", "a row needs two fields original,part"),
    ],
)
def test_unusable_parts(tmp_path: Path, text: str, message: str) -> None:
    graph = KnowledgeGraph.from_edges([("a", "b")])
    file = tmp_path / "parts.csv"
    file.write_text(text)
    with pytest.raises(ReleaseError, match=message):
        read_parts(file, graph)
    write_parts(file, graph, np.array([7, 1]))
    assert read_parts(file, graph).tolist() == [7, 1]


def test_more_ends_of_edges_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.broadcast_to(np.int64(0), 2**31)
    monkeypatch.setattr("kgreason.isomorphism.anonymizers.partition.undirected", lambda _: (ends[:5], ends))
    with pytest.raises(AnonymizationError, match="the graph has 2,147,483,648 ends of edges, more than"):
        partition(erdos_renyi(10, 20, np.random.default_rng(1)), 5, 3)
