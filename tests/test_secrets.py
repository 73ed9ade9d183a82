"""A key reaches the endpoint and nothing else: no file, no output, no process's arguments."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from scripted import DONE, Call, event, serve, text, usage

from labkit.cli import main
from labkit.records import RunFolder

ROOT = Path(__file__).parent.parent
CANARY = "sk-canary-7f3a/+9'b"
NAMES = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "TAOTOKEN_BASE_URL", "TAOTOKEN_API_KEY",
         "LABKIT_PROVIDERS")  # fmt: skip
PARAMS = """
name: small
engine: {{kind: endpoint, {engine}}}
workload: {{num_requests: 6, prompt_tokens: 8, completion_tokens: 4}}
load: {{max_concurrency: 2, num_warmup_requests: 1}}
sweep: {{variable: load.max_concurrency, values: [2]}}
sampling: {{period_s: 0.05}}
"""


@dataclass
class Echo:
    """An endpoint that takes one key and tells it back wherever it can."""

    num_calls: int = 0
    keys: set[str] = field(default_factory=set)
    arguments: list[str] = field(default_factory=list)

    async def __call__(self, call: Call) -> None:
        key = call.headers.get("authorization", "none")
        self.keys.add(key.removeprefix("Bearer "))
        fault = {"error": {"message": f"wrong key {key}: {CANARY}", "code": CANARY}}
        if call.path == "/v1/models":
            await call.reply(200, {"data": [{"id": "m"}]})
        elif not call.path.endswith("completions"):
            await call.reply(500, fault, f"X-Key: {CANARY}\r\n")
        else:
            self.num_calls += 1
            self.arguments += _list_arguments()
            match self.num_calls % 3:
                case 0:
                    await call.reply(401, fault, f"WWW-Authenticate: {CANARY}\r\n")
                case 1:
                    await call.stream(text(" a"), event(fault))
                case _:
                    pieces = [text(" a")] * 4
                    await call.stream(*pieces, text("", "length"), usage(8, 4), DONE)


def _list_arguments() -> list[str]:
    family = psutil.Process().children(recursive=True)
    return [" ".join(one.cmdline()) for one in family if one.is_running()]


def call(place: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "labkit", *arguments]
    env = {name: told for name, told in os.environ.items() if name not in NAMES}
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    env |= {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(place / "tmp"), **variables}
    done = subprocess.run(
        command, cwd=place, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("params", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def prepare(place: Path, source: str, url: str) -> dict[str, str]:
    """Put the key where `source` says and return the variables of the command."""
    provider = {"base_url": url, "api_key": CANARY, "model_id": "m"}
    engine, variables = f"base_url: '{url}', api_key_env: CANARY_KEY", {}
    if source == "variable":
        variables = {"CANARY_KEY": CANARY}
    elif source == "dotenv":
        (place / ".env").write_text(f'CANARY_KEY="{CANARY}"\n', encoding="utf-8")
    elif source == "provider":
        file = place / "params" / "providers.json"
        file.write_text(json.dumps({"providers": {"a": provider}, "default_provider": "a"}))
        engine = "provider: a"
    else:
        engine = "provider: env"
        variables = {"TAOTOKEN_BASE_URL": url, "TAOTOKEN_API_KEY": CANARY, "TAOTOKEN_MODEL": "m"}
    (place / "params" / "small.yaml").write_text(PARAMS.format(engine=engine), encoding="utf-8")
    return variables


def find_canary(place: Path) -> list[Path]:
    """Return the files that hold the key or most of it, without those that it was put into."""
    files = [path for path in place.rglob("*") if path.is_file()]
    own = (".env", "providers.json")
    return [path for path in files if path.name not in own and b"canary-7f3a" in path.read_bytes()]


@pytest.mark.parametrize("source", ["variable", "provider", "dotenv", "variables of the articles"])
def test_a_key_reaches_the_endpoint_and_no_file(place: Path, source: str) -> None:
    echo = Echo()
    with serve(echo) as server:
        variables = prepare(place, source, server.url)
        code, output = call(place, "run", "params/small.yaml", **variables)
    (path,) = (place / "reports").glob("*/")
    run = RunFolder.open(path)
    (records,) = run.points()
    assert code == 1, output  # two of three requests fail
    assert {request["status"] for request in records.requests} == {"ok", "error"}
    told = " ".join(str(request["error_message"]) for request in records.requests)
    assert "[redacted]" in told
    assert run.report_path.exists()
    assert (path / "sweep.ipynb").exists()
    assert echo.keys == {CANARY}
    assert any("labkit.client.worker" in one for one in echo.arguments)
    assert not [one for one in echo.arguments if "canary-7f3a" in one]
    assert "canary-7f3a" not in output
    assert find_canary(place) == []
    if source == "provider":
        resolved = run.params_path.read_text(encoding="utf-8")
        assert "provider: a\n  providers_file: params/providers.json\n" in resolved
        assert server.url not in resolved


@pytest.mark.parametrize(
    "override",
    [
        f"engine.extra_args.api_key={CANARY}",
        f"engine.extra.api_key={CANARY}",
        f"engine.extra={CANARY}",
        f"engine.api_key={CANARY}",
        f"engine.api_key_env={CANARY}",
        f"engine.env.API_KEY={CANARY}",
        f"engine.extra_args.api_key=[{CANARY}",
        f"engine.providers_file={CANARY}",
    ],
)
@pytest.mark.parametrize("kind", ["endpoint", "vllm", "llamacpp"])
def test_a_key_in_an_override_is_refused_and_not_shown(
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    override: str,
    kind: str,
) -> None:
    monkeypatch.chdir(place)
    path = place / "small.yaml"
    engine = "base_url: 'http://127.0.0.1:1/v1'" if kind == "endpoint" else "model: smollm2"
    path.write_text(PARAMS.format(engine=engine).replace("endpoint", kind, 1), encoding="utf-8")
    for more in ([], ["--dry-run"]):
        assert main(["run", str(path), "--set", override, *more]) == 2
    told = capsys.readouterr()
    assert "canary-7f3a" not in told.out + told.err
    assert find_canary(place) == []
    assert not (place / "reports").exists()


@pytest.mark.parametrize("source", ["variable", "provider", "dotenv", "variables of the articles"])
def test_verify_shows_no_key(place: Path, source: str) -> None:
    echo = Echo(num_calls=2)
    with serve(echo) as server:
        variables = prepare(place, source, server.url)
        arguments = [] if source in ("provider", "variables of the articles") else [
            server.url, "--api-key-env", "CANARY_KEY",
        ]  # fmt: skip
        code, output = call(place, "verify", *arguments, **variables)
    assert (code, echo.keys) == (1, {CANARY})
    assert "HTTP 401 (wrong key Bearer [redacted]: [redacted])" in output
    assert "canary-7f3a" not in output
