"""What the noise trials minimize: the loss U△ of the query answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.graph.model import KnowledgeGraph
from kgreason.subgraphs.patterns import distinct_rows

Answers = Mapping[str, npt.NDArray[np.int64]]


def query_answers(graph: KnowledgeGraph, program: CheckedProgram) -> Answers:
    """Answer the ``@query`` predicates; `program` holds what they need."""
    from kgreason.graph.facts import answers

    return answers(graph, program)


def symmetric_loss(original: Answers, changed: Answers) -> float:
    """U△: the mean over the queries of size of a △ b / size of a ∪ b, 0 for a query without any answer.

    References
    ----------
    docs/anonymization.md, "Semantic utility".

    Examples
    --------
    >>> a, b = {"q": np.array([[0], [1]])}, {"q": np.array([[1], [2]])}
    >>> round(symmetric_loss(a, b), 3), symmetric_loss(a, a)
    (0.667, 0.0)
    """
    return float(np.mean([_jaccard_distance(original[q], changed[q]) for q in original])) if original else 0.0


def _jaccard_distance(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    rows = np.concatenate([a, b])
    if not len(rows):
        return 0.0
    if rows.size and rows.min() < 0:
        rows = np.stack([np.unique(c, return_inverse=True)[1] for c in rows.T], axis=1)
    union = len(distinct_rows(rows)[0])
    return (2 * union - len(a) - len(b)) / union
