"""Finds the causes that are suggested by the sentences that people wrote in a report.

`read_prose` returns facts (`Prose`, `Likelihood`, `SentenceKind`). `segment` separates the sentences from
programs' output. `classify` reads them with two linear models that were trained on examples
(scripts/training).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import EVIDENCE_LIMIT, Fact, Likelihood, Prose, SentenceKind, Source, Symptom, Words

if TYPE_CHECKING:
    from doctor.logs.text import Text

__all__ = ["MOST", "read_prose", "read_words"]

LONG = 350
"""A text with at least this many characters but no word about GPUs or TensorFlow is about something else."""
_SUBJECT = lazy.compile(
    r"tensor|\btf\d?\b|keras|cuda|cudnn|gpu|nvidia|geforce|\brtx|\bgtx|tesla|quadro|graphics|显卡|显存|グラ"
    r"|그래픽|видеокарт|gráfic|grafik|graphique|ekran kart|\boom\b|\btrain|batch|epoch|训练"
    r"|illegal instruction",
    re.IGNORECASE,
)
DENSITY = 1.7
"""The number of Latin letters to which one Chinese, Japanese or Korean character corresponds. The sentences
in scripts/training/kinds.jsonl have, on average, 62 letters in Latin script, and 36 characters in these
languages."""
MOST = 6
"""At most this many causes are kept for one report."""
OBSERVATIONS = {
    "no device": "no-gpu-said",
    "import": "import-fails-said",
    "installation": "install-fails-said",
    "crash": "crash-said",
    "slow": "slow-start-said",
    "low use": "low-use-said",
    "works": "works-said",
    "elsewhere": "works-elsewhere",
}
"""Maps each kind of sentence to the symptom that it reports."""
_NO_ERROR = lazy.compile(r"^\W{0,3}(?:no|without) (?:errors?|problems?|issues?|warnings?)\b", re.IGNORECASE)
"""Matches a sentence that begins with the statement that there is no error."""
SURE = 0.65
"""A sentence counts as stating one of these symptoms only if the probability of its kind is higher than
this."""
LEAST = 0.02
"""Causes with a lower probability than this are not kept."""


START = 3_000
"""At most this many characters at the start of a report are read as `Words`."""
_WORD = lazy.compile(r"[^\W_]{2,60}")
_DIGIT = lazy.compile(r"\d")
_NUMBER = lazy.compile("0{2,}")


def read_words(text: Text) -> Words:
    """Return the hashes of the words at the start of a report, with 0 in place of each digit. Lines that
    differ only in numbers count once: they show a program's progress."""
    lines = _DIGIT.sub("0", text.text[: 2 * START].lower()).split("\n")
    once = {_NUMBER.sub("0", line): line for line in reversed(lines)}  # of equal lines, the first
    start = "\n".join(reversed(once.values()))[:START]
    hashes = (zlib.crc32(word.encode("utf-8", "replace")) for word in _WORD.findall(start))
    return Words(Source(text.name, 1), tuple(hashes))


def read_prose(text: Text, printed: Collection[int] = ()) -> list[Fact]:
    """Return facts about what people wrote in a report: where they wrote it (`Prose`), the causes that it
    suggests (`Likelihood`), the likeliest first, and the kind of each sentence (`SentenceKind`). printed: the
    numbers of the lines that a program printed."""
    from doctor.logs.prose.scripts import EAST_ASIAN, letters_in
    from doctor.logs.prose.segment import sentences

    said = sentences(text, printed)
    if not said:
        return []
    text_size = sum(len(sentence.text) for sentence in said)
    dense = sum(letters_in(sentence.text, EAST_ASIAN) for sentence in said)
    size = text_size + round(dense * (DENSITY - 1))
    if text_size >= LONG and _SUBJECT.search(text.text) is None:
        return []  # the report has another subject
    from doctor.logs.prose.classify import read_sentences

    reading = read_sentences([sentence.text for sentence in said])
    first = Source(text.name, said[0].line, said[0].text[:EVIDENCE_LIMIT])
    found: list[Fact] = [Prose(first, tuple(sentence.line for sentence in said if not sentence.quotes), size)]
    for code, probability in reading.ranked()[:MOST]:
        if probability < LEAST:
            break
        telling = said[reading.telling(code)]
        source = Source(text.name, telling.line, telling.text[:EVIDENCE_LIMIT])
        found.append(Likelihood(source, code, round(probability, 3)))
    for sentence, (kind, probability) in zip(said, reading.kinds):
        source = Source(text.name, sentence.line, sentence.text[:EVIDENCE_LIMIT])
        found.append(SentenceKind(source, kind, round(probability, 3)))
        if kind in OBSERVATIONS and probability > SURE and not _NO_ERROR.search(sentence.text):
            found.append(Symptom(source, OBSERVATIONS[kind]))
    return found
