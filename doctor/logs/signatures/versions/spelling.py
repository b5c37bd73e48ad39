"""How people spell versions, and how to tell one that they have from one that they ask for."""

from __future__ import annotations

import re

RELEASE = r"[0-2]\.\d{1,2}(?:\.\d{1,2})?(?:[-.]?(?:rc|alpha|beta|a|b|dev|post)[-.]?\d{0,8})?"
"""A TensorFlow release: 2.15.0, 2.16.0rc0, 2.4.0-dev20200808."""

NAMED = r"(?:(?:__)?[*`'\" ]{0,6}(?:[:：=]|\bis\b)| [-–](?= ))"
"""What stands after a field's name: marks of Markdown and quotation, and the sign that its value follows."""
AFTER_NAME = ("__", *"*`'\" :：=", "is")
"""How NAMED can begin: after a name, literals."""
EMPHASIS = r"[*_`'\" ]{0,6}"
"""Marks of Markdown and quotation around a value."""

MOVED = r"(?<!should )(?<!could )(?<!please )(?<!must )(?<!have to )(?<!need to )(?<!try to )\b(?:updat|upgrad|downgrad|re-?install|install|switch|chang|mov)\w* (?:back )?"
"""That something was taken to another version, where nobody is told to do so."""

_WANTED = (
    r"\b(?:requires?|needs?|wants?|expects?|supports?|built (?:for|against|with)|compiled (?:for|with|against)|compatible with|looking for"
    r"|looks for|instead of|should be|must be|not|no|upgrade to|downgrade to|install|need|search(?:es|ing)? for|for|than|below|above|before|until|since|from)"
    r"\s+(?:the\s+|a\s+|an\s+)?$"
)


_DENIED = r"\W{0,3}(?: ?(?:toolkit|runtime|libraries|libs|dlls))? (?:(?:is|was|are|were|has|have)(?: not|n't)|not) (?:yet |been )?(?:installed|there|present|available)\b"


_ELSEWHERE = re.compile(
    r"\b(?:colleague|friend|co-?worker|another|other|second|different|my old|the old|previous|work|home)(?:'s|s')? (?:\w+ )?(?:machine|computer|pc|laptop|server|box|system|desktop|workstation)s?\b"
    r"|\b(?:before this|before that|previously|formerly|had tried|at first i)\b"
    r"|\b(?:want|plan|hope|intend|would like|going|wish) to (?:move|upgrade|switch|go|update|migrate)\b|\bam? einem anderen (?:rechner|computer|pc)\b",
    re.IGNORECASE,
)
"""Words of a sentence about another machine, an earlier attempt or a plan."""
_HERE = re.compile(r"\b(?:now|currently|this (?:machine|computer|one)|here|same)\b", re.IGNORECASE)
SENTENCE = 240
"""Characters before and after a match that are looked at for the rest of its sentence."""


def elsewhere(match: re.Match[str]) -> bool:
    """Whether the sentence around a match speaks of another machine, an earlier attempt or a plan."""
    text, start, end = match.string, match.start(), match.end()
    before = re.split(r"[.!?;]\s|\n", text[max(0, start - SENTENCE) : start])[-1]
    after = re.split(r"[.!?;](?:\s|$)|\n", text[end : end + SENTENCE])[0]
    return of_another(f"{before}{match[0]}{after}")


def of_another(sentence: str) -> bool:
    """Whether a sentence speaks of another machine, an earlier attempt or a plan."""
    return _ELSEWHERE.search(sentence) is not None and _HERE.search(sentence) is None


def asked_for(match: re.Match[str]) -> bool:
    """Whether the words around a version ask for it or deny it, so that it need not be there."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    after = match.string[match.end() : match.end() + 80]
    return bool(re.search(_WANTED, before, re.I) or re.match(_DENIED, after, re.I))
