"""Steps that create an environment with TensorFlow, through commands of pip, uv, conda and docker.

`plan` prints these steps and `install` runs them. Paths are relative to the current folder; every command is
one line.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Step, manual, shell
from doctor.remedies import driver
from doctor.shell import Joined, Literal, Path, Word, piped, run, sequence
from doctor.tables import dotted

UV_PYTHONS = "3.8"
"""The oldest Python version that uv installs (docs.astral.sh/uv, "Python versions"). conda installs older
versions."""
ENV = "tf-gpu"
"""The folder of the new virtual environment, or the name of the new conda environment."""
UV_INSTALL = Literal(
    'curl -LsSf https://astral.sh/uv/install.sh | sh && export PATH="$HOME/.local/bin:$PATH"'
)
"""The command that installs uv into ~/.local/bin, which the current shell may not search (docs.astral.sh/uv,
"Installation")."""
UV_INSTALL_WINDOWS = Literal(
    'powershell -ExecutionPolicy ByPass -c "irm https://astral.sh/uv/install.ps1 | iex"'
)


def interpreter(env: str, kind: str) -> str:
    """The path of a virtual environment's Python program. env: the environment's folder; kind: the
    platform."""
    return f"{env}\\Scripts\\python.exe" if kind == "windows" else f"{env}/bin/python"


def venv(env: str, python: str, kind: str, *, family: str = "", new: bool = False) -> list[Step]:
    """Steps that create a virtual environment from an installed Python. family: the system's package manager.
    new: the system is a new Ubuntu, which lacks the module venv."""
    start = ("py", f"-{python}") if kind == "windows" else (f"python{python}",)
    why = "creates a separate environment: nothing that is already installed changes"
    get = sequence(run("sudo", "apt", "update"), run("sudo", "apt", "install", "-y", f"python{python}-venv"))
    lacks = "installs a part of Python that a new Ubuntu lacks"
    added = [shell(get, lacks, platform=kind, root=True)] if new else []
    if family == "apt" and not new:
        why += f" (if venv is missing, run: sudo apt install python{python}-venv)"
    pip = run(Path(interpreter(env, kind)), "-m", "pip", "install", "--upgrade", "pip")
    return [
        *added,
        shell(run(*start, "-m", "venv", Path(env)), why, platform=kind),
        shell(pip, "updates pip: older versions do not accept the names of today's wheels", platform=kind),
    ]


def uv_venv(env: str, python: str, kind: str) -> list[Step]:
    """Steps that create a virtual environment with another Python version, which uv downloads; the system's
    Python is unchanged."""
    get = UV_INSTALL_WINDOWS if kind == "windows" else UV_INSTALL
    found = (
        "; then continue in a new terminal, which finds uv"
        if kind == "windows"
        else ", and puts it on this shell's PATH"
    )
    return [
        shell(get, f"installs uv for this user if it is missing{found}", platform=kind),
        shell(
            run("uv", "venv", "--python", python, Path(env)),
            f"creates a separate environment with Python {python}; the system's Python stays as it is",
            platform=kind,
        ),
    ]


def pip_install(
    env: str,
    requirements: Sequence[str],
    kind: str,
    why: str,
    *,
    uv: bool = False,
    options: Sequence[str] = (),
) -> Step:
    """The step that installs packages into a virtual environment. options: options of pip's install."""
    python = Path(interpreter(env, kind))
    start = ("uv", "pip", "install", "--python", python) if uv else (python, "-m", "pip", "install")
    return shell(run(*start, *options, *requirements), why, platform=kind)


def conda_create(
    name: str, python: str, kind: str, packages: Sequence[str] = (), channel: str = "", note: str = ""
) -> Step:
    """The step that creates a conda environment. note: text that is added to the step's explanation."""
    via = ("-c", channel) if channel else ()
    create = run("conda", "create", "-y", "-n", name, *via, f"python={python}", *packages)
    contents = f" and {', '.join(packages)}" if packages else ""
    why = f"creates a separate environment with Python {python}{contents}{note}"
    return shell(create, why, platform=kind)


def conda_python(name: str) -> tuple[str, ...]:
    """The command, as words, that starts the Python of a conda environment."""
    return ("conda", "run", "-n", name, "python")


def conda_pip(
    name: str, requirements: Sequence[str], kind: str, why: str, *, options: Sequence[str] = ()
) -> Step:
    """The step that runs pip inside a conda environment. options: options of pip's install."""
    return shell(
        run(*conda_python(name), "-m", "pip", "install", *options, *requirements), why, platform=kind
    )


def conda_activate(name: str, kind: str) -> Step:
    """The step that makes a conda environment the shell's own."""
    why = "run this in each new shell, before the program and before the check"
    return shell(run("conda", "activate", name), why, platform=kind)


def conda_library_path(name: str, kind: str) -> list[Step]:
    """The step after which each activation of a conda environment puts the environment's library folder on
    LD_LIBRARY_PATH; none for Windows."""
    if kind == "windows":
        return []
    script = (
        'mkdir -p "$CONDA_PREFIX/etc/conda/activate.d" && echo "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib'
        '\\${LD_LIBRARY_PATH:+:\\$LD_LIBRARY_PATH}" > "$CONDA_PREFIX/etc/conda/activate.d/cuda-libraries.sh"'
    )
    return [
        shell(
            run("conda", "run", "-n", name, "sh", "-c", script),
            "makes the next activation add the environment's lib folder to LD_LIBRARY_PATH, because this"
            " TensorFlow release does not search it. To undo this step, remove"
            " etc/conda/activate.d/cuda-libraries.sh from the environment's folder",
            platform=kind,
        )
    ]


def at_activation(
    folders: str, kind: str, *, prefix: str | None = None, name: str = "cuda-libraries"
) -> Step:
    """The step after which each activation of a conda environment puts folders first on LD_LIBRARY_PATH
    (conda documentation, "Managing environments"). folders: their paths with ":" between them, in which the
    shell replaces variables. prefix: the environment's folder; None for the environment that is active now.
    name: that of the script, without its ending."""
    why = "each activation of this environment then puts the folder on LD_LIBRARY_PATH"
    if prefix is None:
        why = f"in the activated environment: {why}"

    def below(path: str) -> Word:
        return Joined((Literal("$CONDA_PREFIX"), path)) if prefix is None else Path(f"{prefix}{path}")

    line = f'export LD_LIBRARY_PATH="{folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
    scripts = "/etc/conda/activate.d"
    return shell(
        sequence(
            run("mkdir", "-p", below(scripts)),
            piped(run("echo", line), run("tee", below(f"{scripts}/{name}.sh"))),
        ),
        why,
        platform=kind,
    )


def with_python(
    env: str, python: str, kind: str, requirements: Sequence[str], why: str
) -> tuple[list[Step], tuple[Word, ...]]:
    """Steps that install packages into a new environment, and the words that start its Python. The Python
    comes from uv, or from conda if it is too old for uv."""
    if dotted(python) >= dotted(UV_PYTHONS):
        made = [*uv_venv(env, python, kind), pip_install(env, requirements, kind, why, uv=True)]
        return made, (Path(interpreter(env, kind)),)
    note = (
        f"; conda is needed because uv has no Python before {UV_PYTHONS} (download conda from"
        " conda-forge.org/download if it is not installed)"
    )
    create = conda_create(env, python, kind, note=note)
    return [create, conda_pip(env, requirements, kind, why)], conda_python(env)


def docker_run(image: str, python_line: str, note: str = "", *, integrated: bool = False) -> list[Step]:
    """Steps that start a container from an image, with the host's GPUs. note: further information.
    integrated: whether the GPU is a Jetson's."""
    gpus = ("--runtime", "nvidia") if integrated else ("--gpus", "all")
    this_folder = ("-v", Literal('"$PWD:/work"'), "-w", "/work")
    return [
        driver.as_root(
            sequence(
                run("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
                run("sudo", "systemctl", "restart", "docker"),
            ),
            "registers NVIDIA's runtime with docker, which is needed once; the command comes with the package"
            " nvidia-container-toolkit",
        ),
        shell(
            run("docker", "run", "--rm", *gpus, image, "python3", "-c", python_line),
            f"tests the image, which contains TensorFlow, CUDA and cuDNN, but no driver{note}",
            platform="linux",
        ),
        shell(
            run("docker", "run", "-it", "--rm", *gpus, *this_folder, image, "bash"),
            "starts a shell in a container, with this folder as /work",
            platform="linux",
        ),
    ]


def wsl_install() -> list[Step]:
    """Steps that install WSL2 with Ubuntu."""
    return [
        shell(
            run("wsl", "--install", "-d", "Ubuntu-24.04"),
            "installs Ubuntu under WSL2: run it in an administrator's terminal; it needs Windows 11, or"
            " Windows 10 from 21H2 on, and a restart",
            platform="windows",
            root=True,
        ),
        manual(
            "Start Ubuntu from the Start menu, create a user, and continue in Ubuntu's shell; install no"
            " NVIDIA driver in Ubuntu",
            "WSL2 uses the Windows driver",
            platform="windows",
        ),
    ]
