"""Runs `check` on nodes through ssh: the system's own OpenSSH client with the user's configuration (names,
jump hosts, keys, agents).

ssh does not prompt for a password or for the acceptance of a host key here. If `ssh NODE` would prompt, there
is no answer from the node, and the reason says why.
"""

from __future__ import annotations

import re
import shutil

from doctor import lazy
from doctor.errors import InputError, UnableError, UsageError
from doctor.fleet.asking import Asked
from doctor.fleet.sent import script
from doctor.inputs import Input, opened
from doctor.probe.running import Ran
from doctor.shell import sh_argument

MOST = 20_000
_HOST = lazy.compile(
    r"(?:ssh://)?(?:[\w.+-]{1,64}@)?(?:[\w.-]{1,253}|[0-9A-Fa-f:.]{2,45}"
    r"|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5}/?)?",
    re.ASCII,
)
_OPTIONS = (
    "-T",
    "-x",
    "-a",
    "-o",
    "BatchMode=yes",  # no prompts: nobody could answer those of many nodes at once
    # regardless of the configuration: an unknown host key is a result, and is not accepted
    "-o",
    "StrictHostKeyChecking=yes",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "RemoteCommand=none",
    "-o",
    "PermitLocalCommand=no",
    "-o",
    "ServerAliveInterval=15",
)
_REASONS = (
    (
        r"Host key verification failed|host key is known|REMOTE HOST IDENTIFICATION",
        "its host key is unknown or has changed: run `ssh {0}` once, and verify the key",
    ),
    (r"Permission denied|Too many authentication failures", "it accepts none of your keys: {1}"),
    (
        r"Could not resolve|Name or service not known|Temporary failure in name",
        "its name cannot be resolved: {1}",
    ),
    (r"Connection refused", "it refuses connections: {1}"),
    (r"timed out|Timeout, server", "it cannot be reached: {1}"),
    (
        r"No route to host|Network is unreachable|Connection (?:closed|reset)|kex_exchange",
        "the connection failed: {1}",
    ),
)


def hosts(text: str) -> list[str]:
    """Parse the value of `--ssh`, and return its hosts: HOST,HOST or @FILE with one host per line. Raises
    UsageError for an entry that is not a host, InputError if the file cannot be read."""
    if text.startswith("@"):
        with opened(Input(text[1:])) as stream:
            words = [
                row.partition("#")[0].strip()
                for row in stream.read(4 << 20).decode("utf-8", "replace").splitlines()
            ]
    else:
        words = text.split(",")
    found = list(dict.fromkeys(word.strip() for word in words if word.strip()))
    for word in found:
        if word.startswith("-") or not _HOST.fullmatch(word):
            raise UsageError(
                f"`{word[:80]}` is not a host",
                "use --ssh HOST,USER@HOST or ssh://HOST:PORT, or --ssh @FILE with one host per line",
            )
    if not found:
        raise InputError("the list contains no host", "--ssh @FILE reads one host per line")
    if len(found) > MOST:
        raise UsageError(f"the list contains {len(found)} hosts", f"at most {MOST} are allowed")
    return found


def nodes(names: list[str], python: str | None, timeout: float, config: str | None) -> list[Asked]:
    """Return the nodes to ask, each with the ssh command that runs the check there. Raises UnableError if
    there is no ssh client."""
    client = shutil.which("ssh")
    if client is None:
        raise UnableError("there is no ssh client on PATH", "install OpenSSH's client")
    # any shell may be the login shell there: it reads one quoted word, and `exec` replaces it with sh
    command = f"exec /bin/sh -c {sh_argument(script(python))}"
    own = ("-F", config) if config else ()
    limit = ("-o", f"ConnectTimeout={max(1, min(30, int(timeout)))}")
    return [Asked(name, (client, *_OPTIONS, *limit, *own, "--", name, command)) for name in names]


def why(ran: Ran) -> tuple[str, str] | None:
    """Return the status and reason if ssh itself failed, which exit status 255 shows; otherwise None."""
    if ran.status != 255:
        return None
    rows = [row.strip() for row in ran.err.splitlines() if row.strip()]
    last = rows[-1] if rows else "ssh gave no reason"
    for pattern, reason in _REASONS:
        if re.search(pattern, ran.err):
            return "unreachable", reason.format("NODE", last)
    return "unreachable", last
