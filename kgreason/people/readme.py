"""What README.txt of a release of people says: what was promised, what that means, what the files are."""

from __future__ import annotations

from kgreason.choices import Construction, PeopleModel
from kgreason.graph.io.plain_tables import cell, indented, width
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


def readme(result: PeopleAnonymization, *, seeded: bool, format: str = "csv") -> str:
    """Write the text of README.txt, for tables in a format."""
    verdict = result.verdict
    history = result.release.history
    kind: PeopleModel = "k-ad" if verdict.model == "p-k-ad" and verdict.k else verdict.model
    text = TEXT.format(
        guarantee=verdict.asked,
        checked="Confirmed by an exact check of these files.\n" if result.holds else "",
        promise=PROMISES[kind].format(k=verdict.k, w=result.settings.window),
        unprotected=OF_DEGREES if kind == "k-degree" else UNPROTECTED,
        links=LINKS[result.settings.construction if kind == "k-degree" else "relaxed"],
        users=cell("users", format),
        values=cell("attributes", format),
        relations=cell("relations", format),
        schema=f"{'people.toml':<{width(format)}}",
        report=f"{'report.html':<{width(format)}}",
        mixed=indented(MIXED, format) if result.release.graph.attributes else ", of which there are none",
        series="" if history is None else SERIES.format(number=history.releases),
    )
    return "".join([UNVERIFIED * (not result.holds), EXPERIMENT * seeded, text])
