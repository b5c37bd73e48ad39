#!/usr/bin/env python3
"""Trains the models that classify sentences with the data in scripts/training, and writes them to
doctor/logs/prose.

train_prose.py [--held-out N] [--writers | --kinds]   needs scikit-learn and scipy (pip install
scikit-learn==1.9.1 scipy); takes about three minutes

sentences.jsonl contains examples: {"text", "label" (a finding code), "lang", "kind"}. reports.jsonl contains
real reports. Their sentences are examples with the label of the report, except for reports that are only
scored (see `part`). Every tenth example is held out. The script prints the score for these examples and for
the reports that are only scored. With --held-out 0, all examples are used for training, and the weights are
written; otherwise nothing is written. kinds.jsonl (--kinds) contains sentences with their kinds: a question,
a cause, a statement of an environment, a success, an observation (no device, a crash), or something else. The
same examples and the same release of scikit-learn give the same result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
import warnings
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

EXAMPLES = ROOT / "scripts" / "training" / "sentences.jsonl"
REPORTS = ROOT / "scripts" / "training" / "reports.jsonl"
REPEATED = 2
"""How many times a labelled line counts for the model that distinguishes people from programs. A real report
counts once. If it counted twice, more of the newest reports would be right (0.65 instead of 0.64), but fewer
of the older ones and of short reports in 15 languages (0.76 instead of 0.80)."""
WHOLE = 8
"""How many additional times a whole sentence that a program prints counts, because there are few such
sentences, and they look like a person's."""
LINES = ROOT / "scripts" / "training" / "lines.jsonl"
WEIGHTS = ROOT / "doctor" / "logs" / "prose" / "weights.bin"
WRITERS = ROOT / "doctor" / "logs" / "prose" / "writers.bin"
SAID = ROOT / "scripts" / "training" / "kinds.jsonl"
KINDS = ROOT / "doctor" / "logs" / "prose" / "kinds.bin"
WRITTEN = 0.3
"""How much an English sentence that was written as an example of its kind counts, compared with one from a
report: people who report problems write differently. Of the sentences of reports that were left out, 54 % get
the right kind with 2,600 sentences from reports, 66 % with 10,500; a second reader agrees with the first
about 80 %."""
ROUNDS_OF_CHOICE, ROUNDS = 20, 120
"""How many rounds of optimisation choose the features, and how many train the model with them."""
ACCEPTED = 0.3
"""The part of a report's weight that goes to the other codes that are also accepted for it."""
FEATURES = 14_000
"""How many features the model of causes keeps. Of the examples by authors who were left out, 0.740 are right
with 12,000 features, 0.746 with 30,000, and 0.721 with all 159,000. When 8,192 buckets held all features,
fewer held-out examples were right (0.831 instead of 0.851)."""
OF_KINDS = 10_000
"""How many features the model of sentence kinds keeps."""
FEW = 8
"""A feature that fewer examples contain is never kept."""
COARSE = 0.8
"""The step between two stored weights, as a multiple of their standard deviation. With 14,000 features and
0.35, the file has 342 kB, and 0.834 of the held-out examples are right; with 0.7, 253 kB and 0.848."""
TEMPERATURE = 0.65
"""The divisor of the scores. 0.55 would calibrate held-out examples, but real reports differ more from the
examples."""
STRENGTH = 20.0
"""The inverse of the strength of the regularisation. 10 to 30 give about the same score on held-out examples,
3 a lower one."""


NEEDED = "scikit-learn and scipy: pip install scikit-learn==1.9.1 scipy (Python 3.11 or later)"


def stop_without_learning():
    """Exit with a message if the packages for training are not installed."""
    try:
        import scipy  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"{Path(sys.argv[0]).name} needs {NEEDED}") from error


def part(report):
    """Return the part to which a report belongs: "score" for the latest reports, which are only scored until
    later reports replace them, otherwise "fit". All reports from one project belong to the same part."""
    return report.get("part", "fit")


def together(examples, real):
    """Return all examples for training: the written examples and the prose of real reports. The reports are
    nearly all in English, so examples in other languages count twice."""
    return [*examples, *(example for example in examples if example.get("lang") != "en"), *real]


def weighted(example, report):
    """Yield an example with the label of its report and, with less weight, with each other accepted code."""
    others = [code for code in report.get("accept", ()) if code != report["label"]]
    yield {**example, "label": report["label"], "weight": 1 - ACCEPTED if others else 1.0}
    for code in others:
        yield {**example, "label": code, "weight": ACCEPTED / len(others)}


def prose_of(text):
    """Return the text in a report that a person wrote, without the output of programs."""
    from doctor.logs.parse import parse
    from doctor.logs.prose.segment import sentences
    from doctor.logs.reader import read
    from doctor.logs.signatures import catalogue

    whole = read(text.encode(), "-")
    printed = set()
    parse(whole, catalogue(), printed)
    return " ".join(sentence.text for sentence in sentences(whole, printed))


def reports(which):
    """Return (prose, report) for the real reports of one part that a person wrote in."""
    several = (json.loads(line) for line in REPORTS.open(encoding="utf-8"))
    found = ((prose_of(report["text"])[:1500], report) for report in several if part(report) == which)
    return [(said, report) for said, report in found if len(said) > 30]


def examples_of(several):
    """Return the examples for training from (prose, report) pairs."""
    return [example for said, report in several for example in weighted({"text": said}, report)]


def matrix(counted, kept=None):
    """Return a matrix with one row of unit length for each example, the hashes of its features (columns), and
    their inverse document frequencies as (step, multiples of it). counted: for each example, how often each
    feature occurs. kept: the features to use; None for all that at least FEW examples contain."""
    import numpy as np
    from scipy.sparse import csr_matrix

    from doctor.logs.prose.classify import HASHES

    rows, columns, values = [], [], []
    for i, found in enumerate(counted):
        for number, n in found.items():
            rows.append(i)
            columns.append(number)
            values.append(1 + math.log(n))
    x = csr_matrix((np.array(values, dtype=np.float32), (rows, columns)), shape=(len(counted), HASHES))
    seen = np.bincount(x.indices, minlength=HASHES)
    kept = np.flatnonzero(seen >= FEW) if kept is None else kept
    exact = np.log((1 + len(counted)) / (1 + seen[kept]))
    step = float(exact.max() / 255)
    frequencies = (step, np.round(exact / step).astype(np.uint8))
    x = csr_matrix(x[:, kept].multiply(1 + frequencies[0] * frequencies[1].astype(np.float32)))
    length = np.sqrt(np.asarray(x.multiply(x).sum(1)))
    return csr_matrix(x.multiply(1 / np.maximum(length, 1e-9)), dtype=np.float32), kept, frequencies


def _bare(text):
    return re.sub(r"[\W\d]+", " ", text.lower()).strip()


def _pieces(sentence):
    """Return a sentence and the pieces of text in quotes in it, because examples of people's sentences quote
    the output of programs."""
    return [_bare(sentence), *map(_bare, re.split(r"[\"'`]", sentence))]


def train_writers():
    """Train the model that distinguishes people's sentences from programs' output (see segment.writers).
    Return its packed weights."""
    from doctor.logs.prose.segment import parts

    lines = [json.loads(line) for line in LINES.open(encoding="utf-8")]
    examples = [json.loads(line) for line in EXAMPLES.open(encoding="utf-8")]
    printed = {_bare(e["text"]) for e in lines if e["by"] != "person"}
    said = [part for e in examples for part in parts(e["text"])]
    people = [
        {"text": part, "label": "person"} for part in said if not any(p in printed for p in _pieces(part))
    ]
    lines = [{"text": e["text"], "label": "person" if e["by"] == "person" else "program"} for e in lines]
    whole = [e for e in lines if e["label"] == "program" and e["text"].endswith((".", "!", "'."))]
    return train(
        [*people, *lines * REPEATED, *whole * WHOLE], 30.0, 1.0, "balanced"
    )


def train_kinds(sentences):
    """Train the model of sentence kinds on rows of kinds.jsonl. Return its packed weights."""
    several = [{**e, "weight": WRITTEN if e["lang"] == "en" and "kind" not in e else 1.0} for e in sentences]
    return train(several, strength=10.0, temperature=1.2, features=OF_KINDS)


def train(examples, strength=STRENGTH, temperature=TEMPERATURE, balance=None, features=FEATURES):
    """Train a model on examples: {"text" or "features" (how often each feature occurs, by its hash), "label",
    "weight"}. Return its packed weights (see doctor.logs.prose.classify.unpacked).

    A first model, which is not trained to the end, shows which features tell the most: those with large
    weights in many examples. The second has only these features."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from doctor.logs.prose.classify import grams

    print(f"training with {len(examples)} examples ...", file=sys.stderr, flush=True)
    counted = [e["features"] if "features" in e else grams(e["text"]) for e in examples]
    labels, weights = [e["label"] for e in examples], [e.get("weight", 1.0) for e in examples]
    kept = None
    for rounds in (ROUNDS_OF_CHOICE, ROUNDS):
        x, kept, (frequency_step, frequencies) = matrix(counted, kept)
        model = LogisticRegression(C=strength, max_iter=rounds, tol=1e-4, class_weight=balance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of rounds is chosen, not too low
            model.fit(x, labels, weights)
        coefficients, intercepts = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # a single row, for the second class against the first
            coefficients, intercepts = (
                np.vstack([-coefficients, coefficients]) / 2,
                [-intercepts[0] / 2, intercepts[0] / 2],
            )
        coefficients = coefficients - coefficients.mean(0)
        if rounds == ROUNDS_OF_CHOICE:
            telling = (coefficients**2).sum(0) * np.asarray(x.multiply(x).sum(0)).ravel()
            kept = np.sort(kept[np.argsort(-telling, kind="stable")[:features]])
    step = max(COARSE * float(coefficients.std()), float(np.abs(coefficients).max()) / 127)
    rows = (np.round(coefficients / step).astype(int) + 128).astype(np.uint8)
    gaps = np.diff(kept, prepend=0)
    if gaps.max() > 0xFFFF:
        raise ValueError("two features are too far apart for the file's format; keep more features")
    head = {
        "codes": [str(code) for code in model.classes_],
        "features": len(kept),
        "step": step,
        "frequency_step": frequency_step,
        "intercepts": [round(float(b), 5) for b in intercepts],
        "temperature": temperature,
        "examples": fingerprint(examples),
    }
    text = json.dumps(head).encode()
    places = gaps.astype("<u2").tobytes()
    whole = len(text).to_bytes(4, "little") + text + places + frequencies.tobytes() + rows.T.tobytes()
    return zlib.compress(whole, 9)


def fingerprint(examples):
    """Return a fingerprint of the examples on which weights were trained."""
    said = [[e.get("text") or sorted(e["features"].items()), e["label"]] for e in examples]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def score(data, examples):
    """Print how often the model is right on these examples."""
    from doctor.logs.prose.classify import unpacked

    model = unpacked(data)
    right, sure, sure_right = 0, 0, 0
    for example in examples:
        p = model.probabilities(example["text"])
        best = max(range(len(p)), key=p.__getitem__)
        good = model.codes[best] in (example["label"], *example.get("accept", ()))
        right += good
        sure += p[best] > 0.7
        sure_right += good and p[best] > 0.7
    print(f"{len(examples)} examples: correct {right / len(examples):.3f}; p > 0.7: {sure_right} of {sure}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--held-out", type=int, default=10, help="hold out every Nth example and score it (0: none)"
    )
    parser.add_argument(
        "--writers", action="store_true", help="train the model that distinguishes people from programs"
    )
    parser.add_argument(
        "--kinds", action="store_true", help="train the model of sentence kinds (a question, a success ...)"
    )
    parser.add_argument(
        "--score", type=Path, metavar="FILE", help="score these examples with the shipped weights"
    )
    args = parser.parse_args()
    if args.score:
        score(WEIGHTS.read_bytes(), [json.loads(line) for line in args.score.open(encoding="utf-8")])
        return
    stop_without_learning()
    if args.writers:
        data = train_writers()
        WRITERS.write_bytes(data)
        print(f"{len(data) / 1000:.0f} kB written to {WRITERS.relative_to(ROOT)}")
        return
    if args.kinds:
        said = [json.loads(line) for line in SAID.open(encoding="utf-8")]
        left_out = [e for i, e in enumerate(said) if args.held_out and zlib.crc32(
            e.get("report", str(i)).encode()) % args.held_out == 0]  # fmt: skip
        kept = [e for e in said if e not in left_out] if left_out else said
        data = train_kinds(kept)
        if args.held_out:
            score(data, [e for e in left_out if e.get("kind") == "report"])
            return
        KINDS.write_bytes(data)
        print(f"{len(said)} sentences, {len(data) / 1000:.0f} kB written to {KINDS.relative_to(ROOT)}")
        return
    examples = [json.loads(line) for line in EXAMPLES.open(encoding="utf-8")]
    real = examples_of(reports("fit"))
    if args.held_out:
        kept = [e for i, e in enumerate(examples) if i % args.held_out]
        data = train(together(kept, real))
        score(data, examples[:: args.held_out])
        print("real reports that are only scored: ", end="")
        score(data, [{**report, "text": said} for said, report in reports("score")])
        return
    data = train(together(examples, real))
    WEIGHTS.write_bytes(data)
    print(f"{len(examples)} examples, {len(data) / 1000:.0f} kB written to {WEIGHTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
