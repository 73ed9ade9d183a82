"""One contract for every engine that labkit launches: what it is told, and what is refused."""

from pathlib import Path
from typing import Any, get_args

import pytest
from lives import MODELS, make_params

from labkit.engines import ADAPTERS, check_engines, explain_command
from labkit.engines.adapter import Launch
from labkit.engines.flags import Absent
from labkit.errors import ParamsError
from labkit.params import EngineParams

VALUES: dict[str, list[Any]] = {
    "max_num_seqs": [7],
    "max_num_batched_tokens": [777],
    "max_model_len": [7777],
    "enable_chunked_prefill": [True, False],
    "enable_prefix_caching": [True, False],
    "gpu_memory_utilization": [0.77],
    "block_size": [64],
    "scheduling_policy": ["fcfs"],
    "num_threads": [3],
}
POLICIES = {"tensorrt_llm": "MAX_UTILIZATION"}
"""Kind -> a scheduling policy, where an engine has none that is called fcfs."""
WITHOUT_STATIC_BATCHING = {"tgi"}
EXTRA_ARGS = {"llamacpp": '--set some-new-flag="two words" --set other_flag=7 --set alone=true'}
"""Kind -> how it is told what labkit does not know, where not as flags."""
RENAMED = [(kind, name) for kind, adapter in ADAPTERS.items() for name in adapter.RENAMED]


def build(params: EngineParams) -> Launch:
    return ADAPTERS[params.kind].build_launch(params, 8123, "/bin/engine", Path("/run"))


def test_it_knows_every_knob_of_the_params(kind: str) -> None:
    assert set(ADAPTERS[kind].KNOBS) == set(VALUES)
    knobs = {name for name in EngineParams.model_fields if name in VALUES}
    assert knobs == set(VALUES)
    assert kind in get_args(EngineParams.model_fields["kind"].annotation)


@pytest.mark.parametrize("knob", VALUES)
def test_a_knob_is_told_or_refused_with_the_nearest(kind: str, knob: str) -> None:
    asked = ADAPTERS[kind].KNOBS[knob]
    if isinstance(asked, Absent):
        with pytest.raises(ParamsError, match=rf"no engine\.{knob} for.*leave it out") as error:
            build(make_params(kind, **{knob: VALUES[knob][0]}))
        assert asked.nearest in str(error.value)
        return
    values = [POLICIES.get(kind, "fcfs")] if knob == "scheduling_policy" else VALUES[knob]
    plain = build(make_params(kind))
    told = [build(make_params(kind, **{knob: value})) for value in values]
    assert any(launch != plain for launch in told)
    if len(values) == 2:
        assert told[0] != told[1]
    else:
        assert str(values[0]) in str(told[0])


def test_static_batching_is_told_or_refused_with_the_nearest(kind: str) -> None:
    build(make_params(kind, static_batching=False))
    params = make_params(kind, static_batching=True, max_num_seqs=4)
    if kind in WITHOUT_STATIC_BATCHING:
        with pytest.raises(ParamsError, match=r"no engine\.static_batching.*nearest.*leave it out"):
            build(params)
    else:
        assert build(params) != build(make_params(kind, max_num_seqs=4))


@pytest.mark.parametrize(("kind", "name"), RENAMED)
@pytest.mark.parametrize("style", ["--{}", "{}"])
def test_a_word_of_yesterday_is_answered(kind: str, name: str, style: str) -> None:
    with pytest.raises(ParamsError) as error:
        build(make_params(kind, extra_args={style.format(name): "1"}))
    assert ADAPTERS[kind].RENAMED[name] in str(error.value)
    assert "\n" not in str(error.value)


def test_it_listens_on_the_loopback_only(kind: str) -> None:
    launch = build(make_params(kind))
    assert launch.command[0] == "/bin/engine"
    assert "127.0.0.1" in launch.command
    assert launch.command[launch.command.index("--port") + 1] == "8123"
    assert "0.0.0.0" not in str(launch)
    for name in [name for name, knob in ADAPTERS[kind].TAKEN.items() if knob is None]:
        with pytest.raises(ParamsError, match="labkit sets it"):
            build(make_params(kind, extra_args={f"--{name}": "1"}))


def test_extra_args_pass_through_untouched(kind: str) -> None:
    extra_args = {"--some-new-flag": "two words", "--other_flag": 7, "--alone": True}
    command = " ".join(build(make_params(kind, extra_args=extra_args)).command)
    told = EXTRA_ARGS.get(kind, "--some-new-flag two words --other_flag 7 --alone")
    assert told in command


def test_a_knob_is_not_said_twice(kind: str) -> None:
    adapter = ADAPTERS[kind]
    taken = [(name, knob) for name, knob in adapter.TAKEN.items() if knob in VALUES]
    assert taken
    for name, knob in taken:
        if name not in adapter.RENAMED and not isinstance(adapter.KNOBS[knob], Absent):
            value = POLICIES.get(kind, "fcfs") if knob == "scheduling_policy" else VALUES[knob][-1]
            values = {knob: value, "extra_args": {f"--{name}": "1"}}
            with pytest.raises(ParamsError, match=f"set engine.{knob} only"):
                build(make_params(kind, **values))


@pytest.mark.parametrize("name", ["--api-key", "api_key", "hf_token", "ssl.password"])
def test_secrets_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="no secret") as error:
        build(make_params(kind, extra_args={name: "canary"}))
    assert "canary" not in str(error.value)
    with pytest.raises(ParamsError, match=r"no secret in engine\.env, found HF_TOKEN"):
        check_engines([make_params(kind, env={"HF_TOKEN": "canary"})])


def test_a_model_is_needed_and_a_program(kind: str) -> None:
    title = ADAPTERS[kind].TITLE
    if kind not in MODELS:
        with pytest.raises(ParamsError, match=rf"engine\.model for {title}"):
            build(make_params(kind, model=None))
    with pytest.raises(ParamsError, match=rf"expected {title} at .*no-such.*kind endpoint"):
        check_engines([make_params(kind, executable="/no-such")])


def test_its_command_is_explained_with_what_it_adds_to_the_environment(kind: str) -> None:
    words = explain_command(make_params(kind, env={"CUDA_VISIBLE_DEVICES": "1"}))
    assert "CUDA_VISIBLE_DEVICES=1" in words
    assert ADAPTERS[kind].PROGRAM in words
