"""Decides whether a sentence states a fault or only supposes it, as conditions, questions, advice and code
do."""

from __future__ import annotations

import re

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Maker

_CLOSE = (
    r"(?:如果|若是?|假如|要是|万一|是否|有没有|能不能|防止|避免|检查|もし|만약|혹시|\bsi|\bse|\bfalls|\bwenn|\bob|\bif|если|когда)[^\n，"
    r"。,.;；]{0,20}$"
)
"""Matches words directly before a fault that is only supposed, asked about or avoided."""
_BEFORE = (
    r"\b(?:if|unless|elif|assert|while|whether|make sure|ensure|check that|en cas|falls|wenn)\b[^,;:]{0,60}$"
)
"""Matches words in English and in code that only suppose a fault, anywhere before it in its clause."""
_AFTER = r"[^\n，。,.]{0,3}(?:的时候|的?话|的?情况|时[，,：]|時は|場合|とき|れば|경우|때는)"


_DENIED = (
    r"(?:\b(?:no|not|never|without|neither|nor|cannot|kein|keinen|keine|ohne|sin|ningún|sans|aucun|pas de"
    r"|nessun|senza|sem|nenhum|без|нет)|n't) (?:(?:an?|any|the|such|more|single|get|gets|see|seen|got|have"
    r"|had|show|shows|throw|raise) ){0,3}['`\"]?$"
    r"|(?:没有|沒有|不会|没)(?:再|出现|看到|报|遇到|报错|出現){0,2} ?['`\"]?$"
)
"""Matches words directly before a fault that say that it does not occur ("no longer" says that it did)."""


def denied(match: re.Match[str]) -> bool:
    """Whether the words before a match say that the fault does not occur."""
    before = match.string[max(0, match.start() - 60) : match.start()].rpartition("\n")[2]
    return re.search(_DENIED, before, re.IGNORECASE) is not None


def supposed(match: re.Match[str], group: str | int = 0) -> bool:
    """Whether the words around a match, or around one of its groups, only suppose the fault, ask about it or
    avoid it."""
    start, end = match.span(group)
    before = match.string[max(0, start - 60) : start].rpartition("\n")[2]
    return bool(
        re.search(_CLOSE, before[-24:], re.IGNORECASE)
        or re.search(_BEFORE, before, re.IGNORECASE)
        or re.match(_AFTER, match.string[end : end + 12])
    )


def stated(kind: str, *detail: tuple[str, str]) -> Maker:
    """Return a function that makes the symptom `kind` from a match, unless the sentence only supposes it or
    denies it."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        return None if supposed(match) or denied(match) else Symptom(source, kind, detail)

    return make
