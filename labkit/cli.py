"""The command line: reads words, calls what does the work, prints one line for a mistake.

It must not measure, derive or draw anything itself.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from labkit import __version__
from labkit.errors import LabkitError, ParamsError, RecordsError
from labkit.listing import describe_run
from labkit.params import load_params
from labkit.records import RunFolder, list_runs, read_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 good, 1 something failed, 2 a wrong request."""
    _open_missing_streams()
    parser = _make_parser()
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _interrupt)
    # jsonschema, which nbformat imports, builds a grammar if it finds this package. That takes
    # seconds, and no notebook asks for the format it is for.
    sys.modules.setdefault("rfc3987_syntax", ModuleType("rfc3987_syntax"))
    try:
        return int(chosen.command(chosen))
    except LabkitError as error:
        _complain(" ".join(str(error).split()))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted; what was measured is kept")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        told = (error.strerror or str(error)).lower()
        _complain(
            f"expected to read and write files, found: {told}{where}; what was measured is kept"
        )
        return 1


def _open_missing_streams() -> None:
    """Open the null device where stdin, stdout or stderr is closed.

    Else the next files that are opened take their numbers, and children write into these.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # of a terminal that is gone, which is why this ended
        print(f"labkit: {text}", file=sys.stderr)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="labkit",
        description="Measure what an LLM serving engine's settings do, one variable at a time.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"labkit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, does: Any, told: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=told, description=told, allow_abbrev=False)
        command.set_defaults(command=does)
        return command

    run = add("run", _run, "measure every point of a params file and write the report")
    run.add_argument("params", metavar="PARAMS.yaml")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="a.b=VALUE",
        dest="overrides",
        help="put a value, in YAML, in the place of the file's, such as engine.max_num_seqs=8; "
        "may be repeated",
    )
    run.add_argument("--reports", type=Path, help="where run folders go; default: reports")
    run.add_argument("--resume", type=Path, metavar="RUN_DIR", help="measure what it lacks")
    run.add_argument("--dry-run", action="store_true", help="print the plan, launch nothing")

    report = add("report", _report, "rebuild the report of a run from its records")
    report.add_argument("run", type=Path, metavar="RUN_DIR")
    report.add_argument("--fresh", action="store_true", help="make the notebook again as well")

    listing = add("list", _list, "list the runs, oldest first")
    listing.add_argument("--reports", type=Path, help="default: reports")

    verify = add("verify", _verify, "send one request to an endpoint and tell what came back")
    verify.add_argument(
        "base_url",
        metavar="URL",
        nargs="?",
        help="default: OPENAI_BASE_URL or TAOTOKEN_BASE_URL, else the default provider",
    )
    verify.add_argument("--model", help="default: the only one that it serves")
    verify.add_argument("--api-key-env", metavar="NAME", help="variable that holds the key")
    verify.add_argument("--provider", metavar="NAME", help="one of the providers file")
    verify.add_argument(
        "--providers-file",
        type=Path,
        metavar="PATH",
        help="default: what LABKIT_PROVIDERS names, or providers.yaml here",
    )

    add("doctor", _doctor, "look at this machine: engines, GPU, memory, disk, settings")
    return parser


def _run(chosen: argparse.Namespace) -> int:
    from labkit.request import (  # slow, unlike --help
        check_request,
        create_run,
        explain_launches,
        list_unchecked,
    )
    from labkit.workbook import find_home, find_place

    params = load_params(find_place(chosen.params), chosen.overrides)
    reports = chosen.reports or find_home() / "reports"
    if chosen.resume is not None:
        run = RunFolder.open(chosen.resume)
        if load_params(run.params_path).digest() != params.digest():
            raise ParamsError(
                f"expected the params that {run.path} was begun with, found others; "
                f"use {run.params_path}, or start a new run"
            )
        run.settle()
    plan = check_request(params, reports, dry_run=chosen.dry_run)
    if chosen.dry_run:
        if chosen.resume is not None:
            plan = [point for point in plan if not run.is_measured(point.point_id)]
        for point in plan:
            print(f"{point.point_id}: {point.variable} = {point.value}, repeat {point.repeat}")
        print("\nengines, each launched for the points from the one named on:")
        for line in explain_launches(plan):
            print(line)
        for line in list_unchecked(plan):
            print(line)
        return 0
    if chosen.resume is None:
        run = create_run(params, plan, reports)
    return _measure_and_report(run)


def _measure_and_report(run: RunFolder) -> int:
    from labkit.progress import Follower
    from labkit.publish import make_notebook, write_report

    print(f"run folder: {_show(run.path)}", file=sys.stderr)
    try:
        with Follower(run.progress_path):
            make_notebook(run, measuring=True)
    except (LabkitError, KeyboardInterrupt) as error:
        done = run.count_measured()
        _complain(
            f"{run.manifest()['status']}: {done} of {len(run.manifest()['plan'])} points "
            f"are measured and kept; go on with: labkit run {_show(run.params_path)} "
            f"--resume {_show(run.path)}"
        )
        if isinstance(error, LabkitError):
            raise
        return 1
    print(f"report: {_show(write_report(run))}")
    return _judge(run)


def _judge(run: RunFolder) -> int:
    summary = read_json(run.summary_path)
    planned = len(run.manifest()["plan"])
    bad = [row for row in summary["points"] if row["validity"] == "INVALID"]
    for row in bad:
        reasons = "; ".join(row.get("validity_reasons") or ["no reason recorded"])
        print(f"labkit: {row['point_id']} is INVALID: {reasons}", file=sys.stderr)
    return 1 if bad or len(summary["points"]) < planned else 0


def _report(chosen: argparse.Namespace) -> int:
    from labkit.publish import write_report

    run = RunFolder.open(chosen.run)
    run.settle()
    print(f"report: {_show(write_report(run, fresh=chosen.fresh))}")
    return 0


def _list(chosen: argparse.Namespace) -> int:
    reports = chosen.reports or Path("reports")
    if chosen.reports is not None and not reports.is_dir():
        raise RecordsError(f"expected a folder of runs at {reports}, found none; name another")
    runs = list_runs(reports)
    if not runs:
        print(f"no runs in {reports}; `labkit run params/quickstart.yaml` makes one")
    for run in runs:
        print(f"{_show(run.path)}  {describe_run(run)}")
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    from labkit.address import find_asked, read_key, tell_source
    from labkit.client.verify import verify_endpoint

    if chosen.base_url is None:
        if chosen.api_key_env:
            raise ParamsError("expected a URL with --api-key-env, found none; give it")
        place = find_asked(chosen.provider, chosen.providers_file)
        print(f"taken from:     {place.told_by}")
        base_url, model, key = place.base_url, chosen.model or place.model, place.read_key()
        key_place: str | None = place.told_by
    elif chosen.provider or chosen.providers_file:
        raise ParamsError("expected a URL or --provider, found both; leave one out")
    else:
        base_url, model = chosen.base_url, chosen.model
        key, key_place = read_key(chosen.api_key_env), tell_source(chosen.api_key_env)
    found = verify_endpoint(base_url, model=model, api_key=key, key_place=key_place)
    print(f"endpoint:       {found.base_url}")
    print(f"model:          {found.model}")
    print(f"text:           {found.text!r}")
    print(f"finish reason:  {found.finish_reason}")
    print(
        f"usage:          {found.prompt_tokens} prompt tokens, "
        f"{found.completion_tokens} completion tokens"
    )
    print(f"latency:        {found.latency_s:.3f} s")
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    from labkit.doctor import diagnose

    checks = diagnose()
    for check in checks:
        print(f"{check.status:<5} {check.name:<14} {check.text}")
        if check.fix:
            print(f"{'':<20} -> {check.fix}")
    return 1 if any(check.status == "fail" for check in checks) else 0


def _show(path: Path) -> str:
    full = path.resolve()
    return str(full.relative_to(Path.cwd())) if full.is_relative_to(Path.cwd()) else str(full)
