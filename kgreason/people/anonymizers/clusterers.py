"""Clusterings of other libraries (k-medoids, HDBSCAN, k-means, scikit-learn), and embeddings of users for them.

Clusterings ignore levels; `merge_split` or a partition strategy makes their clusters valid.

The thesis minimises the s-stress J2 = Σ (|x_u - x_v|² - loss(u, v)²)², which is dominated by the largest losses: its
minimum on Freebase is the same for 2 and for 50 dimensions. The thesis then measures the error of distances, which is
smallest at the minimum of the raw stress Σ (|x_u - x_v| - loss(u, v))². This module minimises the raw stress.

References
----------
THESIS, sections 4.4.1 and 4.5.2, equation 4.2. Start: classical scaling (Torgerson, "Multidimensional scaling: I.
Theory and method", 1952). Users beside landmarks: de Silva and Tenenbaum, "Sparse multidimensional scaling using
landmark points", 2004.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError, TooLargeError
from kgreason.people.anonymizers.user_distances import Among, Clusters, Distance, Distances, Levels, rows_of
from kgreason.people.anonymizers.valid_clusters import numbered
from kgreason.people.model import Numbers
from kgreason.people.settings import CLUSTERINGS

MATRIX_USERS = 20_000
"""Most users of clusterings that need the distances of all pairs, 1.6 GB for so many."""


def k_medoids(distance: Distance, count: int, rng: np.random.Generator) -> Clusters:
    """Cluster users around medoids by FasterPAM.

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
    """Cluster users by density, in clusters of at least `size` users, and one more of all outliers.

    PCKGA does not say what becomes of outliers. Few of its users are removed, and the authors' program (repository
    `tuhoag/personalized-anony-kg`) keeps them as a cluster, which Merge-Split splits.
    """
    from sklearn.cluster import HDBSCAN

    if distance.n < max(size, 2):
        return np.full(distance.n, -1, dtype=np.int64)
    model = HDBSCAN(min_cluster_size=max(size, 2), metric="precomputed", copy=False)
    found = model.fit_predict(matrix(distance, "HDBSCAN").astype(np.float64))
    return _clusters(np.where(found < 0, found.max() + 1, found))


def hdb_star(distance: Distance, levels: Levels) -> Clusters:
    """Run HDBSCAN on the users of each level, with the level as least cluster size (HDB* of PCKGA, 6.2)."""
    found = np.full(distance.n, -1, dtype=np.int64)
    for level in np.unique(levels):
        users = np.flatnonzero(levels == level)
        clusters = hdbscan(Among(distance, users), int(level))
        inside = clusters >= 0
        found[users[inside]] = clusters[inside] + found.max(initial=-1) + 1
    return numbered(found)


def k_means(points: Numbers, count: int, rng: np.random.Generator) -> Clusters:
    """Cluster points, shape (n, d), by k-means."""
    _check_count(count, len(points))
    return scikit("KMeans", points, {"n_clusters": count, "n_init": 1}, rng)


def scikit(name: str, points: Numbers, parameters: Mapping[str, Any], rng: np.random.Generator) -> Clusters:
    """Cluster points, shape (n, d), by a class of ``sklearn.cluster``, or another one by its full name.

    Parameters that it does not have are left out.

    Raises
    ------
    AnonymizationError
        If there is no such class, or it fails on the data.
    """
    model = _model(name)
    seeded = {**parameters, "random_state": None}
    chosen = {key: value for key, value in seeded.items() if key in model.get_params()}
    if "random_state" in chosen:
        chosen["random_state"] = int(rng.integers(2**31))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for instance fewer distinct points than clusters
            return _clusters(model.set_params(**chosen).fit_predict(points))
    except (ValueError, TypeError, AttributeError) as error:  # of scikit-learn for unsuitable parameters
        raise AnonymizationError(
            f"{type(model).__name__} cannot cluster these users: {error}",
            hint="choose another --clustering, for instance vac",
        ) from error


def matrix(distance: Distance, name: str) -> Distances:
    """Distances of all pairs, float32, shape (n, n), exactly symmetric; `TooLargeError` above `MATRIX_USERS`."""
    if distance.n > MATRIX_USERS:
        raise TooLargeError(
            f"{name} needs the distances of all pairs of {distance.n:,} users; {MATRIX_USERS:,} are possible",
            hint="use VAC, or a clustering of points such as k-means: both need no matrix",
        )
    full = rows_of(distance, np.arange(distance.n))
    np.maximum(full, full.T.copy(), out=full)
    np.fill_diagonal(full, 0)
    return full


def _model(name: str) -> Any:
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
    return found()


def _check_count(count: int, n: int) -> None:
    if not 1 <= count <= n:
        raise AnonymizationError(f"{count} clusters of {n} users are not possible", hint="one is the least")


def _clusters(labels: Any) -> Clusters:
    found = np.asarray(labels).astype(np.int64)
    return numbered(np.maximum(found, -1))


_LANDMARKS = 1000
_BLOCK = 2000  # users placed at a time
_LANDMARK_STEPS, _STEPS = 150, 60
_NEAR = 1e-14  # least squared distance, relative to a mean of 1; below it is rounding error


def points(distance: Distance, dimensions: int, rng: np.random.Generator) -> Numbers:
    """Embed users as points, float64, shape (n, dimensions): their Euclidean distances approximate the distance."""
    if dimensions < 1:
        raise AnonymizationError(f"points need at least 1 dimension, not {dimensions}", hint="50 is usual")
    landmarks = rng.permutation(distance.n)[:_LANDMARKS]
    wanted = distance.between(landmarks, landmarks).astype(np.float64)
    scale = math.sqrt(float(np.mean(wanted**2))) if wanted.size else 0.0
    placed = np.zeros((distance.n, dimensions))
    if scale == 0:  # the landmarks, and so nearly all users, are equal
        if len(landmarks):
            placed[:, 0] = distance.between(landmarks[:1])[0]
        return placed
    wanted /= scale
    start, back = _classical(wanted**2, dimensions, rng)
    fixed = _least(start, lambda x: _stress_among(x, wanted), _LANDMARK_STEPS)
    placed[landmarks] = fixed
    others = np.setdiff1d(np.arange(distance.n), landmarks)
    for first in range(0, len(others), _BLOCK):
        some = others[first : first + _BLOCK]
        beside = distance.between(some, landmarks).astype(np.float64) / scale
        placed[some] = _placed(beside, wanted, fixed, start, back)
    return placed * scale


def _classical(wanted: Numbers, dimensions: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Classical scaling of landmarks: their points, and the linear map from squared distances to points."""
    # Dimensions without Euclidean distance start with a little noise.
    from scipy.linalg import eigh

    m = len(wanted)
    means = wanted.mean(axis=0)
    product = -0.5 * (wanted - means[:, None] - means[None, :] + means.mean())
    first = max(0, m - dimensions)
    values, vectors = eigh(product, subset_by_index=[first, m - 1])
    kept = values > 1e-9 * max(values[-1], 1e-300)
    start = rng.normal(0, 1e-3, (m, dimensions))
    back = np.zeros((m, dimensions))
    columns = np.flatnonzero(kept)
    start[:, : len(columns)] = vectors[:, columns] * np.sqrt(values[columns])
    back[:, : len(columns)] = vectors[:, columns] / np.sqrt(values[columns])
    return start, back


def _placed(beside: Numbers, wanted: Numbers, fixed: Numbers, start: Numbers, back: Numbers) -> Numbers:
    """Points of some users, from their distances to the landmarks."""
    first = -0.5 * (beside**2 - (wanted**2).mean(axis=0)) @ back
    near = np.argmin(beside, axis=1)
    first += fixed[near] - start[near]  # shift of the nearest landmark since its start
    same = beside[np.arange(len(beside)), near] == 0
    first[same] = fixed[near[same]]
    return _least(first, lambda x: _stress_beside(x, fixed, beside), _STEPS)


def _least(start: Numbers, stress: Callable[[Numbers], tuple[float, Numbers]], steps: int) -> Numbers:
    from scipy.optimize import minimize

    def flat(x: Numbers) -> tuple[float, Numbers]:
        value, slope = stress(x.reshape(start.shape))
        return value, slope.ravel()

    found = minimize(
        flat, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 20}
    )
    placed: Numbers = found.x.reshape(start.shape)
    return placed


def _stress_among(x: Numbers, wanted: Numbers) -> tuple[float, Numbers]:
    """Raw stress of points divided by their number, and its gradient."""
    value, pull = _pull(x, x, wanted)
    return value, 4 * (x * pull.sum(axis=1)[:, None] - pull @ x) / len(x)


def _stress_beside(x: Numbers, fixed: Numbers, wanted: Numbers) -> tuple[float, Numbers]:
    """Raw stress of points relative to fixed points divided by the number of these, and its gradient."""
    value, pull = _pull(x, fixed, wanted)
    return value, 2 * (x * pull.sum(axis=1)[:, None] - pull @ fixed) / len(fixed)


def _pull(x: Numbers, y: Numbers, wanted: Numbers) -> tuple[float, Numbers]:
    """Raw stress divided by the number of points y, and the relative error of each distance."""
    apart = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None, :] - 2 * (x @ y.T)
    apart = np.sqrt(np.maximum(apart, _NEAR, out=apart), out=apart)
    off = apart - wanted
    value = float(np.vdot(off, off)) / len(y)
    return value, np.divide(off, apart, out=off)
