"""Installs a plan: creates a new environment step by step, tests it, and removes it again if a step fails.

    plan -> job (the commands and the folder; interpreters) -> space (is there enough?) -> target (the locked
    folder) -> run (inside: links) -> proof

Nothing here needs administrator rights. Only the environment's folder and the log are written and, while an
installation runs, a journal beside the folder.
"""
