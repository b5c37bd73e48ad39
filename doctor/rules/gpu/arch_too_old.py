"""gpu-arch-too-old: the build has no code for such an old GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from doctor.facts import Fact, Gpu, LibraryLoaded
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands, cures
from doctor.remedies.cure import Later
from doctor.rules.gpu.capability import code_answer, highest_possible, left_out, minor
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import Export
from doctor.tables import TensorFlowRelease

if TYPE_CHECKING:
    from doctor.case import Case

LOWEST_OF_XLA = (3, 5)
"""The lowest compute capability that XLA accepts (kMinCudaComputeCapability,
tensorflow/compiler/xla/service/platform_util.cc)."""
DROPPED = (6, 2)
"""The highest compute capability (Pascal) at which a GPU counts as too old if no kernel fits it and the build
is unknown: newer builds of TensorFlow and PyTorch dropped these GPUs. For later cards, reports of a missing
kernel concern older builds."""
LOWEST_EVER = (3, 0)
"""The lowest compute capability for which any TensorFlow wheel has code: only the wheels up to 1.4 for Linux
have such code (from the table)."""


def _lowest_of(builds: Sequence[TensorFlowRelease]) -> str | None:
    """The lowest compute capability for which any of these builds has code; None if it is unknown for one
    build."""
    lowest = [row.compute_capabilities.lowest for row in builds if row.compute_capabilities]
    known = [c for c in lowest if c]
    return min(known, key=minor) if known and len(known) == len(builds) else None


@rule(
    "gpu-arch-too-old",
    "The GPU is too old for this TensorFlow build",
    explains=(
        "device-not-found",
        "cudnn-init-oom",
        "ptx-jit-or-kernel-crash",
        "gpu-arch-too-new",
        "driver-too-old",
    ),
    needs=(
        "gpu-ignored-capability",
        "gpu-ignored-multiprocessors",
        "no-kernel-image",
        "minimum-capability",
        "jit-from-ptx",
        "container-gpu-older",
        "xla-serves-no-device",
        Gpu,
    ),
)
def gpu_arch_too_old(case: Case) -> Iterator[Finding]:
    """The GPU's compute capability is below the lowest that this TensorFlow build has code for.

    ## What it means
    A build contains machine code for certain compute capabilities, and PTX that the driver compiles for newer
    GPUs. Nothing runs on a GPU below the lowest of these. TensorFlow also ignores a GPU with very few
    multiprocessors if a larger GPU is present.

    ## What you see
    `Ignoring visible gpu device … The minimum required Cuda capability is …`; `no kernel image is available`
    on an old GPU; `Cuda multiprocessor count: 6. The minimum required count is 8`.

    ## What to do
    Install the newest release that still has code for the GPU, with the CUDA and cuDNN that it was built for.
    To use a small second GPU, set `TF_MIN_GPU_MULTIPROCESSOR_COUNT`.
    """
    facts = case.facts
    small: list[Fact] = [*facts.symptoms("gpu-ignored-multiprocessors")]
    counted = [gpu for gpu in facts.of(Gpu) if gpu.multiprocessors is not None]
    if facts.kind == "machine" and not small and any((gpu.multiprocessors or 0) >= 8 for gpu in counted):
        small = [gpu for gpu in counted if (gpu.multiprocessors or 0) < 8]
    if small:
        yield found(
            "gpu-arch-too-old",
            "TensorFlow ignores a GPU with fewer than 8 multiprocessors if a larger GPU is present.",
            small,
            title="TensorFlow ignores a GPU with few multiprocessors because a larger GPU is present",
            severity="warning",
            steps=[
                shell(
                    Export("TF_MIN_GPU_MULTIPROCESSOR_COUNT", "2"),
                    "lowers the limit; the small GPU will be slow beside the large one",
                )
            ],
            verify=commands.list_gpus(case),
        )
    ignored = facts.symptoms("gpu-ignored-capability")
    stated = [s for s in facts.symptoms("minimum-capability") if s.get("minimum")]
    build = case.build
    lowest = build.compute_capabilities.lowest if build and build.compute_capabilities else None
    if not ignored and stated:
        ignored = [s for s in stated if any(minor(c) < minor(s.get("minimum")) for c in case.capabilities)]
    # the lambda imports doctor.remedies.cures only if a finding needs the steps
    steps = Later(lambda known: cures.better_code(known), case)
    finding = partial(found, "gpu-arch-too-old", steps=steps, verify=steps.lists_gpus)
    # put the lines that contain the reason first
    ignored.sort(key=lambda s: not s.get("cc") and not s.get("minimum"))
    if ignored and not (ignored[0].get("cc") or ignored[0].get("minimum")):
        yield finding(
            "TensorFlow ignores a GPU for one of two reasons: usually because its compute capability is below"
            " the build's lowest, otherwise because it has few multiprocessors beside a larger GPU. The"
            " complete line in the log gives the reason.",
            [*ignored[:1], *case.gpus[:1]],
            confidence="likely",
            tables=[build],
        )
        return
    if ignored:
        minimum = ignored[0].get("minimum") or lowest
        need = f"at least {minimum}" if minimum else "a higher one"
        known = ignored[0].get("cc") or next(iter(case.capabilities), "")
        have = f"compute capability {known}" if known else "a compute capability below the minimum"
        another = registered(case)
        yield finding(
            f"{'One' if another else 'The'} GPU has {have}; this build needs {need} and ignores the GPU."
            + (" TensorFlow uses another GPU in this machine." if another else ""),
            ignored[:3],
            severity="warning" if another else "",
            confidence="likely" if ignored[0].get("stated") else "certain",
            tables=[build],
            steps=[manual("Change nothing if the other GPU is enough")] if another else steps,
        )
        return
    refused = facts.symptoms("container-gpu-older")
    if refused:
        yield finding(
            f"This image has no code for a GPU as old as {refused[0].get('gpu')}; NVIDIA's newer images"
            f" drop old GPUs.",
            [*refused[:2], *case.gpus[:1]],
        )
        return
    unserved = facts.symptoms("xla-serves-no-device")
    if unserved and case.capabilities and all(minor(c) < LOWEST_OF_XLA for c in case.capabilities):
        yield finding(
            f"The GPU has compute capability {case.capabilities[0]}. This TensorFlow does not start"
            f" without XLA, which needs at least {LOWEST_OF_XLA[0]}.{LOWEST_OF_XLA[1]}.",
            [*unserved[:1], *case.gpus[:1]],
            confidence="likely",
            tables=[build],
        )
        return
    if facts.kind == "report" and build is None and not registered(case):
        opened = [lib for lib in facts.of(LibraryLoaded) if case.component(lib.name) == "cuda"]
        lowest = _lowest_of(case.builds) if opened else None
        if (
            lowest is not None
            and case.capabilities
            and all(minor(c) < minor(lowest) for c in case.capabilities)
        ):
            yield finding(
                f"The GPU has compute capability {case.capabilities[0]}; every TensorFlow build that"
                f" loads {opened[0].name} needs at least {lowest} and ignores the GPU.",
                [*case.gpus[:1], *opened[:1]],
                confidence="likely",
                tables=dict.fromkeys((case.builds[0].ref, case.builds[-1].ref)),
            )
            return
    image: list[Fact] = [*(facts.symptoms("no-kernel-image") or facts.symptoms("jit-from-ptx"))]
    if facts.kind == "machine" and not image and case.tensorflow is not None:
        image = [case.tensorflow]  # the build and the GPU are both known, so no failure is needed as evidence
    complaint = (
        []
        if image or facts.kind == "machine" or registered(case)
        else facts.symptoms("gpu-not-used", "gpu-list-empty", "uses-cpu")
    )
    ancient = any((1, 0) <= minor(capability) <= LOWEST_EVER for capability in case.capabilities)
    if ancient and not (image or complaint or registered(case) or case.not_loaded) and facts.kind == "report":
        complaint = [*facts.symptoms("mentions-gpu")]  # hardly any release ever supported such a card
    unsure = bool(complaint)
    if unsure:
        image = [*complaint[:2]]
    invalid = [s for s in facts.symptoms("no-kernel-image") if "kernel image is invalid" in s.source.text]
    if invalid and not case.capabilities and facts.kind == "report":
        yield finding(
            "No code in this build runs on the GPU, which the report does not name. If this message appears,"
            " the GPU is usually older than the code in the build; it may also be newer.",
            [*invalid[:2]],
            confidence="possible",
            tables=[build],
        )
        return
    if build is None and facts.has("no-kernel-image"):
        highest = [highest_possible(gpu, case) for gpu in case.gpus]
        old = next((have for have in highest if have is not None and minor(have) <= DROPPED), None)
        if old is not None and all(have is not None and minor(have) <= DROPPED for have in highest):
            yield finding(
                f"No kernel in this build fits a GPU of compute capability {old}: newer builds of TensorFlow"
                " and other frameworks have dropped the oldest GPUs step by step.",
                [*image[:2], *case.gpus[:1]],
                confidence="likely",
            )
            return
    # the machine works; the finding `healthy` lists these GPUs
    spared = {gpu.compute_capability for gpu, _ in left_out(case)}
    for capability in case.capabilities:
        if capability in spared:
            continue
        if build is None or not build.compute_capabilities or not image:
            if unsure and build is None and minor(capability) <= LOWEST_EVER:
                yield finding(
                    f"The GPU has compute capability {capability}. The first TensorFlow wheels needed"
                    f" {LOWEST_EVER[0]}.{LOWEST_EVER[1]}; wheels after 1.4 need a higher capability.",
                    [*case.gpus[:1], *image[:1]],
                    confidence="likely" if minor(capability) < LOWEST_EVER else "possible",
                )
                return
            continue
        answer = code_answer(case, capability)
        newest = max(
            (minor(c) for c in (*build.compute_capabilities.compiled, *build.compute_capabilities.ptx)),
            default=(0, 0),
        )
        if answer is not None and answer.verdict == "no" and minor(capability) < newest:
            others = [
                other for c in case.capabilities if (other := code_answer(case, c)) and other.verdict != "no"
            ]
            beside = facts.kind == "machine" and bool(others)
            yield finding(
                answer.sentence + (" TensorFlow supports another GPU in this machine." if beside else ""),
                [*image[:2], *(gpu for gpu in case.gpus if gpu.compute_capability == capability)][:3],
                severity="warning" if beside else "",
                confidence="likely" if unsure else "certain",
                tables=answer.rows,
            )
            return
