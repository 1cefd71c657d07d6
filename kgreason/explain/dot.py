"""Explanations for Graphviz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgreason.explain.proof import Proof, WhyNot, bound
from kgreason.lang.values import source

if TYPE_CHECKING:
    from kgreason.explain.explanation import Explanation

HEAD = ["digraph proof {", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']


def explanation_dot(explanation: Explanation) -> str:
    """One graph of all proofs."""
    if explanation.why_not is not None:
        return why_not_dot(explanation.why_not)
    return _graph(explanation.proofs)


def proof_dot(proof: Proof) -> str:
    r"""A graph with a box for each fact and an ellipse for each application of a rule.

    Examples
    --------
    >>> print(proof_dot(Proof("p", (1,), source="a.csv:2")))
    digraph proof {
      rankdir=BT;
      node [shape=box, fontname="sans-serif"];
      f0 [label="p(1)\na.csv:2", style=filled, fillcolor="#eeeeee"];
    }
    """
    return _graph([proof])


def _graph(proofs: Sequence[Proof]) -> str:
    steps = list({id(step): step for proof in proofs for step in proof.steps()}.values())
    numbers = {id(step): i for i, step in enumerate(steps)}
    lines = list(HEAD)
    for i, step in enumerate(steps):
        if step.rule is None:
            where = f"\n{step.source}" if step.source else ""
            lines.append(f'  f{i} [label={_quoted(step.fact + where)}, style=filled, fillcolor="#eeeeee"];')
            continue
        name = step.rule.label or f"rule {step.rule.number}"
        extra = [*(f"not {a}" for a in step.absent), *step.conditions, *step.notes]
        total = [f"{step.total.variable} = {source(step.total.value)}"] if step.total else []
        lines.append(f"  f{i} [label={_quoted(step.fact)}];")
        lines.append(f"  r{i} [shape=ellipse, label={_quoted(chr(10).join([name, *total, *extra]))}];")
        lines.append(f"  r{i} -> f{i};")
        lines += [f"  f{numbers[id(p)]} -> r{i};" for p in step.premises]
        for contribution in step.contributions:
            who = bound(contribution.contributor)
            label = f"{who}: {source(contribution.value)}" if who else source(contribution.value)
            lines += [
                f"  f{numbers[id(p)]} -> r{i} [label={_quoted(label)}];" for p in contribution.premises[-1:]
            ]
            lines += [f"  f{numbers[id(p)]} -> r{i};" for p in contribution.premises[:-1]]
    return "\n".join([*dict.fromkeys(lines), "}"])


def why_not_dot(found: WhyNot) -> str:
    """A graph with the goal and what is missing for each rule."""
    lines = [*HEAD, f"  goal [label={_quoted(found.goal)}, style=dashed];"]
    for i, reason in enumerate(found.reasons):
        name = reason.rule.label or f"rule {reason.rule.number}"
        lines.append(f"  r{i} [shape=ellipse, label={_quoted(name)}];")
        lines.append(f"  r{i} -> goal [style=dashed];")
        lines.append(f"  u{i} [label={_quoted(reason.words)}, style=dashed];")
        lines.append(f"  u{i} -> r{i} [style=dashed];")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
