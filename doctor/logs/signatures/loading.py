"""Signatures of libraries that were loaded or failed to load. The messages come from TensorFlow's dso_loader,
Python's import, cuDNN and Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import EnvVar, Fact, LibraryFile, LibraryLoaded, LibraryNotLoaded, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig, spoken

LIBRARY = r"[\w.+-]*\.(?:so|dll|dylib)(?:\.\d+)*"

_BROKEN = (
    "file too short",
    "invalid elf header",
    "wrong elf class",
    "undefined symbol",
    "symbol not found",
    "cannot enable executable stack",
    "file in wrong format",
    "not a valid win32",
    "error code 127",
    "error code 193",
)

_BLAMED = rf"(?:Error: ?)?(?P<file>(?:[\w./+~-]*/)?{LIBRARY}): cannot open shared object"


PLUGINS = {
    "tfdml_plugin.dll": "tensorflow-directml-plugin",
    "libmetal_plugin.dylib": "tensorflow-metal",
    "libitex_gpu.so": "intel-extension-for-tensorflow",
    "libitex_cpu.so": "intel-extension-for-tensorflow",
}
"""The packages that put libraries into the folder tensorflow-plugins, by the library's file name."""


def plugin(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a plugin for other devices that does not load because it was built for another
    TensorFlow release or because its own dependencies are missing."""
    addon = PLUGINS.get(match["library"].lower())
    return Symptom(source, "addon-mismatch", (("addon", addon), ("plugin", "yes"))) if addon else None


def _tidy(name: str) -> str:
    return name.strip("'\"` ").replace("\\", "/").rsplit("/", 1)[-1]


def not_loaded(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the LibraryNotLoaded fact for a library that did not load, and the fact for the search path that
    the message quotes."""
    name = _tidy(match["name"])
    error = (match.groupdict().get("error") or "").strip()
    lowered = error.lower()
    if "error code 1455" in lowered:  # Windows had too little memory to load the file, which exists
        return
    culprit: str | None = None
    blamed = re.match(_BLAMED, error, re.I)
    if blamed and _tidy(blamed["file"]) != name:
        culprit = _tidy(blamed["file"])
    needs = re.search(r"version [`'\"]?(?P<v>\w+_[\d.]+)['\"]? not found", error)
    if needs:
        culprit = needs["v"]
    broken = culprit is not None or any(word in lowered for word in _BROKEN)
    yield LibraryNotLoaded(source, name, error, "broken" if broken else "absent", culprit)
    path = match.groupdict().get("path")
    if path is not None and path.strip():
        yield EnvVar(source, "LD_LIBRARY_PATH", path.strip().rstrip("'`\")"))


def loaded(match: re.Match[str], source: Source) -> Fact:
    """Create the LibraryLoaded fact for a library that was loaded."""
    return LibraryLoaded(source, _tidy(match["name"]))


def on_disk(match: re.Match[str], source: Source) -> Fact | None:
    """Create the LibraryFile fact for a library file in a listing, in ldconfig's cache or in the output of
    find. Return None for other files, and for a link that does not prove which library it leads to."""
    path = match["path"].strip("'\"`(),")
    link = re.search(
        r"\bln\s+-[a-rt-z]{0,6}s\w{0,6}\s+(\S{1,200}\.so\.[\d.]+)\s+\S{0,200}?(\.so\.[\d.]+)", source.text
    )
    if re.search(r"\bln\s+-[a-z]{0,6}s", source.text) and (
        link is None or path != link[1] or f"{link[2]}." in f"{path}."
    ):
        # a link does not prove what its target is; but if a link gives a file the name of another version,
        # the version is that of the file
        return None
    name = _tidy(path)
    if not re.match(
        r"(?:lib)?(?:cuda|cudart|cublas|cufft|curand|cusolver|cusparse|cudnn|nvjitlink|cupti)", name, re.I
    ):
        return None
    return LibraryFile(source, name, path)


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "library-not-loaded",
        "could not load dynamic library|could not dlopen library",
        rf"Could not (?:load dynamic|dlopen) library\s+'(?P<name>{LIBRARY})'"
        r"(?:; dlerror: (?P<error>.{0,300}?)(?=; LD_LIBRARY_PATH|\d{4}-\d\d-\d\d \d\d:|$))?"
        r"(?:; LD_LIBRARY_PATH: ?(?P<path>[^\n]{0,400}?)(?=\d{4}-\d\d-\d\d \d\d:|$))?",
        "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library "
        "'libcudnn.so.8'; "
        "dlerror: libcudnn.so.8: cannot open shared object file: No such file or directory; LD_LIBRARY_PATH: "
        "/usr/lib",
        not_loaded,
        seen_in=">=1.14",
        origin="tensorflow/stream_executor/platform/default/dso_loader.cc",
    ),
    sig(
        "library-not-loaded",
        "couldn't open cuda library",
        rf"Couldn't open CUDA library (?P<name>{LIBRARY})(?:\. LD_LIBRARY_PATH: ?"
        rf"(?P<path>[^\n\\]{{0,400}}))?",
        "I tensorflow/stream_executor/dso_loader.cc:126] Couldn't open CUDA library libcudnn.so.5. "
        "LD_LIBRARY_PATH: /usr/local",
        not_loaded,
        seen_in="<1.1",
        origin="tensorflow/stream_executor/dso_loader.cc",
    ),
    sig(
        "library-loaded",
        "successfully opened dynamic library|successfully opened cuda library",
        rf"Successfully opened (?:dynamic|CUDA) library\s+(?P<name>{LIBRARY})",
        "I tensorflow/stream_executor/platform/default/dso_loader.cc:49] Successfully opened dynamic library "
        "libcudart.so.11.0",
        loaded,
        origin="tensorflow/stream_executor/platform/default/dso_loader.cc",
    ),
    sig(
        "library-not-loaded",
        "cannot open shared object file|wrong elf class|invalid elf header|file too short|"
        "cannot enable executable stack",
        rf"(?<!'; dlerror: )(?<![\w/.+~-])(?P<name>(?:/[\w./+~-]{{1,300}}/)?{LIBRARY})(?: ?: ?"
        r"|[^\n:]{0,24}\()(?P<error>(?:cannot open shared object file"
        r"|wrong ELF class|invalid ELF header|file too short|cannot enable executable stack)[^\n]{0,160})",
        "panic: libcublas.so.9.0: cannot open shared object file: No such file or directory",
        not_loaded,
        origin="glibc, elf/dl-load.c; the text before it comes from Python, Java, Node, Go, Julia or R",
    ),
    spoken(  # the same message in a person's order
        "library-not-loaded",
        "open shared object file lib|open shared object file: lib",
        rf"\bopen shared object file:? (?P<name>lib{LIBRARY})(?! ?:)",
        "Can't open shared object file libcuda.so.1",
        not_loaded,
    ),
    sig(  # the same message, cut off after the name
        "library-not-loaded",
        "error while loading shared libraries",
        rf"error while loading shared libraries: (?P<name>{LIBRARY})(?! ?:)",
        "tensorflow_model_server: error while loading shared libraries: libcuda.so.1",
        not_loaded,
        origin="glibc, elf/rtld.c",
    ),
    sig(
        "library-not-loaded",
        "error loading shared library",
        rf"Error loading shared library (?P<name>{LIBRARY}): (?P<error>[^\n]{{0,120}})",
        "Error loading shared library libcuda.so.1: No such file or directory (needed by /app/server)",
        not_loaded,
        origin="musl, ldso/dynlink.c",
    ),
    sig(  # from .NET, with a name without an extension, and from Java, with its own wording
        "library-not-loaded",
        "unable to load shared library '|in java.library.path|cannot find tensorflow native library|"
        "failed to load tensorflow native library",
        r"Unable to load shared library '(?P<name>[\w.+-]{2,80})'"
        r"|\bno (?P<java>\w{2,60}) in java\.library\.path"
        r"|(?:Cannot find|Failed to load) TensorFlow native library",
        "java.lang.UnsatisfiedLinkError: no jnitensorflow in java.library.path: [/usr/lib64]",
        lambda m, s: LibraryNotLoaded(s, m["name"] or m["java"] or "libtensorflow_jni"),
    ),
    sig(  # Windows: a DLL that ctypes or a program opens by name
        "library-not-loaded",
        "could not find module '|.dll was not found|.dll is missing",
        r"Could not find module '(?P<name>[^'\n]{1,200}\.dll)'"
        r"|(?<![\w/\\.-])(?P<missing>[\w.+-]{2,60}\.dll) (?:was not found|is missing from your computer)",
        "The code execution cannot proceed because cudart64_101.dll was not found.",
        lambda m, s: LibraryNotLoaded(s, _tidy(m["name"] or m["missing"]), "not found"),
    ),
    sig(  # Windows: the DLL exists, but a DLL that it needs is missing or from another release
        "library-not-loaded",
        'error loading "',
        r"\[WinError (?P<code>126|127|182|193)\][^\n]{0,120}Error loading \"(?P<name>[^\"\n]{1,300}\.dll)\"",
        "OSError: [WinError 127] The specified procedure could not be found. Error loading "
        '"C:\\bin\\cudnn64_8.dll"'
        " or one of its dependencies.",
        lambda m, s: LibraryNotLoaded(s, _tidy(m["name"]), f"error {m['code']}", "broken"),
        origin="torch/__init__.py",
    ),
    sig(  # Windows: ERROR_BAD_EXE_FORMAT, for a library that ctypes opens by name
        "library-not-loaded",
        "is not a valid win32 application: '",
        rf"(?P<error>%1 is not a valid Win32 application): '(?P<name>[^'\n]{{0,200}}?{LIBRARY})'",
        "OSError: [WinError 193] %1 is not a valid Win32 application: 'cudnn64_8.dll'",
        not_loaded,
        origin="winerror.h",
    ),
    sig(  # macOS: a library that another one references through @rpath
        "library-not-loaded",
        "library not loaded:",
        r"Library not loaded: (?:[@\w.+-]{0,40}/){0,12}(?P<name>lib(?:cu|tensorflow)[\w.]{0,40}\.dylib)",
        "Library not loaded: @rpath/libcudart.7.5.dylib",
        lambda m, s: LibraryNotLoaded(s, m["name"], "image not found"),
    ),
    sig(
        "library-not-loaded",
        "import error: libcu|import error libcu",
        r"\bimport error:? (?P<name>libcu\w*\.so(?:\.\d+){0,3})",
        "import error libcublas.so.9.1 (I have CUDA 9.0)",
        lambda m, s: LibraryNotLoaded(s, m["name"].rstrip(".")),
    ),
    sig(
        "library-not-loaded",
        "could not load library|unable to load library|unable to load any of",
        rf"(?:Could not|Unable to) load library '?(?P<name>{LIBRARY})'?\.? ?(?P<error>Error"
        rf"(?: code)?:? ?[^\n]{{0,200}})?",
        "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file",
        not_loaded,
    ),
    sig(
        "library-not-loaded",
        "could not locate",
        rf"Could not locate (?P<name>{LIBRARY})(?P<error>[^\n]{{0,120}})",
        "Could not locate zlibwapi.dll. Please make sure it is in your library path!",
        not_loaded,
    ),
    sig(
        "library-not-loaded",
        "could not find '|could not load '|could not find the dll|could not load the dll(s) '",
        rf"Could not (?:find|load) (?:the DLL\(s\) )?'(?P<name>{LIBRARY})'(?: or '[^']{{0,60}}')?"
        r"(?P<error>[^\n]{0,60}TensorFlow requires[^\n]{0,200})?",
        "ImportError: Could not find 'cudart64_90.dll'. TensorFlow requires that this DLL be installed in a "
        "directory that "
        "is named in your %PATH% environment variable.",
        not_loaded,
        seen_in=">=1.4",
        origin="tensorflow/python/platform/self_check.py",
    ),
    sig(
        "library-on-disk",
        "/libcu",
        r"(?:=> |-> |^\s*|\s)(?P<path>/[\w./+~-]{1,200}/lib(?:cudnn|cudart|cublas|cusolver|cusparse|cufft"
        r"|curand|cuda)"
        r"[\w]*\.so(?:\.\d+){0,3})(?=[\s'\"`,;)]|$)(?!: (?:cannot|version|undefined|file too|invalid))",
        "\tlibcudnn.so.8 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcudnn.so.8",
        on_disk,
    ),
    spoken(  # only the name of a file that somebody claims to have
        "library-on-disk",
        "libcu|64_",
        r"\b(?<!n't )(?<!not )(?<!never )(?<!should )(?<!must )(?:have|has|had|got|there (?:is|are)"
        r"|found|exists?|installed|name(?: \w{1,8})? is|ldconfig -[vp]\W{1,6})(?:(?:\s|[`'\"*:(])"
        r"|(?:now|only|here|a|the|just|is|files?|named|called)\b){1,6}(?P<path>lib(?:cudart|cudnn|cublas"
        r"|cusolver|cusparse|cufft|curand)\.so\.\d+(?:\.\d+){0,2}|(?:cudart|cudnn|cublas|cusolver|cusparse"
        r"|cufft|curand)64_\w{1,6}\.dll)(?![\w.]*[`'\"*]{0,3} ?(?:not|is not|isn't|missing|cannot|:))",
        "the toolkit has `libcudart.so.11`, not 12",
        on_disk,
        near="have|has|had|got|there|found|exist|installed|name|ldconfig",
    ),
    spoken(
        "library-on-disk",
        ".dll",
        r"(?P<path>(?:[A-Z]:[\\/][^\n\"'<>|:*?]{1,200}|\bbin)[\\/](?:cudart64|cudnn64|cublas64|cusolver64"
        r"|cusparse64|cufft64|curand64)_\w{1,6}\.dll)",
        r"where cudart64_110.dll gives C:\Program Files\NVIDIA GPU Computing"
        r" Toolkit\CUDA\v11.0\bin\cudart64_110.dll",
        on_disk,
    ),
    sig(
        "gpu-skipped",
        "skipping registering gpu devices|cannot dlopen some gpu libraries|cannot dlopen all cuda libraries",
        r"Cannot dlopen (?:some GPU|all CUDA) libraries|Skipping registering GPU devices",
        "W tensorflow/core/common_runtime/gpu/gpu_device.cc:2251] Cannot dlopen some GPU libraries. Please "
        "make sure",
        seen_in=">=1.14",
        origin="tensorflow/core/common_runtime/gpu/gpu_device.cc",
    ),
    sig(
        "cudart-stub",
        "could not find cuda drivers on your machine",
        r"Could not find cuda drivers on your machine",
        "I external/local_xla/xla/tsl/cuda/cudart_stub.cc:32] Could not find cuda drivers on your machine, "
        "GPU will not be used.",
        seen_in=">=2.12",
        origin="tensorflow/tsl/cuda/cudart_stub.cc (prints it when libcudart does not open)",
    ),
    sig(  # the stub answers each call itself if libcudart did not open
        "cudart-stub",
        "cudageterrorstring symbol not found",
        r"(?P<call>\bcuda[A-Z]\w{2,40})\(\) failed\. Status: cudaGetErrorString symbol not found",
        "tensorflow.python.framework.errors_impl.InternalError: cudaGetDevice() failed. Status:"
        " cudaGetErrorString symbol not found.",
        seen_in=">=1.14",
        origin="tensorflow/stream_executor/cuda/cudart_stub.cc",
    ),
    sig(
        "cudart-ignore",
        "ignore above cudart dlerror",
        r"Ignore above cudart dlerror",
        "I tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore above cudart dlerror if you do not have "
        "a GPU set up",
        seen_in=">=2.1,<2.12",
        origin="tensorflow/stream_executor/cuda/cudart_stub.cc",
    ),
    sig(
        "cudnn-not-opened",
        "unable to load cudnn dso|invalid path to cudnn",
        r"Unable to load cuDNN DSO|Invalid path to cuDNN [\d.]{1,8} toolkit",
        "I tensorflow/stream_executor/cuda/cuda_dnn.cc:1382] Unable to load cuDNN DSO",
        origin="cuda_dnn.cc before 1.1; configure.py of the sources",
    ),
    sig(
        "undefined-symbol",
        "undefined symbol|symbol not found in flat namespace|error relocating ",
        r"(?:(?<![\w./+~-])(?P<library>[\w./+~-]+\.so[\w.]*))?:? ?undefined symbol: "
        r"(?!cublasGetSmCountTarget)(?P<symbol>\w+)|Symbol not found in flat namespace"
        r"|Error relocating (?P<lib2>[\w./+~-]{1,300}): (?P<s2>\w{1,200}): symbol not found",
        "ImportError: /usr/lib/libcudnn.so.8: undefined symbol: cublasLtGetStatusString, version "
        "libcublasLt.so.11",
    ),
    sig(  # the file exists, but has the contents of another release
        "undefined-symbol",
        "with link time reference",
        r"symbol (?P<symbol>\w{1,200})(?:\.{3})?,? version [\w.+-]{1,80} not defined in file"
        r" (?P<library>[\w./+-]{1,200}) with link time reference",
        "/usr/local/cuda/lib64/libcublas.so: symbol free_gemm_select version libcublasLt.so.11 not defined"
        " in file"
        " libcublasLt.so.11 with link time reference",
        origin="glibc, elf/dl-lookup.c",
    ),
    sig(
        "addon-mismatch",
        "dali plugin",
        r"No matching DALI plugin found for installed TensorFlow version",
        "Exception: No matching DALI plugin found for installed TensorFlow version",
        origin="NVIDIA DALI, dali/python/nvidia/dali/plugin/tf.py",
    ),
    sig(  # plugins for devices from other makers: a library for another TensorFlow release does not load
        "addon-mismatch",
        "tensorflow-plugins",
        r"NotFoundError: [^\n]{0,300}[/\\]tensorflow-plugins[/\\](?P<library>[\w.-]{1,80}\.(?:dll|so|dylib))"
        r"(?: not found|: undefined symbol)",
        "tensorflow.python.framework.errors_impl.NotFoundError:"
        " C:\\Python310\\lib\\site-packages\\tensorflow-plugins"
        "\\tfdml_plugin.dll not found",
        plugin,
        seen_in=">=2.5",
        origin="tensorflow/python/framework/load_library.py (load_pluggable_device_library)",
    ),
    sig(
        "addon-mismatch",
        "horovodversionmismatcherror|horovod has been built with|"
        "framework tensorflow installed with version|extension horovod.",
        r"HorovodVersionMismatchError|Extension horovod\.\w{2,20} has not been built"
        r"|Framework (?P<addon>tensorflow) installed with version \S{1,20} but found version"
        r"|(?i:horovod) has been built with",
        "horovod.common.exceptions.HorovodVersionMismatchError: Framework tensorflow installed with version "
        "2.1.0 but found version 2.3.0.",
        lambda match, source: Symptom(source, "addon-mismatch", (("addon", "horovod"),)),
        origin="horovod/common/exceptions.py, horovod/common/util.py",
    ),
    sig(
        "cuda-libraries-error",
        "error loading cuda libraries",
        r"Error loading CUDA libraries",
        "InternalError: cudaGetDevice() failed. Status: Error loading CUDA libraries. GPU will not be used.",
    ),
)
