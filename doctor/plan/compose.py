"""Reads compose.yml: which image each service starts, and whether it requests a GPU.

Source: the Compose Specification (services: image, build, gpus, runtime,
deploy.resources.reservations.devices).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from doctor.facts import Source
from doctor.findings import Finding, manual
from doctor.plan.hidden import VARIABLES, variable
from doctor.plan.requested import CONCERNS, FileContents, Requested, Service, Unread, unread
from doctor.plan.yaml_lines import Entry, entries, listed
from doctor.values import replace

_DEVICES = ("deploy", "resources", "reservations", "devices")


def compose(lines: Sequence[str]) -> FileContents:
    """Read the services of compose.yml."""
    found: dict[str, Service] = {}
    context: dict[str, str] = {}
    file: dict[str, str] = {}
    missing: list[Unread] = []
    for entry in entries(lines):
        if len(entry.path) < 2 or entry.path[0] != "services":
            continue
        name, inner, value = str(entry.path[1]), entry.path[2:], entry.value
        service = found.setdefault(name, Service(name, entry.line, entry.text))
        if inner == ("image",):
            if "$" in value and CONCERNS.search(value):
                missing.append(unread(entry.line, entry.text))
            image = Requested(
                value.split("@")[0].lower(), "", entry.line, entry.text, manager="docker", word=value
            )
            found[name] = replace(service, image=image)
        elif inner in (("build",), ("build", "context")) and value:
            context[name] = value
        elif inner == ("build", "dockerfile"):
            file[name] = value
            context.setdefault(name, ".")
        elif inner in (("extends",), ("extends", "service")):
            missing.append(
                Unread(
                    entry.line,
                    entry.text,
                    "the settings that the service inherits from another service were not read",
                )
            )
        elif inner[:1] == ("environment",):
            found[name] = replace(service, variables=(*service.variables, *_variables(entry)))
        elif _asks_for_gpu(inner, value):
            found[name] = replace(service, gpu=True)
    for name, folder in context.items():
        if "://" in folder or "$" in folder:
            missing.append(
                Unread(found[name].line, found[name].text, f"the Dockerfile in {folder} was not read")
            )
        else:
            path = posixpath.normpath(posixpath.join(folder, file.get(name, "Dockerfile")))
            found[name] = replace(found[name], dockerfile=path)
    return FileContents(unread=tuple(missing), services=tuple(found.values()))


def _variables(entry: Entry) -> Iterator[Requested]:
    """Yield the variable that an item under `environment` sets. An item without a value takes the value from
    the shell that starts Compose; it is represented by "$"."""
    key = entry.path[3] if len(entry.path) > 3 else ""
    name, given, value = (
        (key, not entry.text.endswith(":"), entry.value)
        if isinstance(key, str)
        else entry.value.partition("=")
    )
    if name in VARIABLES:
        yield variable(name, value if given else "$", entry.line, entry.text)


def _asks_for_gpu(path: tuple[str | int, ...], value: str) -> bool:
    """Whether a value requests a GPU: `gpus: all`, `runtime: nvidia`, or a reserved device with the
    capability gpu."""
    if path[:1] == ("gpus",):
        return True
    if path == ("runtime",):
        return value == "nvidia"
    named = path[:4] == _DEVICES and len(path) > 5 and path[5] == "capabilities"
    return named and bool({"gpu", "nvidia", "compute"} & set(listed(value)))


def without_gpu(service: Service) -> Finding:
    """Make the finding for a service that starts TensorFlow with CUDA but requests no GPU.

    It is a warning, because an image that sets NVIDIA_VISIBLE_DEVICES gets the GPUs without a request if
    Docker's default runtime is nvidia.
    """
    here = service.image or Requested("", "", service.line, service.text)
    return Finding(
        "container-no-gpu",
        "warning",
        f"the service {service.name} does not request a GPU",
        "The service's image is for a GPU, but a container gets a GPU only if the service requests one"
        " (`gpus: all`, or a device under deploy.resources.reservations). If Docker's default runtime is"
        " nvidia, the container may get a GPU anyway.",
        (Source(service.file, here.line, here.text),),
        (),
        (
            manual(
                f"{service.file}: add `gpus: all` to the service {service.name}",
                "for Docker Compose 2.30 and later; for an earlier release, reserve the device under"
                " deploy.resources.reservations.devices with capabilities: [gpu]",
            ),
        ),
        confidence="likely",
    )
