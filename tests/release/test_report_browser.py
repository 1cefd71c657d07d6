"""The page of a report in a browser: silence, keys, search, zoom, themes, contrast, print, narrow screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgreason.release.report.html_page import page as written
from kgreason.release.report.report_data import Section
from tests.needs import needed, needs_chromium
from tests.reports import hostile_pictures, real_reports, sample_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("secret", "public", "fails", "hostile")
REAL = tuple(
    f"{family} {folder}" for family in ("rules", "people", "links") for folder in ("private", "release")
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = needs_chromium()
    for package in ("playwright", "axe_playwright_python"):
        needed(f"the package {package}", find_spec(package) is not None)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(found), args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports as files: a secret one, a public one, one that fails and is large, one of hostile labels, real ones."""
    secret = sample_report(vertices=60)
    reports = {
        "secret": secret,
        "public": sample_report(secret=False),
        "fails": sample_report(state="fails", vertices=1000),
        "hostile": replace(secret, sections=(Section("Picture", "", hostile_pictures()),)),
    }
    folder = tmp_path_factory.mktemp("reports")
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(written(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports} | real_reports(folder)


Open = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Open]:
    """Open a report; at the end of the test nothing may have been said on the console, or asked of a network."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(name: str, width: int = 1200, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.on("request", lambda request: asked.append(request.url))
        context.route("**/*", lambda route: route.continue_() if route.request.url == url else route.abort())
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        url = files[name].as_uri()
        page.goto(url)
        return page

    yield opened
    local = [url for url in asked if not url.startswith(("data:,", "file:"))]
    files_asked = [url for url in asked if url.startswith("file:")]
    for context in contexts:
        context.close()
    assert said == []
    assert local == []
    assert len(files_asked) == len(contexts)


# What a real report has, the others have in the same colours: in the dark those are enough.
@pytest.mark.parametrize(
    ("scheme", "name"), [*(("light", name) for name in (*NAMES, *REAL)), *(("dark", name) for name in NAMES)]
)
def test_wcag(visit: Open, name: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit(name, color_scheme=scheme)
    # long tables of edges stay folded, which are like the short one of the hostile report
    unfolded = "details" if name == "hostile" else "details:not(.picture details)"
    page.evaluate(f"for (const details of document.querySelectorAll('{unfolded}')) details.open = true")
    results = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert results.violations_count == 0, results.generate_report()
    passed = {rule["id"] for rule in results.response["passes"]}
    assert {"color-contrast", "html-has-lang", "heading-order", "region"} <= passed


# Ratio of luminances, as WCAG 2.1 defines contrast, of what is drawn within svg elements.
CONTRASTS = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element.closest("svg").parentElement; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      const parts = rgb(colour);
      if (parts.length === 3 || parts[3] === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const measure = (selector, property, least) => {
    for (const element of document.querySelectorAll(selector)) {
      const colour = getComputedStyle(element)[property];
      if (colour === "none" || colour.startsWith("url")) continue;
      found.push([selector, property, ratio(colour, ground(element)), least]);
    }
  };
  measure("svg text", "fill", 4.5);
  measure("rect.after, .mark, .key-real, .v:not(.made) circle, .stripe, .real path, .made path", "fill", 3);
  measure("rect.before, .tick:not(text), .e, .v.made circle, .key-made, .key-line, .zero", "stroke", 3);
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_drawings(visit: Open, scheme: str) -> None:
    measured = visit("secret", color_scheme=scheme).evaluate(CONTRASTS)
    assert len(measured) > 300
    assert [each for each in measured if each[2] < each[3]] == []


def test_theme(visit: Open) -> None:
    page = visit("secret", color_scheme="light")
    ground = "getComputedStyle(document.querySelector('main')).backgroundColor"
    button = page.get_by_role("button", name="Dark theme")
    light = page.evaluate(ground)
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    dark = page.evaluate(ground)
    assert dark != light
    button.click()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == light, "what was chosen stays"
    assert visit("secret", color_scheme="dark").evaluate(ground) == dark


def focused(page: Page) -> str:
    return str(
        page.evaluate(
            "(a => a.id || a.dataset.zoom || a.className || (a.textContent || '').trim())(document.activeElement)"
        )
    )


def test_tab_order(visit: Open) -> None:
    page = visit("secret")
    reached = []
    while True:
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(focused(page))
        shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert shown != "none", reached[-1]
    wanted = ["skip", "theme", "picture-6-1-find", "in", "out", "all", "view"]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)
    assert places[:2] == [0, 1]


def test_the_skip_link_leads_past_the_head(visit: Open) -> None:
    page = visit("secret")
    page.keyboard.press("Tab")
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert focused(page) == "content"


def boxes(page: Page) -> list[list[float]]:
    """The part of the drawing that each picture shows: left, top, width, height."""
    return page.evaluate(
        "[...document.querySelectorAll('.view > svg')].map(s => s.getAttribute('viewBox').split(' ').map(Number))"
    )


def test_keys_zoom_and_move_both_pictures(visit: Open) -> None:
    page = visit("secret")
    page.locator(".view").first.focus()
    whole = boxes(page)
    assert whole == [[0, 0, 1000, 1000]] * 2
    page.keyboard.press("+")
    page.keyboard.press("+")
    near = boxes(page)
    assert near[0] == near[1]
    assert near[0][2] == pytest.approx(1000 / 1.5**2, abs=0.1)
    for key, axis, sign in (
        ("ArrowRight", 0, 1),
        ("ArrowLeft", 0, -1),
        ("ArrowDown", 1, 1),
        ("ArrowUp", 1, -1),
    ):
        old = boxes(page)[0]
        page.keyboard.press(key)
        new = boxes(page)
        assert (new[0][axis] - old[axis]) * sign > 0
        assert new[0][1 - axis] == old[1 - axis]
        assert new[0] == new[1]
    page.keyboard.press("-")
    assert boxes(page)[0][2] == pytest.approx(1000 / 1.5, abs=0.1)
    page.keyboard.press("0")
    assert boxes(page) == whole
    for _ in range(30):
        page.keyboard.press("+")
    assert boxes(page)[0][2] > 1000 / 30


def test_buttons_and_the_wheel_zoom(visit: Open) -> None:
    page = visit("secret")
    page.get_by_role("button", name="Zoom in").press("Enter")
    assert boxes(page)[0][2] < 1000
    page.get_by_role("button", name="Zoom out").click()
    assert boxes(page)[0] == [0, 0, 1000, 1000]
    view = page.locator(".view").first
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(100)
    assert boxes(page)[0][2] == 1000, "the page scrolls until the picture is clicked"
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 20)
    page.mouse.wheel(0, -100)
    page.wait_for_function(
        "document.querySelector('.view > svg').getAttribute('viewBox') !== '0 0 1000 1000'"
    )
    left, top, width, _ = boxes(page)[0]
    assert width < 1000
    assert left == top == 0 or left + top < width / 4, "it zooms to the pointer"
    page.mouse.down()
    page.mouse.move(box["x"] - 30, box["y"] - 30, steps=4)
    page.mouse.up()
    assert boxes(page)[0][0] > left
    page.get_by_role("button", name="Show all").click()
    assert boxes(page)[0] == [0, 0, 1000, 1000]


def page_place(drawing: Locator, selector: str) -> dict[str, float]:
    """Where an element of a drawing, or the drawing, stands in the window."""
    found: dict[str, float] = drawing.evaluate(
        "(svg, selector) => (selector ? svg.querySelector(selector) : svg).getBoundingClientRect().toJSON()",
        selector,
    )
    return found


def test_search_finds_a_vertex_in_both_pictures(visit: Open) -> None:
    page = visit("secret", reduced_motion="reduce")
    drawings = page.locator(".view > svg")
    names = drawings.first.evaluate("s => [...s.querySelectorAll('.v text')].map(t => t.textContent)")
    images = drawings.nth(1).evaluate("s => [...s.querySelectorAll('.v text')].map(t => t.textContent)")
    field = page.get_by_role("searchbox", name="Find a vertex")
    for label in (names[17], images[17], names[17].upper()):
        field.fill(label)
        field.press("Enter")
        told = page.get_by_role("status").inner_text()
        assert names[17] in told
        assert images[17] in told
        assert "edges to" in told
        for drawing, shown in ((drawings.first, names), (drawings.nth(1), images)):
            chosen = drawing.locator(".v.chosen")
            assert chosen.count() == 1
            assert chosen.locator("text").text_content() == shown[17]
            middle, around = (page_place(drawing, selector) for selector in (".v.chosen circle", ""))
            assert around["left"] <= middle["left"] <= middle["right"] <= around["right"]
            assert 0 <= around["top"] <= middle["top"] <= middle["bottom"] <= around["bottom"] <= 900
    assert boxes(page)[0][2] <= 250
    field.fill("no such label")
    field.press("Enter")
    assert "No vertex" in page.get_by_role("status").inner_text()
    assert page.locator(".v.chosen").count() == 0


def test_enter_goes_from_match_to_match(visit: Open) -> None:
    page = visit("secret")
    field = page.get_by_role("searchbox")
    field.fill("c0000")
    told = []
    for _ in range(3):
        field.press("Enter")
        told.append(page.get_by_role("status").inner_text())
    assert len(set(told)) == 3
    assert "found; Enter goes to the next" in told[0]


def test_vertices_are_told_on_the_way(visit: Open) -> None:
    page = visit("secret")
    view, status = page.locator(".view").nth(1), page.get_by_role("status")
    view.focus()
    told = []
    for key in ("n", "n", "p"):
        page.keyboard.press(key)
        told.append(status.inner_text())
    assert told[0] == told[2] != told[1]
    page.keyboard.press("Escape")
    assert status.inner_text() == ""
    vertex = view.locator(".v.made circle").first
    vertex.scroll_into_view_if_needed()
    vertex.hover(force=True)
    assert "(synthetic)" in status.inner_text()
    assert status.get_attribute("aria-live") == "off", "a pointer that passes interrupts nobody"
    page.mouse.move(0, 0)
    assert status.inner_text() == ""


def test_crowded_pictures_name_vertices_when_zoomed_in(visit: Open) -> None:
    page = visit("fails")
    shown = "[...document.querySelectorAll('.view text')].filter(t => getComputedStyle(t).display !== 'none').length"
    assert page.evaluate(shown) == 0
    page.locator(".view").first.focus()
    for _ in range(4):
        page.keyboard.press("+")
    assert 5 < page.evaluate(shown) <= 80
    overlaps = page.locator(".view > svg").first.evaluate(
        """s => {
          const b = [...s.querySelectorAll(".v.named text")].map(t => t.getBoundingClientRect());
          let count = 0;
          b.forEach((p, i) => b.slice(i + 1).forEach(q => {
            if (p.left < q.right - 6 && q.left < p.right - 6 && p.top < q.bottom - 6 && q.top < p.bottom - 6) count++;
          }));
          return count;
        }"""
    )
    assert overlaps == 0


@pytest.mark.parametrize("name", [*NAMES, *REAL])
@pytest.mark.parametrize("width", [320, 360, 768])
def test_narrow_screens_do_not_scroll_sideways(visit: Open, name: str, width: int) -> None:
    page = visit(name, width)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter(e => !e.closest(".scroll, svg, .unseen, .figures thead"))
          .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert wide == []


def test_print(visit: Open) -> None:
    page = visit("fails", color_scheme="dark")
    document = page.pdf(prefer_css_page_size=True, print_background=True)
    assert document.startswith(b"%PDF")
    assert document.count(b"/Type /Page\n") >= 3
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in ("#theme", ".tools", ".keys", ".contents", ".told", ".skip"):
        assert page.locator(hidden).first.is_hidden(), hidden
    for shown in (".seal", ".verdict", ".view svg", ".legend", ".terms"):
        assert page.locator(shown).first.is_visible(), shown
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('main')).color") == "rgb(27, 36, 48)"


def test_witnesses_are_printed_though_they_are_folded(visit: Open) -> None:
    page = visit("fails")
    opened = "[...document.querySelectorAll('details.witnesses')].map(d => d.open)"
    assert not all(page.evaluate(opened))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(opened))
    assert page.evaluate("document.querySelectorAll('details.numbers[open]').length") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not all(page.evaluate(opened))


def test_reduced_motion(visit: Open) -> None:
    moves = """[...document.querySelectorAll("*")].map(e => getComputedStyle(e))
      .filter(s => s.scrollBehavior !== "auto" || s.transitionDuration !== "0s" || s.animationName !== "none").length"""
    assert visit("secret", reduced_motion="reduce").evaluate(moves) == 0
    assert visit("secret", reduced_motion="no-preference").evaluate(moves) == 1


def test_without_scripts_all_is_there_but_the_tools(visit: Open) -> None:
    page = visit("secret", java_script_enabled=False)
    for hidden in ("#theme", ".tools", ".keys", ".told"):
        assert page.locator(hidden).first.is_hidden(), hidden
    for shown in ("h1", ".verdict", ".chart svg", ".view svg", ".findings", ".terms"):
        assert page.locator(shown).first.is_visible(), shown
    numbers = page.locator("details.numbers").first
    numbers.locator("summary").click()
    assert numbers.locator("table").is_visible()


def test_links_lead_to_definitions(visit: Open) -> None:
    page = visit("secret", reduced_motion="reduce")
    page.locator("a.term", has_text="U△").first.click()
    target = page.locator("#term-u-sym")
    assert target.is_visible()
    assert "only one of the two has" in target.inner_text()


def test_hostile_labels_are_shown_as_they_are(visit: Open) -> None:
    page = visit("hostile")
    field = page.get_by_role("searchbox")
    field.fill("</script>")
    field.press("Enter")
    assert "</script><script>alert(1)</script>" in page.get_by_role("status").inner_text()
    assert page.locator("main img, main script").count() == 0
