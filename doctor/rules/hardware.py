"""The GPU, the driver, and what stands between them and the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import (
    Absent,
    CudaCallFailed,
    DeviceNode,
    DriverMismatch,
    DriverVersion,
    EnvVar,
    Fact,
    Gpu,
    GpuProcess,
    KernelModule,
    LibraryNotLoaded,
    LibraryWanted,
    OtherGpu,
    Symptom,
)
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.registry import found, rule

if TYPE_CHECKING:
    from doctor import compat

NVML = "libnvidia-ml.so.1"
NO_TENSORFLOW_GPU = ("device-not-found", "cuda-missing", "tf-cpu-only", "benign-messages")


def cuinit(picture: Picture, *errors: str) -> CudaCallFailed | None:
    """The first failed cuInit with one of these errors (any error where none is named)."""
    return next(
        (c for c in picture.facts.of(CudaCallFailed) if c.call == "cuInit" and (not errors or c.error in errors)), None
    )


def wants_nvml(picture: Picture) -> bool:
    """Whether this build registers no GPU without NVML, as 2.21 does; in a report, where it is named, it counts."""
    return picture.facts.kind != "machine" or any(
        wanted.name == NVML and wanted.needed for wanted in picture.facts.of(LibraryWanted)
    )


def no_libcuda(picture: Picture) -> LibraryNotLoaded | None:
    """The driver's library that did not open."""
    return next(
        (
            lib
            for lib in picture.missing("driver")
            if "could not load library" not in lib.source.text.lower() and (lib.name != NVML or wants_nvml(picture))
        ),
        None,
    )  # a cuDNN that wants the plain name libcuda.so says nothing about the driver


def no_driver_signs(picture: Picture) -> list[Fact]:
    """Everything that says that the driver does not answer: which of it decides what is for the rules."""
    signs: list[Fact] = [
        c
        for c in picture.facts.of(CudaCallFailed)
        if c.call == "cuInit" and c.error in ("UNKNOWN_ERROR_303", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY")
    ]
    signs += picture.missing("driver")
    signs += picture.facts.symptoms(
        "kernel-driver-not-running",
        "no-device-node",
        "smi-no-driver",
        "smi-not-found",
        "smi-no-devices",
        "wsl-no-adapter",
    )
    signs += [
        a
        for a in picture.facts.of(Absent)
        if a.what in ("nvidia driver", "nvidia kernel module", "libcuda", "device nodes")
    ]
    return signs


def nvidia_gpu(picture: Picture) -> Gpu | None:
    """A GPU that is known to be in the machine: seen on a bus, or named by the reporter."""
    return picture.gpus[0] if picture.gpus else None


def registered(picture: Picture) -> bool:
    """Whether TensorFlow made a GPU device in this case."""
    return any(r.count for r in picture.registered)


def minor(capability: str) -> tuple[int, int]:
    """ "8.6" as (8, 6)."""
    first, _, second = capability.partition(".")
    return int(first), int(second.rstrip("af") or 0)


@rule(
    "gpu-absent",
    "There is no NVIDIA GPU here",
    explains=(
        "driver-missing",
        "driver-not-loaded",
        "cuda-missing",
        "cudnn-missing",
        "tf-cpu-only",
        "device-not-found",
        "driver-libcuda-missing",
    ),
    needs=(Absent, OtherGpu, CudaCallFailed, LibraryNotLoaded, Symptom),
)
def gpu_absent(picture: Picture) -> Iterator[Finding]:
    """No NVIDIA GPU is on this machine or node.

    ## What it means
    TensorFlow's CUDA build looks for an NVIDIA GPU, finds none and computes on the CPU. Messages about missing CUDA
    libraries or a failed `cuInit` are then consequences, not causes.

    ## How it shows
    Nothing of vendor 10de on the PCI bus; `no CUDA-capable device is detected`; only a graphics device of another maker;
    a cloud workspace or CI runner without GPUs; a cluster's login node.

    ## What to do
    On a cluster ask for a GPU node (`srun --gres=gpu:1 …`); in the cloud take a machine type with an NVIDIA GPU. Without a
    GPU the messages can be ignored, and `tensorflow-cpu` prints fewer of them. AMD GPUs need ROCm's build, Intel's and
    Apple's their plugins.
    """
    facts = picture.facts
    absent = facts.absent("nvidia gpu")
    other = facts.first(OtherGpu)
    signs = no_driver_signs(picture)
    steps = [
        manual("Run on a machine or node that has an NVIDIA GPU; without one the messages about CUDA can be ignored"),
        shell(
            f"{commands.venv_prefix(picture)} uninstall -y tensorflow tensorflow-gpu",
            "if the CPU is all there is: first take away the build with CUDA, since both install the same folder",
        ),
        shell(f"{commands.venv_prefix(picture)} install tensorflow-cpu", "then the same TensorFlow without CUDA"),
    ]
    if "slurm" in picture.environments or facts.has("login-node"):
        steps.insert(
            0, shell("srun --gres=gpu:1 --pty bash", "asks the scheduler for a node with a GPU", platform="linux")
        )
    verify = "lspci -nn | grep -i nvidia" if picture.platform != "windows" else "nvidia-smi"
    if absent is not None and not registered(picture):
        yield found(
            "gpu-absent",
            "The PCI bus shows no NVIDIA device, so no driver or library can help; TensorFlow uses the CPU.",
            [absent, other],
            steps=steps,
            verify=verify,
        )
        return
    if registered(picture):
        return
    ci = next((e for e in facts if type(e).__name__ == "EnvironmentKind" and getattr(e, "kind", "") == "ci"), None)
    if ci is not None and signs and not picture.gpus:
        yield found(
            "gpu-absent",
            "This ran in a cloud workspace or CI runner, whose machines have no GPU, and no driver is there.",
            [*signs[:3], ci],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif facts.has("login-node") and signs:
        yield found(
            "gpu-absent",
            "This ran on a login node, which has no GPU.",
            [*facts.symptoms("login-node"), *signs[:2]],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif other is not None and signs and not [g for g in picture.gpus if g.rank < 2]:
        yield found(
            "gpu-absent",
            f"The graphics device that is named is not NVIDIA's ({other.name}), and no NVIDIA driver answers.",
            [other, *signs[:3]],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif facts.has("wants-no-gpu") and signs:
        yield found(
            "gpu-absent",
            "The report says that there is no GPU, and the messages fit that.",
            [*facts.symptoms("wants-no-gpu"), *signs[:2]],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif facts.has("directml-no-adapter"):
        yield found(
            "gpu-absent",
            "The DirectML plugin finds no adapter that it can use: no GPU, one that is too old for it, or no driver for it here.",
            facts.symptoms("directml-no-adapter"),
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif facts.has("smi-no-devices"):
        yield found(
            "gpu-absent",
            "The driver answers and sees no GPU: none is fitted, or it is not passed into this machine or job.",
            facts.symptoms("smi-no-devices"),
            confidence="likely",
            steps=steps,
            verify=verify,
        )
    elif (
        picture.platform != "wsl"
        and not picture.container
        and not facts.has("driver-versions-agree", "smi-works")
        and cuinit(picture, "CUDA_ERROR_NO_DEVICE")
        and not facts.has("smi-no-driver", "kernel-driver-not-running")
    ):
        yield found(
            "gpu-absent",
            "libcuda opens and finds no CUDA-capable device, and nothing in the text shows that an NVIDIA GPU is there.",
            signs[:4],
            confidence="possible",
            steps=steps,
            verify=verify,
        )


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
    verify = commands.list_gpus(picture)
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
                    "set TF_MIN_GPU_MULTIPROCESSOR_COUNT=2"
                    if picture.platform == "windows"
                    else "export TF_MIN_GPU_MULTIPROCESSOR_COUNT=2",
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
    steps = older_release(picture)
    if ignored:
        need = ignored[0].get("minimum") or lowest or "a higher one"
        have = ignored[0].get("cc") or next(iter(picture.capabilities), "its own")
        yield found(
            "gpu-arch-too-old",
            f"The GPU has compute capability {have}; this build wants {need} at least and leaves the GPU out.",
            ignored[:3],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    image: list[Fact] = [*(facts.symptoms("no-kernel-image") or facts.symptoms("jit-from-ptx"))]
    if facts.kind == "machine" and not image:  # here the build and the GPU are both known: nothing needs to fail first
        image = [f for f in (picture.tensorflow,) if f is not None]
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
                tables=answer.rows,
                steps=steps,
                verify=verify,
            )
            return


def code_answer(picture: Picture, capability: str) -> compat.Answer | None:
    """Whether the build in use has code for a GPU of this compute capability; None where its row is not known."""
    build = picture.build
    if build is None or not build.gpu or not build.compute_capabilities:
        return None
    from doctor import compat

    situation = compat.Situation(
        platform=picture.table_platform,
        capabilities=(capability,),
        driver=picture.driver.version if picture.driver else None,
        driver_platform=picture.platform if picture.platform in ("windows", "wsl") else "linux",
    )
    return compat.runs_on_gpu(build, situation, picture.tables)


def driver_trap(picture: Picture) -> compat.Answer | None:
    """On a machine: kernels of this build that this GPU has only as PTX, which its driver is too old to compile."""
    if picture.facts.kind != "machine" or picture.driver is None or picture.build is None:
        return None
    from doctor import compat

    for gpu in picture.gpus:
        if gpu.compute_capability is None:
            continue
        situation = compat.Situation(
            platform=picture.table_platform,
            capabilities=(gpu.compute_capability,),
            driver=picture.driver.version,
            driver_platform=picture.platform if picture.platform in ("windows", "wsl") else "linux",
        )
        for trap in compat.traps_of(picture.build, situation, picture.tables):
            if trap.data["aspect"] == "driver" and "driver_cuda" in trap.data["when"] and trap.verdict == "no":
                return compat.Answer("no", trap.reason, (trap, picture.build), trap.cure)
    return None


def older_release(picture: Picture) -> list:  # type: ignore[type-arg]
    """The newest release that has code for the GPUs of the case."""
    release = commands.newest_fitting(picture)
    if release is None:
        return [
            manual(
                "Install an older TensorFlow release that has code for this GPU: tfgpu-doctor plan --gpu CAPABILITY names it"
            )
        ]
    return [
        shell(
            f"{commands.venv_prefix(picture)} install {commands.quoted(release.requirement, picture)}",
            f"the newest release with code for compute capability {', '.join(picture.capabilities)}"
            + (f" and a wheel for Python {'.'.join(picture.python.version.split('.')[:2])}" if picture.python else ""),
        ),
        *commands.with_cuda_libraries(picture, release),
    ]


@rule(
    "gpu-arch-too-new",
    "The GPU is newer than the code in this TensorFlow build",
    explains=("cudnn-init-oom", "ptx-jit-or-kernel-crash", "model-oom", "xla-toolchain-missing", "cudnn-missing"),
    needs=("jit-from-ptx", "ptx-invalid", "no-kernel-image", "arch-mismatch", Gpu),
)
def gpu_arch_too_new(picture: Picture) -> Iterator[Finding]:
    """The GPU is newer than every kernel in this TensorFlow build, or than its CUDA libraries.

    ## What it means
    Without machine code for the GPU, the driver has to compile PTX at the first start (minutes, and again after each driver
    upgrade), or cannot run the kernels at all. CUDA libraries older than the GPU have no code for it either: cuBLAS and
    cuDNN then fail, hang or give wrong numbers.

    ## How it shows
    `TensorFlow was not built with CUDA kernel binaries compatible with compute capability …`, `CUDA_ERROR_INVALID_PTX`,
    `no kernel image is available`, `PTX version … does not support target`; on Ampere and later with CUDA 10 builds, or
    Turing with CUDA 8 and 9, failing BLAS calls, NaN and silent hangs.

    ## What to do
    Install a release that was built with code for the GPU; where there is none yet, one whose PTX the driver can compile.
    """
    facts = picture.facts
    verify = commands.convolution(picture)
    build = picture.build
    steps = older_release(picture)
    jit = facts.symptoms("jit-from-ptx")
    invalid = facts.symptoms("ptx-invalid", "arch-mismatch")
    image = facts.symptoms("no-kernel-image")
    compiled = build.compute_capabilities.compiled if build and build.compute_capabilities else ()
    highest = max((minor(c) for c in compiled), default=None)
    jit_old = [s for s in jit if minor(s.get("cc")) <= (5, 3)]
    if jit and not jit_old:
        yield found(
            "gpu-arch-too-new",
            f"This build has no machine code for compute capability {jit[0].get('cc')}; its kernels are compiled from PTX when "
            "they are first used, which can take half an hour, and not every step survives it.",
            [*jit[:2], *invalid[:2]],
            severity="error" if invalid else "warning",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if invalid:
        yield found(
            "gpu-arch-too-new",
            "The PTX in this build, or the tool that makes it, does not serve this GPU.",
            [*invalid[:3], *picture.gpus[:1]],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if image and picture.capabilities:
        newest = max(minor(c) for c in picture.capabilities)
        if newest >= (7, 5) and (highest is None or newest > highest):
            yield found(
                "gpu-arch-too-new",
                f"No kernel in this build fits a GPU of compute capability {newest[0]}.{newest[1]}.",
                [*image[:2], *picture.gpus[:1]],
                tables=[build] if build else [],
                confidence="certain" if highest else "likely",
                steps=steps,
                verify=verify,
            )
        return
    if facts.kind == "machine" and highest is not None:
        for gpu in picture.gpus:
            answer = code_answer(picture, gpu.compute_capability) if gpu.compute_capability else None
            if (
                answer is None
                or answer.verdict not in ("no", "slow")
                or minor(gpu.compute_capability or "0.0") <= highest
            ):
                continue
            yield found(
                "gpu-arch-too-new",
                f"{answer.reason[0].upper()}{answer.reason[1:]}.",
                [gpu, picture.tensorflow],
                severity="error" if answer.verdict == "no" else "warning",
                tables=answer.rows,
                steps=steps,
                verify=verify,
            )
            return
    failing = facts.symptoms(
        "blas-launch-failed",
        "cublas-handle-failed",
        "cudnn-handle-failed",
        "conv-algorithm-failed",
        "cudnn-launch-failed",
        "nan-results",
        "hangs",
        "no-algorithm",
        "dnn-not-found",
        "launch-failed",
        "slow-first-run",
        "gpu-not-used",
    )
    cuda = wanted_cuda_major(picture)
    crashed = [s for s in facts.symptoms("blas-launch-failed") if s.get("status") == "CUBLAS_STATUS_EXECUTION_FAILED"]
    if crashed and picture.build is None and any(minor(c) >= (8, 0) for c in picture.capabilities):
        yield found(
            "gpu-arch-too-new",
            "cuBLAS has a handle and its routine fails on a GPU of Ampere or later: a TensorFlow built for CUDA 10 or earlier, "
            "whose cuBLAS has no code for it, fails in just this way.",
            [*crashed[:2], *picture.gpus[:1]],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
        return
    if cuda is not None and picture.capabilities and picture.tensorflow is not None:
        newest = max(minor(c) for c in picture.capabilities)
        limit = (7, 0) if cuda < 10 else (7, 5) if cuda < 11 else None
        if limit is not None and newest > limit and (failing or newest >= (8, 0)):
            named = [g for g in picture.gpus if g.compute_capability and minor(g.compute_capability) == newest]
            yield found(
                "gpu-arch-too-new",
                f"{named[0].name or 'The GPU'} has compute capability {newest[0]}.{newest[1]}; this TensorFlow works with CUDA {cuda}, "
                f"whose libraries have no code for GPUs newer than {limit[0]}.{limit[1]}. Failing BLAS and cuDNN calls, NaN and hangs "
                "follow from that; memory settings do not cure them.",
                [*named[:1], *failing[:2], picture.tensorflow, picture.cuda],
                severity="error" if failing or not registered(picture) else "warning",
                confidence="likely" if failing else "possible",
                tables=picture.builds[-1:],
                steps=steps,
                verify=verify,
            )


def wanted_cuda_major(picture: Picture) -> int | None:
    """The CUDA major that the TensorFlow of the case works with: its build's, or what is installed."""
    wanted = picture.wanted_cuda
    majors = {int(w.split(".")[0]) for w in wanted}
    if len(majors) == 1:
        build = majors.pop()
        if picture.cuda is not None and picture.tensorflow is not None and picture.cuda.rank <= 2:
            return min(build, int(picture.cuda.version.split(".")[0]))
        return build
    if picture.cuda is not None:
        return int(picture.cuda.version.split(".")[0])
    return None


@rule(
    "driver-missing",
    "No NVIDIA driver is installed",
    explains=NO_TENSORFLOW_GPU,
    needs=(LibraryNotLoaded, CudaCallFailed, Absent, Symptom),
)
def driver_missing(picture: Picture) -> Iterator[Finding]:
    """No NVIDIA driver is installed, although a GPU is there or is expected.

    ## What it means
    `libcuda.so.1` (`nvcuda.dll` on Windows) comes with the driver, never with CUDA, pip or conda. Without it no CUDA program
    finds a GPU.

    ## How it shows
    `Could not load dynamic library 'libcuda.so.1'`, `failed call to cuInit: UNKNOWN ERROR (303)`, `nvidia-smi: command not found`.

    ## What to do
    Install the distribution's NVIDIA driver and restart. On a machine without an NVIDIA GPU the messages mean nothing.
    """
    facts = picture.facts
    lib = no_libcuda(picture)
    error = cuinit(picture, "UNKNOWN_ERROR_303", "CUDA_ERROR_STUB_LIBRARY")
    smi = facts.symptoms("smi-not-found")
    absent = facts.absent("nvidia driver") or facts.absent("libcuda")
    if registered(picture) or facts.absent("nvidia gpu") or facts.has("plugin-device"):
        return
    evidence: list[Fact | None] = [
        lib,
        error,
        *smi[:1],
        absent,
        *facts.symptoms("kernel-driver-not-running", "no-device-node")[:2],
    ]
    kernel_runs = any(d.part in ("kernel", "any") and d.rank == 0 for d in facts.of(DriverVersion)) or any(
        m.name == "nvidia" for m in facts.of(KernelModule)
    )
    if not (lib or error or absent or smi) or kernel_runs:
        return
    alone = not (lib or error or absent or picture.gpus or facts.has("gpu-not-used", "gpu-list-empty", "gpu-not-found"))
    yield found(
        "driver-missing",
        "The driver's own library is not on this machine"
        + (" and its kernel module does not run" if facts.has("kernel-driver-not-running") else "")
        + "; CUDA packages do not bring it. If the machine has no NVIDIA GPU, these messages are harmless.",
        evidence,
        confidence="certain" if (lib or absent) else "possible" if alone else "likely",
        steps=commands.driver_install(picture),
        verify="nvidia-smi",
    )


@rule(
    "driver-libcuda-missing",
    "The driver runs, but this process finds no libcuda.so.1",
    explains=("driver-missing", *NO_TENSORFLOW_GPU),
    needs=(LibraryNotLoaded, CudaCallFailed, Absent, "smi-cuda-unknown", "libcuda-not-found"),
)
def driver_libcuda_missing(picture: Picture) -> Iterator[Finding]:
    """The kernel module runs, and the process finds no `libcuda.so.1`.

    ## What it means
    The driver's compute library is not installed (distributions pack it apart from the kernel module), not on the loader's
    path, or not mounted into the container (`NVIDIA_DRIVER_CAPABILITIES` without `compute`).

    ## How it shows
    `nvidia-smi` or /proc/driver/nvidia/version answer, and `libcuda.so.1: cannot open shared object file` appears.

    ## What to do
    Install the package that holds libcuda of the same version (Debian: libcuda1, Ubuntu: libnvidia-compute-NNN), run
    `ldconfig`; in a container ask for the `compute` capability.
    """
    facts = picture.facts
    unknown = next((s for s in facts.symptoms("smi-cuda-unknown") if not picture.container), None)
    lib = no_libcuda(picture) or facts.absent("libcuda") or unknown
    lib = lib or next(iter(facts.symptoms("libcuda-not-found")), None)
    kernel = next((d for d in facts.of(DriverVersion) if d.part in ("kernel", "any") and d.rank == 0), None)
    module = next((m for m in facts.of(KernelModule) if m.name == "nvidia"), None)
    capabilities = picture.env.get("NVIDIA_DRIVER_CAPABILITIES")
    without_compute = capabilities is not None and not {"compute", "all"} & set(capabilities.value.split(","))
    if lib is None or registered(picture) or not (kernel or module or without_compute):
        return
    family = commands.linux_family(picture)
    name = {"apt": "libnvidia-compute", "dnf": "nvidia-driver-cuda-libs"}.get(family, "")
    branch = kernel.version.split(".")[0] if kernel else ""
    steps = []
    if picture.container or without_compute:
        steps.append(
            shell(
                "docker run --rm --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility tensorflow/tensorflow:latest-gpu nvidia-smi",
                "mounts the driver's compute libraries",
                platform="linux",
            )
        )
    elif name == "libnvidia-compute" and branch:
        steps.append(
            shell(
                f"sudo apt install libnvidia-compute-{branch}",
                "Ubuntu; on Debian the package is libcuda1",
                platform="linux",
                root=True,
            )
        )
    elif name:
        steps.append(shell(f"sudo dnf install {name}", "the package that holds libcuda", platform="linux", root=True))
    steps.append(shell("sudo ldconfig", "tells the loader about it", platform="linux", root=True))
    yield found(
        "driver-libcuda-missing",
        "The NVIDIA kernel driver runs here, and still libcuda.so.1, which belongs to it, cannot be opened by this process.",
        [lib, kernel, module, capabilities if without_compute else None],
        steps=steps,
        verify="ldconfig -p | grep libcuda.so.1",
    )


@rule(
    "driver-not-loaded",
    "The NVIDIA driver is installed, but its kernel module is not running",
    explains=("driver-missing", "gpu-bad-state", "gpu-absent", *NO_TENSORFLOW_GPU),
    needs=(CudaCallFailed, KernelModule, Absent, Symptom),
)
def driver_not_loaded(picture: Picture) -> Iterator[Finding]:
    """A driver is installed, and its kernel module is not running.

    ## What it means
    The user-space half of the driver is there; the kernel half is not: not built for the running kernel after an upgrade
    (DKMS), refused by Secure Boot, or kept out by nouveau.

    ## How it shows
    `NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver`; libcuda opens, `cuInit` fails and
    `kernel driver does not appear to be running on this host`.

    ## What to do
    Rebuild and load the module (`sudo dkms autoinstall`, `sudo modprobe nvidia`, restart); sign it or turn Secure Boot off;
    keep nouveau from loading.
    """
    facts = picture.facts
    if registered(picture) or picture.platform == "wsl" or picture.container or facts.absent("nvidia gpu"):
        if not facts.has("smi-no-driver") or registered(picture):
            return
        if picture.container or picture.platform == "wsl":
            return
    if facts.absent("nvidia gpu") is not None:  # no driver has anything to load for
        return
    smi = facts.symptoms("smi-no-driver")
    nouveau = [m for m in facts.of(KernelModule) if m.name == "nouveau"] or facts.symptoms("nouveau")
    refused = facts.symptoms("kernel-module-missing", "secure-boot-enabled")
    error = cuinit(
        picture,
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_UNKNOWN",
        "CUDA_ERROR_NOT_INITIALIZED",
        "CUDA_ERROR_INVALID_DEVICE",
        "UNKNOWN_ERROR_303",
    )
    down: list[Fact] = [*facts.symptoms("kernel-driver-not-running")]
    if (module_absent := facts.absent("nvidia kernel module")) is not None:
        down.append(module_absent)
    user = next((d for d in facts.of(DriverVersion) if d.part == "user"), None)
    have_libcuda = user is not None or any(n.startswith(("libcuda.", "nvcuda")) for n in picture.loaded)
    quiet = cuinit(picture, "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_UNKNOWN")
    missing = no_libcuda(picture)
    evidence: list[Fact | None] = [*smi[:2], error, *down[:1], user, *refused[:2], *nouveau[:1]]
    if not (smi or facts.symptoms("kernel-module-missing") or (down and (have_libcuda or quiet) and missing is None)):
        return
    why = (
        "The nouveau driver holds the GPU."
        if nouveau
        else "The module was refused or not built for this kernel."
        if refused
        else "After a kernel or driver upgrade it was probably not rebuilt, or Secure Boot refuses it."
    )
    steps = [
        shell(
            "sudo dkms autoinstall && sudo modprobe nvidia",
            "builds the module for the running kernel and loads it",
            platform="linux",
            root=True,
        ),
        shell(
            "mokutil --sb-state", "says whether Secure Boot is on; an unsigned module is refused then", platform="linux"
        ),
        *commands.driver_install(picture),
    ]
    if nouveau:
        steps.insert(
            0,
            shell(
                "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf && sudo update-initramfs -u",
                "keeps nouveau from taking the GPU",
                platform="linux",
                root=True,
            ),
        )
    if picture.platform == "windows":
        steps = commands.driver_install(picture)
    yield found(
        "driver-not-loaded",
        f"The driver's programs or libraries are there, and no NVIDIA kernel module answers them. {why}",
        evidence,
        confidence="certain"
        if smi or refused or nouveau or facts.absent("nvidia kernel module") or picture.gpus
        else "likely",
        steps=steps,
        verify="nvidia-smi",
    )


@rule(
    "driver-library-mismatch",
    "Kernel module and libraries of the NVIDIA driver differ in version",
    explains=("driver-not-loaded", "gpu-bad-state", "driver-too-old", "gpu-hidden", "gpu-absent", *NO_TENSORFLOW_GPU),
    needs=(DriverMismatch, "system-driver-mismatch", "compat-not-supported", DriverVersion),
)
def driver_library_mismatch(picture: Picture) -> Iterator[Finding]:
    """The running kernel module and the user-space libraries of the driver are of different versions.

    ## What it means
    The driver's packages were upgraded while the old kernel module went on running; the new libraries refuse to talk to it.

    ## How it shows
    `Failed to initialize NVML: Driver/library version mismatch`, `kernel version X does not match DSO version Y`,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803), and within one branch CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804).

    ## What to do
    Restart the machine. Where that is not possible: stop everything that uses the GPU, `sudo rmmod nvidia_uvm nvidia_drm
    nvidia_modeset nvidia`, `sudo modprobe nvidia`.
    """
    facts = picture.facts
    stated = facts.first(DriverMismatch)
    codes = facts.symptoms("system-driver-mismatch", "compat-not-supported")
    kernel = next((d for d in facts.of(DriverVersion) if d.part == "kernel" and d.rank == 0), None)
    user = next((d for d in facts.of(DriverVersion) if d.part == "user" and d.rank == 0), None)
    differ = (
        kernel
        and user
        and kernel.version != user.version
        and not kernel.version.startswith(user.version)
        and not user.version.startswith(kernel.version)
    )
    if registered(picture) or not (stated or codes or differ):
        return
    versions = ""
    a = stated.kernel if stated and stated.kernel else kernel.version if kernel else ""
    b = stated.user if stated and stated.user else user.version if user else ""
    if a and b:
        versions = f" The kernel module is {a}, the libraries are {b}."
    yield found(
        "driver-library-mismatch",
        "The driver was upgraded on disk while the old kernel module still runs." + versions,
        [stated, kernel if differ else None, user if differ else None, *codes[:2]],
        confidence="certain" if stated or differ else "likely",
        steps=commands.reload_driver(),
        verify="nvidia-smi",
    )


@rule(
    "driver-too-old",
    "The NVIDIA driver is too old for the CUDA runtime in use",
    explains=("gpu-hidden", "ptx-jit-or-kernel-crash", "cudnn-init-oom", "gpu-bad-state", "device-not-found"),
    needs=("driver-insufficient", "ptx-unsupported", "container-requirement", DriverVersion),
)
def driver_too_old(picture: Picture) -> Iterator[Finding]:
    """The driver is older than the CUDA runtime needs.

    ## What it means
    Each CUDA runtime needs a minimum driver: before CUDA 11 the toolkit's own, from 11 on one floor for all minor versions of a
    major (11.x from 450.80.02, 12.x from 525.60.13, 13.x from 580.65.06 on Linux). Kernels that exist only as PTX need a driver
    of that PTX version.

    ## How it shows
    `CUDA driver version is insufficient for CUDA runtime version`, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, the container runtime's
    `unsatisfied condition: cuda>=…`.

    ## What to do
    Upgrade the driver, or install a TensorFlow built for a CUDA that the driver serves.
    """
    facts = picture.facts
    said = facts.symptoms("driver-insufficient", "ptx-unsupported", "container-requirement")
    side = picture.platform if picture.platform in ("windows", "wsl") else "linux"
    driver = picture.driver
    floors = [f for f in (picture.tables.driver_floor(w, side) for w in picture.wanted_cuda) if f is not None]
    floor = floors[0] if len({f.driver for f in floors}) == 1 else None
    from doctor.tables import dotted

    trapped = driver_trap(picture)
    if trapped is not None and not said and not registered(picture):
        yield found(
            "driver-too-old",
            f"{trapped.reason[0].upper()}{trapped.reason[1:]}.",
            [driver, *picture.gpus[:1], picture.tensorflow],
            tables=trapped.rows,
            steps=commands.driver_install(picture),
            verify="nvidia-smi",
        )
        return
    below = (
        driver is not None
        and floor is not None
        and driver.rank < 2
        and picture.build is not None
        and dotted(driver.version) < dotted(floor.driver)
        and not registered(picture)
    )
    if not said and not below:
        return
    detail = ""
    if driver is not None and floor is not None and dotted(driver.version) < dotted(floor.driver):
        detail = f" CUDA {floor.cuda} needs driver {floor.driver} or later; this one is {driver.version}."
    steps = commands.driver_install(picture)
    offered = (
        picture.driver_cuda.version
        if picture.driver_cuda
        else picture.tables.driver_cuda(driver.version, side)
        if driver
        else None
    )
    if offered:
        steps = [
            *steps,
            manual(
                f"Or keep the driver, which offers CUDA {offered}: tfgpu-doctor plan --driver {driver.version if driver else ''} names the TensorFlow that fits".replace(
                    "--driver  ", ""
                )
            ),
        ]
    yield found(
        "driver-too-old",
        "The CUDA runtime that TensorFlow uses asks for a newer driver." + detail,
        [*said[:3], driver],
        confidence="certain" if said else "likely",
        tables=[floor, picture.build] if floor else [],
        steps=steps,
        verify="nvidia-smi",
    )


@rule(
    "cuda-compat-package",
    "A forward-compatibility libcuda does not fit this GPU or driver",
    explains=(
        "driver-library-mismatch",
        "driver-not-loaded",
        "driver-too-old",
        "gpu-hidden",
        "gpu-bad-state",
        "gpu-absent",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(DriverMismatch, "compat-not-supported", "cuda-compat-path", "cuda-compat-on-path", "system-driver-mismatch"),
)
def cuda_compat_package(picture: Picture) -> Iterator[Finding]:
    """A forward-compatibility libcuda does not fit the GPU or the host's driver.

    ## What it means
    `cuda-compat` packages, and some container images, carry a libcuda of their own. It serves data-centre GPUs over certain
    older driver branches only; over a newer or unsuited driver, or on a GeForce card, it fails.

    ## How it shows
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804) or CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803) with a `compat` folder on
    LD_LIBRARY_PATH; in a container a DSO version *older* than the host's kernel module.

    ## What to do
    Take the compat folder off LD_LIBRARY_PATH (or remove the package), so that the host's libcuda is used; or upgrade the driver.
    """
    facts = picture.facts
    mismatch = facts.first(DriverMismatch)
    codes: list[Fact] = [*facts.symptoms("compat-not-supported", "system-driver-mismatch")]
    refused = cuinit(picture, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")
    if refused is not None:
        codes.append(refused)
    path = facts.symptoms("cuda-compat-path", "cuda-compat-on-path")
    from doctor.tables import dotted

    offered = picture.driver_cuda.version if picture.driver_cuda else None
    own = picture.tables.driver_cuda(picture.driver.version) if picture.driver else None
    lifted = facts.kind == "report" and bool(offered and own and dotted(offered) > dotted(own))
    older = bool(mismatch and mismatch.kernel and mismatch.user and dotted(mismatch.user) < dotted(mismatch.kernel))
    inside = picture.container or facts.has("nvidia-docker-path")
    if registered(picture) or not ((path and (codes or mismatch)) or (older and inside) or (lifted and codes)):
        return
    yield found(
        "cuda-compat-package",
        "The libcuda that this process opens is not the one of the running driver"
        + (
            f" (it is {mismatch.user}, the kernel module {mismatch.kernel})"
            if mismatch and mismatch.user and mismatch.kernel
            else ""
        )
        + ": it comes from a forward-compatibility package or from inside the container image.",
        [mismatch, *path[:2], *codes[:2], *([picture.driver, picture.driver_cuda] if lifted else [])],
        confidence="certain" if path or lifted else "likely",
        steps=[
            shell(
                "export LD_LIBRARY_PATH=\"$(printf '%s' \"$LD_LIBRARY_PATH\" | tr ':' '\\n' | grep -v compat | paste -sd: -)\"",
                "takes the compat folder off the loader's path",
                platform="linux",
            ),
            shell(
                "sudo apt remove 'cuda-compat-*'",
                "removes the packages (in an image: leave them out of the Dockerfile)",
                platform="linux",
                root=True,
            ),
        ],
        verify=commands.list_gpus(picture),
    )


def hides(value: str) -> bool:
    """Whether a CUDA_VISIBLE_DEVICES value leaves no GPU: an invalid entry hides itself and all after it.

    CUDA C++ Programming Guide, section CUDA Environment Variables.
    """
    first = value.split(",")[0].strip()
    if value.strip() == "" or first.lower() in ("-1", "none", "void", "nodevfiles", "no"):
        return True
    return not (first.lstrip("+").isdigit() or first.upper().startswith(("GPU-", "MIG-")))


@rule(
    "gpu-hidden",
    "CUDA_VISIBLE_DEVICES hides the GPU",
    explains=(
        "driver-missing",
        "gpu-absent",
        "driver-not-loaded",
        "device-not-found",
        "gpu-bad-state",
        "benign-messages",
    ),
    needs=(EnvVar, CudaCallFailed, "visible-list"),
)
def gpu_hidden(picture: Picture) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES (or NVIDIA_VISIBLE_DEVICES) hides the GPU, or names one that is not there.

    ## What it means
    The driver shows a process only the GPUs that CUDA_VISIBLE_DEVICES lists. An entry that is not valid hides itself and
    everything after it: `-1`, an empty value and `"-1,0"` hide all of them.

    ## How it shows
    `failed call to cuInit: CUDA_ERROR_NO_DEVICE` while kernel module and libraries agree in version and nvidia-smi shows the GPU.

    ## What to do
    Unset the variable or name GPUs by the numbers of `nvidia-smi` (0, 1 …) or their UUIDs. Look for it in the shell, in the
    scheduler's job, in the notebook and in the code (`os.environ`), where it must stand before TensorFlow is imported.
    """
    facts = picture.facts
    if registered(picture):
        return
    error = cuinit(picture, "CUDA_ERROR_NO_DEVICE")
    agree = facts.symptoms("driver-versions-agree")
    said = facts.symptoms("visible-list")
    variable = picture.env.get("CUDA_VISIBLE_DEVICES")
    other = picture.env.get("NVIDIA_VISIBLE_DEVICES")
    hiding = variable if variable is not None and hides(variable.value) else None
    if (
        hiding is None
        and other is not None
        and other.value.strip().lower() in ("", "none", "void")
        and picture.container
    ):
        hiding = other
    empty = facts.symptoms("gpu-list-empty", "gpu-not-found", "cpu-only-listed")
    broken = (
        picture.not_loaded
        or facts.has("gpu-skipped", "cudart-stub")
        or facts.of(DriverMismatch)
        or facts.has("cudnn-handle-failed", "conv-algorithm-failed")
    )
    mapped = variable is not None and (error is not None or bool(agree))
    bare = (
        error is not None
        and bool(picture.gpus)
        and not broken
        and not facts.symptoms("kernel-driver-not-running", "smi-no-driver", "no-device-node")
        and not facts.of(OtherGpu)
    ) or (error is not None and facts.has("smi-works"))
    idle = hiding is not None and not broken and bool(picture.loaded) and facts.has("op-on-cpu", "gpu-index-error")
    if not (
        said
        or (error and (agree or hiding or mapped or bare))
        or (agree and mapped)
        or idle
        or (hiding and facts.has("gpu-index-error"))
        or (hiding and (empty or facts.kind == "machine") and not broken)
    ):
        return
    if (
        error
        and not (agree or said or hiding)
        and (picture.container or picture.platform == "wsl" or facts.has("kernel-driver-not-running"))
    ):
        return
    shown = hiding or variable
    if facts.kind == "machine" and shown is None and facts.has("gpu-lost", "driver-call-crashed", "hung-driver"):
        return
    value = shown.value if shown is not None else said[0].get("value") if said else None
    yield found(
        "gpu-hidden",
        (
            f'{shown.name if shown else "CUDA_VISIBLE_DEVICES"} is "{value}", which leaves this process no GPU.'
            if value is not None
            else "Kernel module and libraries of the driver agree, and still the process is shown no device: nearly always CUDA_VISIBLE_DEVICES is set "
            "to an empty or wrong value, in the shell, the scheduler's job or the code."
        ),
        [shown, *said[:1], error, *agree[:1], *empty[:1]],
        confidence="certain"
        if (shown is not None and hides(shown.value)) or said
        else "likely"
        if agree or mapped
        else "possible",
        steps=[
            shell(
                "set CUDA_VISIBLE_DEVICES=" if picture.platform == "windows" else "unset CUDA_VISIBLE_DEVICES",
                "shows all GPUs again",
            ),
            manual("Remove or correct the line that sets it in the code; it counts only before TensorFlow is imported"),
        ],
        verify=commands.list_gpus(picture),
    )


EXPLAINED_CUINIT = frozenset(
    (
        "UNKNOWN_ERROR_303",
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_STUB_LIBRARY",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_OPERATING_SYSTEM",
        "CUDA_ERROR_NOT_PERMITTED",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "CUDA_ERROR_INSUFFICIENT_DRIVER",
    )
)
"""Errors of cuInit that tell their cause: other rules are for them."""


@rule(
    "gpu-bad-state",
    "The GPU or its driver is in a bad state",
    explains=(
        "driver-missing",
        "gpu-absent",
        "ptx-jit-or-kernel-crash",
        "cudnn-init-oom",
        "driver-not-loaded",
        "gpu-hidden",
    ),
    needs=(
        CudaCallFailed,
        "gpu-lost",
        "xid",
        "ecc-error",
        "system-not-ready",
        "device-busy",
        "gpu-rejected-by-driver",
        "compute-mode-prohibited",
        "compute-mode-exclusive",
        "hung-driver",
        "driver-call-crashed",
        "mps-failed",
        "nvml-unknown-error",
        "deep-hung",
        "exclusive-mode",
    ),
)
def gpu_bad_state(picture: Picture) -> Iterator[Finding]:
    """The GPU or its driver is in a bad state.

    ## What it means
    Driver and libraries are there and match, and the GPU does not answer as it should: after suspend, after a crash (Xid), with
    memory errors (ECC), fallen off the bus, without its fabric manager, or in an exclusive compute mode that another process uses.

    ## How it shows
    `failed call to cuInit: CUDA_ERROR_UNKNOWN`, `GPU is lost`, `NVRM: Xid`, CUDA_ERROR_SYSTEM_NOT_READY, `all CUDA-capable devices
    are busy or unavailable`.

    ## What to do
    After suspend reload `nvidia_uvm`; else restart the machine. Start the fabric manager on NVSwitch systems. Set the compute mode
    back to default. A GPU that keeps failing belongs to its vendor.
    """
    facts = picture.facts
    evidence: list[Fact] = list[Fact]()
    evidence += facts.symptoms(
        "gpu-lost",
        "xid",
        "ecc-error",
        "system-not-ready",
        "device-busy",
        "gpu-rejected-by-driver",
        "compute-mode-prohibited",
        "hung-driver",
        "driver-call-crashed",
        "mps-failed",
        *(() if facts.kind == "report" or picture.container else ("nvml-unknown-error",)),
    )
    hung = facts.symptoms("deep-hung")
    if hung and not evidence:
        yield found(
            "gpu-bad-state",
            "TensorFlow was started and did not come to an end; the last step that it finished is named in the evidence. A "
            "GPU or driver that hangs does that, and so does the first start on a GPU that the build has no machine code for.",
            hung[:2],
            title="TensorFlow hangs",
            confidence="possible",
            steps=[
                shell("nvidia-smi", "does the driver still answer, and who else uses the GPU?"),
                shell(
                    "tfgpu-doctor check --deep --limit 3600",
                    "gives the first start an hour, for kernels that are compiled",
                ),
            ],
            verify="tfgpu-doctor check --deep",
        )
        return
    if facts.of(GpuProcess):  # an exclusive GPU is no fault until somebody else has it
        evidence += (
            [*facts.symptoms("compute-mode-exclusive"), *facts.of(GpuProcess)[:2]]
            if facts.has("compute-mode-exclusive")
            else []
        )
    # every failure of cuInit that no other rule knows the cause of
    unknown = next(
        (c for c in facts.of(CudaCallFailed) if c.call == "cuInit" and c.error not in EXPLAINED_CUINIT), None
    )
    if facts.has("works-as-root", "permission-by-escalation") and unknown:
        return
    if facts.has("segfault"):
        evidence += facts.symptoms("exclusive-mode")[:1]
    mps = next((c for c in facts.of(CudaCallFailed) if "_MPS_" in c.error), None)
    if unknown is not None and not registered(picture):
        evidence.append(unknown)
    if mps is not None:
        evidence.append(mps)
    if not evidence:
        return
    steps = []
    if facts.has("system-not-ready"):
        steps.append(
            shell(
                "sudo systemctl enable --now nvidia-fabricmanager",
                "NVSwitch systems need it before CUDA starts",
                platform="linux",
                root=True,
            )
        )
    if facts.has("device-busy", "compute-mode-exclusive", "compute-mode-prohibited"):
        steps.append(
            shell("sudo nvidia-smi -c DEFAULT", "lets several processes use a GPU", platform="linux", root=True)
        )
        steps.append(
            shell("nvidia-smi", "shows which process holds the GPU, and the compute mode (E. Process, Prohibited)")
        )
    if unknown is not None and picture.platform != "windows":
        steps.append(
            shell(
                "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm",
                "cures it after suspend",
                platform="linux",
                root=True,
            )
        )
    steps.append(
        manual(
            "Restart the machine; if it comes back, look at `dmesg | grep -i -e nvrm -e xid` and at the GPU's power and cooling"
            if picture.platform != "windows"
            else "Restart the machine; if it comes back, install the driver anew (clean installation)"
        )
    )
    yield found(
        "gpu-bad-state",
        "The driver is there and the GPU does not answer properly."
        + (
            " The GPU is in exclusive or prohibited compute mode, or another process has it to itself."
            if facts.has("device-busy")
            else ""
        ),
        evidence[:5],
        confidence="certain"
        if facts.has("gpu-lost", "xid", "ecc-error", "system-not-ready", "device-busy")
        else "likely",
        steps=steps,
        verify="nvidia-smi",
    )


@rule(
    "device-permission",
    "This user may not open the GPU's device files",
    explains=("gpu-bad-state", "gpu-absent", "driver-missing", "gpu-hidden", "driver-not-loaded"),
    needs=(
        CudaCallFailed,
        "works-as-root",
        "permission-by-escalation",
        "device-node-permission",
        "nvml-unknown-error",
        DeviceNode,
        Absent,
    ),
)
def device_permission(picture: Picture) -> Iterator[Finding]:
    """The device nodes /dev/nvidia* are missing, or this user may not open them.

    ## What it means
    CUDA needs /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm. They are made by a root process or `nvidia-modprobe`; groups,
    udev rules and a container's cgroup can keep a user out.

    ## How it shows
    `cuInit` fails with CUDA_ERROR_UNKNOWN as a user and works with sudo; nvidia-smi works; `Insufficient Permissions`; in a running
    container `Failed to initialize NVML: Unknown Error` after a systemd reload.

    ## What to do
    Run `nvidia-modprobe -u -c=0` once as root, join the group that owns the nodes (video, render), restart the container with
    `--device` entries or with cgroup v2 handled by the toolkit.
    """
    facts = picture.facts
    error = cuinit(picture)
    refused = cuinit(picture, "CUDA_ERROR_OPERATING_SYSTEM", "CUDA_ERROR_NOT_PERMITTED")
    root = facts.symptoms("permission-by-escalation")
    if error or facts.has("smi-no-devices"):
        root += facts.symptoms("works-as-root")
    denied = facts.symptoms("device-node-permission")
    nodes = [n for n in facts.of(DeviceNode) if not n.accessible]
    lost = facts.symptoms("nvml-unknown-error") if facts.kind == "report" or picture.container else []
    missing = facts.absent("device nodes") if any(m.name == "nvidia" for m in facts.of(KernelModule)) else None
    if registered(picture) or not (root or denied or nodes or lost or missing or refused):
        return
    if facts.absent("nvidia gpu") is not None:  # without a GPU there is no node to open
        return
    steps = [
        shell("sudo nvidia-modprobe -u -c=0", "makes /dev/nvidia-uvm and the other nodes", platform="linux", root=True)
    ]
    if nodes or denied:
        steps.append(
            shell(
                'sudo usermod -aG video "$USER"',
                "if the nodes belong to the group video (ls -l /dev/nvidia*); then log in again",
                platform="linux",
                root=True,
            )
        )
    if lost:
        steps.insert(
            0,
            manual(
                "Restart the container; with systemd's cgroup driver name the devices (--device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm)"
            ),
        )
    yield found(
        "device-permission",
        "The driver works for root and this user cannot open its device files."
        if root
        else "The GPU's device files are missing or closed to this user.",
        [*root[:1], *denied[:2], *nodes[:3], *lost[:1], missing, error],
        confidence="certain" if nodes or denied or missing else "likely",
        steps=steps,
        verify="ls -l /dev/nvidia*",
    )


@rule(
    "container-no-gpu",
    "The container was started without the GPU",
    explains=(
        "driver-missing",
        "driver-libcuda-missing",
        "driver-not-loaded",
        "gpu-absent",
        "gpu-hidden",
        "library-broken",
        "gpu-bad-state",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(
        "docker-no-gpu",
        LibraryNotLoaded,
        CudaCallFailed,
        Absent,
        "no-device-node",
        "kernel-driver-not-running",
        "smi-not-found",
    ),
)
def container_no_gpu(picture: Picture) -> Iterator[Finding]:
    """The container has no GPU.

    ## What it means
    A container sees the host's GPU only if it is started with it: `--gpus all` and the NVIDIA container toolkit for docker, `--nv`
    for Singularity and Apptainer, an `nvidia.com/gpu` limit (and the nvidia runtime) for Kubernetes. The driver stays on the host.

    ## How it shows
    `could not select device driver "" with capabilities: [[gpu]]`, `The NVIDIA Driver was not detected`, or inside the container no
    libcuda.so.1 (or an empty one), no /dev/nvidia0, `cuInit: UNKNOWN ERROR (303)`.

    ## What to do
    Install nvidia-container-toolkit on the host, start the container with the GPU, and use an image with `-gpu` in its tag.
    """
    facts = picture.facts
    said = facts.symptoms("docker-no-gpu")
    if registered(picture) and not said:
        return
    if facts.absent("nvidia gpu") is not None and not said:  # a container sees the host's bus: there is none to pass in
        return
    inside = picture.container or facts.has("nvidia-docker-path")
    lib: Fact | None = no_libcuda(picture)
    if lib is None:
        lib = next((x for x in picture.not_loaded if x.name.startswith("libcuda.") and "too short" in x.error), None)
    signs = no_driver_signs(picture)
    if lib is not None and lib not in signs:
        signs.insert(0, lib)
    if not said and not (inside and signs):
        return
    kernel = next((d for d in facts.of(DriverVersion) if d.part == "kernel" and d.rank == 0), None)
    # nodes there: the GPU was passed in, something else is wrong
    passed_in = facts.absent("device nodes") is None
    runs = kernel is not None or any(m.kernel for m in facts.of(DriverMismatch))
    if not said and passed_in and (runs or (facts.has("smi-no-driver") and not lib)):
        return
    if not said and not (
        lib
        or cuinit(picture, "UNKNOWN_ERROR_303", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY")
        or facts.has("no-device-node", "kernel-driver-not-running")
        or facts.absent("libcuda")
        or facts.absent("nvidia driver")
    ):
        return
    steps = []
    kind = (
        "singularity"
        if "singularity" in picture.environments
        else "kubernetes"
        if "kubernetes" in picture.environments
        else "docker"
    )
    if kind == "singularity":
        steps.append(
            manual(
                "Start the container with --nv, and see whether it finds the GPU: singularity exec --nv IMAGE.sif nvidia-smi",
                "--nv brings the host's driver into the container",
                platform="linux",
            )
        )
    elif kind == "kubernetes":
        steps.append(
            manual(
                "Give the pod `resources: limits: nvidia.com/gpu: 1`, and make nvidia the runtime of the node (runtimeClassName: nvidia)"
            )
        )
    else:
        steps += [
            shell(
                "docker run --rm --gpus all tensorflow/tensorflow:latest-gpu nvidia-smi",
                "starts the container with the GPU; the table must appear",
                platform="linux",
            ),
            shell(
                "sudo apt install nvidia-container-toolkit && sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
                "if docker does not know --gpus: the toolkit on the host (NVIDIA's repository)",
                platform="linux",
                root=True,
            ),
        ]
    yield found(
        "container-no-gpu",
        "The container runtime could not give the container a GPU."
        if said
        else "Inside this container there is no NVIDIA driver: it was started without the GPU. Installing a driver in the image does not help.",
        [*said[:2], *signs[:3]],
        confidence="certain" if said else "likely",
        steps=steps,
        verify="docker run --rm --gpus all tensorflow/tensorflow:latest-gpu nvidia-smi"
        if kind == "docker"
        else "nvidia-smi",
    )


@rule(
    "wsl-driver",
    "WSL2 does not reach the Windows driver",
    explains=(
        "driver-missing",
        "driver-not-loaded",
        "gpu-absent",
        "driver-libcuda-missing",
        "gpu-hidden",
        "gpu-bad-state",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(
        CudaCallFailed,
        LibraryNotLoaded,
        Absent,
        "wsl-no-adapter",
        "smi-no-driver",
        "kernel-driver-not-running",
        "smi-not-found",
        "wsl1",
        "wsl-no-windows-driver",
        "wsl-linux-driver",
        "wsl-library-not-searched",
    ),
)
def wsl_driver(picture: Picture) -> Iterator[Finding]:
    """WSL2 cannot see the Windows driver.

    ## What it means
    Inside WSL2 the GPU is driven by the Windows driver; its libcuda is mounted at /usr/lib/wsl/lib. A Linux driver installed inside
    WSL lies over it and cannot work; a missing mount, WSL 1 or an old Windows driver leave nothing to open.

    ## How it shows
    WSL, and `cuInit` fails with NO_DEVICE or 303, `kernel driver does not appear to be running on this host (DESKTOP-…)`, nvidia-smi
    cannot talk to the driver.

    ## What to do
    Remove Linux NVIDIA driver packages from WSL, install the current driver on Windows, `wsl --update`, `wsl --shutdown`.
    """
    facts = picture.facts
    if picture.platform != "wsl" or registered(picture):
        return
    seen = facts.symptoms("wsl1", "wsl-no-windows-driver", "wsl-linux-driver", "wsl-library-not-searched")
    signs = [*seen, *no_driver_signs(picture)]
    down = (
        seen
        or cuinit(picture)
        or no_libcuda(picture)
        or facts.has("smi-no-driver", "wsl-no-adapter", "smi-not-found")
        or facts.absent("libcuda")
        or facts.absent("nvidia driver")
    )
    if not signs or not down:
        return
    wsl = picture.platform_fact
    yield found(
        "wsl-driver",
        "This is WSL, where only the Windows driver counts, and the Linux side does not reach it.",
        [*signs[:4], wsl],
        confidence="certain" if wsl is not None and wsl.rank == 0 else "likely",
        steps=[
            shell(
                "ls -l /usr/lib/wsl/lib/libcuda.so.1",
                "this file must be there; it comes from the Windows driver",
                platform="wsl",
            ),
            shell(
                "sudo apt remove --purge '^nvidia-.*' '^libnvidia-.*' '^cuda-drivers.*'",
                "takes Linux drivers off that lie over it",
                platform="wsl",
                root=True,
            ),
            *commands.driver_install(picture),
            shell("wsl --update", "in PowerShell on Windows: the newest WSL kernel", platform="windows"),
            shell("wsl --shutdown", "in PowerShell on Windows: starts WSL anew", platform="windows"),
        ],
        verify="nvidia-smi",
    )
