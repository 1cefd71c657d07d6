"""Why-provenance and why-not provenance: proof trees of minimal height."""

from kgreason.provenance.explanation import Explanation, explain, explain_fact
from kgreason.provenance.proof_tree import Contribution, Proof, Reason, RuleNote, Total, WhyNot

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
