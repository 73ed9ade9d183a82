"""What comes before measuring: a request is checked, explained, and given a folder of its own.

It must not launch an engine, nor know how a point is measured.
"""

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from labkit.engines import check_asked, check_engines, explain_command, find_absent
from labkit.environment import describe_environment
from labkit.errors import ParamsError
from labkit.params import EngineParams, Params
from labkit.params.length import Distribution, Length
from labkit.plan import Point, make_plan
from labkit.records import SCHEMA, RunFolder, create_folder, replace_json, replace_text
from labkit.telemetry.gpu import check_gpus, describe_gpus
from labkit.workload import check_workload

MIN_FREE_BYTES = 200 * 1024**2


def check_request(params: Params, reports: Path, *, dry_run: bool = False) -> list[Point]:
    """Return the plan once everything that can be known beforehand is right; launches nothing.

    For a dry run an engine need not be installed; `list_unchecked` tells what that leaves open.

    Raises ParamsError for a wrong plan, lengths that the engine may not hold, a missing model or
    engine, a GPU to sample that isn't there, a taken port, no place for the reports, or a disk
    with less than 200 MiB left.
    """
    plan = make_plan(params)
    engines: list[EngineParams] = []
    for point in plan:
        check_workload(point.workload)
        _check_length(point)
        if point.engine not in engines:
            engines.append(point.engine)
    if params.climbs:  # what a step of the ladder tells is not refused before
        check_workload(params.workload)
        check_asked(params.engine, dry_run=dry_run)
    check_engines(engines, dry_run=dry_run)
    if not dry_run:
        check_gpus(params.sampling.gpus)
    above = (reports.absolute(), *reports.absolute().parents)
    place = next(path for path in above if path.exists())
    if not place.is_dir():
        raise ParamsError(
            f"expected a folder for {reports}, found a file at {place}; choose another"
        )
    free = shutil.disk_usage(place).free
    if free < MIN_FREE_BYTES:
        raise ParamsError(
            f"expected {MIN_FREE_BYTES // 1024**2} MiB free in {reports}, "
            f"found {free // 1024**2} MiB; make room or choose another folder"
        )
    return plan


def create_run(params: Params, plan: list[Point], reports: Path) -> RunFolder:
    """Make a new run folder with its params and manifest, and return it; measures nothing."""
    now = datetime.now(UTC)
    name = f"{now:%Y%m%dT%H%M%SZ}-{params.name}-{params.digest()[:8]}"
    run = RunFolder(create_folder(reports, name))
    replace_text(run.params_path, params.dump())
    environment = describe_environment()
    replace_json(
        run.manifest_path,
        {
            "schema": SCHEMA,
            "name": params.name,
            "status": "created",
            "error": None,
            "started_at": now.isoformat(timespec="seconds"),
            "ended_at": None,
            "plan": [point.place() for point in plan],
            "environment": {**environment, "gpus": describe_gpus()},
            "provenance": {"params_sha256": params.digest()},
            "notebook": None,
        },
    )
    return run


def explain_launches(plan: Sequence[Point]) -> Iterator[str]:
    """Yield a line for every launch of an engine that these points lead to, in their order.

    An engine serves the points that follow each other and ask for the same; after another one it
    is launched anew.
    """
    before: EngineParams | None = None
    for point in plan:
        if point.engine != before or point.relaunch:
            command = " ".join(explain_command(point.engine))
            place = point.engine.base_url or f"provider {point.engine.provider}"
            told = command or f"nothing is launched: {place}"
            yield f"{point.point_id}: {told}"
        before = point.engine


def explain_searches(params: Params) -> Iterator[str]:
    """Yield a line for every search: which values follow its first ones is known only then."""
    for sweep in params.sweep:
        if (search := sweep.search) is not None:
            yield (
                f"then up to {search.steps} values of {sweep.variable} between {search.low:g} and "
                f"{search.high:g}, in search of the highest at which {search.share:.0%} of the "
                "requests keep the SLO"
            )


def list_unchecked(plan: Sequence[Point]) -> Iterator[str]:
    """Yield a line for everything that isn't installed here and so could not be asked."""
    for absent in dict.fromkeys(find_absent(point.engine) for point in plan):
        if absent is not None:
            yield (
                f"not checked: {absent} is not installed here, so it could not be asked whether "
                f"it takes these flags"
            )


def _check_length(point: Point) -> None:
    """Raise ParamsError if the longest request can't fit into a sequence of the engine."""
    room, workload = point.engine.max_model_len, point.workload
    if room is None or workload.kind not in ("synthetic", "mixed", "shared_prefix", "structured"):
        return
    prompts: list[Length] = [workload.prompt_tokens]
    if workload.kind == "mixed":
        prompts.append(workload.long_prompt_tokens)
    prompt = max(map(_find_highest, prompts))
    if workload.kind == "shared_prefix":
        prompt += workload.prefix_tokens
    completion = _find_highest(workload.completion_tokens)
    if prompt + completion > room:
        raise ParamsError(
            f"{point.point_id}: expected prompt and completion within engine.max_model_len = "
            f"{room} tokens, found up to {prompt} + {completion} = {prompt + completion}; "
            "raise the one or shorten the others"
        )


def _find_highest(length: Length) -> int:
    return length.high if isinstance(length, Distribution) else length
