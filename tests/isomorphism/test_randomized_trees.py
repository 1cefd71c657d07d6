"""Randomized trees and the area under the ROC curve, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from kgreason.isomorphism.utility.randomized_trees import LEAF, TREES, roc_auc, scores


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2))
def test_area(points: list[tuple[bool, int]]) -> None:
    truth, found = np.array([p[0] for p in points]), np.array([p[1] / 4 for p in points])
    if truth.any() and not truth.all():
        assert roc_auc(truth, found) == pytest.approx(roc_auc_score(truth, found))


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5, 6.0])
def test_trees_rank_as_those_of_scikit_learn(shift: float) -> None:
    areas: list[list[float]] = [[], []]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = np.arange(400) < 60
        points = np.column_stack([rng.normal(size=(400, 5)).round(1), rng.integers(0, 3, 400), np.ones(400)])
        points[truth, 1] += shift
        train = rng.random(400) < 0.5
        library = ExtraTreesClassifier(
            TREES, min_samples_leaf=LEAF, class_weight="balanced", random_state=seed
        )
        library.fit(points[train], truth[train])
        expected = library.predict_proba(points[~train])[:, 1]
        found = scores(points[train], truth[train], points[~train], rng)
        assert ((found >= 0) & (found <= 1)).all()
        for area, of in zip(areas, (found, expected), strict=True):
            area.append(roc_auc(truth[~train], of))
    ours, theirs = map(np.mean, areas)
    assert ours == pytest.approx(theirs, abs=0.03)


def test_equal_points_cannot_be_told_apart() -> None:
    found = scores(np.ones((20, 3)), np.arange(20) < 5, np.ones((4, 3)), np.random.default_rng(1))
    assert np.ptp(found) == 0
