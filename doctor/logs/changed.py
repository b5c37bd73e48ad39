"""Decides which version in a sentence is the current one, if a person changed from one version to another.

Given the facts from a report and the numbers of the lines that people wrote, `after_changes` yields the same
facts, but with current versions. For "The driver went from 470.103 to 510.47", the current version is 510.47,
and 470.103 is kept as the version in an earlier run. A version on another machine counts only if no other
version is stated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import (
    FORM,
    OF_WORKING_RUN,
    PROSE,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Fact,
    PythonVersion,
    SentenceKind,
    TensorFlowVersion,
)
from doctor.logs.signatures.versions.plausible import plausible_cuda, plausible_cudnn
from doctor.logs.signatures.versions.spelling import elsewhere
from doctor.values import replace

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.logs.text import Text

VERSIONS = (TensorFlowVersion, CudaVersion, CudnnVersion, DriverVersion, PythonVersion)
Version: TypeAlias = "TensorFlowVersion | CudaVersion | CudnnVersion | DriverVersion | PythonVersion"
CHANGE = lazy.compile(
    r"\b(?:up|down)?grad|\bupdat|\bmigrat|\bswitch|\bmoved|\bwent|\bchang|\bbump|\baktualisi"
    r"|\bgewechsel|\bumgest"
    r"|mise? à (?:jour|niveau)|\bpass[ée]|\bactuali[szc]|\batuali[sz]|\baggiorn|\bcambi|\bmud|\bbijgewerk"
    r"|\buppdater|\bzaktualizow|\bprzesz|обнов|перешёл|перешел|перей[шт]|перех|оновив|оновл|yükselt|güncel"
    r"|geçtim|geçtik"
    r"|升级|升級|更新|降级|换成|アップ|上げ|下げ|更新|変更|업데이트|업그레이드|변경|ترقية|تحديث|حدثت|رقيت",
    re.IGNORECASE,
)
"""Matches words that express a change of version, in several languages."""
_TO = lazy.compile(
    r"[\w.+-]{0,8}(?:\s?\([^()\n]{0,30}\))?\W{0,4}"
    r"(?:\b(?:to|auf|zu|à|vers|a|al|para|naar|till|do|na|на|до)\b|->|→|⇒|=>|到|至|升级到|升級到|から|에서"
    r"|'?[dt][ae]n\b|إلى)"
    r"[^\n\d.,;]{0,24}?(?P<version>\d{1,3}(?:\.\d{1,4}){0,3}(?:[-.]?(?:rc|post)\d{0,3})?)(?![\w.]\d)",
    re.IGNORECASE,
)
"""Matches the text between the old version and the new one."""
WORKING = ("elsewhere", "works")
"""Kinds of sentences about a run that works."""
WORKS = 0.5
"""A sentence counts as one of these kinds only if the probability of its kind is higher than this."""
_RELEASE = lazy.compile(r"[12]\.\d{1,2}(?:\.\d{1,2})?")
_CLAUSE = lazy.compile(r"[.!?;。！？；](?:\s|$)|[。！？；，,]")
_OTHER = lazy.compile(
    r"numpy|torch|python|protobuf|cudnn|cuda|driver|pandas|transformers|\bpip\b|scikit|opencv|ubuntu|\bjax\b",
    re.IGNORECASE,
)
_ARROW = lazy.compile("->|→|⇒|=>")
_FROM = lazy.compile(r"\b(?:from|von|desde|depuis|da|od|с)\s+(?:[a-z]{1,12}\s+)?v?$", re.IGNORECASE)
"""Matches "from" before the old version: from TF 2.4 to 2.5."""
_NAMED = lazy.compile(r"(?:->|→|⇒|=>)\W{0,4}(?P<name>[^\W\d_][\w-]{2,})\W{0,3}v?\d")
"""Matches an arrow that leads to the version of something that is named: 2.19.0 -> numpy 2.1."""
_OWN = lazy.compile(r"tensorflow|tf|cuda|cudnn|driver|python|version|treiber|pilote|верс|版本", re.IGNORECASE)
_REMOVED = lazy.compile(r"-(?P<start>[^-\n][^\n]{0,200}?)\d+(?:\.\d+)+", re.MULTILINE)
"""Matches a removed line in a diff, up to and including a version."""
NEAR = 4
"""In a diff, the line that replaces a removed one is at most this many lines below it."""


def without_replaced(text: Text) -> Text:
    """Return the text without the lines of a diff that a line with another version replaces."""
    lines = list(text.lines())
    left: list[tuple[int, str]] = []
    for at, (number, line) in enumerate(lines):
        removed = _REMOVED.match(line)
        added = removed is not None and any(
            following.startswith("+" + removed["start"]) for _, following in lines[at + 1 : at + 1 + NEAR]
        )
        left.append((number, "" if added else line))
    return type(text).of(text.name, left, text.total)


def after_changes(facts: Sequence[Fact], said: Collection[int]) -> Iterator[Fact]:
    """Yield the facts. If somebody changed from one version to another, the new version becomes the current
    one, and the old one that of an earlier run, as does a version in a sentence about what works elsewhere.
    said: the numbers of the lines that contain sentences."""
    sentences: dict[int | None, list[SentenceKind]] = {}
    for fact in facts:
        if isinstance(fact, SentenceKind):
            sentences.setdefault(fact.source.line, []).append(fact)
    for fact in facts:
        if isinstance(fact, VERSIONS) and fact.rank in (FORM, PROSE) and fact.source.line in said:
            current = list(_current(fact, fact.source.text))
            if len(current) == 1 and _of_working_run(fact.version, sentences.get(fact.source.line, ())):
                yield replace(fact, rank=OF_WORKING_RUN)
            else:
                yield from current
        else:
            yield fact


def _of_working_run(version: str, sentences: Sequence[SentenceKind]) -> bool:
    """Whether a version is stated only in sentences about a run that works. sentences: those of its line."""
    stating = [sentence for sentence in sentences if version in sentence.source.text]
    return bool(stating) and all(
        sentence.kind in WORKING and sentence.probability > WORKS for sentence in stating
    )


def _current(fact: Version, line: str) -> Iterator[Fact]:
    """Yield the fact. If its line says that somebody changed from its version to another one, yield it as the
    version of an earlier run, and then a fact with the new version."""
    version = fact.version
    at = re.search(rf"(?<![\d.]){re.escape(version)}", line)
    if at is None:
        yield fact
        return
    newer = _TO.match(line, at.end())
    if newer is not None and not (
        _ARROW.search(newer[0]) or CHANGE.search(line) or _FROM.search(line, 0, at.start())
    ):
        newer = None
    named = None if newer is None else _NAMED.search(newer[0])
    if named is not None and not (_OWN.match(named["name"]) or CHANGE.match(named["name"])):
        newer = None  # the arrow leads to the version of another product
    if newer is None and isinstance(fact, TensorFlowVersion):
        newer = _later_release(line, at.end())
    if newer is not None and _plausible(fact, newer["version"], version):
        yield replace(fact, rank=OF_WORKING_RUN)
        yield replace(fact, version=newer["version"])
    else:
        yield replace(fact, rank=OF_WORKING_RUN) if elsewhere(at) else fact


def _plausible(fact: Version, newer: str, older: str) -> bool:
    """Whether `newer` can be a version of the fact's product. older: the version before the change."""
    if newer.count(".") < min(older.count("."), 1):
        return False
    if isinstance(fact, TensorFlowVersion):
        return _RELEASE.match(newer) is not None
    if isinstance(fact, CudaVersion):
        return plausible_cuda(newer)
    if isinstance(fact, CudnnVersion):
        return plausible_cudnn(newer)
    if isinstance(fact, PythonVersion) and not re.match(r"[23]\.\d", newer):
        return False
    return len(newer.split(".")[0]) == len(older.split(".")[0])


def _later_release(line: str, start: int) -> re.Match[str] | None:
    """Match the TensorFlow release to which somebody changed, if it follows later in the line, in a clause
    that names no other product."""
    for change in CHANGE.finditer(line, start):
        newer = _TO.match(line, change.end())
        clause = _CLAUSE.split(line[: change.start()])[-1] + (newer[0] if newer is not None else "")
        if newer is not None and _RELEASE.fullmatch(newer["version"]) and not _OTHER.search(clause):
            return newer
    return None
