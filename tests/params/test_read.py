"""The params file: strict, named errors, overrides, a digest that stays."""

from pathlib import Path

import pytest

from labkit.errors import ParamsError
from labkit.params import Params, list_paths, load_params

GOOD = """
name: small
engine: {kind: llamacpp, model: smollm2, max_num_seqs: 4}
workload: {num_requests: 8, seed: 1, prompt_tokens: 16, completion_tokens: 8}
load: {max_concurrency: 2}
sweep: {variable: engine.max_num_seqs, values: [1, 2]}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_single_sweep_is_a_list_of_one(tmp_path: Path) -> None:
    params = load_params(write(tmp_path, GOOD))
    assert [one.variable for one in params.sweep] == ["engine.max_num_seqs"]


def test_what_is_dumped_reads_back_the_same(tmp_path: Path) -> None:
    params = load_params(write(tmp_path, GOOD))
    again = load_params(write(tmp_path, params.dump()))
    assert again == params
    assert again.digest() == params.digest()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param("max_num_seqs: 4", "max_num_seq: 4", "did you mean max_num_seqs?", id="typo"),
        pytest.param("max_num_seqs: 4", "max_num_seqs: four", "valid integer", id="type"),
        pytest.param("max_num_seqs: 4", "max_num_seqs: 0", "greater than or equal to 1", id="zero"),
        pytest.param("kind: llamacpp", "kind: llama", "'tgi' or 'endpoint'", id="kind"),
        pytest.param("name: small", "name: Big Run", "name", id="name"),
        pytest.param("name: small\n", "", "name is required", id="missing"),
        pytest.param("sweep:", "swep:", "did you mean sweep?", id="section"),
        pytest.param("values: [1, 2]", "values: []", "at least 1", id="no values"),
        pytest.param("values: [1, 2]", "values: [1, 1]", "must differ", id="same values"),
        pytest.param("kind: llamacpp", "kind: endpoint", "needs base_url", id="endpoint"),
        pytest.param(GOOD, "[1, 2]", "expected sections", id="not a mapping"),
        pytest.param(GOOD, "a: [", "expected YAML", id="not YAML"),
        pytest.param(GOOD, "[" * 3000, "nested too deeply", id="deep"),
        pytest.param("name: small", "name: 2020-99-99", "expected YAML", id="date"),
        pytest.param("seed: 1", f"seed: {'9' * 5000}", "expected YAML", id="digits"),
        pytest.param("name: small", "name: a\nname: b", "line 2 and again on line 3", id="twice"),
        pytest.param("seed: 1", "seed: 1, seed: 2", "key seed once", id="twice below"),
        pytest.param(
            "prompt_tokens: 16",
            "prompt_tokens: 0",
            "params.yaml: workload.prompt_tokens: input should be greater than or equal to 1",
            id="length",
        ),
        pytest.param("name: small", "1: 2\nname: small", "should be strings", id="key"),
        pytest.param(
            "prompt_tokens: 16",
            "prompt_tokens: {kind: uniform, low: 9, high: 3}",
            "low must be at most high",
            id="distribution",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ParamsError) as caught:
        load_params(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_error_names_no_part_of_pydantic(tmp_path: Path) -> None:
    text = GOOD.replace(
        "{num_requests: 8, seed: 1, prompt_tokens: 16, completion_tokens: 8}",
        "{kind: sharegpt, path: x, num_requests: 8, completion_tokens: 0}",
    )
    text = text.replace("[1, 2]", "[1, null]")
    with pytest.raises(ParamsError) as caught:
        load_params(write(tmp_path, text))
    told = str(caught.value)
    assert "workload.completion_tokens: input should be greater" in told
    assert "sweep.values.1: input should be" in told
    assert "constrained" not in told
    assert "function" not in told


def test_merge_keys_are_no_twins(tmp_path: Path) -> None:
    text = GOOD.replace("\nload: {", "\nload: {<<: {max_concurrency: 1}, ")
    assert load_params(write(tmp_path, text)).load.max_concurrency == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="expected a params file at"):
        load_params(tmp_path / "none.yaml")


def test_overrides_are_yaml_values_at_dotted_paths(tmp_path: Path) -> None:
    params = load_params(
        write(tmp_path, GOOD),
        ["engine.max_num_seqs=16", "sweep.values=[4, 8]", "slo.ttft_s=0.5", "name=other"],
    )
    assert params.engine.max_num_seqs == 16
    assert params.sweep[0].values == [4, 8]
    assert params.slo.ttft_s == 0.5
    assert params.name == "other"


@pytest.mark.parametrize(
    "override", ["engine", "=3", "name.first=3", "name=2020-99-99", "engine.max_num_sqs=3"]
)
def test_a_wrong_override_is_refused(tmp_path: Path, override: str) -> None:
    with pytest.raises(ParamsError):
        load_params(write(tmp_path, GOOD), [override])


def test_an_override_reaches_into_a_list_of_sweeps(tmp_path: Path) -> None:
    text = GOOD.replace("sweep: {", "sweep:\n- {")
    params = load_params(write(tmp_path, text), ["sweep.0.values=[7]"])
    assert params.sweep[0].values == [7]
    with pytest.raises(ParamsError, match="found none at '1'"):
        load_params(write(tmp_path, text), ["sweep.1.values=[7]"])


def test_paths_name_every_knob() -> None:
    paths = list(list_paths(Params))
    assert "engine.max_num_batched_tokens" in paths
    assert "load.max_concurrency" in paths
    assert "engine" not in paths
