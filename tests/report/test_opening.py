"""The first screen: grouped findings, escaped."""

from labkit.analysis.findings import Finding
from labkit.report.opening import list_commands, make_opening

SUMMARY = {
    "run": {
        "engine": {"kind": "llamacpp", "model": "/models/small.gguf"},
        "workload": {
            "num_requests": 8,
            "prompt_tokens": {"low": 16, "high": 64},
            "completion_tokens": 32,
        },
        "load": {"max_concurrency": 4},
        "environment": {"cpu": {"model": "A processor"}, "gpus": {"reason": "no NVIDIA driver"}},
        "num_points_planned": 2,
        "started_at": "2026-01-02T03:04:05+00:00",
    },
    "points": [{"status": "ok"}, {"status": "failed"}],
}


def test_it_tells_what_was_measured_where() -> None:
    page = make_opening("8 is best", [], SUMMARY)
    assert "<h1>8 is best</h1>" in page
    assert (
        "llamacpp with small.gguf \u00b7 A processor, no NVIDIA driver \u00b7 "
        "8 requests a point, 4 at a time, 16 to 64 prompt and 32 completion tokens \u00b7 "
        "1 of 2 points measured \u00b7 begun 2026-01-02 03:04 UTC"
    ) in page


def test_findings_stand_below_their_variable_and_are_escaped() -> None:
    findings = [
        Finding("Fast", "<b>8</b>", "result", "engine.max_num_seqs"),
        Finding("Odd", "one failed", "warning"),
    ]
    page = make_opening("8 is best", findings, SUMMARY)
    assert (
        page.index("<code>max_num_seqs</code>") < page.index("Fast") < page.index("The whole run")
    )
    assert "&lt;b&gt;8&lt;/b&gt;" in page
    assert "<b>8</b>" not in page


def test_the_commands_hold_the_params_themselves() -> None:
    commands = list_commands({"name": "small"}, "name: small\n")
    assert commands[1:] == [
        "cat > params/small-again.yaml <<'END'",
        "name: small",
        "END",
        ".venv/bin/labkit run params/small-again.yaml",
    ]
