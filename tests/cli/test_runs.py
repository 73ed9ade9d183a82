"""`labkit list` looks where `labkit run` and the notebooks write, from wherever it is called."""

from pathlib import Path

import pytest

from labkit.cli import main
from labkit.params import load_params
from labkit.plan import make_plan
from labkit.request import create_run

PARAMS = """
name: small
engine: {kind: endpoint, base_url: 'http://127.0.0.1:1/v1'}
workload: {num_requests: 2, prompt_tokens: 8, completion_tokens: 2}
load: {max_concurrency: 2}
sweep: {variable: load.max_concurrency, values: [1, 2]}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("params", "notebooks/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "params" / "small.yaml").write_text(PARAMS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("here", [".", "notebooks", "notebooks/deep", "params"])
def test_list_finds_what_run_made(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    made: list[Path] = []

    def keep(params, plan, reports):  # and measure nothing
        made.append(create_run(params, plan, reports).path)
        raise KeyboardInterrupt

    monkeypatch.setattr("labkit.request.create_run", keep)
    monkeypatch.chdir(home / here)
    assert main(["run", "params/small.yaml"]) == 1
    capsys.readouterr()
    assert made[0].parent == home / "reports"
    assert main(["list"]) == 0
    shown = f"reports/{made[0].name}" if here == "." else str(made[0])
    assert capsys.readouterr().out == f"{shown}  created  0 of 2 points  no report\n"


def test_another_place_is_looked_at_only_if_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    params = load_params(home / "params" / "small.yaml")
    run = create_run(params, make_plan(params), home / "elsewhere")
    assert main(["list"]) == 0
    assert "no runs in reports; `labkit run" in capsys.readouterr().out
    assert main(["list", "--reports", "elsewhere"]) == 0
    assert run.path.name in capsys.readouterr().out


def test_no_runs_below_the_home_folder_names_the_place(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "notebooks")
    assert main(["list"]) == 0
    assert f"no runs in {home / 'reports'};" in capsys.readouterr().out
