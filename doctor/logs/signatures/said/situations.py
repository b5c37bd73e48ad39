"""A situation in a sentence: who sees the GPU and who does not, where another program counts the cards, what
an installer did not find."""

from __future__ import annotations

import re

from doctor.facts import (
    INFERRED,
    PROSE,
    CudaCallFailed,
    CudnnMismatch,
    EnvVar,
    Fact,
    LibraryNotLoaded,
    Platform,
    Requirement,
    Source,
    Symptom,
    normalised,
)
from doctor.logs.signatures.signature import Signature, spoken
from doctor.logs.signatures.supposed import stated

_NO = (
    r"(?:can'?t|cannot|can not|could ?n[o']t|couldnt|does ?n[o']t|doesnt|did ?n[o']t|didnt|unable to|fails?"
    r" to|failed to|won'?t|never)"
)
_USER = (
    r"(?:as|for|under|by|from) (?:a |an |my |the |any"
    r" )?(?:normal|regular|ordinary|standard|own|other|non-?root|unprivileged|plain)(?: \w+)?"
    r" ?(?:user|account)s?|without (?:sudo|root)|as non-?root"
)
_ROOT = r"\b(?:as|under|with|for) root\b|\bas (?:the )?superuser\b|\bsudo\b"
_PIP = r"\b(?:pip3?|conda|poetry)\b(?: install)?(?: -U| --upgrade)?"
_FIND = rf"[`'\"]{{0,2}} {_NO} (?:find|see|get|offer|locate) (?:any |a |the )?(?:[\w-]+ ){{0,2}}?"
_CARD = r"RTX|GTX|GeForce|Quadro|Tesla|Titan|graphics? card"
_TAKE = r"(?:us(?:e[sd]?|ing)|utili[sz]\w*|detect\w*|find\w*|see\w*|recogni[sz]\w*)"
_TAKEN = r"used|utili[sz]ed|detected|found|seen|recogni[sz]ed"

_NUMBERED = r"(?:==| |=| \()?\d\.\d[\w.]*\)?"


def not_of_conda(match: re.Match[str], source: Source) -> Fact | None:
    """The symptom that both packages are installed; None for conda's, whose tensorflow-gpu is empty and only
    requires its tensorflow."""
    return None if "conda" in source.text.lower() else Symptom(source, "both-packages")


def by_the_root_user(match: re.Match[str], source: Source) -> Fact | None:
    """The symptom that root sees the GPU but the user does not; None if the line does not mention a GPU."""
    return (
        Symptom(source, "permission-by-escalation")
        if re.search(r"\bgpus?\b|cuda|nvidia", source.text, re.IGNORECASE)
        else None
    )


def not_found_by_pip(match: re.Match[str], source: Source) -> tuple[Fact, ...]:
    """The facts of an installer that found no package, in the words of the person who ran it."""
    groups = match.groupdict()
    name = normalised(groups.get("name") or groups.get("n2") or "tensorflow")
    return (
        Symptom(source, "no-matching-distribution", (("name", name), ("specifier", ""), ("versions", ""))),
        Requirement(source, name, ""),
    )


def asked_for(match: re.Match[str], source: Source) -> Fact:
    """The fact that a library does not open, from a person who writes which version is there instead."""
    return LibraryNotLoaded(source, match["name"].rstrip("."), "", "absent")


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "permission-by-escalation",
        (
            "as root",
            "sudo",
            "under root",
            "superuser",
            "for root",
            "as admin",
            "with root",
            "without root",
            "non-root",
            "nonroot",
        ),
        rf"(?:{_ROOT})[^\n.]{{0,90}}\b(?:not|n't|nothing|fails?|only|but|while"
        rf"|no)\b[^\n.]{{0,40}}\b(?:{_USER})|(?:{_ROOT})[^\n]{{0,90}}\b(?:{_USER})[^\n.]{{0,30}}(?:\b(?:not"
        rf"|nothing|fails?|no|none)\b|n't\b)"
        rf"|\b(?:{_USER})[^\n.]{{0,60}}(?:\b(?:not|nothing|fails?|no|none)\b|n't\b)[^\n]{{0,60}}(?:{_ROOT})",
        "the GPU is found as root but not as a normal user",
        by_the_root_user,
        near="user|without|non-root|nonroot|account",
    ),
    spoken(
        "renumbered",
        ("task manager", "taskmanager", "device manager", "任务管理器", "タスクマネージャ"),
        r"(?:task ?manager|device manager|任务管理器|タスクマネージャー?)[^\n]{0,80}\bGPU"
        r" ?#?[01]\b[^\n]{0,160}?\b(?:GPU[: ]?0|device:GPU:0|GPU:1|gpu0)\b",
        "The task manager calls the Intel card GPU 0, and TensorFlow prints GPU:0: is it the same one?",
        near="gpu:|gpu 0|gpu0|gpu 1",
    ),
    spoken(
        "no-matching-distribution",
        ("pip", "conda", "poetry"),
        rf"{_PIP}[^\n.,;]{{0,40}}?(?P<name>tensorflow(?:[-_](?:gpu|cpu))?){_FIND}(?:it|one|versions?|match\w*"
        rf"|distributions?|packages?|wheels?)\b"
        rf"|{_PIP}[^\n.,;]{{0,40}}?{_FIND}(?P<n2>tensorflow(?:[-_](?:gpu|cpu))?)\b",
        "pip install tensorflow-gpu doesn't find any version",
        not_found_by_pip,
        near=("tensorflow", "find|see|get|offer|locate"),
    ),
    spoken(  # the card by its name
        "gpu-not-used",
        ("rtx", "gtx", "geforce", "quadro", "tesla", "titan", "graphics card", "graphic card"),
        rf"(?:\bnot|n't|\bnever|\bunable to|\bfails? to) (?:\w+ ){{0,2}}?{_TAKE} (?:\w+"
        rf" ){{0,3}}?(?:{_CARD})|\bis (?:my|the|this) (?:nvidia |geforce )?(?:{_CARD})[\w ]{{0,16}}"
        rf" (?:not|never)(?: being)? (?:{_TAKEN})",
        "TensorFlow does not use my RTX 3080",
        near=("not|n't|never|unable|fail", "use|using|utili|detect|find|found|see|recogni"),
    ),
    spoken(
        "uses-cpu",
        ("only", "just", "nothing but"),
        r"\b(?:only|just|nothing but)\b (?:(?:ever|able|to)"
        r" )*(?:shows?|sees?|lists?|finds?|detects?|recogni[sz]es|gives?|prints?|reports?) (?:me |up )?(?:the"
        r" |my |a )?CPUs?\b(?!"
        r" (?:time|usage|load|temperature|utili|frequenc|name|model|info|cores?|threads?|part|section|tab"
        r"|page|version|build))"
        r"|\b(?:shows?|sees?|lists?|finds?|detects?|recogni[sz]es|gives?|prints?|reports?)(?: me| up)?"
        r" (?:only|just|nothing but) (?:the |my |a )?CPUs?\b(?!"
        r" (?:time|usage|load|temperature|utili|frequenc|name|model|info|cores?|threads?|part|section|tab"
        r"|page|version|build))",
        "tensorflow only shows the CPU",
        near="cpu",
    ),
    spoken(
        "gpu-list-empty",
        ("list",),
        r"\blist of (?:(?:the|physical|available|visible|logical) )*(?:GPUs?|GPU devices)\b"
        r" (?:is|was|stays?|remains?|comes back|comes out)(?: still| always)? empty|\bempty (?:list of"
        r" GPUs?|GPU list)\b|\bGPU list (?:is|was|stays?|remains?|comes back)(?: still| always)? empty",
        "the list of GPUs is empty",
        near=("gpu", "empty"),
    ),
    spoken(  # a library that is asked for, and another one that is there
        "library-not-loaded",
        (".so.", "64_"),
        r"\b(?:wants?|wanted|needs?|(?:looks?|looking|asks?|asking|search(?:es|ing)?)"
        r" for|requires?|expects?|(?:tries|trying) to (?:open|load|find)) (?:the |for )?(?:library |file"
        r" )?[`'\"]{0,2}"
        r"(?P<name>lib(?:cu|nv)\w{2,16}\.so\.\d[\d.]*|cu\w{2,10}64_\d{1,3}"
        r"(?:\.dll)?)[`'\"]{0,2}[^\n.]{0,24}?\b(?:but|while|whereas|although|and)\b[^\n]{0,30}\b(?:have|has"
        r"|got|installed|there"
        r" is|only|is)\b",
        "it wants libcudart.so.10.0 but I have CUDA 10.1",
        asked_for,
        near=("want|need|for |requir|expect|tries to|trying to", "but|while|whereas|although|and"),
    ),
    spoken(
        "no-matching-distribution",
        "no matching distribution",
        r"\btensorflow[^\n]{0,60}\bno matching distributions?\b(?! found for)|\bno matching"
        r" distributions?\b(?! found for)[^\n]{0,60}\btensorflow\b",
        "Python 3.12 and tensorflow 2.15: no matching distribution",
        not_found_by_pip,
        near="tensorflow",
    ),
    spoken(
        "memory-grows",
        ("fold", "after ", "tuner"),
        r"\b(?:out of|no|not enough) (?:\w+ ){0,2}?memory\b[^\n.]{0,24}\b(?:in|at|on|with|during) (?:the"
        r" )?(?:(?:\w+ )?fold\b|fold \d|last folds?)|\bafter (?:about|around|roughly|some|nearly|almost|~)"
        r" ?\d+ (?:\w+"
        r" )?(?:epochs|iterations|folds|models|trials|runs|steps|predictions)\b[^\n]{0,60}\b(?:OOM|out of"
        r" memory|memory error)\b",
        "after about 30 trials I get OOM",
        near=("memory|oom", "fold|epochs|iterations|models|trials|runs|steps|predictions"),
    ),
    spoken(
        "cudnn-mismatch",
        ("cudnn",),
        r"\b(?:compiled|built) (?:with|against|for) cudnn (?:version"
        r" )?v?(?P<compiled>\d\.\d{1,2}(?:\.\d{1,2})?)\b[^\n]{0,16}?\b(?:but|while|whereas|and)\b"
        r" (?:(?:it|loads?|loaded|finds?|found|gets?|uses?|runs?|with|on|at|runtime|there"
        r" is|the|only|cudnn|version|has|have|I|is|v) ){0,6}?v?(?P<loaded>\d\.\d{1,2}(?:\.\d{1,2})?)\b",
        "compiled with cuDNN 8.6 but 8.4 is loaded",
        lambda m, s: CudnnMismatch(s, m["loaded"], m["compiled"]) if m["loaded"] != m["compiled"] else None,
        near=("compiled|built", "but|while|whereas|and"),
    ),
    spoken(
        "cuinit-failed",
        "unknown error (303)",
        r"(?<!cuInit: )UNKNOWN ERROR \(303\)",
        "TensorFlow says UNKNOWN ERROR (303)",
        lambda m, s: CudaCallFailed(s, "cuInit", "UNKNOWN_ERROR_303"),
    ),
    spoken(
        "env-var",
        ("$cuda_visible_devices",),
        r"\becho \$(?P<name>CUDA_VISIBLE_DEVICES)[`'\"]{0,2},? (?:(?:just|only|it|which)"
        r" )?(?:prints?|gives?|shows?|says|returns?|is|outputs?|->|=>)(?: me)?:?"
        r" [`'\"]?(?P<value>-1|NoDevFiles)\b",
        "echo $CUDA_VISIBLE_DEVICES prints -1",
        lambda m, s: EnvVar(s, "CUDA_VISIBLE_DEVICES", m["value"]),
        near="-1|nodevfiles",
    ),
    spoken(
        "gpu-not-used",
        ("ignor",),
        rf"\b(?:GPUs?|(?:{_CARD})[\w -]{{0,12}}?|card|\d0[5-9]0(?: ?Ti| Super)?)"
        r" (?:is|are|was|gets?|being|keeps being)(?: completely| simply| just| totally)?"
        rf" ignored\b|\bignor(?:es|ing) (?:my|the|our|both) (?:\w+ )?(?:GPUs?|{_CARD})\b",
        "my 4090 is ignored",
        near="is |are |was |get|being|my |the |our |both ",
    ),
    spoken(  # the only word on the system; any other word on it counts more
        "platform-windows",
        "windows",
        r"\b(?:on|under|in|for) (?:native |my |plain )?windows\b(?!"
        r" (?:subsystem|side|hosts?|update|terminal|explorer|drivers?|and|or|it"
        r" (?:works|runs)|works|everything|there))(?!,? (?:but|while|whereas|where|not)\b)(?! ?/)",
        "my GPU is not found on Windows any more",
        lambda m, s: Platform(s, "windows", rank=INFERRED),
        once=True,
    ),
    spoken(  # one batch that fits beside one that does not
        "batch-size-blamed",
        "batch",
        r"\bbatch(?:[ _-]?size)?(?: of| is| =)? ?\d{1,5}\b[^\n.]{0,60}?(?:,|;| but| and| while| whereas)?"
        r" (?:with|at|but|and|while|whereas|for)?,? ?(?:a )?(?:batch(?:[ _-]?size)?(?: of)? )?\d{1,5}\b (?:it"
        r" )?(?:works|trains|runs|fits|is (?:ok|fine)|goes|succeeds)\b",
        "OOM with batch size 32 at the first step, with 4 it trains",
        near="works|trains|runs|fits|is ok|is fine|goes|succeeds",
    ),
    spoken(
        "both-packages",
        "tensorflow",
        rf"\btensorflow{_NUMBERED}(?:,| and| &|;| \+) (?:also )?tensorflow[-_]gpu(?:==| |=|"
        rf" \()?\d|\btensorflow[-_]gpu{_NUMBERED}(?:,| and| &|;| \+) (?:also )?tensorflow(?:==| |=| \()?\d",
        "pip list shows tensorflow 2.3.0, tensorflow-gpu 2.3.0",
        not_of_conda,
        near="tensorflow-gpu|tensorflow_gpu",
    ),
    spoken(
        "other-process",
        ("another user", "other user", "someone else", "somebody else", "colleague", "zombie"),
        r"\b(?:PID \d+|process(?:es)?|python3?|job|program|script)\b[^\n.]{0,40}\b(?:of|from|by) (?:an)?other"
        r" users?\b|\b(?:another user|someone else|somebody else|a colleague)(?:'s)?"
        r" [^\n.]{0,30}\b(?:process|python|job|program|script|training|notebook)\b|\bzombie"
        r" (?:python|tensorflow|jupyter)\b",
        "nvidia-smi shows PID 2231 python of another user",
        near="pid|process|python|job|program|script|training|notebook|zombie",
    ),
    spoken(
        "python-version-blamed",
        "python",
        rf"\bpython ?v?3\.\d{{1,2}}(?:\.\d{{1,2}})?\b(?: \w+){{0,2}}? {_NO}"
        r" (?:install|find|get|have|import)\b[^\n.]{0,12} tensorflow",
        "Python 3.9 can't install tensorflow 1.14",
        near=("tensorflow", "install|find|get|have|import"),
    ),
    spoken(
        "library-not-loaded",
        (".so.", "64_"),
        r"\bcuda (?:toolkit )?(?:version"
        r" )?v?\d{1,2}\.\d\b[^\n]{0,60}?\b(?:wants?|needs?|(?:looks?|looking|asks?|asking)"
        r" for|requires?|expects?|tries to (?:open|load)) (?:the |for"
        r" )?[`'\"]{0,2}(?P<name>lib(?:cu|nv)\w{2,16}\.so\.\d[\d.]*|cu\w{2,10}64_\d{1,3}(?:\.dll)?)",
        "CUDA 11.2 is installed and TensorFlow asks for cudart64_101.dll",
        asked_for,
        near=("want|need|for |requir|expect|tries to", "cuda"),
    ),
    spoken(
        "gpu-not-used",
        (
            "no gpu",
            "lost the gpu",
            "lost my gpu",
            "loses the gpu",
            "loses my gpu",
            "gpu is gone",
            "gpu isn't there",
            "gpu is not there",
        ),
        r"\bno GPUs? (?:in|for|with|under|by|from) (?:my |the )?(?:tensorflow|tf|keras)\b|\b(?:lost|loses)"
        r" (?:the|my) GPU\b|\bGPU (?:is gone|isn't there|is not there)\b",
        "there is no GPU in tensorflow",
    ),
    spoken(
        "uses-cpu",
        ("falls back", "fell back", "falling back", "instead of"),
        r"\b(?:falls|fell|falling) back (?:on|to) (?:the |using the |my"
        r" )?(?:CPU|processor)\b|\b(?:CPU|processor)\b,? instead of (?:the |my |its |on the )?(?:GPU|graphics"
        r" card)\b",
        "TensorFlow falls back to the CPU",
        near="cpu|processor",
    ),
    spoken(
        "wsl1",
        ("wsl 1", "wsl1", "-microsoft"),
        r"(?:^|[\s,(:])WSL ?1(?=[,;)]| (?:on|with|under|ubuntu|debian)\b)|\b4\.4\.0-\d{5}-Microsoft\b",
        "Linux DESKTOP 4.4.0-19041-Microsoft #1237 x86_64 GNU/Linux",
    ),
    spoken(
        "tensorflow-not-installed",
        "not installed",
        r"\btensorflow(?: is| was)? not installed\b",
        "ERROR: LoadError: Python TensorFlow not installed",
        stated("tensorflow-not-installed"),
        near="tensorflow",
    ),
    spoken(
        "cuda-version-unfit",
        "cuda",
        r"\b(?:tensorflow|tf)(?:[-_]gpu)? ?(?:v?\d\.\d+(?:\.\d+)?)? (?:is|was|has)(?: not|n't) (?:been"
        r" )?(?:\w+ )?(?:tested|validated|verified|qualified) (?:with|for|against|on|under) CUDA ?(?:version"
        r" |v)?\d{1,2}\.\d\b",
        "TensorFlow 1.14 is not tested with CUDA 10.1",
        near=("tensorflow|tf", "tested|validated|verified|qualified"),
    ),
    spoken(
        "oom-said",
        "メモリ",
        r"(?:GPU|グラボ)[^\n。]{0,12}メモリ(?:が|は|も)?(?:足り(?:な|ませ)|不足|いっぱい)",
        "GPUのメモリが足りなかった",
        near="gpu|グラボ",
    ),
    spoken(
        "other-process",
        ("誰か", "他の人", "ほかの人", "別の人", "先輩", "先生", "同じ研究室"),
        r"(?:誰か|他の人|ほかの人|別の人|先輩|先生|同じ研究室)[^\n。"
        r"]{0,20}(?:学習|GPU|ジョブ|プログラム)[^\n。]{0,6}(?:回|使|流|走|占)",
        "先生が学習を回していてメモリが足りない",
        near="学習|gpu|ジョブ|プログラム",
    ),
    spoken(  # what WSL was called when there was only the first
        "wsl1",
        "bash on ",
        r"\bbash on (?:ubuntu on )?windows\b",
        "Bash on Ubuntu on Windows",
        lambda m, s: (Symptom(s, "wsl1"), Platform(s, "wsl", rank=PROSE)),
        near="windows",
    ),
)
