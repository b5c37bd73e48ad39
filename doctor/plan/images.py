"""Judges a Dockerfile's base image: the system that its tag describes, and the TensorFlow release that it
contains."""

from __future__ import annotations

from collections.abc import Sequence

from doctor import lazy
from doctor.facts import (
    Absent,
    DriverCuda,
    DriverVersion,
    Fact,
    Facts,
    Gpu,
    GpuMemory,
    OperatingSystem,
    Platform,
    Source,
    Symptom,
)
from doctor.findings import Finding
from doctor.plan.context import PlanContext
from doctor.plan.edits import image_replaced
from doctor.plan.obstacles import code_and_title
from doctor.plan.requested import FileContents, Requested, Unread
from doctor.plan.specifiers import together
from doctor.plan.trial import image_of, image_rows, try_route
from doctor.plan.version_request import VersionRequest
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import order
from doctor.tables.versions import minor
from doctor.values import replace

OFFICIAL = lazy.compile(r"(?:^|/)tensorflow/tensorflow(?::(?P<tag>\S{1,200}))?$")
_VERSION = lazy.compile(r"(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)(?:-|$)")
_NVIDIA = lazy.compile(r"(?:^|/)nvidia/(?:l4t-)?tensorflow")
_SYSTEM = lazy.compile(
    r"(?P<name>ubuntu|debian|rockylinux|ubi|almalinux|centos|fedora"
    r"|amazonlinux)[:-]?(?P<version>\d+(?:\.\d+)?)"
)
_CODENAMES = {
    "bookworm": "Debian 12",
    "bullseye": "Debian 11",
    "buster": "Debian 10",
    "trixie": "Debian 13",
    "noble": "Ubuntu 24.04",
    "jammy": "Ubuntu 22.04",
    "focal": "Ubuntu 20.04",
    "bionic": "Ubuntu 18.04",
}
_FAMILIES = {
    "rockylinux": "Rocky Linux",
    "ubi": "Red Hat Enterprise Linux",
    "almalinux": "AlmaLinux",
    "centos": "CentOS",
}
_OF_THE_HOST = (Gpu, GpuMemory, DriverVersion, DriverCuda, Absent)


def context_in(image: Requested, context: PlanContext, name: str) -> PlanContext:
    """Return the context inside the image: the machine's GPU and driver, and the image's system."""
    source = image.source(name)
    host = context.facts.first(Platform)
    system = "wsl" if context.kind in ("windows", "wsl") else "linux"
    facts: list[Fact] = [Platform(source, system, host.machine if host else "x86_64")]
    facts += [fact for fact in context.facts if isinstance(fact, _OF_THE_HOST)]
    tag = image.name.replace("/", " ")
    found = _SYSTEM.search(tag)
    codename = next((value for word, value in _CODENAMES.items() if word in tag), None)
    if found:
        facts.append(
            OperatingSystem(
                source, f"{_FAMILIES.get(found['name'], found['name'].capitalize())} {found['version']}"
            )
        )
    elif codename:
        facts.append(OperatingSystem(source, codename))
    elif "alpine" in tag:
        facts.append(Symptom(source, "musl-libc"))
    return replace(context, facts=Facts(tuple(facts), context.facts.kind, context.facts.name))


def release_in(image: Requested, context: PlanContext) -> TensorFlowRelease | None:
    """Return the TensorFlow release in an official image, or None for other images and for tags that contain
    no release. The release must be built with CUDA unless a plan for the CPU was requested."""
    match = OFFICIAL.search(image.name)
    version = _VERSION.match(match["tag"] or "") if match else None
    if match is None or version is None or not (context.version_request.cpu or "-gpu" in match["tag"]):
        return None
    build = context.tables.tensorflow(version[1])
    if build is None or build.version != version[1]:
        return None
    return build if context.version_request.cpu or build.gpu else None


def python_in(image: Requested, context: PlanContext) -> Requested | None:
    """Return the Python version of an image, or the versions that are possible for an official image: those
    for which the TensorFlow release in its tag has wheels. None if nothing is known."""
    specifier = f"=={context.python}.*" if context.python else ""
    match = OFFICIAL.search(image.name)
    version = _VERSION.match(match["tag"] or "") if match else None
    build = context.tables.tensorflow(version[1]) if version and not specifier else None
    if version and build is not None and build.version == version[1] and build.pythons:
        major, last = build.pythons[-1].split(".")
        specifier = f">={build.pythons[0]},<{major}.{int(last) + 1}"
    return Requested("python", specifier, image.line, image.text, manager="docker") if specifier else None


def python_left_open(
    wanted: FileContents, releases: Sequence[TensorFlowRelease], context: PlanContext
) -> list[Unread]:
    """Return the FROM line of an official image if some of its possible Python versions have no wheel of the
    releases that another line allows."""
    image, python = wanted.image, wanted.python
    if image is None or python is None or not python.specifier.startswith(">") or context.python:
        return []
    fit = {one for build in releases for one in build.pythons}
    known = {one for build in context.releases for one in build.pythons} - fit
    without = sorted((one for one in known if together(python.specifier, f"=={one}.*")), key=dotted)
    if not without:
        return []
    shown = " or ".join(without)
    return [image.unread(f"the image's Python is not known, and TensorFlow has no wheel for Python {shown}")]


def request_of(image: Requested, context: PlanContext, name: str) -> VersionRequest | None:
    """Make a request for the TensorFlow release in an official image. Return None if the tables do not
    contain that release."""
    build = release_in(image, context)
    if build is None:
        return None
    return VersionRequest(
        f"=={build.version}", source=name, line=image.line, text=image.text, cpu=context.version_request.cpu
    )


def judged_image(image: Requested, context: PlanContext, name: str) -> tuple[list[Finding], list[Unread]]:
    """Return the findings about the TensorFlow release that the image itself contains, and the lines that
    could not be judged. This is for Dockerfiles in which no RUN installs TensorFlow."""
    match = OFFICIAL.search(image.name)
    here = image.source(name)
    if match is None:
        if _NVIDIA.search(image.name):
            return [], [image.unread("NVIDIA's own builds of TensorFlow are not in the tables")]
        return [], []
    tag = match["tag"] or "latest"
    if context.version_request.cpu:
        if release_in(image, context) is not None:
            return [], []
        why = "the image's tag names no TensorFlow release that is in the tables"
        return [], [image.unread(why)]
    if "gpu" not in tag:
        return [_without_cuda(image, tag, here, context, name)], []
    build = release_in(image, context)
    if build is None or image_of(build, context.tables) is None:
        why = f"the tables do not show whether the TensorFlow in {image.name} finds its CUDA libraries"
        return [], [image.unread(why)]
    _, refusal = try_route(build, "docker", context, context.platform, context.side)
    found = []
    for aspect, answer in refusal.answers if refusal else ():
        code, title = code_and_title(aspect, build, answer, context)
        found.append(
            Finding(code, "error", title, f"{answer.reason}.", (here, context.evidence(aspect)), answer.refs)
        )
    return found, []


def _without_cuda(image: Requested, tag: str, here: Source, context: PlanContext, name: str) -> Finding:
    """Make the finding that an official image has no CUDA, with the image of the same release that has it."""
    version = _VERSION.match(tag)
    rows = image_rows(context.tables)
    same = tuple(row for row in rows if version and minor(row["version"]) == minor(version[1]))
    row = max(same or rows, key=lambda r: order(r["version"]), default=None)
    cure = (image_replaced(image, row["image"], name, f"in place of: {image.text}"),) if row else ()
    return Finding(
        "tf-cpu-only",
        "error",
        f"the image {image.name} does not contain CUDA",
        "Official images with CUDA have gpu in their tag; the other images contain TensorFlow without the"
        " CUDA libraries.",
        (here,),
        (f"{row['image']}, from {row['source']}",) if row else (),
        cure,
    )
