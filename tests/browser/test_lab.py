"""JupyterLab as a student opens it: only with the token, every cell runs, the widgets answer."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import Locator, Page, expect


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_make_lab_opens_the_first_lesson_and_leaves_the_token_on(lab_command):
    assert lab_command[1:] == ["lab", "notebooks/00_start_here.ipynb"]


def test_it_asks_for_a_token(lab):
    assert len(lab.token) >= 32
    for path in ("api/contents", "api/contents/00_start_here.ipynb", "api/kernels"):
        assert status(f"{lab.url}{path}") == 403, path
        assert status(f"{lab.url}{path}?token=wrong") == 403, path
        assert status(f"{lab.url}{path}?token={lab.token}") == 200, path


def test_a_visitor_without_the_token_sees_no_lab(lab, visit):
    visit.page.goto(lab.first_page.partition("?")[0])
    expect(visit.page.get_by_role("textbox", name="Password or token")).to_be_visible()
    assert "/login" in visit.page.url and not visit.page.locator(".jp-Notebook").count()


def open_notebook(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()  # in the status bar


def menu(page: Page, *names: str) -> None:
    for name in names:
        # By class: entries that open a further menu have no role in JupyterLab 4.
        labels = page.locator(".lm-MenuBar-itemLabel, .lm-Menu-itemLabel")
        labels.filter(has_text=re.compile(f"^{re.escape(name)}$")).click()


def run_all(page: Page) -> None:
    """Run all cells and wait for the last; the prompts of cells that wait hold a star."""
    menu(page, "Run", "Run All Cells")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-InputPrompt')].some(e => /\\[\\d/.test(e.textContent))"
    )
    page.wait_for_function(
        """() => document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'
        && ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))"""
    )


def save(page: Page) -> None:
    with page.expect_response(lambda r: r.request.method == "PUT" and "/api/contents/" in r.url) as answer:
        page.keyboard.press("Control+s")
    assert answer.value.ok, answer.value.status_text


def scroll_to(page: Page, selector: str) -> Locator:
    """Bring a box into view. Only the cells near the view are in the page, so scroll until it is there."""
    page.evaluate(
        """async selector => {
            const panel = document.querySelector('.jp-Notebook .jp-WindowedPanel-outer');
            const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            panel.scrollTop = 0;
            for (let step = 0; step < 400; step++) {
                await drawn();
                const box = document.querySelector(selector);
                if (box) { box.scrollIntoView({block: 'start'}); await drawn(); return; }
                if (panel.scrollTop + panel.clientHeight + 2 > panel.scrollHeight) panel.scrollTop = 0;
                else panel.scrollTop += panel.clientHeight / 2;
            }
            throw new Error(`no ${selector} in the notebook`);
        }""",
        selector,
    )
    return page.locator(selector).first


def try_browser(page: Page, box: Locator) -> None:
    """Step to the next dialogue, and back by the list."""
    title, choice = box.locator("p bdi").first, box.get_by_label("Dialogue", exact=True)
    first, before = title.inner_text(), choice.input_value()
    box.get_by_role("button", name="Next").click()
    expect(title).not_to_have_text(first)
    expect(choice).not_to_have_value(before)
    choice.select_option(before)
    expect(title).to_have_text(first)


@pytest.mark.parametrize(
    "name, widget, use", [("00_start_here", ".dialogeval-dialogue-browser", try_browser)]
)
def test_a_lesson_runs_and_its_widget_answers(lab, visit, name, widget, use):
    page, first = visit.page, lab.first_page
    assert f"/00_start_here.ipynb?token={lab.token}" in first
    # `reset` closes what an earlier test had open.
    open_notebook(page, first.replace("00_start_here", name) + "&reset")
    visit.shot(f"lab_{name}_opened")
    run_all(page)
    save(page)
    written = json.loads((lab.folder / f"{name}.ipynb").read_text())
    cells = [cell for cell in written["cells"] if cell["cell_type"] == "code"]
    errors = [
        f"{cell['source'][0].strip()} … {output['ename']}: {output['evalue']}"
        for cell in cells
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]
    assert errors == []
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))

    box = scroll_to(page, widget)
    use(page, box)
    for theme in ("Light", "Dark"):
        menu(page, "Settings", "Theme", f"JupyterLab {theme}")
        expect(page.locator("body")).to_have_attribute("data-jp-theme-name", f"JupyterLab {theme}")
        scroll_to(page, widget)
        visit.shot(f"lab_{name}_{theme.lower()}")
