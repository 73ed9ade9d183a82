"""docs/providers.md: each message in it is what labkit prints today, each example is taken."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Call, serve

from labkit.cli import main
from labkit.params import EngineParams, load_params
from labkit.params.providers import read_providers

PAGE = (Path(__file__).parent.parent / "docs" / "providers.md").read_text(encoding="utf-8")
SHOWN_PORT = "8000"
VARIABLES = [f"{prefix}_{tail}" for prefix in ("OPENAI", "TAOTOKEN")
             for tail in ("BASE_URL", "API_KEY", "MODEL", "MODEL_ID")]  # fmt: skip
GOOD = {
    "choices": [{"text": " four, five, six", "finish_reason": "length"}],
    "usage": {"prompt_tokens": 6, "completion_tokens": 8},
}
RIGHT = "sk-canary-right"
Script = Callable[[Call], Awaitable[None]]


def list_blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


SAID = {line for block in list_blocks("text") for line in block.splitlines()
        if line.startswith("labkit: ")}  # fmt: skip
"""Every message of the page."""


async def serve_well(call: Call) -> None:
    """An endpoint that wants its key, lists one model and answers."""
    if call.headers.get("authorization") != f"Bearer {RIGHT}":
        await call.reply(401, {"error": {"message": "Incorrect API key provided"}})
    elif call.path == "/v1/models":
        await call.reply(200, {"data": [{"id": "my-model"}]})
    elif call.path == "/v1/completions":
        await call.reply(200, GOOD)
    else:
        await call.reply(404, {"error": {"message": "Not Found"}})


def answer(status: int, body: Any, headers: str = "") -> Script:
    async def script(call: Call) -> None:
        await call.reply(status, body, headers)

    return script


def with_entry(**changes: str | None) -> str:
    """Return a providers file with one provider, of which some fields are changed or left out."""
    entry = {"base_url": "URL", "api_key": RIGHT, "model_id": "my-model", **changes}
    entry = {name: text for name, text in entry.items() if text is not None}
    return json.dumps({"providers": {"local": entry}, "default_provider": "local"})


WHOLE = with_entry()
NO_DEFAULT = WHOLE.replace(', "default_provider": "local"', "")
VERIFY = ["verify"]
FAULTS: dict[str, tuple[str, list[str], dict[str, str], Script | None]] = {
    "no file": ("", VERIFY, {}, None),
    "no field": (with_entry(model_id=None), VERIFY, {}, None),
    "no such name": (WHOLE, ["verify", "--provider", "lokal"], {}, None),
    "no default": (NO_DEFAULT, VERIFY, {}, None),
    "broken": (WHOLE.replace('"local"}', "{"), VERIFY, {}, None),
    "a key in the URL's place": (with_entry(base_url=RIGHT), VERIFY, {}, None),
    "a secret in the URL": (with_entry(base_url="URL?key=1"), VERIFY, {}, None),
    "no variable": (with_entry(api_key="${LOCAL_KEY}"), VERIFY, {}, None),
    "Bearer": (with_entry(api_key=f"Bearer {RIGHT}"), VERIFY, {}, None),
    "two endpoints": (
        WHOLE, VERIFY, {"OPENAI_BASE_URL": "URL", "TAOTOKEN_BASE_URL": "URL"}, None,
    ),
    "half of the variables": (WHOLE, VERIFY, {"OPENAI_BASE_URL": "URL"}, None),
    "not running": (WHOLE, VERIFY, {}, None),
    "wrong key": (with_entry(api_key="sk-canary-wrong"), VERIFY, {}, serve_well),
    "another header": (WHOLE, VERIFY, {}, answer(401, {"error": "missing header x-api-key"})),
    "another scheme": (
        WHOLE, VERIFY, {}, answer(401, {"error": "no"}, "WWW-Authenticate: Basic realm=x\r\n"),
    ),
    "wrong model": (with_entry(model_id="my-mode1"), VERIFY, {}, serve_well),
    "wrong path": (with_entry(base_url="URL/api"), VERIFY, {}, serve_well),
    "a page": (WHOLE, VERIFY, {}, answer(200, "<!DOCTYPE html><title>Hello</title>")),
    "too many": (WHOLE, VERIFY, {}, answer(429, {"error": "slow down"}, "Retry-After: 20\r\n")),
    "no answer of this API": (WHOLE, VERIFY, {}, answer(200, {"hello": 1})),
    "run without a file": ("", ["run", "params/small.yaml", "--dry-run"], {}, None),
}  # fmt: skip
PARAMS = """
name: small
engine: {kind: endpoint, provider: local}
workload: {num_requests: 2, prompt_tokens: 8, completion_tokens: 2}
load: {max_concurrency: 2}
sweep: {variable: load.max_concurrency, values: [1, 2]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LABKIT_PROVIDERS", "LOCAL_KEY", *VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "small.yaml").write_text(PARAMS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_as_the_page_says(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: str,
) -> None:
    told = provoke(here, monkeypatch, capsys, fault)
    assert told in SAID
    assert RIGHT not in told


def provoke(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
) -> str:
    """Return what is printed about a fault, the port replaced by the page's."""
    file, arguments, variables, script = FAULTS[fault]
    with serve(script or serve_well) as server:
        port = server.url.rpartition(":")[2].partition("/")[0]
        root = server.url.removesuffix("/v1")
        if file:
            (here / "providers.json").write_text(file.replace("URL", root), encoding="utf-8")
        for name, text in variables.items():
            monkeypatch.setenv(name, text.replace("URL", root))
        if script is not None:
            assert main(arguments) == 1
    if script is None:  # nothing listens there any more
        assert main(arguments) == (1 if fault == "not running" else 2)
    told = capsys.readouterr().err.strip().replace(f":{port}", f":{SHOWN_PORT}")
    assert "\n" not in told
    return re.sub(r"\[Errno \d+\]", "[Errno 111]", told)  # another number on another system


def test_every_message_of_the_page_is_provoked(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = set()
    for fault in FAULTS:
        (here / "providers.json").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            told.add(provoke(here, patch, capsys, fault))
    assert told == SAID
    assert len(told) == len(FAULTS)


def test_what_verify_prints_when_all_is_well(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = next(block for block in list_blocks("text") if block.startswith("taken from"))
    with serve(serve_well) as server:
        root = server.url.removesuffix("/v1")
        (here / "providers.yaml").write_text(WHOLE.replace("URL", root), encoding="utf-8")
        assert main(["verify", "--provider", "local"]) == 0
    port = server.url.rpartition(":")[2].partition("/")[0]
    told = capsys.readouterr().out.replace(port, SHOWN_PORT)
    assert re.sub(r"[\d.]+ s$", "0.412 s", told, flags=re.MULTILINE) == shown


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_its_providers_files_are_taken(here: Path, kind: str) -> None:
    (block,) = [one for one in list_blocks(kind) if "default_provider" in one]
    path = here / f"providers.{kind}"
    path.write_text(block, encoding="utf-8")
    found = read_providers(path)
    assert list(found.by_name) == ["local", "gateway"]
    assert found.default == "local"


def test_its_params_are_taken(here: Path) -> None:
    blocks = [one for one in list_blocks("yaml") if one.startswith("engine:")]
    assert len(blocks) == 2
    (here / "params" / "providers.yaml").write_text(
        next(one for one in list_blocks("yaml") if "default_provider" in one), encoding="utf-8"
    )
    for block in blocks:
        path = here / "params" / "mine.yaml"
        path.write_text(re.sub(r"^engine: .*$", block, PARAMS, flags=re.MULTILINE))
        engine = load_params(path).engine
        assert isinstance(engine, EngineParams)
        assert engine.kind == "endpoint"
        assert engine.key_source


def test_the_base_urls_of_the_page_all_lead_to_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forms = re.findall(r"^\| `http://127\.0\.0\.1:8000([^`]*)` \|", PAGE, re.MULTILINE)
    assert len(forms) >= 4
    for form in forms:
        with serve(serve_well) as server:
            root = server.url.removesuffix("/v1")
            file = with_entry(base_url=f"{root}{form}")
            (here / "providers.json").write_text(file, encoding="utf-8")
            assert main(["verify"]) == 0
            assert f"endpoint:       {server.url}\n" in capsys.readouterr().out


def test_the_example_of_the_readme_is_taken(here: Path) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(providers:\n.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    (here / "params" / "providers.yaml").write_text(blocks[0], encoding="utf-8")
    assert load_params(here / "params" / "small.yaml").engine.provider == "local"
