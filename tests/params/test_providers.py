"""The providers file: whole or refused, and never shown; what a params file leaves to it."""

import json
from pathlib import Path

import pytest

from labkit.errors import ParamsError
from labkit.params import EngineParams, load_params
from labkit.params.providers import read_providers
from labkit.plan import make_plan

GOOD = {
    "providers": {
        "local": {"base_url": "http://127.0.0.1:8000/v1", "api_key": "k", "model_id": "m"},
        "gateway": {"base_url": "https://x.test/api", "api_key": "${K}", "model_id": "n"},
    },
    "default_provider": "gateway",
}
PARAMS = """
name: small
engine: {kind: endpoint}
workload: {num_requests: 8, prompt_tokens: 16, completion_tokens: 8}
load: {max_concurrency: 2}
sweep: {variable: load.max_concurrency, values: [1, 2]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LABKIT_PROVIDERS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def write(folder: Path, name: str = "providers.json", text: str | None = None) -> Path:
    path = folder / name
    path.write_text(json.dumps(GOOD) if text is None else text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["providers.json", "providers.yaml"])
def test_json_and_yaml_are_read_alike(here: Path, name: str) -> None:
    found = read_providers(write(here, name))
    assert found.choose()[0] == "gateway"
    assert found.choose("local")[1].model_id == "m"
    assert "api_key" not in repr(found)
    with pytest.raises(ParamsError, match=r"provider nobody in .*, found local, gateway; name one"):
        found.choose("nobody")


def test_json_may_be_indented_with_tabs(here: Path) -> None:
    path = write(here, text=json.dumps(GOOD, indent="\t"))
    assert read_providers(path).choose("local")[1].base_url == "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("missing", ["base_url", "api_key", "model_id"])
@pytest.mark.parametrize("empty", [True, False])
def test_all_three_are_required(here: Path, missing: str, empty: bool) -> None:
    entry = {**GOOD["providers"]["local"], missing: ""}
    if not empty:
        del entry[missing]
    path = write(here, text=json.dumps({"providers": {"local": entry}}))
    with pytest.raises(ParamsError, match=f"expected {missing} of provider local in .*all of base"):
        read_providers(path)


LINE = '{"providers": {"a": {"base_url": "http://x", "api_key": "canary", "model_id": "m"'


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("p.json", LINE, "expected JSON .* near line 1"),
        ("p.json", '{"providers": {"a": 1, "a": "canary"}}', "without a key given twice"),
        ("p.yaml", "providers:\n  a:\n    api_key: [canary\n", "expected YAML .* near line 4"),
        ("p.yaml", "providers:\n  canary: 1\n  canary: 2\n", "key given twice .* near line 3"),
        ("p.yaml", "canary", "expected providers: with names"),
        ("p.yaml", "providers: {}", "at least one provider"),
        ("p.yaml", "providers: {a: canary}", "of provider a in .*, found none of them"),
        ("p.yaml", "providers: {'a canary': 1}", "names of providers of letters"),
        ("p.yaml", "providers: {env: 1}", "none that is env"),
        ("p.json", LINE + "}}, \"default_provider\": \"canary\"}", "default_provider to be one of"),
        ("p.json", LINE + ', "canary": 1}}}', "only base_url, api_key, model_id .*found 1 more"),
        ("p.json", LINE + '}}, "canary": 1}', "only providers, default_provider at the top"),
        ("p.json", LINE.replace("http://x", "canary") + "}}}", "base_url .* to begin with http"),
        ("p.yaml", "providers: {a: {base_url: http://x, api_key: [canary], model_id: m}}",
         "a text as api_key"),
        ("p.json", "[" * 100_000, "expected JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_and_what_is_there_is_not(
    here: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(ParamsError, match=told) as caught:
        read_providers(write(here, name, text))
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(here: Path) -> None:
    with pytest.raises(
        ParamsError, match=r"found: No such file or directory; set engine\.providers"
    ):
        read_providers(here / "providers.yaml")


def test_the_default_provider_is_written_into_the_params(here: Path) -> None:
    place = write(here)
    path = write(here, "small.yaml", PARAMS)
    params = load_params(path)
    assert (params.engine.provider, params.engine.providers_file) == ("gateway", str(place))
    assert params.engine.key_source == f"provider:{place}#gateway"
    place.unlink()
    again = load_params(write(here, "again.yaml", params.dump()))
    assert again.digest() == params.digest()


def test_the_variable_comes_before_the_neighbour(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, text="broken")
    place = write(here / "here", "other.json")
    monkeypatch.setenv("LABKIT_PROVIDERS", str(place))
    params = load_params(write(here, "small.yaml", PARAMS), ["engine.provider=local"])
    assert (params.engine.provider, params.engine.providers_file) == ("local", str(place))


def test_a_relative_path_is_meant_from_here_or_from_the_params(here: Path) -> None:
    write(here, "mine.json")
    path = write(here, "small.yaml", PARAMS)
    params = load_params(path, ["engine.providers_file=mine.json"])
    assert params.engine.providers_file == str(here / "mine.json")
    write(here / "here", "mine.json")
    params = load_params(path, ["engine.providers_file=mine.json"])
    assert params.engine.providers_file == "mine.json"


def test_one_field_switches_and_sweeps(here: Path) -> None:
    write(here)
    overrides = ["sweep.variable=engine.provider", "sweep.values=[local, gateway]"]
    plan = make_plan(load_params(write(here, "small.yaml", PARAMS), overrides))
    assert [point.engine.provider for point in plan] == ["local", "gateway"]


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ({"kind": "endpoint"}, "needs base_url, .*, or provider"),
        ({"kind": "endpoint", "provider": "a"}, "needs a providers file"),
        ({"kind": "endpoint", "provider": "env", "base_url": "http://x"}, "exclude each other"),
        ({"kind": "endpoint", "provider": "env", "api_key_env": "K"}, "exclude each other"),
        ({"kind": "endpoint", "base_url": "http://x", "providers_file": "p"}, "exclude each other"),
        ({"kind": "vllm", "provider": "a"}, "provider belongs to kind endpoint"),
    ],
)
def test_what_does_not_go_together(engine: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        EngineParams.model_validate(engine)
