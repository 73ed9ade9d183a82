"""What comes before measuring: what can be known beforehand is told beforehand."""

from pathlib import Path
from typing import Any

import pytest

from labkit import request
from labkit.errors import ParamsError
from labkit.params import Params, parse_params
from labkit.plan import make_plan
from labkit.request import check_request, explain_launches


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "check_engines", lambda engines, dry_run: None)


def make_params(workload: dict[str, Any] | None = None, **changes: Any) -> Params:
    lengths = {"num_requests": 8, "prompt_tokens": 60, "completion_tokens": 40}
    return parse_params(
        {
            "name": "small",
            "engine": {"kind": "llamacpp", "max_num_seqs": 4, "max_model_len": 100},
            "workload": {**lengths, **(workload or {})},
            "load": {"max_concurrency": 2},
            "sweep": {"variable": "engine.max_num_seqs", "values": [1, 2], "repeats": 2},
            **changes,
        }
    )


def test_lengths_that_fit_are_let_pass(tmp_path: Path) -> None:
    assert len(check_request(make_params(), tmp_path / "reports")) == 4


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({"prompt_tokens": 61}, "61 + 40 = 101"),
        ({"prompt_tokens": {"kind": "uniform", "low": 1, "high": 70}}, "70 + 40 = 110"),
        ({"kind": "shared_prefix", "prefix_tokens": 10}, "70 + 40 = 110"),
        ({"kind": "mixed", "long_share": 0.1, "long_prompt_tokens": 90}, "90 + 40 = 130"),
        ({"kind": "structured", "completion_tokens": 41}, "60 + 41 = 101"),
    ],
)
def test_lengths_that_the_engine_cannot_hold(
    tmp_path: Path, workload: dict[str, Any], told: str
) -> None:
    with pytest.raises(ParamsError, match="max_model_len = 100") as caught:
        check_request(make_params(workload), tmp_path)
    assert told in str(caught.value)


def test_reports_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ParamsError, match="found a file at"):
        check_request(make_params(), tmp_path / "file" / "reports")


def test_every_launch_is_explained_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "explain_command", lambda params: [f"n={params.max_num_seqs}"])
    sweeps = [
        {"variable": "engine.max_num_seqs", "values": [1, 2], "repeats": 2},
        {"variable": "load.max_concurrency", "values": [1, 2]},
    ]
    lines = list(explain_launches(make_plan(make_params(sweep=sweeps))))
    assert [line.split(": ")[1] for line in lines] == ["n=1", "n=2", "n=4", "n=1", "n=2"]
    assert lines[3].startswith("004-")


def test_nothing_is_launched_for_an_endpoint() -> None:
    engine = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1"}
    sweep = {"variable": "load.max_concurrency", "values": [1, 2]}
    lines = list(explain_launches(make_plan(make_params(engine=engine, sweep=sweep))))
    assert lines == ["000-max_concurrency-1-r0: nothing is launched: http://127.0.0.1:1/v1"]
