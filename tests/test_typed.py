"""The public interface has types: a user's program passes `mypy --strict`, and a wrong one does not."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.needs import needed

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
from collections.abc import Mapping
from typing import assert_type

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl

import kgreason
from kgreason.isomorphism.utility.query_utility import Fidelity
from kgreason.links.verification import LinksVerdict
from kgreason.people.utility import Utility as PeopleUtility
from kgreason.people.verification.verdict import PeopleVerdict
from kgreason.isomorphism.utility.query_utility import QueryUtility, Utility
from kgreason.isomorphism.verification.verdict import Delta, Verdict
from kgreason.release.verdicts import Item
from kgreason.links.attacks.disclosure import Disclosure
from kgreason.isomorphism.attacks.attack_results import Attack
from kgreason.isomorphism.risk.candidate_counts import Exposure
from kgreason.links.model import Original, Released
from kgreason.people.file_schema import Schema
from kgreason.language.values import Value
from kgreason.provenance.explanation import Explanation
from kgreason.release.report.report_data import Report

RULES = '@edge("own"). p(X,Y) :- own(X,Y).'
frame = pd.DataFrame({"a": ["x"], "b": ["y"]})

reasoned = kgreason.reason(RULES, {"own": frame}, outputs="p", limits=kgreason.Limits(rounds=10))
assert_type(reasoned, kgreason.Reasoned)
assert_type(reasoned.rows("p"), list[tuple[Value, ...]])
assert_type(reasoned.to_pandas("p"), pd.DataFrame)
assert_type(reasoned.to_polars("p"), pl.DataFrame)
assert_type(reasoned.to_networkx("p"), "nx.MultiDiGraph[str]")
assert_type(kgreason.explain(RULES, "p(X,Y)", {"own": frame}), Explanation)
reasoner = kgreason.Reasoner(RULES, {"own": frame})
assert_type(reasoner.add_facts({"own": [("a", "b")]}), kgreason.Changes)
assert_type(reasoner.result(), kgreason.Reasoned)

graph = kgreason.read_graph(RULES, pl.DataFrame({"a": ["x"], "b": ["y"]}))
assert_type(graph, kgreason.KnowledgeGraph)
assert_type(graph.labels, npt.NDArray[np.object_])
assert_type(graph.relations, Mapping[str, kgreason.Relation])
assert_type(graph.n, int)
assert_type(kgreason.to_networkx(graph), "nx.MultiDiGraph[str]")
assert_type(kgreason.to_pandas(graph), pd.DataFrame)
assert_type(kgreason.to_polars(graph), pl.DataFrame)
assert_type(kgreason.from_networkx(kgreason.to_networkx(graph)), kgreason.KnowledgeGraph)

result = kgreason.anonymize(RULES, kgreason.to_networkx(graph), method="klone", k=2, x=range(2, 4), mode="exact")
assert_type(result, kgreason.Anonymization)
assert_type(result.verdict, Verdict)
assert_type(result.verdict.items, tuple[Item, ...])
assert_type(result.verdict.delta, Delta | None)
assert_type(result.score, kgreason.Score)
assert_type(result.score.utility, Utility)
assert_type(result.score.utility.per_query, Mapping[str, QueryUtility])
assert_type(result.score.fidelity, Fidelity)
assert_type(result.mapping, dict[str, str])
assert_type(kgreason.report(result), Report)
assert_type(kgreason.verify(graph, result.release.graph, result.mapping, RULES, k=2), Verdict)
assert_type(kgreason.verify(graph, frame, frame, RULES, model="k-iso"), Verdict)
assert_type(kgreason.score(graph, result.release.graph, result.mapping, RULES), kgreason.Score)
attacks = kgreason.attack(graph, result.release.graph, result.mapping, RULES, weights="released")
assert_type(attacks, kgreason.Attacks)
assert_type(attacks["degree"], Attack)
risk = kgreason.risk(RULES, graph)
assert_type(risk, kgreason.Risk)
assert_type(risk.exposures, tuple[Exposure, ...])

schema = kgreason.people.schema(frame, id="a", links={"follows": [("x", "y")]}, mutual=["friends"])
assert_type(schema, Schema)
people = kgreason.people.read(schema)
assert_type(people, kgreason.people.PeopleGraph)
anonymous = kgreason.people.anonymize(people, method="ckga", k=2, loss="atdm", partition="merge-split")
assert_type(anonymous, kgreason.people.PeopleAnonymization)
assert_type(anonymous.utility, PeopleUtility | None)
assert_type(kgreason.people.verify(people, model="k-ad", k=2), PeopleVerdict)
assert_type(kgreason.people.score(people, people, {"x": "x"}), PeopleUtility)
assert_type(kgreason.to_networkx(people), "nx.MultiGraph[str]")

original = kgreason.links.read(schema, "friends")
assert_type(original, Original)
links = kgreason.links.anonymize(original, strategy="partial", percent=10)
assert_type(links, kgreason.links.LinksAnonymization)
assert_type(links.verdict, LinksVerdict)
released = links.release.released
assert_type(kgreason.links.verify(released, k=3), LinksVerdict)
assert_type(kgreason.links.attack(released, original, links.mapping, noise={"a": 0.5}), Disclosure)

guard = kgreason.estimators.KGUARD(RULES, k=3, x=(2, 3), mode="exact")
assert_type(guard.fit(graph), kgreason.estimators.KGUARD)
assert_type(guard.fit_transform(graph), kgreason.KnowledgeGraph)
assert_type(guard.verdict_, Verdict)
assert_type(guard.score_, kgreason.Score)
assert_type(guard.mapping_, dict[str, str])
assert_type(guard.report(), Report)
assert_type(guard.set_params(k=4), kgreason.estimators.KGUARD)
assert_type(kgreason.estimators.PCKGA(k=3).fit_transform(people), kgreason.people.PeopleGraph)
assert_type(kgreason.estimators.KDegree(construction="supergraph").fit(people).verdict_, PeopleVerdict)
assert_type(kgreason.estimators.Links(strategy="removed").fit_transform(original), Released)
"""

WRONG = [
    ('kgreason.anonymize(RULES, graph, method="kguards")', "arg-type"),
    ('kgreason.anonymize(RULES, graph, mode="fast")', "arg-type"),
    ('kgreason.verify(graph, graph, {}, RULES, model="k-isos")', "arg-type"),
    ("kgreason.verify(3, graph, {}, RULES)", "arg-type"),
    ("kgreason.read_graph(RULES, 3)", "arg-type"),
    ('kgreason.people.anonymize(people, method="ckgas")', "arg-type"),
    ('kgreason.links.anonymize(original, strategy="partly")', "arg-type"),
    ('kgreason.attack(graph, graph, {}, RULES, weights="all")', "arg-type"),
    ('kgreason.estimators.KLONE(RULES, mode="exact")', "call-arg"),
    ('kgreason.estimators.KDegree(sequence="best")', "arg-type"),
    ("kgreason.to_networkx(3)", "call-overload"),
    ("result.score.utility.w", "attr-defined"),
    ("result.verdikt", "attr-defined"),
]
"""Lines that must not pass, each with the code of mypy's finding."""


@pytest.mark.slow
def test_a_users_program_is_checked(tmp_path: Path) -> None:
    needed("the package mypy", find_spec("mypy") is not None)
    lines = [*PROGRAM.splitlines(), *(line for line, _ in WRONG)]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull),
            *("--cache-dir", str(tmp_path / "cache"), "--show-error-codes", "--no-error-summary"),
            *("--follow-imports", "silent", "--ignore-missing-imports", str(program)),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = len(PROGRAM.splitlines()) + 1
    told = {int(line.split(":")[1]): line.rpartition("[")[2].rstrip("]") for line in found}
    assert {line: text for line, text in told.items() if line < first} == {}, done.stdout + done.stderr
    assert told == {first + i: code for i, (_, code) in enumerate(WRONG)}, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "kgreason" / "py.typed").is_file()
