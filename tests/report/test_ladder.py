"""The steps as a table, and what failed as a command that really sends it again."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from access import LOOKS, find_violations, open_browser
from nbformat.v4 import new_output
from scripted import Call, serve

from labkit.records import JsonlWriter
from labkit.report.curl import write_curl
from labkit.report.export import export_report
from labkit.report.ladder import failed_block, ladder_table

STEP = {
    "number": 4, "step": "key", "title": "The API key", "asked": "Is the key accepted?",
    "sent_at_s": 1.0, "ended_at_s": 1.5, "http_status": 401, "answer": '{"error": "<no>"}',
    "found": "HTTP 401 (<no>)", "verdict": "fails", "meaning": "not accepted", "advice": "check it",
    "sent": {"method": "POST", "url": "http://h/v1/completions", "body": {"prompt": "it's"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ("works", "✓ works"),
        ("fails", "✗ fails"),
        ("not offered", "- not offered"),
        ("not tried", "· not tried"),
    ],
)
def test_a_verdict_is_told_in_words_beside_its_colour(verdict: str, told: str) -> None:
    html = ladder_table([{**STEP, "verdict": verdict}])
    assert f">{told}</td>" in html
    assert (">500 ms</td>" in html) == (verdict != "not tried")
    assert "HTTP 401 (&lt;no&gt;)" in html


def test_a_table_of_nothing_says_so() -> None:
    assert "No step was taken" in ladder_table([])


def test_what_failed_is_shown_with_its_answer() -> None:
    html = failed_block([STEP, {**STEP, "verdict": "works", "title": "HTTP"}])
    assert html.count("<h3>") == 1
    assert "Authorization: Bearer $API_KEY" in html
    assert "{&quot;error&quot;: &quot;&lt;no&gt;&quot;}" in html
    assert "What to do: </strong>check it." in html


def test_a_step_that_sent_nothing_has_no_command() -> None:
    html = failed_block([{**STEP, "sent": None, "http_status": None, "answer": None}])
    assert "curl" not in html
    assert "HTTP 401 (&lt;no&gt;)" in html


@pytest.mark.parametrize("prompt", ['it\'s "one" $HOME\n`two` é', "word " * 1000])
def test_the_command_sends_the_same_again(tmp_path: Path, prompt: str) -> None:
    body: dict[str, Any] = {"model": "m", "prompt": prompt, "max_tokens": 1}

    async def script(call: Call) -> None:
        await call.reply(200, "four")

    with serve(script) as server:
        sent = {"method": "POST", "url": f"{server.url}/completions", "body": body}
        with JsonlWriter(tmp_path / "ladder.jsonl") as writer:
            writer.write({"step": "http", "sent": None})
            writer.write({"step": "long_prompt", "sent": sent})
        command = "\n".join(write_curl(sent, "long_prompt"))
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "API_KEY": "sk-canary", "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        (call,) = server.calls
    assert "four" in done.stdout
    assert call.body == body
    assert call.headers["authorization"] == "Bearer sk-canary"
    assert len(command) < 3000


def test_a_page_is_a_command_of_one_line() -> None:
    sent = {"method": "GET", "url": "http://h/v1/models", "body": None}
    (line,) = write_curl(sent, "http")
    assert line == 'curl -sS -i -H "Authorization: Bearer $API_KEY" http://h/v1/models'


@pytest.mark.browser
@pytest.mark.parametrize("look", LOOKS)
def test_it_fits_every_screen_and_axe_finds_nothing(
    write_notebook: Callable[..., Path], tmp_path: Path, look: str
) -> None:
    verdicts = ("works", "fails", "not offered", "not tried")
    steps = [{**STEP, "verdict": one, "found": "x" * 200} for one in verdicts]
    parts = [ladder_table(steps), f"<h2>Why</h2>{failed_block(steps)}"]
    shown = [new_output("display_data", {"text/html": part}) for part in parts]
    html = tmp_path / "report.html"
    export_report(write_notebook([], shown), html, title="steps")
    with open_browser() as browser:
        page = browser.new_page(**LOOKS[look])
        page.goto(html.as_uri())
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
