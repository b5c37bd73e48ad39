"""Finds the account whose home folder contains a Python environment, from /etc/passwd and /etc/group."""

from __future__ import annotations

import re

from doctor.probe.machine import Account, Machine

SIZE = 64 << 10
"""The maximum number of bytes to read from passwd and group."""


def home_of(machine: Machine, prefix: str | None) -> str:
    """The home folder of an environment's user: on a live machine, the home folder of this process's user;
    otherwise the home folder that contains the environment; otherwise the only folder in /home, or /root."""
    if machine.live and machine.env.get("HOME", "").startswith("/"):
        return machine.env["HOME"].rstrip("/") or "/"
    match = re.match(r"/home/[^/]+", prefix or "")
    if match:
        return match[0]
    homes = [path for path in machine.glob("/home/*") if machine.is_dir(path)]
    return homes[0] if len(homes) == 1 and not (prefix or "").startswith("/root") else "/root"


def account_of(machine: Machine, prefix: str | None) -> Account | None:
    """The account of an environment's user; None if passwd and group do not show it."""
    home = home_of(machine, prefix)
    if not (prefix or "").startswith(f"{home}/"):
        return None  # outside the home folder: any user may use it
    people = (row for row in rows(machine, "/etc/passwd", 7) if row[2].isdecimal() and row[3].isdecimal())
    person = next((row for row in people if row[5] == home), None)
    if person is None:
        return None
    groups = [fields for fields in rows(machine, "/etc/group", 4) if fields[2].isdecimal()]
    mine = {int(fields[2]) for fields in groups if person[0] in fields[3].split(",")}
    return Account(
        person[0], int(person[2]), frozenset({*mine, int(person[3])}), {int(f[2]): f[0] for f in groups}
    )


def rows(machine: Machine, path: str, size: int) -> list[list[str]]:
    """The rows of a file whose fields are separated by colons; only those with `size` fields. Empty if the
    file cannot be read; the machine notes why."""
    fields = (line.split(":") for line in machine.text_seen(path, SIZE).splitlines())
    return [several for several in fields if len(several) == size]
