"""The schema of a params file: as strict as the models are, and what an editor shows of a field."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from labkit.errors import ParamsError
from labkit.params import load_params, parse_params
from labkit.params.schema import make_schema
from labkit.params.workload import WORKLOADS

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with JupyterLab")
FOLDER = Path(__file__).parent.parent.parent / "params"
FILES = sorted(FOLDER.rglob("*.yaml"))
SMALL: dict[str, Any] = {
    "name": "small",
    "engine": {"kind": "llamacpp", "max_num_seqs": 4},
    "workload": {"num_requests": 2, "prompt_tokens": 8, "completion_tokens": 2},
    "load": {"max_concurrency": 2},
    "sweep": {"variable": "engine.max_num_seqs", "values": [1, 2]},
}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = make_schema()
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def change(path: str, value: Any) -> dict[str, Any]:
    """Return SMALL with one value put elsewhere; None takes it out."""
    data = copy.deepcopy(SMALL)
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


def test_there_are_files_to_check() -> None:
    assert {"quickstart.yaml", "vllm.yaml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_params_file_fits(validator: Any, path: Path) -> None:
    validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    load_params(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sweep", [SMALL["sweep"], {"variable": "load.max_concurrency", "values": [1, 4]}]),
        ("sweep.variable", "engine.extra_args.n_batch"),
        ("sweep.values", [True, "lpm", 0.5]),
        ("workload.prompt_tokens", {"kind": "uniform", "low": 4, "high": 8}),
        ("workload.kind", "synthetic"),
        ("sampling", {"gpus": [0, "GPU-1234"]}),
    ],
)
def test_what_the_models_take_the_schema_takes(validator: Any, path: str, value: Any) -> None:
    data = change(path, value)
    parse_params(copy.deepcopy(data))
    validator.validate(data)


def test_a_sweep_has_values_or_a_search(validator: Any) -> None:
    search = {"low": 1, "high": 16, "share": 0.95}
    found = change("sweep", {"variable": "load.max_concurrency", "search": search})
    found["slo"] = {"ttft_s": 1.0}
    parse_params(copy.deepcopy(found))
    validator.validate(found)
    assert not validator.is_valid(change("sweep.values", None))


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("name", "No Capitals", "name"),
        ("name", None, ""),
        ("engine.kind", "vllmm", "engine.kind"),
        ("engine.max_num_seq", 4, "engine"),
        ("engine.max_num_seqs", 0, "engine.max_num_seqs"),
        ("engine.max_num_seqs", "4", "engine.max_num_seqs"),
        ("load.mode", "closd", "load.mode"),
        ("sweep", [], "sweep"),
        ("sweep.values", [], "sweep.values"),
        ("workload.kind", "chat", "workload"),
        ("workload.kind", "mixed", "workload"),
        ("workload.prefix_tokens", 64, "workload"),
        ("workload.prompt_tokens", {"kind": "uniform", "low": 4}, "workload"),
        ("sampling", {"period_s": 0.01}, "sampling.period_s"),
        ("swep", {}, ""),
    ],
)
def test_what_the_models_refuse_the_schema_refuses_there(
    validator: Any, path: str, value: Any, place: str
) -> None:
    data = change(path, value)
    with pytest.raises(ParamsError, match=r"^small: "):
        parse_params(copy.deepcopy(data), source="small")
    found = {".".join(map(str, error.absolute_path)) for error in validator.iter_errors(data)}
    assert any(one == place or place.startswith(f"{one}.") for one in found), found


def test_a_workload_is_told_by_its_kind(validator: Any) -> None:
    workload = validator.schema["properties"]["workload"]
    mapping = workload["discriminator"]["mapping"]
    assert set(mapping) == set(WORKLOADS)
    assert [one["$ref"] for one in workload["oneOf"]] == list(mapping.values())


def test_the_texts_below_the_fields_are_told(validator: Any) -> None:
    parts = validator.schema["$defs"]
    engine = parts["EngineParams"]["properties"]
    assert engine["max_num_seqs"]["description"] == (
        "Sequences that the engine works on at the same time."
    )
    assert engine["kind"]["description"].endswith("are launched where they are installed.")
    assert "\n" not in engine["kind"]["description"]
    inherited = parts["AgentParams"]["properties"]
    assert inherited["num_tasks"]["description"] == "Conversations, or tasks of an agent."
    assert inherited["salt"]["description"].startswith("Begin prompts with words")
    assert parts["LoadParams"]["description"] == "How the requests are sent."
    assert validator.schema["properties"]["sweep"]["description"].startswith("One sweep, or")


def test_an_editor_can_offer_what_a_sweep_moves(validator: Any) -> None:
    variable = validator.schema["$defs"]["SweepParams"]["properties"]["variable"]
    offered = variable["anyOf"][0]["enum"]
    assert {"engine.max_num_seqs", "load.max_concurrency", "workload.prefix_tokens"} <= set(offered)
    assert not [path for path in offered if path.startswith(("slo.", "sweep"))]
