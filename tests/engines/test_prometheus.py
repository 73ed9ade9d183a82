"""Prometheus text: by hand, and a page that vLLM 0.32 served, beside Prometheus's own parser."""

import math
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from labkit.engines.prometheus import parse_metrics

VLLM = (Path(__file__).parent / "data" / "vllm_metrics.txt").read_text()
"""vLLM for CPU, a second after six requests were sent."""


def test_a_real_page_as_the_official_parser_reads_it() -> None:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(VLLM):
        for sample in family.samples:
            if not sample.name.endswith("_bucket"):
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
    metrics = parse_metrics(VLLM)
    assert metrics == found
    assert len(metrics) > 60
    assert metrics["vllm:num_requests_running"][0][1] == 1.0
    assert metrics["vllm:cache_config_info"][0][0]["kv_cache_size_tokens"] == "46592"


@pytest.mark.parametrize(
    "line",
    [
        'a{x="1",y="two words"} 3',
        'a{x="} 1",} -1.5e3',
        r'a{x="a \"quoted\" word",y="back\\slash",z="two\nlines"} 1',
        'a{x="p=\\"q\\",{r}"} 1 1395066363000',
        "a  7 ",
        "a{} 8",
        'a {x="1"} 9',
        "a +Inf",
    ],
)
def test_lines_as_the_official_parser_reads_them(line: str) -> None:
    ((expected,),) = (family.samples for family in text_string_to_metric_families(f"{line}\n"))
    assert parse_metrics(f"# TYPE a gauge\n\n{line}\n") == {
        "a": [(expected.labels, expected.value)]
    }


def test_what_is_not_a_number_is_nan() -> None:
    ((_, value),) = parse_metrics("a NaN\n")["a"]
    assert math.isnan(value)


def test_series_of_a_name_stay_together_and_others_are_not_there() -> None:
    metrics = parse_metrics('a{e="0"} 1\nb 5\na{e="1"} 2\n')
    assert metrics["a"] == [({"e": "0"}, 1.0), ({"e": "1"}, 2.0)]
    assert metrics.get("c") is None
    assert ("b" in metrics, "c" in metrics, list(metrics)) == (True, False, ["a", "b"])
    assert parse_metrics("") == {}


@pytest.mark.parametrize("text", ["<html>\n<body>not here</body>\n", '{"a": 1}', "[]", " x"])
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a line of Prometheus text"):
        parse_metrics(text)


@pytest.mark.parametrize("line", ["a two", 'a{x="1"}', 'a{x="1"} b', "a 1 2 3", 'a{x="1" 5'])
def test_a_line_without_a_number_is_an_error_when_it_is_read(line: str) -> None:
    metrics = parse_metrics(f"{line}\nb 1\n")
    assert metrics["b"] == [({}, 1.0)]
    with pytest.raises(ValueError, match=r"not a line of Prometheus text|could not convert"):
        metrics["a"]
