"""The guarantee of a release of a graph of people, as stated in its README.txt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgreason.people.settings import Construction, PeopleModel

if TYPE_CHECKING:
    from kgreason.people.result import PeopleAnonymization


PROMISES: dict[PeopleModel, str] = {
    "paired-k-degree": """The numbers of links of each kind that go out from a user here and come in are those of at
least {k} users: whoever knows a person's is left with so many. They were changed for that; the true ones may not
occur.""",
    "k-ad": """Whoever knows all attribute values of a person as they stand here, and how many links of each kind go
out and come in, finds at least {k} users here who agree in all of them.""",
    "p-k-ad": """Whoever knows all attribute values of a person as they stand here, and how many links of each kind go
out and come in, finds at least as many users here who agree in all of them as this person asked for.""",
    "k-degree": """Each number of links that a user has here is that of at least {k} users: whoever knows with how many
others a person is linked, and nothing else, is left with so many. Numbers were changed for that; the true one may not
occur. That is all that is promised. Links run both ways; for graphs in which direction means something, kgreason has
the method cdga.""",
    "kw-tad": """Whoever lays any {w} consecutive releases of this series side by side, and knows of a person in which
of them he is, with which values and how many links, finds at least {k} users with the same history.""",
}


UNPROTECTED = """who is linked with whom (an attacker who knows links among several people may follow them), what all
users who look alike have in common, and that a person with a rare value is among these people."""


OF_DEGREES = """who is linked with whom (an attacker who knows links among several people may follow them), with
how many others the neighbours of a person are linked, and whatever else is known of a place in the graph."""


@dataclass(frozen=True)
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
        told = _ASKED.search(text)
        if not told:
            return None
        model = next(model for model in PROMISES if model == told[2])
        window, number = _WINDOW.search(text), _NUMBER.search(text)
        made: Construction = next((way for way, words in LINKS.items() if f"; {words}" in text), "relaxed")
        return cls(
            told[1],
            model,
            int(told[3]) if told[3] else None,
            int(window[1]) if window else 1,
            made,
            int(number[1]) if number else None,
        )


_ASKED = re.compile(
    rf"^Guarantee: (({'|'.join(map(re.escape, PROMISES))}) with (?:k = ([1-9][0-9]{{0,8}})|each user’s own k)"
    r"(?: over [1-9][0-9]{0,3} releases?)?)\.$",
    re.MULTILINE,
)


_WINDOW = re.compile(r"any ([1-9][0-9]{0,3}) consecutive releases")


_NUMBER = re.compile(r"This is release ([1-9][0-9]{0,5}) of its series")


LINKS: dict[Construction, str] = {
    "relaxed": "some were added, some left out",
    "supergraph": "some were added, none left out",
    "construct": "all drawn anew; each user has about as many as in the original",
}
