"""labkit: a reproducible experiment workbook for LLM serving engines."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("labkit")
except PackageNotFoundError:
    __version__ = "0+unknown"
