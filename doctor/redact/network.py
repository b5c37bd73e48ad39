"""Redacts private hosts, IP and MAC addresses, user@host, and users, passwords and tokens in URLs.

Public servers stay, as do the scheme, the port and the rest of the path of a URL.

A number with four parts may be a version (cuDNN 8.9.7.29, curand 10.3.5.147) or an address. It counts as an
address only in contexts and ranges in which versions do not occur.
"""

from __future__ import annotations

import re

from doctor import lazy
from doctor.redact.secret import REMOVED, secrecy

HOST = "HOST"
PUBLIC_HOSTS = (
    "anaconda.com", "anaconda.org", "apache.org", "apple.com", "astral.sh", "bugs.launchpad.net", "conda.io",
    "debian.org", "docker.com", "docker.io", "example.com", "example.org", "fedoraproject.org", "ghcr.io",
    "gcr.io", "github.com", "github.io", "githubusercontent.com", "gitlab.com", "gnu.org", "google.com",
    "googleapis.com", "huggingface.co", "intel.com", "jupyter.org", "kaggle.com", "kernel.org", "keras.io",
    "launchpad.net", "mcr.microsoft.com", "microsoft.com", "nvcr.io", "nvidia.com", "nvidia.github.io",
    "nvidia.cn", "python.org", "pytorch.org", "quay.io", "readthedocs.io", "readthedocs.org", "redhat.com",
    "stackexchange.com", "stackoverflow.com", "superuser.com", "tensorflow.google.cn", "tensorflow.org",
    "tfhub.dev", "ubuntu.com", "w3.org", "wikipedia.org", "youtube.com", "youtu.be", "urllib3.readthedocs.io",
    "askubuntu.com", "medium.com",
)  # fmt: skip
"""Public servers. They show the source of an installation and identify nobody."""
_LOCAL = lazy.compile(
    r"(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1?\]?|HOST\d*|USER|REDACTED)", re.IGNORECASE
)

_URL = lazy.compile(
    r"(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,20})://(?P<rest>[^\s\"'`<>\\]{1,4000})"
)
_PARAMETER = lazy.compile(r"(?P<by>[?&;#](?P<name>[\w.%-]{1,80})=)(?P<value>[^&;#\s]{1,4000})")
_PARAMETERS = {
    "sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature",
    "x-goog-credential", "awsaccesskeyid", "googleaccessid", "key-pair-id", "policy", "token", "auth", "key",
    "api_key", "apikey", "access_token", "id_token", "refresh_token", "code", "sv", "skoid", "sktid", "st",
    "se", "session", "sid", "private_token", "job_token", "x-oss-signature", "hash", "hmac", "password", "pw",
    "pass", "user", "username", "email",
}  # fmt: skip
_HOOK = lazy.compile(r"(?P<lead>/(?:services|webhooks|hooks)/)[\w/-]{10,400}")
_AFTER_T = lazy.compile(r"(?P<lead>/t/)[^/\s]{4,400}")
_SEGMENT = lazy.compile(r"/(?P<name>[A-Za-z][\w-]{2,40})/(?P<value>[\w.~+=-]{6,400})")

AT = lazy.compile(
    r"(?<![\w.@:%+-])(?P<user>[A-Za-z_][\w.+-]{0,63})@(?P<host>[A-Za-z][\w-]{0,62}"
    r"(?:\.[A-Za-z0-9][\w-]{0,62}){0,8})"
    r"(?![\w@])"
)
"""Matches user@host in a shell prompt, an ssh command, an e-mail address or a Kerberos principal."""
_NO_HOST = lazy.compile(
    r"(?i)main|master|latest|stable|dev|develop|nightly|head|[A-Z]+(?:_[A-Z]+)*_[\d.]+|lib[\w.-]+"
    r"|.*\.so[.\d]*"
)
NAMED = lazy.compile(
    r"(?P<by>\b(?:diagnostic information for host:|hostname:|Kernel on host|ssh(?: -\w{1,20}){0,9}"
    r"|(?:HOSTNAME|COMPUTERNAME|LOGNAME|USERNAME|DOMAIN|USERDOMAIN|SLURMD_NODENAME|SLURM_SUBMIT_HOST"
    r"|MASTER_ADDR|NODENAME|trusted-host|nameserver|Host)\s{0,4}[=:])[ \t]{0,4}\"?)"
    r"(?P<host>[A-Za-z0-9][\w.-]{1,252}[A-Za-z0-9])"
)
"""Matches the machine's name in TensorFlow's diagnosis (cuda_diagnostics.cc) and in some variables."""

_V4 = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}"
_RANGES = r"(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}"
_IPV4 = lazy.compile(
    rf"(?<![\w.-])(?:(?P<range>{_RANGES})|(?P<port>{_V4})(?=:\d{{2,5}}(?![\d.])|/\d{{1,2}}\b)"
    r"|(?P<by>(?i:\b(?:ip|ipv4|inet|addr|address|host|server|gateway|master|worker|peer|node|from"
    r"|listening on|connect(?:ed|ing)? to|failed to connect to|[A-Z_]{0,40}(?:HOST|ADDR|IP))"
    rf"(?: address)?[\"']?(?:\s{{0,3}}[=:]\s{{0,3}}|\s{{1,3}})[\"'\[]?))(?P<word>{_V4})(?!\w|\.\d))"
)
_AWS = lazy.compile(r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w.-]{1,80})?|\b\d{12}(?=\.dkr\.ecr\.)")
_IPV6 = lazy.compile(
    r"(?i)(?<![\w:.])(?:(?:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3})(?::[0-9a-f]{1,4}){0,6}::?"
    r"(?:[0-9a-f]{1,4}:){0,6}[0-9a-f]{0,4}"
    r"|(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4})(?:%\w{1,16})?(?![\w.])"
)
_MAC = lazy.compile(r"(?i)(?<![\w:.-])[0-9a-f]{2}(?P<by>[:-])(?:[0-9a-f]{2}(?P=by)){4}[0-9a-f]{2}(?![\w:-])")
_MEMBER = lazy.compile(
    r"(?P<lead>->\s{0,2}|[\"'\[,{]\s{0,2}[\"']?)(?P<host>[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,8})"
    r"(?=:\d{4,5}(?!\d))"
)
"""Matches host:port in a list, such as a cluster's members in TF_CONFIG and in TensorFlow's output about the
cluster."""
_FILE = lazy.compile(r"\.(?:py|pyx|cc|cu|cpp|c|h|hpp|cuh|log|txt|sh|ipynb|json|toml|ya?ml)$", re.IGNORECASE)
_PORT = lazy.compile(r":\d{4}")
_FOUR_PARTS = lazy.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d")


def is_public(host: str) -> bool:
    """Whether a host identifies neither a person nor an organisation."""
    host = host.lower().rstrip(".")
    return bool(_LOCAL.fullmatch(host)) or any(
        host == known or host.endswith("." + known) for known in PUBLIC_HOSTS
    )


def without_addresses(text: str) -> str:
    """The text without secrets in URLs, private hosts, IP and MAC addresses, and user@host."""
    if "://" in text:
        text = _URL.sub(_url, text)
    if "@" in text:
        text = AT.sub(_at, text)
    lower = text.lower()
    if any(word in lower for word in ("host", "name", "_addr", "domain", "ssh ")):
        text = NAMED.sub(lambda m: m[0] if is_public(m["host"]) else m["by"] + HOST, text)
    if ":" in text and _PORT.search(text):
        text = _MEMBER.sub(_member, text)
    if text.count(".") > 2 and _FOUR_PARTS.search(text):
        text = _IPV4.sub(_ipv4, text)
    if "ip-" in text or ".dkr." in text:
        text = _AWS.sub(HOST, text)
    colons = "::" in text or text.count(":") > 3
    if colons:
        text = _IPV6.sub(lambda m: HOST if m[0].count(":") > 2 or "::" in m[0] else m[0], text)
    return _MAC.sub("MAC", text) if colons or text.count("-") > 4 else text


def stripped_urls(text: str) -> str:
    """The text with users, passwords and tokens removed from its URLs; hosts stay."""
    return _URL.sub(lambda match: _url(match, hosts=True), text)


def _url(match: re.Match[str], *, hosts: bool = False) -> str:
    """The URL without user, password and token. hosts: whether private hosts are kept."""
    scheme, rest = match["scheme"], match["rest"]
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        user, _, authority = authority.rpartition("@")
        if user == "git":
            authority = f"git@{authority}"
    elif (
        "@" in path and ":" in authority and not re.fullmatch(r"[^:]*:\d{0,5}|\[.*\](?::\d{0,5})?", authority)
    ):
        authority, slash, path = path.rpartition("@")[2].partition("/")  # the password contains a slash
    before, at, place = authority.rpartition("@")
    end = place.find("]") + 1 if place.startswith("[") else place.find(":")
    host, port = (place, "") if end < 0 else (place[:end], place[end:])
    bare = re.split(r"[?#]", host)[0]
    image = scheme.lower() in ("docker", "oci", "library") and "." not in bare and not port
    if (
        not hosts
        and not image
        and bare
        and re.fullmatch(r"[\w.\[\]:%-]+", bare)
        and not is_public(bare)
        and scheme.lower() != "file"
    ):
        host = HOST + host[len(bare) :]
    path = f"{host}{port}{slash}{path}"
    path = _HOOK.sub(lambda m: m["lead"] + REMOVED, path)
    path = _AFTER_T.sub(lambda m: m["lead"] + REMOVED, path)
    path = _SEGMENT.sub(lambda m: f"/{m['name']}/{REMOVED}" if secrecy(m["name"]) else m[0], path)
    path = _PARAMETER.sub(_parameter, path)
    return f"{scheme}://{before}{at}{path}"


def _parameter(match: re.Match[str]) -> str:
    name = match["name"].lower()
    return match["by"] + REMOVED if name in _PARAMETERS or secrecy(match["name"]) else match[0]


def _at(match: re.Match[str]) -> str:
    host = match["host"]
    whole = "." in host or (
        len(match["user"]) > 1 < len(host) and match.string[match.start() - 1 : match.start()] != "/"
    )
    if match["user"].lower() == "git" or _NO_HOST.fullmatch(host) or not whole:
        return match[0]
    return "USER@HOST"


def _member(match: re.Match[str]) -> str:
    host = match["host"]
    return match[0] if is_public(host) or _FILE.search(host) else match["lead"] + HOST


def _ipv4(match: re.Match[str]) -> str:
    found = match["range"] or match["port"] or match["word"]
    return match[0] if is_public(found) else (match["by"] or "") + HOST
