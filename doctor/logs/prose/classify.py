"""A linear model over character n-grams that computes, from sentences, a probability for each finding code.

scripts/train_prose.py trains the model on scripts/training/sentences.jsonl and writes its weights to
weights.bin. The features are 2- to 5-grams of characters inside words, and pairs of words, with each digit as
0. Of half a million such features in the examples, the model keeps the few thousand that tell the most, by
their hashes. A feature's value is 1 + log of its count, times its inverse document frequency, scaled to unit
length. The model needs no numeric library: one integer holds the weights of an n-gram for all codes, with a
lane of 32 bits for each code. One multiplication and one addition therefore process all codes at once.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from doctor import lazy, resources

HASHES = 2**20
"""The number of different hashes of features."""
SIZES = (2, 3, 4, 5)
"""The lengths of the n-grams."""
SCALE = 256
"""The scale that turns a feature's value into a whole number."""
WHOLE = 1_500
"""At most this many characters of the input are classified as a whole."""
_DIGIT = lazy.compile(r"\d")
_ADVERBS = """
apparently really actually simply obviously just currently somehow basically honestly certainly clearly
definitely probably seemingly literally unfortunately sadly frankly evidently presumably quite
"""
_EMPTY = frozenset(_ADVERBS.split())
"""Adverbs of certainty or regret, which do not indicate the cause."""


def grams(text: str) -> dict[int, int]:
    """Return how often each n-gram and word pair occurs in a string, by its hash."""
    found: dict[int, int] = {}
    get = found.get
    words = [word for word in _DIGIT.sub("0", text.lower()).split() if word.rstrip(",") not in _EMPTY]
    for word in words:
        for number in _of_word(word):
            found[number] = get(number, 0) + 1
    for first, second in zip(words, words[1:]):
        number = hashed(f"{first}_{second}")
        found[number] = get(number, 0) + 1
    return found


def hashed(feature: str) -> int:
    """Return the hash of a feature, from 0 to HASHES - 1."""
    return zlib.crc32(feature.encode("utf-8", "replace")) % HASHES


@lru_cache(maxsize=30_000)
def _of_word(word: str) -> tuple[int, ...]:
    """Return the hashes of a word's n-grams. They are cached because most words occur in many sentences."""
    padded = f" {word[:60]} "
    end = len(padded) + 1
    return tuple(hashed(padded[at : at + size]) for size in SIZES for at in range(end - size))


class Model(NamedTuple):
    """The trained weights. places: the place of each feature that the model keeps, by the feature's hash.
    `rows` contains one byte for each code (offset by 128), feature after feature; `frequencies` contains the
    inverse document frequency of each feature, less 1, in units of `frequency_step`."""

    codes: tuple[str, ...]
    places: dict[int, int]
    step: float
    intercepts: tuple[float, ...]
    temperature: float
    frequency_step: float
    frequencies: bytes
    rows: bytes

    def lanes(self, place: int) -> int:
        """Return a feature's weights, packed into one integer (one lane for each code)."""
        return _lanes(self.rows, place, len(self.codes))

    def scores(self, found: dict[int, int]) -> list[float]:
        """Return one score for each code, from which the probabilities are computed. found: the result of
        `grams`."""
        places, step, frequencies = self.places, self.frequency_step, self.frequencies
        kept = [(places[number], n) for number, n in found.items() if number in places]
        values = {place: (1 + math.log(n)) * (1 + frequencies[place] * step) for place, n in kept}
        length = math.sqrt(sum(value * value for value in values.values())) or 1.0
        total = weight = 0
        for place, value in values.items():
            whole = round(value * SCALE)
            total += whole * self.lanes(place)
            weight += whole
        size = len(self.codes)
        packed = total.to_bytes(4 * size, "little")
        sums = (int.from_bytes(packed[4 * i : 4 * i + 4], "little") - 128 * weight for i in range(size))
        factor = self.step / (SCALE * length)
        return [s * factor + b for s, b in zip(sums, self.intercepts)]

    def probabilities(self, text: str) -> list[float]:
        """Return one probability for each code; together they add up to 1."""
        return self.of_grams(grams(text))

    def of_grams(self, found: dict[int, int]) -> list[float]:
        """Return one probability for each code. found: the result of `grams`."""
        scores = [score / self.temperature for score in self.scores(found)]
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        whole = sum(powers)
        return [power / whole for power in powers]


@lru_cache(maxsize=20_000)
def _lanes(rows: bytes, place: int, size: int) -> int:
    spread = bytearray(4 * size)
    spread[::4] = rows[place * size : (place + 1) * size]
    return int.from_bytes(spread, "little")


@lru_cache(maxsize=1)
def bundled() -> Model:
    """Return the model that ships with this release."""
    return unpacked(resources.read("doctor.logs.prose", "weights.bin"))


def unpacked(data: bytes) -> Model:
    """Read a model from the bytes in weights.bin. Raises ValueError if the bytes are anything else."""
    try:
        whole = zlib.decompress(data)
        size = int.from_bytes(whole[:4], "little")
        head = json.loads(whole[4 : 4 + size])
        at, features = 4 + size, head["features"]
        gaps = array("H", whole[at : at + 2 * features])
    except (zlib.error, ValueError, KeyError) as error:
        raise ValueError("these bytes are not the weights of the prose model") from error
    codes, intercepts = tuple(head["codes"]), tuple(head["intercepts"])
    if sys.byteorder == "big":
        gaps.byteswap()
    places = {number: place for place, number in enumerate(accumulate(gaps))}
    at += 2 * features
    frequencies, rows = whole[at : at + features], whole[at + features :]
    if len(rows) != features * len(codes):
        raise ValueError("the weights of the prose model are cut off")
    step, frequency_step = head["step"], head["frequency_step"]
    return Model(codes, places, step, intercepts, head["temperature"], frequency_step, frequencies, rows)


@lru_cache(maxsize=1)
def kinds() -> Model:
    """Return the model that determines the kind of a sentence (see `SentenceKind`)."""
    return unpacked(resources.read("doctor.logs.prose", "kinds.bin"))


class Reading(NamedTuple):
    """The causes that the sentences of one report suggest, as probabilities for the whole report and for each
    sentence, and the kind of each sentence with its probability."""

    codes: tuple[str, ...]
    whole: list[float]
    windows: list[list[float]]
    kinds: list[tuple[str, float]]

    def ranked(self) -> list[tuple[str, float]]:
        """Return (code, probability) pairs, the likeliest first."""
        return sorted(zip(self.codes, self.whole), key=lambda pair: -pair[1])

    def telling(self, code: str) -> int:
        """Return the position of the sentence that suggests a code most strongly."""
        at = self.codes.index(code)
        return max(range(len(self.windows)), key=lambda i: self.windows[i][at])


def read_sentences(said: Sequence[str], model: Model | None = None) -> Reading:
    """Determine which causes the sentences suggest, together and individually, and the kind of each
    sentence."""
    model = model or bundled()
    counted = [grams(sentence[:WHOLE]) for sentence in said]
    whole: dict[int, int] = {}
    size = 0
    for sentence, found in zip(said, counted):
        if size and size + len(sentence) > WHOLE:
            break
        size += len(sentence) + 1
        for number, n in found.items():
            whole[number] = whole.get(number, 0) + n
    windows = [model.of_grams(found) for found in counted]
    together = windows[0] if len(said) == 1 else model.of_grams(whole)
    return Reading(model.codes, together, windows, list(map(_kind, counted)))


def _kind(found: dict[int, int]) -> tuple[str, float]:
    """Return the kind of a sentence and its probability. found: the result of `grams`."""
    model = kinds()
    values = model.of_grams(found)
    best = max(range(len(values)), key=values.__getitem__)
    return model.codes[best], values[best]
