"""What the README tells a newcomer to type exists."""

import re
from pathlib import Path
from typing import get_args

import pytest

from labkit.cli import main
from labkit.params import LoadParams, WorkloadParams, load_params
from labkit.plan import make_plan

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PARAMS = sorted(set(re.findall(r"params/\w+\.yaml", README)))
TARGETS = sorted(set(re.findall(r"(?:^|`)make ([a-z]+)\b", README, re.MULTILINE)))
_TABLE = README.partition("## Command line")[2].partition("\n## ")[0]
COMMANDS = sorted(set(re.findall(r"^\| `([a-z]+)\b", _TABLE, re.MULTILINE)))
MODES = set(get_args(LoadParams.model_fields["mode"].annotation))
KINDS = {get_args(kind)[1].tag for kind in get_args(get_args(WorkloadParams)[0])}


def test_the_readme_names_something() -> None:
    assert "params/quickstart.yaml" in PARAMS
    assert {"demo", "test"} <= set(TARGETS)
    assert {"run", "report"} <= set(COMMANDS)


@pytest.mark.parametrize("path", PARAMS)
def test_its_params_load(path: str) -> None:
    params = load_params(ROOT / path, [])
    assert params.name == Path(path).stem
    assert make_plan(params) or params.climbs


def test_every_params_file_loads() -> None:
    for path in (ROOT / "params").glob("*.yaml"):
        params = load_params(path, [])
        assert make_plan(params) or params.climbs, path.name


@pytest.mark.parametrize("target", TARGETS)
def test_its_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_exist(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main([command, "--help"])
    assert exit_info.value.code == 0
    assert f"labkit {command}" in capsys.readouterr().out


def test_its_traffic_is_all_there_is() -> None:
    traffic = README.partition("## Traffic")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", traffic, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == MODES | KINDS


def test_its_links_and_notebooks_exist() -> None:
    named = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r"notebooks/\w+\.ipynb", README)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
