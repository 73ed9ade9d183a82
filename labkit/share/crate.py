"""The RO-Crate metadata of an archive, which makes it citable: what it is, what made it.

By RO-Crate 1.2 (https://w3id.org/ro/crate/1.2) and its profile Process Run Crate 0.5
(https://w3id.org/ro/wfrun/process/0.5). It must not read a file: it is told what is there.
"""

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.share.names import CRATE, SUMS, name_kind

SPEC = "https://w3id.org/ro/crate/1.2"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
UNLICENSED = "No licence was stated. Ask whoever made this run before you reuse it."


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the archive."""

    name: str
    num_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run says of itself, and who shares it under which licence, where that is said."""

    run_id: str
    manifest: Mapping[str, Any]
    headline: str | None
    engines: tuple[tuple[str, str | None], ...]
    """Kind and version of each engine that answered."""
    author: str | None = None
    license: str | None = None
    """An SPDX identifier, such as CC-BY-4.0."""


def describe_crate(origin: Origin, parts: list[Part]) -> dict[str, Any]:
    """Return ro-crate-metadata.json; the same run gives the same document.

    `datePublished` is when the run ended, since the day of an export would change its bytes.
    """
    manifest = origin.manifest
    name = f"labkit run {origin.run_id}"
    told = origin.headline or "No result was derived yet."
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": PROFILE},
        "name": name,
        "description": f"A measurement of an LLM serving engine made with labkit. {told}",
        "identifier": origin.run_id,
        "datePublished": str(manifest.get("ended_at") or manifest["started_at"]),
        "license": UNLICENSED,
        "keywords": "LLM serving, benchmark, labkit",
        "hasPart": [_refer(part.name) for part in parts] + [_refer(SUMS)],
        "mentions": {"@id": "#run"},
    }
    graph: list[dict[str, Any]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": SPEC},
            "about": {"@id": "./"},
        },
        root,
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
    ]
    if origin.license:
        root["license"] = {"@id": f"https://spdx.org/licenses/{origin.license}"}
        about = f"The licence that SPDX lists as {origin.license}"
        graph.append(
            {
                **root["license"],
                "@type": "CreativeWork",
                "name": origin.license,
                "description": about,
            }
        )
    if origin.author:
        root["author"] = {"@id": "#author"}
        graph.append({"@id": "#author", "@type": "Person", "name": origin.author})
    graph += _describe_software(origin)
    graph.append(_describe_action(origin, parts))
    graph += [_describe_part(part) for part in parts]
    graph.append(
        {
            "@id": SUMS,
            "@type": "File",
            "name": "The SHA-256 of every other file, for `sha256sum --check`",
            "encodingFormat": "text/plain",
        }
    )
    return {"@context": f"{SPEC}/context", "@graph": graph}


def _describe_software(origin: Origin) -> list[dict[str, Any]]:
    packages = (origin.manifest.get("environment") or {}).get("packages") or {}
    labkit: dict[str, Any] = {"@id": "#labkit", "@type": "SoftwareApplication", "name": "labkit"}
    if packages.get("labkit"):
        labkit["softwareVersion"] = str(packages["labkit"])
    found = []
    for number, (kind, version) in enumerate(origin.engines):
        engine = {"@id": f"#engine-{number}", "@type": "SoftwareApplication", "name": kind}
        found.append(engine | ({"softwareVersion": version} if version else {}))
    if found:
        labkit["softwareRequirements"] = [{"@id": one["@id"]} for one in found]
    return [labkit, *found]


def _describe_action(origin: Origin, parts: list[Part]) -> dict[str, Any]:
    manifest = origin.manifest
    ended = manifest["status"] == "completed"
    state = "CompletedActionStatus" if ended else "FailedActionStatus"
    action: dict[str, Any] = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"The measurement {manifest['name']}",
        "instrument": {"@id": "#labkit"},
        "startTime": str(manifest["started_at"]),
        "actionStatus": {"@id": f"http://schema.org/{state}"},
        "object": [_refer(part.name) for part in parts if part.name == "params.yaml"],
        "result": [_refer(part.name) for part in parts if part.name != "params.yaml"],
    }
    if manifest.get("ended_at"):
        action["endTime"] = str(manifest["ended_at"])
    if not ended and manifest.get("error"):
        action["error"] = str(manifest["error"])
    if origin.author:
        action["agent"] = {"@id": "#author"}
    return action


def _describe_part(part: Part) -> dict[str, Any]:
    return {
        **_refer(part.name),
        "@type": "File",
        "name": part.name,
        "encodingFormat": name_kind(part.name),
        "contentSize": str(part.num_bytes),
        "sha256": part.sha256,
    }


def _refer(name: str) -> dict[str, str]:
    return {"@id": urllib.parse.quote(name)}
