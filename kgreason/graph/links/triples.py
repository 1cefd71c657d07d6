"""Write a graph of links with its secret as triples: what `kgreason.read_links` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgreason.data.delimited import write_csv
from kgreason.graph.links.model import Original
from kgreason.graph.people.sources import ROLES
from kgreason.output.place import replacing


def write_triples(path: Path, original: Original) -> None:
    """Write a row ``user,relation,target`` for each link, the sensitive ones last; weights and attributes are left out.

    Entities without any link are not in the file.
    """
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
