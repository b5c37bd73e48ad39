"""Installs a plan: makes a new environment step by step, tests it, and removes it again if that
fails.

    plan -> job (the commands and the folder; interpreters) -> space (is there enough) -> target (the locked
    folder) -> run (inside: links) -> proof

Nothing here needs an administrator. Only the environment's folder and the log are written, and a journal
beside the folder while an installation runs.
"""
