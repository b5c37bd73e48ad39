"""TensorFlow's installation: pip, conda and uv, imports that fail, dependencies, APIs of another release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Package, Platform, Requirement, Source, Symptom, TensorFlowBuild
from doctor.logs.signatures.signature import Signature, sig

TF = r"tensorflow(?:[-_](?:gpu|cpu|macos|intel|directml|rocm|aarch64|cpu-aws))?|tf[-_]nightly(?:[-_]gpu|[-_]cpu)?"

REMOVED_IN_2 = frozenset(
    [
        "Session",
        "ConfigProto",
        "GPUOptions",
        "InteractiveSession",
        "placeholder",
        "get_default_graph",
        "reset_default_graph",
        "global_variables_initializer",
        "get_variable",
        "variable_scope",
        "app",
        "flags",
        "contrib",
        "layers",
        "set_random_seed",
        "enable_eager_execution",
        "logging",
        "log",
        "to_float",
        "to_int32",
        "to_int64",
        "random_normal",
        "random_uniform",
        "truncated_normal",
        "initialize_all_variables",
        "placeholder_with_default",
        "get_collection",
        "GraphDef",
        "AUTO_REUSE",
        "get_default_session",
        "Summary",
        "summary_op",
        "matrix_inverse",
        "sparse_placeholder",
        "ConfigProto",
        "GraphKeys",
        "assign",
        "python_io",
        "gfile",
        "mul",
        "sub",
        "pack",
        "neg",
        "is_gpu_available",
        "Print",
        "global_variables",
        "local_variables_initializer",
        "trainable_variables",
        "space_to_depth",
        "string_split",
        "sparse_tensor_to_dense",
        "div",
        "nn.dynamic_rnn",
        "get_session",
        "set_session",
        "ragged.placeholder",
        "batch_matmul",
        "count_nonzero",
        "variables_initializer",
        "OptimizerOptions",
        "train_op",
        "multinomial",
        "log1p",
        "ceil",
        "name_scope_v1",
        "layers_dense",
    ]
)
"""Names of tf.* in TensorFlow 1 that TensorFlow 2 does not have (TensorFlow 2.0, tf_upgrade_v2's rename tables)."""


IN_EVERY_RELEASE = frozenset(
    [
        "constant",
        "Variable",
        "float32",
        "int32",
        "Tensor",
        "Graph",
        "reduce_sum",
        "reduce_mean",
        "matmul",
        "zeros",
        "ones",
        "add",
        "reshape",
        "convert_to_tensor",
        "shape",
        "cast",
        "nn",
    ]
)
"""Names of tf.* that every release from 0.12 on has: where one is missing, the package is hollow."""


def api(match: re.Match[str], source: Source) -> Fact | None:
    """A name that this major version of TensorFlow does not have."""
    name = match["name"]
    module = match["module"]
    if "partially initialized module" in source.text:
        return None  # a file of that name imports itself: the signature of circular imports says so
    if name in ("__version__", "VERSION", "python", "_api") or (module == "tensorflow" and name in IN_EVERY_RELEASE):
        return Symptom(source, "hollow-module", (("module", module), ("name", name)))
    if module.startswith(("tensorflow.compat.v2", "tensorflow._api.v2.compat.v2.__internal__", "keras.api")):
        return Symptom(source, "keras-mismatch", (("module", module), ("name", name)))
    return Symptom(source, "missing-attribute", (("module", module), ("name", name)))


def no_wheel(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """An installer that finds no TensorFlow to install."""
    group = match.groupdict()
    requirement = (group.get("requirement") or "").strip()
    parts = re.match(r"([A-Za-z][\w-]*)(?:\[[\w,-]*\])?\s*(.*)", requirement)
    name, specifier = (parts[1].lower().replace("_", "-"), parts[2].strip()) if parts else ("tensorflow", "")
    yield Symptom(
        source,
        "no-matching-distribution",
        (("name", name), ("specifier", specifier), ("versions", group.get("versions") or "")),
    )
    yield Requirement(source, name, specifier)


def pip_list_line(match: re.Match[str], source: Source) -> Fact:
    """A row of pip list, pip freeze or conda list."""
    build = match.groupdict().get("build") or ""
    manager = "conda" if build or match.groupdict().get("channel") else "pip"
    return Package(source, match["name"].lower().replace("_", "-"), match["version"], manager)


def conda_build(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """A conda TensorFlow, whose build string says CPU or GPU."""
    yield Package(source, match["name"].lower(), match["version"], "conda")
    build = match["build"].lower()
    if build.startswith(("mkl", "eigen", "cpu")):
        yield Symptom(source, "conda-cpu-build", (("build", match["build"]), ("version", match["version"])))
        yield TensorFlowBuild(source, False)
    elif build.startswith(("gpu", "cuda")):
        yield TensorFlowBuild(source, True)


def with_cuda(match: re.Match[str], source: Source) -> Fact:
    """What the build says of itself."""
    return TensorFlowBuild(source, match["answer"].lower() in ("true", "yes"))


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "tensorflow-not-installed",
        ("no module named 'tensorflow'", "no module named tensorflow", 'no module named "tensorflow"'),
        r"No module named ['\"]?tensorflow['\"]?(?![.\w])",
        "ModuleNotFoundError: No module named 'tensorflow'",
    ),
    sig(
        "package-not-found",
        ("package(s) not found: tensorflow",),
        r"Package\(s\) not found: (?P<name>tensorflow[\w-]*)",
        "WARNING: Package(s) not found: tensorflow",
    ),
    sig(
        "missing-module",
        (
            "no module named 'tensorflow.",
            "no module named tensorflow.",
            "no module named 'keras",
            "no module named 'tensorflow_core",
            "no module named 'tf_keras",
        ),
        r"No module named ['\"]?(?P<module>(?:tensorflow|keras|tensorflow_core|tf_keras)(?:[._]\w+)+)",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'",
    ),
    sig(
        "missing-attribute",
        ("has no attribute",),
        r"module ['\"](?P<module>(?:tensorflow|keras|tf)[\w.]*)['\"] has no attribute ['\"](?P<name>\w+)['\"]",
        "AttributeError: module 'tensorflow' has no attribute 'Session'",
        api,
    ),
    sig(
        "missing-name",
        ("cannot import name",),
        r"cannot import name ['\"]?(?P<name>\w+)['\"]? from ['\"]?(?P<module>(?:tensorflow|keras|tf_keras)[\w.]*)",
        "ImportError: cannot import name 'multi_gpu_model' from 'tensorflow.keras.utils'",
    ),
    sig(
        "eager-incompatible",
        (
            "is not compatible with eager execution",
            "the session graph is empty",
            "is not supported when eager execution is enabled",
        ),
        r"(?P<call>tf\.\w+\(\))? ?is not compatible with eager execution|The Session graph is empty|is not supported when eager execution is enabled",
        "RuntimeError: tf.placeholder() is not compatible with eager execution.",
    ),
    sig(
        "no-matching-distribution",
        ("could not find a version that satisfies the requirement", "no matching distribution found for"),
        rf"(?:Could not find a version that satisfies the requirement|No matching distribution found for) (?P<requirement>(?:{TF})\b[^\s(]*(?: ?[<>=!~][^(\n]{{0,40}})?)"
        r"[^\n]{0,60}?(?:\(from versions: ?(?P<versions>[^)\n]{0,600}))?(?:\)|\n|$)",
        "ERROR: Could not find a version that satisfies the requirement tensorflow==1.15 (from versions: 2.8.0, 2.8.1)",
        no_wheel,
    ),
    sig(
        "no-matching-distribution",
        (
            "can't be installed because",
            "only has wheels",
            "no solution found",
            "has no wheels with a matching",
            "installation candidates for tensorflow",
            "installation candidates",
            "packagesnotfounderror",
            "unsatisfiableerror",
            "the following packages are not available",
            "does not exist (perhaps a typo",
        ),
        rf"(?:Distribution )?`?(?P<requirement>(?:{TF})(?:==[\w.]+)?)[^\n`]{{0,80}}`? can't be installed because|`(?P<r2>{TF})` \(v[\w.]+\) only has wheels"
        rf"|Unable to find installation candidates for (?P<r3>{TF})|(?P<r4>{TF})(?:==[\w.]+)? has no wheels with a matching"
        rf"|PackagesNotFoundError[^\n]*\n(?:[^\n]*\n){{0,4}}?[^\n]{{0,20}}- (?P<r5>{TF})\b|nothing provides requested (?P<r6>{TF})\b|{TF} ?[\w=.]* does not exist \(perhaps",
        "error: Distribution `tensorflow==2.18.0 @ registry+https://index.example/simple` can't be installed because it doesn't have a source "
        "distribution or wheel for the current platform",
        lambda m, s: Symptom(
            s,
            "no-matching-distribution",
            (
                ("name", next((g for k, g in m.groupdict().items() if g), "tensorflow").split("=")[0].lower()),
                ("specifier", (m["requirement"] or "").partition("==")[2]),
                ("versions", ""),
            ),
        ),
        lines=5,
    ),
    sig(
        "wheel-platform",
        "is not a supported wheel on this platform",
        r"(?P<wheel>tensorflow[\w.+-]*\.whl)?[^\n]{0,40}is not a supported wheel on this platform",
        "ERROR: tensorflow-1.12.0-cp36-cp36m-linux_x86_64.whl is not a supported wheel on this platform.",
    ),
    sig(
        "python-refused",
        ("requires a different python", "requires-python", "requires python"),
        r"Package '?(?P<name>tensorflow[\w-]*)'? requires a different Python: (?P<python>[\d.]+\d) not in|tensorflow[^\n]{0,60}Requires-Python (?P<range>[<>=!~\d.,]+)",
        "ERROR: Package 'tensorflow' requires a different Python: 3.8.10 not in '>=3.9'",
    ),
    sig(
        "python-32bit",
        ("32 bit", "32-bit", "win32", "i686", "i386", "armv7l", "armv6l"),
        r"\[MSC v\.\d+ 32 bit|32[- ]bit (?:python|windows|os|system)|python[^\n]{0,20}32[- ]bit|\bi[36]86 GNU/Linux|\(Intel\)\] on win32.{0,10}32 bit"
        r"|-win32\.whl|architecture\W{1,6}(?:i[36]86|armv[67]l)|\barmv[67]l\b",
        "Python 3.6.5 (v3.6.5:f59c0932b4) [MSC v.1900 32 bit (Intel)] on win32",
    ),
    sig(
        "gpu-package-removed",
        (
            'tensorflow-gpu" package has been removed',
            "the tensorflow-gpu package has been removed",
            "tensorflow-gpu has been removed",
            "tensorflow-gpu package has been removed",
            'the \\"tensorflow-gpu\\" package',
            "removed! please install",
        ),
        r"tensorflow-gpu\\?\"? (?:package )?has been removed|package has been removed!",
        'The "tensorflow-gpu" package has been removed!',
    ),
    sig(
        "pip-resolver-conflict",
        ("which is incompatible", "pip's dependency resolver does not currently"),
        r"(?P<package>[\w-]+) (?P<version>[\w.]+) (?:requires|has requirement) (?P<requirement>[^\n]{1,80}?), (?:but you(?:'ll)? have|but you'll have) (?P<have>[\w-]+ [\w.]+) which is incompatible",
        "tensorflow 2.15.0 requires numpy<2.0.0,>=1.23.5, but you have numpy 2.0.1 which is incompatible.",
    ),
    sig(
        "numpy-abi",
        (
            "_array_api not found",
            "compiled using numpy 1.x cannot be run in",
            "numpy.core.umath failed to import",
            "numpy.core._multiarray_umath failed to import",
            "numpy.dtype size changed",
            "module compiled against api version",
            "numpy.core.multiarray failed to import",
            "np.complex_` was removed",
            "was removed in the numpy 2.0",
        ),
        r"_ARRAY_API not found|compiled using NumPy 1\.x cannot be run in|NumPy 1\.x cannot be run in\s*NumPy 2|numpy\.core\.\w+ failed to import|numpy\.dtype size changed|module compiled against API version"
        r"|was removed in the NumPy 2\.0",
        "AttributeError: _ARRAY_API not found",
    ),
    sig(
        "numpy-alias",
        ("module 'numpy' has no attribute",),
        r"module 'numpy' has no attribute '(?P<name>object|bool|int|float|typeDict|complex)'",
        "AttributeError: module 'numpy' has no attribute 'object'.",
    ),
    sig(
        "protobuf-conflict",
        ("descriptors cannot", "getprototype", "google.protobuf", "protobuf gencode", "protoc >= 3.19", "_pb2"),
        r"Descriptors cannot (?:not )?be created directly|has no attribute 'GetPrototype'|cannot import name '?\w+'? from '?google\.protobuf"
        r"|No module named '?google\.protobuf'?|Protobuf Gencode|generated code is out of date and must be regenerated with protoc|module 'google\.protobuf[\w.]*' has no attribute"
        r"|Detected (?:incompatible|mismatched) Protobuf",
        "TypeError: Descriptors cannot not be created directly.",
    ),
    sig(
        "h5py-conflict",
        ("'str' object has no attribute 'decode'", "no module named 'h5py'", "h5py is running against hdf5"),
        r"'str' object has no attribute 'decode'|No module named 'h5py'|h5py is running against HDF5",
        "AttributeError: 'str' object has no attribute 'decode'",
    ),
    sig(
        "keras-mismatch",
        (
            "keras cannot be imported",
            "your currently installed version of keras is keras 3",
            "keras 3, but",
            "requires tf-keras",
            "keras requires tensorflow",
            "tensorflow.python.keras.engine",
            "cannot import name 'dtensor'",
            "cannot import name 'get_config'",
            "keras_tensor",
            "_tape",
            "tf.keras` is disabled",
            "no module named 'keras.src.engine'",
            "tensorflow.python.distribute.load_context",
            "tensorflow.python.trackable",
            "tensorflow.python.training.tracking",
            "layerversionselector",
        ),
        r"Keras cannot be imported|installed version of Keras is Keras 3|Keras requires TensorFlow [\d.]+ or higher|cannot import name '(?:dtensor|get_config)'|No module named 'keras\.src\.engine'"
        r"|cannot import name 'LayerVersionSelector'|No module named 'tensorflow\.python\.(?:trackable|training\.tracking|distribute\.load_context)'",
        "ImportError: Keras cannot be imported. Check that it is installed.",
    ),
    sig(
        "python-package-conflict",
        (
            "module 'typing_extensions'",
            "no module named 'wrapt'",
            "module 'ml_dtypes'",
            "from 'typing_extensions'",
            "no module named 'absl'",
            "module 'gast'",
            "module 'wrapt'",
            "no module named 'six",
            "no module named 'flatbuffers'",
            "no module named 'termcolor'",
            "no module named 'astunparse'",
            "no module named 'opt_einsum'",
            "from 'wrapt'",
            "numpy.core._multiarray_umath",
            "no module named 'numpy",
            "no module named numpy",
            "metaclass conflict",
            "cannot import name 'ops' from 'tensorflow.compiler.tf2tensorrt",
            "no module named 'distutils'",
            "no module named 'imp'",
            "no module named 'pkg_resources'",
            "no module named 'ml_dtypes'",
        ),
        r"module '(?:typing_extensions|ml_dtypes|gast|wrapt)' has no attribute '\w+'|cannot import name '\w+' from '(?:typing_extensions|wrapt)'"
        r"|No module named ['\"]?(?:wrapt|absl|six|flatbuffers|termcolor|astunparse|opt_einsum|numpy(?:\.core\._multiarray_umath)?|distutils|imp|pkg_resources|ml_dtypes)['\"]?(?=\s|$)|metaclass conflict",
        "AttributeError: module 'ml_dtypes' has no attribute 'float8_e4m3b11'",
    ),
    sig(
        "dll-load-failed",
        (
            "dll load failed",
            "dynamic link library",
            "msvcp140",
            "vcruntime140",
            "动态链接库",
            "ダイナミック リンク ライブラリ",
            "das angegebene modul wurde nicht gefunden",
        ),
        r"DLL load failed(?: while importing (?P<module>\w+))?:? ?(?P<reason>[^\n]{0,160})|dynamic link library \(DLL\) initialization routine failed|Could not find the DLL\(s\) '(?P<dll>msvcp140\w*\.dll)"
        r"|动态链接库\(DLL\)初始化例程失败|Das angegebene Modul wurde nicht gefunden",
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found.",
    ),
    sig(
        "msvc-runtime",
        ("msvcp140", "vcruntime140_1", "visual c++ redistributable", "visual c++ 2015"),
        r"(?:could not find|missing|install|requires?)[^\n]{0,60}(?P<dll>msvcp140(?:_1)?\.dll|vcruntime140_1\.dll)|install[^\n]{0,40}Visual C\+\+ (?:Redistributable|2015)",
        "ImportError: Could not find the DLL(s) 'msvcp140.dll or msvcp140_1.dll'.",
    ),
    sig(
        "native-runtime-failed",
        ("failed to load the native tensorflow runtime", "_pywrap_tensorflow_internal", "_pywrap_tensorflow"),
        r"Failed to load the native TensorFlow runtime|import(?:ing)? _pywrap_tensorflow(?:_internal)?\b",
        "Failed to load the native TensorFlow runtime.",
    ),
    sig(
        "glibc-too-old",
        ("glibc_", "glibcxx_", "cxxabi_"),
        r"(?<![\w./+-])(?P<library>(?:[\w.+-]{0,80}/){0,20}lib(?:c|m|stdc\+\+|pthread)[\w.+-]{0,40}\.so[\d.]{0,12}):? version [`'\\\"]{0,3}(?P<needs>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)[\\'\"]{0,2} not found"
        r"(?: \(required by (?P<by>[^)\n]{1,200}))?",
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.17' not found (required by /usr/lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so)",
    ),
    sig(
        "circular-import",
        ("partially initialized module 'tensorflow'",),
        r"partially initialized module 'tensorflow'(?: has no attribute '(?P<name>\w+)')?",
        "AttributeError: partially initialized module 'tensorflow' has no attribute 'constant' (most likely due to a circular import)",
    ),
    sig(
        "shadowing-file",
        ('tensorflow.py", line', "tensorflow.py', line"),
        r"File [\"'](?P<path>[^\"'\n]{0,200}[/\\]tensorflow\.py)[\"'], line \d+, in <module>",
        'File "/home/me/project/tensorflow.py", line 1, in <module>',
    ),
    sig(
        "source-folder-import",
        "you should not try to import tensorflow from",
        r"You should not try to import tensorflow from its source directory",
        "ImportError: Error importing tensorflow.  Unless you are using bazel, you should not try to import tensorflow from its source directory;",
    ),
    sig(
        "wrong-architecture",
        ("incompatible architecture", "mach-o file, but is an incompatible", "have 'x86_64', need 'arm64'"),
        r"incompatible architecture|have '\w+', need '\w+'",
        "ImportError: dlopen(_pywrap_tensorflow_internal.so): mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64e')",
    ),
    sig(
        "illegal-instruction",
        (
            "illegal instruction",
            "illegal hardware instruction",
            "sigill",
            "非法指令",
            "maschinenbefehl",
            "instruction non permise",
            "instrucción ilegal",
            "недопустимая инструкция",
        ),
        r"Illegal (?:hardware )?instruction|SIGILL|非法指令|Ungültiger Maschinenbefehl|Instruction non permise|Instrucción ilegal|Недопустимая инструкция",
        "Illegal instruction (core dumped)",
    ),
    sig(
        "cpu-instructions",
        "but these aren't available on your machine",
        r"TensorFlow library was compiled to use (?P<set>\S+) instructions, but these aren't available",
        "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.",
    ),
    sig(
        "no-avx",
        ("avx",),
        r"(?:no|without|lacks?|lacking|(?:does|do)(?:n't| not) (?:support|have)|not support(?:ing)?)\s+(?:the\s+)?AVX\b|AVX[^\n.]{0,20}(?:is |are )?not supported",
        "My CPU does not support AVX",
    ),
    sig(
        "windows-native",
        "gpu support is not available on native windows",
        r"GPU support is not available on native Windows",
        "WARNING:tensorflow:TensorFlow GPU support is not available on native Windows for TensorFlow >= 2.11.",
        lambda m, s: (Symptom(s, "windows-native"), Platform(s, "windows")),
        seen_in=">=2.19",
    ),
    sig(
        "built-with-cuda",
        ("is_built_with_cuda", "built with cuda"),
        r"is_built_with_cuda\(\)\)?[^\n]{0,20}(?:\n{1,2}[^\n]{0,12})?\b(?P<answer>True|False)\b|built with CUDA(?: support)?:? ?\**\s*(?P<a2>True|False|yes|no)\b",
        ">>> tf.test.is_built_with_cuda()\nFalse",
        lambda m, s: TensorFlowBuild(s, (m["answer"] or m["a2"]).lower() in ("true", "yes")),
        lines=3,
    ),
    sig(
        "built-with-cuda",
        "is_cuda_build",
        r"['\"]is_cuda_build['\"]\s*[:,]\s*(?P<answer>True|False)",
        "OrderedDict([('is_cuda_build', False), ('is_rocm_build', False)])",
        with_cuda,
    ),
    sig(
        "build-info",
        ("'cuda_version'", '"cuda_version"'),
        r"['\"]cuda_version['\"]\s*[:,]\s*['\"](?P<cuda>[\w.]+)['\"](?:[^\n]{0,300}['\"]cudnn_version['\"]\s*[:,]\s*['\"](?P<cudnn>[\w.]+)['\"])?",
        "OrderedDict([('cuda_version', '11.2'), ('cudnn_version', '8')])",
        lambda m, s: TensorFlowBuild(s, True, m["cuda"], m["cudnn"]),
    ),
    sig(
        "conda-tensorflow",
        ("tensorflow",),
        r"^\W{0,4}(?:[\w-]+[/:]{1,2})?(?P<name>tensorflow(?:-base|-gpu|-mkl|-eigen)?)\s+(?P<version>\d+\.\d+(?:\.\d+)?)\s+(?P<build>(?:mkl|eigen|gpu|cpu|cuda)\w*)",
        "tensorflow                2.10.0          mkl_py310hd99672f_0",
        conda_build,
    ),
    sig(
        "conda-tensorflow",
        "_tflow_select",
        r"_tflow_select\s+(?P<version>[\d.]+)\s+(?P<build>mkl|eigen|gpu)",
        "_tflow_select             2.3.0                       mkl",
        lambda m, s: (
            (Symptom(s, "conda-cpu-build", (("build", m["build"]),)), TensorFlowBuild(s, False))
            if m["build"].lower() != "gpu"
            else TensorFlowBuild(s, True)
        ),
    ),
    sig(
        "conda-install",
        "conda install",
        r"conda install (?:-\S+ (?:\w+ )?)*[^\n#]{0,60}?\btensorflow(?P<gpu>-gpu)?(?:\s?==?\s?(?P<version>[\d.]+\d))?(?=[\s`\"']|$)",
        "conda install tensorflow==2.10.0",
    ),
    sig(
        "cpu-package",
        ("tensorflow-cpu", "tensorflow_cpu", "tensorflow-intel", "tensorflow_intel"),
        r"(?P<name>tensorflow[-_](?:cpu|intel))(?:\s*==?\s*|[-_]|\s+)(?P<version>\d+\.\d+(?:\.\d+)?)",
        "tensorflow-cpu            2.11.0",
    ),
    sig(
        "cpu-package-install",
        ("install tensorflow-cpu",),
        r"install (?:-\S+ )*tensorflow-cpu\b",
        "pip install tensorflow-cpu",
    ),
    sig(
        "installed-package",
        ("tensorflow", "keras", "numpy", "protobuf", "nvidia-c", "nvidia_c", "cudnn", "cudatoolkit", "h5py"),
        r"^[\s│|>$#*-]{0,8}(?P<name>tensorflow(?:[-_](?:gpu|cpu|intel|base|macos|metal|directml|directml-plugin|cpu-aws))?|tf[-_]nightly(?:[-_](?:gpu|cpu))?|keras|tf[-_]keras|numpy|protobuf|h5py|cudatoolkit|cudnn|nvidia[-_](?:cudnn|cublas|cuda[-_]runtime)[-_]cu1[123])"
        r"(?:==|\s{1,40}|\s*\|\s*)(?P<version>\d+\.\d+(?:\.[\w.]+)?)(?:\s+(?P<build>[\w]+_\w+|\d|h\w{5,12}_\d)(?:\s+(?P<channel>[\w-]+))?)?\s*[|│]?$",
        "tensorflow-gpu         2.3.1",
        pip_list_line,
    ),
)
