"""tf-conflicting-packages: several TensorFlow distributions overwrite each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.case.libraries import TENSORFLOW_PACKAGES
from doctor.facts import Package, TensorFlowVersion
from doctor.findings import Finding, shell
from doctor.remedies import commands
from doctor.remedies.rare_steps import one_copy
from doctor.rules.gpu.registered import registered
from doctor.rules.memory.handles import HANDLE_FAILURES
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.own_ops import pythons_own
from doctor.rules.tensorflow.release import looks_for_gpus, wants_gpu

if TYPE_CHECKING:
    from doctor.case import Case


_LIST = lazy.compile(r"\bpip3? (?:list|freeze|show)\b", re.IGNORECASE)
"""Matches pip's commands that list packages."""


def _in_sentences(case: Case) -> list[Package]:
    """Return the packages in a sentence about a list ("pip list has tensorflow 2.10.0 and tensorflow-cpu
    2.9.1")."""
    return [
        Package(stated.source, stated.package, stated.version)
        for stated in case.facts.of(TensorFlowVersion)
        if stated.package and _LIST.search(stated.source.text)
    ]


@rule(
    "tf-conflicting-packages",
    "Several TensorFlow distributions overwrite each other",
    explains=("tf-not-installed", "tf-import-failed", "tf-cpu-only", "tf-api-version", "library-broken"),
    needs=(
        "both-packages",
        "several-tensorflow-packages",
        "hollow-module",
        "undefined-symbol",
        "tensorflow-leftover",
        "tensorflow-several",
        "tensorflow-files-missing",
        "pip-over-conda",
    ),
)
def tf_conflicting_packages(case: Case) -> Iterator[Finding]:
    """One environment contains several TensorFlow distributions.

    ## What it means
    tensorflow, tensorflow-gpu and tensorflow-cpu all install the folder `tensorflow`. A later installation
    overwrites an earlier one, and uninstalling one removes files of the other. Installing with pip over
    conda's TensorFlow, or a copy in ~/.local beside the system's copy, mixes files in the same way.

    ## What you see
    pip lists two of these distributions; `module 'tensorflow' has no attribute '__version__'`; undefined
    symbols between files of two folders.

    ## What to do
    Uninstall all of them, delete what remains of the folder, then install one distribution.
    """
    facts = case.facts
    names: dict[str, Package] = {}
    for package in (*facts.of(Package), *_in_sentences(case)):
        empty = package.name == "tensorflow-gpu" and package.manager == "conda"  # it requires tensorflow
        if package.name in TENSORFLOW_PACKAGES and not empty:
            names.setdefault(package.name, package)
    managers = {p.manager for p in facts.of(Package) if p.name == "tensorflow"}
    seen = facts.symptoms("tensorflow-several", "pip-over-conda")  # read from the files of a machine
    hollow = [
        *facts.symptoms("hollow-module", "tensorflow-files-missing"),
        *(s for s in facts.symptoms("tensorflow-leftover") if s.get("kind") == "hollow"),
    ]
    if facts.has("shadowing-file"):
        hollow = []  # the file that Python imports instead is not the package
    crossed = [
        s
        for s in facts.symptoms("undefined-symbol")
        # a path that leads out of the package belongs to a library that TensorFlow loads, not to one of
        # TensorFlow's own files
        if "cudnn DSO" not in s.source.text
        and not pythons_own(s)
        and re.search(
            r"tensorflow/(?:core/kernels|python|compiler)/(?:(?!/?\.\./)\S){1,200}\.so", s.source.text
        )
    ]
    several = list(names.values())
    trouble = (
        facts.kind == "machine"
        or wants_gpu(case)
        or hollow
        or facts.has("native-runtime-failed", "missing-attribute")
        or case.not_loaded
    )
    apart = len({p.source.line for p in several}) > 1 or all(_LIST.search(p.source.text) for p in several)
    if not trouble or not apart:
        several = []
    both = facts.symptoms("both-packages") if wants_gpu(case) or facts.has("mentions-gpu") else []
    # pip's error about tensorflow-gpu names both packages, and says nothing about what is installed
    refusals = {(s.source.where, s.source.line) for s in facts.symptoms("gpu-package-removed")}
    both = [s for s in both if (s.source.where, s.source.line) not in refusals]
    if registered(case) or facts.has(*HANDLE_FAILURES, "launch-failed", "tensor-oom") or looks_for_gpus(case):
        both = []  # the GPU is used or searched for, so the CUDA build was installed last
    twins = _twins(case, several)
    if twins and facts.kind == "report":
        several, both = [], []
    if not (several or hollow or crossed or both or seen or len(managers) > 1):
        return
    text = (
        f"{seen[0].source.text[0].upper()}{seen[0].source.text[1:]}."
        if seen
        else f"{' and '.join(p.name for p in several)} are installed in the same folder and overwrite each"
        f" other."
        if several
        else "The report names both distributions; the CPU package was installed last and overwrote the "
        "GPU package."
        if both and not hollow
        else "The folder tensorflow is not a complete package: the removal of another distribution"
        " deleted some of its files, or another file or folder is called tensorflow."
        if hollow
        else "One process loads files from two TensorFlow installations."
        if crossed
        else "The TensorFlow packages from pip and conda overwrite each other."
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
        severity="warning" if twins and not (hollow or crossed or seen or len(managers) > 1) else "error",
        confidence="certain" if several or seen or facts.kind == "machine" or len(managers) > 1 else "likely",
        steps=[
            shell(
                commands.uninstall_tensorflow(case),
                "removes all of them; run it twice, in case a second copy is left",
            ),
            *one_copy(case),
            shell(
                commands.run_python(case, "import tensorflow as tf; print(tf.__file__, tf.__version__)"),
                "shows TensorFlow's folder, which must belong to this environment",
            ),
        ],
        verify=commands.list_gpus(case) if wants_gpu(case) else commands.pip(case, "list"),
    )


def _twins(case: Case, several: list[Package]) -> bool:
    """Whether tensorflow and tensorflow-gpu are both installed in one release in which both contain the same
    CUDA build (2.1 to 2.11). One still overwrites the other, but the files do not change."""
    releases = {p.version for p in several} or ({case.tensorflow.version} if case.tensorflow else set())
    names = {p.name for p in several} or {"tensorflow", "tensorflow-gpu"}
    if len(releases) != 1 or names != {"tensorflow", "tensorflow-gpu"}:
        return False
    release = next(iter(releases)) or ""
    both = [case.tables.tensorflow(release, name, case.table_platform) for name in sorted(names)]
    return all(row is not None and row.gpu for row in both)
