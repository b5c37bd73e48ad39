"""Installs a plan: makes a new environment step by step, tests it, and removes it again if that
fails.

    plan -> job (what is run, in which folder; interpreters) -> space (is there room) -> target (the folder,
    held) -> run (inside: links) -> proof

Nothing here needs an administrator, and nothing outside the environment's folder and the log is written, but
for a journal beside the folder while an installation works in it.
"""
