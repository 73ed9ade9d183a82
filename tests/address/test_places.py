"""Where a key comes from: a variable, .env, or a providers file that may name a variable."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from labkit.address import (
    PREFIXES,
    find_asked,
    find_place,
    find_place_in_variables,
    read_key,
    read_variable,
    tell_source,
)
from labkit.errors import ParamsError

NAMES = [f"{prefix}_{tail}" for prefix in PREFIXES
         for tail in ("BASE_URL", "API_KEY", "MODEL", "MODEL_ID")]  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*NAMES, "LABKIT_PROVIDERS", "CANARY_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, api_key: str, base_url: str = "http://127.0.0.1:1") -> Path:
    entry = {"base_url": base_url, "api_key": api_key, "model_id": "m"}
    path = folder / "providers.json"
    path.write_text(json.dumps({"providers": {"a": entry}, "default_provider": "a"}))
    return path


def test_a_key_in_the_file_itself(here: Path) -> None:
    assert read_key(f"provider:{write(here, 'canary')}#a") == "canary"
    place = find_place("a", "providers.json")
    assert (place.base_url, place.model) == ("http://127.0.0.1:1", "m")
    assert place.told_by == "provider a in providers.json"
    assert "canary" not in repr(place)


@pytest.mark.parametrize("form", ["${CANARY_KEY}", "env:CANARY_KEY"])
def test_a_key_in_a_variable_that_the_file_names(
    here: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    source = f"provider:{write(here, form)}#a"
    with pytest.raises(ParamsError, match="environment variable CANARY_KEY, found it unset"):
        read_key(source)
    monkeypatch.setenv("CANARY_KEY", "canary")
    assert read_key(source) == "canary"


@pytest.mark.parametrize("key", ["canary\n", " canary", "Bearer canary", "canaryé"])
def test_a_key_that_cannot_be_sent_is_not_shown(here: Path, key: str) -> None:
    with pytest.raises(ParamsError, match=r"as api_key of provider a in .*not shown") as caught:
        read_key(f"provider:{write(here, key)}#a")
    assert "canary" not in str(caught.value)


def test_a_url_that_holds_a_secret_is_not_shown(here: Path) -> None:
    write(here, "k", base_url="http://user:canary@x")
    with pytest.raises(ParamsError, match=r"base_url of provider a in providers\.json") as caught:
        find_place("a", "providers.json")
    assert "canary" not in str(caught.value)


def test_dotenv_is_read_and_never_put_into_the_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "params").mkdir()
    (here / "notebooks").mkdir()
    (here / ".env").write_text("CANARY_KEY='canary'\nexport OTHER=$CANARY_KEY\n", encoding="utf-8")
    assert read_key("env:CANARY_KEY") == read_key("CANARY_KEY") == "canary"
    assert read_variable("OTHER") == "$CANARY_KEY"
    assert "CANARY_KEY" not in os.environ
    monkeypatch.chdir(here / "notebooks")
    assert read_variable("CANARY_KEY") == "canary"
    monkeypatch.setenv("CANARY_KEY", "exported")
    assert read_variable("CANARY_KEY") == "exported"
    (here / "notebooks" / ".env").write_text("", encoding="utf-8")
    monkeypatch.delenv("CANARY_KEY")
    with pytest.raises(ParamsError, match=r"or write it into \.env"):
        read_key("CANARY_KEY")


def test_a_dotenv_that_is_no_text(here: Path) -> None:
    (here / ".env").write_bytes(b"CANARY_KEY=canary\xff\n")
    with pytest.raises(ParamsError, match="expected NAME=value in UTF-8") as caught:
        read_key("CANARY_KEY")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("tail", ["MODEL", "MODEL_ID"])
def test_the_variables_of_the_articles(
    monkeypatch: pytest.MonkeyPatch, prefix: str, tail: str
) -> None:
    assert find_place_in_variables() is None
    monkeypatch.setenv(f"{prefix}_BASE_URL", "https://x.test/api")
    monkeypatch.setenv(f"{prefix}_{tail}", "m")
    place = find_place("env", None)
    assert (place.base_url, place.model) == ("https://x.test/api", "m")
    assert place.told_by == f"the variables {prefix}_BASE_URL, {prefix}_API_KEY, {prefix}_{tail}"
    with pytest.raises(ParamsError, match=f"variable {prefix}_API_KEY, found it unset"):
        read_key("provider:#env")
    monkeypatch.setenv(f"{prefix}_API_KEY", "canary")
    assert read_key("provider:#env") == "canary"


def test_a_url_and_a_key_of_different_names_are_not_put_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    with pytest.raises(ParamsError, match="expected OPENAI_BASE_URL or TAOTOKEN_BASE_URL"):
        read_key("provider:#env")
    monkeypatch.setenv("TAOTOKEN_BASE_URL", "https://x.test/api")
    with pytest.raises(ParamsError, match="TAOTOKEN_API_KEY, found it unset"):
        read_key("provider:#env")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://y.test/v1")
    with pytest.raises(ParamsError, match="found OPENAI_BASE_URL and TAOTOKEN_BASE_URL; unset one"):
        read_key("provider:#env")


def test_what_is_asked_without_a_url(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParamsError, match="expected a URL, a provider, or OPENAI_BASE_URL"):
        find_asked(None, None)
    write(here, "canary")
    assert find_asked(None, None).told_by == "provider a in providers.json"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://y.test/v1")
    assert (
        find_asked(None, None).base_url == find_asked("env", None).base_url == "https://y.test/v1"
    )
    assert find_asked("a", None).told_by == "provider a in providers.json"
    assert find_asked(None, here / "providers.json").base_url == "http://127.0.0.1:1"


def test_the_providers_file_is_found_from_a_folder_below(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "params").mkdir()
    (here / "notebooks").mkdir()
    place = write(here / "params", "canary")
    assert find_asked(None, None).told_by == "provider a in params/providers.json"
    monkeypatch.chdir(here / "notebooks")
    assert find_asked(None, None).told_by == f"provider a in {place}"
    write(here / "notebooks", "canary")
    assert find_asked(None, None).told_by == "provider a in providers.json"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, None),
        ("K", "the variable K"),
        ("env:K", "the variable K"),
        ("provider:a#b.json#x", "api_key of provider x in a#b.json"),
        ("provider:#env", "the variable that ends with _API_KEY"),
    ],
)
def test_a_source_in_words(source: str | None, told: str | None) -> None:
    assert tell_source(source) == told


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "providers.json", "params/providers.yaml", "a/providers.yml.bak"]
)
def test_git_ignores_what_holds_keys(name: str) -> None:
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    clean = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(root), "check-ignore", "--quiet", "--no-index"]
    assert subprocess.run([*command, name], env=clean).returncode == 0
    assert subprocess.run([*command, "labkit/params/providers.py"], env=clean).returncode == 1
