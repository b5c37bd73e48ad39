"""A job as a script that does the same."""

from __future__ import annotations

import os
import shlex

from doctor.install.inside import MEMORY_GROWTH, MEMORY_GROWTH_LINE
from doctor.install.job import Job
from doctor.remedies.environments import link_command


def script(job: Job) -> str:
    """For sh (Linux, macOS), or a batch file (Windows)."""
    if os.name == "nt":
        lines = ["@echo off", *(f"{action.line} || exit /b 1" for action in job.actions)]
        return "\r\n".join(lines) + "\r\n"
    lines = ["#!/bin/sh", f"# TensorFlow {job.plan.tensorflow} in {job.env}", "set -eu"]
    for action in job.actions:
        lines += [f"# {action.why}", action.line]
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
    lines += ["# proof", f"tfgpu-doctor check --python {shlex.quote(str(job.env))} --deep"]
    return "\n".join(lines) + "\n"
