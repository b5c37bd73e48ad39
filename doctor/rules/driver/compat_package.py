"""cuda-compat-package: a forward-compatibility libcuda that does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import DriverMismatch, Fact, Gpu
from doctor.findings import Finding, Step
from doctor.remedies import commands, containers
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import measured_driver
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.shell import run
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case

CONSUMER = lazy.compile(r"geforce|titan|\bmx\d", re.IGNORECASE)
"""Matches the names of GPUs that are not data-centre GPUs."""


@rule(
    "cuda-compat-package",
    "A forward-compatibility libcuda does not fit this GPU or driver",
    explains=(
        "driver-library-mismatch",
        "driver-not-loaded",
        "driver-too-old",
        "gpu-hidden",
        "gpu-bad-state",
        "gpu-absent",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(
        DriverMismatch,
        "compat-not-supported",
        "cuda-compat-path",
        "cuda-compat-on-path",
        "system-driver-mismatch",
    ),
)
def cuda_compat_package(case: Case) -> Iterator[Finding]:
    """A forward-compatibility libcuda does not fit the GPU or the host's driver.

    ## What it means
    `cuda-compat` packages, and some container images, contain their own libcuda. It works only for
    data-centre GPUs on certain older driver branches. With a newer driver, or on a GeForce card, it fails.

    ## What you see
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804) or CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803) with a `compat`
    folder on LD_LIBRARY_PATH; in a container, a DSO version *older* than the host's kernel module.

    ## What to do
    Remove the compat folder from LD_LIBRARY_PATH (or remove the package), so that the host's libcuda is used;
    or upgrade the driver.
    """
    facts = case.facts
    mismatch = facts.first(DriverMismatch)
    codes: list[Fact] = [*facts.symptoms("compat-not-supported", "system-driver-mismatch")]
    refused = cuinit(case, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")
    if refused is not None:
        codes.append(refused)
    path = facts.symptoms("cuda-compat-path", "cuda-compat-on-path")

    offered = case.driver_cuda.version if case.driver_cuda else None
    own = case.tables.driver_cuda(case.driver.version) if case.driver else None
    lifted = facts.kind == "report" and bool(offered and own and dotted(offered) > dotted(own))
    older = bool(
        mismatch and mismatch.kernel and mismatch.user and dotted(mismatch.user) < dotted(mismatch.kernel)
    )
    # an image's own libcuda has the version of the driver that came with the image's CUDA; a host's libcuda
    # has that version only by chance
    shipped = mismatch.user.strip(".") if mismatch and mismatch.user else ""
    with_cuda = case.tables.driver_cuda(shipped) if shipped else None
    image = bool(with_cuda and case.cuda and dotted(case.cuda.version)[:2] == dotted(with_cuda)[:2])
    # a GeForce card in a container: the image's own libcuda replaced the host's, which only data-centre
    # cards allow
    geforce = case.container and any("geforce" in (g.name or "").lower() for g in case.gpus)
    geforce = geforce and facts.has("compat-not-supported")
    inside = case.container or facts.has("nvidia-docker-path", "mentions-container")
    # a host refuses its own libcuda only between an upgrade and the restart; in a container, the refused
    # libcuda is usually the image's own copy
    brought = inside and facts.kind == "report" and facts.has("compat-not-supported") and not mismatch
    unfit = _unfit(case) if path and facts.kind == "machine" else ""
    if registered(case) or not (
        (path and (codes or mismatch))
        or ((older or image) and inside and containers.runtime(case) not in containers.OF_A_SYSTEM)
        or (lifted and codes)
        or (geforce and codes)
        or brought
        or unfit
    ):
        return
    yield found(
        "cuda-compat-package",
        "The libcuda that this process loads does not belong to the running driver"
        + (
            f" (it has version {mismatch.user}, the kernel module has version {mismatch.kernel})"
            if mismatch and mismatch.user and mismatch.kernel
            else ""
        )
        + ": it comes from a forward-compatibility package or from inside the container image."
        + f" {unfit}".rstrip(),
        [mismatch, *path[:2], *codes[:2], *([case.driver, case.driver_cuda] if lifted else [])],
        confidence="certain" if path or lifted else "likely",
        tables=[branch] if image and (branch := case.tables.driver_branch(shipped)) is not None else [],
        steps=_off_the_path(case),
        verify=commands.list_gpus(case),
    )


def _off_the_path(case: Case) -> list[Step]:
    """The steps that remove the compat folder from the loader's search path: from the variable, or from the
    configuration files of ldconfig."""
    opened = next(iter(case.facts.symptoms("cuda-compat-on-path")), None)
    manager = "dnf" if commands.linux_family(case) == "dnf" else "apt"
    why = (
        "removes the compat folder from the loader's search path; also remove it in the file that sets the"
        " variable"
    )
    variable = commands.off_the_path(case, "compat", why, whole=False)
    package = as_root(
        run("sudo", manager, "remove", "cuda-compat-*"),
        "removes the packages (for an image, leave them out of the Dockerfile)",
    )
    if opened is None or "ld.so" not in opened.source.where:
        return [*variable, package]
    listed = on_linux(
        run("grep", "-rn", "compat", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
        "shows the file and the line that list the folder; delete that line, unless a package owns the file",
    )
    return [package, listed, as_root(run("sudo", "ldconfig"), "rebuilds the loader's cache")]


def _unfit(case: Case) -> str:
    """The reason why the compat folder's libcuda cannot work, judging by its version and the GPUs; "" if it
    may work.

    Source: CUDA Compatibility guide, "Forward Compatibility": this libcuda must be newer than the kernel
    module, and works only on data-centre GPUs.
    """
    facts = case.facts
    if any(s.get("count") != "0" for s in facts.symptoms("cuda-devices")):
        return ""  # this libcuda found a GPU, so it works
    opened = next(iter(facts.symptoms("cuda-compat-on-path")), None)
    kernel = measured_driver(case, "kernel")
    version = opened.get("version") if opened else ""
    if not version or kernel is None or version == kernel.version:
        return ""
    if dotted(version) < dotted(kernel.version):
        return (
            f"The libcuda has version {version}. The kernel module ({kernel.version}) is newer and refuses"
            " it."
        )
    consumer = [gpu for gpu in facts.of(Gpu) if CONSUMER.search(gpu.name or "")]
    if consumer and all(CONSUMER.search(gpu.name or "") for gpu in facts.of(Gpu) if gpu.name):
        return (
            f"The libcuda has version {version}, newer than the kernel module ({kernel.version}). NVIDIA"
            f" allows that only on data-centre GPUs, and {consumer[0].name} is not one."
        )
    return ""
