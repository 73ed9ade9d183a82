"""params/engines holds a file for each engine that labkit launches, and all of it can be said."""

import re
from pathlib import Path

import pytest

from labkit.engines import ADAPTERS, explain_command
from labkit.params import load_params
from labkit.plan import make_plan

FOLDER = Path(__file__).parents[2] / "params" / "engines"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_there_is_one_for_each() -> None:
    assert {path.stem for path in FILES} >= {*ADAPTERS, "llamacpp"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_loads_and_every_point_of_it_has_a_command(path: Path) -> None:
    params = load_params(path, [])
    assert params.name == path.stem
    assert path.stem in (params.engine.kind, f"{params.engine.kind}_cpu")
    plan = make_plan(params)
    assert len({point.engine.model_dump_json() for point in plan}) > 1
    if params.engine.kind in ADAPTERS:
        for point in plan:
            model = str(Path(str(point.engine.model)).expanduser())
            assert model in explain_command(point.engine)


def test_the_client_of_vllm_can_batch_statically_instead() -> None:
    text = (FOLDER / "vllm.yaml").read_text(encoding="utf-8")
    overrides = re.findall(r"--set (\S+=\S+)", text)
    params = load_params(FOLDER / "vllm.yaml", overrides)
    assert (params.load.mode, params.load.max_concurrency) == ("static_batch", 32)
    assert params.engine.enable_chunked_prefill is False
