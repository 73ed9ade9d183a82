"""What a running endpoint is, is told by its metrics; one without any is measured all the same."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lives import LIVES

from labkit.engines import ADAPTERS, llamacpp, open_engine
from labkit.engines.endpoint import EndpointEngine
from labkit.engines.scrape import FIELDS, empty_sample
from labkit.errors import EngineError
from labkit.params import EngineParams

ONE = {"/v1/models": {"data": [{"id": "name", "max_model_len": 1024}]}}
FROM_LOG = {"kv_cache_capacity_bytes"}
"""Fields of the lives below that only a log tells, which there is none of here."""


@contextmanager
def opened(pages: Any, folder: Path, **served: Any) -> Iterator[EndpointEngine]:
    pages.pages = ONE | served
    params = EngineParams.model_validate({"kind": "endpoint", "base_url": pages.root})
    with open_engine(params, folder=folder) as engine:
        assert isinstance(engine, EndpointEngine)
        yield engine


def test_there_is_a_life_for_each() -> None:
    assert set(ADAPTERS) == set(LIVES)


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_running_one_is_known_by_its_metrics(pages, tmp_path: Path, kind: str) -> None:
    life = LIVES[kind]
    wanted = {field: value for field, value in life.sample.items() if field not in FROM_LOG}
    with opened(pages, tmp_path, **life.pages) as engine:
        found = engine.sample()
        assert {field: found[field] for field in wanted} == wanted
        assert set(found) == set(FIELDS)
        assert engine.request_options() == ADAPTERS[kind].request_options()
        count = engine.count_tokens
        assert (count and count("one two")) == life.num_tokens
        assert (engine.effective(), engine.reset_cache()) == ({}, False)  # not ours to know or do


def test_a_running_llamacpp_is_known_by_its_metrics(pages, tmp_path: Path) -> None:
    looks = json.loads((Path(__file__).parent / "data" / "llamacpp_looks.json").read_text())
    look = looks["first batch of a prefill, others not seen yet"]
    served = {"/metrics": "\n".join(look["metrics"]), "/slots": look["slots"]}
    with opened(pages, tmp_path, **served, **{"/tokenize": {"tokens": [1, 2]}}) as engine:
        assert engine.sample()["num_requests_running"] == 1
        assert engine.sample()["kv_cache_used_tokens"] == 256
        assert engine.request_options() == llamacpp.request_options()
        assert (engine.count_tokens or len)("three words here") == 2


def test_tensorrt_llm_tells_steps_where_others_tell_metrics(pages, tmp_path: Path) -> None:
    """Its /metrics is a list of JSON; the Prometheus page is another one and is looked for next."""
    served = {"/metrics": [{"numActiveRequests": 5}], "/prometheus/metrics": "trtllm_x 1\n"}
    with opened(pages, tmp_path, **served) as engine:
        assert [path for path, _ in pages.seen] == [
            "/v1/models", "/metrics", "/prometheus/metrics",
        ]  # fmt: skip
        assert engine.sample()["num_requests_running"] == 5
    with opened(pages, tmp_path, **{"/metrics": served["/metrics"]}) as engine:
        assert engine.sample() == empty_sample()


@pytest.mark.parametrize(
    "served",
    [
        pytest.param({}, id="no page"),
        pytest.param({"/metrics": ""}, id="an empty page"),
        pytest.param({"/metrics": "python_gc_objects_collected_total 3\n"}, id="of another"),
        pytest.param({"/metrics": "# HELP x like vllm:y\nx 1\n"}, id="named in a comment only"),
        pytest.param({"/metrics": "my_vllm:y 1\n"}, id="within a longer name"),
        pytest.param({"/metrics": "<html>vllm:</html>"}, id="a web page"),
        pytest.param({"/metrics": [1, 2]}, id="json"),
    ],
)
def test_without_metrics_that_are_known_nothing_is_made_up(
    pages, tmp_path: Path, served: dict[str, Any]
) -> None:
    with opened(pages, tmp_path, **served) as engine:
        assert engine.sample() == empty_sample()
        assert set(engine.sample().values()) == {None}
        assert engine.request_options() == {}
        assert engine.count_tokens is None
        engine.check()


def test_one_that_tells_nothing_of_itself_is_still_looked_at(pages, tmp_path: Path) -> None:
    """vLLM has /server_info only in its development mode, and a gateway may hide /tokenize."""
    served = {"/metrics": LIVES["vllm"].pages["/metrics"]}
    with opened(pages, tmp_path, **served) as engine:
        running = LIVES["vllm"].sample["num_requests_running"]
        assert engine.sample()["num_requests_running"] == running
        assert engine.count_tokens is None


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (None, "HTTP Error 404"),
        ("vllm:num_requests_running is two\n", "not a line of Prometheus text"),
    ],
)
def test_metrics_that_end_are_an_error(pages, tmp_path: Path, page: str | None, told: str) -> None:
    with opened(pages, tmp_path, **{"/metrics": "vllm:num_requests_running 2\n"}) as engine:
        assert engine.sample()["num_requests_running"] == 2
        pages.pages = dict(ONE) if page is None else ONE | {"/metrics": page}
        with pytest.raises(EngineError, match=f"expected metrics of {pages.root}, found: {told}"):
            engine.sample()


def test_a_server_that_is_not_quite_the_known_one_is_an_error_and_no_crash(
    pages, tmp_path: Path
) -> None:
    served = {"/metrics": "sglang:x 1\n", "/v1/loads?include=core": {"other": 1}}
    with (
        opened(pages, tmp_path, **served) as engine,
        pytest.raises(EngineError, match=r"expected metrics of .*, found: KeyError: 'loads'"),
    ):
        engine.sample()
