"""Reproduces failures and tries the settings that fix them, in child processes that run under limits and
always free their memory."""
