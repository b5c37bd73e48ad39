"""Makes the steps of rules that are commands for Linux only."""

from __future__ import annotations

from functools import partial

from doctor.findings import shell

on_linux = partial(shell, platform="linux")
"""Return a step with a command for Linux; takes the command and the reason."""

as_root = partial(shell, platform="linux", root=True)
"""Return a step with a command for Linux that needs an administrator; takes the command and the reason."""
