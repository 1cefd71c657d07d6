"""The page of a report: what it shows, that it stands alone, and that no label becomes a part of it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.release.report.charts import LEFT, RIGHT, TOP, WIDTH, drawn_chart, drawn_picture, percent
from kgreason.release.report.html_page import heads, long, numeric, page, possible, templates
from kgreason.release.report.report_data import (
    TERMS,
    Chart,
    Figure,
    Finding,
    Picture,
    Report,
    Section,
    State,
    Table,
)
from tests.examples import inputs
from tests.reports import HOSTILE, hostile_pictures, sample_report

VOID = {"meta", "link", "input", "br", "img"}
EMPTY = Report("Release", False, "holds", "k-ad holds", "Done.", "Safe.", ())


class Document(HTMLParser):
    """Elements of a page in order, with their attributes and text; refuses tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice: {attrs}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def said(self) -> str:
        return " ".join(" ".join(data for tag, data in self.texts if tag not in {"style", "script"}).split())


@pytest.fixture(scope="module", params=[True, False], ids=["secret", "public"])
def report(request: pytest.FixtureRequest) -> Report:
    return sample_report(secret=request.param, vertices=40)


def test_it_shows_all_items(report: Report) -> None:
    said = Document(page(report)).said()
    for section in report.sections:
        assert section.title in said
        assert section.lead in said
        for item in section.items:
            match item:
                case Figure():
                    wanted = [
                        item.name,
                        *filter(None, [item.before, item.note]),
                        *re.split(r" \(|\)", item.value),
                    ]
                case Table():
                    wanted = [
                        item.title,
                        *item.columns,
                        *(cell for row in item.rows for cell in row),
                        item.better,
                    ]
                case Chart():
                    wanted = [item.title, item.axis, item.counted, *item.labels, *map(percent, item.after)]
                case Finding():
                    wanted = [item.name, item.state, item.detail, *item.witnesses]
                case Picture():
                    wanted = [item.title, *item.labels]
            assert [text for text in wanted if " ".join(text.split()) not in said] == []
    for text in (report.title, report.verdict, report.done, report.safe, *report.warnings, report.state):
        assert text in said


def test_it_is_visibly_secret_or_public() -> None:
    reports = (replace(sample_report(s, vertices=40), warnings=()) for s in (True, False))
    secret, public = (Document(page(report)).said() for report in reports)
    assert "do not publish" in secret
    assert "may be published" not in secret
    assert "may be published" in public
    assert "do not publish" not in public


@pytest.mark.parametrize("state", ["holds", "fails", "undecided", "given up"])
def test_the_verdict_has_words_and_a_mark_besides_its_colour(state: State) -> None:
    text = page(replace(EMPTY, state=state))
    (badge,) = re.findall(r'<p class="verdict [a-z-]+">(.*?)</p>', text, re.DOTALL)
    assert f'<span class="state">{state}</span>' in badge
    assert "<svg" in badge
    marks = {
        re.search(r'd="([^"]*)"', page(replace(EMPTY, state=s)).split('class="verdict')[1])[1]
        for s in _STATES
    }
    assert len(marks) == len(_STATES)


_STATES: tuple[State, ...] = ("holds", "fails", "undecided", "given up")


def test_figures_are_explained(report: Report) -> None:
    document = Document(page(report))
    said = document.said()
    ids = {attributes["id"] for _, attributes in document.elements if "id" in attributes}
    terms = {item.term for s in report.sections for item in s.items if not isinstance(item, Picture)} - {""}
    assert terms
    for term in terms:
        assert TERMS[term].anchor in ids
        assert TERMS[term].definition in said
    unused = next(term for name, term in TERMS.items() if name not in terms)
    assert unused.definition not in said
    key = page(report).split('<dl class="key of')[1].split("</dl>")[0]
    assert "better is 1" in key


def test_the_structure_is_sound(report: Report) -> None:
    document = Document(page(report))
    ids = Counter(attributes["id"] for _, attributes in document.elements if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []
    for _, attributes in document.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids
        for used in re.findall(r"url\(#([^)]*)\)", " ".join(filter(None, attributes.values()))):
            assert used in ids
    levels = [int(tag[1]) for tag, _ in document.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all("scope" in attributes for attributes in document.all("th"))
    assert len(document.all("main")) == 1
    assert document.all("html")[0]["lang"] == "en"


def _alone(text: str) -> Document:
    """The page, which loads nothing and has one style and one script, those that its policy admits."""
    document = Document(text)
    for tag, attributes in document.elements:
        assert tag not in {"iframe", "object", "embed", "img", "image", "use", "audio", "video", "base"}
        assert not {"src", "srcset", "action", "formaction", "xlink:href", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (
            "href" not in attributes or attributes["href"] == "data:," or attributes["href"].startswith("#")
        )
    policy = next(
        m["content"] for m in document.all("meta") if m.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert not re.search(
            r"https?:|//[a-z]|@import|\bimport\b|fetch|Request|innerHTML|Storage|cookie", content
        )
        assert all(used.startswith("#") for used in re.findall(r"url\(([^)]*)\)", content))
        assert len(document.all(tag)) == 1
    return document


def test_compiled_templates_are_kept(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page(report)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    templates.cache_clear()
    assert page(report) == whole
    kept = sorted(tmp_path.glob("template-*.bin"))
    assert kept
    monkeypatch.setattr("jinja2.environment.Environment.compile", None)  # they are not compiled again
    templates.cache_clear()
    assert page(report) == whole
    monkeypatch.undo()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for file in kept:
        file.write_bytes(file.read_bytes()[:-10])  # an interrupted write is no template
    templates.cache_clear()
    assert page(report) == whole
    templates.cache_clear()


def test_it_stands_alone(report: Report) -> None:
    _alone(page(report))


def test_the_same_report_is_the_same_page(report: Report) -> None:
    assert page(report) == page(report)


def _everywhere(label: str) -> Report:
    """A report that has a text in all places where a text may stand."""
    items = (
        Figure(label, label, label, "", label, note=label),
        Figure(label, label, label, ""),
        Finding(label, "fails", label, (label, label)),
        Table(label, (label, label), ((label, label),), label, note=label),
        Chart(label, label, (label, label), (0.5, 0.5), (0.2, 0.8), label, note=label),
        Picture(
            label, (0.1, 0.9), (0.2, 0.8), (label, label), (False, True), ((0, 1, label, label, True),), label
        ),
    )
    return Report(
        label, True, "fails", label, label, label, (Section(label, label, items),), {label: label}, (label,)
    )


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_no_label_becomes_markup(label: str) -> None:
    document = _alone(page(_everywhere(label)))
    assert possible(label) in [text for _, text in document.texts]
    page(_everywhere(label)).encode()


@settings(max_examples=inputs(60))
@given(
    st.text(st.characters() | st.sampled_from("<>&\"'/{}%#`$\x00\u2028\u202e\ud800"), min_size=1, max_size=30)
)
def test_whatever_the_label(label: str) -> None:
    text = page(_everywhere(label))
    text.encode()
    document = _alone(text)
    plain = Document(page(_everywhere("plain")))
    # a label with backquotes is set as code, and one that begins with a digit is a key figure
    assert {tag for tag, _ in document.elements} <= {tag for tag, _ in plain.elements} | {
        "code",
        "span",
        "dl",
    }
    assert possible(label) in [text for _, text in document.texts]


def test_hostile_pictures() -> None:
    section = Section("Picture", "", hostile_pictures())
    _alone(page(replace(EMPTY, secret=True, sections=(section,))))


def test_many_witnesses_are_folded() -> None:
    def folded(count: int) -> bool:
        finding = Finding("images", "fails", "", tuple(map(str, range(count))))
        return '<details class="witnesses">' in page(replace(EMPTY, sections=(Section("", "", (finding,)),)))

    assert not folded(2)
    assert folded(20)


shares = st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any)


@settings(max_examples=inputs(50))
@given(shares, st.data())
def test_bars_stand_within_the_chart(counts: list[int], data: st.DataObject) -> None:
    total = sum(counts)
    before = tuple(c / total for c in counts)
    others = data.draw(st.permutations(before))
    labels = tuple(
        data.draw(st.lists(st.text("0123456789 to", max_size=20), min_size=len(counts), max_size=len(counts)))
    )
    drawn = drawn_chart(Chart("", "", labels, before, tuple(others), ""))
    assert len(drawn.bars) == 2 * len(counts)
    for bar in drawn.bars:
        assert bar.x >= LEFT
        assert bar.x + bar.width <= WIDTH - RIGHT + 0.1
        assert bar.y >= TOP - 0.01
        assert bar.y + bar.height == pytest.approx(drawn.base, abs=0.02)
    # heights are in proportion to the shares, and no two bars overlap
    heights = [bar.height for bar in drawn.bars if bar.series == "before"]
    assert heights == pytest.approx([share * max(heights) / max(before) for share in before], abs=0.02)
    ends = sorted((bar.x, bar.x + bar.width) for bar in drawn.bars)
    assert all(a[1] <= b[0] + 0.02 for a, b in pairwise(ends))
    assert 2 <= len(drawn.ticks) <= 7


def test_a_public_chart_has_the_release_only() -> None:
    chart = Chart("In-degrees", "edges", ("0", "1"), (), (0.5, 0.5), "share of vertices")
    text = page(replace(EMPTY, sections=(Section("Shape", "", (chart,)),)))
    assert 'class="before"' not in text
    assert "original" not in Document(text).said()
    assert "better is" not in Document(text).said()
    both = page(replace(EMPTY, sections=(Section("Shape", "", (replace(chart, before=(0.4, 0.6)),)),)))
    assert "better is bars of the same height" in both


def test_columns_before_and_after_share_a_head() -> None:
    columns = (
        "known",
        "fewest, before",
        "fewest, after",
        "misled, after",
        "name, before",
        "risk, before",
        "risk, after",
    )
    rows = (
        ("nothing", "291", "at least 50,000", "0.5", "Adler", "0.0104 ± 0.0038", "–"),
        ("Donaudampfschifffahrtsgesellschaft", "–", "12", "—", "", "1.0000", "0.2 %"),
    )
    drawn = Table("", columns, rows)
    first, second = heads(drawn)
    assert [(h.text, h.columns, h.rows) for h in first] == [
        ("known", 1, 2),
        ("fewest", 2, 1),
        ("misled, after", 1, 2),
        ("name, before", 1, 2),
        ("risk", 2, 1),
    ]
    assert [h.text for h in second] == ["before", "after"] * 2
    assert numeric(drawn) == [False, True, True, True, False, True, True]
    assert long(rows[1][0])
    assert not long(rows[0][0])
    assert len(heads(Table("", columns[:2], ()))) == 1
    document = Document(page(replace(EMPTY, sections=(Section("Risk", "", (Table("T", columns, rows),)),))))
    assert sum(int(group["span"] or 1) for group in document.all("colgroup")) == len(columns)


def test_a_note_that_figures_share_stands_once() -> None:
    figures = [Figure(name, "1", note="for who knows `own`") for name in "abc"]
    text = page(replace(EMPTY, sections=(Section("Risk", "", (*figures, Figure("d", "2", note="other"))),)))
    shown = text.split('<table class="figures"')[1].split("</table>")[0]
    assert shown.count("for who knows <code>own</code>") == 1
    assert shown.count("other") == 1


def test_the_key_figures_are_those_that_the_report_calls_so() -> None:
    items = (
        Figure("first", "1.0", "better is 1"),
        Figure("second", "~ 2", "better is less", note="where parts are known; of a sample", key=True),
        Figure("third", "3.0", "better is 1", key=True),
    )
    report = replace(EMPTY, sections=(Section("A", "", items), Section("B", "", items)))
    key = page(report).split('<dl class="key of')[1].split("</dl>")[0]
    assert [key.count(name) for name in ("first", "second", "third")] == [0, 2, 2]
    assert "where parts are known" in key
    assert "of a sample" not in key
    assert '<dl class="key of' not in page(replace(EMPTY, sections=(Section("A", "", items[:1]),)))


@pytest.mark.parametrize(
    ("state", "warnings", "fine"),
    [
        ("holds", (), True),
        ("given up", (), True),
        ("fails", (), False),
        ("undecided", (), False),
        ("holds", ("x",), False),
    ],
)
def test_a_public_page_says_may_be_published_only_where_that_is_so(
    state: State, warnings: tuple[str, ...], fine: bool
) -> None:
    text = page(replace(EMPTY, secret=False, state=state, warnings=warnings))
    body = text.split("<body")[1]
    assert ("may be published" in body) is fine
    assert ("the release is not safe" in body) is not fine
    assert body.startswith(' class="public"') is fine


def test_an_empty_chart_and_an_empty_picture() -> None:
    items = (
        Chart("None", "", (), (), (), ""),
        Picture("None", (), (), (), (), ()),
        Table("None", ("a",), ()),
    )
    Document(page(replace(EMPTY, sections=(Section("Nothing", "", items),))))


def test_edges_that_share_both_ends_are_drawn_apart() -> None:
    edges = (
        (0, 1, "own", "0.5", False),
        (1, 0, "own", "", False),
        (0, 1, "own", "0.1", True),
        (0, 0, "own", "", False),
    )
    drawn = drawn_picture(Picture("", (0.0, 1.0), (0.0, 1.0), ("a", "b"), (False, False), edges))
    assert len({edge.line for edge in drawn.edges}) == 4
    assert [edge.width for edge in drawn.edges] == [4, 1, 1, 1]
    assert drawn.weighted
