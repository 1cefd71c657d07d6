"""How long the bodies of rules may be."""

from __future__ import annotations

from kgreason.analysis.findings import Findings
from kgreason.lang.ast import Constraint, Equality, Program, Rule

LONGEST = 500
"""Most atoms, conditions and assignments of one body: evaluation takes them one inside the other."""


def check_size(program: Program, findings: Findings) -> None:
    """Report rules, equalities and constraints whose bodies are too long."""
    for clause in program.clauses:
        if isinstance(clause, Rule | Equality | Constraint) and len(clause.body) > LONGEST:
            findings.add(
                "E125",
                f"the body has {len(clause.body)} atoms and conditions",
                clause.body[LONGEST].span,
                note=f"a body has {LONGEST} atoms and conditions at most",
                hint="derive parts of it by rules of their own, or put constants that are compared into facts",
            )
