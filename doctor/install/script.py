"""Writes a job as a shell script or batch file that does the same."""

from __future__ import annotations

import shlex

from doctor.install.inside import MEMORY_GROWTH, MEMORY_GROWTH_LINE
from doctor.install.job import Job
from doctor.remedies.installation import link_steps
from doctor.shell import Path, comment


def script(job: Job, *, keep: bool = False, replace: bool = False) -> str:
    """Return the job as a script for sh (Linux, macOS) or as a batch file (Windows). keep, replace: see
    `run`."""
    return _batch(job, keep, replace) if job.windows else _posix(job, keep, replace)


def _posix(job: Job, keep: bool, replace: bool) -> str:
    env = shlex.quote(str(job.env))
    aside = f"{env}.before-$$"
    lines = [
        "#!/bin/sh",
        comment(f"TensorFlow {job.plan.tensorflow} in {job.env}"),
        "set -eu",
        f"rmdir {env} 2> /dev/null || :  # an empty folder may be used",
    ]
    if replace:
        not_one = shlex.quote(f"{job.env} is not a Python environment, so it is not replaced")
        lines += [
            f"[ ! -e {env} ] || [ -e {env}/pyvenv.cfg ] || [ -d {env}/conda-meta ] || {{ echo {not_one}"
            " >&2; exit 1; }",
            f"[ ! -e {env} ] || mv {env} {aside}",
        ]
    else:
        lines += [f"[ ! -e {env} ] || {{ echo {shlex.quote(f'{job.env} already exists')} >&2; exit 1; }}"]
    if not keep:
        back = f"; [ ! -e {aside} ] || mv {aside} {env}" if replace else ""
        lines += [
            "# remove the incomplete environment if a step fails or is interrupted",
            f"undo() {{ rm -rf {env}{back}; }}",
            "trap undo EXIT",
            "trap 'exit 130' HUP INT TERM",
        ]
    for action in job.actions:
        lines += [comment(action.why), action.words(windows=False)]
    for step in link_steps(job.plan.candidate.installation, (Path(str(job.python)),)):
        lines += [comment(step.why), step.text]
    if job.memory_growth:
        place = shlex.quote(str(job.site_packages / MEMORY_GROWTH))
        lines += [
            "# allocate GPU memory only as needed; to undo this, remove the file",
            f"printf '%s\\n' {shlex.quote(MEMORY_GROWTH_LINE.strip())} > {place}",
        ]
    lines += [] if keep else ["trap - EXIT"]
    lines += [f"rm -rf {aside}"] if replace else []
    lines += [
        "# check the environment if tfgpu-doctor is on PATH; whatever the result, nothing is undone",
        "if command -v tfgpu-doctor > /dev/null; then",
        f"    tfgpu-doctor check --python {env} --deep || :",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _batch(job: Job, keep: bool, replace: bool) -> str:
    """Return the job as a batch file. Percent signs are doubled, because cmd treats a single one as the start
    of a variable."""
    env, aside = f'"{job.env}"', f'"{job.env}.before"'
    lines = [
        "@echo off",
        comment(f"TensorFlow {job.plan.tensorflow} in {job.env}", "rem"),
        f"rmdir {env} 2>nul",
    ]
    if replace:
        other = " ".join(f'if not exist "{job.env}\\{sign}"' for sign in ("pyvenv.cfg", "conda-meta"))
        lines += [
            f"if exist {env} {other} echo {env} is not a Python environment, so it is not replaced",
            f"if exist {env} {other} exit /b 1",
            f"if exist {aside} echo {aside} already exists: rename or remove it first",
            f"if exist {aside} exit /b 1",
            f'if exist {env} ren {env} "{job.env.name}.before" || exit /b 1',
        ]
    else:
        lines += [f"if exist {env} echo {env} already exists", f"if exist {env} exit /b 1"]
    failed = "exit /b 1" if keep else "goto failed"
    for action in job.actions:
        lines += [comment(action.why, "rem"), f"{action.words(windows=True)} || {failed}"]
    if job.memory_growth:
        place = job.site_packages / MEMORY_GROWTH
        lines += [
            "rem allocate GPU memory only as needed; to undo this, remove the file",
            f'>"{place}" echo {MEMORY_GROWTH_LINE.strip()}',
        ]
    lines += [f"if exist {aside} rmdir /s /q {aside}"] if replace else []
    lines += ["rem check the environment", f'tfgpu-doctor check --python "{job.env}" --deep']
    if not keep:
        lines += ["exit /b 0", ":failed", "rem remove the incomplete environment", f"rmdir /s /q {env}"]
        lines += [f'if exist {aside} ren {aside} "{job.env.name}"'] if replace else []
        lines += ["exit /b 1"]
    return "\r\n".join(line.replace("%", "%%") for line in lines) + "\r\n"
