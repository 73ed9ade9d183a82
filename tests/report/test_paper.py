"""The report on paper: nothing is cut, no figure is split, light whatever the screen was."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from access import open_browser, open_drawn
from report.whole import OPEN, fill, list_figures, list_outputs

from labkit.report.export import export_report

PAGE_WIDTH_PX, PAGE_HEIGHT_PX = (210 - 2 * 12) / 25.4 * 96, (297 - 2 * 14) / 25.4 * 96
"""A4 less the margins of the style sheet, 96 pixels an inch: 703 by 1017."""
BOXES = """() => [...document.querySelectorAll(".plot")].map(plot => {
    const drawn = plot.querySelector(".main-svg").getBoundingClientRect();
    const figure = plot.closest("figure"), box = figure.getBoundingClientRect();
    return [drawn.width, drawn.height, box.height, getComputedStyle(figure).breakInside];
})"""
DRAWN_FOR_PAPER = f"() => ({BOXES})().every(([width]) => width > 300)"
TOO_WIDE = """() => [...document.querySelectorAll("main, main *")].filter(one =>
    !one.closest("svg, .modebar-container") &&
    (one.scrollWidth > innerWidth + 1 || one.getBoundingClientRect().right > innerWidth + 1)
).map(one => one.outerHTML.slice(0, 80))"""
COLOUR = "document.querySelector('#figure-1')._fullLayout.paper_bgcolor"
PRINT = f"dispatchEvent(new Event('beforeprint')), {COLOUR}"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def make(summary, records, write_notebook, tmp_path) -> Callable[..., Path]:
    """Write a report with every part on it."""

    def write(**load: Any) -> Path:
        whole = fill(summary, **load)
        path = tmp_path / "report.html"
        notebook = write_notebook(list_figures(whole, records), list_outputs(whole))
        export_report(notebook, path, title="hand-made")
        return path

    return write


@pytest.fixture
def html(make) -> Path:
    return make()


def put_on_paper(page: Any) -> None:
    """Lay the page out as on A4: its width, its styles."""
    page.set_viewport_size({"width": int(PAGE_WIDTH_PX), "height": int(PAGE_HEIGHT_PX)})
    page.emulate_media(media="print")


@pytest.mark.parametrize("look", ["light", "phone"])
@pytest.mark.parametrize("told", [True, False])
def test_figures_and_tables_fit_the_paper(browser: Any, html: Path, look: str, told: bool) -> None:
    """Also where the browser prints without saying so before."""
    page = open_drawn(browser, html, look)
    if told:
        page.evaluate(PRINT)
    put_on_paper(page)
    page.wait_for_function(DRAWN_FOR_PAPER, timeout=10_000)  # from a phone it is drawn anew
    boxes = page.evaluate(BOXES)
    assert len(boxes) == 7
    for width, height, whole, rule in boxes:
        assert width <= PAGE_WIDTH_PX
        assert 100 < height < whole <= PAGE_HEIGHT_PX
        assert rule == "avoid"
    assert page.evaluate(TOO_WIDE) == []
    page.close()


def test_a_table_of_an_open_load_fits_with_all_its_columns(browser: Any, make: Any) -> None:
    page = open_drawn(browser, make(load=OPEN), "light")
    put_on_paper(page)
    assert page.locator("table.summary thead th").count() >= 16
    assert page.evaluate(TOO_WIDE) == []
    page.close()


def test_a_pdf_has_pages_of_a4_and_no_more_than_it_needs(browser, html, tmp_path) -> None:
    page = open_drawn(browser, html, "light")
    data = page.pdf(prefer_css_page_size=True)
    page.close()
    assert 5 <= len(re.findall(rb"/Type /Page\b", data)) <= 14
    (box,) = set(re.findall(rb"/MediaBox \[0 0 (\d+)[\d.]* (\d+)", data))
    assert box in ((b"594", b"841"), (b"595", b"841"), (b"595", b"842"))


def test_a_dark_screen_gives_light_paper_and_is_dark_again(browser: Any, html: Path) -> None:
    page = open_drawn(browser, html, "dark")
    assert page.evaluate(COLOUR) == "#161A21"
    assert page.evaluate(PRINT) == "#FFFFFF"
    assert page.evaluate(f"dispatchEvent(new Event('afterprint')), {COLOUR}") == "#161A21"
    # 1,100 px of the page less its padding
    page.wait_for_selector("#figure-1 .main-svg[width='1052']", state="attached", timeout=10_000)
    page.close()
