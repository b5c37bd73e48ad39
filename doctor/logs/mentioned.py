"""Reads the versions and cards that people mention, with a small grammar and a lexicon.

`read_mentioned` reads the lines of a report that no program printed. It returns facts only of the kinds that
nothing else in the report mentions. A version belongs to the nearest product in its clause, before the
version ("tf gpu 1.4.1") or after it ("the 396 driver"). A version without a product ("since 2.1.0") belongs
to the driver if it has the form of a driver version, or to TensorFlow if it is the number of a release. A
version that somebody needs, lacks or has on another machine is not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import (
    EVIDENCE_LIMIT,
    INFERRED,
    OF_WORKING_RUN,
    PROSE,
    CudaVersion,
    CudnnMismatch,
    CudnnVersion,
    DriverVersion,
    Fact,
    Gpu,
    Package,
    PythonVersion,
    Source,
    Symptom,
    TensorFlowVersion,
    normalised,
)
from doctor.logs.changed import CHANGE, VERSIONS
from doctor.logs.signatures.signature import words
from doctor.logs.signatures.versions.plausible import (
    cudnn_text,
    plausible_cuda,
    plausible_cudnn,
    plausible_driver,
    plausible_tensorflow,
    release_text,
)
from doctor.logs.signatures.versions.spelling import DRIVER, asked_for, elsewhere, given_up, works_there
from doctor.logs.windows import PRINTED
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.logs.text import Text

LINES = 400
"""Only this many lines are read, at the beginning of the input."""
LONGEST = 600
"""At most this many characters of a line are read."""
CROWD = 16
"""At most this many versions are read from a line. A line with more versions is a list."""
_TOKEN = lazy.compile(
    r"(?P<version>(?<![A-Za-z]\.)\d{1,9}(?:\.\d{1,9}){0,4}(?:\.x)?"
    r"(?:[-.]?(?:rc|alpha|beta|dev|post)[-.]?\d{1,9})?(?![A-Za-z\d]))"
    r"|(?P<word>h5py|[A-Za-zÀ-ɏ]{1,40}(?:[-_+][A-Za-z]{1,40}){0,6})|(?P<script>[^\W\d_a-zA-ZÀ-ɏ]{1,80})"
    r"|(?P<mark>[^\s\w])"
)
_PRODUCTS = (
    (
        "tensorflow",
        r"(?:lib)?(?:tensorflow|ten[sz]\w{2,6}low|tensorlfow|tf)"
        r"(?:[-_]?(?:gpu|cpu|nightly|windows|linux|x))*",
    ),
    ("cudnn", r"(?:lib)?cudnn(?:[-_]?v)?"),
    ("cuda", r"cuda(?:[-_]?(?:toolkit|v|sdk|runtime))?|toolkit|nvcc|(?:lib)?cudart"),
    ("driver", rf"(?:nvidia[-_ ]?)?(?:{DRIVER}|smi|utils)|nvidia|nvrm|modinfo"),
    ("python", r"python|py|cpython|venv"),
    (
        "package",
        r"numpy|protobuf|keras|h5py|tf[-_]keras|ml[-_]dtypes"
        r"|tensorflow[-_](?:text|io|addons|probability|quantum|directml[-_]plugin)",
    ),
)
_PRODUCT = tuple((name, lazy.compile(pattern, re.IGNORECASE)) for name, pattern in _PRODUCTS)
_OF_DRIVER = lazy.compile(rf"{DRIVER}|branch")
_NAME = lazy.compile(r"[\w-]{1,24}")
_LINK = frozenset(
    words(
        "version|versions|ver|v|release|r|is|was|at|now|currently|still|says|shows|reports|reads|installed|"
        "box|host|from|went|back|up|down|jumped|bumped|gpu|cpu|the|it|of|"
        "build|package|lib|library|libs|runtime|sdk|has|have|only|already|since|in|on|with|using|updated|"
        "upgraded|to|downgraded|lowered|moved|changed|apparently|exactly|namely|latest|newest|current|took|"
        "got|gets|gives|gave|pulls|pulled|picked|image|container|machine|server|system|computer|pc|laptop|"
        "here|my|this"
    )
)
"""Words that may come between a product and its version."""
_BEFORE_BARE = frozenset(
    words("in|on|to|with|since|using|took|got|gets|gives|gave|pulls|pulled|picked|installed")
)
"""Words after which a TensorFlow release may appear without the name TensorFlow."""
SHORT = 3
"""Words of this length are articles and prepositions in every language ("la", "auf", "на"), except _NAMES."""
_NAMES = frozenset(
    words(
        "pip|jax|wsl|gcc|g|sm|cc|cp|os|r|v|ray|tfx|mkl|dlc|yum|apt|git|ssh|ram|cpu|gpu|usb|pci|mpi|vm|tbb|"
        "cuda|mac|ios|api|sdk|xla|trt|rt|ort|uv|ml|ai|llm|gpt|yolo|x|gb|mb|ghz|fps|gen|bit|go|net|js|sp|kde|"
        "deb|rpm|k|s|c|d|l|m|n|p|t|no|faq|and|for|was|are"
    )
)
"""Short names of products, and other short words before a number that is no release of TensorFlow."""
_UNIT = lazy.compile(
    r"\s?(?:%|>[&/]|[x×*]\b|[gmk]i?b\b|[gm]hz\b|m?s\b|sec|min|hours?\b|h\b|days?\b|steps?\b|epochs?\b"
    r"|images?\b|times\b|fps\b|seconds?\b|bits?\b|years?\b|weeks?\b)",
    re.IGNORECASE,
)
_DRIVER = lazy.compile(r"[1-9]\d\d\.\d{2,3}(?:\.\d{2})?")
"""Matches the form of a driver version, which no other version in a report has."""
_THREE_PARTS = lazy.compile(r"\d+\.\d+\.\d+")
_BOUND = lazy.compile(r"(?<![-=])[<>≥≤~^]=?\s?$")
_MUST = lazy.compile(
    r"必须|需要|要求|\b(?:must|should|needs?|has to|have to|require[ds]?|please|try)\b", re.IGNORECASE
)
"""Matches words before a version that somebody needs or recommends."""
_IS = lazy.compile("的是|版本|->|=>|→")
"""Matches words and arrows between a product and the version that was installed."""
BEFORE = 40
"""A word that _MUST matches counts if it is at most this many characters before a product."""
_OFFERED = lazy.compile(r"nvidia-?smi\b|driver version|__cuda", re.IGNORECASE)
"""Matches words that show that a CUDA version near them is the one that the driver supports."""
_STOP = lazy.compile(r"[.!?;]\s|[。！？；]")
"""Matches the end of a sentence."""
_SPAN = lazy.compile(r"(?s:.*)")
"""Matches the text between two offsets, for functions that take a match."""
_SUBJECT = lazy.compile(r"tensor|\btf\d?\b|keras|cudnn", re.IGNORECASE)
_CARD_LIKE = lazy.compile(r"(?:9|10|16|20|30|40|50)[5-9]0|H20|T[46]00|V-100", re.IGNORECASE)
"""Matches part of everything that _CARD, _NUMBER and _BARE_NUMBER match, which take a while to compile."""
_CARD = lazy.compile(
    r"(?<![\w.-])(?:(?:RTX|GTX)[ -]?)?(?:9[5-8]0|10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[6-9]0|50[6-9]0)"
    r"(?: ?(?:ti|super)|s)(?![a-z])|(?<![\w.])H20(?![\w.])|(?<![\w-])T[46]00\b|\bV-100\b",
    re.IGNORECASE | re.ASCII,
)
"""Matches the number of a card with its suffix; together, the two can only mean a card."""
_NUMBERS = "10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[6-9]0|50[6-9]0"
_COUNTED = (
    r"(?:image|sample|step|epoch|iteration|record|file|row|pixel|point|frame|class"
    r"|word|token|example|parameter|user|second|minute|page|value|item|time|video|neuron|unit|x)"
    r"\w{0,2}\b"
)
"""Matches what people count; a number before it is not a card."""
_NUMBER = lazy.compile(
    r"(?:^|[,，;、(:：]|\b(?:single|an?|one|my|the|on)|[用是张块片卡有买的在上换为])\s?"
    rf"(?P<card>{_NUMBERS})(?=\s?(?:$|[,，;、):：?？。.](?!\d)|\d{{1,2}} ?G\b|[的卡显上机服和跟能]))"
    rf"|\b(?:an?|my|the|our|new) (?P<beside>{_NUMBERS})"
    rf"(?=[,;:?!)]|\.(?:\s|$)| (?!{_COUNTED})[a-z])"
    rf"|(?<![\w.:-])(?P<chinese>{_NUMBERS})(?=\s?[的显]?(?:显?卡|机器|服务器|笔记?本))",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches the number of a card without a suffix, as an item of a list, behind an article, or beside the
Chinese words for a card or its use."""
_BARE_NUMBER = lazy.compile(
    rf"(?<![\w.:/$€-])(?<![=<>] )(?:{_NUMBERS})(?![\w%:/-]|[.,]\d| ?{_COUNTED})", re.IGNORECASE | re.ASCII
)
"""Matches the number of a card without any sign of a card; it counts beside another card."""

_KIND = (
    r"(?:an? |any |my own )?(?:(?:nvidia|nvida|nividia|nvidea|dedicated|discrete|cuda"
    r"|cuda[- ](?:capable|enabled)|physical) ){0,2}"
)
_COMPUTER = (
    r"(?:pc|computer|laptop|machine|server|box|notebook|desktop|system|mac\w*|workstation|cluster|instance"
    r"|node|host|vm|ubuntu|debian|linux)s?"
)
_NO_GPU = lazy.compile(
    r"\b(?<!if )(?:I|we) (?:(?:currently|still|just|really) )?"
    r"(?:(?:do|did)(?: not|n'?t) (?:have|own)|(?:have|own) no)"
    rf" {_KIND}(?:gpus?|graphics? cards?)\b(?! \w+)"
    rf"|\b(?:has|have) no {_KIND}(?:gpus?|graphics? cards?) (?:at all|at hand|of my own|locally|in|on)\b"
    rf"|\bno {_KIND}(?:gpus?|graphics? cards?) (?:of my own|(?:on|in) (?:my|this|the) {_COMPUTER})\b"
    rf"|\b(?:my|our|this|the|an?) (?:\w+ ){{0,2}}{_COMPUTER}(?: (?:that|which|where)(?: \w+){{1,4}})?"
    rf" (?:ha(?:s|ve) no|do(?:es)?(?: not|n'?t) have|without) {_KIND}(?:gpu|graphics? card)s?\b"
    r"|\b(?:I|we|you) (?:\w+ )?(?:only|just) have (?:an? |the )?CPUs?\b(?! \w)"
    rf"|\b(?:I|we|{_COMPUTER}) (?:have|has|with) (?:only|just) (?:an? |the )?CPUs?\b(?! \w)"
    rf"|\bCPU[- ]only {_COMPUTER}\b|\b{_COMPUTER} with [*_]{{0,2}}CPU[*_]{{0,2}} only\b"
    rf"|\bthere (?:is|are) no {_KIND}(?:gpus?|(?:graphics? )?cards?) (?:in|on|inside) (?:my|this|the)"
    rf" {_COMPUTER}\b",
    re.IGNORECASE,
)
"""Matches a statement that somebody's own computer has no GPU, but not TensorFlow's "Ignore above cudart
dlerror if you do not have a GPU"."""

_DENYING = ("no ", "not ", "nt ", "n't ", "without ", "only", "just")
"""Whatever _NO_GPU matches contains one of these texts."""
_SUPPOSED = lazy.compile(
    r"\b(?:(?:or|either|if|maybe|perhaps|because|unless) you|you(?: are|'re) (?:trying|attempting|running))\b"
    r"[^.\n]{0,80}$",
    re.IGNORECASE,
)
"""Matches the text before a statement that is only a program's guess about its user's computer ("or you are
trying to run it on a system without a GPU")."""


def read_mentioned(text: Text, printed: Collection[int], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that people mention, but only of the kinds that `facts` lacks. printed: the numbers of
    the lines that a program printed."""
    works = [f for f in facts if isinstance(f, TensorFlowVersion) and f.rank == OF_WORKING_RUN]
    others = [fact for fact in facts if fact not in works]
    kinds = {CudnnVersion if type(fact) is CudnnMismatch else type(fact) for fact in others}
    working = {fact.version for fact in works}
    every = {TensorFlowVersion, CudaVersion, CudnnVersion, DriverVersion, Gpu, PythonVersion, Package}
    wanted = every - kinds
    if not wanted:
        return []
    found: list[Fact] = []
    bare: list[Fact] = []
    cards: list[Gpu] = []
    for count, (number, line) in enumerate(text.lines()):
        if count >= LINES:
            break
        line = line[:LONGEST]
        if number in printed or PRINTED.match(line):
            continue
        source = Source(text.name, number, line.strip()[:EVIDENCE_LIMIT])
        absent = None if Gpu in kinds or "cudart" in line else _no_gpu(line)
        if absent is not None and not elsewhere(absent):
            found.append(Symptom(source, "stated-absent", (("what", "gpu"),)))
        for fact in (*_versions(line, source), *_cards(line, source)):
            if type(fact) in wanted and getattr(fact, "version", None) not in working:
                (bare if getattr(fact, "rank", 0) == INFERRED else found).append(fact)
        if Gpu in wanted and _CARD_LIKE.search(line):
            cards += (Gpu(source, m[0], rank=PROSE) for m in _BARE_NUMBER.finditer(line) if not elsewhere(m))
    named = {fact.name for fact in found if isinstance(fact, Gpu)}
    found += (card for card in cards if named and not any(str(card.name) in str(name) for name in named))
    if bare and _SUBJECT.search(text.text[: 1 << 16]):
        stated = {type(fact) for fact in found}
        for kind in (TensorFlowVersion, DriverVersion):
            alone = [fact for fact in bare if type(fact) is kind]
            if kind not in stated and len({fact.version for fact in alone}) == 1:
                found.append(alone[0])
    return found


def _no_gpu(line: str) -> re.Match[str] | None:
    lowered = line.lower()
    named = any(word in lowered for word in ("gpu", "graphic", "cpu", "card"))
    denied = named and any(word in lowered for word in _DENYING)
    found = _NO_GPU.finditer(line) if denied else ()
    return next((match for match in found if not _SUPPOSED.search(line[: match.start()])), None)


def _cards(line: str, source: Source) -> Iterator[Fact]:
    if _CARD_LIKE.search(line) is None:
        return
    whole = list(_CARD.finditer(line))
    numbers = (m for m in _NUMBER.finditer(line) if not any(m.start() <= c.start() < m.end() for c in whole))
    for match in (*whole, *numbers):
        if not elsewhere(match) and not asked_for(match) and not given_up(line, *match.span()):
            yield Gpu(source, _card_of(match), rank=PROSE)


def _card_of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("card") or groups.get("beside") or groups.get("chinese") or match[0]


def _versions(line: str, source: Source) -> Iterator[Fact]:
    tokens = list(_TOKEN.finditer(line))
    places = [place for place, token in enumerate(tokens) if token.lastgroup == "version"][:CROWD]
    for place in places:
        token = tokens[place]
        if _BOUND.search(line, 0, token.start()):
            continue
        product, begin = _product(tokens, place)
        if product == "cuda" and (
            _OFFERED.search(_sentence(line, begin, token.end()))
            or (line[max(0, begin - 1) : begin] == "/" and ":" in line)
        ):
            continue
        if _MUST.search(line, max(0, begin - BEFORE), token.start()):
            continue
        span = _SPAN.match(line, begin, token.end())
        if product == "other" or span is None or elsewhere(span):
            continue
        if asked_for(span) and not _IS.search(line, begin, token.start()):
            continue
        if _UNIT.match(line, token.end()):
            continue
        if product == "package":
            if line[:begin].endswith("."):  # TensorFlow.Keras is a package for .NET
                continue
            yield Package(source, normalised(_NAME.findall(line, begin)[0]), token["version"])
            continue
        fact = _fact(product, token["version"], source)
        works = product != "driver" and works_there(line, token.start(), token.end())
        if works and isinstance(fact, VERSIONS) and fact.rank == PROSE:
            yield replace(fact, rank=OF_WORKING_RUN)
        elif fact is not None:
            yield fact


def _sentence(line: str, start: int, end: int) -> str:
    """Return the sentence around a part of a line."""
    floor = max((cut.end() for cut in _STOP.finditer(line, 0, start)), default=0)
    stop = _STOP.search(line, end)
    return line[floor : stop.start() if stop is not None else len(line)]


def _product(tokens: Sequence[re.Match[str]], place: int) -> tuple[str, int]:
    """Return the product of a version, and the offset of its name. "other" stands for a product without a
    fact type, "bare" for no product but a preposition, "" for neither."""
    start = tokens[place].start()
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and after.lastgroup == "word" and _OF_DRIVER.fullmatch(after[0].lower()):
        return "driver", start
    none = ""  # the answer if no product comes before the version
    linked = False  # whether the last word that was looked at may come before a version without a product
    script = False  # whether Chinese, Cyrillic or other letters are between the product and the version
    strange = False  # whether words that are not in _LINK are between the product and the version
    for at in range(place - 1, max(0, place - 6) - 1, -1):
        token, word = tokens[at], tokens[at][0].lower()
        if token.lastgroup == "mark":
            if word in ",;，。；!?|.":
                break
            continue
        if token.lastgroup == "version":
            older = none == "bare" and _product(tokens, at)[0] in ("", "bare")  # "from 2.9 to 2.15"
            return ("bare" if older else "other"), start
        if token.lastgroup == "script":
            if _OF_DRIVER.match(word):
                return "driver", token.start()
            script = True
            continue
        if word == "flow" and at and tokens[at - 1][0].lower() == "tensor":
            return "tensorflow", tokens[at - 1].start()
        for name, pattern in _PRODUCT:
            if pattern.fullmatch(word):
                return (name if name == "tensorflow" or not strange else "other"), token.start()
        if CHANGE.match(word):
            linked = False
            continue
        foreign = len(word) <= SHORT and word not in (*_LINK, *_NAMES) and not token[0].isupper()
        if not foreign and word not in _LINK:
            return ("bare" if linked else "other"), start
        linked, strange = foreign or word in _BEFORE_BARE, strange or foreign
        none = "bare" if linked else none
    return none or ("bare" if script else ""), start


def _fact(product: str, version: str, source: Source) -> Fact | None:
    """Return the fact for a version of a product, or None if the product has no such version."""
    numbers = [int(part) for part in re.findall(r"\d{1,9}", version)]
    major, minor = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if product in ("", "bare", "driver") and _DRIVER.fullmatch(version) and plausible_driver(version):
        return DriverVersion(source, version, "any", PROSE if product == "driver" else INFERRED)
    if product == "driver":
        branch = len(numbers) == 1 and 300 <= major <= 999
        return DriverVersion(source, version, "any", PROSE) if branch else None
    plain = ".".join(map(str, numbers))
    if product == "cuda":
        return CudaVersion(source, plain, rank=PROSE) if plausible_cuda(plain) else None
    if product == "cudnn":
        known = cudnn_text(plain)
        return CudnnVersion(source, known, rank=PROSE) if plausible_cudnn(known) else None
    if product == "python":
        return PythonVersion(source, version, rank=PROSE) if major == 3 and 3 <= minor <= 20 else None
    if len(numbers) < 2 or not plausible_tensorflow(major, minor):
        return None
    if product == "tensorflow":
        return TensorFlowVersion(source, release_text(version), rank=PROSE)
    enough = product == "bare" and "capab" not in source.text and (major == 2 or (major == 1 and minor >= 4))
    found = enough or _THREE_PARTS.match(version)
    return TensorFlowVersion(source, version, rank=INFERRED) if found else None
