"""What attackers find, in notebooks: before a release, and in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgreason.notebook.blocks import badge, figures, note, percent, table, view

if TYPE_CHECKING:
    from kgreason.advice.report import Risk
    from kgreason.attacks.links.disclosure import Disclosure
    from kgreason.attacks.results import Attack, Attacks, Promise

_EXPOSURE = ("attacker knows", "unique", "highest", "average", "above 1/k", "journalist", "marketer")
_ATTACKS = (
    "attacker knows",
    "vertices",
    "found",
    "without knowledge",
    "excess",
    "only one fits",
    "guarantee",
)
_DISCLOSURE = ("above", "predicted", "revealed", "precision", "lift", "recall", "δ")


def risk(found: Risk) -> str:
    """What a graph gives away."""
    rows = [
        (
            e.knowledge + (" (estimate)" if e.looked is not None else ""),
            e.unique,
            percent(e.highest),
            percent(e.average),
            percent(e.at_risk),
            percent(e.journalist_highest),
            percent(e.marketer),
        )
        for e in found.exposures
    ]
    left = "".join(note(f"not looked at: {name}, for {why}") for name, why in found.left_out.items())
    return view(
        f"Risk of {found.graph.n:,} vertices before anonymization, k = {found.k}",
        table(_EXPOSURE, rows, "prosecutor, journalist, marketer; better is 0 everywhere", len(rows)),
        left,
        note(f"advice: kgreason anonymize {found.advice.options}"),
        note(found.advice.reason),
    )


def attacks(found: Attacks) -> str:
    """What attackers find in a release."""
    state, words = ("holds", "resists all attacks that it is promised to resist")
    if found.broken:
        state, words = "fails", f"{len(found.broken):,} attacks succeed against the guarantee"
    elif found.undecided:
        state, words = "undecided", f"{len(found.undecided):,} attacks are not decided"
    rows = [_row(attack) for attack in found.attacks]
    filtered = found.filtered
    dropped = f"{filtered.dropped:,} of {filtered.edges:,} edges dropped as implausible"
    return view(
        f"Attacks on a release, k = {found.k}, x = {', '.join(map(str, found.x))}",
        badge(state, words),
        table(_ATTACKS, rows, "better is found 0 %, and no excess", len(rows)),
        figures(
            [("filter of edges, precision", f"{percent(filtered.precision)} ({dropped})", "better is less")]
        ),
        *map(note, found.notes),
    )


def _row(attack: Attack) -> tuple[object, ...]:
    main, naive = attack.runs["main"], attack.runs.get("naive")
    guess = "" if naive is None else percent(naive.found.value)
    excess = percent(attack.excess) if "control" in attack.runs else ""
    return (
        attack.knowledge,
        attack.size or "",
        percent(main.found.value),
        guess,
        excess,
        percent(main.unique.value),
        _guarantee(attack.promise),
    )


def _guarantee(promise: Promise | None) -> str:
    if promise is None:
        return "nothing promised"
    return promise.state if promise.promised else f"not asked: {promise.reason}"


def disclosure(found: Disclosure) -> str:
    """What an adversary guesses of sensitive links."""
    rows = [
        (
            f"{one.threshold:g}",
            one.predicted,
            one.revealed,
            percent(one.precision),
            "none" if one.lift is None else f"{one.lift:.2f}",
            percent(one.recall),
            f"{one.delta:.3g}",
        )
        for one in found.at
    ]
    return view(
        f"Sensitive links guessed: {found.sensitive:,} among {found.pairs:,} pairs",
        table(_DISCLOSURE, rows, "better is precision as of a guess (lift 1), and recall and δ 0", len(rows)),
        note(f"a guess without the release is right with probability {found.base_rate:.3g}"),
    )
