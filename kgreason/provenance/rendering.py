"""Rendering of explanations as text trees and as Graphviz graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgreason.language.values import source
from kgreason.provenance.proof_tree import (
    Contribution,
    Identified,
    Proof,
    Reason,
    RuleNote,
    Total,
    WhyNot,
    bound,
)

DEPTH = 30  # levels shown by default
CONTRIBUTIONS = 20  # contributions of one aggregate that are shown
COLUMN = 76  # reasons are aligned in one column, except after facts that are wider than this


Failure = tuple[str, Reason | None]
"""Text of a failing item, and why it fails."""

Node = Proof | Total | Contribution | Identified | WhyNot | Reason | Failure | str


def proof_text(proof: Proof, *, depth: int | None = None) -> str:
    """Text of a proof as a tree, down to a depth (levels of facts)."""
    lines = list(_Tree(DEPTH if depth is None else depth).lines(proof))
    column = max((len(text) for text, reason in lines if reason and len(text) <= COLUMN), default=0)
    return "\n".join(f"{text.ljust(column)} {reason}" if reason else text for text, reason in lines)


class _Tree:
    """Traversal of a proof; facts already shown are only referred to."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.shown: set[int] = set()
        self.rules: set[int] = set()
        self.deeper = 0

    def lines(self, top: Node) -> Iterator[tuple[str, str]]:
        """Lines with their branches, and the reasons on the right."""
        waiting: list[tuple[str, str, int, Node]] = [("", "", 0, top)]
        while waiting:
            lead, rest, level, node = waiting.pop()
            text, reason = self._words(node, level)
            yield lead + text, reason
            children = self._children(node, level)
            for i, child in reversed(list(enumerate(children))):
                last = i == len(children) - 1
                next_level = level + isinstance(child, Proof)
                branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
                waiting.append((rest + branch, rest + below, next_level, child))
        if self.deeper:
            facts = "1 fact" if self.deeper == 1 else f"{self.deeper:,} facts"
            yield f"(not shown: the proofs of {facts} below level {self.depth}; --levels shows more)", ""

    def _words(self, node: Node, level: int) -> tuple[str, str]:
        if isinstance(node, str):
            return node, ""
        if isinstance(node, tuple):
            return node[0], ""
        if isinstance(node, WhyNot):
            return f"{node.goal} does not hold{': ' + node.note if node.note else ''}.", ""
        if isinstance(node, Reason):
            return _rule_text(node.rule), ""
        if isinstance(node, Total):
            many = f"{node.size:,} contribution{'s' * (node.size != 1)}"
            return f"{node.variable} = {source(node.value)}: {node.text} of {many}", ""
        if isinstance(node, Contribution):
            who = bound(node.contributor)
            return f"{who} gives {source(node.value)}" if who else source(node.value), ""
        if isinstance(node, Identified):
            return f"{node.variable} is {source(node.made)} here, which is one with {source(node.value)}:", ""
        return node.fact, self._reason(node, level)

    def _reason(self, proof: Proof, level: int) -> str:
        later = f" (in the end {source(proof.final)})" if proof.final is not None else ""
        given = proof.source or "; ".join(proof.notes) or "given"
        if proof.rule is None and not any(proof.below):
            return given
        if id(proof) in self.shown:
            return f"(see above){later}"
        if proof.rule is None:
            return given + later
        return f"by {self._rule(proof.rule)}{later}{' ...' if level >= self.depth else ''}"

    def _rule(self, rule: RuleNote) -> str:
        if rule.number in self.rules:
            return rule.name
        self.rules.add(rule.number)
        return _rule_text(rule)

    def _children(self, node: Node, level: int) -> list[Node]:
        if isinstance(node, str):
            return []
        if isinstance(node, WhyNot):
            near = "".join(f"\n      {text}" for text in node.near)
            return [*node.reasons, *([f"facts that come near:{near}"] if near else [])]
        if isinstance(node, Reason):
            word = "counts" if node.kind == "aggregate" else "holds"
            met = [f"{word}: {text}" for text in node.met[:CONTRIBUTIONS]]
            more = len(node.met) - len(met)
            repeated = node.words.removeprefix("there is no ").startswith(node.unmet)
            unmet = "" if repeated or node.kind == "atom" else f"{node.unmet}: "
            fails = f"fails: {unmet}{node.words}", node.deeper
            return [*met, *([f"... and {more:,} more"] if more else []), fails]
        if isinstance(node, tuple):
            return [node[1]] if node[1] else []
        if isinstance(node, Contribution):
            return [*node.premises, *(f"not {text}" for text in node.absent), *node.conditions]
        if isinstance(node, Identified):
            return list(node.chain)
        if isinstance(node, Total):
            shown: list[Node] = list(node.contributions[:CONTRIBUTIONS])
            more = node.size - len(shown)
            return [*shown, f"... and {more:,} more"] if more else shown
        if id(node) in self.shown or not (node.rule or any(node.below)):
            return []
        if level >= self.depth:
            self.deeper += 1
            return []
        self.shown.add(id(node))
        absent = [f"not {text}" for text in node.absent]
        total = [node.total] if node.total else []
        notes = node.notes if node.rule else ()
        return [*node.premises, *total, *absent, *node.conditions, *notes, *node.identified]


def _rule_text(rule: RuleNote) -> str:
    return f"{rule.name} ({rule.where}): {' '.join((rule.documentation.strip() or rule.text).split())}"


def why_not_text(found: WhyNot) -> str:
    """Text of why no fact fits a goal."""
    return "\n".join(text for text, _ in _Tree(DEPTH).lines(found))


HEAD = ["digraph proof {", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']


def proofs_dot(proofs: Sequence[Proof]) -> str:
    r"""Graph of proofs, with a box for each fact and an ellipse for each application of a rule.

    Examples
    --------
    >>> print(proofs_dot([Proof("p", (1,), source="a.csv:2")]))
    digraph proof {
      rankdir=BT;
      node [shape=box, fontname="sans-serif"];
      f0 [label="p(1)\na.csv:2", style=filled, fillcolor="#eeeeee"];
    }
    """
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
    """Dashed edges from equalities to the steps that use them."""
    result = []
    for found in step.identified:
        label = _quoted(f"{found.variable}: {source(found.made)} is {source(found.value)}")
        result += [f"  f{numbers[id(p)]} -> {place} [style=dashed, label={label}];" for p in found.chain]
    return result


def why_not_dot(found: WhyNot) -> str:
    """Graph of the goal and what is missing for each rule."""
    lines = [*HEAD, f"  goal [label={_quoted(found.goal)}, style=dashed];"]
    for i, reason in enumerate(found.reasons):
        place, above, level = f"{i}", "goal", 0
        inner: Reason | None = reason
        while inner is not None:
            name = inner.rule.label or f"rule {inner.rule.number}"
            lines.append(f"  r{place} [shape=ellipse, label={_quoted(name)}];")
            lines.append(f"  r{place} -> {above} [style=dashed];")
            lines.append(f"  u{place} [label={_quoted(inner.words)}, style=dashed];")
            lines.append(f"  u{place} -> r{place} [style=dashed];")
            above, inner, level = f"u{place}", inner.deeper, level + 1
            place = f"{i}_{level}"
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
