"""tf-conflicting-packages: several TensorFlow distributions lie over each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Package
from doctor.findings import Finding, Step, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.remedies.cures import another_build
from doctor.rules.gpu.registered import registered
from doctor.rules.memory.signs import HANDLE_FAILURES
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import pythons_own
from doctor.rules.tensorflow.release import looks_for_gpus, wants_gpu


@rule(
    "tf-conflicting-packages",
    "Several TensorFlow distributions lie over each other",
    explains=("tf-not-installed", "tf-import-failed", "tf-cpu-only", "tf-api-version", "library-broken"),
    needs=(
        "both-packages",
        Package,
        "hollow-module",
        "undefined-symbol",
        "tensorflow-leftover",
        "tensorflow-several",
        "tensorflow-files-missing",
        "pip-over-conda",
    ),
)
def tf_conflicting_packages(picture: Picture) -> Iterator[Finding]:
    """Several TensorFlow distributions in one environment.

    ## What it means
    tensorflow, tensorflow-gpu and tensorflow-cpu all install the folder `tensorflow`. The later overwrites the earlier, and uninstalling one takes files of
    the other away. pip over conda, or a copy in ~/.local under the one of the system, mix in the same way.

    ## How it shows
    pip lists two of them; `module 'tensorflow' has no attribute '__version__'`; undefined symbols between files of two folders.

    ## What to do
    Uninstall all of them, remove what is left of the folder, install one.
    """
    facts = picture.facts
    names: dict[str, Package] = {}
    for package in facts.of(Package):
        if package.name in ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tf-nightly-gpu"):
            names.setdefault(package.name, package)
    several = list(names.values())
    # one release of tensorflow-gpu from 2.1 on is the same build under another name; both still overwrite each other
    managers = {p.manager for p in facts.of(Package) if p.name == "tensorflow"}
    seen = facts.symptoms("tensorflow-several", "pip-over-conda")  # on a machine: read from its files
    hollow = [
        *facts.symptoms("hollow-module", "tensorflow-files-missing"),
        *(s for s in facts.symptoms("tensorflow-leftover") if s.get("kind") == "hollow"),
    ]
    crossed = [
        s
        for s in facts.symptoms("undefined-symbol")
        # a path that leads out of the package again is that of a library which TensorFlow opens, not of its own file
        if "cudnn DSO" not in s.source.text and not pythons_own(s) and re.search(r"tensorflow/(?:core/kernels|python|compiler)/(?:(?!/?\.\./)\S){1,200}\.so", s.source.text)
    ]
    folders: set[str] = set()
    for s in facts.symptoms("undefined-symbol", "native-runtime-failed"):
        folders |= set(re.findall(r"(/\S{0,200}?(?:site|dist)-packages)/tensorflow", s.source.text))
    several = several if len(several) > 1 and len({p.source.line for p in several}) > 1 else []
    if several and not (
        facts.kind == "machine"
        or wants_gpu(picture)
        or hollow
        or facts.has("native-runtime-failed", "missing-attribute")
        or picture.not_loaded
    ):
        several = []
    both = facts.symptoms("both-packages") if wants_gpu(picture) or facts.has("mentions-gpu") else []
    if registered(picture) or facts.has(*HANDLE_FAILURES, "launch-failed", "tensor-oom") or looks_for_gpus(picture):
        both = []  # the GPU is used or looked for: the build for CUDA came last
    if not (several or hollow or crossed or both or seen or len(managers) > 1):
        return
    text = (
        f"{seen[0].source.text[0].upper()}{seen[0].source.text[1:]}."
        if seen
        else f"{' and '.join(p.name for p in several)} are installed into one folder and overwrite each other."
        if several
        else "The report names both distributions; the CPU one that was installed last covers the GPU one."
        if both and not hollow
        else "What is left in the folder tensorflow is no whole package: another distribution was removed from under it, or a file or folder of that name lies in the way."
        if hollow
        else "Files of two TensorFlow installations are loaded into one process."
        if crossed
        else "pip's and conda's TensorFlow lie over each other."
    )
    yield found(
        "tf-conflicting-packages",
        text,
        [
            *seen[:2],
            *several[:3],
            *both[:2],
            *hollow[:2],
            *crossed[:2],
            *([p for p in facts.of(Package) if p.name == "tensorflow"][:2] if len(managers) > 1 else []),
        ],
        confidence="certain" if several or seen or facts.kind == "machine" or len(managers) > 1 else "likely",
        steps=[
            shell(
                commands.pip(
                    picture,
                    "uninstall",
                    "-y",
                    "tensorflow",
                    "tensorflow-gpu",
                    "tensorflow-cpu",
                    "tensorflow-intel",
                    "tf-nightly",
                ),
                "takes all of them away; run it twice",
            ),
            *_one_fresh_copy(picture),
            shell(
                commands.run_python(picture, "import tensorflow as tf; print(tf.__file__, tf.__version__)"),
                "must show one folder, of this environment",
            ),
        ],
        verify=commands.pip(picture, "list"),
    )


def _one_fresh_copy(picture: Picture) -> list[Step]:
    """What to install in place of them: on a machine the build that fits it, with its libraries."""
    if picture.facts.kind == "machine" and (steps := another_build(picture).steps):
        return list(steps)
    install = commands.pip(picture, "install", "--no-cache-dir", "tensorflow")
    return [shell(install, "one fresh copy (with [and-cuda] on Linux for the GPU)")]
