"""`labkit export`: the same bytes twice, sums that fit, a crate that a stranger's reader takes,
and no secret.
"""

import hashlib
import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from kept import keep_run

from labkit.cli import main
from labkit.records import RunFolder, replace_text
from labkit.share import pack_run
from labkit.share.names import CRATE, SUMS
from labkit.share.secrets import clean_lines, make_clean

KEY = "plain-canary-key-7f3a"
SHAPED = {
    "openai.log": "error: key sk-proj-AbCdEfGhIjKlMnOpQrStUv refused",
    "hub.log": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123 in the environment",
    "bearer.log": "Authorization: Bearer abcdef0123456789abcdef",
    "url.log": "proxy http://someone:hunter22@proxy:3128",
    "argument.log": "vllm serve m --api-key correct-horse-battery",
    "args.log": "non-default args: {'api_key': ['correct-horse-battery'], 'port': 1}",
    "json.log": '{"api_key": "correct-horse-battery", "n": 1}',
    "escaped.log": r'"{\"api_key\": \"correct-horse-battery\"}"',
    "pem.log": "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEcorrect-horse\n"
    "-----END RSA PRIVATE KEY-----\nb",
}
HARMLESS = [
    "prompt_tokens: 12345678, api_key_env: OPENAI_API_KEY",
    "no API key is set and CORS allows all origins",
    '{"max_num_batched_tokens": 512, "output_throughput_tokens_per_s": 33.895062343410885}',
    "http://127.0.0.1:8000/v1 and risk-averse-and-otherwise-long-words-with-dashes",
    "20261203T095623Z-task-with-a-name-that-is-long-afc06218",
]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = keep_run(tmp_path / "reports")
    run.update_manifest(status="completed", ended_at="2026-12-03T10:00:00+00:00")
    replace_text(run.report_path, "<p>a report</p>")
    replace_text(run.path / "sweep.ipynb", "{}")
    return run


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_two_exports_give_the_same_bytes_and_modes(run: RunFolder, tmp_path: Path) -> None:
    first = pack_run(run, tmp_path / "a.zip").path.read_bytes()
    for path in run.path.rglob("*"):
        os.utime(path, (0, 0))
    assert pack_run(run, tmp_path / "b.zip").path.read_bytes() == first
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        told = archive.infolist()
    assert {info.date_time for info in told} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.external_attr >> 16 for info in told} == {stat.S_IFREG | 0o600}
    names = [info.filename for info in told]
    assert names == [*sorted(names[:-2]), CRATE, SUMS]


def test_records_report_and_sums_are_in_it(run: RunFolder, tmp_path: Path) -> None:
    attempt = run.path / "points" / "000-max_concurrency-1-r0.attempt1"
    attempt.mkdir()
    replace_text(attempt / "point.json", "{}")
    for name in (".lock", "sweep.attempt1.ipynb", "a\\b.txt"):
        replace_text(run.path / name, "x")
    (run.path / "passwd.txt").symlink_to("/etc/passwd")
    packed = pack_run(run, tmp_path / "a.zip")
    files = read(packed.path)
    assert {"params.yaml", "manifest.json", "report.html", "sweep.ipynb", CRATE} <= set(files)
    assert "points/000-max_concurrency-1-r0/requests.jsonl" in files
    assert "points/000-max_concurrency-1-r0.attempt1/point.json" in files
    assert set(packed.left_out) == {"passwd.txt", "sweep.attempt1.ipynb", "a\\b.txt"}
    assert not {".lock", *packed.left_out} & set(files)
    assert packed.num_files == len(files)
    sums = dict(line.split("  ")[::-1] for line in files.pop(SUMS).decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    same = ("params.yaml", "points/000-max_concurrency-1-r0/requests.jsonl")
    assert all(files[name] == (run.path / name).read_bytes() for name in same)


def test_the_crate_says_what_it_is_and_what_made_it(run: RunFolder, tmp_path: Path) -> None:
    """The MUSTs of RO-Crate 1.2, sections Root Data Entity and Data Entities, by hand."""
    files = read(pack_run(run, tmp_path / "a.zip", author="A. Lovelace", license="MIT").path)
    document = json.loads(files[CRATE])
    assert document["@context"] == "https://w3id.org/ro/crate/1.2/context"
    by_id = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(by_id) == len(document["@graph"])
    assert by_id[CRATE] == {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"},
    }
    root = by_id["./"]
    assert root["@type"] == "Dataset"
    assert root["datePublished"] == "2026-12-03T10:00:00+00:00"
    assert root["identifier"] == run.path.name
    assert by_id[root["license"]["@id"]]["name"] == "MIT"
    assert by_id[root["author"]["@id"]] == {
        "@id": "#author",
        "@type": "Person",
        "name": "A. Lovelace",
    }
    parts = [part["@id"] for part in root["hasPart"]]
    assert set(parts) == set(files) - {CRATE}
    for name in parts:
        assert by_id[name]["@type"] == "File"
        assert by_id[name]["encodingFormat"]
    assert by_id["params.yaml"]["contentSize"] == str(len(files["params.yaml"]))
    action = by_id[root["mentions"]["@id"]]
    assert action["@type"] == "CreateAction"
    assert by_id[action["instrument"]["@id"]]["softwareVersion"] == "0.1.0"
    assert action["object"] == [{"@id": "params.yaml"}]
    for one in document["@graph"]:
        assert one["@id"]
        assert one["@type"]


def test_a_strangers_reader_takes_the_crate(run: RunFolder, tmp_path: Path) -> None:
    crates = pytest.importorskip("rocrate.rocrate", reason="rocrate is not installed")
    packed = pack_run(run, tmp_path / "a.zip")
    crate = crates.ROCrate(packed.path)
    assert crate.name == f"labkit run {run.path.name}"
    assert str(crate.license).startswith("No licence was stated")
    assert crate.mainEntity is None
    assert {one.id for one in crate.data_entities} == set(read(packed.path)) - {CRATE}
    assert crate.dereference("#run").type == "CreateAction"
    assert crate.dereference("#labkit").type == "SoftwareApplication"


def test_nothing_secret_goes_in_and_it_is_said(
    run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    for name, text in SHAPED.items():
        replace_text(run.path / name, f"before\n{text}\nafter\n")
    replace_text(run.path / "known.log", f"it told {KEY}\nand once more {KEY}\n")
    (run.path / "odd.log").write_bytes(b"\xff\xfe " + KEY.encode() + b" \xff\n")
    replace_text(run.report_path, f"<p>{KEY}</p>")
    assert main(["export", str(run.path), "--out", str(tmp_path / "a.zip")]) == 0
    told = capsys.readouterr()
    files = read(tmp_path / "a.zip")
    for secret in (KEY, "AbCdEfGhIj", "abcdef0123", "hunter22", "correct-horse"):
        assert [name for name, data in files.items() if secret.encode() in data] == []
        assert secret not in told.out + told.err
    assert "labkit: known.log: something secret was taken out of 2 of its lines" in told.err
    assert told.err.count("something secret") == len(SHAPED) + 3
    assert files["odd.log"] == b"\xff\xfe [redacted] \xff\n"
    assert files["pem.log"].endswith(b"\nb\nafter\n")
    assert all(files[name].startswith(b"before\n") for name in SHAPED)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    (found,) = clean_lines([f"{text}\n".encode()], make_clean([KEY]))
    assert found == (f"{text}\n".encode(), False)


def test_what_can_not_be_shared_is_refused_in_a_line(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "a.zip"
    taken.write_text("mine", encoding="utf-8")
    words = ["export", str(run.path), "--out", str(taken)]
    assert main(words) == 2
    assert "expected no file at" in capsys.readouterr().err
    assert taken.read_text(encoding="utf-8") == "mine"
    assert main([*words[:-1], str(tmp_path / "b.zip"), "--license", "see LICENSE"]) == 2
    assert "SPDX" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "none")]) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name != "reports"] == ["a.zip"]


def test_a_renamed_folder_keeps_its_id(run: RunFolder, tmp_path: Path) -> None:
    run_id = run.path.name
    moved = RunFolder(run.path.rename(tmp_path / "my best run"))
    files = read(pack_run(moved, tmp_path / "a.zip").path)
    (root,) = [one for one in json.loads(files[CRATE])["@graph"] if one["@id"] == "./"]
    assert root["identifier"] == run_id
