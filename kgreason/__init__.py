"""kgreason: reason over knowledge graphs, anonymize them against derived edges, and prove it.

Examples
--------
>>> import kgreason
>>> rules = '''
... @edge("own"). @node("company"). @output("control").
... control(X, X) :- company(X).
... control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
... '''
>>> facts = kgreason.reason(rules, {"own": [("A", "D", 0.6), ("D", "E", 0.8)]})
>>> sorted(facts.rows("control"))
[('A', 'A'), ('A', 'D'), ('A', 'E'), ('D', 'D'), ('D', 'E'), ('E', 'E')]
"""

from kgreason.base.resources import VERSION as __version__  # noqa: F401
from kgreason.base.resources import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
