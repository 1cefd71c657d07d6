"""The slow oracle: the rules carried out word by word on sets of Python tuples.

It shares nothing with the fast engine but the checked program. Every round evaluates every rule on all facts;
nothing is indexed, ordered or remembered between rounds but the facts themselves and the names of the nulls.
"""

from tests.naive.fixpoint import derive, evaluate

__all__ = ["derive", "evaluate"]
