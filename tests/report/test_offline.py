"""What a reader can do with a figure when there is no network: legends, menus."""

from typing import Any

import plotly.graph_objects as go
import pytest
from access import open_browser, open_drawn

from labkit.report.export import export_report
from labkit.report.figures import plot_latency

pytestmark = pytest.mark.browser
SHOWN = """() => document.querySelector("#figure-1").data.map(one => [one.name, one.visible])"""


@pytest.fixture
def page(summary, write_notebook, tmp_path) -> Any:
    """A report of a sweep's latencies and of a figure with a menu; it may ask for nothing."""
    menu = {"type": "dropdown", "buttons": []}
    for name, visible in (("both", [True, True]), ("only b", [False, True])):
        menu["buttons"].append({"label": name, "method": "restyle", "args": [{"visible": visible}]})
    chosen = go.Figure(layout={"updatemenus": [menu]})
    chosen.add_scatter(x=[1, 2], y=[1, 2], name="a").add_scatter(x=[1, 2], y=[2, 1], name="b")
    html = tmp_path / "report.html"
    notebook = write_notebook([plot_latency(summary, "engine.max_num_seqs"), chosen])
    export_report(notebook, html, title="offline")
    with open_browser() as browser:
        page = open_drawn(browser, html, "light")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        yield page
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == []


def test_a_click_on_the_legend_hides_a_series_in_every_panel_and_shows_it_again(page) -> None:
    entry = page.locator("#figure-1 .legend .traces", has_text="P95").locator(".legendtoggle")

    def list_p95() -> list[Any]:
        return [visible for name, visible in page.evaluate(SHOWN) if name == "P95"]

    def count_lines() -> int:
        return int(page.locator("#figure-1 .scatterlayer .js-line").count())

    before = count_lines()
    assert list_p95() == [None, None, None]
    entry.click()
    entry.locator("xpath=..").locator("xpath=self::*[contains(@style, 'opacity: 0.5')]").wait_for()
    assert list_p95() == ["legendonly"] * 3
    assert count_lines() == before * 2 // 3
    # a second click soon after the first would be a double one, which shows that series alone
    page.evaluate("document.querySelector('#figure-1')._legendMouseDownTime = 0")
    entry.click()
    entry.locator("xpath=..").locator("xpath=self::*[contains(@style, 'opacity: 1')]").wait_for()
    assert list_p95() == [True, True, True]
    assert count_lines() == before


def test_a_menu_of_a_figure_chooses(page) -> None:
    plot = page.locator("#figure-2")
    shown = "() => document.querySelector('#figure-2').data.map(one => one.visible)"
    plot.locator(".updatemenu-header").click()
    plot.locator(".updatemenu-dropdown-button", has_text="only b").click()
    plot.locator(".scatterlayer .trace").nth(1).wait_for(state="detached")
    assert page.evaluate(shown) == [False, True]
