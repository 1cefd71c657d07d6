"""Arguments of atoms: every one becomes a variable or a constant, an expression a variable of its own."""

from __future__ import annotations

from kgreason.analysis.checked import Assign, CheckedAtom
from kgreason.analysis.expressions import boolean, fold, supported, well_formed
from kgreason.analysis.findings import Findings
from kgreason.lang.ast import Aggregate, Atom, Constant, Expression, Term, Variable


class Terms:
    """The arguments of the atoms of one clause.

    Examples
    --------
    >>> from kgreason.lang.ast import Skolem
    >>> terms = Terms(Findings())
    >>> atom, steps = terms.atom(Atom("p", (Variable("X"), Skolem("f", (Variable("X"),)))))
    >>> [t.name for t in atom.terms], [str(s) for s in steps]
    (['X', '_T1'], ['_T1 = #f(X)'])
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.fine = True
        self._made = 0

    def atom(self, atom: Atom) -> tuple[CheckedAtom, list[Assign]]:
        """An atom of variables and constants, and what gives the new variables their values.

        Where an argument can be none, `fine` becomes False.
        """
        steps: list[Assign] = []
        terms = tuple(self._term(argument, steps) for argument in atom.arguments)
        return CheckedAtom(atom.predicate, terms, atom.span), steps

    def _term(self, argument: Expression, steps: list[Assign]) -> Term:
        if isinstance(argument, Variable | Constant):
            return argument
        folded = fold(argument, self.findings)
        if isinstance(folded, Constant):
            return folded
        variable = self._fresh(argument)
        if isinstance(argument, Aggregate) or boolean(argument):
            self._refuse(argument)
        elif supported(argument, self.findings) and well_formed(argument, self.findings):
            steps.append(Assign(variable.name, folded, argument.span))
        else:
            self.fine = False
        return variable

    def _fresh(self, argument: Expression) -> Variable:
        self._made += 1
        return Variable(f"_T{self._made}", span=argument.span)

    def _refuse(self, argument: Expression) -> None:
        self.fine = False
        if not supported(argument, self.findings):
            return
        self.findings.add(
            "E103",
            f"`{argument}` cannot be an argument of an atom",
            argument.span,
            note="arguments are values; a condition stands in the body by itself",
            hint=f"if its value is meant, assign it in the body: `Value = {argument}`",
        )
