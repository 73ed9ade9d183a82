"""The one call of a question's notebook: a run measured as far as it is missing, then looked at.

It must not know what is asked.
"""

import inspect
from collections.abc import Sequence

from labkit.errors import RecordsError
from labkit.home import find_place, find_reports
from labkit.params import load_params
from labkit.records import RunFolder
from labkit.request import check_request, create_run
from labkit.workbook.book import Workbook
from labkit.workbook.measuring import measure_run
from labkit.workbook.parameters import refuse_unknown, split_overrides


def ask(
    params_file: str,
    overrides: Sequence[str] | str = (),
    run_dir: str = "",
    measuring: bool = True,
) -> Workbook:
    """Measure what a run folder lacks, summarise all of it, and return it to look at.

    With `run_dir` its own params hold and `params_file` is not read; without it a new folder is
    made under `reports`. With `measuring` false nothing is launched. `overrides` are texts such as
    `engine.max_num_seqs=8`, in a list or in one text with blanks between. Raises LabkitError, also
    for a parameter that papermill passed and this function does not have.
    """
    refuse_unknown(list(inspect.signature(ask).parameters))
    if run_dir:
        run = RunFolder.open(find_place(run_dir))
    elif measuring:
        params = load_params(find_place(params_file), split_overrides(overrides))
        reports = find_reports()
        run = create_run(params, check_request(params, reports), reports)
    else:
        raise RecordsError("expected run_dir where nothing is to be measured, found none; name one")
    if measuring:
        measure_run(run)
    else:
        run.settle()
    return Workbook(run)
