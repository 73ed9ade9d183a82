"""From the records of a run to summary.json, summary.csv and findings.json.

It must not know how any of them is made or shown.
"""

from typing import Any

from labkit.analysis.finding import dump
from labkit.analysis.findings import tell_run
from labkit.analysis.summary import to_frame
from labkit.derive import derive_summary
from labkit.records import RunFolder, replace_json, replace_text


def write_summary(run: RunFolder) -> dict[str, Any]:
    """Derive summary.json, summary.csv and findings.json from the records of a run and return the
    first.
    """
    summary = derive_summary(run)
    replace_json(run.summary_path, summary)
    replace_text(run.table_path, to_frame(summary).to_csv(index=False, lineterminator="\n"))
    told = dump(*tell_run(summary), run.path.name)
    replace_json(run.findings_path, told)
    return summary
