"""Anonymizers as objects in the manner of scikit-learn, which is imported only by who uses it.

Examples
--------
>>> from kgreason.estimators import KLONE
>>> edges = [("A", "B", 0.6), ("B", "C", 0.3)]
>>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
>>> anonymizer = KLONE(rules, k=2, x=2)
>>> released = anonymizer.fit_transform({"own": edges})
>>> anonymizer.verdict_.holds
True
"""

from kgreason.estimators.base import Estimator
from kgreason.estimators.graphs import KGUARD, KLONE, KIso
from kgreason.estimators.links import Links
from kgreason.estimators.people import CDGA, CKGA, CTKGA, PCKGA, KDegree

__all__ = ["CDGA", "CKGA", "CTKGA", "KGUARD", "KLONE", "PCKGA", "Estimator", "KDegree", "KIso", "Links"]
