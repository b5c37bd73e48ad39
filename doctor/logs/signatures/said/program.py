"""The installation and the program: what was installed wrongly, what fills the memory, where an op was
placed."""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.logs.signatures.helped import HELPED, HELPED_NEAR
from doctor.logs.signatures.signature import Signature, glued, spoken

_TF = r"\b(?:tensorflow|tf)\b"
_CURED = (
    r"\b(?:fixed|fixes|solved|solves|resolved|resolves|helped|helps|(?:did|does) (?:it|the"
    r" (?:trick|job))|worked|works (?:for (?:me|us)|now|again|too|fine now))\b"
)
"""Narrower than HELPED: "growth works" does not say which failure it resolved."""
_PINNED = r"(?:numpy|protobuf|h5py|typing[_-]extensions|ml[_-]dtypes)"
_GONE_IN_2 = (
    "Session|placeholder|contrib|ConfigProto|GPUOptions|InteractiveSession|get_default_graph|"
    "global_variables_initializer|layers|app|flags|variable_scope"
    "|get_variable|reset_default_graph|train|logging|set_random_seed|log"
)

_NOW = (
    r"\b(?:fixed|fixes|solved|solves|resolved|resolves|helped|(?:did|does) (?:it|the trick)|works (?:now|for"
    r" me|again)|now (?:it )?works|worked for me)\b"
)
"""Narrower still: something that worked only for a time did not solve the problem."""
_PACKAGE = (
    r"(?:(?:tensorflow|tf)[-_ ]gpu\b[`'\"]{0,2}(?!\W{0,3}(?:v|version )?\d|[^\n]{0,30}conda)|\bgpu"
    r" (?:version|build|variant)s?\b(?: of (?:the )?(?:tensorflow|tf)\b)?)"
)
"""The package for the GPU, without a version and without conda's libraries, so that only the package can have
helped."""

SIGNATURES: tuple[Signature, ...] = (
    spoken(  # the package for the GPU was put in, and that was it
        "cpu-build-said",
        (
            "tensorflow-gpu",
            "tensorflow_gpu",
            "tensorflow gpu",
            "tf-gpu",
            "tf_gpu",
            "tf gpu",
            "gpu version",
            "gpu build",
            "gpu variant",
        ),
        r"(?<!un)(?<!re)(?<!re-)\binstall(?:ed|ing)?\b (?:\w+"
        rf" ){{0,3}}?[`'\"]{{0,2}}{_PACKAGE}[^\n]{{0,50}}?{_NOW}"
        rf"|{_PACKAGE}[^\n.,;]{{0,24}}(?<!un)(?<!re)(?<!re-)\binstalled\b[^\n]{{0,30}}?{_NOW}"
        rf"|{_NOW}[^\n]{{0,24}}\b(?:after|by|when|once|with|as soon"
        r" as)\b[^\n.;]{0,16}(?<!un)(?<!re)(?<!re-)\binstall(?:ed|ing)?\b (?:\w+"
        rf" ){{0,3}}?[`'\"]{{0,2}}{_PACKAGE}",
        "I installed the GPU version of tensorflow and it works now",
        lambda m, s: Symptom(s, "cpu-build-said", (("stated", "yes"),)),
        near=("install", HELPED_NEAR),
    ),
    spoken(
        "cpu-build-said",
        ("tensorflow-gpu", "tensorflow_gpu", "tensorflow gpu"),
        r"\b(?:I|we|you|he|had|have|has|was|mistakenly|accidentally|wrongly) (?:\w+ ){0,3}?install\w*(?:"
        r" just| only| plain)? [`'\"]{0,3}tensorflow[`'\"]{0,3}(?: package)?,? (?:instead of|and not|rather"
        r" than|not) (?:the )?[`'\"]{0,3}tensorflow[-_ ]gpu",
        "I had installed tensorflow instead of tensorflow-gpu",
        near="install",
    ),
    spoken(
        "both-packages",
        "gpu",
        r"\bboth\b(?: the| a)? (?:cpu|normal)[^\n.]{0,24}\band\b(?: the| a)? gpu\b[-\w"
        r" ]{0,12}?\b(?:versions?|packages?|builds?|tensorflow)\b[^\n]{0,24}?install"
        r"|\bboth\b(?: the| a)? gpu[^\n.]{0,24}\band\b(?: the| a)? (?:cpu|normal)\b[-\w"
        r" ]{0,12}?\b(?:versions?|packages?|builds?|tensorflow)\b[^\n]{0,24}?install"
        r"|\binstall\w*[^\n.]{0,16} both\b(?: the| a)? (?:cpu|normal)[^\n.]{0,24}\band\b(?: the| a)?"
        r" gpu\b[-\w ]{0,12}?\b(?:versions?|packages?|builds?|tensorflow)\b"
        r"|\b(?:uninstall|remov)\w*\b[^\n.]{0,30}\b(?:whatever|everything|anything"
        r"|all)\b[^\n.]{0,24}\btensorflow\b[^\n.]{0,50}\b(?:only|just|again"
        r"|re-?install\w*)\b[^\n.]{0,24}tensorflow[-_"
        r" ]gpu",
        "I had both the CPU and the GPU version installed",
        near="both|uninstall|remov",
    ),
    spoken(
        "python-version-blamed",
        "python",
        r"\bpython ?v?3\.\d+\b (?:is|was|are)(?: not|n't) (?:yet |currently"
        rf" )?(?:supported|compatible)[^\n.]{{0,16}} (?:by|in|for|with) {_TF}|{_TF}[-\w. ]{{0,16}} (?:does"
        r" not|doesn't|did not|didn't) (?:yet |currently )?(?:support|work (?:with|on)) python ?v?3"
        rf"|{_TF}[-\w. ]{{0,16}} (?:only (?:supports?|works (?:with|on))|(?:supports?|works (?:with|on))"
        r" only) python ?v?3"
        r"|\b(?:can'?t|cannot|can not|could(?:n't| not)|does(?:n't| not)|not|no|unable to)"
        rf" (?:find|install|have|get)\b[^\n.]{{0,24}}{_TF}[-_\w. ]{{0,12}} (?:on|for|with|under|in|using)"
        r" python ?v?3\.?\d",
        "Python 3.7 is not supported by tensorflow 1.12",
        near=("tf|tensorflow", "not|n't|only|cannot|can't|cant |unable|no "),
    ),
    spoken(
        "gpu-package-removed",
        ("tensorflow-gpu", "tensorflow_gpu"),
        r"\btensorflow[-_]gpu\b(?![^\n.;]{0,50}\bGPU (?:is|was|has|got)\b)[^\n.;]{0,50}\b(?:has"
        r" been|was|is|been|got) (?:\w+ )?(?:removed|discontinued|dropped|gone|no"
        r" longer)\b|\btensorflow[-_]gpu[`'\"]? (?:package )?(?:no longer exists|does(?: not|n't) exist any"
        r" ?more)|\btensorflow[-_]gpu\b[^\n.]{0,24}\b(?:fail\w*|error\w*|broken|stub)\b[^\n.]{0,16}\b(?:since"
        r"|from|after|with)"
        r" 2\.1[2-9]",
        "the package tensorflow-gpu has been removed",
        near="removed|discontinued|dropped|gone|no longer|any more|anymore|2.1",
    ),
    spoken(
        "shadowing-file",
        ("tensorflow.py", "keras.py"),
        r"\brenam\w*\b[^\n.]{0,40}?[`'\""
        r" ](?P<path>(?:tensorflow|keras)\.py)\b|\b(?:file|script|program|module)\b[^\n.]{0,16}\b(?:named"
        r"|called)"
        r" [`'\"]{0,2}(?P<p2>(?:tensorflow|keras)\.py)\b",
        "I had a script called tensorflow.py",
        near="renam|named|called",
    ),
    spoken(
        "python-package-conflict",
        ("numpy", "protobuf", "h5py", "typing_extensions", "typing-extensions", "ml_dtypes", "ml-dtypes"),
        rf"\binstall\w*(?: -\S+)* [`'\"]?{_PINNED} ?(?:[<=~]=?|<)?"
        rf" ?v?\d[\d.]*[^\n]{{0,50}}?{HELPED}|{HELPED}[^\n]{{0,40}}\b(?:downgrad|install"
        rf"|pin)\w*[^\n.]{{0,16}}\b{_PINNED}"
        r" ?(?:to |[<=~]=?|<)? ?v?\d"
        rf"|{_TF}[-\w. ]{{0,16}} (?:does not|doesn't|is not|isn't|won't|cannot) (?:like|support|work"
        rf" with|compatible with|go with|run with) {_PINNED} ?v?\d",
        "pip install numpy==1.26.4 solved it",
        near=("tf|tensorflow|install|downgrad|pin", HELPED_NEAR + "|not |n't "),
    ),
    spoken(
        "missing-attribute",
        ("tf.", "tensorflow."),
        rf"\b(?:tf|tensorflow)\.(?P<name>{_GONE_IN_2})\b[^\n.]{{0,16}}?\b(?:does(?: not|n't) exist|is gone|no"
        r" longer (?:exists?|there|available|works?|supported)|(?:is|was|has been|are)"
        r" (?:removed|deleted|dropped|deprecated and removed)|(?:is|was)(?: not|n't) (?:available|there|part"
        r" of|in|supported))\b",
        "tf.Session does not exist in TensorFlow 2",
        near="not |n't |gone|no longer|removed|deleted|dropped",
    ),
    spoken(
        "growth-suggested",
        ("memory_growth", "memory growth", "allow_growth", "allow growth"),
        rf"(?:memory|allow)[_ ]growth\b[^\n]{{0,60}}?{_CURED}|{_CURED}[^\n]{{0,40}}(?:memory|allow)[_"
        r" ]growth\b",
        "set_memory_growth fixed it",
        near=HELPED_NEAR,
        lines=2,
    ),
    spoken(
        "other-process",
        ("memory", "vram"),
        r"\b(?:notebooks?|jupyter|kernel|session|script|process(?:es)?|program|terminal|debugger|pycharm"
        r"|spyder|python)\b[^\n.]{0,40}?\b(?:holds?|held|holding|hogg\w+|occup\w+|keeps?|kept|took"
        r" up)\b[^\n.]{0,24}\b(?:memory|vram)\b",
        "an old notebook still held all the GPU memory",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="hold|held|hogg|occup|keep|kept|took up",
    ),
    spoken(
        "memory-grows",
        "memory",
        r"\bleak(?:s|ed|ing)? (?:\w+ ){0,2}?memory\b",
        "predict in a loop leaks memory",
        near="leak",
    ),
    spoken(
        "mentions-gpu",
        (*glued(("gb",), (" card", " vram", " gpu")), "vram", "video card", "video memory"),
        r"\b\d+ ?GB (?:card|VRAM|GPU)\b|\bVRAM\b|\bvideo (?:card|memory)\b",
        "my 4GB card",
        once=True,
    ),
    spoken(
        "fraction-set",
        ("gpu_memory_fraction",),
        r"gpu_memory_fraction[`'\"]? (?:was|is|were|of|set to|to|at)(?: set to| only)?"
        r" [`'\"]?(?P<fraction>0?\.\d+)",
        "per_process_gpu_memory_fraction was 0.1",
    ),
    spoken(
        "config-conflict",
        ("memory growth", "memory_growth"),
        r"memory[_ ]growth\b[^\n.]{0,40}\b(?:for|on) (?:all|every|each|both)(?: one)?(?: of)?(?: the| my)?"
        r" (?:GPUs?|devices?|cards?)\b[^\n.]{0,30}\bnot (?:only|just)\b",
        "memory growth has to be set for all GPUs, not only for the first",
        lambda m, s: Symptom(s, "config-conflict", (("every", "yes"),)),
        near="not only|not just",
    ),
    spoken(
        "no-gpu-kernel",
        ("soft_placement", "soft placement"),
        rf"soft[_ ]placement\b[^\n]{{0,40}}?{HELPED}|{HELPED}[^\n]{{0,40}}soft[_ ]placement\b",
        "allow_soft_placement=True fixed it",
        lambda m, s: Symptom(s, "no-gpu-kernel", (("stated", "yes"),)),
        near=HELPED_NEAR,
    ),
    spoken(
        "no-gpu-kernel",
        ("gpu kernel", "gpu implementation", "kernel for gpu", "kernel for the gpu", "gpu version of the op"),
        r"\b(?:ops?|operations?|kernels?|layers?|tf\.\w+)\b[^\n.]{0,40}?\b(?:no|without(?: a| any)?|lacks?"
        r" a|(?:does|do|did)(?: not|n't) have (?:an? |any )?|missing a?|(?:has|have) no) ?(?:registered"
        r" )?(?:GPU (?:kernel|implementation)|kernel for (?:the )?GPU)",
        "this op has no GPU kernel",
        lambda m, s: Symptom(s, "no-gpu-kernel", (("stated", "yes"),)),
        near="no|without|lack|not |n't |missing",
    ),
    spoken(
        "device-unknown",
        ("gpu:1", "gpu:2", "gpu:3", "gpu:4"),
        r"\bgpu:[1-4]\b[^\n]{0,60}\b(?:only (?:have |has |had |got )?(?:one|1|a single) (?:GPU|card)|(?:there"
        r" )?is (?:only|no)(?: one| such| second)? (?:GPU|card|device))",
        "tf.device('/gpu:1') fails because there is only one GPU",
        lambda m, s: Symptom(s, "device-unknown", (("stated", "yes"),)),
        near="only|is no",
    ),
    spoken(
        "ptxas-missing",
        "ptxas",
        r"\bptxas[`'\"]?(?: binary| executable|\.exe)?\b (?:(?:is|was)(?: not|n't) (?:\w+"
        r" )?(?:in|on|found|there|installed)|(?:is|was) missing|not (?:in|on) (?:the |my )?path)",
        "ptxas is not in the path",
        near="not |n't |missing",
    ),
    spoken(
        "known-defect",
        ("bug in", "bug of", "bug with", "regression in", "regression of", "regression with"),
        r"\b(?:bug|regression) (?:in|of|with) (?:tensorflow|tf)?[-"
        r" ]?v?(?P<release>[12]\.\d+(?:\.\d+)?)\b[^\n]{0,50}?\b(?:fixed|solved|resolved|gone|works|working"
        r"|fine)\b[^\n\d]{0,16}(?P<better>[12]\.\d+(?:\.\d+)?)\b",
        "it is a bug in 2.4.0, fixed in 2.4.1",
        lambda m, s: Symptom(
            s,
            "known-defect",
            (
                ("release", m["release"]),
                ("cure", f"Install TensorFlow {m['better']}, with which it is said to work"),
                ("stated", "yes"),
            ),
        ),
        near="fixed|solved|resolved|gone|works|working|fine",
    ),
    spoken(
        "both-packages",
        ("tensorflow-gpu", "tensorflow_gpu", "tensorflow gpu"),
        r"\b(?:overwrit|overrid|overrul)\w*\b[^\n.]{0,24}\btensorflow[-_ ]gpu\b",
        "the update overwrites the tensorflow-gpu package",
        near="overwrit|overrid|overrul",
    ),
    spoken(
        "cpu-build-said",
        ("cpu", "gpu_py", "tensorflow build", "right build", "gpu build", "cuda build"),
        rf"\b(?:chang|switch|downgrad|turn|replac)\w*[^\n.]{{0,24}}{_TF}[^\n.]{{0,24}} (?:to|into|with|by)"
        rf" (?:the |a )?CPU\b|\b{_TF}=[\d.]*=gpu_py|\b(?:(?:does|did|do)(?: not|n't)|fail(?:s|ed) to)"
        r" (?:pick|select|choose|take|get)\b[^\n.]{0,30} (?:tensorflow|right|GPU|CUDA) build\b",
        "the update changed tensorflow to the CPU one",
        lambda m, s: Symptom(s, "cpu-build-said", (("stated", "yes"),)),
    ),
    spoken(
        "size-stated",
        ("smaller", "bigger gpu", "larger gpu", "gb"),
        r"\bsmaller (?:model|network|batch|image|input)\w*[^\n.]{0,60}\b(?:bigger|larger)"
        r" (?:GPU|card)|\b(?:bigger|larger) (?:GPU|card)[^\n.]{0,60}\bsmaller"
        r" (?:model|network|batch|image|input)"
        r"|\bmemory\b[^\n]{0,60}\bruns? out\b[^\n]{0,80}\bsmaller\b|\b(?:GPU|GTX|RTX|card)\b[^\n]{0,16}\b\d+"
        r" ?GB\b[^\n]{0,80}\b\d+ ?GB\b[^\n]{0,30}\b(?:solves|solved|fixed|fixes|helped)\b",
        "A smaller model, a smaller batch, or a bigger GPU",
    ),
    spoken(
        "memory-grows",
        ("memory", "oom"),
        r"\b(?:k-?folds?|cross[- ]?validation|in a (?:for )?loop|after (?:a few|some|several|many|\d+)"
        r" (?:epochs?|iterations?|models?|folds?|runs?|trials?))\b[^\n]{0,80}\b(?:out of memory|OOM)\b"
        r"|\bmemory\b[^\n.]{0,30}\b(?:accumulat|cumulativ)\w*|\b(?:accumulat"
        r"|cumulativ)\w*\b[^\n.]{0,60}\bmemory\b|\ballocat\w*\b[^\n.]{0,24}\bmemory\b[^\n.]{0,16}\b(?:in|on"
        r"|at|with)"
        r" (?:each|every)\b",
        "with KFold cross validation I run out of memory",
        near="fold|validation|in a loop|in a for loop|after |accumulat|cumulativ|each|every",
    ),
    spoken(
        "memory-kept",
        "memory",
        r"\bmemory\b[^\n.]{0,24}(?:n't|\bnot|\bnever|\bno longer)\b (?:\w+ ){0,2}?(?:released?|freed?|given"
        r" back|deallocated|cleared)\b|(?:n't|\bnot|\bnever|\bwithout) (?:\w+"
        r" ){0,2}?(?:releas|free|giv|deallocat|clear)\w*(?: back)? (?:\w+ ){0,3}?memory\b|\bmemory for the"
        r" lifetime of the process\b",
        "the memory is not released after training",
        near="released|freed|free|releas|given back|giv|deallocat|clear|release|lifetime",
    ),
    spoken(
        "other-process",
        "else",
        r"\b(?:any|some)thing else (?:\w+ )?on (?:the|your|my|that|this)"
        r" GPU\b|\b(?:any|some)(?:one|body|thing) else (?:is |was"
        r" )?(?:us|occupy|hold|hogg)(?:es|ing|ed|s)?\b[^\n.]{0,16}\b(?:GPU|memory)\b",
        "do you run anything else on the GPU?",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="gpu|memory",
    ),
    spoken(
        "growth-suggested",
        "set_memory_growth(",
        r"\b(?:works?|worked|working|fixed|solved|resolved|helped)\b[^\n]{0,200}\bset_memory_growth\(",
        "works now by using tf.config.experimental.set_memory_growth(gpus[0], True)",
        near="work|fixed|solved|resolved|helped",
    ),
    spoken(
        "ptxas-missing",
        "ptxas",
        r"\bptxas(?:\.exe)?\b[^\n]{0,40}\bto (?:the |my |your )?PATH\b",
        "I added the folder of ptxas to my PATH",
        near="path",
    ),
    spoken(
        "both-packages",
        ("tensorflow-gpu", "tensorflow_gpu", "tensorflow gpu", "tensorflow- gpu"),
        r"^\W{0,12}tensorflow ?[:=]{1,2} ?v?\d[\d.]{1,12}(?![\d.])[^\n]{0,16}\n\W{0,12}tensorflow(?:-|_| |-"
        r" )gpu ?[:=]{1,2} ?v?\d",
        "TensorFlow: 1.9.0\ntensorflow-gpu: 1.9.0",
        lines=2,
    ),
    spoken(
        "gpu-not-used",
        ("tensorflow-gpu", "tensorflow_gpu", "tensorflow gpu"),
        r"\btensorflow[-_ ]gpu\b (?:\w+ )?(?:stopped working|(?:does|did|is|was)(?: not|n't) work(?:ing)?)\b",
        "since then tensorflow-gpu still doesn't work",
        near="stopped working|not work|n't work",
    ),
    spoken(
        "cpu-build-said",
        ("tensorflow-gpu", "tensorflow_gpu", "tensorflow gpu"),
        r"\b(?:need|want|use|install|take|get)\w*\b[^\n.]{0,24}\btensorflow[-_"
        r" ]gpu\b[^\n.]{0,30}\b(?:not|instead of|rather than)\b(?: the)?"
        r" (?:regular|normal|plain|ordinary|standard|default|cpu)[^\n.]{0,12} tensorflow\b|\b(?:need|have) to"
        r" install [`'\"]{0,3}tensorflow[-_ ]gpu\b[^\n.]{0,24} (?:for|to (?:use|get|have))[^\n.]{0,16} GPU",
        "you need the tensorflow-gpu version and not regular tensorflow",
        lambda m, s: Symptom(s, "cpu-build-said", (("stated", "yes"),)),
        near="need|want|use|install|take|get|have",
    ),
    spoken(
        "other-process",
        ("kernel", "notebook", "jupyter", "task", "user", "workmate", "colleague", "somebody", "someone"),
        r"\b(?:restart|shut|clos)\w*\b[^\n.]{0,16}"
        r" (?:kernels?|notebooks?|jupyter)\b[^\n]{0,80}\bmemory\b|\b(?:another|other)"
        r" (?:tasks?|users?)\b[^\n.]{0,24}\b(?:on|us\w+|occup\w+|took|tak\w+)\b[^\n.]{0,16}"
        r" GPU|\b(?:workmate|colleague|somebody|someone)s?\b[^\n.]{0,24}\b(?:used|using|uses|ran|running"
        r"|loaded|took|held|occupied)\b[^\n.]{0,30}\b(?:GPU|memory)\b",
        "another task was running on your GPU",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="memory|gpu",
    ),
)
