"""CUDA and cuDNN libraries: absent, in another version, out of the loader's sight, or broken."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import (
    FORM,
    CudaCallFailed,
    CudaVersion,
    CudnnMismatch,
    CudnnVersion,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    Package,
)
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.hardware import cuinit, registered
from doctor.rules.registry import found, rule
from doctor.tables import dotted

NO_GPU_SINCE = ("device-not-found", "tf-cpu-only", "benign-messages", "xla-toolchain-missing")


def xla_gpu_note(picture: Picture) -> str:
    """What XLA_GPU devices in the text mean, where there are any."""
    if picture.facts.has("xla-gpu-listed") and not registered(picture):
        return (
            " The XLA_GPU devices that are listed do not mean that the GPUs are used: TensorFlow skipped registering "
            "GPU:0, and ordinary ops run on the CPU."
        )
    return ""


def window(picture: Picture, names: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The CUDA releases whose toolkit holds every one of these library names: (first, last), None where unknown."""
    low: tuple[int, ...] = (0,)
    high: tuple[int, ...] = (99,)
    known = False
    for name in names:
        row = picture.tables.library(name)
        if row is None or row.data.get("product") != "CUDA" or not row.first:
            continue
        known = True
        low = max(low, dotted(row.first))
        high = min(high, dotted(row.last) if row.last else (99,))
    return (low, high) if known else None


def serves(picture: Picture, version: str, name: str) -> bool | None:
    """Whether a CUDA release holds a library of this name; None where the tables do not know the name."""
    row = picture.tables.library(name)
    if row is None or row.data.get("product") != "CUDA" or not row.first:
        return None
    asked = dotted(version)[:2]
    if len(asked) == 1:
        return dotted(row.first)[:1] <= asked and (row.last is None or asked <= dotted(row.last)[:1])
    return dotted(row.first)[:2] <= asked and (row.last is None or asked <= dotted(row.last)[:2])


def gone(picture: Picture) -> list[LibraryNotLoaded]:
    """CUDA libraries that a GPU device needs and that did not open; not CUPTI, NCCL and the like."""
    optional = ("cupti", "nccl", "nvshmem", "nvrtc", "npp", "nvtoolsext")
    return [lib for lib in picture.missing("cuda") if not any(word in lib.name.lower() for word in optional)]


def other_files(picture: Picture, names: list[str]) -> tuple[list[LibraryFile], list[LibraryFile]]:
    """Files on disk: those of the wanted names, and those of the same libraries in other versions."""
    wanted = {n.lower() for n in names}
    stems = {re.split(r"\.so|64_|\.dll", n.lower())[0] for n in names}
    same = [f for f in picture.facts.of(LibraryFile) if _soname(f, wanted)]
    others = [
        f
        for f in picture.facts.of(LibraryFile)
        if f not in same
        and re.split(r"\.so|64_|\.dll", f.name.lower())[0] in stems
        and re.search(r"\.so\.\d|64_\d", f.name)
    ]
    return same, others


def _soname(file: LibraryFile, wanted: set[str]) -> bool:
    """libcudnn.so.7.6.5 stands for libcudnn.so.7 as well."""
    name = file.name.lower()
    return name in wanted or any(name.startswith(w + ".") for w in wanted)


def installed_releases(picture: Picture) -> list[CudaVersion]:
    """Every fact that states which CUDA is installed, the best told first."""
    return sorted(picture.facts.of(CudaVersion), key=lambda c: c.rank)


def mentions_path(picture: Picture) -> list[Fact]:
    """Signs that the libraries are installed and only not searched: another tool than the shell, a working terminal."""
    facts = picture.facts
    return [*facts.symptoms("works-in-terminal"), *facts.symptoms("environment-pycharm")]


@rule(
    "cuda-version-mismatch",
    "CUDA is installed, but not the version that this TensorFlow opens",
    explains=("cuda-missing", "cudnn-missing", "library-path", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded,),
)
def cuda_version_mismatch(picture: Picture) -> Iterator[Finding]:
    """CUDA is installed in another version than the one that this TensorFlow build opens.

    ## What it means
    A TensorFlow build opens libraries of one CUDA release by name (`libcudart.so.10.0`). Another release, newer ones included,
    has other names and does not serve. What nvidia-smi shows as "CUDA Version" is what the driver could run, not what is installed.

    ## How it shows
    `Could not load dynamic library 'libcudart.so.10.0'` while LD_LIBRARY_PATH, nvcc or the reporter name CUDA 10.1, or while some
    libraries of another release open.

    ## What to do
    Install the CUDA that the build opens beside the other one (they do not disturb each other), or the TensorFlow release that was
    built for the CUDA that is there.
    """
    missing = gone(picture)
    if not missing or registered(picture):
        return
    names = [lib.name for lib in missing]
    same, others = other_files(picture, names)
    if [f for f in same if f.searched is not False and picture.facts.kind == "report"]:
        return
    if picture.facts.kind == "machine" and {f.name for f in same} >= set(names):  # all there, out of sight
        return
    loaded = [lib for lib in picture.facts.of(LibraryLoaded) if picture.component(lib.name) == "cuda"]
    reasons: list[Fact] = []
    said = ""
    # another version is stated or shown
    for version in installed_releases(picture):
        fits = [serves(picture, version.version, n) for n in names]
        if fits and all(f is False for f in fits if f is not None) and any(f is False for f in fits):
            reasons.append(version)
            said = f"CUDA {version.version} is there"
            break
        if any(f is True for f in fits) and version.rank <= 1:
            break
    # libraries of another release open
    opened = window(picture, [lib.name for lib in loaded])
    if opened is not None and not reasons:
        asked = window(picture, names)
        if asked is not None and (max(opened[0], asked[0]) > min(opened[1], asked[1])):
            low = ".".join(str(n) for n in opened[0])
            reasons += loaded[:3]
            said = (
                f"the libraries that do open are those of CUDA {low} or later"
                if opened[1] >= (99,)
                else f"the libraries that do open belong to CUDA {low} to {'.'.join(str(n) for n in opened[1])}"
            )
        elif asked is not None and opened[1] > asked[1] and len(missing) < len(loaded):
            reasons += loaded[:3]
            said = (
                "most libraries open and this one does not: it ended with CUDA "
                + ".".join(str(n) for n in asked[1])
                + ", and a later release is installed"
            )
        elif (
            asked is not None
            and opened[1] > asked[1]
            and not any("cudart" in lib.name for lib in loaded)
            and any("cudart" in n for n in names)
            and len(loaded) >= 2
        ):
            reasons += loaded[:3]
            said = "some libraries open and the CUDA runtime of the same release does not, as when a later release with partly equal file names is installed"
    if not reasons and others:
        reasons += others[:3]
        said = f"{others[0].name} is there"
    if not reasons:
        return
    wanted = picture.wanted_cuda
    first = missing[0]
    need = f"CUDA {' or '.join(wanted)}" if 0 < len(wanted) <= 3 else f"the release that holds {first.name}"
    steps = matching_steps(picture)
    yield found(
        "cuda-version-mismatch",
        f"This build opens {', '.join(names[:4])}{' …' if len(names) > 4 else ''}, which is {need}; {said}."
        + xla_gpu_note(picture),
        [
            *missing[:4],
            *reasons,
            *picture.facts.symptoms("gpu-skipped")[:1],
            *picture.facts.symptoms("xla-gpu-listed")[:1],
        ],
        confidence="certain" if min((getattr(r, "rank", 0) for r in reasons), default=0) < 2 else "likely",
        tables=_rows(picture, names),
        steps=steps,
        verify=commands.list_gpus(picture),
    )


def _rows(picture: Picture, names: list[str]) -> list[object]:
    rows: list[object] = [picture.tables.library(n) for n in names[:2]]
    rows += list(picture.builds[-1:])
    return [r for r in rows if r is not None]


def matching_steps(picture: Picture) -> list[Step]:
    """Bring the CUDA that the build opens, or the TensorFlow that fits the CUDA that is there."""
    build = picture.build or (picture.builds[-1] if picture.builds else None)
    steps = commands.with_cuda_libraries(picture, build)
    if picture.cuda is not None and "." in picture.cuda.version:
        fitting = [
            r
            for r in picture.tables.releases(picture.table_platform)
            if r.gpu
            and r.cuda
            and ".".join(r.cuda.split(".")[:2]) == ".".join(picture.cuda.version.split(".")[:2])
            and not r.yanked
        ]
        if picture.python is not None:
            minor = ".".join(picture.python.version.split(".")[:2])
            fitting = [r for r in fitting if minor in r.pythons]
        if fitting:
            steps.append(
                shell(
                    f"{commands.venv_prefix(picture)} install {commands.quoted(fitting[-1].requirement, picture)}",
                    f"or the newest TensorFlow that was built for the CUDA {picture.cuda.version} that is there",
                )
            )
    if build is not None and build.cuda:
        steps += [step for step in commands.toolkit_by_hand(build) if step not in steps]
    return steps or [manual("tfgpu-doctor plan names the CUDA and cuDNN for each TensorFlow release")]


@rule(
    "cudnn-version-mismatch",
    "cuDNN is there in a version that this TensorFlow cannot use",
    explains=(
        "cudnn-init-oom",
        "cudnn-missing",
        "library-broken",
        "library-path",
        "cuda-missing",
        "model-oom",
        "ptx-jit-or-kernel-crash",
        *NO_GPU_SINCE,
    ),
    needs=(CudaCallFailed, CudnnMismatch, LibraryNotLoaded, CudnnVersion),
)
def cudnn_version_mismatch(picture: Picture) -> Iterator[Finding]:
    """cuDNN is there in a version that this TensorFlow build, or this CUDA, cannot use.

    ## What it means
    A build needs the major version of cuDNN that it was compiled with, in the same or a higher minor version. cuDNN in turn is made for
    one CUDA major: a cuDNN for CUDA 12 looks for CUDA 12's libraries.

    ## How it shows
    `Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0`; `libcudnn.so.7` wanted and cuDNN 8 installed; cuDNN's own
    `Could not load library libcublasLt.so.12`. Failing convolution algorithms and `DNN library is not found` follow from it.

    ## What to do
    Install the cuDNN that the build asks for, and look for a second, older one that is found first.
    """
    facts = picture.facts
    stated = facts.of(CudnnMismatch)
    build = picture.build or (picture.builds[-1] if picture.builds else None)
    steps = cudnn_steps(picture)
    verify = commands.convolution(picture)
    if stated:
        first = stated[0]
        yield found(
            "cudnn-version-mismatch",
            f"TensorFlow itself says that it loaded cuDNN {first.loaded} and was compiled with {first.compiled}. It needs the same major and an equal "
            "or higher minor version; everything that fails afterwards in cuDNN follows from that.",
            [*stated[:2], *facts.symptoms("dnn-not-found", "conv-algorithm-failed")[:1]],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    older = older_than_compiled(picture)
    if older is not None:
        yield found(
            "cudnn-version-mismatch",
            f"This build was compiled with cuDNN {compiled_cudnn(picture)} and the one that is found first is {older.version}; it needs the "
            "same major and an equal or higher minor version.",
            [older, picture.tensorflow],
            confidence="likely",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    unserved = _cudnn_without_kernels(picture)
    if unserved is not None:
        yield unserved
        return
    foreign = [
        lib
        for lib in facts.of(LibraryNotLoaded)
        if re.match(r"libcublas(?:lt)?\.so\.\d+|libnvrtc\.so\.\d+", lib.name.lower())
        and ("could not load library" in lib.source.text.lower() or "unable to load library" in lib.source.text.lower())
    ]
    if foreign and (picture.cuda or picture.wanted_cuda):
        major = re.search(r"\.so\.(\d+)", foreign[0].name)
        have = (picture.cuda.version if picture.cuda else picture.wanted_cuda[0]).split(".")[0]
        if major and major[1] != have:
            yield found(
                "cudnn-version-mismatch",
                f"cuDNN itself looks for {foreign[0].name}: it was made for CUDA {major[1]}, and here is CUDA {have}.",
                [foreign[0], picture.cuda, picture.tensorflow],
                confidence="likely",
                tables=[build] if build else [],
                steps=steps,
                verify=verify,
            )
            return
    missing = picture.missing("cudnn")
    if not missing or gone(picture):
        return
    wanted = _cudnn_major(missing[0].name)
    same, others = other_files(picture, [missing[0].name])
    have_version = [c for c in facts.of(CudnnVersion) if wanted and c.version.split(".")[0] != wanted and c.rank <= 2]
    right = [c for c in facts.of(CudnnVersion) if wanted and c.version.split(".")[0] == wanted and c.rank <= 2]
    if same or right or not (others or have_version):
        return
    yield found(
        "cudnn-version-mismatch",
        f"This build opens {missing[0].name}, which is cuDNN {wanted}; here is "
        + (f"cuDNN {have_version[0].version}" if have_version else others[0].name)
        + "."
        + xla_gpu_note(picture),
        [missing[0], *have_version[:1], *others[:2]],
        confidence="certain" if others or have_version[0].rank == 0 else "likely",
        tables=_rows(picture, [missing[0].name]),
        steps=steps,
        verify=verify,
    )


def compiled_cudnn(picture: Picture) -> str | None:
    """The cuDNN that a build was compiled with: the lowest that its pip extra accepts (2.14 and later)."""
    extra = picture.build.extras.get("and-cuda", {}) if picture.build is not None else {}
    for name, specifier in extra.items():
        floor = re.search(r"[>=]=\s*(\d+(?:\.\d+)+)", specifier)
        if "cudnn" in name and floor:
            return ".".join(floor[1].split(".")[:3])
    return None


def older_than_compiled(picture: Picture) -> CudnnVersion | None:
    """On a machine: the cuDNN that would be opened, where its minor version is below the compiled one."""
    compiled = compiled_cudnn(picture)
    if picture.facts.kind != "machine" or compiled is None:
        return None
    opened = {lib.path for lib in picture.facts.of(LibraryLoaded) if lib.path and "cudnn" in lib.name.lower()}
    folders = {path.replace("\\", "/").rsplit("/", 1)[0] for path in opened}
    for version in picture.facts.of(CudnnVersion):
        place = (version.location or "").replace("\\", "/")
        known = len(version.version.split(".")) >= 2
        same = place in opened or place in folders or place.rsplit("/", 1)[0] in folders
        if (
            known
            and same
            and dotted(version.version)[:1] == dotted(compiled)[:1]
            and dotted(version.version)[:2] < dotted(compiled)[:2]
        ):
            return version
    return None


def _cudnn_without_kernels(picture: Picture) -> Finding | None:
    """On a machine: the cuDNN that would be opened has dropped the GPU, as 9.11 dropped Maxwell, Pascal and Volta."""
    cudnn = picture.facts.first(CudnnVersion)
    if picture.facts.kind != "machine" or cudnn is None or cudnn.version.count(".") < 1:
        return None
    from doctor import compat

    cuda = picture.wanted_cuda[0].split(".")[0] if len(picture.wanted_cuda) == 1 else None
    for gpu in picture.gpus:
        if gpu.compute_capability is None:
            continue
        answer = compat.cudnn_serves_gpu(cudnn.version, (gpu.compute_capability,), picture.tables, cuda)
        if answer.verdict != "no":
            continue
        major = cudnn.version.split(".")[0]
        serving = [
            row
            for row in picture.tables.cudnns()
            if row.version.split(".")[0] == major
            and (cuda is None or cuda in row.cuda)
            and row.package is not None
            and compat.cudnn_serves_gpu(row.version, (gpu.compute_capability,), picture.tables, cuda).verdict == "yes"
        ]
        steps: list[Step] = []
        if serving:
            newest = max(serving, key=lambda row: dotted(row.version))
            pin = commands.quoted(f"{newest.package}=={newest.version}", picture)
            steps.append(
                shell(
                    f"{commands.venv_prefix(picture)} install {pin}",
                    "the newest cuDNN in the tables with kernels for this GPU",
                )
            )
        return found(
            "cudnn-version-mismatch",
            f"{answer.reason}; this machine has a {gpu.name or 'GPU'} of compute capability "
            f"{gpu.compute_capability}, and every operation of cuDNN will fail on it.",
            [cudnn, gpu],
            title="cuDNN has no kernels for this GPU",
            tables=answer.rows,
            steps=steps or [manual(f"Install an older cuDNN {major} that still has kernels for this GPU")],
            verify=commands.convolution(picture),
        )
    return None


def _cudnn_major(name: str) -> str | None:
    match = re.search(r"libcudnn\w*\.so\.(\d+)|cudnn\w*64_(\d+)", name.lower())
    return (match[1] or match[2]) if match else None


def cudnn_steps(picture: Picture) -> list[Step]:
    """Bring the cuDNN that the build wants."""
    build = picture.build or (picture.builds[-1] if picture.builds else None)
    steps: list[Step] = []
    if build is not None and build.gpu:
        extra = build.extras.get("and-cuda", {}) if build.extras else {}
        pin = next(((name, spec) for name, spec in extra.items() if "cudnn" in name), None)
        if pin and picture.platform != "windows":
            steps.append(
                shell(
                    f"{commands.venv_prefix(picture)} install {commands.quoted(pin[0] + pin[1], picture)}",
                    f"the cuDNN that TensorFlow {build.version} asks for",
                )
            )
        else:
            steps += commands.conda_libraries(picture, build)
            steps.append(
                manual(
                    f"Or install cuDNN {build.cudnn} for CUDA {build.cuda} from NVIDIA's archive",
                    f"TensorFlow {build.version} was built for it",
                )
            )
    else:
        steps += commands.with_cuda_libraries(picture, None)
    if picture.platform == "windows":
        steps.append(
            shell("where cudnn64_*.dll", "a second, older cuDNN earlier on PATH is found first", platform="windows")
        )
    else:
        steps.append(
            shell(
                "ldconfig -p | grep libcudnn",
                "a second, older cuDNN is found first if it stands here or on LD_LIBRARY_PATH",
                platform="linux",
            )
        )
    return steps


@rule(
    "library-broken",
    "A library is found and cannot be loaded",
    explains=("cudnn-missing", "cuda-missing", "cudnn-init-oom", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "undefined-symbol", "cudnn-part-broken"),
)
def library_broken(picture: Picture) -> Iterator[Finding]:
    """A library is found and cannot be loaded.

    ## What it means
    The file is there and is not whole or does not fit: cut short by a broken download, for another processor, older than the library
    that calls it, or one of its own dependencies is missing.

    ## How it shows
    `file too short`, `invalid ELF header`, `wrong ELF class`, `undefined symbol`, or a message that blames another library than the one
    that was asked for (`libnvJitLink.so.12` for `libcusolver.so.11`, `zlibwapi.dll` for cuDNN 8 on Windows).

    ## What to do
    Install the package of that library anew, and the dependency that is named; take stray copies off LD_LIBRARY_PATH and PATH.
    """
    facts = picture.facts
    broken = [
        lib
        for lib in picture.not_loaded
        if (
            lib.cause == "broken"
            and (lib.culprit is None or "." in (lib.culprit or ""))
            and not (lib.culprit or "").startswith(("GLIBC", "CXXABI"))
        )
        or "zlibwapi" in lib.name.lower()
        or ("cudnn_" in lib.name.lower() and "could not lo" in lib.source.text.lower())
        or lib.name.lower().startswith(("libnvjitlink", "libnvrtc"))
    ]
    if registered(picture):  # parts of cuDNN are opened when they are first used, long after the device was made
        broken = [
            lib
            for lib in broken
            if "zlibwapi" in lib.name.lower()
            or "cudnn_" in lib.name.lower()
            or (lib.cause == "broken" and picture.component(lib.name) != "driver")
        ]
        if not broken:
            return
    symbols = [
        s
        for s in facts.symptoms("undefined-symbol")
        if re.search(r"cudnn|cublas|cuda|cusolver|cusparse|nvjitlink|cufft", s.source.text, re.I)
    ]
    parts = facts.symptoms("cudnn-part-broken")
    if not broken and not symbols and not parts:
        return
    lib = broken[0] if broken else None
    if lib is None and parts:
        blame = f"{parts[0].get('path')}, a part of cuDNN, {parts[0].get('problem')}"
    elif lib is not None:
        blame = (
            f"{lib.name} is found, and {lib.culprit}, which it needs, is not"
            if lib.culprit
            else f"{lib.name} is found and cannot be loaded ({lib.error or 'broken'})"
        )
        if "zlibwapi" in lib.name.lower():
            blame = "cuDNN 8 on Windows needs zlibwapi.dll, which is not on PATH"
    else:
        blame = "a library lacks a symbol that another one wants: they are of different releases"
    steps: list[Step] = []
    if lib is not None and "zlibwapi" in lib.name.lower():
        steps.append(
            manual(
                "Put zlibwapi.dll (from the zlib package that NVIDIA's cuDNN installation guide names) into a folder that is on PATH",
                platform="windows",
            )
        )
    else:
        named = (lib.culprit or lib.name) if lib is not None else parts[0].get("library") if parts else ""
        named = re.split(r"[/\\]", named)[-1]
        wheel = picture.tables.pip_library(named) if named else None
        if wheel is not None:
            steps.append(
                shell(
                    f"{commands.venv_prefix(picture)} install --force-reinstall {wheel.package}", f"brings {named} anew"
                )
            )
        steps.append(
            shell("where cudnn64_*.dll cublas64_*.dll", "stray copies that are found first", platform="windows")
            if picture.platform == "windows"
            else shell(
                "ldconfig -p | grep -E 'libcu|libnv'; echo \"$LD_LIBRARY_PATH\"",
                "stray copies that are found first",
                platform="linux",
            )
        )
    yield found(
        "library-broken",
        blame[0].upper() + blame[1:] + "." + xla_gpu_note(picture),
        [*broken[:3], *parts[:2], *symbols[:2]],
        tables=_rows(picture, [lib.culprit or lib.name]) if lib is not None else [],
        steps=steps,
        verify=commands.list_gpus(picture),
    )


@rule(
    "library-path",
    "The libraries are installed, but the loader does not look where they are",
    explains=("cuda-missing", "cudnn-missing", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "gpu-skipped", "cudart-stub", "gpu-list-empty", "gpu-not-used", "cuda-stub-on-path"),
)
def library_path(picture: Picture) -> Iterator[Finding]:
    """The right libraries are installed, and the loader does not search their folder.

    ## What it means
    The loader looks into LD_LIBRARY_PATH, ld.so.cache and the folders that TensorFlow's own library names (RUNPATH); Windows into PATH.
    A toolkit elsewhere, a conda environment that is not activated, an IDE or service with another environment, or a release whose RUNPATH
    leaves out pip's `nvidia/*/lib` (TensorFlow 2.16.1, 2.21.0) are not seen.

    ## How it shows
    The file is on disk under the very name that cannot be opened; it works in a terminal and not in the IDE; TensorFlow 2.16.1 installed
    with `[and-cuda]` says `Cannot dlopen some GPU libraries`.

    ## What to do
    Name the folder: LD_LIBRARY_PATH or `ldconfig` on Linux, PATH on Windows, activation for conda; or take a release that finds pip's
    libraries by itself.
    """
    facts = picture.facts
    if registered(picture):
        return
    missing = gone(picture) or picture.missing("cudnn")
    names = [lib.name for lib in missing]
    same, _ = other_files(picture, names)
    build = picture.build
    verify = commands.list_gpus(picture)
    missed = build.pip_libraries_missed if build is not None else None
    asked = facts.has("gpu-list-empty", "gpu-not-used") and not facts.of(CudaCallFailed)
    if (
        missed
        and build is not None
        and (facts.has("gpu-skipped") or asked or any(n in missed for n in names))
        and (not picture.container or facts.has("and-cuda-installed"))
        # on a machine it is known whether pip's libraries are there, and whether anything else fails
        and (facts.kind == "report" or ({f.name for f in same} >= set(names) and set(names) <= set(missed)))
    ):
        pip_cuda = any(p.name.startswith("nvidia-") for p in facts.of(Package))
        stated = facts.has("and-cuda-installed") or pip_cuda
        # what fails is what RUNPATH leaves out, all of it and nothing else; a single library is missing for itself
        exactly = not names or {
            lib.name for lib in picture.not_loaded if picture.component(lib.name) != "driver"
        } >= set(missed)
        if exactly and (stated or (facts.kind == "report" and dotted(build.version) < (2, 21))):
            yield found(
                "library-path",
                f"TensorFlow {build.version} does not look into pip's folders of {', '.join(missed[:4])}, so `[and-cuda]` alone does not serve it.",
                [
                    *facts.symptoms("gpu-skipped", "gpu-list-empty", "gpu-not-used")[:2],
                    *missing[:3],
                    picture.tensorflow,
                ],
                confidence="likely" if not stated else "certain",
                tables=[build],
                steps=[*_next_patch(picture), commands.library_path_step(picture)],
                verify=verify,
            )
            return
    stubs: list[Fact] = list[Fact]()
    stubs += facts.symptoms("cuda-stub-on-path")
    answered = cuinit(picture, "CUDA_ERROR_STUB_LIBRARY")
    if answered is not None and not picture.container:
        stubs += [answered, *facts.symptoms("stub-library")[:1]]
    if stubs:
        yield found(
            "library-path",
            "The libcuda that is found first is the toolkit's stub, which serves for linking only and fails every call.",
            stubs[:3],
            steps=[
                shell(
                    "export LD_LIBRARY_PATH=\"$(printf '%s' \"$LD_LIBRARY_PATH\" | tr ':' '\\n' | grep -v stubs | paste -sd: -)\"",
                    "takes the stubs folder off the loader's path, so that the driver's libcuda is found",
                    platform="linux",
                )
            ],
            verify=verify,
        )
        return
    if not missing:
        return
    if same:
        folder = re.split(r"[/\\][^/\\]+$", same[0].path)[0]
        steps = [
            shell(
                f"set PATH={folder};%PATH%"
                if picture.platform == "windows"
                else f'export LD_LIBRARY_PATH="{folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
                "names the folder to the loader, for this shell",
            ),
        ]
        if picture.platform != "windows":
            steps.append(
                shell(
                    f"echo '{folder}' | sudo tee /etc/ld.so.conf.d/cuda.conf && sudo ldconfig",
                    "for the whole machine and for good",
                    platform="linux",
                    root=True,
                )
            )
        yield found(
            "library-path",
            f"{same[0].name} is on disk in {folder}, and the loader of this process does not look there.",
            [*missing[:3], *same[:3]],
            tables=_rows(picture, names),
            steps=steps,
            verify=verify,
        )
        return
    if facts.kind == "machine" and not facts.has("works-in-terminal"):
        return  # the disk was searched: what was not found is not there
    hints = mentions_path(picture)
    versions = [v for v in facts.of(CudaVersion) if v.rank <= 2]
    fits: list[CudaVersion | CudnnVersion] = [
        v
        for v in versions
        if all(serves(picture, v.version, n) is not False for n in names)
        and any(serves(picture, v.version, n) for n in names)
    ]
    against = [v for v in versions if any(serves(picture, v.version, n) is False for n in names)]
    terminal = facts.symptoms("works-in-terminal")
    conda = "conda" in picture.environments and any(
        (v.rank == 2 and "conda" in v.source.text.lower()) or "cudatoolkit" in v.source.text.lower() for v in fits
    )
    only_cudnn = not gone(picture)
    if only_cudnn:
        right = [c for c in facts.of(CudnnVersion) if c.rank <= 2 and _cudnn_major(names[0]) == c.version.split(".")[0]]
        fits = [c for c in right if terminal or conda or (c.rank <= 1 and c.location)]
        against = []
    if terminal or (fits and not against and (conda or hints or (versions and min(v.rank for v in fits) <= 1))):
        yield found(
            "library-path",
            "The version that this build opens is said to be installed"
            + (", and it works in a terminal" if terminal else "")
            + "; the process that fails does not search its folder.",
            [*missing[:3], *fits[:2], *terminal[:1], *(hints[:1] if not terminal else [])],
            confidence="likely",
            tables=_rows(picture, names),
            steps=_search_steps(picture),
            verify=verify,
        )


def _search_steps(picture: Picture) -> list[Step]:
    if picture.platform == "windows":
        if "conda" in picture.environments:
            return [
                manual(
                    "Activate the environment before the program starts: conda activate NAME",
                    "puts the environment's Library\\bin on PATH; start the IDE from that prompt, or add the folder to its run configuration",
                    platform="windows",
                ),
                shell("where cudart64_*.dll", "must show the DLL that TensorFlow opens", platform="windows"),
            ]
        return [
            shell("where cudart64_*.dll cudnn64_*.dll", "must show the DLLs that TensorFlow opens", platform="windows"),
            manual(
                "Add the bin folder of the CUDA Toolkit, and cuDNN's, to PATH (system variables), then open a new prompt or restart the IDE",
                platform="windows",
            ),
        ]
    return [
        shell(
            "find / -name 'libcudart.so.*' -o -name 'libcudnn.so.*' 2>/dev/null",
            "shows where the libraries are",
            platform="linux",
        ),
        shell(
            'export LD_LIBRARY_PATH="/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
            "names their folder to the loader; an IDE or service needs it in its own configuration",
            platform="linux",
        ),
    ]


def _next_patch(picture: Picture) -> list[Step]:
    build = picture.build
    if build is None:
        return []
    minor = build.version.rsplit(".", 1)[0]
    better = [
        r
        for r in picture.tables.releases(picture.table_platform, "tensorflow")
        if r.gpu
        and r.version.startswith(minor + ".")
        and r.pip_libraries_missed == ()
        and dotted(r.version) > dotted(build.version)
    ]
    if not better:
        return []
    return [
        shell(
            f"{commands.venv_prefix(picture)} install {commands.quoted(f'tensorflow[and-cuda]=={better[-1].version}', picture)}",
            "this patch release finds pip's libraries by itself",
        )
    ]


def asked_for(picture: Picture) -> bool:
    """Whether anything shows that a GPU is meant to be used: a device was looked for, a card or a wish is named."""
    facts = picture.facts
    return bool(
        facts.kind == "machine"
        or any(g.rank <= FORM for g in picture.gpus)
        or (picture.cuda is not None and picture.cuda.rank <= FORM)
        or (gone(picture) and not facts.has("cudart-ignore"))
        or len(gone(picture)) > 1
        or facts.has(
            "gpu-skipped",
            "gpu-list-empty",
            "gpu-not-used",
            "gpu-not-found",
            "device-unknown",
            "cuda-libraries-error",
        )
    )


@rule(
    "cuda-missing",
    "The CUDA libraries that this TensorFlow opens are not on this machine",
    explains=("cudnn-missing", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "gpu-skipped", "cudart-stub", "cuda-libraries-error"),
)
def cuda_missing(picture: Picture) -> Iterator[Finding]:
    """A CUDA library that this TensorFlow build opens is not on the machine, in any version.

    ## What it means
    The driver is one half; the other half, the CUDA runtime and cuBLAS, cuFFT, cuSOLVER, cuSPARSE, is opened by TensorFlow at its start.
    Without them it skips the GPU.

    ## How it shows
    `Could not load dynamic library 'libcudart.so.…'`; since TensorFlow 2.12 `Could not find cuda drivers on your machine`, which is printed
    when libcudart does not open and says nothing about the driver; `Cannot dlopen some GPU libraries`, which names none.

    ## What to do
    On Linux and WSL2 `pip install 'tensorflow[and-cuda]'` brings them; older releases need the CUDA they were built for. On a machine
    without an NVIDIA GPU the messages are harmless.
    """
    facts = picture.facts
    if registered(picture) or facts.absent("nvidia gpu") or facts.has("plugin-device"):
        return
    if facts.has("tensorboard-serving") and not facts.has("gpu-skipped", "gpu-not-used", "gpu-list-empty"):
        return
    missing = gone(picture)
    skipped = facts.symptoms("gpu-skipped")
    stub = facts.symptoms("cudart-stub", "cuda-libraries-error")
    absent = [a for a in [facts.absent("cuda")] if a]
    if not missing and (picture.missing("cudnn") or not (skipped or stub or absent)):
        return
    if not missing and [lib for lib in picture.not_loaded if lib.cause == "broken"]:
        return
    names = [lib.name for lib in missing]
    build = picture.build or (picture.builds[-1] if picture.builds else None)
    driver_works = cuinit(picture) is None and (
        facts.of(CudnnVersion)
        or picture.driver
        or picture.gpus
        or "libcuda.so.1" in picture.loaded
        or any(n.kind == "numa-node" for n in facts if type(n).__name__ == "Noise" and hasattr(n, "kind"))
    )
    if missing:
        text = (
            f"{', '.join(names[:5])}{' …' if len(names) > 5 else ''} could not be opened, and nothing here shows another CUDA."
            + xla_gpu_note(picture)
        )
    elif skipped:
        text = (
            "TensorFlow skipped the GPU because a library did not open; since 2.12 it does not say which. The driver answers, so it is one of the CUDA libraries or cuDNN."
            if driver_works
            else "TensorFlow skipped the GPU because a library did not open; since 2.12 it does not say which. Most often none of NVIDIA's libraries is installed; only cuDNN missing, or a folder that is not searched, look the same."
        )
    else:
        text = (
            '"Could not find cuda drivers" is printed when libcudart does not open; despite its words it says nothing about the driver. Either CUDA\'s libraries are not installed for '
            "this TensorFlow, or there is no driver and no GPU at all, and then the line is harmless. nvidia-smi tells the two apart."
        )
    steps = commands.with_cuda_libraries(picture, build)
    if not missing:
        steps = [
            shell(
                (
                    "set TF_CPP_VMODULE=dso_loader=1 && "
                    if picture.platform == "windows"
                    else "TF_CPP_VMODULE=dso_loader=1 "
                )
                + commands.list_gpus(picture),
                "names the library that does not open",
            ),
            *steps,
        ]
    if picture.platform == "windows" and build is not None and not build.gpu:
        steps = [manual("This release has no GPU support on native Windows: tfgpu-doctor code tf-windows-native")]
    yield found(
        "cuda-missing",
        text,
        [*missing[:5], *skipped[:1], *stub[:1], *absent, *facts.symptoms("xla-gpu-listed")[:1]],
        severity="error" if asked_for(picture) else "warning",
        confidence="certain"
        if missing and skipped
        else "likely"
        if missing or skipped or facts.has("device-unknown", "gpu-list-empty")
        else "possible",
        tables=_rows(picture, names),
        steps=steps,
        verify=commands.list_gpus(picture),
    )


@rule(
    "cudnn-missing",
    "CUDA loads; cuDNN is not on this machine",
    explains=NO_GPU_SINCE,
    needs=(LibraryNotLoaded, "cudnn-not-opened"),
)
def cudnn_missing(picture: Picture) -> Iterator[Finding]:
    """CUDA loads, and cuDNN is not on the machine.

    ## What it means
    cuDNN is a package of its own: the CUDA toolkit does not contain it. TensorFlow skips the GPU without it.

    ## How it shows
    Every CUDA library opens, `libcudnn.so.8` (`cudnn64_8.dll`) alone does not.

    ## What to do
    Install the cuDNN of the major version that the build opens, for the CUDA that is there.
    """
    facts = picture.facts
    missing = picture.missing("cudnn")
    old = facts.symptoms("cudnn-not-opened")
    if registered(picture) or (not missing and not old) or gone(picture):
        return
    main = [lib for lib in missing if not re.search(r"cudnn_", lib.name)] or missing
    yield found(
        "cudnn-missing",
        f"{main[0].name if main else 'cuDNN'} cannot be opened while the CUDA libraries can; the CUDA toolkit does not bring cuDNN."
        + xla_gpu_note(picture),
        [*main[:2], *old[:1], *facts.of(LibraryLoaded)[:1], *facts.symptoms("gpu-skipped")[:1]],
        confidence="certain" if picture.loaded or facts.has("gpu-skipped") else "likely",
        tables=_rows(picture, [m.name for m in main]),
        steps=cudnn_steps(picture),
        verify=commands.list_gpus(picture),
    )


@rule(
    "xla-toolchain-missing",
    "XLA does not find the tools that it compiles with",
    needs=("libdevice-missing", "ptxas-missing", "ptxas-failed", "ptxas-old", "jit-failed"),
)
def xla_toolchain_missing(picture: Picture) -> Iterator[Finding]:
    """XLA or the JIT cannot find libdevice.10.bc, ptxas or nvlink, or finds one that is too old.

    ## What it means
    `jit_compile=True`, some Keras optimisers and kernels that are generated at run time are compiled on the machine, with parts of the CUDA
    toolkit that neither the driver nor TensorFlow's own wheel brings.

    ## How it shows
    `libdevice not found at ./libdevice.10.bc`, `Couldn't invoke ptxas --version`, `No PTX compilation provider is available`, `You are using
    ptxas 11.0, which is older than 11.1`.

    ## What to do
    Install the compiler package of the CUDA in use (pip: nvidia-cuda-nvcc; conda: cuda-nvcc) and point XLA at its folder with
    `XLA_FLAGS=--xla_gpu_cuda_data_dir=…`.
    """
    facts = picture.facts
    hard = facts.symptoms("libdevice-missing", "ptxas-missing", "ptxas-failed")
    old = facts.symptoms("ptxas-old")
    jit = facts.symptoms("jit-failed")
    if not (hard or old or jit):
        return
    failed = facts.has("libdevice-missing", "ptxas-failed", "jit-failed") or any(
        "No PTX compilation" in s.source.text for s in hard
    )
    cuda = (
        picture.build.cuda if picture.build and picture.build.cuda else picture.cuda.version if picture.cuda else ""
    ) or ""
    major = cuda.split(".")[0]
    steps: list[Step] = []
    if picture.platform == "windows":
        steps.append(
            manual(
                f"Install the CUDA Toolkit {cuda}".rstrip()
                + " from NVIDIA's archive and set XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER to its folder",
                "it brings ptxas and libdevice",
            )
        )
    elif "conda" in picture.environments:
        version = max(".".join(cuda.split(".")[:2]), "11.3", key=dotted) if cuda else ""  # the channel begins with 11.3
        steps.append(
            shell(
                f"conda install -c nvidia cuda-nvcc{'=' + version if version else ''}",
                "ptxas and libdevice of the CUDA in use",
            )
        )
        steps.append(
            shell(
                'export XLA_FLAGS="--xla_gpu_cuda_data_dir=$CONDA_PREFIX"', "tells XLA where they are", platform="linux"
            )
        )
    elif major in ("11", "12"):
        steps.append(
            shell(
                f"{commands.venv_prefix(picture)} install nvidia-cuda-nvcc-cu{major}",
                "ptxas and libdevice of the CUDA in use",
            )
        )
        steps.append(
            shell(
                'export XLA_FLAGS="--xla_gpu_cuda_data_dir=$('
                + commands.python_command(picture)
                + " -c 'import site; print(site.getsitepackages()[0])')/nvidia/cuda_nvcc\"",
                "tells XLA where they are",
                platform="linux",
            )
        )
    else:
        steps.append(
            manual(
                "Install the CUDA toolkit's compiler package (nvcc) in the version that TensorFlow was built for, and set XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER to the toolkit's folder"
            )
        )
    yield found(
        "xla-toolchain-missing",
        "The GPU itself is not the matter: XLA compiles on this machine and does not find "
        + (
            "libdevice.10.bc."
            if facts.has("libdevice-missing")
            else "a ptxas that it can use."
            if hard or jit
            else "a ptxas that is new enough."
        ),
        [*hard[:3], *old[:1], *jit[:1]],
        severity="error" if failed else "warning",
        confidence="certain" if hard or old else "likely",
        steps=steps,
        verify=commands.run_python(
            picture, "import tensorflow as tf; print(tf.function(lambda x: x * 2, jit_compile=True)(tf.ones([2])))"
        ),
    )
