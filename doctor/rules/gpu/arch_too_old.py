"""gpu-arch-too-old: the build has no code for so old a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from doctor.facts import Fact, Gpu, LibraryLoaded
from doctor.findings import Finding, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.gpu.capability import code_answer, minor
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import Export, Line
from doctor.tables import TensorFlowRelease

LOWEST_EVER = (3, 0)
"""The lowest compute capability that a wheel of TensorFlow has ever had code for: up to 1.4 on Linux (the table's rows)."""


def _lowest_of(builds: Sequence[TensorFlowRelease]) -> str | None:
    """The lowest compute capability that one of these builds has code for; None where that of one is not known."""
    lowest = [row.compute_capabilities.lowest for row in builds if row.compute_capabilities]
    known = [c for c in lowest if c]
    return min(known, key=minor) if known and len(known) == len(builds) else None


@rule(
    "gpu-arch-too-old",
    "The GPU is too old for this TensorFlow build",
    explains=("device-not-found", "cudnn-init-oom", "ptx-jit-or-kernel-crash", "gpu-arch-too-new", "driver-too-old"),
    needs=(
        "gpu-ignored-capability",
        "gpu-ignored-multiprocessors",
        "no-kernel-image",
        "minimum-capability",
        "jit-from-ptx",
        "container-gpu-older",
        Gpu,
    ),
)
def gpu_arch_too_old(picture: Picture) -> Iterator[Finding]:
    """The GPU's compute capability is below the lowest that this TensorFlow build has code for.

    ## What it means
    A build holds machine code for certain compute capabilities, and PTX from which newer GPUs can be served. Nothing
    serves a GPU below the lowest. A GPU with very few multiprocessors beside a larger one is left out as well.

    ## How it shows
    `Ignoring visible gpu device … The minimum required Cuda capability is …`; `no kernel image is available` on an old GPU;
    `Cuda multiprocessor count: 6. The minimum required count is 8`.

    ## What to do
    Install the newest release that still has code for the GPU, with the CUDA and cuDNN that it was built for. For a small
    second GPU set `TF_MIN_GPU_MULTIPROCESSOR_COUNT`.
    """
    facts = picture.facts
    verify: Line | Callable[[], Line] = commands.list_gpus(picture)
    small: list[Fact] = [*facts.symptoms("gpu-ignored-multiprocessors")]
    counted = [gpu for gpu in facts.of(Gpu) if gpu.multiprocessors is not None]
    if facts.kind == "machine" and not small and any((gpu.multiprocessors or 0) >= 8 for gpu in counted):
        small = [gpu for gpu in counted if (gpu.multiprocessors or 0) < 8]
    if small:
        yield found(
            "gpu-arch-too-old",
            "TensorFlow leaves out a GPU with fewer than 8 multiprocessors where a larger one is there.",
            small,
            title="A GPU has too few multiprocessors for TensorFlow to use it beside a larger one",
            severity="warning",
            steps=[
                shell(
                    Export("TF_MIN_GPU_MULTIPROCESSOR_COUNT", "2"),
                    "lowers the limit; the small GPU will be slow beside the large one",
                )
            ],
            verify=verify,
        )
    ignored = facts.symptoms("gpu-ignored-capability")
    stated = [s for s in facts.symptoms("minimum-capability") if s.get("minimum")]
    build = picture.build
    lowest = build.compute_capabilities.lowest if build and build.compute_capabilities else None
    if not ignored and stated:
        ignored = [s for s in stated if any(minor(c) < minor(s.get("minimum")) for c in picture.capabilities)]
    steps = cures.Later(cures.better_code, picture)
    verify = steps.lists_gpus
    ignored.sort(key=lambda s: not s.get("cc") and not s.get("minimum"))  # those that say why come first
    if ignored and not (ignored[0].get("cc") or ignored[0].get("minimum")):
        yield found(
            "gpu-arch-too-old",
            "TensorFlow ignores a GPU mostly because its compute capability is below the lowest that the build was made for; otherwise "
            "because it has few multiprocessors beside a larger one. The rest of the line says which.",
            [*ignored[:1], *picture.gpus[:1]],
            confidence="likely",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if ignored:
        need = ignored[0].get("minimum") or lowest or "a higher one"
        have = ignored[0].get("cc") or next(iter(picture.capabilities), "its own")
        yield found(
            "gpu-arch-too-old",
            f"The GPU has compute capability {have}; this build wants {need} at least and leaves the GPU out.",
            ignored[:3],
            confidence="likely" if ignored[0].get("told") else "certain",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    refused = facts.symptoms("container-gpu-older")
    if refused:
        yield found(
            "gpu-arch-too-old",
            f"This image has no code for a GPU as old as {refused[0].get('gpu')}: NVIDIA's newer images drop old GPUs.",
            [*refused[:2], *picture.gpus[:1]],
            steps=steps,
            verify=verify,
        )
        return
    if facts.kind == "report" and build is None and not registered(picture):
        opened = [lib for lib in facts.of(LibraryLoaded) if picture.component(lib.name) == "cuda"]
        lowest = _lowest_of(picture.builds) if opened else None
        if lowest is not None and picture.capabilities and all(minor(c) < minor(lowest) for c in picture.capabilities):
            yield found(
                "gpu-arch-too-old",
                f"The GPU has compute capability {picture.capabilities[0]}; every build of TensorFlow that opens {opened[0].name} wants "
                f"{lowest} at least and leaves the GPU out.",
                [*picture.gpus[:1], *opened[:1]],
                confidence="likely",
                tables=dict.fromkeys((picture.builds[0].ref, picture.builds[-1].ref)),
                steps=steps,
                verify=verify,
            )
            return
    image: list[Fact] = [*(facts.symptoms("no-kernel-image") or facts.symptoms("jit-from-ptx"))]
    if facts.kind == "machine" and not image:  # here the build and the GPU are both known: nothing needs to fail first
        image = [f for f in (picture.tensorflow,) if f is not None]
    complaint = (
        []
        if image or facts.kind == "machine" or registered(picture)
        else facts.symptoms("gpu-not-used", "gpu-list-empty", "uses-cpu")
    )
    ancient = any((1, 0) <= minor(capability) < LOWEST_EVER for capability in picture.capabilities)
    if ancient and not (image or complaint or registered(picture) or picture.not_loaded) and facts.kind == "report":
        complaint = [*facts.symptoms("mentions-gpu")]  # no release ever took such a card
    unsure = bool(complaint)
    if unsure:
        image = [*complaint[:2]]
    for capability in picture.capabilities:
        if build is None or not build.compute_capabilities or not image:
            if image and facts.has("no-kernel-image") and minor(capability) <= (5, 2) and build is None:
                yield found(
                    "gpu-arch-too-old",
                    f"No kernel in this build fits a GPU of compute capability {capability}; builds since 2.3 have dropped "
                    "the oldest GPUs one after the other.",
                    [*image[:2], *picture.gpus[:1]],
                    confidence="likely",
                    steps=steps,
                    verify=verify,
                )
                return
            if unsure and build is None and minor(capability) <= LOWEST_EVER:
                yield found(
                    "gpu-arch-too-old",
                    f"The GPU has compute capability {capability}; the first wheels of TensorFlow wanted "
                    f"{LOWEST_EVER[0]}.{LOWEST_EVER[1]}, those after 1.4 more.",
                    [*picture.gpus[:1], *image[:1]],
                    confidence="likely" if minor(capability) < LOWEST_EVER else "possible",
                    steps=steps,
                    verify=verify,
                )
                return
            continue
        answer = code_answer(picture, capability)
        newest = max(
            (minor(c) for c in (*build.compute_capabilities.compiled, *build.compute_capabilities.ptx)), default=(0, 0)
        )
        if answer is not None and answer.verdict == "no" and minor(capability) < newest:
            yield found(
                "gpu-arch-too-old",
                answer.reason,
                [*image[:2], *picture.gpus[:1]],
                confidence="likely" if unsure else "certain",
                tables=answer.rows,
                steps=steps,
                verify=verify,
            )
            return
