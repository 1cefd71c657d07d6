"""Result of an anonymization of a graph of people, and the guarantee that the README.txt of a release states."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgreason.base.records import record
from kgreason.people.settings import Construction, PeopleModel
from kgreason.people.utility import Utility
from kgreason.people.verification.verdict import PeopleVerdict
from kgreason.release.pipeline import Result

if TYPE_CHECKING:
    from kgreason.people.anonymizers.generalization import PeopleRelease
    from kgreason.people.model import PeopleGraph
    from kgreason.people.settings import Settings


@dataclass(frozen=True)
class PeopleAnonymization(Result):
    """A verified release of a graph of people, with its utility.

    Attributes
    ----------
    original
        The original graph.
    release
        The graph to publish and the private mapping.
    settings
        Settings of the anonymization.
    verdict
        Findings of the independent checker.
    utility
        Information loss; `None` if it could not be measured.
    """

    original: PeopleGraph
    release: PeopleRelease
    settings: Settings
    verdict: PeopleVerdict
    utility: Utility | None

    def __repr__(self) -> str:
        found = "holds" if self.holds else "DOES NOT HOLD"
        return f"<PeopleAnonymization: {self.verdict.asked} {found}; {_lost(self.utility)}>"

    @property
    def mapping(self) -> dict[str, str]:
        """Released label of each released original user; private."""
        released = self.release.graph.labels
        pairs = zip(self.original.labels.tolist(), self.release.mapping.tolist(), strict=True)
        return {label: str(released[number]) for label, number in pairs if number >= 0}

    @property
    def removed(self) -> list[str]:
        """Original users that are not released."""
        return sorted(self.original.labels[self.release.mapping < 0].tolist())

    def as_dict(self) -> dict[str, Any]:
        """All results but the graphs, as plain data for JSON; `format` is the version of this layout."""
        return super().as_dict() | {"removed": self.removed}

    def figures_by_name(self) -> dict[str, Any]:
        """JSON output besides the verdict and times."""
        return {
            "method": self.settings.method,
            "guarantee": self.verdict.asked,
            "original": _sizes(self.original),
            "released": _sizes(self.release.graph),
            "utility": None if self.utility is None else self.utility.as_dict(),
            "figures": dict(self.release.figures),
        }


def _lost(utility: Utility | None) -> str:
    if utility is None:
        return "what is lost was not measured"
    edges = utility.structure
    return (
        f"AIL {utility.ail:.4f}"
        if edges is None
        else f"{edges.added:,} edges added, {edges.removed:,} left out"
    )


def _sizes(graph: PeopleGraph) -> dict[str, int]:
    return {
        "users": graph.n,
        "values": sum(len(a) for a in graph.attributes.values()),
        "links": sum(len(r) for r in graph.relations.values()),
    }


PROMISES: dict[PeopleModel, str] = {
    "paired-k-degree": """At least {k} users have the numbers of outgoing and incoming links of each relation that a
user has here: an attacker who knows the numbers of a person has as many candidates. The numbers were changed for
that; the true ones may not occur.""",
    "k-ad": """An attacker who knows the released attribute values of a person, and the numbers of outgoing and
incoming links of each relation, finds at least {k} users with all of them.""",
    "p-k-ad": """An attacker who knows the released attribute values of a person, and the numbers of outgoing and
incoming links of each relation, finds at least as many users with all of them as the anonymity level of the person.""",
    "k-degree": """At least {k} users have the number of links that a user has here: an attacker who knows the number
of links of a person, and nothing else, has as many candidates. Numbers were changed for that; the true one may not
occur. Nothing else is promised. Links run both ways; for directed graphs kgreason has the method cdga.""",
    "kw-tad": """An attacker who compares any {w} consecutive releases of this series, and knows in which of them a
person is, with which values and numbers of links, finds at least {k} users with the same history.""",
}
UNPROTECTED = """single links (an attacker who knows links among several people may follow them), what all
users of one class have in common, and that a person with a rare value is among these people."""
OF_DEGREES = """single links (an attacker who knows links among several people may follow them), the degrees of
the neighbours of a person, and other knowledge of the neighbourhood of a person."""
LINKS: dict[Construction, str] = {
    "relaxed": "some were added, some removed",
    "supergraph": "some were added, none removed",
    "construct": "all drawn anew; each user has about as many as in the original",
}
_GUARANTEE = re.compile(
    rf"^Guarantee: (({'|'.join(map(re.escape, PROMISES))}) with (?:k = ([1-9][0-9]{{0,8}})|each user’s own k)"
    r"(?: over [1-9][0-9]{0,3} releases?)?)\.$",
    re.MULTILINE,
)
_WINDOW = re.compile(r"any ([1-9][0-9]{0,3}) consecutive releases")
_NUMBER = re.compile(r"This is release ([1-9][0-9]{0,5}) of its series")


@record
class Claim:
    """Statements of README.txt about a release.

    Attributes
    ----------
    asked
        The guarantee in words.
    model, k, window
        Anonymity model, k (`None` if users have different ones), and number of releases covered.
    construction
        Construction of the links, for the model k-degree.
    releases
        Number of the release in its series; `None` outside a series.
    """

    asked: str
    model: PeopleModel
    k: int | None
    window: int
    construction: Construction = "relaxed"
    releases: int | None = None

    @classmethod
    def of(cls, result: PeopleAnonymization) -> Claim:
        """Claim of a result."""
        verdict, history, settings = result.verdict, result.release.history, result.settings
        series = None if history is None else history.releases
        return cls(verdict.asked, verdict.model, verdict.k, settings.window, settings.construction, series)

    @classmethod
    def found(cls, text: str) -> Claim | None:
        """Parse a README.txt; `None` if it has no text of kgreason.

        Examples
        --------
        >>> Claim.found("Guarantee: k-ad with k = 3.")
        Claim(asked='k-ad with k = 3', model='k-ad', k=3, window=1, construction='relaxed', releases=None)
        """
        guarantee = _GUARANTEE.search(text)
        if not guarantee:
            return None
        model = next(model for model in PROMISES if model == guarantee[2])
        window, number = _WINDOW.search(text), _NUMBER.search(text)
        made: Construction = next((way for way, words in LINKS.items() if f"; {words}" in text), "relaxed")
        return cls(
            guarantee[1],
            model,
            int(guarantee[3]) if guarantee[3] else None,
            int(window[1]) if window else 1,
            made,
            int(number[1]) if number else None,
        )

    @property
    def promise(self) -> str:
        """Explanation of the guarantee, in a few sentences; with one k for all users, p-k-ad is k-ad."""
        model: PeopleModel = "k-ad" if self.model == "p-k-ad" and self.k else self.model
        return PROMISES[model].format(k=self.k, w=self.window)
