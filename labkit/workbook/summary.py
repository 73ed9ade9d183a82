"""From the records of a run to summary.json, summary.csv and findings.json.

It must not know how any of them is shown.
"""

from typing import Any

from labkit.analysis.finding import dump
from labkit.analysis.findings import conclude, headline
from labkit.analysis.summary import summarize, to_frame
from labkit.params import DisaggregationParams, SweepParams, load_params
from labkit.records import RunFolder, replace_json, replace_text

HIDDEN = {"api_key_env", "base_url", "providers_file"}
"""What of the engine's params no summary tells."""


def write_summary(run: RunFolder) -> dict[str, Any]:
    """Derive summary.json, summary.csv and findings.json from the records of a run and return the
    first.
    """
    params = load_params(run.params_path)
    manifest = run.manifest()
    told = {
        "name": manifest["name"],
        "notebook": params.notebook,
        "run_id": run.path.name,
        "status": manifest["status"],
        "error": manifest["error"],
        "started_at": manifest["started_at"],
        "num_points_planned": len(manifest["plan"]),
        "sweep": [_describe_sweep(one) for one in params.sweep],
        "slo": params.slo.model_dump(mode="json"),
        "cost": params.cost.model_dump(mode="json"),
        "load": params.load.model_dump(mode="json"),
        "workload": params.workload.model_dump(mode="json"),
        "engine": params.engine.model_dump(mode="json", exclude=HIDDEN),
        "environment": manifest["environment"],
    }
    if params.notebook == "disaggregation":
        asked = params.disaggregation or DisaggregationParams()
        told["disaggregation"] = asked.model_dump(mode="json")
    summary = summarize(told, run.points(), params.slo.model_dump(mode="json"))
    replace_json(run.summary_path, summary)
    replace_text(run.table_path, to_frame(summary).to_csv(index=False, lineterminator="\n"))
    told = dump(headline(summary), conclude(summary), run.path.name)
    replace_json(run.findings_path, told)
    return summary


def _describe_sweep(sweep: SweepParams) -> dict[str, Any]:
    told = sweep.model_dump(mode="json", include={"variable", "values", "repeats", "series"})
    told["set"] = {
        path: {k: v for k, v in own.items() if k not in HIDDEN} if isinstance(own, dict) else own
        for path, own in sweep.set.items()
        if path.removeprefix("engine.") not in HIDDEN
    }
    return told
