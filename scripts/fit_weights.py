#!/usr/bin/env python3
"""Learns the weight of each sign from the labelled reports in scripts/training (reports.jsonl, stated.jsonl),
and writes doctor/judge/weights.py.

fit_weights.py [--score]   needs scikit-learn and scipy (pip install scikit-learn==1.9.1 scipy);
takes a quarter of an hour

The model is a conditional logit model over the causes for which a report contains any sign. All causes share
the same weights, so a few hundred reports are enough. No report is read by a prose model that was trained on
it: for each quarter of the reports (split by project), a prose model is trained without that quarter. Reports
in the part `score` (see train_prose.part) are not used for training; they are only scored.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import train_prose  # noqa: E402

WEIGHTS = ROOT / "doctor" / "judge" / "weights.py"
WHOLE = ROOT / "doctor" / "judge" / "resemblance.bin"
STATED = ROOT / "scripts" / "training" / "stated.jsonl"
OF_STATED = 2
"""How many times a written report from stated.jsonl counts. They state versions and leave the cause to the
tables, which few of the real reports do."""
FOLDS = 4
OF_WHOLE = 5.0
"""The inverse of the strength of the regularisation for the model of whole reports. 3 to 10 score alike on
reports that were left out."""
OF_REPORT = 6_000
"""How many features the model of whole reports keeps."""
OF_EXAMPLE = 0.25
"""How much an example from sentences.jsonl counts for the model of whole reports, compared with a real
report. Without the examples, fewer short reports are right."""
RIDGE = 0.3
"""How strongly weights are pulled towards 0. Values from 0.05 to 1 give about the same score on held-out
reports."""
HEAD = '''"""How much each sign adds to the logarithm of a cause's odds.

Written by scripts/fit_weights.py, which learnt it from labelled reports (scripts/training/reports.jsonl).
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
'''


def signs_of(case):
    """Return {code: {name of a sign: value}} for a case, its findings and its parts."""
    from doctor.judge.hypotheses import signs

    codes = {}
    for sign in signs(*case):
        values = codes.setdefault(sign.code, {})
        values[sign.name] = values.get(sign.name, 0.0) + sign.value
    return codes


def read_all():
    """Return the cases of the reports, grouped by part, and the packed weights of the model of whole reports.

    Neither the prose model nor the model of whole reports that reads a report was trained on that report. A
    case: its signs (see `signs_of`), and the codes that are right."""
    from doctor.diagnose import gathered
    from doctor.judge import resemblance
    from doctor.logs import read
    from doctor.logs.prose import classify
    from doctor.tables import Tables

    def of(text):
        return gathered(read(text.encode(), "-"), Tables.bundled())

    examples = [json.loads(line) for line in train_prose.EXAMPLES.open(encoding="utf-8")]
    reports = [json.loads(line) for line in train_prose.REPORTS.open(encoding="utf-8")]
    fold = [zlib.crc32((r.get("project") or r["id"]).encode()) % FOLDS for r in reports]
    prose = [train_prose.prose_of(r["text"])[:1500] for r in reports]
    fits = [train_prose.part(r) == "fit" for r in reports]
    said = [json.loads(line) for line in train_prose.SAID.open(encoding="utf-8")]
    cases, features = [None] * len(reports), [None] * len(reports)
    print("reading the examples ...", file=sys.stderr, flush=True)
    short = [{"features": resemblance.features(*of(e["text"])), "label": e["label"], "weight": OF_EXAMPLE,
              "report": e.get("report")} for e in examples]  # fmt: skip
    for number in range(FOLDS):
        print(f"part {number + 1} of {FOLDS}, sentences: ", end="", file=sys.stderr, flush=True)
        here = {r["id"] for i, r in enumerate(reports) if fold[i] == number}
        others = train_prose.examples_of(
            (prose[i], r) for i, r in enumerate(reports)
            if fold[i] != number and fits[i] and len(prose[i]) > 30
        )  # fmt: skip
        kept = [e for e in examples if e.get("report") not in here]
        model = classify.unpacked(train_prose.train(train_prose.together(kept, others)))
        kinds = classify.unpacked(train_prose.train_kinds([e for e in said if e.get("report") not in here]))
        classify.bundled, classify.kinds = (lambda model=model: model), (lambda kinds=kinds: kinds)
        for i, report in enumerate(reports):
            if fold[i] == number:
                cases[i] = of(report["text"])
                features[i] = resemblance.features(*cases[i])

    def of_whole(number=None):
        """Train the model of whole reports without the reports of one fold."""
        real = [
            example for i, report in enumerate(reports)
            if fits[i] and fold[i] != number and features[i]
            for example in train_prose.weighted({"features": features[i]}, report)
        ]  # fmt: skip
        here = {r["id"] for i, r in enumerate(reports) if fold[i] == number}
        some = [e for e in short if e["features"] and e["report"] not in here]
        return train_prose.train([*real, *some], OF_WHOLE, 1.0, features=OF_REPORT)

    stated = [json.loads(line) for line in STATED.open(encoding="utf-8")]
    found = {"fit": [], "score": []}
    for number in range(FOLDS):
        print(f"part {number + 1} of {FOLDS}, whole reports: ", end="", file=sys.stderr, flush=True)
        model = classify.unpacked(of_whole(number))
        resemblance.bundled = lambda model=model: model
        for i, report in enumerate(reports):
            if fold[i] == number:
                right = {report["label"], *report.get("accept", ())}
                found[train_prose.part(report)].append((signs_of(cases[i]), right))
    # no model was trained on the written reports
    for report in stated:
        signs = signs_of(of(report["text"]))
        found["fit"] += [(signs, {report["label"], *report.get("accept", ())})] * OF_STATED
    return found, of_whole()


def fit(cases):
    """Compute and return {name of a sign: weight} by maximum likelihood with a ridge penalty."""
    import numpy as np
    from scipy.optimize import minimize

    names = sorted({name for codes, _ in cases for values in codes.values() for name in values})
    place = {name: i for i, name in enumerate(names)}
    rows = []
    for codes, accepted in cases:
        order = sorted(codes)
        right = [i for i, code in enumerate(order) if code in accepted]
        if not right:
            continue
        matrix = np.zeros((len(order), len(names)))
        for i, code in enumerate(order):
            for name, value in codes[code].items():
                matrix[i, place[name]] = value
        rows.append((matrix, right))

    def loss(weights):
        total, slope = RIDGE * weights @ weights, 2 * RIDGE * weights
        for matrix, right in rows:
            scores = matrix @ weights
            powers = np.exp(scores - scores.max())
            p = powers / powers.sum()
            share = p[right].sum()
            q = np.zeros_like(p)
            q[right] = p[right] / share
            total -= math.log(share)
            slope = slope + matrix.T @ (p - q)
        return total, slope

    best = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x
    return {name: round(float(best[place[name]]), 2) for name in names}


def score(cases, weights):
    """Return the fraction of cases whose most likely cause is accepted."""
    right = 0
    for codes, accepted in cases:
        total = {c: sum(weights.get(n, 0.0) * v for n, v in values.items()) for c, values in codes.items()}
        right += max(total, key=total.__getitem__) in accepted
    return right / max(1, len(cases))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--score", action="store_true", help="score the shipped weights and write nothing")
    args = parser.parse_args()
    train_prose.stop_without_learning()
    cases, whole = read_all()
    if args.score:
        from doctor.judge import weights as shipped

        weights = shipped.WEIGHTS
    else:
        weights = fit(cases["fit"])
        lines = [f'    "{name}": {weight},\n' for name, weight in sorted(weights.items())]
        WHOLE.write_bytes(whole)
        WEIGHTS.write_text(HEAD + "".join(lines) + "}\n", encoding="utf-8")
    for name, several in cases.items():
        print(f"{name}: {len(several)} reports, right {score(several, weights):.3f}")


if __name__ == "__main__":
    main()
