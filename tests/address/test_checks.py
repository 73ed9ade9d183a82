import pytest

from labkit.address import check_key, check_proxy, check_url, make_redact, read_key
from labkit.errors import ParamsError


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8000/v1", "https://a-b_c.example.", "HTTP://[::1]:1/", "http://x/a%20b"],
)
def test_an_address_is_taken(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "in full, with http:// or https://"),
        ("http://", "in full"),
        ("127.0.0.1:8000", "in full"),
        ("ftp://x", "in full"),
        ("http://[::1", "IPv6 address in brackets"),
        ("http://127.0.0.1:abc", "port must be a number from 1 to 65535"),
        ("http://127.0.0.1:99999", "port"),
        ("http://127.0.0.1:0", "port"),
        ("http://a b/v1", "a blank"),
        (" http://a", "a blank"),
        ("http://a/v1\n", "a blank"),
        ("http://bücher.example", "character that no URL has"),
        ("http://" + "a" * 300, r"aaa\.\.\.'; its host is neither"),
        ("http://a..b", "its host is neither"),
        ("http://<x>", "its host is neither"),
    ],
)
def test_what_is_no_address_is_refused_in_one_line(url: str, said: str) -> None:
    with pytest.raises(ParamsError, match=said) as caught:
        check_url(url, name="engine.base_url")
    assert str(caught.value).startswith("expected engine.base_url such as http://127.0.0.1:8000/v1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:canary@x/v1",
        "http://canary@x",
        "http://user:can/canary@x:abc",
        "http://x/v1?api_key=canary",
        "http://x/v1#canary",
        "http://user:canary@[::1",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ParamsError, match="not shown") as caught:
        check_url(url)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("canary\r", "a line break at its end"),
        ("canary\r\n", "a line break at its end"),
        ("can\nary", "control characters"),
        ("canary\x00", "control characters"),
        (" canary", "blanks around it"),
        ("canaryé", "outside ASCII"),
        ("canary\udcff", "outside ASCII"),
    ],
)
def test_a_key_that_no_header_carries_is_refused_and_not_shown(
    key: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ParamsError, match=said) as caught:
        check_key(key)
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)
    if "\x00" not in key:
        monkeypatch.setenv("TEST_KEY", key)
        with pytest.raises(
            ParamsError, match=f"in the environment variable TEST_KEY, found .*{said}"
        ):
            read_key("TEST_KEY")


def test_a_key_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-1 2")
    assert read_key("TEST_KEY") == "sk-1 2"
    assert read_key(None) is None
    monkeypatch.setenv("TEST_KEY", "")
    with pytest.raises(ParamsError, match="TEST_KEY, found it unset"):
        read_key("TEST_KEY")


@pytest.mark.parametrize("key", ["canary", "canary\r\n", "canary'\"é+/", "\\canary"])
def test_a_key_is_redacted_however_it_is_written(key: str) -> None:
    redact = make_redact(key)
    for text in (key, repr(key), repr(key.encode()), key.strip(), f"Bearer {key}!"):
        assert "canary" not in redact(f"<{text}>")
        assert "[redacted]" in redact(text)
    assert redact("another") == "another"
    assert make_redact(None)("canary") == make_redact("")("canary") == "canary"


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "foo://bar"), ("HTTP_PROXY", "http://u:canary@x:abc"), ("http_proxy", "bar:1")],
)
def test_what_is_no_proxy_is_refused(proxies: pytest.MonkeyPatch, name: str, value: str) -> None:
    proxies.setenv(name, value)
    with pytest.raises(ParamsError, match=f"in {name.upper()}, found") as caught:
        check_proxy("http://x.test/v1")
    assert "canary" not in str(caught.value)
    proxies.setenv("NO_PROXY", "x.test")
    check_proxy("http://x.test/v1")


def test_a_proxy_is_taken(proxies: pytest.MonkeyPatch) -> None:
    check_proxy("http://x.test/v1")
    proxies.setenv("ALL_PROXY", "http://user:secret@proxy.test:3128")
    check_proxy("http://x.test/v1")
