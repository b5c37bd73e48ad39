"""Decides which differences between nodes matter to TensorFlow, and why.

A difference matters always, never, or under a condition. Possible conditions: the tables say that one of its
values does not fit (`part`), the nodes also differ in another fact that this fact can change (`leads_to`), or
a library can be loaded only on some nodes (`opens`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from doctor.fleet.values import NOT_OPEN, NOT_SEARCHED
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.fleet.answers import Answer


@dataclass(frozen=True, slots=True)
class Kind:
    """The rule that judges a difference in one fact.

    matters, why: the judgement if nothing else decides. part: the part of a report's compatibility whose
    `fits` decides. leads_to: prefixes of the facts that this fact can change. opens: whether the value of the
    fact is the path of a library, or the reason why no file can be loaded. needs: the name of another fact;
    on a node without that fact, this fact does not matter.
    """

    matters: bool
    why: str
    part: str = ""
    leads_to: tuple[str, ...] = ()
    opens: bool = False
    needs: str = ""


_LIBRARIES = ("cudnn", "cuda", "missing_libraries")
_PACKAGES = ("python", "tensorflow", "keras", "package.")
_FITS = "according to the tables, each of these values fits the TensorFlow of its node"

KINDS: Mapping[str, Kind] = {
    "tensorflow": Kind(
        True, "releases differ in the CUDA and cuDNN that they need, and do not train together"
    ),
    "tensorflow_package": Kind(
        True,
        "packages of one release differ: tensorflow-cpu and tensorflow-intel cannot use a GPU",
        needs="tensorflow",
    ),
    "keras": Kind(
        True, "models and files saved with one release of Keras may not work in another", needs="tensorflow"
    ),
    "python": Kind(False, _FITS, part="python"),
    "cuda": Kind(False, _FITS, part="cuda", needs="tensorflow"),
    "cudnn": Kind(
        True,
        "the nodes load different cuDNN releases: their kernels differ, so speeds and results differ",
        part="cudnn",
        needs="tensorflow",
    ),
    "driver": Kind(False, _FITS, part="driver"),
    "driver_cuda": Kind(False, "the driver determines it, and is compared separately"),
    "gpus": Kind(
        True,
        "the nodes have, or show, different GPUs: a job gets a different number, memory or speed of GPUs",
        part="gpu",
    ),
    "mig": Kind(
        True, "programs use a divided GPU through its instances, and a TensorFlow process uses one instance"
    ),
    "missing_libraries": Kind(
        False,
        "if TensorFlow needs a library that cannot be loaded, the verdict of the node says so",
        leads_to=("verdict",),
        needs="tensorflow",
    ),
    "loaded_libraries": Kind(False, "the files are compared separately", needs="tensorflow"),
    "registered_gpus": Kind(
        True, "TensorFlow registered a different number of GPUs there", needs="tensorflow"
    ),
    "processor": Kind(
        True,
        "each wheel is built for one processor architecture; PyPI's wheels for Linux on Arm have no CUDA",
    ),
    "platform": Kind(True, "the platform decides which TensorFlow can use a GPU"),
    "os": Kind(
        False,
        "TensorFlow's wheels depend on the C library, not on the distribution; it is compared separately",
        leads_to=("verdict",),
    ),
    "glibc": Kind(
        False,
        "the installed TensorFlow runs with this C library; one that is too old is a finding",
        leads_to=("verdict",),
    ),
    "kernel": Kind(
        False,
        "no release of TensorFlow requires a certain kernel; the driver's kernel module is judged separately",
    ),
    "environment": Kind(
        False, "the effects of the environment are compared separately", leads_to=("gpus", *_LIBRARIES)
    ),
    "python_path": Kind(
        False, "the path differs, but the compared packages have the same releases", leads_to=_PACKAGES
    ),
    "env.LD_LIBRARY_PATH": Kind(
        False, "it does not change which libraries can be loaded", leads_to=_LIBRARIES
    ),
    "env.LD_PRELOAD": Kind(True, "the loader loads the libraries in it before all others"),
    "env.CUDA_VISIBLE_DEVICES": Kind(True, "it decides which GPUs a program sees, and in which order"),
    "env.NVIDIA_VISIBLE_DEVICES": Kind(True, "it decides which GPUs a container gets"),
    "env.CUDA_DEVICE_ORDER": Kind(True, "it decides which GPU is number 0"),
    "env.PYTHONPATH": Kind(False, "it does not change which packages are found", leads_to=_PACKAGES),
    "env.XLA_FLAGS": Kind(True, "they change how XLA compiles"),
    "env.TF_CONFIG": Kind(
        False, "each node of a cluster has its own value; `--distributed` compares the values"
    ),
}
"""The rule for each fact, by its name. FAMILIES has the rules for other facts, by the beginning of their
names."""
FAMILIES: tuple[tuple[str, Kind], ...] = (
    ("env.TF_", Kind(True, "it changes how TensorFlow behaves")),
    (
        "env.NCCL_",
        Kind(True, "it changes how GPUs communicate, and must be the same on all nodes of a job"),
    ),
    ("env.KERAS_", Kind(True, "it changes how Keras behaves")),
    ("env.CUDA_", Kind(False, "neither a library nor a GPU depends on it", leads_to=("gpus", *_LIBRARIES))),
    ("env.", Kind(False, "its effects are compared separately")),
    ("library.", Kind(False, "the file differs, but it can be loaded", opens=True, needs="tensorflow")),
    ("package.tensorflow", Kind(True, "an add-on is made for one release of TensorFlow", needs="tensorflow")),
    (
        "package.nvidia-",
        Kind(
            False,
            "the libraries that can be loaded are compared separately",
            leads_to=_LIBRARIES,
            needs="tensorflow",
        ),
    ),
    ("package.", Kind(True, "TensorFlow uses a different release of this package there", needs="tensorflow")),
)
UNKNOWN = Kind(
    False,
    "this fact is not known to matter; if a node has an error, its verdict says so",
    leads_to=("verdict",),
)


def kind_of(fact: str) -> Kind:
    """Return the rule that judges a difference in this fact."""
    if fact in KINDS:
        return KINDS[fact]
    return next((kind for beginning, kind in FAMILIES if fact.startswith(beginning)), UNKNOWN)


class Judgement(NamedTuple):
    """Whether a difference matters, and why."""

    matters: bool
    why: str


def judged(fact: str, with_most: Answer, others: Iterable[Answer]) -> Judgement:
    """Judge whether it matters that the value of `fact` on some nodes differs from that on most nodes.

    with_most: a node that has the most frequent value. others: one node for each other value.
    """
    kind = kind_of(fact)
    several = [with_most, *others]
    if kind.part:
        judgement = _by_fit(fact, kind, several)
        if judgement is not None:
            return judgement
    if kind.opens:
        opens = {
            node.values.facts[fact] not in (NOT_OPEN, NOT_SEARCHED)
            for node in several
            if fact in node.values.facts
        }
        if len(opens) > 1 and len({node.codes for node in several}) > 1:
            return Judgement(
                True, "this library can be loaded only on some nodes, and the findings of the nodes differ"
            )
        if len(opens) > 1:
            return Judgement(
                False,
                "this library can be loaded only on some nodes, but the findings of the nodes are the same",
            )
        if any(fact not in node.values.facts for node in several):
            return Judgement(False, "on the nodes without this library, no program loaded it")
    if kind.leads_to:
        led = sorted({name for node in several[1:] for name in _led_to(kind.leads_to, with_most, node)})
        if led:
            return Judgement(
                True,
                "the nodes also differ in what this fact can change:"
                f" {', '.join(led[:3])}{' and more' if led[3:] else ''}",
            )
    return Judgement(kind.matters, kind.why)


def _by_fit(fact: str, kind: Kind, several: list[Answer]) -> Judgement | None:
    """Return the judgement that follows from the tables, or None if all values fit, or if the tables do not
    decide."""
    there = [node for node in several if fact in node.values.facts]
    fits = [node.values.fits.get(kind.part) for node in there]
    for node, fit in zip(there, fits):
        if fit is not None and fit.fits is False:
            needs = fit.needs or "another one"
            return Judgement(True, f"{node.values.facts[fact]} does not fit: TensorFlow there needs {needs}")
    if len(there) < len(several):
        return Judgement(True, "some nodes show no value")
    if not kind.matters and any(fit is None or fit.fits is None for fit in fits):
        return Judgement(True, "it is not known whether each of these values fits")
    return None


def grouped_by(fact: str, node: Answer) -> str | None:
    """Return the value by which a fact groups nodes. For a fact that the tables judge, this is only whether
    the fact fits."""
    kind = kind_of(fact)
    fit = node.values.fits.get(kind.part)
    return "fits" if fit is not None and fit.fits and not kind.matters else node.values.facts.get(fact)


def _led_to(prefixes: tuple[str, ...], one: Answer, other: Answer) -> list[str]:
    """Return the names of the facts that differ between two nodes and begin with one of the prefixes. The
    prefix "verdict" stands for the nodes' verdicts."""
    found = []
    if "verdict" in prefixes and one.codes != other.codes:
        found.append("the verdict")
    first, second = one.values.facts, other.values.facts
    for name in {**first, **second}:
        if name.startswith(prefixes) and first.get(name) != second.get(name):
            found.append(name)
    return found


def place(fact: str) -> int:
    """Return the sort key of a fact among the differences: the most decisive first."""
    return next(
        (i for i, name in enumerate((*KINDS, *(name for name, _ in FAMILIES))) if fact.startswith(name)),
        len(KINDS) + len(FAMILIES),
    )
