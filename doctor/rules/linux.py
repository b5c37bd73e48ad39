"""Functions that make steps with commands for Linux only."""

from __future__ import annotations

from functools import partial

from doctor.findings import shell

on_linux = partial(shell, platform="linux")
"""Makes a step with a command for Linux from the command and the reason for it."""

as_root = partial(shell, platform="linux", root=True)
"""Makes a step with a command for Linux that needs an administrator, from the command and the reason."""
