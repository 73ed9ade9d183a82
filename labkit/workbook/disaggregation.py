"""What the notebook `disaggregation` shows beside every other: the plan, its check, its inputs.

It must not know how a plan is made.
"""

from IPython.display import display

from labkit.report.figures.disaggregation import plot_plan
from labkit.report.figures.disaggregation_check import plot_check, plot_inputs
from labkit.workbook.book import Workbook


def show_plan(book: Workbook) -> None:
    """Show the rate of every split of the devices, beside devices that do both."""
    display(plot_plan(book.summary))


def show_check(book: Workbook) -> None:
    """Show what the model predicts for the one engine beside what was measured, and its inputs."""
    display(plot_check(book.summary))
    display(plot_inputs(book.summary))
