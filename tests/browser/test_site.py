"""The website as a reader meets it: pages open without errors, search and links work, dark is readable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site" / "html"
LESSON_2 = "notebooks/02_state_tracking_scores.html"
#: Contrast that WCAG 2 (level AA) asks for between text and its ground.
CONTRAST = 4.5


# What the files say: no browser is needed ---------------------------------------------------------


@dataclass
class Links(HTMLParser):
    """Addresses, anchors and images of one page."""

    targets: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    images: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {v for k in ("id", "name") if (v := found.get(k))}
        self.targets += [v for k in ("href", "src") if (v := found.get(k))]
        if tag == "img":
            self.images.append(found)


@pytest.fixture(scope="module")
def pages() -> dict[Path, Links]:
    read = {}
    for path in sorted(set(SITE.rglob("*.html")) - set((SITE / "_static").rglob("*"))):
        read[path] = Links()
        read[path].feed(path.read_text(encoding="utf-8"))
    assert len(read) > 20, f"few pages in {SITE}: {len(read)}"
    return read


def test_links_within_the_site_resolve(pages):
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[file].anchors if file in pages else None
            if not file.is_file() or (known is not None and anchor and anchor not in known):
                broken.append(f"{path.relative_to(SITE)}: {target}")
    assert broken == []


def test_every_image_has_a_text(pages):
    assert sum(len(page.images) for page in pages.values()) > 30
    without = [
        f"{path.relative_to(SITE)}: {image.get('src', '')[:80]}"
        for path, page in pages.items()
        for image in page.images
        if not (image.get("alt") or "").strip()
    ]
    assert without == []


def test_lessons_lead_to_the_reference(pages):
    lessons = {p.name: page for p, page in pages.items() if re.match(r"\d\d_", p.name)}
    assert len(lessons) == 9
    assert "../api/scores.html#dialogeval.score" in lessons["02_state_tracking_scores.html"].targets
    assert [n for n, page in lessons.items() if not any(t.startswith("../api/") for t in page.targets)] == []


# What a browser shows -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, address", [("index", "index.html"), ("lesson_02", LESSON_2), ("api_scores", "api/scores.html")]
)
def test_a_page_opens_without_errors(site, visit, name, address):
    answer = visit.page.goto(site + address, wait_until="load")
    assert answer.ok
    expect(visit.page.locator("article h1")).to_be_visible()
    visit.shot(f"site_{name}")
    lost = "() => [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert visit.page.evaluate(lost) == []
    assert (visit.console, visit.outside) == ([], [])


def test_from_the_first_page_to_lesson_2(site, visit):
    page = visit.page
    page.goto(site)
    page.get_by_role("navigation").get_by_role("link", name=re.compile("^2 · ")).first.click()
    expect(page).to_have_url(site + LESSON_2)
    expect(page.locator("article h1")).to_contain_text("2 · ")


def test_search_finds_joint_goal_accuracy(site, visit):
    page = visit.page
    page.goto(site)
    page.get_by_role("button", name="Search").locator("visible=true").first.click()
    field = page.get_by_role("searchbox")
    field.fill("joint goal accuracy")
    field.press("Enter")
    expect(page).to_have_url(re.compile(r"/search\.html\?q=joint\+goal\+accuracy"))
    expect(page.locator("#search-results")).to_contain_text(
        re.compile(r"found [1-9]\d* page|[1-9]\d* pages? match")
    )
    results = page.locator("#search-results ul.search li a")
    lesson = results.filter(has_text=re.compile(r"^\d · ")).first
    expect(lesson).to_be_visible()
    visit.shot("site_search")
    title = lesson.inner_text()
    lesson.click()
    expect(page.locator("article h1")).to_contain_text(title.partition(" — ")[0])
    expect(page.locator("article")).to_contain_text(re.compile("joint goal accuracy", re.IGNORECASE))
    assert (visit.console, visit.outside) == ([], [])


#: Contrast of each text of the article with its ground; the lowest for each kind of element.
LOWEST_CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126*r + 0.7152*g + 0.0722*b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor); if (a > 0.5) return [r, g, b]; }
    return [255, 255, 255]; };
  const lowest = {};
  for (const e of document.querySelectorAll('article :is(h1, h2, p, li, td, th, caption, summary, a, span, pre)')) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
    if (!text || !e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const kind = e.tagName.toLowerCase() + (e.closest('pre') ? ' in code' : e.closest('.cell_output') ? ' in output' : '');
    if (!(kind in lowest) || ratio < lowest[kind][0]) lowest[kind] = [Math.round(ratio * 100) / 100, text.slice(0, 60)];
  }
  return lowest;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_both_themes(site, visit, theme):
    page = visit.page
    page.goto(site + LESSON_2)
    switch, html = (
        page.get_by_role("button", name="Color mode").locator("visible=true").first,
        page.locator("html"),
    )
    for _ in range(3):  # light, dark, as the system: each click is one on
        if html.get_attribute("data-mode") != theme:
            switch.click()
    expect(html).to_have_attribute("data-mode", theme)
    expect(html).to_have_attribute("data-theme", theme)
    visit.shot(f"site_lesson_02_{theme}")
    page.locator("article img").first.scroll_into_view_if_needed()
    visit.shot(f"site_lesson_02_{theme}_figure")
    page.locator("article .cell_output table").first.scroll_into_view_if_needed()
    visit.shot(f"site_lesson_02_{theme}_table")
    contrast = page.evaluate(LOWEST_CONTRAST)
    assert contrast["p"][0] >= 7 and "td in output" in contrast
    assert {kind: low for kind, low in contrast.items() if low[0] < CONTRAST} == {}
