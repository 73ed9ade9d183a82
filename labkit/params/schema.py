"""The JSON Schema of a params file, for editors that complete and check it while it is written.

It follows from the models, so it can't lag behind them; what a model checks across fields (a key
that belongs to one kind of engine, say) only `labkit run` tells. It must not read a params file.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from labkit.params.experiment import LADDER, Params
from labkit.params.read import list_paths
from labkit.params.section import Section
from labkit.params.workload import WORKLOADS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MOVED = ("engine.", "workload.", "load.")
"""What a sweep may move."""


class _Untitled(GenerateJsonSchema):
    """Without a title a field, which would say its name once more."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a params file as it may be written.

    The texts below the fields of the models stand as `description`; a sweep is a mapping or a list
    of them; a workload that doesn't say its kind is synthetic.
    """
    schema = Params.model_json_schema(schema_generator=_Untitled)
    parts = schema["$defs"]
    sections = {section.__name__: section for section in _walk_sections(Section)}
    for name, part in (*parts.items(), ("Params", schema)):
        if name in sections:
            _describe(part, sections[name])
    sweep = schema["properties"]["sweep"]
    several = {key: sweep.pop(key) for key in ("items", "type")}
    sweep["anyOf"] = [several["items"], several]
    variable = parts["SweepParams"]["properties"]["variable"]
    known = [path for path in list_paths() if path.startswith(MOVED)]
    variable["anyOf"] = [{"enum": known}, {"type": variable.pop("type")}]
    parts["SweepParams"]["required"].remove("values")
    parts["SweepParams"]["anyOf"] = [{"required": ["values"]}, {"required": ["search"]}]
    for kind, section in WORKLOADS.items():
        parts[section.__name__]["title"] = f"workload of kind {kind}"
    places = {kind: f"#/$defs/{section.__name__}" for kind, section in WORKLOADS.items()}
    workload = schema["properties"]["workload"]
    workload["discriminator"] = {"propertyName": "kind", "mapping": places}
    schema["if"] = {"properties": {"notebook": {"const": LADDER}}, "required": ["notebook"]}
    schema["else"] = {"required": ["sweep"], "properties": {"sweep": {"minItems": 1}}}
    schema["title"] = "labkit params"
    return {"$schema": DIALECT, **schema}


def dump_schema() -> str:
    """Return the schema as JSON text, the same for the same models."""
    return json.dumps(make_schema(), indent=2, ensure_ascii=False)


def _walk_sections(section: type[Section]) -> Iterator[type[Section]]:
    yield section
    for one in section.__subclasses__():
        yield from _walk_sections(one)


def _describe(part: dict[str, Any], section: type[Section]) -> None:
    """Put the texts below the fields of a section, its own before inherited ones, into its part."""
    for owner in reversed(section.__mro__):
        if not issubclass(owner, Section) or owner is Section:
            continue
        for name, text in _read_texts(owner):
            part["properties"][name]["description"] = text


def _read_texts(section: type[Section]) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for every field of a class that has a text below it, in one line."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(body, ast.ClassDef)
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            yield field.target.id, " ".join(below.value.value.split())
