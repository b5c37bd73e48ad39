"""Signatures of hints in people's own words, which are weaker than anything that a program printed.

The hints are in several languages, because reports are. A single hint makes a finding "possible" at most; two
hints that agree make it "likely".
"""

from __future__ import annotations

import re

from doctor import lazy
from doctor.facts import Fact, LibraryNotLoaded, Source, Symptom
from doctor.logs.signatures.signature import Signature, glued, sig, spoken
from doctor.logs.signatures.supposed import supposed

_CUDA_LIBRARY = (
    r"(?<!\w)(?P<name>(?:lib)?(?:cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cudnn|cuda"
    r"|zlibwapi|nvrtc|nvjitlink)(?:64)?\w*"
    r"\.(?:so(?:\.\d+)*|dll|dylib))(?![\w]|\.\w)"
)


def said_missing(match: re.Match[str], source: Source) -> Fact | None:
    """Create the LibraryNotLoaded fact for a library that, according to the reporter, could not be found.
    Return None for libcuda.so and libcudnn.so."""
    name = match["name"]
    if name.lower() in ("libcuda.so", "libcudnn.so"):
        return None
    return LibraryNotLoaded(source, name)


def of_gpus(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom that a list of GPUs is empty. Return None if nothing in the line shows that it is a
    list of GPUs, or if the sentence only supposes it."""
    if supposed(match):
        return None
    text = source.text.lower()
    return (
        Symptom(source, "gpu-list-empty")
        if any(word in text for word in ("gpu", "physical_devices", "[]", "[ ]"))
        else None
    )


_OF_DEVICES = lazy.compile(
    r"gpu|physical_devices|notebook|\blist|->|=>|→|\benv|\bcard|karte|carte|tarjeta", re.IGNORECASE
)
"""Matches a line about devices, or about runs and their outcomes."""


def empty_outcome(match: re.Match[str], source: Source) -> Fact | None:
    """Create the symptom of an empty list of GPUs, if the line is about devices or runs."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    line = match.string[max(start, match.start() - 300) : match.end()]
    return Symptom(source, "gpu-list-empty") if _OF_DEVICES.search(line) else None


_GIVES = (
    r"[`'\")]{0,3} *(?:# *)?(?:(?:->|=>|=|:|(?:,? ?(?:it|just|only|always|still|now)"
    r" ){0,2}(?:returns?|is|gives|shows|prints?|outputs?|yields|says)(?: me| us| out|"
    r" back)?|返回的?是?|输出|为|是|[がは]) *)?[`\"]?"
)
"""Matches the words between a call and its result in a sentence ("it returns")."""


_LACKING = (
    r"(?:n't\b|\b(?:no|not|nicht|non|não|pas|niet|nie|нет|не)\b|missing|locat|localiz|\bfind|fehl|introuvable"
    r"|manqu|bulun|\byok\b|brak|找不到|缺|没|無|ない|見つ|없|찾|không)"
)
"""Matches words that say, in several languages, that a file is not found."""

SIGNATURES: tuple[Signature, ...] = (
    spoken(  # cuDNN 8 on Windows ends the program at once, so people only quote the name
        "library-not-loaded",
        "zlibwapi.dll",
        rf"{_LACKING}[^\n.!?;]{{0,60}}\bzlibwapi\.dll"
        rf"|\bzlibwapi\.dll\b(?![^\n.!?;]{{0,60}}rather not)[^\n.!?;]{{0,60}}{_LACKING}",
        "it says that it cannot find zlibwapi.dll",
        lambda m, s: LibraryNotLoaded(s, "zlibwapi.dll"),
    ),
    spoken(
        "library-said-missing",
        ".dll|.so|.dylib",
        r"(?:not able to|unable to|cannot|can't|could ?n[o']t|did(?:n't| not)|does(?:n't| not)|fails?"
        r" to|failed to|没有|找不到|无法|missing) (?:\w+ )?(?:(?:find|locate|open|load)(?:ed)?|be found)?(?:"
        r" ?the)?(?: ?(?:dynamic|shared))?(?: ?(?:library|file|dll))?\s*['`\"]?"
        rf"{_CUDA_LIBRARY}(?!['\"]?;|\.? Error)",  # TensorFlow's and cuDNN's own lines state the reason
        "TensorFlow is not able to find libcudnn.so.7",
        said_missing,
        near="not |n't |n'o |fail|没有|找不到|无法|missing|cannot|cano|unable to",
    ),
    spoken(
        "library-said-missing",
        ".dll|.so|.dylib",
        _CUDA_LIBRARY
        + r"['`\"]?\s*(?:(?:is|was|are|were|could|can|does|do)(?: ?not|n't)(?! an? (?:symbolic|sym))\s*(?:be"
        r" )?(?:found|exist|loaded|opened|there|present|available)?|: ?(?:not found|No such file)|not"
        r" found|is missing|missing|is wanted|(?:is )?not included|doesn't exist|找不到|不存在)",
        'Ubuntu under WSL2: "libcuda.so.1" does not exist',
        said_missing,
        near="not|n't|no such file|missing|is wanted|找不到|不存在",
    ),
    spoken(
        "library-said-missing",
        glued(("error: ", "error:"), ("libcu", "cu", "libnv", "nv", "libzlibwapi", "zlibwapi")),
        r"(?:importerror|error): ?" + _CUDA_LIBRARY + r"(?!: )",
        "importerror: libcublas.so.9.0 with tensorflow-gpu",
        said_missing,
    ),
    spoken(  # the driver's library, in the words of TensorFlow before 1.1 as people remember them
        "library-said-missing",
        "libcuda.so",
        r"(?:can't|cannot|can not|could ?n[o']t|couldn't|unable to|not able to) open (?:the )?CUDA \w+"
        r" ['`\"]?libcuda\.so\b(?!\S*\. LD_LIB)",
        "it says something like can't open CUDA library libcuda.so",
        lambda m, s: LibraryNotLoaded(s, "libcuda.so.1"),
        near=" open ",
    ),
    sig(
        "mentions-gpu",
        "gpu|显卡|显存|vram|グラボ|graphics card",
        r"\bGPUs?\b|显卡|显存|\bVRAM\b|グラボ|graphics card",
        "My GPU is not used",
        once=True,
    ),
    spoken("mentions-gpu", "cuda", r"\bCUDA\b", "I have CUDA 9 installed", once=True),
    spoken(
        "mentions-cpu-build",
        "cpu only|cpu-only|cpu version|cpu-version|cpu build|cpu-build|cpu版|cpu 版|mkl",
        r"\bCPU[- ](?:only|version|build)|\bCPU ?版|\bmkl\b",
        "we only have the CPU version of TensorFlow 2.8",
        once=True,
    ),
    spoken(
        "gpu-not-used",
        "gpu",
        r"(?<!\w\(['\"])(?<!\(f['\"])GPUs? (?:is|are|was|were)? ?(?:not|n't|never) (?:being"
        r" )?(?:used|found|detected|recogni[sz]ed|visible|available|seen|working|utili[sz]ed)",
        "My GPU is not being used",
        near="not |n't |never ",
    ),
    spoken(
        "gpu-not-used",
        "gpu|cuda",
        r"(?:not|n't|unable to|fails? to) (?:\w+ ){0,2}?(?:use|using|detect|find"
        r"|see|recogni[sz]e|access|utili[sz]e)(?:ing)? (?:\w+ ){0,4}(?:GPU|CUDA)(?! drivers on your machine)",
        "TensorFlow cannot detect my GPU",
        near=("not |n't |unable to |fail to |fails to ", "use|using|detect|find|see|recogni|access|utili"),
    ),
    sig(
        "gpu-not-used",
        (
            *(
                "no gpu",
                "gpus unused",
                "gpu unused",
                "without gpu",
                "without the gpu",
                "[] is returned",
                "不到",
                "不了",
                "无法",
                "gpuが",
                "gpuを",
            ),
            *glued(("gpu", "gpu "), ("인식", "사용")),
            *("n'utilise pas", "no detecta", "no reconoce", "no usa", "nicht ", "keine "),
        ),
        r"(?<!\w\(['\"])(?<!\(f['\"])no GPUs? (?:found|detected|device|available|is found|are found"
        r"|(?:(?:is|are|was|were) (?:being )?)?(?:used|found|detected)\b)|GPUs? unused\b|\[\] is returned"
        r"|(?:gpu|cuda)\w* ?(?:is )?(?:识别|找|检测|用)不(?:到|了)|(?:检测|识别|找|用)不(?:到|了) ?gpu"
        r"|无法(?:使用|识别|检测|调用) ?gpu|GPU(?:が|を)(?:認識|使)|gpu ?(?:인식"
        r"|사용)(?:이|을|를)? ?(?:안|못)|without (?:the )?GPU being|n'utilise pas (?:le |la )?GPU"
        r"|no (?:detecta|reconoce|usa) (?:la |mi )?GPU|(?:nicht|keine) (?:\w+ )?GPU (?:erkannt|gefunden)",
        "no GPU found",
    ),
    spoken(  # the result of a list, as people write it at the end of a sentence or behind an arrow
        "gpu-list-empty",
        "[]|[ ]",
        r"(?:->|=>|→|⇒|:|\bis|\bgives|\bprints|\bgot|\bget|\bonly|\bjust) ?[`'\"]?\[ ?\][`'\"]?[ \t]{0,3}"
        r"(?=$|[.,;!?)。，])",
        "In the notebook: [] .",
        empty_outcome,
    ),
    sig(
        "gpu-list-empty",
        "gpu available|gpu is available|gpu is not available|list_physical_devices|gpu_device_name|"
        "num gpus:|num gpus 0|num gpus0|0 gpus|empty list",
        r"(?:is )?gpu (?:is )?available\?? ?:? ?(?:\[\]|False|No\b)|\bGPU is NOT AVAILABLE\b"
        rf"|list_physical_devices(?:\([^)\n]{{0,40}}\))?{_GIVES}(?:an empty list|empty\b|\["
        r" ?\]|list\(\)|空)(?: is returned)?"
        rf"|len\([^\n]{{0,30}}list_physical_devices\([^)\n]{{0,40}}\)\){_GIVES}0\b"
        rf"|gpu_device_name(?:\(\))?{_GIVES}(?:an empty string|empty\b|''|\"\"|空)"
        r"|Num GPUs:? ?0\b|gives 0 GPUs|(?:an )?empty list",
        "Is GPU available? []",
        of_gpus,
    ),
    spoken(
        "built-without-cuda",
        "is_built_with_cuda|is_build_with_cuda|built with cuda",
        r"is_buil[td]_with_cuda(?:\(\))?\)?[^\n]{0,12}(?:returns?|is|gives|->|=|:|#)[^\n]{0,8}\bfalse\b"
        r"|built with CUDA\?? ?:? ?(?:False|No\b)",
        "tf.test.is_built_with_cuda returns False",
    ),
    sig(
        "install-gpu-version",
        "please install gpu version of tf",
        r"Please install GPU version of TF",
        "Please install GPU version of TF",
    ),
    spoken(
        "both-packages",
        "pip install|pip3 install|conda install",
        r"\b(?:pip3?|conda) install\b(?=[^\n`;&|]*\btensorflow[-_]gpu\b)"
        r"(?=[ A-Za-z0-9_.:=<>!~\[\]\"'+-]*\btensorflow(?![-_\w]|/| \d))[^\n`;&|]{1,200}",
        "pip install tensorflow tensorflow-gpu keras",
    ),
)
