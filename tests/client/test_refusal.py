"""What a refusal advises: by the scheme it asks for, the header it names, and where the key was."""

import pytest

from labkit.client.refusal import advise, advise_wait


@pytest.mark.parametrize(
    ("said", "scheme", "place", "told"),
    [
        pytest.param(
            "wrong x-api-key", "Basic", "the variable K",
            "it asks for Basic where labkit sends Bearer; use an address that takes a key",
            id="another scheme comes before all else",
        ),
        pytest.param("no", "Negotiate", None, "it asks for Negotiate where", id="without a key"),
        pytest.param("no", "bEaReR", "the variable K", "check the key in the var", id="case"),
        pytest.param("no", "", "the variable K", "check the key in the variable K", id="no scheme"),
        pytest.param("no", "Bearer", None, "name the key's variable, api_key_env or", id="no key"),
        pytest.param("send X-API-Key", "", None, "in the header X-API-Key where labkit", id="x"),
        pytest.param("api-key: missing", "Bearer", "p", "in the header api-key where", id="azure"),
        pytest.param(
            "Ocp-Apim-Subscription-Key header", "", "p",
            "in the header Ocp-Apim-Subscription-Key where labkit sends Authorization: Bearer; "
            "use an address that takes Bearer, or a gateway in between",
            id="apim",
        ),
        pytest.param("your api-keys are old", "", "p", "check the key in p", id="a longer word"),
        pytest.param("the api key is old", "", "p", "check the key in p", id="two words"),
    ],
)  # fmt: skip
def test_what_is_advised(said: str, scheme: str, place: str | None, told: str) -> None:
    advice = advise(said, scheme, place)
    assert told in advice
    assert "\n" not in advice


def test_a_key_that_was_sent_is_to_be_looked_at() -> None:
    assert advise("no", "", "api_key of provider a in p.json") == (
        "check the key in api_key of provider a in p.json: that it is whole and current, "
        "without a prefix or blanks, and of this endpoint rather than another"
    )


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("20", "it asks to wait 20 s: try again then"),
        (" 0 ", "it asks to wait 0 s: try again then"),
        ("Fri, 31 Dec 2027 23:59:59 GMT", "until Fri, 31 Dec 2027 23:59:59 GMT: try again then"),
        ("a" * 500, f"until {'a' * 40}: try"),
        ("", "it limits requests: wait and try again, with fewer at once"),
    ],
)
def test_how_long_to_wait(header: str, told: str) -> None:
    assert told in advise_wait(header)
