"""The engine that the documentation adds is a whole one."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from labkit.engines import ADAPTERS, vllm
from labkit.engines import adapter as words
from labkit.engines.failures import find_cause
from labkit.engines.scrape import Site
from labkit.errors import ParamsError
from labkit.params import EngineParams

TEXT = (Path(__file__).parents[2] / "docs" / "adding-an-engine.md").read_text(encoding="utf-8")
CODE, ROW = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def acme() -> Any:
    module = ModuleType("acme")
    exec(compile(CODE, "adding-an-engine.md", "exec"), module.__dict__)
    return module


def make_params(**values: Any) -> EngineParams:
    return EngineParams.model_validate({"kind": "vllm", "model": "org/name", **values})


def test_it_has_every_word_of_the_protocol(acme: Any) -> None:
    expected = {name for name in vars(words.Adapter) if not name.startswith("_")}
    assert {name for name in expected if not hasattr(acme, name)} == set()
    assert set(acme.KNOBS) == set(vllm.KNOBS)


def test_its_row_is_like_the_others(acme: Any) -> None:
    row: dict[str, Any] = {}
    exec(ROW, {"vllm": vllm, "acme": acme}, row)
    assert row["ADAPTERS"] == {"vllm": ADAPTERS["vllm"], "acme": acme}


def test_it_launches_reads_and_refuses(acme: Any, pages: Any) -> None:
    params = make_params(max_num_seqs=4, enable_chunked_prefill=False, enable_prefix_caching=True)
    launch = acme.build_launch(params, 8000, "acme-serve", Path())
    assert " ".join(launch.command) == (
        "acme-serve --model org/name --host 127.0.0.1 --port 8000 --slots 4 --no-chunk"
    )
    assert launch.env == {"ACME_PREFIX_CACHE": "1"}
    with pytest.raises(ParamsError, match="its cache has no blocks"):
        acme.build_launch(make_params(block_size=16), 8000, "acme-serve", Path())
    pages.pages |= {"/config": {"slots": 4}, "/metrics": "acme:running 2\n"}
    site = Site(pages.root)
    assert acme.read_effective(site, acme.learn(site, "")) == {"max_num_seqs": 4}
    found = acme.sample(site, {})
    assert (found["num_requests_running"], found["num_requests_waiting"]) == (2, None)
    cause = find_cause("step failed: out of memory", acme.FAILURES)
    assert cause is not None
    assert cause.kind == "oom_run"
