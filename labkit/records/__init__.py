"""Facts on disk: appended as they happen, documents replaced atomically, nothing overwritten.

This part knows where a run keeps what. It must not know how a fact is measured or what follows
from it.
"""

from labkit.records.documents import read_json, replace_json, replace_text
from labkit.records.find import find_run
from labkit.records.folder import (
    COMPARISON,
    SCHEMA,
    PointRecords,
    RunFolder,
    create_folder,
    list_folders,
    list_runs,
    set_aside,
)
from labkit.records.lines import JsonlWriter, end_torn_line, read_jsonl, read_requests

__all__ = [
    "COMPARISON",
    "SCHEMA",
    "JsonlWriter",
    "PointRecords",
    "RunFolder",
    "create_folder",
    "end_torn_line",
    "find_run",
    "list_folders",
    "list_runs",
    "read_json",
    "read_jsonl",
    "read_requests",
    "replace_json",
    "replace_text",
    "set_aside",
]
