"""Measuring from a notebook: the events kept and shown, a summary left behind however it ends.

It must not know where a run came from nor how it is looked at.
"""

from labkit.held import Running
from labkit.ladder import climb
from labkit.params import load_params
from labkit.progress import Teller, show_in_place
from labkit.records import RunFolder
from labkit.run import measure
from labkit.search import make_decide
from labkit.workbook.summary import write_summary


def measure_run(run: RunFolder, running: Running | None = None) -> None:
    """Measure what a run lacks, or climb its ladder, while its progress is shown.

    An engine that is up may serve its points.
    """
    teller = Teller(run.progress_path, show_in_place())
    try:
        if load_params(run.params_path).climbs:
            climb(run, teller)
        else:
            measure(run, teller, running, make_decide(run))
    except BaseException:
        write_summary(run)
        raise
    finally:
        teller.close()
