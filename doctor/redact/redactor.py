"""Makes text safe to share: a Redactor replaces the user and host names, home folders and addresses that
belong to a machine or occur in a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from doctor import lazy
from doctor.redact.network import AT, NAMED, is_public, without_addresses
from doctor.redact.secret import REMOVED, secrecy, without_secrets

_WORD = r"[^/\\\s:;\"'`,<>|*?()\[\]{}=]{1,64}"
HOME = lazy.compile(
    r"(?P<lead>(?<![\w.~-])(?:/[\w.-]{1,40}){0,3}/(?:home\d{0,3}|homes|[Uu]sers|people|media|run/media)/"
    r"|(?<!\w)[A-Za-z]:[\\/]{1,4}(?i:users|documents and settings)[\\/]{1,4}"
    r"|\\{2,4}[\w.-]{1,60}[\\/]{1,4}Users[\\/]{1,4})"
    rf"(?P<name>{_WORD}(?:[ ]{_WORD}){{1,3}}(?=[\\/])|{_WORD})"
)
"""Matches a home folder; a name with spaces ends where the next folder begins."""
PUBLIC = {
    "user", "public", "runner", "ubuntu", "jovyan", "vscode", "shared", "linuxbrew", "default", "all users",
    "me", "docs", "adminuser", "sagemaker-user", "ec2-user", "studio-lab-user", "coder", "codespace",
    "gitpod", "vagrant", "azureuser", "opc", "bitnami", "you", "username", "your_username", "nonroot",
}  # fmt: skip
"""The names of default accounts in images. They identify nobody."""
COMMON = PUBLIC | {
    "admin", "administrator", "all", "anaconda", "anaconda3", "app", "apt", "bash", "bin", "bus", "cache",
    "class", "code", "colab", "conda", "container", "cpu", "cpus", "cuda", "cudnn", "data", "debian", "deep",
    "device", "disk", "dist", "docker", "driver", "error", "export", "fedora", "file", "files", "from", "git",
    "gpu", "gpus", "group", "home", "host", "import", "install", "is", "jax", "keras", "kernel", "lib",
    "lib64", "linux", "load", "local", "localhost", "log", "machine", "main", "max", "memory", "micromamba",
    "min", "miniconda", "miniconda3", "mamba", "mnt", "model", "module", "name", "not", "notebook", "numpy",
    "nvidia", "opt", "package", "path", "pip", "pip3", "poetry", "project", "python", "python3", "pytorch",
    "root", "run", "server", "src", "sudo", "system", "tensorflow", "tensorrt", "test", "tests", "tf", "the",
    "tmp", "torch", "train", "training", "usr", "uv", "value", "venv", "version",
    "windows", "with", "work", "worker", "workspace", "wsl", "yes", "your", "yourname",
}  # fmt: skip
"""User and host names that are not replaced outside paths, because they are ordinary words."""
UUID = lazy.compile(
    r"(?<![\w-])(?P<kind>GPU-|MIG-(?:GPU-)?)?"
    r"(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?![\w-])"
    r"|(?<![\w-])(?P<short>GPU-|MIG-(?:GPU-)?)(?P<part>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{0,4}){0,3})(?![\w-])"
)
"""Matches a GPU's UUID, in full or shortened as CUDA_VISIBLE_DEVICES allows."""
SHORTEST_NAME = 3
"""User and host names that are shorter than this occur in too many words to be replaced outside paths."""
LONG_NAME = 6
"""Names of at least this length are also replaced within words (my_venv_alexandra)."""
MOST_NAMES = 50


def _node() -> str:
    """This machine's name, the same as from platform.node(); importing platform would take longer."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform

    return platform.node()


class Redactor:
    """Replaces names in the strings from one machine or one report.

    `user`, `host` and `home` are those of this machine, "" if unknown; `learn` adds the names in a report.
    """

    def __init__(self, user: str = "", host: str = "", home: str = "") -> None:
        self.home = home if home.rstrip("/\\") not in ("", "/root", "C:") else ""
        self._home = re.compile(rf"{re.escape(self.home)}(?![\w.-])") if self.home else None
        self.names: dict[str, str] = {}
        self._names: re.Pattern[str] | None = None
        self._uuids: dict[str, int] = {}
        short = host.partition(".")[0]
        self._add(((user, "USER"), (host, "HOST"), *(((short, "HOST"),) if not host[:1].isdigit() else ())))

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Redactor:
        """The Redactor for this machine. `env` contains its user and home folder; its host name comes from
        the system."""
        user = env.get("USER") or env.get("LOGNAME") or env.get("USERNAME") or ""
        return cls(user, _node(), env.get("HOME") or env.get("USERPROFILE") or "")

    def learn(self, texts: Iterable[str]) -> Redactor:
        """Learn the user and host names that the strings show: in paths of home folders, in prompts and in
        TensorFlow's diagnostics. Returns this Redactor."""
        found: dict[str, str] = {}
        for text in texts:
            lower = text.lower()
            if _may_hold_a_home(text):
                for match in HOME.finditer(text):
                    found.setdefault(match["name"], "USER")
            if "@" in text:
                for match in AT.finditer(text):
                    if match["user"].lower() != "git" and without_addresses(match[0]) != match[0]:
                        found.setdefault(match["user"], "USER")
                        if not is_public(match["host"]):
                            found.setdefault(match["host"], "HOST")
            if "host" in lower or "name" in lower:
                for match in NAMED.finditer(text):
                    user = match["by"].startswith(("LOGNAME", "USERNAME"))
                    if not is_public(match["host"]):
                        found.setdefault(match["host"], "USER" if user else "HOST")
        self._add(found.items())
        return self

    def _add(self, names: Iterable[tuple[str, str]]) -> None:
        for name, instead in names:
            if len(name) >= SHORTEST_NAME and name.lower() not in COMMON and re.search(r"[^\W\d]", name):
                self.names.setdefault(name, instead)
        chosen = sorted(self.names, key=lambda name: (-len(name), name))[:MOST_NAMES]
        whole = [re.escape(name) for name in chosen if len(name) < LONG_NAME]
        inside = [re.escape(name) for name in chosen if len(name) >= LONG_NAME]
        ways = [rf"(?<![A-Za-z0-9])(?:{'|'.join(inside)})(?![A-Za-z0-9])"] if inside else []
        ways += [rf"(?<![\w-])(?:{'|'.join(whole)})(?![\w-])"] if whole else []
        self._names = re.compile("|".join(ways)) if ways else None

    def __call__(self, text: str) -> str:
        """The redacted text."""
        if self._home is not None:
            text = self._home.sub("~", text)
        text = _impersonal(text)
        if "GPU-" in text or "MIG-" in text or text.count("-") > 3:
            text = UUID.sub(self._uuid, text)
        if self._names is not None:
            text = self._names.sub(lambda m: self.names[m[0]], text)
        return text

    def tree(self, value: Any) -> Any:
        """Return the JSON value with every string redacted. If a key marks its string as a secret, the whole
        string is removed. Keys are unchanged."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            return {key: self._item(str(key), item) for key, item in value.items()}
        return value

    def _item(self, key: str, value: Any) -> Any:
        secret = isinstance(value, str) and value and secrecy(key) == "strong"
        return REMOVED if secret else self.tree(value)

    def _uuid(self, match: re.Match[str]) -> str:
        whole = (match["id"] or match["part"]).lower()
        if whole not in self._uuids:
            same = (
                number
                for known, number in self._uuids.items()
                if (known.startswith(whole) if match["part"] else whole.startswith(known))
            )
            self._uuids[whole] = next(same, max(self._uuids.values(), default=0) + 1)
        number = f"{self._uuids[whole]:08d}"
        if match["part"]:
            return match["short"] + number
        return f"{match['kind'] or ''}{number}-0000-0000-0000-000000000000"


@lru_cache(maxsize=4096)
def _impersonal(text: str) -> str:
    """Return the text after those steps of the redaction that do not depend on the machine. The results are
    cached, because many reports contain the same advice."""
    if "TF_CONFIG" in text:
        from doctor.redact.variables import without_config

        text = without_config(text)
    text = without_addresses(without_secrets(text))
    return HOME.sub(_home, text) if _may_hold_a_home(text) else text


def _may_hold_a_home(text: str) -> bool:
    lower = text.lower()
    return any(word in lower for word in ("home", "users", "people/", "media/", "settings"))


def _home(match: re.Match[str]) -> str:
    name = match["name"]
    return match[0] if name.lower() in PUBLIC or name == "USER" else f"{match['lead']}USER"
