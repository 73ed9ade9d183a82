"""Every params file that comes with labkit loads, can be planned, and names a notebook that is."""

from collections import Counter
from pathlib import Path

import pytest

from labkit.execute import find_notebook
from labkit.params import load_params
from labkit.plan import make_plan

PARAMS = Path(__file__).parents[2] / "params"
FILES = sorted(PARAMS.rglob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PARAMS)))
def test_it_can_be_planned(path: Path) -> None:
    params = load_params(path)
    assert make_plan(params) or params.climbs
    assert find_notebook(params.notebook).is_file()
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# "), "a params file begins with what it asks"


def test_no_two_have_the_same_name() -> None:
    names = Counter(load_params(path).name for path in FILES)
    assert max(names.values()) == 1, names
