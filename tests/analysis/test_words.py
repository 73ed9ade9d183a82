import pytest

from labkit.analysis import words


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (142.34, "142"),
        (2.404, "2.4"),
        (9.999, "10"),
        (0.012345, "0.0123"),
        (12345, "12,300"),
        (100, "100"),
        (-1.5, "-1.5"),
    ],
)
def test_number(value, expected):
    assert words.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4.1, "4.1 s"), (0.0312, "31.2 ms"), (0.9999, "1 s"), (0.999, "999 ms"), (0, "0 ms")],
)
def test_seconds(value, expected):
    assert words.seconds(value) == expected


def test_the_rest():
    assert words.percent(0.414) == "41.4 %"
    assert words.gibibytes(1.5 * 2**30) == "1.5 GiB"
    assert words.gibibytes(45 * 2**20) == "45 MiB"
    assert words.join([]) == ""
    assert words.join(["a", "b", "c"]) == "a, b and c"
    assert words.count(1, "point") == "1 point"
    assert words.count(2, "point") == "2 points"
    assert words.short("engine.max_num_seqs") == "max_num_seqs"
    assert words.short(None) == "setting"
    assert [words.setting(one) for one in (None, True, False, 8, 0.9, "lpm", [1])] == [
        "default",
        "on",
        "off",
        "8",
        "0.9",
        "lpm",
        "[1]",
    ]


def test_a_place_is_a_setting_and_a_rate_has_its_unit():
    rate, number = "load.request_rate_per_s", "load.max_concurrency"
    assert words.place(rate, 5.66) == "5.66 requests/s"
    assert words.place(rate, 1.0) == "1 request/s"
    assert words.place(number, 8) == "max_concurrency 8"
    assert words.places(rate, 4.0, 5.66) == "4 and 5.66 requests/s"
    assert words.places(number, 4, 8) == "max_concurrency 4 and 8"
