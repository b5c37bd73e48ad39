"""Signatures of the way in which a record in TensorFlow's log begins, whatever its message is."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, glued, sig

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "log-day",
        glued((": i ", ": w ", ": e "), ("tensorflow/", "external/")),
        r"\b(?P<day>20[12]\d-[01]\d-[0-3]\d) \d\d:\d\d:\d\d\.\d{1,9}: [IWE] (?:tensorflow|external)/",
        "2021-03-18 13:21:44.097589: I tensorflow/core/platform/cpu_feature_guard.cc:142] ...",
        once=True,
    ),
)
