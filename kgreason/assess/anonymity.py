"""δ-anonymity of a release alone: how many of its connected subgraphs stand at k places.

References
----------
KGISO, section 7.3 and Table 3, where it compares k-Iso with KLONE and KGUARD.
"""

from __future__ import annotations

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess.images import attacked, decide
from kgreason.assess.population import Drawn
from kgreason.assess.space import Space
from kgreason.assess.verdict import Delta
from kgreason.assess.verify import delta_of
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import SILENT, Progress


def delta(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    diverse: bool = True,
    progress: Progress = SILENT,
    drawn: Drawn | None = None,
) -> Delta:
    """Count the connected subgraphs of a release that have k - 1 disjoint KG-isomorphic images in it.

    Where edges of the original are deleted, its subgraphs are no longer there, so those of the release are counted: all
    sets of x vertices that induce a weakly connected subgraph, and each smaller component as a whole.

    Parameters
    ----------
    diverse
        Whether images of a vertex must differ in label, in-degree and out-degree, as Definition 4.1 (iii) has it.
    drawn
        Sets of the release that were drawn at random, to decide only these and estimate δ.

    Examples
    --------
    Two equal chains of control, and one that looks like them until the rules are applied. Images do not differ in
    degrees:

    >>> from kgreason.analysis.check import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.8), ("c", "d", 0.9), ("e", "f", 0.2)], relation="own")
    >>> print(delta(graph, rules, k=2, x=2, diverse=False))
    0.666 (2 of 3, exact)
    >>> print(delta(graph, rules, k=2, x=2))
    0.000 (0 of 3, exact)
    """
    released = released.distinct()
    space = Space(released, rules, diverse=diverse)
    own = np.arange(released.n)
    sets = attacked(space, released, own, x) if drawn is None else drawn.mapped(own)
    return delta_of([decide(space, size, where, k, progress) for size, where in sets], drawn)
