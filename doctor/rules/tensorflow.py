"""TensorFlow's own installation: absent, for the CPU only, twice, broken, or of another API."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import (
    Absent,
    CudaCallFailed,
    Fact,
    LibraryNotLoaded,
    Package,
    PythonVersion,
    Requirement,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Finding, Step, manual, python, shell
from doctor.logs.signatures.packaging import REMOVED_IN_2
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.hardware import registered
from doctor.rules.libraries import gone
from doctor.rules.registry import found, rule
from doctor.tables import dotted


def wants_gpu(picture: Picture) -> list[Fact]:
    """Signs that somebody expects the GPU to be used and it is not."""
    facts = picture.facts
    return [
        *facts.symptoms(
            "gpu-not-used",
            "uses-cpu",
            "built-without-cuda",
            "gpu-list-empty",
            "gpu-not-found",
            "cpu-only-listed",
            "gpu-skipped",
            "gpu-index-error",
        ),
        *facts.symptoms("device-unknown")[:1],
    ]


@rule(
    "tf-not-installed",
    "TensorFlow is not installed in this Python",
    needs=("tensorflow-not-installed", "package-not-found", Absent),
)
def tf_not_installed(picture: Picture) -> Iterator[Finding]:
    """No TensorFlow in this Python.

    ## What it means
    The interpreter that runs the program has no TensorFlow; another one (another environment, version or user) may have.

    ## How it shows
    `ModuleNotFoundError: No module named 'tensorflow'`.

    ## What to do
    Install it with the very interpreter that runs the program: `python -m pip install tensorflow`. In an IDE or notebook choose the interpreter or
    kernel of the right environment.
    """
    facts = picture.facts
    said = facts.symptoms("tensorflow-not-installed", "package-not-found")
    absent = facts.absent("tensorflow")
    if not said and not absent:
        return
    installed = [p for p in facts.of(Package) if p.name in ("tensorflow", "tensorflow-gpu")]
    text = "The Python that runs the program has no TensorFlow."
    if installed or (picture.tensorflow is not None and picture.tensorflow.rank == 0):
        text += " It is installed somewhere, so another Python or environment runs the program than the one it was installed into."
    release = commands.newest_fitting(picture)
    steps: list[Step] = []
    if facts.kind == "machine" and not picture.environments & {"venv", "conda", "virtualenv"}:
        steps += commands.fresh_environment(picture, release)
    elif release is not None and release.extras and release.extras.get("and-cuda") and picture.platform != "windows":
        steps.append(commands.pip_and_cuda(picture, release))
    elif not commands.has_wheel(picture):
        steps += commands.with_another_python(picture)
    else:
        steps.append(
            shell(
                f"{commands.venv_prefix(picture)} install tensorflow", "installs into the Python that runs the program"
            )
        )
    steps.append(
        shell(
            commands.run_python(picture, "import sys; print(sys.executable)"),
            "says which Python that is; IDEs and notebooks may use another",
        )
    )
    yield found(
        "tf-not-installed",
        text,
        [*said[:2], absent, *installed[:1]],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


@rule(
    "tf-no-wheel",
    "pip has no TensorFlow for this Python, platform or architecture",
    explains=("tf-not-installed", "tf-import-failed"),
    needs=("no-matching-distribution", "wheel-platform", "python-refused"),
)
def tf_no_wheel(picture: Picture) -> Iterator[Finding]:
    """pip has no TensorFlow for this Python, platform or architecture.

    ## What it means
    Each release has wheels for a few Python versions and platforms only, none for 32-bit systems. pip offers what fits the Python that runs it, and
    where nothing does it says "from versions: none".

    ## How it shows
    `Could not find a version that satisfies the requirement tensorflow`, `No matching distribution found`, `is not a supported wheel on this platform`.

    ## What to do
    Use a Python for which there is a wheel (uv or conda make one in a minute), a 64-bit one; or ask for a release that has a wheel for this Python.
    """
    facts = picture.facts
    said = facts.symptoms("no-matching-distribution", "wheel-platform", "python-refused")
    gpu_stub = [s for s in said if s.get("name") == "tensorflow-gpu" and _at_least(s.get("specifier"), (2, 12))]
    said = [s for s in said if s not in gpu_stub]
    if not said:
        return
    bits = facts.symptoms("python-32bit")
    narrow = [p for p in facts.of(PythonVersion) if p.bits == 32]
    why: str
    platform = picture.table_platform
    python_now = ".".join(picture.python.version.split(".")[:2]) if picture.python else None
    asked = next((r for r in facts.of(Requirement) if r.name.startswith("tensorflow")), None)
    version = re.search(r"\d+\.\d+(?:\.\d+)?", asked.specifier) if asked else None
    row = picture.tables.tensorflow(version[0], None, platform) if version else None
    rows: list[object] = []
    steps: list[Step] = []
    if bits or narrow:
        why = "This is a 32-bit Python or system, and TensorFlow has never had 32-bit wheels for it."
        steps.append(manual("Install a 64-bit Python (on a 64-bit operating system)"))
    elif row is not None and python_now and python_now not in row.pythons:
        why = f"TensorFlow {row.version} has wheels for Python {', '.join(row.pythons) or 'none'} on {platform}, and this is Python {python_now}."
        rows.append(row)
    elif python_now:
        have = [r for r in picture.tables.releases(platform, "tensorflow") if python_now in r.pythons]
        if have:
            why = f"For Python {python_now} on {platform} there are wheels of TensorFlow {have[0].version} to {have[-1].version} only."
            rows += [have[0], have[-1]]
        else:
            why = f"No TensorFlow release has a wheel for Python {python_now} on {platform}."
    else:
        why = "pip offers only what fits the Python and platform that it runs on; nothing did. Most often the Python is too new or too old for the release, or 32-bit."
    newest = picture.tables.releases(platform, "tensorflow")
    target = row if row is not None and row.pythons else next((r for r in reversed(newest) if r.pythons), None)
    if target is not None and target.pythons and not (bits or narrow):
        best_python = target.pythons[-1] if row is not None else target.pythons[max(0, len(target.pythons) - 2)]
        wanted = target.requirement if row is not None else "tensorflow"
        steps.append(
            shell(
                f"uv venv --python {best_python} tf-env", f"a Python for which TensorFlow {target.version} has a wheel"
            )
        )
        steps.append(
            shell(
                f"uv pip install --python tf-env {commands.quoted(wanted, picture)}",
                "installs into it; with conda: conda create -n tf python=" + best_python,
            )
        )
        rows.append(target)
    steps.append(
        shell(
            commands.run_python(
                picture,
                "import sys, struct, platform; print(sys.version, struct.calcsize('P') * 8, platform.machine())",
            ),
            "shows Python, word size and processor",
        )
    )
    yield found(
        "tf-no-wheel",
        why,
        [*said[:3], *bits[:1], *narrow[:1], picture.python],
        tables=rows,
        steps=steps,
        verify=f"{commands.venv_prefix(picture)} download --no-deps --dry-run tensorflow"
        if False
        else commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


def _at_least(specifier: str, floor: tuple[int, int]) -> bool:
    numbers = re.search(r"(\d+)\.(\d+)", specifier)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= floor


@rule(
    "tf-gpu-package-removed",
    "pip was asked for tensorflow-gpu, which ended with 2.11",
    explains=("tf-no-wheel", "tf-not-installed"),
    needs=("gpu-package-removed", "no-matching-distribution"),
)
def tf_gpu_package_removed(picture: Picture) -> Iterator[Finding]:
    """pip was asked for tensorflow-gpu 2.12 or later, a stub that only fails.

    ## What it means
    Since 2.1 the package `tensorflow` holds the GPU build; `tensorflow-gpu` ended with 2.11, and 2.12 is a stub whose installation fails on purpose.

    ## How it shows
    `The "tensorflow-gpu" package has been removed! Please install "tensorflow" instead.`

    ## What to do
    `pip install 'tensorflow[and-cuda]'` on Linux and WSL2.
    """
    facts = picture.facts
    said = facts.symptoms("gpu-package-removed")
    asked = [
        s
        for s in facts.symptoms("no-matching-distribution")
        if s.get("name") == "tensorflow-gpu" and _at_least(s.get("specifier"), (2, 12))
    ]
    if not said and not asked:
        return
    row = picture.tables.tensorflow("2.12.0", "tensorflow-gpu", "any") or picture.tables.tensorflow(
        "2.11.0", "tensorflow-gpu"
    )
    yield found(
        "tf-gpu-package-removed",
        "tensorflow-gpu 2.12 is a stub that refuses to install; the GPU build is in the package tensorflow.",
        [*said[:2], *asked[:2]],
        tables=[row] if row else [],
        steps=commands.gpu_build(picture),
        verify=commands.list_gpus(picture),
    )


@rule(
    "tf-cpu-only",
    "This TensorFlow is built for the CPU only",
    explains=("device-not-found", "benign-messages", "cuda-missing"),
    needs=(
        "built-without-cuda",
        "cpu-build-said",
        "install-gpu-version",
        "no-known-devices",
        TensorFlowBuild,
        "conda-cpu-build",
        "conda-install",
        "cpu-package",
        "cpu-package-install",
        TensorFlowVersion,
    ),
)
def tf_cpu_only(picture: Picture) -> Iterator[Finding]:
    """The installed build has no CUDA.

    ## What it means
    tensorflow-cpu, tensorflow-intel, wheels for macOS and Arm, conda's mkl and eigen builds, and the package `tensorflow` before 2.1 (except 1.15.0)
    hold no GPU code. No driver or library changes that.

    ## How it shows
    `tf.test.is_built_with_cuda()` is False; `conda list` shows `mkl_…` or `eigen_…`; no message about CUDA libraries at all.

    ## What to do
    Uninstall it and install a GPU build for this platform.
    """
    facts = picture.facts
    if registered(picture) or facts.symptoms("plugin-device"):
        return
    no_cuda: list[Fact] = [b for b in facts.of(TensorFlowBuild) if b.gpu is False]
    no_cuda += facts.symptoms("built-without-cuda")
    yes_cuda = [b for b in facts.of(TensorFlowBuild) if b.gpu]
    conda = facts.symptoms("conda-cpu-build")
    if conda:  # `_tflow_select gpu` only says what was asked for; the build string says what came
        yes_cuda = []
    package = facts.symptoms("cpu-package", "cpu-package-install")
    tried = facts.symptoms("conda-install")
    wanting = wants_gpu(picture)
    build = picture.build
    if picture.platform == "windows" and build is not None and dotted(build.version) >= (2, 11):
        return
    if yes_cuda or gone(picture) or facts.has("gpu-skipped", "cudart-stub"):
        return
    evidence: list[Fact] = []
    confidence = "certain"
    if no_cuda:
        evidence = [*no_cuda[:2], *conda[:1]]
    elif conda and (wanting or facts.kind == "machine" or facts.has("mentions-gpu")):
        evidence = [*conda[:2]]
    elif package and wanting:
        evidence, confidence = [*package[:1], *wanting[:1]], "likely"
    elif tried and wanting and picture.platform in ("windows", None) and not any(s.get("gpu") for s in tried):
        evidence, confidence = [*tried[:1], *wanting[:1]], "likely"
    elif facts.has("cpu-build-said") and (wanting or facts.has("mentions-gpu")):
        evidence, confidence = [*facts.symptoms("cpu-build-said")[:1], *wanting[:1]], "likely"
    elif (
        facts.has("install-gpu-version", "no-known-devices")
        and not picture.loaded
        and not picture.facts.of(CudaCallFailed)
    ):
        evidence += facts.symptoms("install-gpu-version", "no-known-devices")[:2]
        confidence = "possible"
    elif "conda" in picture.environments and picture.platform == "windows" and wanting and not picture.loaded:
        evidence, confidence = [*wanting[:1]], "possible"
    elif picture.platform == "macos" and wanting and picture.tensorflow is not None:
        evidence, confidence = [picture.tensorflow, *wanting[:1]], "likely"
    elif (
        picture.tensorflow is not None
        and picture.tensorflow.package == "tensorflow"
        and picture.tensorflow.rank == 0
        and wanting
        and (row := picture.tables.tensorflow(picture.tensorflow.version, "tensorflow", picture.table_platform))
        is not None
        and row.gpu is False
    ):
        evidence = [picture.tensorflow, *wanting[:1]]
        build = row
    if not evidence:
        return
    release = commands.newest_fitting(picture)
    steps: list[Step] = []
    if picture.platform == "macos":
        steps.append(
            manual(
                "There is no CUDA on macOS. On Apple silicon tensorflow-metal is the plugin for Apple's GPU",
                platform="macos",
            )
        )
    elif release is not None and release.extras and release.extras.get("and-cuda") and picture.platform != "windows":
        steps = [
            shell(
                f"{commands.venv_prefix(picture)} uninstall -y tensorflow tensorflow-cpu tensorflow-intel",
                "takes the CPU build away first",
            ),
            commands.pip_and_cuda(picture, release),
        ]
    elif picture.platform == "windows":
        steps = commands.windows_gpu_build(picture)
    else:
        steps = [
            shell(
                f"{commands.venv_prefix(picture)} uninstall -y tensorflow tensorflow-cpu",
                "takes the CPU build away first",
            ),
            *commands.gpu_build(picture),
        ]
    yield found(
        "tf-cpu-only",
        "The build that is installed has no CUDA code, so it cannot use a GPU whatever driver and libraries there are.",
        evidence,
        severity="error" if wanting or facts.kind == "machine" or no_cuda else "warning",
        confidence=confidence,
        tables=[build] if build is not None and not build.gpu else [],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.test.is_built_with_cuda())"),
    )


@rule(
    "tf-windows-native",
    "TensorFlow above 2.10 has no GPU support on native Windows",
    explains=(
        "tf-cpu-only",
        "cuda-missing",
        "device-not-found",
        "library-path",
        "cudnn-missing",
        "cuda-version-mismatch",
    ),
    needs=("windows-native", TensorFlowVersion, Package),
)
def tf_windows_native(picture: Picture) -> Iterator[Finding]:
    """TensorFlow above 2.10 on native Windows: no GPU support.

    ## What it means
    2.10 was the last release with GPU support on native Windows. From 2.11 on the Windows wheels hold the CPU build; CUDA and cuDNN change nothing.

    ## How it shows
    `TensorFlow GPU support is not available on native Windows for TensorFlow >= 2.11`, or simply an empty list of GPUs with no message at all.

    ## What to do
    WSL2 with `pip install 'tensorflow[and-cuda]'`; or TensorFlow 2.10 with Python 3.7 to 3.10, CUDA 11.2 and cuDNN 8.1.
    """
    facts = picture.facts
    said = facts.symptoms("windows-native")
    if registered(picture) or facts.symptoms("plugin-device"):
        return
    known = picture.tensorflow
    wanting = wants_gpu(picture)
    late = (
        picture.platform == "windows"
        and known is not None
        and dotted(re.split(r"[a-z+]", known.version)[0].strip(".")) >= (2, 11)
        and known.rank <= 2
    )
    hinted = late and facts.has("mentions-gpu")
    if (
        not said
        and not hinted
        and not (late and (wanting or facts.kind == "machine" or facts.has("cudart-stub", "gpu-skipped")))
    ):
        return
    row = picture.tables.tensorflow("2.10.1", None, "windows-amd64")
    yield found(
        "tf-windows-native",
        "The Windows wheels of TensorFlow 2.11 and later hold no CUDA code; CUDA and cuDNN that are installed are not used.",
        [*said[:1], *([known] if late else []), *(wanting[:1] if not said else [])],
        confidence="certain"
        if said or (wanting and known is not None and known.rank <= 1)
        else "likely"
        if wanting or facts.kind == "machine"
        else "possible",
        tables=[row] if row else [],
        steps=[
            shell(
                "wsl --install",
                "in PowerShell as administrator: WSL2 with Ubuntu, where the current TensorFlow uses the GPU",
                platform="windows",
                root=True,
            ),
            shell(
                "python3 -m pip install 'tensorflow[and-cuda]'", "inside WSL2, in a virtual environment", platform="wsl"
            ),
            *commands.windows_gpu_build(picture),
        ],
        verify=commands.list_gpus(picture),
    )


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
        if re.search(r"tensorflow/(?:core/kernels|python|compiler)/\S+\.so", s.source.text)
    ]
    folders: set[str] = set()
    for s in facts.symptoms("undefined-symbol", "native-runtime-failed"):
        folders |= set(re.findall(r"(/\S*?(?:site|dist)-packages)/tensorflow", s.source.text))
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
                f"{commands.venv_prefix(picture)} uninstall -y tensorflow tensorflow-gpu tensorflow-cpu tensorflow-intel tf-nightly",
                "takes all of them away; run it twice",
            ),
            shell(
                f"{commands.venv_prefix(picture)} install --no-cache-dir tensorflow",
                "one fresh copy (with [and-cuda] on Linux for the GPU)",
            ),
            shell(
                commands.run_python(picture, "import tensorflow as tf; print(tf.__file__, tf.__version__)"),
                "must show one folder, of this environment",
            ),
        ],
        verify=f"{commands.venv_prefix(picture)} list",
    )


@rule(
    "tf-import-failed",
    "TensorFlow's native library does not import",
    needs=(
        "dll-load-failed",
        "msvc-runtime",
        "native-runtime-failed",
        "glibc-too-old",
        "circular-import",
        "shadowing-file",
        "source-folder-import",
        "wrong-architecture",
        "stray-tensorflow-module",
        "hollow-module",
        "undefined-symbol",
        "rocm-library",
        "deep-import-failed",
        "deep-crashed",
        "tensorflow-library-fails",
    ),
)
def tf_import_failed(picture: Picture) -> Iterator[Finding]:
    """The native library does not import, for a reason that is not CUDA.

    ## What it means
    TensorFlow's compiled part needs the Visual C++ runtime (Windows), a glibc and libstdc++ that are new enough (Linux), the right processor; and the
    name `tensorflow` must lead to the package, not to a file of yours.

    ## How it shows
    `DLL load failed`, `version 'GLIBC_2.27' not found`, `GLIBCXX_… not found`, `incompatible architecture`, `partially initialized module 'tensorflow'`.

    ## What to do
    Windows: the current Visual C++ redistributable (x64). Linux: a newer distribution, or the release whose wheels fit this glibc. Rename files and
    folders called tensorflow.
    """
    facts = picture.facts
    glibc = [s for s in facts.symptoms("glibc-too-old") if not re.search(r"tensorboard_data_server", s.source.text)]
    dll = facts.symptoms("dll-load-failed", "msvc-runtime")
    shadow = facts.symptoms("circular-import", "shadowing-file", "source-folder-import", "stray-tensorflow-module")
    arch = facts.symptoms("wrong-architecture")
    native = facts.symptoms("native-runtime-failed")
    symbol = [s for s in facts.symptoms("undefined-symbol") if "tensorflow" in s.source.text.lower()]
    symbol += facts.symptoms("rocm-library")
    cuda = [lib for lib in facts.of(LibraryNotLoaded) if picture.component(lib.name) in ("cuda", "cudnn", "driver")]
    tf_dll = [s for s in dll if re.search(r"tensorflow|pywrap|msvcp|vcruntime|DLL", s.source.text, re.I)]
    seen = [  # on a machine: the import itself was tried, or acted out on the files
        *facts.symptoms("deep-import-failed"),
        *(s for s in facts.symptoms("deep-crashed") if s.get("stage") in ("started", "nothing")),
        *facts.symptoms("tensorflow-library-fails"),
    ]
    if not (glibc or tf_dll or shadow or arch or symbol or seen or (native and not cuda)):
        return
    if cuda and not (glibc or arch or shadow or seen):
        return
    steps: list[Step]
    rows: list[object] = []
    if glibc:
        needs = glibc[0].get("needs")
        text = f"TensorFlow's library needs {needs}, and this system's {glibc[0].get('library').rsplit('/', 1)[-1]} is older."
        number = re.search(r"GLIBC_(2\.\d+)", needs)
        fitting = [
            r
            for r in picture.tables.releases(picture.table_platform, "tensorflow")
            if r.glibc and number and dotted(r.glibc) < dotted(number[1])
        ]
        python_now = ".".join(picture.python.version.split(".")[:2]) if picture.python else None
        if python_now:
            fitting = [r for r in fitting if python_now in r.pythons]
        steps = [manual("Use a newer distribution, or a container with one (tensorflow/tensorflow images)")]
        if fitting:
            rows.append(fitting[-1])
            steps.insert(
                0,
                shell(
                    f"{commands.venv_prefix(picture)} install {commands.quoted(fitting[-1].requirement, picture)}",
                    f"the newest release whose wheels need no more than glibc {fitting[-1].glibc}",
                ),
            )
        if needs.startswith(("GLIBCXX", "CXXABI")):
            steps.insert(
                0,
                shell(
                    "conda install -c conda-forge libstdcxx-ng",
                    "a newer libstdc++ inside a conda environment",
                    platform="linux",
                ),
            )
    elif shadow:
        path = next((s.get("path") for s in shadow if s.get("path")), "")
        text = f"`import tensorflow` finds {path or 'something of that name that is not the package'} first."
        steps = [
            manual(
                f"Rename {path or 'the file or folder called tensorflow in your project'} and delete the __pycache__ beside it; start Python from another folder"
            )
        ]
    elif arch:
        text = "TensorFlow's library is for another processor than this Python (an x86_64 Python or wheel under Rosetta on an Arm Mac, say)."
        steps = [
            shell(
                commands.run_python(picture, "import platform; print(platform.machine())"),
                "must say arm64 on an Apple-silicon Mac",
            ),
            manual("Install an arm64 Python and TensorFlow into it"),
        ]
    elif symbol and not tf_dll:
        text = "TensorFlow's own files do not fit together: a library of another installation or build is loaded with them."
        steps = [
            shell(
                f"{commands.venv_prefix(picture)} install --force-reinstall --no-cache-dir tensorflow", "one whole copy"
            )
        ]
    else:
        text = (
            (
                "Windows could not load TensorFlow's DLL or one that it needs: mostly the Visual C++ runtime is missing or old"
                + (
                    "; with tensorflow-gpu before 1.14 a missing CUDA or cuDNN DLL fails in the same words"
                    if picture.platform in ("windows", None)
                    else ""
                )
                + '. A processor without AVX fails so as well ("initialization routine failed").'
            )
            if picture.platform in ("windows", None) or tf_dll
            else "TensorFlow's native library could not be loaded; the lines before the last one say why."
        )
        steps = [
            shell(
                "winget install Microsoft.VCRedist.2015+.x64",
                "the current Visual C++ redistributable, 64 bit; then open a new prompt",
                platform="windows",
                root=True,
            ),
            shell(
                "pip install --force-reinstall --no-cache-dir tensorflow",
                "if that does not help: a fresh copy, in a fresh environment",
            ),
        ]
        if picture.platform not in ("windows", None) and not tf_dll:
            steps = [
                shell(
                    f"{commands.venv_prefix(picture)} install --force-reinstall --no-cache-dir tensorflow",
                    "a fresh copy, in a fresh environment",
                )
            ]
    yield found(
        "tf-import-failed",
        text,
        [*glibc[:2], *shadow[:2], *arch[:1], *tf_dll[:2], *symbol[:1], *native[:1], *seen[:2]],
        confidence="certain" if glibc or shadow or arch else "likely",
        tables=rows,
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


@rule(
    "cpu-no-avx",
    "The processor lacks an instruction set that this TensorFlow uses",
    explains=("tf-import-failed",),
    needs=("illegal-instruction", "cpu-instructions", "no-avx", "cpu-without-avx"),
)
def cpu_no_avx(picture: Picture) -> Iterator[Finding]:
    """The CPU lacks AVX, or another instruction set that the wheel was compiled for.

    ## What it means
    Wheels since 1.6 are compiled for AVX. Older and some small processors, and virtual machines that hide AVX, cannot run them.

    ## How it shows
    `Illegal instruction (core dumped)` at import; `The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine`.

    ## What to do
    Let the virtual machine pass AVX through (CPU type host); else tensorflow 1.5, conda's builds, or another machine.
    """
    facts = picture.facts
    said = facts.symptoms("cpu-instructions", "cpu-without-avx")
    illegal = facts.symptoms("illegal-instruction")
    lacking = facts.symptoms("no-avx")
    if not said and not illegal and not lacking:
        return
    if lacking and not (said or illegal) and not facts.has("dll-load-failed", "native-runtime-failed"):
        return
    if illegal and not (said or lacking) and facts.has("illegal-address", "launch-failed"):
        return
    old = picture.tables.tensorflow("1.5.0", None, picture.table_platform)
    yield found(
        "cpu-no-avx",
        "The processor (or the virtual machine) does not offer an instruction set that the wheel was compiled for.",
        [*said[:2], *illegal[:2], *lacking[:1]],
        confidence="certain" if said else "likely",
        steps=[
            shell(
                "grep -o -m1 -w avx /proc/cpuinfo || echo 'no AVX'",
                "shows whether the processor has AVX",
                platform="linux",
            ),
            manual("In a virtual machine: set the CPU type to host (QEMU/KVM, Proxmox) or turn on AVX pass-through"),
            manual(
                "Else take a build without AVX: TensorFlow 1.5 (Python 3.6 at most), or one compiled for this processor"
            ),
        ],
        tables=[old] if old else [],
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


@rule(
    "python-dependency-conflict",
    "A Python package that TensorFlow needs is in a version that breaks it",
    explains=("tf-import-failed", "tf-api-version", "tf-conflicting-packages"),
    needs=(
        "numpy-abi",
        "numpy-alias",
        "protobuf-conflict",
        "h5py-conflict",
        "keras-mismatch",
        "python-package-conflict",
        "pip-resolver-conflict",
        Package,
        "missing-name",
        "missing-module",
    ),
)
def python_dependency_conflict(picture: Picture) -> Iterator[Finding]:
    """A Python dependency breaks TensorFlow.

    ## What it means
    NumPy 2 breaks builds made for NumPy 1; protobuf 4 and later break older generated code; h5py 3 breaks Keras before 2.4; Keras 3 does not run on
    TensorFlow before 2.16.

    ## How it shows
    `_ARRAY_API not found`, `numpy.core.umath failed to import`, `Descriptors cannot be created directly`, `'str' object has no attribute 'decode'`, `Keras
    cannot be imported`.

    ## What to do
    Install the version that this TensorFlow release asks for, into an environment of its own.
    """
    facts = picture.facts
    numpy = facts.symptoms("numpy-abi", "numpy-alias")
    protobuf = facts.symptoms("protobuf-conflict")
    h5py = facts.symptoms("h5py-conflict")
    keras = facts.symptoms("keras-mismatch")
    other = facts.symptoms("python-package-conflict")
    resolver = [s for s in facts.symptoms("pip-resolver-conflict") if "tensorflow" in s.get("package").lower()]
    versions = {p.name: p for p in facts.of(Package) if p.version}
    build = picture.build
    requires = build.requires if build is not None else ()
    broken: list[Package] = []
    if facts.kind == "machine" and requires:
        from packaging.requirements import InvalidRequirement
        from packaging.requirements import Requirement as Parsed

        for text in requires:
            try:
                parsed = Parsed(text)
            except InvalidRequirement:
                continue
            package = versions.get(parsed.name.lower())
            if (
                package is not None
                and package.version
                and parsed.marker is None
                and not parsed.specifier.contains(package.version, prereleases=True)
            ):
                broken.append(package)
        numpy2 = versions.get("numpy")
        if (
            build is not None
            and dotted(build.version) < (2, 18)
            and numpy2 is not None
            and numpy2.version
            and numpy2.version.startswith("2.")
            and numpy2 not in broken
        ):
            broken.append(numpy2)
    if not (numpy or protobuf or h5py or keras or other or broken or resolver):
        return
    only_warning = resolver and not (numpy or protobuf or h5py or keras or other or broken)
    pip = commands.venv_prefix(picture)
    steps: list[Step] = []
    pinned = {re.split(r"[<>=!~; \[]", r, maxsplit=1)[0].lower(): r for r in requires}

    def pin(name: str, default: str) -> str:
        spec = pinned.get(name)
        return (
            spec.split(";")[0].replace(" ", "").replace("(", "").replace(")", "")
            if spec and re.search(r"<|==|~", spec)
            else default
        )

    if numpy:
        alias = any(s.kind == "numpy-alias" for s in numpy)
        steps.append(
            shell(
                f"{pip} install {commands.quoted(pin('numpy', 'numpy<1.24' if alias else 'numpy<2'), picture)}",
                "the NumPy that this build was made for",
            )
        )
        text = (
            "This TensorFlow was built for NumPy 1 and finds NumPy 2."
            if not alias
            else "The code uses names that NumPy 1.24 removed."
        )
    elif protobuf:
        steps.append(
            shell(
                f"{pip} install {commands.quoted(pin('protobuf', 'protobuf<3.21'), picture)}",
                "the protobuf that this build was made for",
            )
        )
        text = "The protobuf package is of another generation than TensorFlow's generated code."
    elif h5py:
        steps.append(
            shell(f"{pip} install {commands.quoted('h5py<3', picture)}", "Keras before 2.4 reads files with h5py 2")
        )
        text = "h5py 3 returns text where this Keras expects bytes."
    elif keras:
        version = picture.tensorflow.version if picture.tensorflow else None
        minor = ".".join(version.split(".")[:2]) if version else None
        steps.append(
            shell(
                f"{pip} install {commands.quoted(pin('keras', f'keras=={minor}.*' if minor and (2, 6) <= dotted(minor) <= (2, 15) else 'tf-keras'), picture)}",
                "the Keras that belongs to this TensorFlow",
            )
        )
        text = "Keras and TensorFlow are of releases that do not belong together."
    elif broken:
        steps = [
            shell(
                f"{pip} install {commands.quoted(pin(p.name, p.name), picture)}",
                f"what TensorFlow {build.version if build else ''} asks for",
            )
            for p in broken[:4]
        ]
        text = f"{', '.join(f'{p.name} {p.version}' for p in broken[:4])} {'does' if len(broken) == 1 else 'do'} not meet what TensorFlow {build.version if build else ''} asks for."
    elif resolver:
        text = f"pip installed packages that contradict TensorFlow's own requirements: {resolver[0].get('requirement')} is wanted, {resolver[0].get('have')} is there."
        steps.append(
            shell(
                f"{pip} install {commands.quoted(resolver[0].get('requirement').split(';')[0].replace(' ', ''), picture)}",
                "the version that TensorFlow asks for",
            )
        )
    else:
        text = "A package that TensorFlow imports is missing or of a version that it cannot use."
        steps.append(
            shell(
                f"{pip} install --upgrade --force-reinstall tensorflow",
                "brings the packages that this release asks for",
            )
        )
    steps.append(shell(f"{pip} check", "lists contradictions that are left"))
    yield found(
        "python-dependency-conflict",
        text,
        [*numpy[:2], *protobuf[:2], *h5py[:1], *keras[:2], *other[:1], *broken[:3], *resolver[:1]],
        severity="warning" if only_warning else "error",
        confidence="likely" if (other or resolver) and not (numpy or protobuf or h5py or keras) else "certain",
        tables=[build] if build is not None and requires else [],
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


_GONE_MODULES = (
    "tensorflow.contrib",
    "tensorflow.examples",
    "tensorflow.models",
    "tensorflow.python.keras",
    "tensorflow_core",
    "keras.backend.tensorflow_backend",
    "keras.utils.training_utils",
    "keras.layers.",
    "keras.engine",
    "keras.preprocessing",
    "keras.wrappers",
)
_GONE_NAMES = frozenset(
    [
        "multi_gpu_model",
        "set_session",
        "get_session",
        "tensorflow_backend",
        "device_scope",
        "moves",
        "control_flow_ops",
        "rnn_cell",
        "BatchNormalization",
        "normalization",
        "CuDNNLSTM",
        "CuDNNGRU",
        "to_categorical",
        "np_utils",
        "plot_model",
        "adam",
        "Adam",
        "SGD",
        "RMSprop",
        "learning",
        "layers",
    ]
)


@rule(
    "tf-api-version",
    "The code was written for another major version of TensorFlow",
    needs=("missing-attribute", "missing-module", "missing-name", "eager-incompatible"),
)
def tf_api_version(picture: Picture) -> Iterator[Finding]:
    """The code was written for another major version of TensorFlow.

    ## What it means
    TensorFlow 2 has no sessions, placeholders or `contrib`; TensorFlow 1 lacks most of what TensorFlow 2 code uses; Keras moved and removed names in 2.4,
    2.6, 2.12 and 3. The installation is in order.

    ## How it shows
    `module 'tensorflow' has no attribute 'Session'` (ConfigProto, GPUOptions, placeholder …), `No module named 'tensorflow.contrib'`, `cannot import name
    'multi_gpu_model'`.

    ## What to do
    `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()`, or move the code with `tf_upgrade_v2`; `multi_gpu_model` became
    tf.distribute.MirroredStrategy; or install the release the code was written for.
    """
    facts = picture.facts
    attributes = facts.symptoms("missing-attribute")
    modules = [
        s
        for s in facts.symptoms("missing-module")
        if s.get("module").startswith(_GONE_MODULES) or "contrib" in s.get("module")
    ]
    names = [s for s in facts.symptoms("missing-name") if s.get("name") in _GONE_NAMES or "contrib" in s.get("module")]
    eager = facts.symptoms("eager-incompatible")
    if not (attributes or modules or names or eager):
        return
    name = next((s.get("name") for s in (*attributes, *names)), "")
    first = attributes[0] if attributes else None
    old_code = bool(modules or names or eager) or name in REMOVED_IN_2
    version = picture.tensorflow.version if picture.tensorflow else None
    runs_one = version is not None and version.startswith(("0.", "1."))
    steps: list[Step] = []
    if runs_one and name not in ("contrib",):
        text = f"The code uses {'tf.' + name if name else 'names'} that TensorFlow {version} does not have yet: it was written for a later release."
        steps.append(
            manual(
                "Install the TensorFlow release that the code was written for (its requirements.txt or README names it)"
            )
        )
    elif name == "multi_gpu_model":
        text = (
            "multi_gpu_model was removed from Keras with TensorFlow 2.4; tf.distribute.MirroredStrategy does its work."
        )
        steps.append(
            python(
                "strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    model = ...  # build and compile here",
                "the successor of multi_gpu_model",
            )
        )
    elif old_code or first is not None:
        text = f"The code uses {'`' + name + '`' if name else 'parts'} of TensorFlow 1 (or an older Keras) that the installed release no longer has. The installation itself is in order."
        steps.append(python(code.compat_v1(), "runs most TensorFlow 1 code on TensorFlow 2"))
        if name in ("ConfigProto", "GPUOptions", "Session", "set_session", "get_session"):
            steps.append(
                python(
                    code.memory_growth("2.15"),
                    "what ConfigProto and Session were mostly used for, in TensorFlow 2's words",
                )
            )
        steps.append(
            manual(
                "Or rewrite the names in a whole folder: tf_upgrade_v2 --intree OLD --outtree NEW",
                "the program is installed with TensorFlow 2",
            )
        )
    else:
        text = "The code and the installed TensorFlow are of different generations."
        steps.append(python(code.compat_v1(), "runs most TensorFlow 1 code on TensorFlow 2"))
    sure = (
        bool(modules or names or eager) or name in REMOVED_IN_2 or bool(first and first.get("module") == "tensorflow")
    )
    yield found(
        "tf-api-version",
        text,
        [*attributes[:2], *modules[:2], *names[:2], *eager[:1]],
        confidence="certain" if sure else "likely",
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )
