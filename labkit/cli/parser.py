"""The words that the command line takes, and which function each command leads to.

It must not know what any of them does.
"""

import argparse
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.cli import compare, look, measure, params, runs, share


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; what it returns has the function of the command as `command`."""
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

    run = add(
        "run", measure.run_params, "measure every point of a params file and write the report"
    )
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
    run.add_argument(
        "--reports", type=Path, help="where run folders go; default: reports beside params/"
    )
    run.add_argument("--resume", type=Path, metavar="RUN_DIR", help="measure what it lacks")
    run.add_argument(
        "--aa",
        type=int,
        nargs="?",
        const=10,
        metavar="N",
        dest="repeats_of_one",
        help="measure the first value N times (default: 10), the engine launched anew each time, "
        "and store the noise of its metrics for `labkit compare`",
    )
    run.add_argument("--dry-run", action="store_true", help="print the plan, launch nothing")

    report = add("report", runs.report_run, "rebuild the report of a run from its records")
    report.add_argument("run", metavar="RUN_DIR", help="or a run's id, or latest")
    report.add_argument("--fresh", action="store_true", help="make the notebook again as well")

    listing = add("list", runs.list_all, "list the runs, oldest first")
    listing.add_argument(
        "wanted",
        metavar="FILTER",
        nargs="*",
        help="words that must all be told of a run: its name, engine, model, a setting, a verdict",
    )
    listing.add_argument("--reports", type=Path, help="default: where run puts them")
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for machines")
    form.add_argument("--html", action="store_true", help="rebuild index.html, for a browser")

    export = add("export", share.export_run, "make one archive of a run to share, without secrets")
    export.add_argument("run", metavar="RUN_DIR", help="or a run's id, or latest")
    export.add_argument("--out", type=Path, metavar="FILE", help="default: RUN_ID.zip here")
    export.add_argument("--author", metavar="NAME", help="who is to be cited")
    export.add_argument("--license", metavar="SPDX", help="such as CC-BY-4.0; default: none stated")

    opening = add("import", share.import_run, "check an archive of `labkit export` and open it")
    opening.add_argument("file", type=Path, metavar="FILE")
    opening.add_argument("--reports", type=Path, help="default: where run puts them")

    papers = add("params", params.show_params, "list the params files and what each asks")
    papers.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of a params file, for editors"
    )

    comparing = add(
        "compare",
        compare.compare,
        "compare run B with run A: effect, interval and verdict for each metric",
    )
    diff = add("diff", compare.diff, "list what differs between two runs beside their numbers")
    for command in (comparing, diff):
        for name in ("a", "b"):
            command.add_argument(
                name, metavar=name.upper(), help="a run folder, or enough of a name to find it"
            )
        command.add_argument("--reports", type=Path, help="where names are looked for")
    comparing.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="METRIC=-5%|FILE",
        help="exit with 1 where a metric is worse by more than this beyond doubt, with 3 where "
        "that can't be told; or a YAML file of such lines; may be repeated",
    )
    comparing.add_argument(
        "--effect", default="5%", help="the smallest effect that matters; default: 5%%"
    )
    comparing.add_argument(
        "--anyway", action="store_true", help="compare though more than one thing differs"
    )
    comparing.add_argument("--json", action="store_true", help="print a JSON document instead")
    comparing.add_argument(
        "--report", action="store_true", help="write a notebook and an HTML report as well"
    )

    verify = add("verify", look.verify, "send one request to an endpoint and tell what came back")
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

    add("doctor", look.doctor, "look at this machine: engines, GPU, memory, disk, settings")
    return parser
