"""What notebooks show: whole, harmless, and no longer than it need be; and the short texts beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason import KnowledgeGraph, Relation
from kgreason.engine.relations.fact_tables import Facts
from kgreason.isomorphism.verification.verdict import Delta, Verdict
from kgreason.links import LinkGraph
from kgreason.links.model import Original, Released, Sensitive, observations
from kgreason.links.school import school
from kgreason.notebook import COLOURS, ROWS, View, rendered
from kgreason.people import PeopleGraph
from kgreason.release.report.report_data import Figure, Table
from kgreason.release.verdicts import Item
from tests.examples import inputs

OWN = '@edge("own"). @derived("major"). @query("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</td></table></div>",
    "&lt;b&gt;",
    "a\u202eb\u2066",
    "\x00\x1b[31m",
    "x" * 5000,
    "]]>",
    "<!--",
]
EMPTY = {"br", "hr", "img", "meta", "link", "input"}
ALLOWED = {"div", "span", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre"}


class Checker(HTMLParser):
    """Well-formed: what is opened is closed, in order; no tag and no attribute but those that views are made of."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.rows: list[int] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert {name for name, _ in attrs} <= {"style", "scope"}, attrs
        assert not any("url(" in (value or "") or "expression" in (value or "") for _, value in attrs)
        self.open.append(tag)
        if tag == "tbody":
            self.rows.append(0)
        if tag == "tr" and "tbody" in self.open:
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def checked(html: str, *, rows: int = ROWS) -> str:
    """Text of a view that is well-formed and small."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert max(checker.rows, default=0) <= rows
    assert len(html) < 60_000
    text = " ".join(checker.text)
    assert all(c.isprintable() or c == "\n" for c in text)
    return text


@cache
def anonymized() -> Any:
    return kgreason.anonymize(
        OWN, {"own": [("A", "B", 0.6), ("B", "C", 0.3), ("C", "D", 0.9)]}, method="klone", k=2, x=2, seed=1
    )


@cache
def of_people() -> Any:
    jobs = [
        ("Ken", "job", "clerk"),
        ("Mary", "job", "clerk"),
        ("Tom", "job", "nurse"),
        ("Jane", "job", "cook"),
    ]
    graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    return kgreason.people.anonymize(graph, k=2, seed=1)


@cache
def of_links() -> Any:
    return kgreason.links.anonymize(school(np.random.default_rng(1), students=30), k=5, seed=1)


def guessed() -> Any:
    found = of_links()
    return kgreason.links.attack(
        found.release.released,
        found.original,
        found.mapping,
        noise={"classmates": 0.4, "groupmates": 0.6},
        leak=0.1,
    )


def attacked() -> Any:
    found = anonymized()
    return kgreason.attack(found.original, found.release.graph, found.mapping, OWN, k=2, x=2, seed=1)


REACH = """
@output("reach"). @output("some").
reach(X, Y) :- edge(X, Y).
reach(X, Z) :- reach(X, Y), edge(Y, Z).
some() :- edge(X, Y).
"""
CHAIN = {"edge": [(f"v{i:02}", f"v{i + 1:02}") for i in range(20)]}

VIEWS: dict[str, tuple[Callable[[], Any], str, tuple[str, ...]]] = {
    "KnowledgeGraph": (
        lambda: anonymized().original,
        "<KnowledgeGraph with 4 vertices; own: 3 edges>",
        ("own", "A", "0.6", "in", "1"),
    ),
    "PeopleGraph": (
        lambda: of_people().original,
        "<PeopleGraph with 4 users; attributes: job 4; relations: follows 1>",
        ("clerk", "follows"),
    ),
    "LinkGraph": (lambda: of_links().original.graph, r"<LinkGraph with 30 nodes; .*>", ("classmates",)),
    "Original": (
        lambda: of_links().original,
        r"<Original: <LinkGraph .*>; sensitive: friends \d+>",
        ("must not be disclosed",),
    ),
    "Released": (
        lambda: of_links().release.released,
        "<Released by cluster-edge: <LinkGraph .*>>",
        ("30 entities",),
    ),
    "Reasoned": (
        lambda: kgreason.reason(REACH, CHAIN),
        "<Reasoned: reach 210, some 1>",
        ("reach: 210 facts", "… 202 more", "some: holds"),
    ),
    "Facts": (lambda: Facts.from_rows({"p": [("a", 1, True)]}), "<Facts: p 1>", ("c3", "#T")),
    "Reasoner": (lambda: kgreason.Reasoner(REACH, CHAIN), "<Reasoner: reach: 210, some: 1>", ("210 facts",)),
    "Explanation": (
        lambda: kgreason.explain(REACH, 'reach("v00", "v02")', CHAIN),
        r'<Explanation of reach\("v00", "v02"\): holds>',
        ("holds", "edge"),
    ),
    "why not": (
        lambda: kgreason.explain(REACH, 'reach("v02", "v00")', CHAIN),
        r"<Explanation of .*: does not hold>",
        ("does not hold", "there is no edge"),
    ),
    "Anonymization": (
        anonymized,
        r"<Anonymization: \(2,x\)-isomorphism for every x holds; U△ .*>",
        ("holds", "original", "better is 0", "secret"),
    ),
    "Verdict": (
        lambda: anonymized().verdict,
        "<Verdict: kx-isomorphism, k = 2, every x: holds>",
        ("holds", "δ-anonymity", "better is 1", "augmentation"),
    ),
    "Score": (
        lambda: anonymized().score,
        "<Score: U 0.000, U△ .*; detection: .*>",
        ("major", "better is 0", "better is 0.5"),
    ),
    "Utility": (lambda: anonymized().score.utility, "<Utility: U 0.000, U△ .*; queries: major>", ("lost",)),
    "Fidelity": (
        lambda: anonymized().score.fidelity,
        r"<Fidelity: \d+ vertices and \d+ edges added>",
        ("Wasserstein",),
    ),
    "Risk": (
        lambda: kgreason.risk(OWN, anonymized().original, k=2),
        "<Risk of 4 vertices; .*>",
        ("Prosecutor", "advice: kgreason anonymize"),
    ),
    "Attacks": (attacked, r"<Attacks: \d+, as promised>", ("resists", "better is found 0 %")),
    "PeopleAnonymization": (
        of_people,
        "<PeopleAnonymization: .* holds; AIL .*>",
        ("users", "AIL", "better is 0"),
    ),
    "PeopleVerdict": (
        lambda: of_people().verdict,
        "<PeopleVerdict: p-k-ad with k = 2: holds>",
        ("Smallest class", "better is k or more"),
    ),
    "people utility": (
        lambda: of_people().utility,
        "<Utility: AIL .*, RRU .*; .* links changed>",
        ("AIL", "RRU", "follows"),
    ),
    "LinksAnonymization": (of_links, "<LinksAnonymization: .*>", ("Links kept", "better is 100 %")),
    "LinksVerdict": (
        lambda: of_links().verdict,
        "<LinksVerdict: cluster-edge with k = 5: holds>",
        ("entities",),
    ),
    "Disclosure": (
        guessed,
        r"<Disclosure of \d+ sensitive links at 4 thresholds>",
        ("precision", "a guess without"),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    make, short, words = VIEWS[name]
    found = make()
    assert re.fullmatch(short, repr(found)), repr(found)
    assert len(repr(found)) < 250
    text = checked(found._repr_html_(), rows=30)
    for word in words:
        assert word in text, text
    assert "script" not in found._repr_html_()


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_do_no_harm(label: str) -> None:
    """As labels, relations, values, attributes, goals, and in what verdicts say."""
    other = label + "2"
    ends = np.array([0]), np.array([1])
    labels = np.array([label, other], dtype=object)
    views: list[Any] = [
        KnowledgeGraph(labels, {label: Relation(*ends, np.array([0.5]), (label, "b", "c"))}),
        PeopleGraph.from_triples([label, other], [(label, label, label)], [(label, label + "r", other)]),
        LinkGraph(labels, {label: observations(*ends)}),
        Original(LinkGraph(labels, {"a": observations(*ends)}), Sensitive(label, *ends)),
        Released(LinkGraph(labels, {label: observations(*ends)}), label),  # type: ignore[arg-type]
        Facts.from_rows({label: [(label, (label,), frozenset({label}))]}),
        Verdict(
            2,
            2,
            (Item(label, False, label, (label, label + "\n" + label)),),
            Delta(0, 1),
            needs_original=(label,),
        ),
    ]
    if "\x00" not in label:
        views.append(kgreason.reason("q(X) :- p(X).", {"p": [label]}))
    views.append(kgreason.explain("q(X) :- p(X).", "q(X)", {"p": [label]}))
    for found in views:
        checked(found._repr_html_(), rows=30)


@settings(max_examples=inputs(100), deadline=None)
@given(st.text(max_size=150))
def test_any_text_is_escaped(text: str) -> None:
    html = rendered(View(text, [Table(text, (text,), ((text,),)), Figure(text, text), text]))
    assert "a" in checked(html + "a")
    assert len(html) < 8_000


def test_heads_stand_as_what_is_below_them() -> None:
    def aligned(*rows: tuple[str, ...]) -> list[str]:
        html = rendered(View("", [Table("", ("name", "edges"), rows)]))
        return re.findall(r"<th[^>]*text-align:(\w+)", html)

    assert aligned(("own", "3")) == ["left", "right"]
    assert aligned() == ["left", "left"]


def test_no_more_rows_than_eight() -> None:
    size = 500
    chain = KnowledgeGraph.from_edges([(f"a{i}", f"a{i + 1}", 0.5) for i in range(size)], relation="own")
    many = PeopleGraph.from_triples(
        [f"u{i}" for i in range(size)],
        [(f"u{i}", f"a{i % 40}", str(i)) for i in range(size)],
        [("u1", f"r{i}", "u2") for i in range(40)],
    )
    facts = Facts.from_rows({f"p{i}": [(j,) for j in range(size)] for i in range(30)})
    relations = KnowledgeGraph(chain.labels, {f"r{i}": chain.relations["own"] for i in range(50)})
    for found in (chain, many, facts, relations):
        checked(found._repr_html_())
    assert "… 492 more" in checked(chain._repr_html_())
    assert "not shown: p6 500" in checked(facts._repr_html_())
    items = tuple(Item(f"i{i}", False, "no", tuple(f"w{j}" for j in range(9))) for i in range(5))
    assert "… 6 more" in checked(Verdict(2, 2, items, None)._repr_html_())


def test_what_fails_is_told() -> None:
    wrong = Verdict(
        2, 3, (Item("images", False, "2 have none", ("A, B",)), Item("labels", True, "none")), Delta(1, 3)
    )
    text = checked(wrong._repr_html_())
    assert "does not hold" in text
    assert "0.333" in text
    assert "A, B" in text
    assert COLOURS["fails"] in wrong._repr_html_()
    empty = KnowledgeGraph(np.array([], dtype=object), {})
    assert "0 vertices" in checked(empty._repr_html_())
    nobody = PeopleGraph.from_triples([], [])
    assert "no attributes" in checked(nobody._repr_html_())


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("state", COLOURS)
def test_badges_can_be_read(state: str) -> None:
    """WCAG 2, AA: white on the colour of a badge."""
    assert 1.05 / (_luminance(COLOURS[state]) + 0.05) >= 4.5
