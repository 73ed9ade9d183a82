"""What axe-core finds wrong with a page, told in lines; the script comes with a dev package."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
OFFLINE = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"]
LIGHT = {"viewport": {"width": 1200, "height": 900}}
LOOKS = {
    "light": LIGHT,
    "dark": {**LIGHT, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
"""How a page is opened, by name."""
RUN = """async () => {
    const rules = {"heading-order": {enabled: true}};
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
    const found = await axe.run(document, {runOnly: {type: "tag", values: tags}, rules});
    return [found.passes.map(one => one.id), found.violations.flatMap(one => one.nodes.map(
        node => `${one.id} at ${node.target}: ${node.html.slice(0, 120)}`))];
}"""


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield a Chromium without a network; skips the test where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium in PATH")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=OFFLINE)
        yield browser
        browser.close()


def find_axe() -> str:
    """Return the text of axe-core; skips the test where its package is not installed."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python, which carries axe-core, is not installed")
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def find_violations(page: Any) -> list[str]:
    """Return a line for each element that breaks WCAG 2.1 A or AA or the order of headings."""
    page.evaluate(find_axe())
    passed, violations = page.evaluate(RUN)
    assert {"color-contrast", "heading-order"} <= set(passed), "axe looked at nothing"
    return list(violations)


def open_drawn(browser: Any, html: Path, look: str) -> Any:
    """Open a report in one of LOOKS and return the page when its figures are drawn."""
    page = browser.new_page(**LOOKS[look])
    page.goto(html.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
    return page
