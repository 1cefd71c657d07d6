"""What a release is worth, in notebooks: each figure with what is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgreason.notebook.blocks import ROWS, figures, table, view

if TYPE_CHECKING:
    from kgreason.assess.fidelity import Fidelity
    from kgreason.assess.people.utility import Utility as PeopleUtility
    from kgreason.assess.utility import Utility
    from kgreason.isomorphism.release import Score

Figure = tuple[str, object, str]
_QUERY = ("query", "answers", "released", "lost", "gained", "U", "U△")


def score(found: Score) -> str:
    """Answers kept, distributions kept, and whether synthetic vertices can be told."""
    told = ("synthetic vertices told", str(found.telling), "better is 0.5")
    whole = figures([*_shares(found.utility), *_closeness(found.fidelity), told])
    return view("Score of a release", whole, _queries(found.utility))


def utility(found: Utility) -> str:
    """Answers kept."""
    return view("Utility of a release", figures(_shares(found)), _queries(found))


def fidelity(found: Fidelity) -> str:
    """Distributions kept."""
    return view("Fidelity of a release", figures(_closeness(found)))


def _shares(found: Utility) -> list[Figure]:
    margin = f" ± {found.margin:.3f}" if found.margin else ""
    return [
        ("U", f"{found.u:.3f}", "better is 0: no answer is lost"),
        ("U△", f"{found.u_symmetric:.3f}{margin}", "better is 0: none is lost or wrong"),
        ("U pooled", f"{found.pooled.u:.3f}", "over the answers of all queries together"),
        ("U△ pooled", f"{found.pooled.u_symmetric:.3f}", "over the answers of all queries together"),
    ]


def _queries(found: Utility) -> str:
    rows = [
        (name, q.original, q.released, q.lost, q.gained, f"{q.u:.3f}", f"{q.u_symmetric:.3f}")
        for name, q in found.per_query.items()
    ]
    return (
        table(_QUERY, rows, "answers by query; fewer lost and gained ones are better", len(rows))
        if rows
        else ""
    )


def _closeness(found: Fidelity) -> list[Figure]:
    distances = {"degrees": found.degree, "in-degrees": found.in_degree, "out-degrees": found.out_degree}
    distances |= {f"weights of {name}": d for name, d in list(found.weights.items())[:ROWS]}
    return [
        ("vertices added", f"{found.vertices_added:,} ({found.vertices_added_percent:.1f} %)", "better is 0"),
        ("edges added", f"{found.edges_added:,} ({found.edges_added_percent:.1f} %)", "better is 0"),
        *(
            (f"distance of {name} (Wasserstein-1)", f"{d:.3f}", "better is 0")
            for name, d in distances.items()
        ),
    ]


def people_utility(found: PeopleUtility) -> str:
    """What information of people is kept."""
    rows: list[Figure] = [
        ("AIL", f"{found.ail:.4f}", "better is 0"),
        ("RRU", f"{found.rru:.4f} ({found.removed:,} of {found.users:,} users)", "better is 0"),
        ("users who stand for nobody", found.fake, "better is 0"),
        ("values added", f"{found.values_added:,} to {found.values:,}", "better is 0"),
        ("untruthful associations", found.untruthful, "better is 0"),
        ("clustering", f"{found.clustering:.4f} -> {found.clustering_released:.4f}", "better is as before"),
    ]
    if found.structure is not None:
        rows.append(("L1 of degrees", found.structure.l1, "better is 0"))
    links = [(name, c.original, c.added, c.removed) for name, c in found.changes.items()]
    shown = table(("relation", "links", "added", "left out"), links, "fewer changes are better", len(links))
    return view("What a release of people keeps", figures(rows), shown if links else "")
