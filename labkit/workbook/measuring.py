"""Measuring from a notebook: the events kept and shown, a summary left behind however it ends.

It must not know where a run came from nor how it is looked at.
"""

import contextlib
from typing import Any

from labkit.held import Running
from labkit.ladder import climb
from labkit.params import load_params
from labkit.progress import Teller, show_in_place
from labkit.records import RunFolder
from labkit.run import measure
from labkit.search import make_decide
from labkit.workbook.live import Live
from labkit.workbook.summary import write_summary


def measure_run(run: RunFolder, running: Running | None = None, *, live: bool = False) -> None:
    """Measure what a run lacks, or climb its ladder, while its progress is shown.

    An engine that is up may serve its points. The progress is a line or, where it is `live`, a
    picture of the running point as well.
    """
    teller = Teller(run.progress_path, (lambda line: None) if live else show_in_place())
    try:
        with Live(run) if live else contextlib.nullcontext() as view:

            def tell(event: dict[str, Any]) -> None:
                teller(event)
                if view is not None:
                    view.hear(event)

            if load_params(run.params_path).climbs:
                climb(run, tell)
            else:
                measure(run, tell, running, make_decide(run))
    except BaseException:
        write_summary(run)
        raise
    finally:
        teller.close()
