"""What the notebook on the SLO shows beside the findings: the load against the SLO, and tasks.

It must not know how anything is measured.
"""

from IPython.display import display

from labkit.analysis.capacity import find_capacities
from labkit.analysis.tasks import find_tasks
from labkit.report.figures.capacity import plot_goodput, plot_latency_by_load
from labkit.report.figures.tasks import plot_tasks
from labkit.workbook.book import Workbook


def show_load(book: Workbook) -> None:
    """Show for every sweep of the load the goodput and the latencies, with SLO and knee."""
    for capacity in find_capacities(book.summary):
        display(plot_goodput(book.summary, capacity))
        display(plot_latency_by_load(book.summary, capacity))


def show_tasks(book: Workbook) -> None:
    """Show what tasks take and how many keep the SLO, by their number of calls."""
    for tasks in find_tasks(book.summary).values():
        display(plot_tasks(tasks))
