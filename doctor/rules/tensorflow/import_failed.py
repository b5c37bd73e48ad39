"""tf-import-failed: the native library does not import, for a reason that is not CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from doctor import validated
from doctor.facts import Glibc, LibraryNotLoaded, Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures, environments
from doctor.remedies.fitness import installation, on_driver, usable
from doctor.rules.libraries.stated import blamed_path, mismatched_pair
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.node_addon import addon_that_does_not_load
from doctor.rules.tensorflow.own_ops import own_ops, pythons_own
from doctor.rules.tensorflow.removed_names import missing_parts
from doctor.shell import Export, Literal, Path, run
from doctor.tables import dotted

OWN_PARTS = ("tensorflow.python", "tensorflow.core", "tensorflow.python.tools", "tensorflow.python.platform")
"""Packages inside TensorFlow that its own first lines import (tensorflow/__init__.py, 1.0 to 2.21)."""


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
        Glibc,
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
    addon = facts.symptoms("node-addon-failed")
    if addon and not picture.not_loaded:
        yield addon_that_does_not_load(picture, addon)
        return
    glibc = [s for s in facts.symptoms("glibc-too-old") if not re.search(r"tensorboard_data_server", s.source.text)]
    glibc = glibc or _below_the_floor(picture)
    dll = facts.symptoms("dll-load-failed", "msvc-runtime")
    shadow = facts.symptoms("circular-import", "shadowing-file", "stray-tensorflow-module")
    parts = [s for s in facts.symptoms("missing-module") if s.get("module") in OWN_PARTS]
    lost = missing_parts(picture)
    arch = facts.symptoms("wrong-architecture")
    tls = facts.symptoms("static-tls")
    unmapped = facts.symptoms("library-unmapped")
    native = facts.symptoms("native-runtime-failed")
    symbol = [s for s in facts.symptoms("undefined-symbol") if "tensorflow" in s.source.text.lower() and s not in own_ops(picture)]
    symbol += facts.symptoms("rocm-library")
    cuda = [lib for lib in facts.of(LibraryNotLoaded) if picture.component(lib.name) in ("cuda", "cudnn", "driver")]
    if not cuda:  # TensorFlow before 1.4 appends that sentence to every failure of the import (python/__init__.py)
        runtime = facts.symptoms("msvc-runtime") if picture.platform == "windows" else []
        shadow += facts.symptoms("source-folder-import") if not runtime else []
    tf_dll = [s for s in dll if re.search(r"tensorflow|pywrap|msvcp|vcruntime|DLL", s.source.text, re.I)]
    if facts.has("source-folder-import") and not shadow and not tf_dll:  # the import failed, and the runtime is what is said to have been missing
        tf_dll = [*dll[:1], *facts.symptoms("source-folder-import")[:1]]
    seen = [  # on a machine: the import itself was tried, or acted out on the files
        *facts.symptoms("deep-import-failed"),
        *(s for s in facts.symptoms("deep-crashed") if s.get("stage") in ("started", "nothing")),
        *facts.symptoms("tensorflow-library-fails"),
    ]
    if not (glibc or tf_dll or shadow or parts or lost or arch or tls or unmapped or symbol or seen or (native and not cuda)):
        return
    another = facts.has("cuda-version-told", "cudnn-version-told") or mismatched_pair(picture) or bool(blamed_path(picture))
    if another and not (glibc or arch or shadow or tls or unmapped or seen or facts.has("msvc-runtime")):
        return  # the library that did not load is CUDA's or cuDNN's then
    if cuda and not (glibc or arch or shadow or tls or unmapped or seen):
        return
    steps: list[Step]
    rows: list[object] = []
    fresh = _fresh_copy(picture)
    if glibc:
        needs = glibc[0].get("needs")
        library = glibc[0].get("library").rsplit("/", 1)[-1] or ("glibc" if needs.startswith("GLIBC_") else "libstdc++")
        text = f"TensorFlow's library needs {needs}, and this system's {library} is older."
        number = re.search(r"GLIBC_(2\.\d+)", needs)
        fitting = [
            r
            for r in picture.tables.releases(picture.table_platform, "tensorflow")
            if r.glibc and number and dotted(r.glibc) < dotted(number[1])
            and (not r.gpu or (usable(picture, r) and on_driver(picture, r)))
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
                    commands.pip(picture, "install", *installation(picture, fitting[-1], bare=True).requirements),
                    f"the newest release whose wheels need no more than glibc {fitting[-1].glibc}",
                ),
            )
        if needs.startswith(("GLIBCXX", "CXXABI")):
            steps.insert(
                0,
                shell(
                    run("conda", "install", "-c", "conda-forge", "libstdcxx-ng"),
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
    elif parts or lost:
        what = parts[0].get("module") if parts else f"tf.{lost[0].get('name')}"
        part = "is a part of every release" if parts or picture.tensorflow is None else f"TensorFlow {picture.tensorflow.version} has"
        text = (
            f"What `import tensorflow` finds has no {what}, which {part}: the installation broke off or was "
            f"overwritten, {'' if parts else 'another one is found first, '}or a file or folder of that name stands in its place."
        )
        steps = [
            shell(
                commands.run_python(picture, "import importlib.util; print(importlib.util.find_spec('tensorflow').origin)"),
                "which file is found; outside site-packages it is not the package",
            ),
            *fresh,
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
    elif tls:
        library = tls[0].get("library")
        text = f"{library.rsplit('/', 1)[-1]} is loaded so late that no room is left for its thread-local variables; loaded first, it fits."
        first = "mport TensorFlow (or whichever package brings that library) before everything else, cv2 and sklearn"
        first += " above all"
        own = validated.library_of_environment(
            library
        )  # another library of a report is not what to load into programs
        steps = [manual(f"{'Or i' if own else 'I'}{first}")]
        if own:
            why = "loads it before all others; set it in the shell or service that starts the program"
            steps.insert(0, shell(Export("LD_PRELOAD", Path(own)), why, platform="linux"))
    elif unmapped and picture.platform not in ("windows", "macos"):  # the loader of Linux says so
        library = unmapped[0].get("library")
        text = (
            f"The system refuses to map {library.rsplit('/', 1)[-1]} into memory: the file system that it lies on is mounted noexec, or a limit on "
            "the process's memory leaves no room for it."
        )
        own = validated.library_of_environment(library)
        noexec = "where noexec stands among the options, put the environment onto another file system, "
        noexec += "or mount that one with exec"
        look = run("findmnt", *(("-T", Path(own)) if own else ()), "-o", "TARGET,OPTIONS")
        steps = [
            shell(look, noexec, platform="linux"),
            shell(
                Literal("ulimit -v"),
                "kilobytes of address space, or unlimited; TensorFlow needs several gigabytes, and a batch job may have to ask for more memory",
                platform="linux",
            ),
        ]
    elif symbol and pythons_own(symbol[0]):
        name = symbol[0].get("symbol")
        text = f"TensorFlow's library was built for another Python than the one that loads it: {name} is one of Python's own names, and this Python does not have it."
        if name.startswith("PyUnicodeUCS"):
            width = name[12]
            text += f" The wheel is for a Python 2 whose characters take {width} bytes (cp27m{'u' if width == '4' else ''} in its name), and this one was compiled for the other width."
        steps = [
            shell(
                commands.run_python(picture, "import sys, sysconfig; print(sys.executable, sys.version, sysconfig.get_config_var('Py_UNICODE_SIZE'))"),
                "which Python it is, and in Python 2 the width of its characters",
            ),
            manual("Install TensorFlow with the pip of that very Python, which takes a wheel that fits it; copy no package between Pythons"),
            *fresh,
        ]
    elif symbol and not tf_dll:
        text = "TensorFlow's own files do not fit together: a library of another installation or build is loaded with them."
        steps = fresh
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
            else f"TensorFlow's own {seen[0].get('file').rpartition('/')[2] or 'library'} does not load: {seen[0].get('error')}."
            if seen and seen[0].get("error")
            else "TensorFlow's native library could not be loaded; the lines before the last one say why."
        )
        steps = [
            shell(
                run("winget", "install", "Microsoft.VCRedist.2015+.x64"),
                "the current Visual C++ redistributable, 64 bit; then open a new prompt",
                platform="windows",
                root=True,
            ),
            *(replace(step, why=f"if that does not help: {step.why}") for step in fresh[:1]),
            *fresh[1:],
        ]
        if picture.platform not in ("windows", None) and not tf_dll:
            steps = fresh
    yield found(
        "tf-import-failed",
        text,
        [*glibc[:2], *shadow[:2], *parts[:1], *lost[:1], *arch[:1], *tls[:1], *unmapped[:1], *tf_dll[:2], *symbol[:1], *native[:1], *seen[:2]],
        confidence="certain" if glibc or shadow or arch or tls or unmapped else "likely",
        tables=rows,
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)"),
    )


def _below_the_floor(picture: Picture) -> list[Symptom]:
    """On a machine: a glibc that is older than the wheel in use is made for."""
    build, here = picture.build, picture.facts.first(Glibc)
    if picture.facts.kind != "machine" or build is None or here is None or not build.of_wheel:
        return []
    python = commands.minor(picture.python.version) if picture.python is not None else None
    floor = build.glibc_by_python.get(python or "") or build.glibc
    if floor is None or dotted(here.version) >= dotted(floor):
        return []
    detail = (("library", "libc.so.6"), ("needs", f"GLIBC_{floor}"), ("by", build.requirement))
    return [Symptom(here.source, "glibc-too-old", detail)]


def _fresh_copy(picture: Picture) -> list[Step]:
    """The build in use once more and whole; another one where it could not use the GPU of the case anyway."""
    build = picture.build
    if build is not None and build.gpu and not (usable(picture, build) and on_driver(picture, build)):
        return list(cures.another_build(picture).steps)
    python = commands.minor(picture.python.version) if picture.python is not None else None
    if build is not None and build.pythons and python is not None and python not in build.pythons:
        why = f"a whole copy where there is a wheel of TensorFlow {build.version}: it has none for Python {python}"
        wheels = installation(picture, build, bare=True).requirements
        return environments.with_python(environments.ENV, build.pythons[-1], picture.platform or "linux", wheels, why)[0]
    wanted = installation(picture, build, bare=True).requirements if build else ["tensorflow"]
    return [
        shell(
            commands.pip(picture, "install", "--force-reinstall", "--no-cache-dir", *wanted),
            "a fresh copy, one and whole, in a fresh environment",
        )
    ]
