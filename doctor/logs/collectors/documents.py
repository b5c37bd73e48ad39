"""Reads JSON from tools that describe an environment: pip inspect, docker inspect, and pip list and conda
list with their JSON options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from doctor.facts import (
    FORM,
    EnvironmentKind,
    EnvVar,
    Fact,
    Facts,
    Package,
    Platform,
    PythonVersion,
    Source,
    Symptom,
    TensorFlowVersion,
    normalised,
)
from doctor.logs.collectors.packages import SYSTEMS, tensorflow_of

_VARIABLES = ("NVIDIA_", "CUDA_", "LD_LIBRARY_PATH", "TF_")
MOST = 5_000
"""At most this many entries of a document are read."""


def read_document(text: str, name: str) -> Facts | None:
    """Return the facts from input that is one JSON document from a collector, or None for any other input."""
    marks = ('"pip_version"', '"HostConfig"', '"build_string"', '"version"')
    if text.lstrip()[:1] not in ("{", "[") or not any(mark in text for mark in marks):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    source = Source(name)
    if isinstance(document, dict) and "pip_version" in document:
        found = list(_pip_inspect(document, source))
    elif (
        isinstance(document, list) and document and all(isinstance(entry, dict) for entry in document[:MOST])
    ):
        listed = all("name" in entry and "version" in entry for entry in document[:MOST])
        found = list(_listed(document, source) if listed else _docker_inspect(document, source))
    else:
        return None
    return Facts(tuple(found), "report", name, text.count("\n") + 1) if found else None


def _distribution(name: object, version: object, source: Source, manager: str) -> Iterator[Fact]:
    if isinstance(name, str) and isinstance(version, str):
        where = Source(source.where, None, f"{name} {version}"[:200])
        yield Package(where, normalised(name), version[:40], manager)
        yield from tensorflow_of(name, version, where)


def _pip_inspect(document: dict[str, Any], source: Source) -> Iterator[Fact]:
    """Yield the facts in the output of pip inspect
    (https://pip.pypa.io/en/stable/reference/inspect-report/)."""
    environment = document.get("environment")
    if isinstance(environment, dict):
        version, system, machine = (
            environment.get(key) for key in ("python_full_version", "sys_platform", "platform_machine")
        )
        where = Source(source.where, None, f"python {version} on {system} {machine}"[:200])
        if isinstance(version, str):
            yield PythonVersion(where, version[:20])
        if system in SYSTEMS:
            yield Platform(where, SYSTEMS[system], machine if isinstance(machine, str) else None)
    installed = document.get("installed")
    for entry in installed[:MOST] if isinstance(installed, list) else ():
        metadata = entry.get("metadata") if isinstance(entry, dict) else None
        if isinstance(metadata, dict):
            yield from _distribution(metadata.get("name"), metadata.get("version"), source, "pip")


def _listed(document: list[dict[str, Any]], source: Source) -> Iterator[Fact]:
    """Yield the facts in the output of pip list --format json or conda list --json."""
    for entry in document[:MOST]:
        conda = "build_string" in entry and entry.get("channel") != "pypi"
        yield from _distribution(entry["name"], entry["version"], source, "conda" if conda else "pip")
        if conda and entry["name"] == "python" and isinstance(entry["version"], str):
            yield PythonVersion(
                Source(source.where, None, f"python {entry['version']}"[:80]), entry["version"][:20]
            )


def _docker_inspect(document: list[dict[str, Any]], source: Source) -> Iterator[Fact]:
    """Yield the facts in the output of docker inspect CONTAINER: whether the container was started with a
    GPU. Source of the fields: api/types/container of Docker Engine."""
    for entry in document[:20]:
        host, config = entry.get("HostConfig"), entry.get("Config")
        if not isinstance(host, dict) or not isinstance(config, dict):
            continue
        yield EnvironmentKind(source, "docker")
        image = str(config.get("Image") or "")[:120]
        release = re.match(r"tensorflow/tensorflow:(\d\.\d{1,2}\.\d{1,2})(?![\d.])", image)
        if release:
            yield TensorFlowVersion(Source(source.where, None, image), release[1], rank=FORM)
        variables = config.get("Env")
        for variable in variables[:200] if isinstance(variables, list) else ():
            name, equals, value = str(variable).partition("=")
            if equals and name.startswith(_VARIABLES):
                yield EnvVar(Source(source.where, None, f"{name}={value}"[:200]), name[:80], value[:2000])
        devices = str(host.get("Devices") or "")
        given = "nvidia" in devices or "gpu" in str(host.get("DeviceRequests") or "").lower()
        if not given and str(host.get("Runtime") or "").startswith("runc") and not host.get("Privileged"):
            text = f"Runtime {host.get('Runtime')}, no DeviceRequests, no NVIDIA Devices (image {image})"
            yield Symptom(Source(source.where, None, text[:300]), "gpu-flag-said")
