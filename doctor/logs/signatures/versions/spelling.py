"""Patterns for the ways in which people write versions, and functions that tell the versions that people have
from those that they want."""

from __future__ import annotations

import re
from functools import lru_cache

from doctor import lazy
from doctor.facts import OF_WORKING_RUN, PROSE

RELEASE = r"[0-2]\.\d{1,2}(?:\.\d{1,2})?(?:[-.]?(?:rc|alpha|beta|a|b|dev|post)[-.]?\d{0,8})?"
"""A pattern for a TensorFlow release: 2.15.0, 2.16.0rc0, 2.4.0-dev20200808."""

FOREIGN_DRIVERS = (
    *("treiber", "pilote", "controlador", "драйвер", "sürücü", "sterownik", "drivrutin", "ovladač"),
    *("stuurprogramma", "驱动", "驅動", "ドライバ", "드라이버", "تعريف", "برنامج التشغيل"),
)
"""The word "driver" in other languages. A grammatical ending may follow it."""
FOREIGN_DRIVER = rf"(?:{'|'.join(FOREIGN_DRIVERS)})[^\W\d_]{{0,4}}"
DRIVERS = ("driver", *FOREIGN_DRIVERS)
DRIVER = rf"(?:{'|'.join(DRIVERS)})[^\W\d_]{{0,4}}"
"""Matches the word "driver" in English or any of these languages."""

NAMED = r"(?:(?:__)?[*`'\" ]{0,6}(?:[:：=]|\bis\b)| [-–](?= ))"
"""Matches the text between the name of a field and its value: Markdown, quotation marks and a separator."""
AFTER_NAME = ("__", *"*`'\" :：=", "is")
"""The texts with which a match of NAMED may begin. They are appended to a name to make literals."""
EMPHASIS = r"[*_`'\" ]{0,6}"
"""Matches Markdown and quotation marks around a value."""

MOVED = (
    r"(?<!should )(?<!could )(?<!please )(?<!must )(?<!have to )(?<!need to )(?<!try to"
    r" )\b(?:updat|upgrad|downgrad|re-?install|install|switch|chang|mov)\w* (?:back )?"
)
"""Matches a statement that somebody moved to another version, but not advice to do so."""

_WANTED = (
    r"\b(?:requires?|needs?|wants?|expects?|supports?|built (?:for|against|with)|compiled"
    r" (?:for|with|against)|compatible with|looking for"
    r"|looks for|instead of|at least|should be|must be|(?:has|have) to be|try|not|no|upgrade to|downgrade to"
    r"|install|need|search(?:es|ing)?"
    r" for|for|than|below|above|before|until|since|from)"
    r"\s+(?:the\s+|a\s+|an\s+)?$"
    r"|\b(?:tutorials?|docs?|documentation|tables?|guides?|readme|wiki|page) (?:says?|lists?|states?)\b"
    r"[^.;\n]{0,20}$"
    r"|(?:低于|高于|小于|大于|不低于|需要|要求|要|只到|最高到?|最低|至少|支持(?:一下)?|必须)\s?(?:是|为)?\s?$"
)


_DENIED = (
    r"\+(?! ?\w)|,? ?(?:or|and) (?:later|newer|higher|above|greater|up|older|earlier|lower|below)\b"
    r"|\s?(?:以上|以下|及以上)"
    r"|\W{0,3}(?: ?(?:toolkit|runtime|libraries|libs|dlls))? (?:(?:is|was|are|were|has|have)(?: not|n't)|not)"
    r" (?:yet |been )?(?:installed|there|present|available)\b"
)


_ELSEWHERE = lazy.compile(
    r"\b(?:colleague|friend|co-?worker|another|other|second|different|my old|the"
    r" old|previous|work|home)(?:'s|s')? (?:\w+"
    r" )?(?:machine|computer|pc|laptop|server|box|system|desktop|workstation|image|container)s?\b"
    r"|\b(?:colleague|friend|co-?worker|neighbou?r)s? (?:has|have|uses?|runs?|got)\b"
    r"|\b(?:before this|before that|previously|formerly|had tried|at first i)\b"
    r"|\b(?:my|the|our) (?:old|previous|former) (?:[\w-]+ )?(?:env|venv|environment)s?\b"
    r"|\breadme(?: (?:says|states|names|asks for|wants))?\W{0,3}[:：]|\bauthors?['’]"
    r"|\b(?:want|plan|hope|intend|would like|going|wish) to (?:move|upgrade|switch|go|update|migrate)\b|\bam?"
    r" einem anderen (?:rechner|computer|pc)\b",
    re.IGNORECASE,
)
"""Matches words that show that a sentence is about another machine, an earlier attempt or a plan."""
_HERE = lazy.compile(r"\b(?:now|currently|this (?:machine|computer|one)|here|same)\b", re.IGNORECASE)
SENTENCE = 240
"""A sentence is assumed to reach at most this many characters before and after a match."""


def elsewhere(match: re.Match[str]) -> bool:
    """Whether the sentence around a match is about another machine, an earlier attempt or a plan."""
    text, start, end = match.string, match.start(), match.end()
    before = re.split(r"[.!?;]\s|\n", text[max(0, start - SENTENCE) : start])[-1]
    after = re.split(r"[.!?;](?:\s|$)|\n", text[end : end + SENTENCE])[0]
    return of_another(f"{before}{match[0]}{after}")


@lru_cache(maxsize=256)
def of_another(sentence: str) -> bool:
    """Whether a sentence is about another machine, an earlier attempt or a plan."""
    return _ELSEWHERE.search(sentence) is not None and _HERE.search(sentence) is None


_EXCHANGED = lazy.compile(
    r"\b(?:swapp?|replac|upgrad|switch|exchang|chang|mov|went|tausch|getauscht|gewechselt|remplac|cambi"
    r"|troqu?|sostitu|замен|换)\w*(?: over)?(?: from| von| de| da)?(?: my| the| our| an?| meine?n?| ma| mi"
    r"| la| minha)?(?: old| alte)? ?(?:nvidia |geforce |rtx |gtx ){0,2}$",
    re.IGNORECASE,
)
"""Matches the words before a card that somebody exchanges."""
_FOR = lazy.compile(
    r"\S{0,8} (?:(?:with|for|to|by|gegen|auf|durch|par|por|per|con|на)|成|到)\b", re.IGNORECASE
)
"""Matches the words between that card and the one that replaces it."""


def given_up(text: str, start: int, end: int) -> bool:
    """Whether somebody replaced the card between two offsets of a text by another one."""
    return (
        _EXCHANGED.search(text, max(0, start - 40), start) is not None and _FOR.match(text, end) is not None
    )


_GPU = r"(?:gpus?|cards?|graphics card|grafikkarte|\w{0,4}-?gpu)"
_WORKS = lazy.compile(
    rf"\b(?:works|worked|is working|(?:is|was|are|were)(?: all)?"
    rf" (?:fine|ok|okay)|läuft|lief|funktioniert|geht|funciona\w{{0,3}}|marche|fonctionne)\b"
    r"|\b(?:finds?|found|detects?|detected|sees?|saw|shows?|lists?|recogni[sz]e[sd]?|uses?|used"
    r"|registers?)\b(?:"
    rf" \w{{1,12}}){{0,2}} {_GPU}\b"
    rf"|\b{_GPU} (?:is|was|are|were|gets|got)"
    r" (?:found|detected|seen|recogni[sz]ed|used|there|visible|available|listed)\b"
    r"|\b(?:it's|it is|it was) (?:detected|found|recogni[sz]ed|there|fine)\b"
    r"|\b(?:does|do|did)\W{0,3}$|работа(?:ет|ло|ла)|可以用|能用|正常",
    re.IGNORECASE,
)
"""Matches words that say that a run works or uses the GPU."""
_DOES = lazy.compile(r"\b(?:does|do|did)\b", re.IGNORECASE)
"""Matches, anywhere in a block, the verbs with which a clause may end that says that a run works ("2.10
does")."""
_NOT_SO = lazy.compile(
    r"n't\b|\b(?:not|no|never|neither|cannot|nothing|none|only|cpu|fail\w*|errors?|until|if|whether|should"
    r"|would|could|may|might|will|i|we|want\w*|try|nicht|kein\w*|non|pas|sin|нет|не)\b|不|没|無|ない|\?",
    re.IGNORECASE,
)
"""Matches words that negate a clause that says that a run works, or turn it into a wish, a question or a
statement about the CPU."""
_CLAUSE = lazy.compile(
    r"(?<=[.!?;])\s|\n|[,，](?=\s|[^\x00-\x7f])|[。；？！)）]|[(（](?=[^()（）\n]{0,60}\d)"
    r"|\s[-–]{1,2}\s|\b(?:but|while|whereas|although|though|however|aber|mais|pero|sondern|но)\b|但"
)
"""Matches the end of a clause."""
_WITH = lazy.compile(r"\W{0,4}(?:back )?(?:with|in|on|under|using|mit|unter|avec|con|с|на)\b", re.IGNORECASE)
"""Matches the beginning of an adverbial phrase ("with CUDA 11, …"). The clause continues after the comma that
ends the phrase."""


_OUTCOME = lazy.compile(
    r"^[^\n:]{0,40}\((?P<label>[^()\n]{1,24})\) ?:|(?:->|=>|→|⇒|：|—|:)\s?(?P<end>[^\n>→⇒]{1,60})$",
    re.MULTILINE,
)
"""Matches the outcome of a run in a line that describes it: behind the name of the run in parentheses ("PC 1
(works): …"), or at the end of the line ("… -> GPU found")."""
_WELL = lazy.compile(
    r"\s*(?:it |that )?(?:works?|working|worked|ok|okay|fine|good|yes|geht|läuft|funktioniert|marche"
    r"|fonctionne|funciona|funziona|działa|çalışıyor|работает|正常|可以用?|能用|動く|됨|✓|✔|✅|👍"
    rf"|{_GPU} (?:is )?(?:found|used|listed|seen|detected|there)|finds the {_GPU}"
    rf"|(?:trains?|runs?|computes?)(?: fine| well)?(?: on the {_GPU})?|{_GPU}\W*$)(?![\w'’])",
    re.IGNORECASE,
)
"""Matches the outcome of a run that works."""


_OF_GPU = lazy.compile(r"\s*(?:\w{1,4} )?gpus?(?![a-z])", re.IGNORECASE)
"""Matches the outcome of a run that begins with the GPU, in any language."""


def well(outcome: str) -> bool:
    """Whether the outcome of a run says that it works ("yes", "GPU found")."""
    says = _WELL.match(outcome) or _OF_GPU.match(outcome)
    return says is not None and _NOT_SO.search(outcome) is None


_EARLIER = lazy.compile(
    r"\W{0,4}(?:before|earlier|old|previous(?:ly)?|было|раньше|до обновления|vorher|früher|alte[rs]?|avant"
    r"|ancien(?:ne)?|antes|viejo|prima|vecchio|przedtem|stare|önce|eski|以前|之前|原来|旧|이전|기존)"
    r"(?: [^\W\d]{1,12})?\s?[:：]",
    re.IGNORECASE,
)
"""Matches the name of an earlier state at the beginning of a line ("before: …")."""


_BEFORE_OUTCOME = frozenset(":：>→⇒—")
"""Whatever _EARLIER and _OUTCOME match contains one of these characters."""


def _good_run(text: str, start: int, end: int) -> bool:
    """Whether the line between two offsets describes a run and says that it works, or an earlier state."""
    floor = text.rfind("\n", 0, start) + 1
    ceiling = text.find("\n", end)
    line = text[floor : ceiling if ceiling >= 0 else len(text)][: 2 * SENTENCE]
    if _BEFORE_OUTCOME.isdisjoint(line):
        return False
    if _EARLIER.match(line):
        return True
    outcome = _OUTCOME.search(line)
    said = (outcome["label"] or outcome["end"] or "") if outcome is not None else ""
    return said != "" and well(said)


@lru_cache(maxsize=256)
def _says_works(block: str) -> bool:
    """Whether a block contains words that say that a run works."""
    return (_WORKS.search(block) or _DOES.search(block)) is not None


def works_there(text: str, start: int, end: int) -> bool:
    """Whether the clause around a position says that a run works, so that the versions in it are not those of
    the failing run."""
    if _good_run(text, start, end):
        return True
    around = text[max(0, start // SENTENCE - 1) * SENTENCE : (end // SENTENCE + 2) * SENTENCE]
    if not _says_works(around):  # cached, so this costs little for further positions in the block
        return False
    floor, ceiling = max(0, start - SENTENCE), min(len(text), end + SENTENCE)
    left = max((cut.end() for cut in _CLAUSE.finditer(text, floor, start)), default=floor)
    cuts = [cut.start() for cut in _CLAUSE.finditer(text, end, ceiling)]
    right = next((cut + 1 for cut in cuts), ceiling)
    if len(cuts) > 1 and text[cuts[0]] in ",，" and _WITH.match(text, left, end):
        right = cuts[1] + 1
    clause = text[left:right]
    return _WORKS.search(clause) is not None and _NOT_SO.search(clause) is None


def said_rank(match: re.Match[str], rank: int) -> int:
    """Return the rank of a version in a sentence: OF_WORKING_RUN if the sentence says that TensorFlow works
    with that version, otherwise `rank`."""
    return OF_WORKING_RUN if rank >= PROSE and works_there(match.string, *match.span("version")) else rank


def asked_for(match: re.Match[str]) -> bool:
    """Whether the words around a version say that it is only wanted or is not installed."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    after = match.string[match.end() : match.end() + 80]
    return bool(re.search(_WANTED, before, re.I) or re.match(_DENIED, after, re.I))
