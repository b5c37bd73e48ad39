"""Redacts passwords, tokens and keys, which it recognises by their shape or by the word beside them.

The time is proportional to the length of the text: every repetition in a pattern has an upper limit, and the
name of a variable or option is classified only once (cached).
"""

from __future__ import annotations

import re
from functools import lru_cache

from doctor import lazy

REMOVED = "REDACTED"

_SHAPES = (
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{16,255}"),
    (("github_pat_",), r"\bgithub_pat_\w{16,255}"),
    (("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{16,255}"),
    (("glpat-", "gldt-", "glrt-", "glcbt-"), r"\bgl(?:pat|dt|rt|cbt)-[\w-]{16,255}"),
    (("nvapi-",), r"\bnvapi-[\w-]{8,255}"),
    (("pypi-", "testpypi-"), r"\bpypi-[A-Za-z0-9_-]{24,1000}"),
    (
        ("npm_", "dckr_", "dop_v1", "shpat_", "sq0"),
        r"\b(?:npm_|dckr_(?:pat|oat)_|dop_v1_|shpat_|sq0\w{3}-)[\w-]{16,255}",
    ),
    (("sk-", "sk_", "rk_", "pk_"), r"\b(?:sk-|[spr]k_(?:live|test)_)[A-Za-z0-9_-]{16,255}"),
    (("xox", "xapp-"), r"\b(?:xox[abeoprs]|xapp)-[\w-]{8,255}"),
    (("AKIA", "ASIA", "AROA", "AIDA"), r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{12,64}\b"),
    (("AIza", "ya29."), r"\b(?:AIza[\w-]{30,64}|ya29\.[\w.-]{16,1000})"),
    (("SG.",), r"\bSG\.[\w-]{16,64}\.[\w-]{16,64}"),
    (("eyJ",), r"\beyJ[\w-]{6,4000}\.[\w-]{6,4000}(?:\.[\w-]{0,4000})?"),
    (("local-",), r"\blocal-[0-9a-f]{40}\b"),
    (
        ("-----BEGIN",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\0-]{0,20000}(?:-----END[A-Z ]{0,60}-{0,5})?",
    ),
)
"""Pairs of literals and the pattern of a secret. The pattern can match only a text that contains one of the
literals."""
_PEM_LINE = lazy.compile(
    r"(?m)^(?=[^\n]{0,75}[a-z])(?=[^\n]{0,75}[A-Z])(?=[^\n]{0,75}\d)[A-Za-z0-9+/]{64,76}={0,2}$"
)
_WANDB = lazy.compile(r"(?<![\w/.-])[0-9a-f]{40}(?!\w)")
"""Matches a Weights & Biases key. It looks like the hash of a Git commit, so only a text that names Weights &
Biases is searched for it."""

_QUOTED = (
    r"\"(?:[^\"\\\n]|\\.){0,4000}\"?|'(?:[^'\\\n]|\\.){0,4000}'?|\\+[\"'][^\"'\\\n]{0,4000}(?:\\+[\"'])?"
)
_BARE = r"[^\s,;&\"'<>)\]}|\\]{1,2000}"
_VALUE = rf"(?P<value>{_QUOTED}|{_BARE})"
_ASSIGNED = lazy.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,199})(?P<by>\\{0,3}[\"']?\]?[ \t]{0,8}(?:=>|:=|[=:])[ \t]{0,8})"
)
_GIVEN = lazy.compile(_VALUE)
_FLAG = lazy.compile(r"(?<![\w-])(?P<name>--?[A-Za-z][\w-]{1,60})(?P<by>[ \t]{1,8})(?!-)" + _VALUE)
_SPACED = lazy.compile(
    r"(?<!\w)(?P<lead>(?:ENV|ARG|setx|setenv|set|--set)[ \t]{1,8})(?P<name>[A-Za-z_]\w{1,80})"
    r"(?P<by>[ \t]{1,8})" + _VALUE
)
_HEADER = lazy.compile(
    r"(?i)(?<![\w-])(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,20}(?:key|token|auth))"
    r"(?P<by>\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?)[^\"'\\\n]{1,4000}"
)
_SCHEME = lazy.compile(
    r"(?P<by>\b(?:Basic|Bearer|Negotiate|NTLM|Digest)[ \t]{1,4})"
    r"(?P<value>(?=[^\s\"']{0,400}[\d=+/._-]|[^\s\"']{16})[A-Za-z0-9+/=_.~-]{6,4000})"
)
_PHRASE = lazy.compile(
    r"(?i)(?<![\w$])(?P<name>pass(?:word|wd|phrase|code)?|pwd|secret|(?:api|access|secret|private|security"
    r"|auth|bearer)[ _-](?:key|token)|token)"
    r"(?P<by>[ \t]{0,4}(?:(?:is|was)[ \t]{1,4}|[:=][ \t]{0,4}))"
    r"(?!(?:required|incorrect|wrong|missing|invalid|expired|not|empty|set|needed|correct|None|null|a|the|no)"
    r"[,.;:!?)]{0,2}(?:\s|$))" + _VALUE  # a password can start with such a word: correct-horse
)
_LOGIN = lazy.compile(
    r"(?i)(?P<lead>\b(?:login|account|user|machine)[ \t]{1,8}\S{1,200}[ \t]{1,8}password[ \t]{1,8}"
    r"|\b(?:login|sshpass)\b[^\n]{0,200}?[ \t]-p[ \t]{0,8}|\bwandb[ \t]{1,4}login[ \t]{1,8}"
    r"|\bcurl\b[^\n]{0,200}?[ \t](?:-u|-U|--user|--proxy-user)[ \t]{0,8})(?!-)" + _VALUE
)
_HINTS = (
    "pass", "pwd", "secret", "token", "credential", "key", "auth", "cookie", "session", "jwt", "_pat", "pat=",
    "_pw", "pw=", "bearer", "sas", "_sig", "sig=", "signature", "_sid",
)  # fmt: skip
"""Every name of a secret contains one of these in lower case."""

_STRONG = {
    "password", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret", "secrets", "credential",
    "credentials", "apikey", "accesskey", "secretkey", "privatekey", "cookie", "cookies", "jwt",
    "identitytoken", "registrytoken", "accesstoken", "authtoken", "userpass",
}  # fmt: skip
_KINDS_OF_KEY = {
    "api", "access", "private", "secret", "signing", "encryption", "account", "license", "ssh", "master",
    "shared", "auth", "deploy", "ngc", "wandb", "service", "luks",
}  # fmt: skip
_IN_CAPITALS = {"token", "key", "auth", "pass", "pw", "pat", "sas", "sig", "signature", "sid"}
"""Words that mark a variable in capitals as a secret (TF_AUTH); in lower case they also occur in ordinary
code."""
_OF_A_MODEL = {
    "pad", "eos", "bos", "unk", "mask", "sep", "cls", "start", "end", "stop", "invalid", "unexpected",
    "special", "max", "num", "per", "next", "image", "id", "index",
}  # fmt: skip
_NO_SECRET = lazy.compile(
    r"[\"'\\]{0,9}(?:none|null|nil|true|false|yes|no|redacted|\*+|x{3,}|\.{3}|\$.*|%\w+%|<.*|\{.*|\d{1,6}"
    r"|os\.environ.*|os\.getenv.*|getpass.*|\(.*|)[\"'\\]{0,9}",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def secrecy(name: str) -> str:
    """How surely the name of a value marks the value as a secret: "strong" (it is a secret), "weak" (it is a
    secret only if it looks like one) or "" (it is not a secret)."""
    words = [word.lower() for word in re.findall(r"[A-Z]{1,60}(?![a-z])|[A-Z]?[a-z]{1,60}", name)]
    if name in ("PWD", "OLDPWD"):
        return ""
    if not _STRONG.isdisjoint(words):
        return "strong"
    if any(words[i] in ("key", "keys") and words[i - 1] in _KINDS_OF_KEY for i in range(1, len(words))):
        return "strong"
    letters = name.strip("-_")
    if letters.isupper() and not _IN_CAPITALS.isdisjoint(words):
        return "strong"
    if words and words[-1] in ("token", "auth", "pass") and _OF_A_MODEL.isdisjoint(words):
        return "weak"
    return ""


@lru_cache(maxsize=64)
def _compiled(shape: str) -> re.Pattern[str]:
    return re.compile(shape)


def without_secrets(text: str) -> str:
    """The text with each secret replaced by REDACTED; the rest is unchanged."""
    for literals, shape in _SHAPES:
        if any(literal in text for literal in literals):
            text = _compiled(shape).sub(REMOVED, text)
    if len(text) >= 64 and (" " not in text or "\n" in text):
        text = _PEM_LINE.sub(REMOVED, text)
    lower = text.lower()
    if "wandb" in lower or "weights & biases" in lower:
        text = _WANDB.sub(REMOVED, text)
    if any(end in text for end in ("ic ", "er ", "ate ", "st ", "LM ")):  # the ends of the schemes' names
        text = _SCHEME.sub(_keep_lead, text)
    if (
        "password" in lower
        or "curl" in lower
        or ("login" in lower and ("-p" in lower or "wandb" in lower))
        or ("sshpass" in lower and "-p" in lower)
    ):
        text = _LOGIN.sub(lambda m: m["lead"] + REMOVED, text)
    if not any(map(lower.__contains__, _HINTS)):
        return text
    if "auth" in lower or "cookie" in lower or "x-" in lower:
        text = _HEADER.sub(_keep_lead, text)
    text = _PHRASE.sub(_phrase, text)
    text = _assigned(text)
    text = _FLAG.sub(_flag, text)
    return _SPACED.sub(_flag, text)


def _keep_lead(match: re.Match[str]) -> str:
    return f"{match.groupdict().get('name') or ''}{match['by']}{REMOVED}"


_OF_A_NETWORK = lazy.compile(r"\b(?:forward|backward|training|validation|first|second)[ \t-]$", re.IGNORECASE)
"""Matches the words before "pass" that show that it is a pass through a network or data, not a password."""


def _passes(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start("name") - 20) : match.start("name")]
    return match["name"].lower() == "pass" and _OF_A_NETWORK.search(before) is not None


def _phrase(match: re.Match[str]) -> str:
    if _passes(match):
        return match[0]
    return _named(match, "weak" if match["name"].lower() in ("token", "pass") else "strong")


def _assigned(text: str) -> str:
    """The text, with REDACTED in place of the values that are secrets according to their names. The value of
    any other name may itself contain such a name, so it is searched too."""
    parts, at = [], 0
    for match in _ASSIGNED.finditer(text):
        if match.start() < at or text[match.start() - 1 : match.start()] == "$":
            continue
        sure = "" if _passes(match) else secrecy(match["name"])
        value = _GIVEN.match(text, match.end()) if sure else None
        if value is not None:
            parts += [
                text[at : match.end()],
                _removed(value["value"], sure, text[value.end() : value.end() + 1]),
            ]
            at = value.end()
    return "".join(parts) + text[at:]


def _flag(match: re.Match[str]) -> str:
    sure = secrecy(match["name"])
    if not sure and match["name"].lower() in ("--token", "--key", "--auth", "-password", "-token"):
        sure = "strong"
    return _named(match, "strong" if sure and match["name"].startswith("-") else sure)


def _named(match: re.Match[str], sure: str) -> str:
    before = match.string[match.start() : match.start("value")]
    return before + _removed(match["value"], sure, match.string[match.end() : match.end() + 1])


def _removed(value: str, sure: str, after: str) -> str:
    """The replacement for a value: REDACTED if it is a secret, otherwise the value itself; quotes stay.

    sure: how surely the value's name marks it as a secret ("strong", "weak" or ""). after: the character
    after the value.
    """
    if not sure or _NO_SECRET.fullmatch(value):
        return value
    lead = re.match(r"\\*[\"']?", value)
    quote = lead[0] if lead else ""
    inner = value[len(quote) :].rstrip("\"'\\") if quote else value
    if sure == "weak" and (
        len(inner) < 6 or inner.isdigit() or " " in inner or after in ("(", "[")
        or "(" in inner or "[" in inner or inner.startswith(("tf.", "self.", "//"))
    ):  # fmt: skip
        return value
    return quote + REMOVED + (quote if quote and value.endswith(quote) and len(value) > len(quote) else "")
