"""`reports/index.html`: all runs of a folder on one offline page, rebuilt from their documents."""

from labkit.index.page import INDEX, write_index

__all__ = ["INDEX", "write_index"]
