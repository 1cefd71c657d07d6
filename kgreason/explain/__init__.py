"""Why a fact holds, or why it does not: proof trees of minimal height."""

from kgreason.explain.explanation import Explanation, explain, explain_fact
from kgreason.explain.proof import Contribution, Proof, Reason, RuleNote, Total, WhyNot

__all__ = [
    "Contribution",
    "Explanation",
    "Proof",
    "Reason",
    "RuleNote",
    "Total",
    "WhyNot",
    "explain",
    "explain_fact",
]
