import pytest

from labkit.address import explain_form, list_forms


@pytest.mark.parametrize(
    ("url", "forms"),
    [
        ("http://h:8000", ["http://h:8000/v1", "http://h:8000"]),
        ("http://h/v1/", ["http://h/v1", "http://h"]),
        ("http://h/v1/v1", ["http://h/v1/v1", "http://h/v1"]),
        ("https://h/api", ["https://h/api", "https://h/api/v1"]),
        ("http://h/v1/chat/completions", ["http://h/v1", "http://h"]),
        ("http://h/v1/models/", ["http://h/v1", "http://h"]),
    ],
)
def test_the_forms_that_may_be_meant(url: str, forms: list[str]) -> None:
    assert list_forms(url) == forms


@pytest.mark.parametrize(
    ("asked", "taken", "told"),
    [
        ("http://h/v1", "http://h/v1", "as it was given"),
        ("http://h/v1/", "http://h/v1", "without the slash at its end"),
        ("http://h/v1/v1/", "http://h/v1", "with one /v1, which stood there twice"),
        ("http://h", "http://h/v1", "with /v1 added"),
        ("http://h/v1", "http://h", "without /v1"),
        ("http://h/v1/completions", "http://h/v1", "without /completions, which is put there for "
         "each request"),
    ],
)  # fmt: skip
def test_how_a_form_differs_is_told(asked: str, taken: str, told: str) -> None:
    assert explain_form(asked, taken) == told
