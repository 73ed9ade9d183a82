"""The page of all runs in a real browser without a network: filtered, sorted, dark, on a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from access import find_violations, open_browser

from labkit.index.page import make_page
from labkit.listing import Curve, RunEntry

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=\"document.body.style.background='red'\">"


def entry(day: int, name: str, **changes: Any) -> RunEntry:
    told = {
        "status": "completed",
        "started_at": f"2026-01-{day:02}T10:00:00+00:00",
        "engine": "llamacpp",
        "model": "SmolLM2-135M-Instruct",
        "notebook": "batching",
        "variables": ("engine.max_num_batched_tokens",),
        "num_points": 2,
        "num_measured": 2,
        "verdicts": {"VALID": 2},
        "headline": f"{name} says much about max_num_batched_tokens " * 3,
        "curves": (Curve("engine.max_num_batched_tokens", None, ((32, 9.0), (64, day * 10.0))),),
        "files": ("report.html", "batching.ipynb"),
    }
    return RunEntry(f"202601{day:02}T100000Z-{name}-0", name=name, **{**told, **changes})


ENTRIES = [
    RunEntry("20260101T000000Z-broken-with-a-rather-long-name-00000000", "expected JSON, found {"),
    entry(2, "zebra", engine="vllm", notebook="disaggregation"),
    entry(3, "apple", verdicts={"VALID": 1, "INVALID": 1}),
    entry(4, "mango", headline=EVIL, status="failed", error=EVIL),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open the page; at the end nothing may have been asked for or complained about."""
    html = tmp_path / "index.html"
    html.write_text(make_page(ENTRIES), encoding="utf-8")
    told: list[str] = []
    pages = []

    def open_one(**options: Any) -> Any:
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(html.as_uri())
        return page

    requests: list[str] = []
    yield open_one
    for page in pages:
        page.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert told == []


def shown(page: Any) -> list[str]:
    """Return the names of the runs that can be seen, from top to bottom."""
    return list(
        page.evaluate(
            "[...document.querySelectorAll('table.runs tbody tr')].filter(row => !row.hidden)"
            ".map(row => row.querySelector('.name').textContent)"
        )
    )


def test_words_choose_runs(open_page: Any) -> None:
    page = open_page()
    assert shown(page)[:3] == ["mango", "apple", "zebra"]
    page.get_by_label("Filter").fill("LLAMACPP invalid")
    assert shown(page) == ["apple"]
    assert page.get_by_role("status").text_content() == "1 of 4 runs"
    page.get_by_label("Filter").fill("damaged")
    assert len(shown(page)) == 1
    page.get_by_label("Filter").fill("nothing like it")
    assert page.locator("#none").is_visible()
    page.get_by_label("Filter").fill("")
    assert len(shown(page)) == 4
    assert page.get_by_role("status").text_content() == "4 runs"


def test_a_head_sorts_both_ways_and_what_is_not_known_stands_last(open_page: Any) -> None:
    page = open_page(viewport={"width": 1400, "height": 900})
    head = page.get_by_role("columnheader", name="Model")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    broken = ENTRIES[0].run_id
    assert shown(page)[-1] == broken
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert shown(page)[-1] == broken
    page.get_by_role("columnheader", name="Run").get_by_role("button").click()
    assert shown(page) == [broken, "apple", "mango", "zebra"]
    assert page.locator("th[aria-sort]").count() == 1
    page.get_by_role("columnheader", name="Output").get_by_role("button").click()
    assert shown(page)[:3] == ["zebra", "apple", "mango"]
    page.get_by_role("columnheader", name="Verdicts").get_by_role("button").click()
    page.get_by_role("columnheader", name="Verdicts").get_by_role("button").click()
    assert shown(page)[:2] == [broken, "apple"]


def test_a_phone_sorts_by_a_list(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.get_by_label("Sort by").select_option(label="Run")
    assert shown(page)[1:] == ["apple", "mango", "zebra"]


@pytest.mark.parametrize("width", [390, 800, 1320, 1321, 1440])
def test_the_page_never_scrolls_sideways(open_page: Any, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    right = "one => one.getBoundingClientRect().right"
    widest = f"Math.max(...[...document.querySelectorAll('main *')].map({right}))"
    assert page.evaluate(widest) <= width


@pytest.mark.parametrize("width", [390, 1440])
def test_it_is_a_table_for_who_cannot_see_it(open_page: Any, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 844})
    table = page.get_by_role("table", name="Every run of this folder")
    assert table.get_by_role("rowheader").count() == 4
    assert table.get_by_role("row").nth(1 if width > 1320 else 0).is_visible()
    told = page.get_by_role(
        "img", name="Output tokens/s over max_num_batched_tokens: 32: 9, 64: 20"
    )
    assert told.count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(open_page: Any, scheme: str, width: int) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 844})
    assert find_violations(page) == []
    expected = {"light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"}[scheme]
    assert page.evaluate("getComputedStyle(document.querySelector('.s0')).color") == expected


def test_what_others_wrote_does_not_run(open_page: Any) -> None:
    page = open_page()
    assert page.evaluate("document.body.style.background") == ""
    assert page.locator("main img").count() == 0
    assert EVIL in page.locator("tbody tr").first.text_content()
