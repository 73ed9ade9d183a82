"""From the records of a run to its summary, in memory: whoever wants a file of it writes that.

It must not know how a run was measured, nor what is shown of it.
"""

from typing import Any

from labkit.analysis.ladder import list_steps
from labkit.analysis.summary import summarize
from labkit.params import DisaggregationParams, SweepParams, load_params
from labkit.records import RunFolder

HIDDEN = {"api_key_env", "base_url", "providers_file"}
"""What of the engine's params no summary tells."""


def derive_summary(run: RunFolder) -> dict[str, Any]:
    """Return summary.json of a run as a dict, made from its records; nothing is written.

    Raises RecordsError or ParamsError where they are damaged.
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
    steps = list_steps(run.ladder())
    return summary | {"ladder": steps} if steps else summary


def _describe_sweep(sweep: SweepParams) -> dict[str, Any]:
    told = sweep.model_dump(mode="json", include={"variable", "values", "repeats", "series"})
    if sweep.search is not None:
        told["search"] = sweep.search.model_dump(mode="json")
    told["set"] = {
        path: {k: v for k, v in own.items() if k not in HIDDEN} if isinstance(own, dict) else own
        for path, own in sweep.set.items()
        if path.removeprefix("engine.") not in HIDDEN
    }
    return told
