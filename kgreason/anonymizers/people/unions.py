"""Attribute values of clusters: each user gets every value that somebody of his cluster has.

References
----------
THESIS, 4.3 (KGG); PCKGA, section 3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgreason.anonymizers.people.distance import Clusters
from kgreason.graph.people.model import Attribute


def united(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each user the values of all users of his cluster.

    Parameters
    ----------
    clusters
        Cluster of each user, all of 0 .. c-1; int64, shape (n,).

    Returns
    -------
    Attribute
        Its domain holds no value that nobody has, such as those of users who were removed.

    Examples
    --------
    >>> ages = Attribute("numeric", np.array(["18", "19"]), np.array([0, 1, 2]), np.array([0, 1, 1]))
    >>> both = united(ages, np.array([0, 0, 1]))
    >>> both.user.tolist(), both.value.tolist()
    ([0, 0, 1, 1, 2], [0, 1, 0, 1, 1])
    """
    of = collected(attribute, clusters)
    count = np.bincount(of.user, minlength=int(clusters.max(initial=-1)) + 1)
    first = np.cumsum(count) - count
    each = count[clusters]
    user = np.repeat(np.arange(len(clusters)), each)
    entry = np.arange(len(user)) - np.repeat(np.cumsum(each) - each - first[clusters], each)
    return replace(of, user=user, value=of.value[entry])


def collected(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each cluster the values of all its users: the users of the result are the clusters.

    Parameters
    ----------
    clusters
        Cluster of each user, all of 0 .. c-1; int64, shape (n,).

    Returns
    -------
    Attribute
        Its domain holds no value that nobody has.

    Examples
    --------
    >>> ages = Attribute("numeric", np.array(["18", "19"]), np.array([0, 1, 2]), np.array([0, 1, 1]))
    >>> both = collected(ages, np.array([0, 0, 1]))
    >>> both.user.tolist(), both.value.tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    width = max(len(attribute.domain), 1)
    pairs = np.unique(clusters[attribute.user] * width + attribute.value)
    known, value = np.unique(pairs % width, return_inverse=True)
    domain = attribute.domain[known]
    return replace(attribute, domain=domain, user=pairs // width, value=value.astype(np.int64))
