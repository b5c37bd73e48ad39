"""Commands for the user to paste, correct for the case's platform and for what pip can install there.

In: a `Case` (everything known about the machine or the report) and the tables. Out: steps. Pins come from the
tables; a command that needs an administrator is marked, and the tool never runs it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Step, manual, shell
from doctor.remedies import code, driver, environments
from doctor.shell import Command, Export, Joined, Line, Literal, Output, Path, Word, piped, run, sequence
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


ELSEWHERE = lazy.compile(r"; found by (?!PATH$|\$)|--python$")
"""Matches the source text of a Python interpreter that doctor.probe.interpreter found but that no shell
starts by its name."""


def python_command(case: Case) -> tuple[Word, ...]:
    """The command, as words, that starts Python on the case's platform; the interpreter's path if neither
    PATH nor an activated environment leads to it."""
    python = case.python
    if python is not None and python.executable and ELSEWHERE.search(python.source.text):
        return (Path(python.executable),)
    return ("python",) if case.platform == "windows" or "conda" in case.environments else ("python3",)


def python_words(case: Case) -> list[str]:
    """The command that starts Python on the case's platform, as text for an instruction."""
    return [word for word in python_command(case) if isinstance(word, str)] or ["python3"]


def run_python(case: Case, line: str, python: Sequence[Word] = ()) -> Command:
    """A command that runs one line of Python. python: the words that start the Python interpreter; by
    default, the one of the case."""
    return run(*(python or python_command(case)), "-c", line)


def pip(case: Case, *arguments: Word) -> Command:
    """A command that runs pip with the case's Python."""
    return run(*python_command(case), "-m", "pip", *arguments)


def uninstall_tensorflow(case: Case) -> Command:
    """The command that removes every TensorFlow distribution that installs the folder `tensorflow`."""
    names = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tf-nightly")
    return pip(case, "uninstall", "-y", *names)


def list_gpus(case: Case) -> Command:
    """The command that shows which GPUs TensorFlow registered."""
    return run_python(case, code.list_gpus(case.api))


def convolution(case: Case) -> Command:
    """The command that makes TensorFlow create its cuDNN handle."""
    return run_python(case, code.convolution(case.api))


def product(case: Case) -> Command:
    """The command that makes TensorFlow create its cuBLAS handle."""
    return run_python(case, code.product(case.api))


def program(case: Case, python: Sequence[Word] = ()) -> Command:
    """The command that starts the user's program: the check of a cure that only this program shows, such as
    that of a single op. The user replaces the file's name. python: as for `run_python`."""
    return run(*(python or python_command(case)), "program.py")


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
            "both must show the same version",
            platform="linux",
        ),
    ]


def minor(version: str) -> str | None:
    """The first two numbers of a version ("3.11"); None if it does not begin with two numbers."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else None


def python_minor(case: Case) -> str | None:
    """The first two numbers of the case's Python version ("3.11"); None if the version is unknown."""
    return minor(case.python.version) if case.python is not None else None


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


def tell_more(case: Case) -> list[Step]:
    """Steps that print the information that the report lacks about the driver, the GPUs, TensorFlow and its
    libraries."""
    from doctor.facts import Fact, GpuRegistered, LibraryLoaded, LibraryNotLoaded, TensorFlowBuild

    facts = case.facts
    missing: list[Step] = []
    lacking = [what for what, known in (("driver", case.driver), ("GPUs", case.gpus)) if not known]
    if lacking:
        missing.append(shell(run("nvidia-smi"), f"shows the {' and the '.join(lacking)}"))
    unknown = {}
    if case.tensorflow is None:
        unknown["tf.__version__"] = "shows which TensorFlow version is installed"
    if not facts.of(TensorFlowBuild) and case.build is None:
        unknown["tf.test.is_built_with_cuda()"] = "shows whether TensorFlow is built for CUDA"
    if unknown:
        line = f"import tensorflow as tf; print({', '.join(unknown)})"
        missing.append(shell(run_python(case, line), ", and ".join(unknown.values())))
    opened: tuple[type[Fact], ...] = (LibraryLoaded, LibraryNotLoaded, GpuRegistered)
    if not any(facts.of(kind) for kind in opened):
        cmd = case.platform == "windows"
        why_loading = "prints each library that does not load, if there is one" + (" (in cmd)" if cmd else "")
        missing.append(shell(loading(case), why_loading, platform="windows" if cmd else ""))
    if len(missing) == 1:
        return missing
    everything = shell(
        run("tfgpu-doctor", "check", "--format", "markdown"),
        "examines everything that TensorFlow needs for the GPU, and prints a report to paste",
    )
    return [everything, *missing]


def introduced(words: str, steps: Sequence[Step]) -> list[Step]:
    """The steps, with these words at the beginning of the first step's explanation."""
    first, *others = steps
    return [replace(first, why=f"{words}{first.why}"), *others]


def loading(case: Case) -> Command:
    """The command that prints the GPUs, and each library that TensorFlow loads or does not find."""
    return replace(list_gpus(case), variables=(("TF_CPP_VMODULE", "dso_loader=1"),))
