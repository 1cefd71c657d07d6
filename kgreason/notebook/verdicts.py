"""Verdicts in notebooks: a badge, the conditions, δ, and witnesses of what does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgreason.notebook.blocks import badge, figures, items, note, view

if TYPE_CHECKING:
    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.assess.verdict import Examined, Verdict

_STATES = {
    "holds": "holds",
    "given up": "holds, but for what the release says that it gives up",
    "undecided": "not decided",
    "fails": "does not hold",
}


def verdict(found: Verdict) -> str:
    """Whether a graph under rules is protected."""
    model = "k-isomorphism" if found.model == "k-iso" else "(k,x)-isomorphism"
    delta = [] if found.delta is None else [("δ-anonymity", str(found.delta), "better is 1")]
    if found.alike is not None:
        delta.append(("δ-anonymity, whatever degrees", str(found.alike), "better is 1"))
    if found.edits is not None:
        delta.append(("changes", str(found.edits), "less is better"))
    return view(
        f"Verdict: {model}, k = {found.k}, {found.sizes}",
        _state(found),
        figures(delta),
        items(found.items),
        _alone(found),
    )


def people_verdict(found: PeopleVerdict) -> str:
    """Whether people look alike."""
    told = found.figures
    numbers = [
        ("users", told.users, ""),
        ("classes", told.classes, ""),
        ("smallest class", told.smallest, "better is k or more"),
    ]
    if told.ratio is not None:
        numbers.append(("least class over k", told.ratio, "better is 1 or more"))  # type: ignore[arg-type]
    notes = "".join(note(f"not protected: {text}") for text in found.notes)
    return view(
        f"Verdict: {found.asked}", _state(found), figures(numbers), items(found.items), _alone(found), notes
    )


def links_verdict(found: LinksVerdict) -> str:
    """Whether a release of links is what its strategy says."""
    told = found.nodes
    numbers = [
        ("nodes", told.number, ""),
        ("entities", told.entities, ""),
        ("smallest cluster", told.smallest, "better is k or more"),
    ]
    return view(f"Verdict: {found.asked}", _state(found), figures(numbers), items(found.items), _alone(found))


def _state(found: Examined) -> str:
    return badge(found.state, _STATES[found.state])


def _alone(found: Examined) -> str:
    return "".join(note(f"not decidable without the original: {what}") for what in found.needs_original)
