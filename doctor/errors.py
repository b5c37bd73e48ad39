"""Errors that end a command with a message and an exit code, without a traceback."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot continue. `hint` says what to do next, or is ""; `exit_code` is the process's exit
    code."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(CommandError):
    """The options or arguments are wrong."""

    exit_code = 2


class InputError(CommandError):
    """The input cannot be read."""

    exit_code = 2


class UnableError(CommandError):
    """The tool could not do what was requested, for example because there is no network or no GPU, or because
    an installation failed and was undone."""

    exit_code = 3


class DefectError(CommandError):
    """The tool itself failed (a rule, a bundled table), so there is no verdict. `__cause__` is the original
    error."""

    exit_code = 70
