"""What README.txt of a release of people says: what was promised, what that means, what the files are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgreason.choices import Construction, PeopleModel
from kgreason.graph.io.plain_tables import cell, indented, width

if TYPE_CHECKING:
    from kgreason.people.results import PeopleAnonymization

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
TEXT = """Anonymized graph of people

Guarantee: {guarantee}.
{checked}
{promise}

NOT PROTECTED: {unprotected}
{series}
Files
  {users}the users; labels are random
  {values}their values{mixed}
  {relations}links between users; {links}
  {schema}says what the tables hold; kgreason reads the release by it
  {report}a page about the release, for reading; report.json is the same for programs
"""
UNPROTECTED = """who is linked with whom (an attacker who knows links among several people may follow them), what all
users who look alike have in common, and that a person with a rare value is among these people."""
OF_DEGREES = """who is linked with whom (an attacker who knows links among several people may follow them), with
how many others the neighbours of a person are linked, and whatever else is known of a place in the graph."""
LINKS: dict[Construction, str] = {
    "relaxed": "some were added, some left out",
    "supergraph": "some were added, none left out",
    "construct": "all drawn anew; each user has about as many as in the original",
}
MIXED = """; users who look alike have the values of all of them, so some are not their
                  own: several ages of one user, for instance, are those of several people"""
SERIES = """
This is release {number} of its series. Users who are in several of its releases have the same label in all of them.
"""
UNVERIFIED = """UNVERIFIED

The guarantee below was checked and does NOT hold, or was not decided. Do not publish this.

"""
EXPERIMENT = """EXPERIMENT

Made with a fixed seed: it can be computed again. Do not publish this.

"""


@dataclass(frozen=True)
class Claim:
    """What README.txt says of a release.

    Attributes
    ----------
    asked
        The guarantee.
    model, k, window
        Of it; `k` is `None` where each user has his own, `window` how many releases are put together.
    construction
        How links came about, for the model k-degree.
    releases
        Which release of a series it is; `None`: of none.
    """

    asked: str
    model: PeopleModel
    k: int | None
    window: int
    construction: Construction = "relaxed"
    releases: int | None = None

    @classmethod
    def of(cls, result: PeopleAnonymization) -> Claim:
        """What is said of a result."""
        verdict, history, settings = result.verdict, result.release.history, result.settings
        series = None if history is None else history.releases
        return cls(verdict.asked, verdict.model, verdict.k, settings.window, settings.construction, series)

    @classmethod
    def found(cls, text: str) -> Claim | None:
        """What a README.txt says; `None`: nothing that kgreason says.

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


def readme(claim: Claim, *, valued: bool, holds: bool, seeded: bool, format: str = "csv") -> str:
    """Write the text of README.txt.

    Parameters
    ----------
    valued
        Whether users have attributes.
    holds
        Whether the checker confirmed the release.
    seeded
        Whether the run can be repeated.
    format
        Of the tables.
    """
    kind: PeopleModel = "k-ad" if claim.model == "p-k-ad" and claim.k else claim.model
    text = TEXT.format(
        guarantee=claim.asked,
        checked="Confirmed by an exact check of these files.\n" if holds else "",
        promise=PROMISES[kind].format(k=claim.k, w=claim.window),
        unprotected=OF_DEGREES if kind == "k-degree" else UNPROTECTED,
        links=LINKS[claim.construction if kind == "k-degree" else "relaxed"],
        users=cell("users", format),
        values=cell("attributes", format),
        relations=cell("relations", format),
        schema=f"{'people.toml':<{width(format)}}",
        report=f"{'report.html':<{width(format)}}",
        mixed=indented(MIXED, format) if valued else ", of which there are none",
        series="" if claim.releases is None else SERIES.format(number=claim.releases),
    )
    return "".join([UNVERIFIED * (not holds), EXPERIMENT * seeded, text])
