"""How much each sign adds to the logarithm of a cause's odds.

Written by scripts/fit_weights.py, which learnt it from labelled reports (scripts/training/reports.jsonl).
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "against: TensorFlow ran": -0.06,
    "against: a GPU is registered": 0.39,
    "against: a release with CUDA on Windows": -0.54,
    "against: an NVIDIA GPU is named": -1.17,
    "against: it fits": -0.03,
    "against: not Windows": -0.91,
    "against: the driver answers": 0.0,
    "compiled at the first start": -0.25,
    "cuda does not fit": 2.38,
    "cuda does not fit inferred": 1.38,
    "cudnn does not fit": 1.05,
    "cudnn does not fit inferred": -0.02,
    "driver does not fit": 0.0,
    "first of the rules' findings": 3.8,
    "gpu does not fit": 0.35,
    "no fault": -0.18,
    "no fault, and a GPU is registered": 0.04,
    "platform does not fit": 0.59,
    "prose": 1.03,
    "prose first": -0.08,
    "prose of no cause": 0.01,
    "python does not fit": -0.92,
    "rule certain": 2.09,
    "rule certain in prose": 0.37,
    "rule certain in prose, warning": 0.65,
    "rule certain, info": 0.57,
    "rule certain, warning": 0.26,
    "rule likely": 1.6,
    "rule likely in prose": 0.3,
    "rule likely in prose, info": 0.01,
    "rule likely in prose, warning": -1.62,
    "rule likely, info": 0.21,
    "rule likely, warning": 0.65,
    "rule possible": 0.88,
    "rule possible in prose": 0.11,
    "rule possible in prose, info": 0.0,
    "rule possible in prose, warning": -0.22,
    "rule possible, info": -0.41,
    "rule possible, warning": 0.34,
    "undetermined": 1.59,
}
