"""The notebook verify, the whole way: a command, steps, a notebook, a report; and no key in it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ladder.endpoint import offer
from scripted import Call, serve

from labkit.cli import main
from labkit.engines.model import find_model
from labkit.errors import LabkitError, ParamsError
from labkit.records import RunFolder, read_json
from labkit.workbook import launch

ROOT = Path(__file__).parent.parent
CANARY = "sk-canary-7f3a/+9'b"
ENDPOINT = """
name: small
notebook: verify
engine: {{kind: endpoint, base_url: '{url}', api_key_env: CANARY_KEY}}
workload: {{num_requests: 4, prompt_tokens: 8, completion_tokens: 4}}
load: {{max_concurrency: 2, request_timeout_s: 10.0}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("params", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def call(place: Path, *arguments: str) -> tuple[int, str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CANARY_KEY": CANARY, "TMPDIR": f"{place}/tmp"}
    done = subprocess.run(
        [sys.executable, "-m", "labkit", *arguments],
        cwd=place, env=env, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


async def echo(call: Call) -> bool:
    """Tell the key back wherever it can, and break at the temperature."""
    key = call.headers.get("authorization", "")
    if call.body and "temperature" in call.body:
        message = f"no temperature for {key}: {CANARY}"
        await call.reply(400, {"error": {"message": message, "code": CANARY}}, f"X: {CANARY}\r\n")
        return True
    if call.path.endswith("/models"):
        await call.reply(200, {"data": [{"id": "m", "owner": key}], "key": CANARY})
        return True
    return False


def test_it_breaks_where_it_should_and_no_file_holds_the_key(place: Path) -> None:
    with serve(offer(echo)) as server:
        (place / "params" / "small.yaml").write_text(ENDPOINT.format(url=server.url))
        code, output = call(place, "run", "params/small.yaml")
        keys = {one.headers.get("authorization") for one in server.calls if one.body is not None}
    assert code == 1, output
    assert keys == {f"Bearer {CANARY}"}
    assert "labkit: Temperature fails: HTTP 400 (no temperature for Bearer [redacted]" in output
    (path,) = (place / "reports").glob("2*")
    run = RunFolder.open(path)
    assert run.manifest()["status"] == "completed"
    assert run.manifest()["notebook"] == {"name": "verify.ipynb", "status": "completed"}
    told = read_json(run.findings_path)
    assert told["headline"].startswith("It breaks at “Temperature”: ")
    assert told["findings"][0]["points"] == ["temperature"]
    report = run.report_path.read_text(encoding="utf-8")
    assert "✗ fails" in report
    assert "Authorization: Bearer $API_KEY" in report
    files = [one for one in place.rglob("*") if one.is_file()]
    assert not [one for one in files if b"canary-7f3a" in one.read_bytes()]
    assert "canary-7f3a" not in output

    run.report_path.unlink()  # the server is gone, and the records are enough
    code, output = call(place, "report", "--fresh", str(path))
    assert code == 0, output
    assert "✗ fails" in run.report_path.read_text(encoding="utf-8")
    code, output = call(place, "list")
    assert "2 fails, 5 not tried, 13 works" in " ".join(output.split())
    assert "It breaks at “Temperature”: " in output


def test_a_dry_run_names_the_steps(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("CANARY_KEY", CANARY)
    (place / "params" / "small.yaml").write_text(ENDPOINT.format(url="http://127.0.0.1:1/v1"))
    assert main(["run", "params/small.yaml", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1. The address: ")
    assert lines[-1].startswith("20. A few at once: ")
    assert not (place / "reports").exists()


@pytest.mark.parametrize("override", ["engine.base_url=http://u:canary@h/v1", "notebook=sweep"])
def test_what_can_never_work_is_refused_before(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], override: str
) -> None:
    monkeypatch.chdir(place)
    (place / "params" / "small.yaml").write_text(ENDPOINT.format(url="http://127.0.0.1:1/v1"))
    assert main(["run", "params/small.yaml", "--set", override]) == 2
    told = capsys.readouterr().err
    assert "canary" not in told
    assert "in it (not shown)" in told or "sweep needs a variable" in told
    assert not (place / "reports").exists()


def test_the_engine_that_ships_passes_every_step(place: Path) -> None:
    try:
        find_model("smollm2")
    except LabkitError as error:
        pytest.skip(str(error))
    shutil.copy(ROOT / "params" / "verify.yaml", place / "params")
    code, output = call(place, "run", "params/verify.yaml")
    assert code == 0, output
    (path,) = (place / "reports").glob("2*")
    run = RunFolder.open(path)
    assert read_json(run.findings_path)["headline"] == "All 21 steps work"
    steps = {one["step"]: one for one in run.ladder()}
    assert steps["long_prompt"]["sent"]["body"]["prompt"].count(" ") == 256 - 16 - 64 - 1
    assert steps["over_context"]["meaning"].startswith("it does not refuse")
    assert "exceeds the available context size" in steps["over_prompt"]["found"]
    assert json.loads(steps["json_schema"]["found"].partition("'")[2].partition("',")[0]
                      .encode().decode("unicode_escape"))["answer"] in ("yes", "no")  # fmt: skip


def test_an_engine_by_hand_needs_a_sweep() -> None:
    with pytest.raises(ParamsError, match="expected a sweep in the params, found none"):
        launch(str(ROOT / "params" / "verify.yaml"))
