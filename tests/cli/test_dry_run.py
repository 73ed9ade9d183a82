"""`labkit run --dry-run` where the engine is not installed: commands, and what stays unchecked."""

from pathlib import Path

import pytest

from labkit.cli import main
from labkit.engines import ADAPTERS, launched
from labkit.params import EngineParams

KINDS = tuple(ADAPTERS)
ABSENT = {
    "llamacpp": "llama.cpp (xllamacpp)",
    "vllm": "vLLM (vllm)",
    "sglang": "SGLang (sglang)",
    "tensorrt_llm": "TensorRT-LLM (trtllm-serve)",
    "tgi": "Text Generation Inference (text-generation-launcher)",
}
FLAGS = {
    "llamacpp": "--parallel {}",
    "vllm": "--max-num-seqs {}",
    "sglang": "--max-running-requests {}",
    "tensorrt_llm": "--max_batch_size {}",
    "tgi": "--max-batch-size {}",
}
PARAMS = """
name: small
engine: {{kind: {kind}, model: {model}, max_num_seqs: 2}}
workload: {{num_requests: 2, prompt_tokens: 8, completion_tokens: 2}}
load: {{max_concurrency: 2}}
sweep: {{variable: engine.max_num_seqs, values: [3, 5]}}
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> Path:
    """A params file in an empty folder of a machine that has none of the engines."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(launched, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    model = "smollm2" if kind == "llamacpp" else "org/name"
    path.write_text(PARAMS.format(kind=kind, model=model), encoding="utf-8")
    return path


def test_every_launched_kind_is_here() -> None:
    kinds = EngineParams.model_json_schema()["properties"]["kind"]["enum"]
    assert set(KINDS) == set(kinds) - {"endpoint"} == set(ABSENT) == set(FLAGS)


def test_the_commands_are_told_and_what_is_not_checked(
    params: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(params), "--dry-run"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0] == "000-max_num_seqs-3-r0: engine.max_num_seqs = 3, repeat 0"
    for value in (3, 5):
        assert sum(FLAGS[kind].format(value) in line for line in lines) == 1
    assert lines[-1] == (
        f"not checked: {ABSENT[kind]} is not installed here, so it could not be asked whether it "
        f"takes these flags"
    )
    assert sum(line.startswith("not checked") for line in lines) == 1
    assert told.err == ""
    assert not (params.parent / "reports").exists()


def test_what_needs_no_engine_to_be_known_is_refused_all_the_same(
    params: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {
        "llamacpp": ("block_size=16", "no engine.block_size for llama.cpp"),
        "vllm": ("extra_args.max_num_seqs=3", "engine.max_num_seqs"),
        "sglang": ("max_num_batched_tokens=64", "no engine.max_num_batched_tokens for SGLang"),
        "tensorrt_llm": ("num_threads=2", "no engine.num_threads for TensorRT-LLM"),
        "tgi": ("block_size=16", "no engine.block_size for Text Generation Inference"),
    }
    override, told = refused[kind]
    assert main(["run", str(params), "--dry-run", "--set", f"engine.{override}"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("kind", list(ADAPTERS), indirect=True)
def test_to_measure_the_program_is_needed(
    params: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = ADAPTERS[kind]
    assert main(["run", str(params)]) == 2
    wanted = (
        f"labkit: expected {adapter.TITLE} at {adapter.PROGRAM}, found no such program; install it "
        f"and set engine.executable to its path, or use engine.kind endpoint for one that runs "
        f"already\n"
    )
    if adapter.REQUIRES:
        wanted = (
            f"labkit: expected the package {adapter.REQUIRES} for {adapter.TITLE}, found it not "
            f"installed; run `make setup` or use engine.kind endpoint\n"
        )
    assert capsys.readouterr().err == wanted
    assert not (params.parent / "reports").exists()


@pytest.mark.parametrize("kind", list(ADAPTERS), indirect=True)
def test_an_executable_that_is_not_there_is_named(
    params: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    override = ["--set", "engine.executable=/nowhere/engine"]
    assert main(["run", str(params), "--dry-run", *override]) == 0
    assert (
        f"not checked: {ADAPTERS[kind].TITLE} (/nowhere/engine) is not" in capsys.readouterr().out
    )
