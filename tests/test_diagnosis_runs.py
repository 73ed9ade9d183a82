"""Four faults made on purpose on the engine that ships: the right cause is named first."""

from pathlib import Path
from typing import Any

import pytest

from labkit.engines.model import find_model
from labkit.errors import LabkitError
from labkit.params import load_params
from labkit.plan import make_plan
from labkit.request import create_run
from labkit.run import measure
from labkit.workbook import write_summary

FOLDER = Path(__file__).parent.parent / "params" / "diagnosis"
FAULTS = ("budget_too_small", "max_num_seqs_too_small", "kv_pool_full", "client_bound")

try:
    find_model("smollm2")
except LabkitError as error:
    pytestmark = pytest.mark.skip(reason=str(error))


def diagnose_run(name: str, reports: Path) -> list[dict[str, Any]]:
    params = load_params(FOLDER / f"{name}.yaml")
    run = create_run(params, make_plan(params), reports)
    measure(run, lambda event: None)
    found: list[dict[str, Any]] = write_summary(run)["diagnoses"]
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_that_was_made_is_named_first(name: str, tmp_path: Path) -> None:
    found = diagnose_run(name, tmp_path / "reports")
    assert [one["rule"] for one in found][:1] == [name]
    assert found[0]["evidence"]


def test_every_prepared_fault_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(FAULTS)
