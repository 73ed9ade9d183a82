"""The home folder: the nearest one above that holds params, else the present one."""

from pathlib import Path

import pytest

from labkit.errors import ParamsError
from labkit.home import find_home, find_place, find_reports


def test_the_nearest_folder_with_params_is_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_home() == deep
    (tmp_path / "params").mkdir()
    assert find_home() == find_home(deep) == tmp_path
    assert find_reports() == tmp_path / "reports"
    (tmp_path / "a" / "params").mkdir()
    assert find_home() == tmp_path / "a"


def test_a_path_is_meant_from_here_or_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks" / "x").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks")
    assert find_place("x") == Path("x")
    assert find_place("params/x.yaml") == tmp_path / "params" / "x.yaml"
    assert find_place("/x") == Path("/x")
    with pytest.raises(ParamsError, match=r"no such user; or \./~nouser/x"):
        find_place("~nouser/x")
