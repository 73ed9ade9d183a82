"""The report for everybody: axe-core finds nothing, figures and tables say what they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from access import LOOKS, find_violations, open_browser, open_drawn
from report.whole import fill, list_figures, list_outputs

from labkit.report.export import export_report
from labkit.report.theme import DARK, LIGHT


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def html(summary, records, write_notebook, tmp_path) -> Path:
    """A report with every part on it."""
    whole = fill(summary)
    path = tmp_path / "report.html"
    notebook = write_notebook(list_figures(whole, records), list_outputs(whole))
    export_report(notebook, path, title="hand-made")
    return path


@pytest.mark.browser
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(browser: Any, html: Path, look: str) -> None:
    page = open_drawn(browser, html, look)
    assert find_violations(page) == []
    page.close()


@pytest.mark.browser
def test_axe_finds_what_is_wrong(browser: Any, html: Path) -> None:
    broken = html.read_text(encoding="utf-8").replace("--muted: #4b5563", "--muted: #c0c0c0")
    html.write_text(broken.replace("<h1>", "<h1>Title</h1><h4>").replace('lang="en"', ""))
    page = open_drawn(browser, html, "light")
    rules = {line.split(" ")[0] for line in find_violations(page)}
    assert rules >= {"color-contrast", "heading-order", "html-has-lang"}
    page.close()


@pytest.mark.browser
def test_a_figure_is_told_by_its_words_and_its_buttons_have_names(browser, html) -> None:
    page = open_drawn(browser, html, "light")
    plot = page.locator("#figure-3")
    assert plot.get_attribute("role") == "group"
    assert plot.get_attribute("aria-label").startswith(
        "Output throughput: can't tell max_num_seqs 1"
    )
    hidden = "svgs => svgs.every(svg => svg.getAttribute('aria-hidden') === 'true')"
    assert plot.locator(".main-svg").count() > 0
    assert plot.locator(".main-svg").evaluate_all(hidden)
    buttons = plot.locator(".modebar-btn").evaluate_all("all => all.map(one => one.ariaLabel)")
    names = {"Zoom in", "Zoom out", "Reset axes", "Zoom", "Pan", "Download plot as a PNG"}
    assert set(buttons) == names
    page.close()


def measure_luminance(colour: str) -> float:
    """Return the relative luminance of a hex colour, as WCAG 2.1 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21, as WCAG 2.1 defines it."""
    darker, lighter = sorted(map(measure_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_measured_as_wcag_does() -> None:
    assert measure_contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert measure_contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_in_a_figure_has_the_contrast_that_wcag_asks(theme: dict[str, Any]) -> None:
    """axe-core can't see the colours behind the text of a drawing."""
    layout = theme["layout"]
    page = layout["paper_bgcolor"]
    fonts = [layout["font"], layout["legend"]["font"], layout["hoverlabel"]["font"]]
    fonts += [layout[axis]["tickfont"] for axis in ("xaxis", "yaxis")]
    fonts += [layout[axis]["title"]["font"] for axis in ("xaxis", "yaxis")]
    for font in fonts:
        assert measure_contrast(font["color"], page) >= 4.5
