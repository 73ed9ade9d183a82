"""What a ladder is said to have shown."""

from typing import Any

from labkit.analysis.findings import conclude, headline
from labkit.analysis.ladder import list_steps

GOOD = {"verdict": "works", "found": "' four', 6 prompt tokens", "meaning": "", "advice": ""}


def step(name: str, **changes: Any) -> dict[str, Any]:
    title = name.replace("_", " ").capitalize()
    row = {"step": name, "title": title, "asked": "", "optional": False, "http_status": 200}
    return {**row, "sent_at_s": 1.0, "ended_at_s": 1.5, **GOOD, **changes}


def summary(*steps: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    run = {"notebook": "verify", "status": status}
    return {"run": run, "points": [], "ladder": list_steps(steps)}


FAILS = {
    "verdict": "fails",
    "found": "HTTP 401 (no)",
    "meaning": "the key is not accepted",
    "advice": "check the key",
}


def untried(name: str, found: str) -> dict[str, Any]:
    return step(name, verdict="not tried", found=found, http_status=None)


def test_all_steps_work() -> None:
    told = summary(step("key"), step("few"))
    (found,) = conclude(told)
    assert headline(told) == found.title == "All 2 steps work"
    assert (found.kind, found.points) == ("result", ("key", "few"))
    assert found.text == ("They took 1 s. Few, the last of them: ' four', 6 prompt tokens.")


def test_the_first_step_that_fails_is_the_answer() -> None:
    told = summary(
        step("base_url", meaning="another form answers", advice="write it so"),
        step("key", **FAILS),
        step("usage", **{**FAILS, "found": "HTTP 400 (x)", "meaning": ""}),
        untried("models", "it needs the step Key, which fails"),
        untried("long_prompt", "it does not tell how long its context is"),
    )
    first, second, noted, last = conclude(told)
    assert headline(told) == first.title == "It breaks at “Key”: the key is not accepted"
    assert first.text == "HTTP 401 (no). The key is not accepted. Check the key."
    assert (first.kind, first.points) == ("warning", ("key",))
    assert second.title == "It also breaks at “Usage”: HTTP 400 (x)"
    assert (noted.title, noted.kind) == ("To know about “Base url”", "fact")
    assert last.title == "2 steps were not tried"
    assert last.text == (
        "Long prompt: it does not tell how long its context is. Built on what failed: Models."
    )


def test_what_is_not_offered_is_no_failure() -> None:
    missing = {"verdict": "not offered", "found": "HTTP 400 (seed)", "optional": True}
    first, second = conclude(summary(step("key"), step("seed", **missing)))
    assert (first.title, first.kind) == ("1 of 2 steps work, none fails", "result")
    assert (second.title, second.kind) == ("Not offered: Seed", "fact")


def test_a_ladder_that_was_stopped_is_open() -> None:
    (found,) = conclude(summary(step("key"), status="interrupted"))
    assert found.title == "All 1 steps work, and then it was interrupted"
    assert found.kind == "unknown"


def test_a_title_is_short_whatever_came() -> None:
    long = {**FAILS, "found": "x" * 500, "meaning": ""}
    assert len(headline(summary(step("key", **long)))) == 110


def test_no_step_at_all() -> None:
    told = {"run": {"notebook": "verify"}, "points": []}
    assert headline(told) == "No points were measured"
