import psutil

from labkit.client.headroom import measure_headroom
from labkit.client.load import Client


def test_the_client_tells_what_it_can_do_and_leaves_nothing_behind() -> None:
    with Client() as client:
        told = measure_headroom(client)
    assert told["requests_per_s"] > 50
    assert told["chunks_per_s"] > 20 * told["requests_per_s"], "a chunk is far less than a request"
    assert 0 < told["added_ttft_s"]["p50"] <= told["added_ttft_s"]["p99"] < 1
    assert 0 <= told["added_tpot_s"]["p50"] < 0.01
    assert told["added_ttft_s"]["n"] == told["streams"] == 32
    commands = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
    assert not [command for command in commands if "labkit.client" in command]
