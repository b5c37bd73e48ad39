"""Reproduces failures and tries their cures, in child processes under limits that always free their
memory."""
