"""Clusterings of other libraries: k-medoids, HDBSCAN, k-means, and whatever scikit-learn has.

They know no levels; `merge_split` or a partition strategy makes their clusters valid.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from kgreason.anonymizers.people.balanced import Points
from kgreason.anonymizers.people.distance import Among, Clusters, Distance, Distances, Levels
from kgreason.anonymizers.people.neighbours import rows_of
from kgreason.anonymizers.people.settings import CLUSTERINGS
from kgreason.anonymizers.people.validity import numbered
from kgreason.errors import AnonymizationError, TooLargeError

MATRIX_USERS = 20_000
"""Most users of clusterings that need the distances of all pairs, 1.6 GB for so many."""


def k_medoids(distance: Distance, count: int, rng: np.random.Generator) -> Clusters:
    """Cluster users around medoids by FasterPAM.

    Raises
    ------
    AnonymizationError
        If `count` is not between 1 and the number of users.
    TooLargeError
        If there are more users than `MATRIX_USERS`.

    References
    ----------
    E. Schubert and P. Rousseeuw, Fast and eager k-medoids clustering, Information Systems 101 (2021).
    """
    import kmedoids

    _check_count(count, distance.n)
    first = rng.choice(distance.n, count, replace=False).astype(np.uint64)
    found = kmedoids.fasterpam(matrix(distance, "k-medoids"), first, n_cpu=1)
    return _clusters(found.labels)


def hdbscan(distance: Distance, size: int) -> Clusters:
    """Cluster users by density, in clusters of at least `size` users; outliers get -1.

    Raises
    ------
    TooLargeError
        If there are more users than `MATRIX_USERS`.
    """
    from sklearn.cluster import HDBSCAN

    if distance.n < max(size, 2):
        return np.full(distance.n, -1, dtype=np.int64)
    model = HDBSCAN(min_cluster_size=max(size, 2), metric="precomputed", copy=False)
    return _clusters(model.fit_predict(matrix(distance, "HDBSCAN").astype(np.float64)))


def hdb_star(distance: Distance, levels: Levels) -> Clusters:
    """Cluster users of each level apart by HDBSCAN, in clusters of at least so many users (HDB* of PCKGA, 6.2)."""
    found = np.full(distance.n, -1, dtype=np.int64)
    for level in np.unique(levels):
        users = np.flatnonzero(levels == level)
        clusters = hdbscan(Among(distance, users), int(level))
        inside = clusters >= 0
        found[users[inside]] = clusters[inside] + found.max(initial=-1) + 1
    return numbered(found)


def k_means(points: Points, count: int, rng: np.random.Generator) -> Clusters:
    """Cluster points, float64 of shape (n, d), by k-means.

    Raises
    ------
    AnonymizationError
        If `count` is not between 1 and the number of users.
    """
    _check_count(count, len(points))
    return scikit("KMeans", points, {"n_clusters": count, "n_init": 1}, rng)


def scikit(
    estimator: str | Any,
    data: Points | Distance,
    parameters: Mapping[str, Any] | None = None,
    rng: np.random.Generator | None = None,
) -> Clusters:
    """Cluster users by an estimator of scikit-learn, or by one with its interface.

    Parameters
    ----------
    estimator
        A name, like ``"Birch"`` (of ``sklearn.cluster``) or ``"sklearn.mixture.GaussianMixture"``, or an estimator.
    data
        Points, float64 of shape (n, d), or a distance for estimators with ``metric="precomputed"``, which is set.
    parameters
        Of the estimator.
    rng
        Seeds estimators with a ``random_state``.

    Raises
    ------
    AnonymizationError
        If there is no such estimator or parameter, or if it fails on these data.
    TooLargeError
        For a distance, if there are more users than `MATRIX_USERS`.

    Examples
    --------
    >>> points = np.array([[0.0], [1], [8], [9]])
    >>> scikit("AgglomerativeClustering", points, {"n_clusters": 2, "linkage": "average"}).tolist()
    [0, 0, 1, 1]
    """
    model = _model(estimator, parameters or {}) if isinstance(estimator, str) else estimator
    name = type(model).__name__
    known = model.get_params()
    if rng is not None and "random_state" in known:
        model.set_params(random_state=int(rng.integers(2**31)))
    if isinstance(data, np.ndarray):
        values: Any = data
    elif "metric" in known:
        model.set_params(metric="precomputed")
        values = matrix(data, name).astype(np.float64)
    else:
        raise AnonymizationError(
            f"{name} takes points, not distances", hint="give it the points of the users"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for instance that equal users are fewer points than asked for
            return _clusters(model.fit_predict(values))
    except (
        ValueError,
        TypeError,
        AttributeError,
    ) as error:  # what scikit-learn raises for parameters that do not fit
        raise AnonymizationError(
            f"{name} cannot cluster these users: {error}",
            hint="choose another --clustering, for instance vac",
        ) from error


def sized(name: str, count: int, size: int) -> dict[str, int]:
    """What an estimator of this name calls the number of clusters and their least size.

    Examples
    --------
    >>> sized("AgglomerativeClustering", 20, 3), sized("HDBSCAN", 20, 3), sized("DBSCAN", 20, 3)
    ({'n_clusters': 20}, {'min_cluster_size': 3}, {})
    """
    known = _model(name, {}).get_params()
    asked = {"n_clusters": count, "n_components": count, "min_cluster_size": size}
    return {key: value for key, value in asked.items() if key in known}


def matrix(distance: Distance, name: str) -> Distances:
    """Distances of all pairs, float32, shape (n, n), with exact symmetry and zeros on the diagonal."""
    if distance.n > MATRIX_USERS:
        raise TooLargeError(
            f"{name} needs the distances of all pairs of {distance.n:,} users; {MATRIX_USERS:,} are possible",
            hint="use VAC, or a clustering of points such as k-means: both need no matrix",
        )
    full = rows_of(distance, np.arange(distance.n))
    np.maximum(full, full.T.copy(), out=full)
    np.fill_diagonal(full, 0)
    return full


def _model(name: str, parameters: Mapping[str, Any]) -> Any:
    module, _, short = name.rpartition(".")
    module = module or "sklearn.cluster"
    found = None
    if module.split(".")[0] == "sklearn":
        try:
            found = getattr(import_module(module), short, None)
        except ImportError:
            found = None
    if not (inspect.isclass(found) and hasattr(found, "fit_predict")):
        raise AnonymizationError(
            f"there is no clustering {name}",
            hint=f"choose {', '.join(CLUSTERINGS)}, or a class of sklearn.cluster, such as AgglomerativeClustering",
        )
    known = inspect.signature(found).parameters
    if unknown := [p for p in parameters if p not in known]:
        raise AnonymizationError(f"{short} has no parameter {unknown[0]}", hint=f"it has {', '.join(known)}")
    return found(**parameters)


def _check_count(count: int, n: int) -> None:
    if not 1 <= count <= n:
        raise AnonymizationError(f"{count} clusters of {n} users are not possible", hint="one is the least")


def _clusters(labels: Any) -> Clusters:
    found = np.asarray(labels).astype(np.int64)
    return numbered(np.maximum(found, -1))
