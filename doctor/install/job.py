"""The commands of an installation, in the order in which they are shown, logged and run."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.compat.workarounds import Link
from doctor.errors import UnableError
from doctor.install import interpreters
from doctor.plan import Plan, PlanContext
from doctor.plan.routes import install_options
from doctor.shell import RefusedError, batch_file, run, sh
from doctor.values import dataclass

ROUTES = ("pip-and-cuda", "pip-system-cuda", "cpu")
"""The routes that `install` supports; the others need administrator rights or another program."""


@dataclass(frozen=True, slots=True)
class Action:
    """One command. `large`: whether it downloads gigabytes."""

    command: tuple[str, ...]
    why: str
    large: bool = False

    @property
    def line(self) -> str:
        """The command as a line that can be pasted into a shell on this platform."""
        return self.words(os.name == "nt")

    def words(self, windows: bool) -> str:
        """Return the command as a line for a Windows batch file, or for sh. Raises RefusedError if it cannot
        be written safely."""
        command = run(*self.command)
        return batch_file(command) if windows else sh(command)


@dataclass(frozen=True, slots=True)
class Job:
    """An installation: `actions` run in order, then the links and the memory growth setting are written into
    `env`."""

    plan: Plan
    env: Path
    actions: tuple[Action, ...]
    links: tuple[Link, ...] = ()
    memory_growth: bool = False
    windows: bool = os.name == "nt"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.env / ("Scripts/python.exe" if self.windows else "bin/python")

    @property
    def site_packages(self) -> Path:
        """The environment's package folder."""
        if self.windows:
            return self.env / "Lib" / "site-packages"
        return self.env / "lib" / f"python{self.plan.python}" / "site-packages"


def make_job(
    plan: Plan, context: PlanContext, env: Path, *, memory_growth: bool = False, installer: str = "auto"
) -> Job:
    """Return the job for a plan. `installer`: auto (uv if it is on PATH, otherwise pip), pip or uv.

    Raises UnableError if the plan cannot be installed on this machine, or if the Python version that it needs
    is not available.
    """
    if plan.route not in ROUTES:
        raise UnableError(
            f"the plan uses {plan.route}, which `install` does not support",
            "`tfgpu-doctor plan -v` shows its commands",
        )
    assert plan.python is not None
    try:
        Action((str(env),), "").words(os.name == "nt")
    except RefusedError as refused:
        raise UnableError(
            f"the folder name {refused.value!r} cannot be written safely in a command", "choose another --env"
        ) from None
    uv = interpreters.uv() if installer in ("auto", "uv") else None
    if installer == "uv" and uv is None:
        raise UnableError("uv is not on PATH", "install it, or use --installer pip")
    found = interpreters.find(plan.python)
    if found is None and uv is None:
        raise UnableError(
            f"this machine has no Python {plan.python} that can create an environment, and no uv to install"
            " one",
            f"install uv (docs.astral.sh/uv) or Python {plan.python} with its venv module",
        )
    python = env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = [
        *install_options(plan.candidate, context, uv=uv is not None),
        *plan.candidate.installation.requirements,
    ]
    what = f"TensorFlow {plan.tensorflow}" + (
        f" with CUDA {plan.cuda} and cuDNN {plan.cudnn}" if plan.cuda else ""
    )
    if uv is not None:
        actions = [
            Action((uv, "venv", "--python", found or plan.python, str(env)), "a separate environment"),
            Action((uv, "pip", "install", "--python", str(python), *asked), what, large=True),
        ]
    else:
        assert found is not None
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install")
        actions = [
            Action((found, "-m", "venv", str(env)), "a separate environment"),
            Action(
                (*pip, "--quiet", "--upgrade", "pip"),
                "older versions of pip do not accept the names of current wheels",
            ),
            Action((*pip, *asked), what, large=True),
        ]
    return Job(plan, env, tuple(actions), plan.candidate.links, memory_growth)
