"""A job as a script that does the same."""

from __future__ import annotations

import shlex

from doctor.install.inside import MEMORY_GROWTH, MEMORY_GROWTH_LINE
from doctor.install.job import Job
from doctor.remedies.environments import link_command


def script(job: Job) -> str:
    """For sh (Linux, macOS), or a batch file (Windows)."""
    return _batch(job) if job.windows else _posix(job)


def _posix(job: Job) -> str:
    lines = ["#!/bin/sh", f"# TensorFlow {job.plan.tensorflow} in {job.env}", "set -eu"]
    for action in job.actions:
        lines += [f"# {action.why}", action.words(windows=False)]
    for into in dict.fromkeys(link.into for link in job.links):
        lines += [
            f"# TensorFlow {job.plan.tensorflow} does not look into all of pip's folders; undo: remove the links",
            link_command(str(job.site_packages), [(n.library, n.folder) for n in job.links if n.into == into], into),
        ]
    if job.memory_growth:
        place = shlex.quote(str(job.site_packages / MEMORY_GROWTH))
        lines += [
            "# take GPU memory as it is needed; undo: remove the file",
            f"printf '%s\\n' {shlex.quote(MEMORY_GROWTH_LINE.strip())} > {place}",
        ]
    lines += [
        "# proof, where the tool is on PATH; what it finds undoes nothing",
        "if command -v tfgpu-doctor > /dev/null; then",
        f"    tfgpu-doctor check --python {shlex.quote(str(job.env))} --deep || :",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _batch(job: Job) -> str:
    """cmd reads a percent sign in a batch file as the start of a variable: each is doubled."""
    lines = ["@echo off", f"rem TensorFlow {job.plan.tensorflow} in {job.env}"]
    for action in job.actions:
        lines += [f"rem {action.why}", f"{action.words(windows=True)} || exit /b 1"]
    if job.memory_growth:
        place = job.site_packages / MEMORY_GROWTH
        lines += [
            "rem take GPU memory as it is needed; undo: remove the file",
            f'>"{place}" echo {MEMORY_GROWTH_LINE.strip()}',
        ]
    lines += ["rem proof", f'tfgpu-doctor check --python "{job.env}" --deep']
    return "\r\n".join(line.replace("%", "%%") for line in lines) + "\r\n"
