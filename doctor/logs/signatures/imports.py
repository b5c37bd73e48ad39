"""A native library that does not import, and processors that cannot run it."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, glued, sig

_LACKING = ("no", "without", "lack", "lacks", "lacking", "support", "have", "supporting")

SIGNATURES: tuple[Signature, ...] = (
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
        (*glued(_LACKING, (" avx", " the avx")), "not supported"),
        r"(?:no|without|lacks?|lacking|(?:does|do)(?:n't| not) (?:support|have)|not support(?:ing)?)\s+(?:the\s+)?AVX\b|AVX[^\n.]{0,20}(?:is |are )?not supported",
        "My CPU does not support AVX",
    ),
)
