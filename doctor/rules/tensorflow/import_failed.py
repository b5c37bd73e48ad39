"""tf-import-failed: TensorFlow's native library cannot be imported, for a reason other than CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Glibc, LibraryNotLoaded, Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands, cures, environments
from doctor.remedies.fitness import installation, on_driver, usable
from doctor.rules.libraries.stated import blamed_path, mismatched_pair
from doctor.rules.linux import on_linux
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.node_addon import addon_that_does_not_load
from doctor.rules.tensorflow.own_library import not_found, not_mapped
from doctor.rules.tensorflow.own_ops import addon_of, for_another_release, own_ops, pythons_own
from doctor.rules.tensorflow.removed_names import missing_parts
from doctor.shell import Export, Joined, Literal, Path, run
from doctor.tables import dotted
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case

OWN_PARTS = ("tensorflow.python", "tensorflow.core", "tensorflow.python.tools", "tensorflow.python.platform")
"""The subpackages that TensorFlow imports first (tensorflow/__init__.py, 1.0 to 2.21)."""


def _of_tensorflow(line: str) -> bool:
    """Whether a line about an undefined symbol concerns one of TensorFlow's libraries, not one of CUDA's."""
    return "tensorflow" in line.lower() and not re.search(r"could not find cu\w{1,80} in \w{1,12} DSO", line)


@rule(
    "tf-import-failed",
    "TensorFlow's native library cannot be imported",
    needs=(
        "dll-load-failed",
        "msvc-runtime",
        "native-runtime-failed",
        "glibc-too-old",
        "circular-import",
        "shadowing-file",
        "source-folder-import",
        "wrong-architecture",
        "static-tls",
        "library-unmapped",
        "stray-tensorflow-module",
        "hollow-module",
        "missing-attribute",
        "undefined-symbol",
        "rocm-library",
        "missing-module",
        "deep-import-failed",
        "deep-crashed",
        "tensorflow-library-fails",
        "node-addon-failed",
        "glibc-under-tensorflow",
        "tensorflow-library-not-loaded",
        "system-library-not-loaded",
    ),
)
def tf_import_failed(case: Case) -> Iterator[Finding]:
    """TensorFlow's native library cannot be imported, for a reason other than CUDA.

    ## What it means
    TensorFlow's native library needs the Visual C++ runtime (Windows), a recent enough glibc and libstdc++
    (Linux) and the right processor. `import tensorflow` must find the package, not a file of your project.

    ## What you see
    `DLL load failed`, `version 'GLIBC_2.27' not found`, `GLIBCXX_… not found`, `incompatible architecture`,
    `partially initialized module 'tensorflow'`.

    ## What to do
    On Windows, install the current Visual C++ redistributable (x64). On Linux, use a newer distribution, or a
    release whose wheels fit this glibc. Rename files and folders called tensorflow in your project.
    """
    facts = case.facts
    addon = facts.symptoms("node-addon-failed")
    if addon and not case.not_loaded:
        yield addon_that_does_not_load(case, addon)
        return
    lost_library = [*case.missing("tensorflow"), *case.missing("system")]
    glibc = [
        s for s in facts.symptoms("glibc-too-old") if not re.search(r"tensorboard_data_server", s.source.text)
    ]
    glibc = glibc or _below_the_floor(case)
    dll = facts.symptoms("dll-load-failed", "msvc-runtime")
    shadow = facts.symptoms("circular-import", "shadowing-file", "stray-tensorflow-module")
    parts = [s for s in facts.symptoms("missing-module") if s.get("module") in OWN_PARTS]
    lost = missing_parts(case)
    arch = facts.symptoms("wrong-architecture")
    tls = facts.symptoms("static-tls")
    unmapped = facts.symptoms("library-unmapped")
    native = facts.symptoms("native-runtime-failed")
    symbol = [
        s
        for s in facts.symptoms("undefined-symbol")
        if _of_tensorflow(s.source.text) and s not in own_ops(case) and not addon_of(s)
    ]
    symbol += facts.symptoms("rocm-library")
    cuda = [
        lib for lib in facts.of(LibraryNotLoaded) if case.component(lib.name) in ("cuda", "cudnn", "driver")
    ]
    # leave out a library that fails to load only because a CUDA library is missing
    lost_library = [lib for lib in lost_library if not any(lib.source == other.source for other in cuda)]
    ops = for_another_release(case)  # what an op looks for, not TensorFlow itself
    lost_library = [lib for lib in lost_library if lib not in ops]
    # TensorFlow before 1.4 appends the sentence about the source folder to every failed import
    # (python/__init__.py)
    source_folder = facts.symptoms("source-folder-import")
    if not cuda and not (case.platform == "windows" and facts.has("msvc-runtime")):
        shadow += source_folder
    tf_dll = [s for s in dll if re.search(r"tensorflow|pywrap|msvcp|vcruntime|DLL", s.source.text, re.I)]
    if source_folder and not shadow and not tf_dll:
        tf_dll = [*dll[:1], *source_folder[:1]]  # the report says that the runtime is missing
    seen = [  # on a machine, the check tried the import or simulated it from the files
        *facts.symptoms("deep-import-failed"),
        *(s for s in facts.symptoms("deep-crashed") if s.get("stage") in ("started", "nothing")),
        *facts.symptoms("tensorflow-library-fails"),
        *(facts.symptoms("msvc-runtime") if facts.kind == "machine" else ()),
    ]
    proven = glibc or lost_library or arch or shadow or tls or unmapped or seen
    if not (proven or tf_dll or parts or lost or symbol or native) or (cuda and not proven):
        return
    if (mismatched_pair(case) or blamed_path(case)) and not (proven or facts.has("msvc-runtime")):
        return  # the library that did not load belongs to CUDA or cuDNN
    steps: list[Step]
    rows: list[object] = []
    stored = [s for s in seen if s.get("elsewhere")]
    fresh = _fresh_copy(case)
    if glibc:
        needs = glibc[0].get("needs")
        library = glibc[0].get("library").rsplit("/", 1)[-1] or (
            "glibc" if needs.startswith("GLIBC_") else "libstdc++"
        )
        text = f"TensorFlow's library needs {needs}, but this system's {library} is older."
        number = re.search(r"GLIBC_(2\.\d+)", needs)
        fitting = [
            r
            for r in case.tables.releases(case.table_platform, "tensorflow")
            if r.glibc
            and number
            and dotted(r.glibc) < dotted(number[1])
            and (not r.gpu or (usable(case, r) and on_driver(case, r)))
        ]
        if case.python:
            fitting = [r for r in fitting if commands.minor(case.python.version) in r.pythons]
        steps = []
        if needs.startswith(("GLIBCXX", "CXXABI")):
            conda = run("conda", "install", "-c", "conda-forge", "libstdcxx-ng")
            why = "if you use conda: installs a newer libstdc++ in the active environment"
            steps.append(on_linux(conda, why))
        if fitting:
            rows.append(fitting[-1])
            older = commands.pip(case, "install", *installation(case, fitting[-1], bare=True).requirements)
            why = f"installs the newest release whose wheels run on glibc {fitting[-1].glibc}"
            steps.append(shell(older, why))
        steps.append(
            manual("Use a newer distribution, or an image that contains one (tensorflow/tensorflow)")
        )
    elif lost_library:
        text, steps = not_found(case, lost_library[0])
        steps = [*(fresh if "ImportError" in lost_library[0].source.text else ()), *steps]
    elif shadow:
        path = next((s.get("path") for s in shadow if s.get("path")), "")
        text = f"`import tensorflow` finds {path or 'something else called tensorflow'} first."
        steps = [
            manual(
                f"Rename {path or 'the file or folder called tensorflow in your project'} and delete the"
                " __pycache__ folder beside it; start Python from another folder"
            )
        ]
    elif parts or lost:
        what = parts[0].get("module") if parts else f"tf.{lost[0].get('name')}"
        part = (
            "every release contains"
            if parts or case.tensorflow is None
            else f"TensorFlow {case.tensorflow.version} has"
        )
        text = (
            f"The package that `import tensorflow` finds has no {what}, which {part}. Either the installation"
            f" stopped halfway or was overwritten,"
            f" {'' if parts else 'or Python finds another installation first, '}or another file or folder is"
            f" called tensorflow."
        )
        steps = [
            shell(
                commands.run_python(
                    case, "import importlib.util; print(importlib.util.find_spec('tensorflow').origin)"
                ),
                "shows the file that Python finds; a file outside site-packages is not TensorFlow's package",
            ),
            *fresh,
        ]
    elif arch:
        text = (
            "TensorFlow's library and this Python are for different processors (for example, an x86_64 "
            "Python or wheel under Rosetta on an Arm Mac)."
        )
        steps = [
            shell(
                commands.run_python(case, "import platform; print(platform.machine())"),
                "prints the processor, which must be arm64 on an Apple-silicon Mac",
            ),
            manual("Install an arm64 Python, and TensorFlow with that Python's pip"),
        ]
    elif tls:
        library = tls[0].get("library")
        text = (
            f"{library.rsplit('/', 1)[-1]} is loaded too late: no space is left for its thread-local"
            f" variables. The import works if this library is loaded first."
        )
        first = (
            "mport TensorFlow (or the package that contains this library) before all other packages,"
            " especially before cv2 and sklearn"
        )
        # a program never preloads another library named in a report
        own = validated.library_of_environment(library)
        steps = [manual(f"{'Or i' if own else 'I'}{first}")]
        if own:
            why = (
                "loads this library before all others; set the variable in the shell or service that starts"
                " the program"
            )
            steps.insert(0, on_linux(Export("LD_PRELOAD", Path(own)), why))
    elif unmapped and case.platform not in ("windows", "macos"):  # Linux's loader prints that
        text, steps = not_mapped(unmapped[0].get("library"))
    elif stored:
        kept = stored[0].get("elsewhere")
        text = (
            f"TensorFlow's wheel expects the loader to find {stored[0].get('culprit')}. The file exists"
            f" ({kept}), but this Python's loader does not search its folder."
        )
        folder = Joined((Path(kept.rpartition("/")[0]), Literal("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")))
        steps = [
            on_linux(
                Export("LD_LIBRARY_PATH", folder),
                "in the shell or service that starts the program; updates of the system may move the library",
            ),
            manual(
                "Or start the program in an environment with the folders that wheels expect: use nix-ld or"
                " pkgs.buildFHSEnv on NixOS, or guix shell --container --emulate-fhs on Guix"
            ),
        ]
    elif symbol and pythons_own(symbol[0]):
        name = symbol[0].get("symbol")
        text = (
            f"TensorFlow's library was built for a different Python from the one that loads it: {name} is a"
            " symbol of Python itself that this Python does not have."
        )
        if name.startswith("PyUnicodeUCS"):
            width = name[12]
            text += (
                f" The wheel is for a build of Python 2 that stores a character in {width} bytes"
                f" (cp27m{'u' if width == '4' else ''} in its name), but this Python was compiled for the"
                " other width."
            )
        steps = [
            shell(
                commands.run_python(
                    case,
                    "import sys, sysconfig; print(sys.executable, sys.version,"
                    " sysconfig.get_config_var('Py_UNICODE_SIZE'))",
                ),
                "shows which Python runs, and the width of its characters in bytes (Python 2)",
            ),
            manual(
                "Install TensorFlow with that Python's own pip, which chooses a matching wheel; do not copy"
                " packages from one Python installation to another"
            ),
            *fresh,
        ]
    elif symbol and not tf_dll:
        text = (
            "TensorFlow's own files do not match: one of the loaded libraries comes from another"
            " installation or build."
        )
        steps = fresh
    elif tf_dll or case.platform in ("windows", None):
        text = (
            "Windows could not load TensorFlow's DLL or a DLL that it needs: usually the Visual C++ runtime"
            " is missing or old"
        )
        if case.platform in ("windows", None):
            text += "; with tensorflow-gpu before 1.14, a missing CUDA or cuDNN DLL causes the same message"
        text += "."
        if any("initialization routine" in s.source.text.lower() for s in tf_dll):
            text += ' A processor without AVX also causes this message ("initialization routine failed").'
        steps = [
            shell(
                run("winget", "install", "Microsoft.VCRedist.2015+.x64"),
                "installs the current 64-bit Visual C++ redistributable; then open a new prompt",
                platform="windows",
                root=True,
            ),
            *(replace(step, why=f"if that does not help: {step.why}") for step in fresh[:1]),
            *fresh[1:],
        ]
        old = case.tensorflow is None or dotted(case.tensorflow.version) < (1, 14)
        if old and case.platform == "windows":
            steps.append(
                manual(
                    "If the package is tensorflow-gpu of a release before 1.14, it also needs the CUDA and"
                    " cuDNN DLLs of this release on Path (tfgpu-doctor tables tensorflow lists them); or"
                    " replace it with the package tensorflow of the same release, which uses only the CPU",
                    platform="windows",
                )
            )
    else:
        text = (
            f"TensorFlow's own {seen[0].get('file').rpartition('/')[2] or 'library'} does not load:"
            f" {seen[0].get('error')}."
            if seen and seen[0].get("error")
            else "TensorFlow's native library could not be loaded; the lines before the last one give the"
            " reason."
        )
        steps = fresh
    yield found(
        "tf-import-failed",
        text,
        [
            *glibc[:2],
            *lost_library[:2],
            *shadow[:2],
            *parts[:1],
            *lost[:1],
            *arch[:1],
            *tls[:1],
            *unmapped[:1],
            *tf_dll[:2],
            *symbol[:1],
            *native[:1],
            *seen[:2],
        ],
        confidence="certain" if glibc or shadow or arch or tls or unmapped or stored else "likely",
        tables=rows,
        steps=steps,
        verify=commands.run_python(case, "import tensorflow as tf; print(tf.__version__)"),
    )


def _below_the_floor(case: Case) -> list[Symptom]:
    """Return the symptom that the machine's glibc is too old for the installed wheel, or [] if it is not."""
    build, here = case.build, case.facts.first(Glibc)
    if case.facts.kind != "machine" or build is None or here is None or not build.of_wheel:
        return []
    python = commands.minor(case.python.version) if case.python is not None else None
    floor = build.glibc_by_python.get(python or "") or build.glibc
    if floor is None or dotted(here.version) >= dotted(floor):
        return []
    detail = (("library", "libc.so.6"), ("needs", f"GLIBC_{floor}"), ("by", build.requirement))
    return [Symptom(here.source, "glibc-too-old", detail)]


def _fresh_copy(case: Case) -> list[Step]:
    """Return the steps that reinstall the build in use, or that install another build if this one could not
    use the GPU anyway."""
    build = case.build
    if build is not None and build.gpu and not (usable(case, build) and on_driver(case, build)):
        return list(cures.another_build(case).steps)
    python = commands.minor(case.python.version) if case.python is not None else None
    if build is not None and build.pythons and python is not None and python not in build.pythons:
        why = (
            f"a complete copy, with a Python for which TensorFlow {build.version} has a wheel; there is no"
            f" wheel for Python {python}"
        )
        wheels = installation(case, build, bare=True).requirements
        return environments.with_python(
            environments.ENV, build.pythons[-1], case.platform or "linux", wheels, why
        )[0]
    again = ("install", "--force-reinstall", "--no-cache-dir")
    if build is None:
        return [
            shell(
                commands.pip(case, "list"), "shows which package contains TensorFlow here, and its release"
            ),
            manual(
                "Install the same release of this package again, so that the program keeps running:"
                f" {' '.join(commands.python_words(case))} -m pip {' '.join(again)} PACKAGE==RELEASE"
            ),
        ]
    wanted = installation(case, build, bare=True).requirements
    return [shell(commands.pip(case, *again, *wanted), "installs one complete copy of this release")]
