"""A native library that does not import, and processors that cannot run it."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, glued, sig, spoken, words

_LACKING = ("no", "without", "lack", "lacks", "lacking", "support", "have", "supporting")

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "dll-load-failed",
        words(
            "dll load failed|dynamic link library|msvcp140|vcruntime140|动态链接库|ダイナミック リンク ライブラリ|das angegebene modul wurde nicht gefunden"
        ),
        r"DLL load failed(?: while importing (?P<module>\w+))?:? ?(?P<reason>[^\n]{0,160})|dynamic link library \(DLL\) initialization routine failed|Could not find the DLL\(s\) '(?P<dll>msvcp140\w*\.dll)"
        r"|动态链接库\(DLL\)初始化例程失败|Das angegebene Modul wurde nicht gefunden",
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found.",
    ),
    sig(
        "msvc-runtime",
        ("msvcp140", "vcruntime140_1", "visual c++ redistributable", "visual c++ 2015", "vcruntime140.dll"),
        r"(?:could not find|missing|install|requires?|缺少|找不到)[^\n]{0,60}(?P<dll>msvcp140(?:_1)?\.dll|vcruntime140_1\.dll)|install[^\n]{0,40}Visual C\+\+ (?:Redistributable|2015)"
        r"|(?:msvcp140(?:_1)?|vcruntime140(?:_1)?)\.dll[^\n.]{0,20}\b(?:(?:is|was) (?:missing|absent)|(?:could not be|not|wasn't) found|fehlt|manquant|丢失|缺失|を?が?見つか|이? ?없|отсутствует|no (?:se )?encontr\w+|não encontrad\w+|не найден)",
        "ImportError: Could not find the DLL(s) 'msvcp140.dll or msvcp140_1.dll'.",
    ),
    sig(
        "native-runtime-failed",
        ("failed to load the native tensorflow runtime", "pywrap_tensorflow"),
        r"Failed to load the native TensorFlow runtime|import(?:ing)? _pywrap_tensorflow(?:_internal)?\b"
        r"|No module named [`'\"]?(?:tensorflow\.python\.)?_?pywrap_tensorflow(?:_internal)?\b|cannot import name ['\"]?_?pywrap_tensorflow|_pywrap_tensorflow(?:_internal)?\.so: cannot open shared object file",
        "Failed to load the native TensorFlow runtime.",
    ),
    sig(
        "native-runtime-failed",
        ("in swig_import_helper", "pywrap_tensorflow_internal import *"),
        r"pywrap_tensorflow(?:_internal)?\.py\"?,?[^\n]{0,30}\bin swig_import_helper"
        r"|pywrap_tensorflow\.py\", line \d+, in [^\n]{1,20}\n\s*from tensorflow\.python\._?pywrap_tensorflow_internal import \*",
        '  File "C:\\Python36\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow_internal.py", line 24, in swig_import_helper',
        lines=2,
        seen_in="1.0-2.21",
        origin="tensorflow/python/pywrap_tensorflow.py",
    ),
    sig(
        "native-runtime-failed",
        ("_pywrap_tensorflow", "libmetal_plugin.dylib"),
        r"dlopen\([^)\n]{0,300}(?:_pywrap_tensorflow(?:_internal)?\.so|libmetal_plugin\.dylib)\b",
        "ImportError: dlopen(/venv/lib/python3.9/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so, 6): Symbol not found: _objc_alloc_init",
    ),
    sig(
        "glibc-too-old",
        ("glibc_", "glibcxx_", "cxxabi_"),
        r"(?<![\w./+-])(?P<library>(?:[\w.+-]{0,80}/){0,20}lib(?:c|m|stdc\+\+|pthread)[\w.+-]{0,40}\.so[\d.]{0,12}):? version [`'\\\"]{0,3}(?P<needs>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)[\\'\"]{0,2} not found"
        r"(?: \(required by (?P<by>[^)\n]{1,200}))?",
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.17' not found (required by /usr/lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so)",
    ),
    sig(  # in a sentence, without the library that lacks it
        "glibc-too-old",
        ("glibc_", "glibcxx_", "cxxabi_"),
        r"^(?![^\n]{0,300}\.so\b)[^\n]{0,200}?\b(?P<needs>(?:GLIBC|GLIBCXX|CXXABI)_\d[\d.]{0,8}\d)[`'\"”’]{0,3} (?:(?:is|was) )?(?:not found|missing)",
        "it stops with GLIBCXX_3.4.22' not found",
        near="not found|missing",
    ),
    sig(  # glibc keeps little room for such variables, and the libraries before have used it up
        "static-tls",
        "in static tls block",
        r"(?P<library>(?:/[^\s:'\"/]{1,60}){0,12}/?lib[\w.+-]{1,80}\.so[\d.]{0,12}): cannot allocate memory in static TLS block",
        "ImportError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block",
    ),
    sig(  # by glibc's loader: mmap() of a segment was refused
        "library-unmapped",
        "failed to map segment from shared object",
        r"(?P<library>/[^\s:'\"]{0,200}tensorflow[^\s:'\"]{0,120}\.so[\d.]{0,12}): failed to map segment from shared object",
        "ImportError: /srv/lib/python3.8/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so: failed to map segment from shared object",
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
    sig(  # a file has no modules inside; a folder without an __init__.py would have
        "shadowing-file",
        "'tensorflow' is not a package",
        r"'tensorflow' is not a package\b",
        "ModuleNotFoundError: No module named 'tensorflow.keras'; 'tensorflow' is not a package",
    ),
    sig(
        "source-folder-import",
        ("you should not try to import tensorflow from", "do not import tensorflow from its source"),
        r"You should not try to import tensorflow from its source directory|Do not import tensorflow from its source directory",
        "ImportError: Error importing tensorflow.  Unless you are using bazel, you should not try to import tensorflow from its source directory;",
    ),
    sig(
        "wrong-architecture",
        ("incompatible architecture", "mach-o file, but is an incompatible", "have 'x86_64', need 'arm64'", "have '"),
        r"incompatible architecture|have '\w+', need '\w+'",
        "ImportError: dlopen(_pywrap_tensorflow_internal.so): mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64e')",
    ),
    sig(
        "illegal-instruction",
        words(
            "illegal instruction|illegal hardware instruction|sigill|非法指令|maschinenbefehl|instruction non permise|instrucción ilegal|недопустимая инструкция"
        ),
        r"Illegal (?:hardware )?instruction|SIGILL|非法指令|Ungültiger Maschinenbefehl|Instruction non permise|Instrucción ilegal|Недопустимая инструкция",
        "Illegal instruction (core dumped)",
    ),
    sig(  # how Windows numbers it: STATUS_ILLEGAL_INSTRUCTION, in hexadecimal or as the decimal that Python prints
        "illegal-instruction",
        ("-1073741795", "0xc000001d", "3221225501"),
        r"(?<!\d)-1073741795\b|\b0xC000001D\b|(?<![-\d])3221225501\b",
        "ImportError: DLL load failed with error code -1073741795",
    ),
    sig(
        "cpu-instructions",
        ("instructions, but these aren't available",),
        r"TensorFlow library was compiled to use (?P<set>\S+) instructions, but these aren't available",
        "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.",
    ),
    spoken(
        "no-avx",
        (*glued(_LACKING, (" avx", " the avx")), "not supported"),
        r"(?:no|without|lacks?|lacking|(?:does|do)(?:n't| not) (?:support|have)|not support(?:ing)?)\s+(?:the\s+)?AVX\b|AVX[^\n.]{0,20}(?:is |are )?not supported",
        "My CPU does not support AVX",
    ),
    spoken(
        "no-avx",
        ("avx",),
        r"\bAVX\b\W{0,4}(?:hardware |CPU )?(?:support|instruction set)?[^\n.]{0,12}\b(?:is|are) (?:needed|necessary|required|missing|not available|unavailable)",
        "someone says that AVX support is needed",
        near="needed|necessary|required|missing|available",
    ),
    sig(
        "no-avx",
        words(
            "支持avx|支持 avx|没有avx|没有 avx|avx 미지원|avx를 지원|avx を|avxを|sin avx|soporta avx|suporta avx|kein avx|поддерживает avx|avx 를 지원|avx미지원|не поддерживает avx"
        ),
        r"(?:不支持|没有) ?AVX|AVX ?(?:を ?サポートして(?:い)?ない|를 지원하지|미지원)|\bkein AVX|\b(?:sin|no soporta|não suporta|не поддерживает) AVX",
        "这个CPU不支持AVX",
    ),
    sig(  # Node's loader, of the addon itself or of a library that it needs
        "node-addon-failed",
        "tfjs_binding.node",
        r"(?:specified module could not be found|cannot open shared object file|ERR_DLOPEN_FAILED)[^\n]*(?:\n[^\n]{0,200}?)?(?P<path>[^\n\"'`]{0,160}tfjs_binding\.node)|native addon module \(tfjs_binding\.node\) can ?not be found|Cannot find module [^\n]{0,160}tfjs_binding\.node",
        "Error: The specified module could not be found.\n\\\\?\\C:\\app\\node_modules\\@tensorflow\\tfjs-node\\lib\\napi-v8\\tfjs_binding.node",
        lines=2,
    ),
)
