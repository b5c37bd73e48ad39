"""Which differences between nodes matter to TensorFlow, and why.

A difference matters always or never; or where the tables say that one of its values does not fit (`part`);
where the nodes also differ in what it can change (`leads_to`); where a library opens on some nodes only
(`opens`).
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
    """How a difference in one fact is judged.

    matters and why: the judgement where nothing else decides. part: the part of a report's compatibility
    whose `fits` decides. leads_to: prefixes of the facts that this one can change. opens: a file of a
    library, or why none opens. needs: the fact without which this one means nothing on a node.
    """

    matters: bool
    why: str
    part: str = ""
    leads_to: tuple[str, ...] = ()
    opens: bool = False
    needs: str = ""


_LIBRARIES = ("cudnn", "cuda", "missing_libraries")
_PACKAGES = ("python", "tensorflow", "keras", "package.")
_FITS = "each of these values fits the TensorFlow of its node, by the tables"

KINDS: Mapping[str, Kind] = {
    "tensorflow": Kind(
        True, "releases differ in the CUDA and cuDNN that they need, and do not train together"
    ),
    "tensorflow_package": Kind(
        True,
        "packages of one release differ: tensorflow-cpu, and tensorflow-intel, know no GPU",
        needs="tensorflow",
    ),
    "keras": Kind(
        True, "models and saved files of one release of Keras need not work in another", needs="tensorflow"
    ),
    "python": Kind(False, _FITS, part="python"),
    "cuda": Kind(False, _FITS, part="cuda", needs="tensorflow"),
    "cudnn": Kind(
        True,
        "the nodes load another cuDNN: other kernels, so other speeds and results",
        part="cudnn",
        needs="tensorflow",
    ),
    "driver": Kind(False, _FITS, part="driver"),
    "driver_cuda": Kind(False, "it follows from the driver, which is compared by itself"),
    "gpus": Kind(
        True,
        "the nodes have, or show, other GPUs: a job gets another number, memory or speed of them",
        part="gpu",
    ),
    "mig": Kind(
        True, "a GPU that is divided is used by its instances: TensorFlow uses one of them in a process"
    ),
    "missing_libraries": Kind(
        False,
        "where it fails and TensorFlow needs the library, the verdict of the node says so",
        leads_to=("verdict",),
        needs="tensorflow",
    ),
    "loaded_libraries": Kind(False, "the files are compared separately", needs="tensorflow"),
    "registered_gpus": Kind(True, "TensorFlow itself got another number of GPUs there", needs="tensorflow"),
    "processor": Kind(True, "wheels are made for one kind of processor; Linux on Arm has no CUDA in PyPI's"),
    "platform": Kind(True, "which TensorFlow uses a GPU depends on the platform"),
    "os": Kind(
        False, "TensorFlow's wheels ask for a C library, which is compared by itself", leads_to=("verdict",)
    ),
    "glibc": Kind(
        False,
        "the installed TensorFlow is in use with it; one that is too old is a finding",
        leads_to=("verdict",),
    ),
    "kernel": Kind(
        False, "no release of TensorFlow asks for a kernel; the driver's module is judged by itself"
    ),
    "environment": Kind(
        False, "what the surroundings change is compared by itself", leads_to=("gpus", *_LIBRARIES)
    ),
    "python_path": Kind(
        False, "another path, and the same releases of the packages that are compared", leads_to=_PACKAGES
    ),
    "env.LD_LIBRARY_PATH": Kind(False, "the same libraries open with it", leads_to=_LIBRARIES),
    "env.LD_PRELOAD": Kind(True, "what it names is loaded before everything else"),
    "env.CUDA_VISIBLE_DEVICES": Kind(True, "it decides which GPUs a program sees, and in which order"),
    "env.NVIDIA_VISIBLE_DEVICES": Kind(True, "it decides which GPUs a container gets"),
    "env.CUDA_DEVICE_ORDER": Kind(True, "it decides which GPU is number 0"),
    "env.PYTHONPATH": Kind(False, "the same packages are found with it", leads_to=_PACKAGES),
    "env.XLA_FLAGS": Kind(True, "they change how XLA compiles"),
    "env.TF_CONFIG": Kind(False, "each node of a cluster has its own; `--distributed` compares them"),
}
"""By the name of the fact; a name that is not here is looked for in FAMILIES by its beginning."""
FAMILIES: tuple[tuple[str, Kind], ...] = (
    ("env.TF_", Kind(True, "it changes what TensorFlow does")),
    (
        "env.NCCL_",
        Kind(True, "it changes how GPUs talk with each other, and has to agree among the nodes of a job"),
    ),
    ("env.KERAS_", Kind(True, "it changes what Keras does")),
    ("env.CUDA_", Kind(False, "no library and no GPU differs with it", leads_to=("gpus", *_LIBRARIES))),
    ("env.", Kind(False, "what it leads to is compared by itself")),
    ("library.", Kind(False, "another file, and it opens", opens=True, needs="tensorflow")),
    ("package.tensorflow", Kind(True, "an add-on is made for one release of TensorFlow", needs="tensorflow")),
    (
        "package.nvidia-",
        Kind(
            False,
            "the libraries that open are compared by themselves",
            leads_to=_LIBRARIES,
            needs="tensorflow",
        ),
    ),
    ("package.", Kind(True, "TensorFlow is used with another release of it there", needs="tensorflow")),
)
UNKNOWN = Kind(
    False,
    "nothing is known of it that decides; where a node has an error, its verdict says so",
    leads_to=("verdict",),
)


def kind_of(fact: str) -> Kind:
    """How a difference in this fact is judged."""
    if fact in KINDS:
        return KINDS[fact]
    return next((kind for beginning, kind in FAMILIES if fact.startswith(beginning)), UNKNOWN)


class Judgement(NamedTuple):
    """Whether a difference matters, and why."""

    matters: bool
    why: str


def judged(fact: str, with_most: Answer, others: Iterable[Answer]) -> Judgement:
    """Whether it matters that some nodes have another value of `fact` than most have.

    with_most: a node with the value that most have. others: one node of each other value.
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
            return Judgement(True, "it opens on some nodes only, and their findings differ")
        if len(opens) > 1:
            return Judgement(False, "it opens on some nodes only, and their findings are the same")
        if any(fact not in node.values.facts for node in several):
            return Judgement(False, "where none is seen, nothing asked for it")
    if kind.leads_to:
        led = sorted({name for node in several[1:] for name in _led_to(kind.leads_to, with_most, node)})
        if led:
            return Judgement(
                True,
                "the nodes also differ in what it can change:"
                f" {', '.join(led[:3])}{' and more' if led[3:] else ''}",
            )
    return Judgement(kind.matters, kind.why)


def _by_fit(fact: str, kind: Kind, several: list[Answer]) -> Judgement | None:
    """What the tables say of the values; None where they say that all fit, or nothing that decides."""
    there = [node for node in several if fact in node.values.facts]
    fits = [node.values.fits.get(kind.part) for node in there]
    for node, fit in zip(there, fits):
        if fit is not None and fit.fits is False:
            needs = fit.needs or "another one"
            return Judgement(True, f"{node.values.facts[fact]} does not fit: TensorFlow there needs {needs}")
    if len(there) < len(several):
        return Judgement(True, "some nodes show none")
    if not kind.matters and any(fit is None or fit.fits is None for fit in fits):
        return Judgement(True, "whether each of these values fits is not known")
    return None


def grouped_by(fact: str, node: Answer) -> str | None:
    """What a node has of a fact, for putting equal nodes together: of those that the tables judge, that it
    fits."""
    kind = kind_of(fact)
    fit = node.values.fits.get(kind.part)
    return "fits" if fit is not None and fit.fits and not kind.matters else node.values.facts.get(fact)


def _led_to(prefixes: tuple[str, ...], one: Answer, other: Answer) -> list[str]:
    """The facts that begin with one of these and that two nodes differ in."""
    found = []
    if "verdict" in prefixes and one.codes != other.codes:
        found.append("the verdict")
    first, second = one.values.facts, other.values.facts
    for name in {**first, **second}:
        if name.startswith(prefixes) and first.get(name) != second.get(name):
            found.append(name)
    return found


def place(fact: str) -> int:
    """Where a fact stands among the differences: what decides most is first."""
    return next(
        (i for i, name in enumerate((*KINDS, *(name for name, _ in FAMILIES))) if fact.startswith(name)),
        len(KINDS) + len(FAMILIES),
    )
