"""wsl-driver: Linux programs in WSL2 cannot reach the Windows driver."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from doctor.case.visible_devices import hides
from doctor.facts import MEASURED
from doctor.findings import Finding, shell
from doctor.remedies import commands, driver
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import by_plain_name, no_driver_signs, no_libcuda
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.registry import found, rule
from doctor.shell import run
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "wsl-driver",
    "Linux programs in WSL2 cannot reach the Windows driver",
    explains=(
        "driver-missing",
        "driver-not-loaded",
        "gpu-absent",
        "driver-libcuda-missing",
        "driver-library-mismatch",
        "gpu-bad-state",
        *NO_TENSORFLOW_GPU,
    ),
    needs=("on-wsl",),
)
def wsl_driver(case: Case) -> Iterator[Finding]:
    """Linux programs in WSL2 cannot reach the Windows driver.

    ## What it means
    Inside WSL2, the Windows driver drives the GPU; its libcuda is mounted at /usr/lib/wsl/lib. A Linux driver
    that is installed inside WSL hides this libcuda and cannot work. Without the mount, in WSL 1, or with an
    old Windows driver, there is no libcuda to load.

    ## What you see
    In WSL, `cuInit` fails with NO_DEVICE, NOT_FOUND or 303; `kernel driver does not appear to be running on
    this host (DESKTOP-…)`; nvidia-smi cannot reach the driver or prints `GPU access blocked by the operating
    system`.

    ## What to do
    Remove Linux NVIDIA driver packages from WSL, install the current driver on Windows, then run `wsl
    --update` and `wsl --shutdown`.
    """
    facts = case.facts
    if case.platform != "wsl" or registered(case):
        return
    seen = facts.symptoms(
        "wsl1", "wsl-no-windows-driver", "wsl-linux-driver", "wsl-library-not-searched", "wsl-blocked"
    )
    # the error of a libcuda that does not belong to this Windows driver, as in containers
    foreign = cuinit(case, "CUDA_ERROR_NOT_FOUND")
    if facts.kind == "machine" and case.container and not seen:
        return  # the container's runtime has to pass in what is missing
    variable = case.env.get("CUDA_VISIBLE_DEVICES")
    if variable is not None and hides(variable.value) and not seen and cuinit(case, "CUDA_ERROR_NO_DEVICE"):
        return  # the variable alone explains this error
    signs = [*seen, *([foreign] if foreign else []), *no_driver_signs(case)]
    down = (
        seen
        or cuinit(case)
        or no_libcuda(case)
        or facts.has("smi-no-driver", "wsl-no-adapter", "smi-not-found")
        or facts.absent("libcuda")
        or facts.absent("nvidia driver")
    )
    wsl = case.platform_fact
    plain = by_plain_name(case)
    if plain and not down and set(signs) <= set(plain):
        yield found(
            "wsl-driver",
            "TensorFlow opens libcuda.so.1, but cuDNN 8 and some other programs look for libcuda.so, without"
            " a number. In WSL2, this file exists only in /usr/lib/wsl/lib, and the loader does not search"
            " that folder for it.",
            [*plain[:2], wsl],
            confidence="likely",
            title="The loader does not find libcuda.so in WSL2",
            steps=commands.wsl_library_path(case),
            verify=commands.run_python(case, "import ctypes; print(ctypes.CDLL('libcuda.so'))"),
        )
        return
    if not signs or not down:
        return
    finding = partial(
        found,
        "wsl-driver",
        evidence=[*signs[:4], wsl],
        confidence="certain" if wsl is not None and wsl.rank == MEASURED else "likely",
        verify=run("nvidia-smi"),
    )
    if facts.has("wsl1"):
        yield finding(
            "This is WSL 1, in which Linux programs cannot use the GPU. In WSL 2, they can (on Windows 11, or"
            " Windows 10 from 21H2 on).",
            title="WSL 1 cannot use the GPU",
            steps=[
                shell(
                    run("wsl", "-l", "-v"),
                    "in PowerShell on Windows: lists the distributions, and whether they use WSL 1 or 2",
                    platform="windows",
                ),
                shell(
                    run("wsl", "--set-version", "Ubuntu", "2"),
                    "converts the distribution Ubuntu, with its contents, to WSL 2; for another distribution,"
                    " use its name in that list",
                    platform="windows",
                ),
                *commands.driver_install(case),
            ],
        )
        return
    old = [c for c in case.capabilities if dotted(c) < (6, 0)]
    yield finding(
        "In WSL, only the Windows driver can drive the GPU, but Linux programs cannot reach that driver."
        + "".join(
            f" WSL2 supports GPUs from Pascal on (compute capability 6.0); this GPU has {c}." for c in old[:1]
        ),
        steps=[
            shell(
                run("ls", "-l", "/usr/lib/wsl/lib/libcuda.so.1"),
                "shows whether the file exists, which comes from the Windows driver",
                platform="wsl",
            ),
            shell(
                run("sudo", "apt", "remove", "--purge", driver.PACKAGES),
                "removes Linux drivers that hide that file, and keeps NVIDIA's container toolkit",
                platform="wsl",
                root=True,
            ),
            *commands.driver_install(case),
            shell(
                run("wsl", "--update"),
                "in PowerShell on Windows: installs the newest WSL kernel",
                platform="windows",
            ),
            shell(
                run("wsl", "--shutdown"),
                "in PowerShell on Windows: shuts WSL down; it starts again when you next open it",
                platform="windows",
            ),
        ],
    )
