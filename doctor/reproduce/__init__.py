"""Reproduces failures and tries the settings that fix them, in child processes that have limits and always
free their memory."""
