"""Words of other engines are answered with what to write here."""

import pytest

from labkit.errors import ParamsError
from labkit.params import EngineParams, parse_params
from labkit.params.renamed import INSTEAD, KNOBS, PASSED_ON, explain_word


@pytest.mark.parametrize(
    ("word", "way"),
    [
        ("swap_space", "no swap space any more"),
        ("enable_radix_cache", "set engine.enable_prefix_caching"),
        ("disable_radix_cache", "set engine.enable_prefix_caching: false"),
        ("enable_chunked_context", "set engine.enable_chunked_prefill"),
        ("max_running_requests", "set engine.max_num_seqs"),
        ("chunked_prefill_size", "set engine.max_num_batched_tokens"),
        ("mem_fraction_static", "set engine.gpu_memory_utilization"),
        ("context_length", "set engine.max_model_len"),
        ("max_batch_size", "set engine.max_num_seqs"),
        ("max_num_tokens", "set engine.max_num_batched_tokens"),
        ("max_input_len", "engine.max_model_len to prompt and completion together"),
        ("kv_cache_free_gpu_memory_fraction", "set engine.gpu_memory_utilization"),
        ("scheduler_policy", "set engine.scheduling_policy"),
        ("tensor_parallel_size", "set it under engine.extra_args"),
        ("--max-running-requests", "set engine.max_num_seqs"),
        ("api_key", "set engine.api_key_env, the name of the variable"),
    ],
)
def test_the_error_says_what_to_write_today(word: str, way: str) -> None:
    with pytest.raises(ParamsError) as caught:
        parse_params({"engine": {"kind": "vllm", word: "canary"}})
    assert f"engine.{word} is not a parameter: " in str(caught.value)
    assert way in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_typing_error_is_still_answered_with_the_nearest() -> None:
    with pytest.raises(ParamsError, match="did you mean max_num_seqs"):
        parse_params({"engine": {"kind": "vllm", "max_num_seq": 4}})
    assert explain_word("nobody_knows") is None


def test_the_table_names_what_exists_and_nothing_that_does() -> None:
    known = set(EngineParams.model_fields)
    words = [*INSTEAD, *PASSED_ON, *(word for row in KNOBS.values() for word in row)]
    assert set(KNOBS) <= known
    assert not known & set(words)
    assert len(set(words)) == len(words)
