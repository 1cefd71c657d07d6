"""Estimators: the protocol of scikit-learn, and the same releases as the functions make."""

from __future__ import annotations

import pickle
import subprocess
import sys
from inspect import signature
from typing import Any

import networkx as nx
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import kgreason
from kgreason.base.errors import AnonymizationError, CallError, KgreasonError
from kgreason.estimators import CDGA, CKGA, CTKGA, KGUARD, KLONE, PCKGA, Estimator, KDegree, KIso, Links
from kgreason.estimators import __all__ as names
from kgreason.people import PeopleGraph

OWN = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
EDGES = {"own": [("A", "B", 0.6), ("B", "C", 0.3), ("C", "D", 0.9)]}
JOBS = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
PEOPLE = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], JOBS, [("Ken", "follows", "Tom")])
BARE = PeopleGraph.from_triples(list("abcd"), [], [("a", "knows", "b"), ("b", "knows", "c")])
MAILS = PeopleGraph.from_triples(list("abcd"), [], [("a", "mail", "b"), ("b", "mail", "c")], mutual=["mail"])
SEATS = kgreason.people.schema(
    {"name": list("abcdef")}, id="name", links={"sits": [("a", "b"), ("c", "d")], "likes": [("a", "f")]}
)

CASES: dict[str, tuple[Estimator, Any, Any]] = {
    "KGUARD": (KGUARD(OWN, k=2, x=2, seed=5), EDGES, {"method": "kguard"}),
    "KLONE": (KLONE(OWN, k=2, x=2, seed=5), EDGES, {"method": "klone"}),
    "KIso": (KIso(OWN, k=2, x=2, seed=5), EDGES, {"method": "k-iso"}),
    "CDGA": (CDGA(k=2, seed=5), BARE, {"method": "cdga"}),
    "CKGA": (CKGA(k=2, seed=5), PEOPLE, {"method": "ckga"}),
    "PCKGA": (PCKGA(k=2, seed=5), PEOPLE, {"method": "pckga"}),
    "CTKGA": (CTKGA(k=2, window=2, seed=5), PEOPLE, {"method": "ctkga"}),
    "KDegree": (KDegree(k=2, seed=5), MAILS, {"method": "k-degree"}),
    "Links": (Links(sensitive="likes", k=2, seed=5), SEATS, {}),
}


def function(name: str, data: Any, params: dict[str, Any], method: dict[str, str]) -> Any:
    if name in ("KGUARD", "KLONE", "KIso"):
        return kgreason.anonymize(params.pop("rules"), data, **params, **method)
    if name == "Links":
        return kgreason.links.anonymize(data, **params)
    return kgreason.people.anonymize(data, **params, **method)


def test_there_is_a_case_for_each() -> None:
    assert set(CASES) == set(names) - {"Estimator"}


@pytest.mark.parametrize("name", CASES)
def test_the_protocol(name: str) -> None:
    estimator, data, method = CASES[name]
    assert estimator.set_params() is estimator
    assert list(estimator.get_params()) == sorted(signature(type(estimator)).parameters)
    copy = clone(estimator)
    assert copy is not estimator
    assert copy.get_params() == estimator.get_params()
    assert repr(copy) == repr(estimator)
    assert "seed=5" in repr(copy)
    assert "folders" not in repr(copy)
    assert pickle.loads(pickle.dumps(copy)).get_params() == copy.get_params()
    with pytest.raises(NotFittedError, match=f"this {name} has no verdict_ yet"):
        _ = copy.verdict_
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    with pytest.raises(NotFittedError):
        copy.report()
    assert not hasattr(copy, "transform")
    assert not hasattr(copy, "mapping_")
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = copy.other
    with pytest.raises(CallError, match=r"has no parameter 'sed'\n  help: did you mean 'seed'"):
        copy.set_params(sed=3, seed=7)
    assert copy.get_params()["seed"] == 5
    released = Pipeline([("anonymize", copy)]).fit_transform(data)
    check_is_fitted(copy)
    assert copy.verdict_.holds
    assert copy.result_.verdict is copy.verdict_
    assert released is copy.released_
    assert copy.mapping_ == copy.result_.mapping
    same = function(name, data, copy.get_params(), method)
    assert same.mapping == copy.mapping_
    assert copy.report().state == "holds"
    assert clone(copy).get_params() == copy.get_params()


@pytest.mark.parametrize("name", CASES)
def test_all_options_of_the_function_or_those_that_apply(name: str) -> None:
    of = (
        kgreason.links.anonymize
        if name == "Links"
        else kgreason.anonymize
        if name.startswith(("KG", "KL", "KI"))
        else kgreason.people.anonymize
    )
    known = signature(of).parameters
    for option, parameter in signature(type(CASES[name][0])).parameters.items():
        assert parameter.default == known[option].default, option
    if name == "Links":
        assert set(signature(Links).parameters) == set(known) - {"data", "progress"}
    if name == "KGUARD":
        assert set(signature(KGUARD).parameters) == set(known) - {"data", "progress", "method", "allow_files"}


@pytest.mark.parametrize(
    ("estimator", "data", "words"),
    [
        (KGUARD(OWN, k=1), EDGES, "k must be a whole number of at least 2"),
        (KGUARD(OWN, mode="fast"), EDGES, "unknown mode 'fast'"),  # type: ignore[arg-type]
        (KLONE(OWN, keep_cuts=True), EDGES, "keep_cuts has no meaning without split"),
        (CKGA(omega=0.5), PEOPLE, "omega has no meaning with method ckga"),
        (CTKGA(after="nowhere"), PEOPLE, "there is no such folder"),
        (PCKGA(k_values={"Ken": 2}), PEOPLE, "users have no k"),
        (Links(sensitive="likes", percent=10), SEATS, "does not leave out a percentage"),
    ],
)
def test_refusals_come_from_fit(estimator: Any, data: Any, words: str) -> None:
    with pytest.raises(KgreasonError, match=words):
        estimator.fit(data)
    assert not estimator.__sklearn_is_fitted__()


def test_a_loop_over_k() -> None:
    graph = nx.DiGraph([("A", "B", {"weight": 0.6}), ("B", "C", {"weight": 0.3})])
    sizes = {}
    for params in ParameterGrid({"k": [2, 3], "x": [2]}):
        anonymizer = clone(KLONE(OWN)).set_params(**params)
        sizes[params["k"]] = anonymizer.fit_transform(graph).n
    assert sizes[2] >= 6
    assert sizes[3] >= 9


def test_an_old_result_stays_until_the_next_fit() -> None:
    anonymizer = KLONE(OWN, k=2, x=2).fit(EDGES)
    result = anonymizer.result_
    with pytest.raises(AnonymizationError):
        anonymizer.set_params(k=1).fit(EDGES)
    assert anonymizer.result_ is result


def test_scikit_learn_is_not_imported() -> None:
    code = "import sys, kgreason.estimators; print([m for m in ('sklearn', 'numpy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_two_estimators_are_two() -> None:
    one, other = PCKGA(k_values={"Ken": 2}), PCKGA(k_values={"Ken": 2})
    assert one != other
    assert {one: 1, other: 2}[one] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kgreason.people.anonymize(PEOPLE, taw=0.5),
            r"anonymize\(\) has no argument 'taw'; did you mean 'tau'\?",
        ),
        (lambda: kgreason.people.anonymize(k=2), r"anonymize\(\) needs the argument 'data'"),
        (lambda: kgreason.anonymize(k=2), r"anonymize\(\) needs the argument 'rules'"),
    ],
)
def test_arguments_are_named_in_errors(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_the_first_argument_may_be_named() -> None:
    call: Any = kgreason.people.anonymize
    assert call(data=PEOPLE, k=2).holds
