"""Taking out of a text what tells who and where somebody is, and leaving what tells what is wrong.

User and host names, home folders, tokens and passwords, UUIDs. Equal things stay equal: the second GPU's UUID becomes
another placeholder than the first's. Version numbers look like IP addresses, so those are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HOME = re.compile(
    r"(?P<lead>/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+|/data/home/|/export/home/)(?P<name>[^/\\\s:;\"'`,]+)"
)
PUBLIC = {"user", "public", "runner", "ubuntu", "jovyan", "vscode", "shared", "linuxbrew", "default"}
"""Account names that images bring along: they tell nothing of a person."""
UUID = re.compile(
    r"\b(?P<kind>GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
TOKEN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}|sk-[A-Za-z0-9_-]{20,}"
    r"|xox[abpr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
ASSIGNED = re.compile(
    r"(?i)\b([\w.-]*(?:token|secret|password|passwd|api_?key|credential)[\w.-]*\s*[=:]\s*)([^\s&;,\"']{3,})"
)
IN_ADDRESS = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")
SHORTEST_NAME = 3
"""A shorter user or host name stands in too many words to be replaced outside of paths."""


class Redactor:
    """Replaces names in one machine's texts. `user`, `host`, `home` are this machine's, "" where not known."""

    def __init__(self, user: str = "", host: str = "", home: str = "") -> None:
        self.home = home if home not in ("", "/", "/root") else ""
        self.words: list[tuple[re.Pattern[str], str]] = []
        for word, instead in ((user, "USER"), (host, "HOST"), (host.partition(".")[0], "HOST")):
            if len(word) >= SHORTEST_NAME and word.lower() not in PUBLIC | {"root", "localhost", "linux", "windows"}:
                self.words.append((re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])"), instead))
        self.uuids: dict[str, int] = {}

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Redactor:
        """The redactor of the machine that this runs on."""
        import platform

        user = env.get("USER") or env.get("LOGNAME") or env.get("USERNAME") or ""
        return cls(user, platform.node(), env.get("HOME") or env.get("USERPROFILE") or "")

    def __call__(self, text: str) -> str:
        """The text without them."""
        if self.home:
            text = re.sub(rf"{re.escape(self.home)}(?![\w.-])", "~", text)
        text = HOME.sub(self._home, text)
        text = IN_ADDRESS.sub(r"\1", text)
        text = TOKEN.sub("TOKEN", text)
        text = ASSIGNED.sub(r"\1REDACTED", text)
        text = UUID.sub(self._uuid, text)
        for pattern, instead in self.words:
            text = pattern.sub(instead, text)
        return text

    def tree(self, value: Any) -> Any:
        """A JSON value with every string in it redacted; keys stay as they are."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            return {key: self.tree(item) for key, item in value.items()}
        return value

    def _home(self, match: re.Match[str]) -> str:
        name = match["name"]
        return match[0] if name.lower() in PUBLIC or name == "USER" else f"{match['lead']}USER"

    def _uuid(self, match: re.Match[str]) -> str:
        number = self.uuids.setdefault(match[0].lower(), len(self.uuids) + 1)
        return f"{match['kind'] or ''}00000000-0000-0000-0000-{number:012d}"
