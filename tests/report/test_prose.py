import pytest

from labkit.report.prose import write_prose

KEPT = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from 9.23 s to 206 ms", f"from 9.23{KEPT}s to 206{KEPT}ms"),
        ("95 % interval 3.5 % to 36 %)", f"95{KEPT}% interval 3.5{KEPT}% to 36{KEPT}%)"),
        ("36.6 tokens/s, 1.35 times that of 1", f"36.6{KEPT}tokens/s, 1.35 times that of 1"),
        ("at max_num_seqs 4 some wait", "at max_num_seqs 4 some wait"),
        ("16 GiB of 8 GPUs & <b>", f"16{KEPT}GiB of 8 GPUs &amp; &lt;b&gt;"),
    ],
)
def test_a_number_stays_with_its_unit(text: str, told: str) -> None:
    assert write_prose(text) == told
