"""The report in a real browser without a network: drawn, quiet, dark, and fit for a phone."""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from nbformat.v4 import new_output

from labkit.report.export import export_report
from labkit.report.figures import (
    plot_latency,
    plot_pressure,
    plot_throughput,
    plot_timeline,
    plot_tradeoff,
)
from labkit.report.tables import summary_table

VARIABLE = "engine.max_num_seqs"
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium in PATH"),
]
RED = "() => { document.body.style.background = 'red' }"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"],
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, summary, records, rows, write_notebook, tmp_path) -> Iterator[Any]:
    """Open the report; at the end nothing may have been asked for or complained about."""
    figures = [
        plot(summary, VARIABLE)
        for plot in (plot_latency, plot_throughput, plot_pressure, plot_tradeoff)
    ]
    figures.append(plot_timeline(records, rows[2]))
    table = new_output("display_data", {"text/html": summary_table(summary)})
    html = tmp_path / "report.html"
    export_report(write_notebook(figures, [table]), html, title="sweep")
    requests: list[str] = []
    complaints: list[str] = []
    pages = []

    def open_one(**options: Any) -> Any:
        page = browser.new_page(**options)
        pages.append(page)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(html.as_uri())
        page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
        return page

    yield open_one
    for page in pages:
        page.close()
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert complaints == []


def background(page: Any) -> str:
    return str(page.evaluate("document.querySelector('#figure-1')._fullLayout.paper_bgcolor"))


def test_every_figure_is_drawn_and_tells_on_hover(open_page):
    page = open_page(viewport={"width": 1200, "height": 900})
    for name in [f"figure-{number}" for number in range(1, 6)]:
        assert page.locator(f"#{name} .main-svg").count() >= 1
    plot = page.locator("#figure-4")
    plot.scroll_into_view_if_needed()
    place = page.evaluate(
        """() => {
            const plot = document.querySelector("#figure-4"), full = plot._fullLayout;
            const box = plot.getBoundingClientRect();
            return [box.x + full._size.l + full.xaxis.d2p(145),
                    box.y + full._size.t + full.yaxis.d2p(4.1)];
        }"""
    )
    page.mouse.move(place[0] - 5, place[1] - 5)
    page.mouse.move(*place)
    hover = page.locator("#figure-4 .hoverlayer .hovertext")
    hover.first.wait_for(timeout=5_000)
    assert re.search(r"max_num_seqs = 4.*145 tokens/s", hover.first.text_content())


def test_heads_stand_where_their_cells_do(open_page):
    """Text is on the left, numbers are on the right, in the head as below it."""
    sides = open_page().evaluate(
        """() => [...document.querySelectorAll("table.summary")].flatMap(table => {
            const side = cell => getComputedStyle(cell).textAlign;
            const heads = [...table.tHead.rows[0].cells];
            const cells = table.tBodies[0].rows[0].cells;
            return heads.map((head, n) => [head.textContent, side(head), side(cells[n])]);
        })"""
    )
    told = {name: (head, cell) for name, head, cell in sides}
    assert told["Verdict"] == told["max_num_seqs"] == ("left", "left")
    assert told["n"] == told["TTFT P95"] == ("right", "right")
    assert all(head == cell for head, cell in told.values())


def test_a_figure_can_be_saved_as_a_picture(open_page):
    page = open_page()
    picture = page.evaluate("Plotly.toImage(document.querySelector('#figure-1'), {format: 'png'})")
    assert picture.startswith("data:image/png;base64,")


def test_dark_and_light_follow_the_reader(open_page):
    page = open_page(color_scheme="dark")
    assert background(page) == "#161A21"
    dark = page.evaluate("document.querySelector('#figure-2').data[0].line.color")
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html[data-theme=light]")
    light = page.evaluate("document.querySelector('#figure-2').data[0].line.color")
    assert (dark, light) == ("#56B4E9", "#0072B2")


@pytest.mark.parametrize("width", [390, 800])
def test_the_page_never_scrolls_sideways(open_page, width):
    page = open_page(viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    widest = "Math.max(...[...document.querySelectorAll('.plot')].map(p => p.scrollWidth))"
    assert page.evaluate(widest) <= width
    domain = page.evaluate("document.querySelector('#figure-1').layout.xaxis2.domain")
    assert (domain == [0, 1]) == (width == 390)


def test_a_script_in_a_cell_does_not_run(browser, write_notebook, tmp_path):
    evil = new_output("display_data", {"text/html": f"<script>({RED})()</script><p>text</p>"})
    html = tmp_path / "evil.html"
    export_report(write_notebook([], [evil]), html, title="evil")
    page = browser.new_page()
    page.goto(html.as_uri())
    assert page.evaluate("document.body.style.background") == ""
    page.close()
