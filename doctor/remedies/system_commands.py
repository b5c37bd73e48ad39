"""Commands and steps that few cases need: for the driver, the loader's search path and the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.remedies import code, driver, environments
from doctor.remedies.commands import pip
from doctor.shell import Command, Export, Joined, Line, Literal, Output, piped, run, sequence

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


def uninstall_tensorflow(case: Case) -> Command:
    """The command that removes every TensorFlow distribution that installs the folder `tensorflow`."""
    names = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tf-nightly")
    return pip(case, "uninstall", "-y", *names)


def linux_family(case: Case) -> str:
    """The package manager of the case's distribution: apt, dnf, zypper or pacman; "" if it is not known."""
    return driver.family(case.os.name) if case.os else ""


def driver_install(
    case: Case,
    release: TensorFlowRelease | None = None,
    *,
    minimum: str | None = None,
    replacing: bool = False,
) -> list[Step]:
    """Steps that install or upgrade the NVIDIA driver; they need an administrator and a restart.

    release: the TensorFlow release that must run on the driver, by default the build in use; if neither is
    known, the steps install the newest driver that supports the GPUs. minimum: the oldest driver that cures
    the fault, by default the oldest driver on which the release runs; "" if that driver is unknown.
    replacing: the installed driver is too new for the GPUs, and the steps remove it first.
    """
    from doctor import compat
    from doctor.tables import DriverFloor

    build = release or case.build
    side = case.platform if case.platform in ("windows", "wsl") else "linux"
    if minimum is None and build is not None and build.gpu:
        floor = compat.driver_minimum(build, case.tables, side, case.capabilities).rows[-1]
        minimum = floor.driver if isinstance(floor, DriverFloor) else ""
    last = last_branch(case)
    return driver.install(
        case.platform or "linux",
        case.os.name if case.os else "",
        linux_family(case),
        minimum=minimum or "",
        last=last,
        newer=case.driver.version if replacing and last and case.driver is not None else "",
    )


def last_branch(case: Case) -> str:
    """The last driver branch that supports all of the case's GPUs ("580"); "" if there is none yet."""
    rows = (case.tables.architecture(capability) for capability in case.capabilities)
    return min((row.last_driver for row in rows if row and row.last_driver), key=int, default="")


def memory(case: Case) -> Line:
    """The command that shows how much memory the host has, and how much is free."""
    if case.platform == "windows":
        return piped(run("systeminfo"), run("findstr", "Memory"))
    return run("free", "-h")


def present(case: Case) -> str:
    """The pip requirement for the TensorFlow package in use, with its version if known."""
    return case.build.requirement if case.build is not None else "tensorflow"


def growth_variable(case: Case, version: str | None, why: str) -> list[Step]:
    """The step that sets memory growth with an environment variable; [] for a release that does not read that
    variable."""
    if not code.has_growth_variable(version):
        return []
    name = "TF_FORCE_GPU_ALLOW_GROWTH"
    return [shell(Export(name, "true"), why + in_powershell(case, name, "true"))]


def in_powershell(case: Case, name: str, value: str) -> str:
    """A clause to append to the explanation of a command that sets an environment variable, for Windows,
    where `set NAME=VALUE` sets it only in cmd; else ""."""
    return f" (in PowerShell: $env:{name} = '{value}')" if case.platform == "windows" else ""


def reload_driver() -> list[Step]:
    """Steps after which the driver's kernel module and its libraries have the same version again."""
    return [
        driver.as_root(run("sudo", "reboot"), "loads the kernel module of the installed version"),
        shell(
            sequence(run("cat", "/proc/driver/nvidia/version"), run("nvidia-smi")),
            "shows two versions, which must be the same",
            platform="linux",
        ),
    ]


def loader_path_without(word: str, *, whole: bool = False) -> Export:
    """The command that removes folders from LD_LIBRARY_PATH in this shell. word: a part of the folders'
    names, or with `whole` the exact name of a folder."""
    each = piped(
        run("printf", "%s", Literal('"$LD_LIBRARY_PATH"')),
        run("tr", ":", Literal("'\\n'")),
        run("grep", "-vxF" if whole else "-v", word),
        run("paste", "-sd:", "-"),
    )
    return Export("LD_LIBRARY_PATH", Output(each))


def wsl_library_path(case: Case) -> list[Step]:
    """Steps after which the loader searches the folder in which WSL2 keeps the driver's libraries, also for
    the plain name libcuda.so: in this shell, and whenever the conda environment in use is activated."""
    folder = "/usr/lib/wsl/lib"
    now = Export("LD_LIBRARY_PATH", Joined((folder, Literal("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"))))
    why = "in this shell, the loader then searches the folder with the driver's libcuda"
    steps = [shell(now, why, platform="wsl")]
    if "conda" in case.environments:
        return [*steps, environments.at_activation(folder, "wsl", name="wsl-driver")]
    return [*steps, manual("Add the same line to ~/.bashrc", "makes the change permanent", platform="wsl")]


def off_the_path(case: Case, word: str, why: str = "", *, whole: bool = True) -> list[Step]:
    """Steps that remove folders from LD_LIBRARY_PATH: in this shell, and in the file that sets the variable,
    if that file is known. word: the exact name of a folder, or a part of the names if not `whole`."""
    why = why or f"in this shell, the loader then no longer searches {word} first"
    steps = [shell(loader_path_without(word, whole=whole), why, platform="linux")]
    variable = case.env.get("LD_LIBRARY_PATH")
    if case.facts.kind == "machine" and variable is not None and variable.source.where.startswith("/"):
        steps.append(
            manual(
                "Delete the same folders from the line that sets LD_LIBRARY_PATH in"
                f" {variable.source}, then start the program again"
            )
        )
    return steps
