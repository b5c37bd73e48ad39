"""Signatures of messages about native libraries that Python cannot import, and about processors that cannot
run them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, LibraryNotLoaded, Platform, Source, Symptom
from doctor.logs.signatures.signature import Signature, glued, sig, spoken

DLLS = {"nvcuda": "nvcuda.dll", "cudart": "cudart64", "cudnn": "cudnn64", "msvcp": "msvcp140.dll"}
"""The DLLs that TensorFlow looks for on Windows before it loads its own library. The version numbers of
CUDA's DLLs depend on the build."""


def preloaded(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the facts for a DLL that TensorFlow looks for before it loads its native library, and did not
    find: the Platform (Windows), and a LibraryNotLoaded fact or the Symptom msvc-runtime."""
    yield Platform(source, "windows")
    what = match["what"]
    if what == "msvcp":
        yield Symptom(source, "msvc-runtime")
    else:
        yield LibraryNotLoaded(source, DLLS[what], "The specified module could not be found")


_LACKING = ("no", "without", "lack", "lacks", "lacking", "support", "have", "supporting")

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "dll-load-failed",
        "dll load failed|dynamic link library|msvcp140|vcruntime140|动态链接库|"
        "ダイナミック リンク ライブラリ|das angegebene modul wurde nicht gefunden|"
        "unable to load dll 'tensorflow",
        r"DLL load failed(?: while importing (?P<module>\w+))?:? ?(?P<reason>[^\n]{0,160})"
        r"|dynamic link library \(DLL\) initialization routine failed|Unable to load DLL 'tensorflow\w*"
        r"(?:\.dll)?'|Could not find the DLL\(s\) '(?P<dll>msvcp140\w*\.dll)"
        r"|动态链接库\(DLL\)初始化例程失败|Das angegebene Modul wurde nicht gefunden",
        "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could"
        " not be found.",
    ),
    sig(
        "msvc-runtime",
        "msvcp140|vcruntime140_1|visual c++ redistributable|visual c++ 2015|vcruntime140.dll",
        r"(?:could not find|missing|install|requires?|缺少|找不到)[^\n]{0,60}"
        r"(?P<dll>msvcp140(?:_1)?\.dll|vcruntime140_1\.dll)"
        r"|install[^\n]{0,40}Visual"
        r" C\+\+ (?:Redistributable|2015)"
        r"|(?:msvcp140(?:_1)?|vcruntime140(?:_1)?)\.dll[^\n.]{0,20}\b(?:(?:is|was)"
        r" (?:missing|absent)|(?:could not be|not|wasn't) found|fehlt|manquant|丢失|缺失|を?が?見つか|이?"
        r" ?없|отсутствует|no (?:se )?encontr\w+|não encontrad\w+|не найден)",
        "ImportError: Could not find the DLL(s) 'msvcp140.dll or msvcp140_1.dll'.",
    ),
    sig(
        "native-runtime-failed",
        "failed to load the native tensorflow runtime|pywrap_tensorflow",
        r"Failed to load the native TensorFlow runtime|import(?:ing)? _pywrap_tensorflow(?:_internal)?\b"
        r"|No module named [`'\"]?(?:tensorflow\.python\.)?_?pywrap_tensorflow(?:_internal)?\b"
        r"|cannot import name ['\"]?_?pywrap_tensorflow"
        r"|_pywrap_tensorflow(?:_internal)?\.so: cannot open shared object file",
        "Failed to load the native TensorFlow runtime.",
    ),
    sig(
        "native-runtime-failed",
        "in swig_import_helper|pywrap_tensorflow_internal import *",
        r"pywrap_tensorflow(?:_internal)?\.py\"?,?[^\n]{0,30}\bin swig_import_helper"
        r"|pywrap_tensorflow\.py\", line \d+, in [^\n]{1,20}\n\s*from"
        r" tensorflow\.python\._?pywrap_tensorflow_internal import \*",
        '  File "C:\\Python36\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow_internal.py", line'
        " 24, in swig_import_helper",
        lines=2,
        seen_in="1.0-2.21",
        origin="tensorflow/python/pywrap_tensorflow.py",
    ),
    sig(
        "native-runtime-failed",
        "_pywrap_tensorflow|libmetal_plugin.dylib",
        r"dlopen\([^)\n]{0,300}(?:_pywrap_tensorflow(?:_internal)?\.so|libmetal_plugin\.dylib)\b",
        "ImportError:"
        " dlopen(/venv/lib/python3.9/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so, 6):"
        " Symbol not found: _objc_alloc_init",
    ),
    sig(
        "glibc-too-old",
        "glibc_|glibcxx_|cxxabi_",
        r"(?<![\w./+-])(?P<library>(?:[\w.+-]{0,80}/){0,20}lib(?:c"
        r"|m|stdc\+\+|pthread)[\w.+-]{0,40}\.so[\d.]{0,12}):? version [`'\\\"]{0,3}(?P<needs>(?:GLIBC"
        r"|GLIBCXX|CXXABI)_[\d.]+)[\\'\"]{0,2} not found(?: \(required by (?P<by>[^)\n]{1,200}))?",
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.17' not found (required by"
        " /usr/lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so)",
    ),
    sig(  # in a sentence that does not mention which library lacks the symbol
        "glibc-too-old",
        "glibc_|glibcxx_|cxxabi_",
        r"^(?![^\n]{0,300}\.so\b)[^\n]{0,200}?\b(?P<needs>(?:GLIBC"
        r"|GLIBCXX|CXXABI)_\d[\d.]{0,8}\d)[`'\"”’]{0,3} (?:(?:is|was) )?(?:not found|missing)",
        "it stops with GLIBCXX_3.4.22' not found",
        near="not found|missing",
    ),
    sig(  # glibc reserves little space for such variables, and libraries loaded earlier have used it up
        "static-tls",
        "in static tls block",
        r"(?P<library>(?:/[^\s:'\"/]{1,60}){0,12}/?lib[\w.+-]{1,80}\.so[\d.]{0,12}): cannot allocate memory"
        r" in static TLS block",
        "ImportError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block",
    ),
    sig(  # from glibc's loader: mmap() of a segment failed
        "library-unmapped",
        "failed to map segment from shared object",
        r"(?P<library>/[^\s:'\"]{0,200}tensorflow[^\s:'\"]{0,120}\.so[\d.]{0,12}): failed to map segment from"
        r" shared object",
        "ImportError: /srv/lib/python3.8/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " failed to map segment from shared object",
    ),
    sig(
        "circular-import",
        "partially initialized module 'tensorflow'",
        r"partially initialized module 'tensorflow'(?: has no attribute '(?P<name>\w+)')?",
        "AttributeError: partially initialized module 'tensorflow' has no attribute 'constant' (most likely"
        " due to a circular import)",
    ),
    sig(  # preload_check loads each DLL before the native library: the frame shows which DLL is missing
        "library-not-loaded",
        "ctypes.windll(build_info.",
        r"ctypes\.WinDLL\(build_info\.(?P<what>nvcuda|cudart|cudnn|msvcp)_dll_name\)[\s\S]{0,900}?"
        r"(?:OSError|FileNotFoundError): (?:\[WinError 126\]|Could not find module)",
        "---> 62           ctypes.WinDLL(build_info.nvcuda_dll_name)\nOSError: [WinError 126] The specified"
        " module could"
        " not be found",
        preloaded,
        lines=12,
        seen_in=">=1.4",
        origin="tensorflow/python/platform/self_check.py",
    ),
    sig(
        "shadowing-file",
        "tensorflow.py\", line|tensorflow.py', line",
        r"File [\"'](?P<path>(?:[^\"'\n]{0,200}[/\\])?tensorflow\.py)[\"'], line \d+, in <module>",
        'File "/home/me/project/tensorflow.py", line 1, in <module>',
    ),
    sig(  # the file in a listing, or printed
        "shadowing-file",
        "tensorflow.py",
        r"\b(?:cat|vim?|nano|python3?) (?:\./)?tensorflow\.py\b"
        r"|\.(?:py|ipynb|txt|csv|md) {1,8}tensorflow\.py\b"
        r"|(?<![\w/\\.-])tensorflow\.py {1,8}\w{1,40}\.(?:py|ipynb|txt|csv|md)\b",
        "data  mnist.ipynb  tensorflow.py  train.py",
        unlogged=True,
    ),
    spoken(  # a file that somebody wrote or named so
        "shadowing-file",
        "tensorflow.py",
        r"(?<![\w/\\.-])[`'\"*]{0,3}tensorflow\.py(?![\w.])",
        "my script is called tensorflow.py",
    ),
    sig(  # a file cannot contain modules; a folder without an __init__.py could
        "shadowing-file",
        "'tensorflow' is not a package",
        r"'tensorflow' is not a package\b",
        "ModuleNotFoundError: No module named 'tensorflow.keras'; 'tensorflow' is not a package",
    ),
    sig(
        "source-folder-import",
        "you should not try to import tensorflow from|do not import tensorflow from its source",
        r"You should not try to import tensorflow from its source directory"
        r"|Do not import tensorflow from its source directory",
        "ImportError: Error importing tensorflow.  Unless you are using bazel, you should not try to import"
        " tensorflow from its source directory;",
    ),
    sig(
        "wrong-architecture",
        "incompatible architecture|mach-o file, but is an incompatible|have 'x86_64', need 'arm64'|have '|"
        "badimageformatexception",
        r"incompatible architecture|have '\w+', need '\w+'|BadImageFormatException[^\n]{0,160}tensorflow",
        "ImportError: dlopen(_pywrap_tensorflow_internal.so): mach-o file, but is an incompatible"
        " architecture (have 'x86_64', need 'arm64e')",
    ),
    sig(
        "illegal-instruction",
        "illegal instruction|illegal hardware instruction|sigill|非法指令|maschinenbefehl|"
        "instruction non permise|instrucción ilegal|недопустимая инструкция",
        r"(?<!\ban )Illegal (?:hardware )?instruction|SIGILL|非法指令|Ungültiger Maschinenbefehl"
        r"|Instruction non permise|Instrucción ilegal|Недопустимая инструкция",
        "Illegal instruction (core dumped)",
    ),
    # the number on Windows: STATUS_ILLEGAL_INSTRUCTION, hexadecimal or as the decimal number that Python
    # prints
    sig(
        "illegal-instruction",
        "-1073741795|0xc000001d|3221225501",
        r"(?<!\d)-1073741795\b|\b0xC000001D\b|(?<![-\d])3221225501\b",
        "ImportError: DLL load failed with error code -1073741795",
    ),
    sig(
        "cpu-instructions",
        "instructions, but these aren't available",
        r"TensorFlow library was compiled to use (?P<set>\S+) instructions, but these aren't available",
        "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your"
        " machine.",
    ),
    sig(  # from programs that look for AVX before they start
        "cpu-without-avx",
        "detected",
        r"\bAVX (?:support |instructions )?(?:was |is )?not detected|\bno AVX (?:support )?detected",
        "ERROR: AVX not detected",
        near="avx",
    ),
    spoken(
        "no-avx",
        (*glued(_LACKING, (" avx", " the avx")), "not supported"),
        r"(?:no|without|lacks?|lacking|(?:does|do|did)(?:n't| not) (?:support|have)|not"
        r" support(?:ing)?)\s+(?:the\s+)?AVX2?\b|AVX[^\n.]{0,20}(?:is |are )?not supported",
        "My CPU does not support AVX",
    ),
    spoken(
        "no-avx",
        "avx",
        r"\bAVX\b\W{0,4}(?:hardware |CPU )?(?:support|instruction set)?[^\n.]{0,12}\b(?:is|are)"
        r" (?:needed|necessary|required|missing|not available|unavailable)",
        "someone says that AVX support is needed",
        near="needed|necessary|required|missing|available",
    ),
    sig(
        "no-avx",
        "支持avx|支持 avx|没有avx|没有 avx|avx 미지원|avx를 지원|avx を|avxを|sin avx|soporta avx|"
        "suporta avx|kein avx|поддерживает avx|avx 를 지원|avx미지원|не поддерживает avx",
        r"(?:不支持|没有) ?AVX|AVX ?(?:を ?サポートして(?:い)?ない|를 지원하지|미지원)"
        r"|\bkein AVX|\b(?:sin|no soporta|não suporta|не поддерживает) AVX",
        "这个CPU不支持AVX",
    ),
    sig(  # by name: Intel and AMD processors from before AVX, and small processors that never got AVX
        "processor-without-avx",
        "core 2|core(tm)2|core(tm) 2|core2|pentium|celeron|atom|phenom|athlon|turion|sempron|opteron|xeon|"
        "core i|core(tm) i|i3|i5|i7",
        r"\bCore(?:\(TM\))? ?2 (?:Duo|Quad|Extreme)\b|\bPentium(?:\(R\))? (?:4|D|M|III|Dual|T\d{4}"
        r"|E\d{4}|Silver N\d{4}|N\d{4}|(?:Gold )?(?:CPU )?G(?:[2-6]\d{3}|\d{3})T?\b)"
        r"|\bCeleron(?:\(R\))? (?:CPU )?(?:[NJ]\d{4}|\d{3,4}[MUE]?\b|G(?:[1-5]\d{3}|\d{3})T?\b|Dual)"
        r"|\bAtom(?:\(TM\))? (?:CPU )?[NDZ]\d{3,4}|\bPhenom\b|\bAthlon (?:II|64|X2)\b"
        r"|\bTurion\b|\bSempron\b|\bXeon(?:\(R\))? (?:CPU )?[EXLW]?[35]\d{3}\b(?! ?v\d)"
        r"|\b(?:Core(?:\(TM\))? )?i[357](?: CPU)?[ -]+\d{3}(?:[MQ]{1,2})?\b(?!\.|\d| ?(?:GB|MB))",
        "Windows 10 64-bit, the processor is an Intel Core 2 Quad Q8400 2.66GHz",
        origin="Intel ARK: Intel added AVX with Sandy Bridge (2011), to Pentium and Celeron with Tiger Lake;"
        " AMD added it with Bulldozer",
    ),
    sig(  # by name: processors that all have AVX, outside a virtual machine that hides it
        "processor-with-avx",
        "i3|i5|i7|i9|ryzen|threadripper|epyc|xeon",
        r"\b(?:Core(?:\(TM\))? )?i[3579](?: CPU)?[ -]+(?:[2-9]|1[0-4])\d{3}[A-Z]{0,2}\d?\b(?! ?(?:GB|MB))"
        r"|\bRyzen\b|\bThreadripper\b|\bEPYC\b|\bXeon(?:\(R\))? (?:CPU )?(?:Gold|Silver|E[357]-\d{4} ?v\d)",
        "Windows 10 64-bit, the processor is an Intel Core i5-8400",
        origin="Intel ARK: Core processors have AVX since Sandy Bridge (2011); AMD's since Bulldozer",
    ),
    sig(  # from Node's loader, about the addon itself or a library that it needs
        "node-addon-failed",
        "tfjs_binding.node",
        r"(?:specified module could not be found|cannot open shared object file"
        r"|ERR_DLOPEN_FAILED)[^\n]*(?:\n[^\n]{0,200}?)?(?P<path>[^\n\"'`]{0,160}tfjs_binding\.node)"
        r"|native addon module \(tfjs_binding\.node\) can ?not be found"
        r"|Cannot find module [^\n]{0,160}tfjs_binding\.node",
        "Error: The specified module could not be"
        " found.\n\\\\?\\C:\\app\\node_modules\\@tensorflow\\tfjs-node\\lib\\napi-v8\\tfjs_binding.node",
        lines=2,
    ),
)
