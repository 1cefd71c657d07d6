"""Explanations for Graphviz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgreason.lang.values import source
from kgreason.provenance.proof import Proof, WhyNot, bound

if TYPE_CHECKING:
    from kgreason.provenance.explanation import Explanation

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
        if step.rule is None and not step.premises:
            where = f"\n{step.source}" if step.source else ""
            lines.append(f'  f{i} [label={_quoted(step.fact + where)}, style=filled, fillcolor="#eeeeee"];')
            lines += _identified(step, f"f{i}", numbers)
            continue
        name = step.rule.label or f"rule {step.rule.number}" if step.rule else ""
        extra = [*(f"not {a}" for a in step.absent), *step.conditions, *step.notes]
        total = [f"{step.total.variable} = {source(step.total.value)}"] if step.total else []
        lines.append(f"  f{i} [label={_quoted(step.fact)}];")
        label = "\n".join(filter(None, [name, *total, *extra]))
        lines.append(f"  r{i} [shape=ellipse, label={_quoted(label)}];")
        lines.append(f"  r{i} -> f{i};")
        lines += [f"  f{numbers[id(p)]} -> r{i};" for p in step.premises]
        for contribution in step.contributions:
            who = bound(contribution.contributor)
            label = f"{who}: {source(contribution.value)}" if who else source(contribution.value)
            label = "\n".join([label, *(f"not {a}" for a in contribution.absent), *contribution.conditions])
            lines += [
                f"  f{numbers[id(p)]} -> r{i} [label={_quoted(label)}];" for p in contribution.premises[-1:]
            ]
            lines += [f"  f{numbers[id(p)]} -> r{i};" for p in contribution.premises[:-1]]
        lines += _identified(step, f"r{i}", numbers)
    return "\n".join([*dict.fromkeys(lines), "}"])


def _identified(step: Proof, place: str, numbers: Mapping[int, int]) -> list[str]:
    """Dashed arrows from equalities to where they are used."""
    result = []
    for found in step.identified:
        label = _quoted(f"{found.variable}: {source(found.made)} is {source(found.value)}")
        result += [f"  f{numbers[id(p)]} -> {place} [style=dashed, label={label}];" for p in found.chain]
    return result


def why_not_dot(found: WhyNot) -> str:
    """A graph with the goal and what is missing for each rule."""
    lines = [*HEAD, f"  goal [label={_quoted(found.goal)}, style=dashed];"]
    for i, reason in enumerate(found.reasons):
        name = reason.rule.label or f"rule {reason.rule.number}"
        lines.append(f"  r{i} [shape=ellipse, label={_quoted(name)}];")
        lines.append(f"  r{i} -> goal [style=dashed];")
        place, inner, level = f"{i}", reason, 0
        lines.append(f"  u{place} [label={_quoted(reason.words)}, style=dashed];")
        lines.append(f"  u{place} -> r{i} [style=dashed];")
        while inner.deeper is not None:
            inner, above, level = inner.deeper, place, level + 1
            place = f"{i}_{level}"
            name = inner.rule.label or f"rule {inner.rule.number}"
            lines.append(f"  r{place} [shape=ellipse, label={_quoted(name)}];")
            lines.append(f"  r{place} -> u{above} [style=dashed];")
            lines.append(f"  u{place} [label={_quoted(inner.words)}, style=dashed];")
            lines.append(f"  u{place} -> r{place} [style=dashed];")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
