"""What a notebook calls: one function that measures what is missing, and views of what is there.

Everything a notebook shows is made here from the records, so that a notebook stays prose, a call
and a figure. It must not know how a command line is parsed.
"""

from labkit.workbook.ask import ask
from labkit.workbook.bench import Bench, launch
from labkit.workbook.book import Workbook
from labkit.workbook.summary import write_summary

__all__ = ["Bench", "Workbook", "ask", "launch", "write_summary"]
