"""What was at fault in the end, as threads tell it without any log: what was done then, and that it helped."""

from __future__ import annotations

from doctor.facts import EnvironmentKind, Platform, Symptom
from doctor.logs.signatures.helped import HELPED, HELPED_NEAR
from doctor.logs.signatures.signature import Signature, spoken

_TF = r"\b(?:tensorflow|tf)\b"
_WITHIN = r"(?:[^\n.]|\.(?=[\w*\"'`]))"
"""A character of a sentence: a point may stand within a version or a file's name."""
_CUDA = r"\bCUDA ?v?\d+(?:\.\d)?"
_PINNED = r"(?:numpy|protobuf|h5py|typing[_-]extensions|ml[_-]dtypes)"
_LOST = r"(?:no(?: longer)?|not|n't|without|lacks?|lost|dropped|ended|stopped|gone|removed|discontinued)"

_MOVED = (
    r"(?:(?:down|up)grad(?:ing|ed)|updating|updated|switching|switched|going|went|rolling|rolled|reverting|reverted)"
)

SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "windows-native-told",
        "windows",
        rf"\bWindows\b{_WITHIN}{{0,40}}\b{_LOST}\b{_WITHIN}{{0,24}}\bGPUs?\b{_WITHIN}{{0,30}}\b(?:since|from|after|above|as of|beyond|with|newer than|later than)\b{_WITHIN}{{0,12}}\b2\.1[01]\b"
        rf"|\b2\.1[01]\b{_WITHIN}{{0,40}}\b{_LOST}\b{_WITHIN}{{0,24}}\bGPUs?\b{_WITHIN}{{0,30}}\bWindows\b"
        rf"|\b(?:since|from|after|above|as of|beyond)\b{_WITHIN}{{0,12}}\b2\.1[01]\b{_WITHIN}{{0,24}}\b{_LOST}\b{_WITHIN}{{0,12}}\bGPUs?\b{_WITHIN}{{0,30}}\bWindows\b",
        "native Windows is without GPU support since TF 2.11",
        lambda m, s: (Symptom(s, "windows-native-told"), Platform(s, "windows", rank=2)),
        near=("2.10|2.11", "gpu"),
    ),
    spoken(
        "no-avx",
        "avx",
        r"\b(?P<lacks>CPUs?|processors?|hardware|machines?|computers?|laptops?|VM)\b[^\n.]{0,50}?\b(?:no|without|lacks?|lacking|(?:does|do|did|has|have)(?: not|n't)(?: \w+){0,2}?)\b (?:\w+ ){0,2}?AVX"
        r"|\b(?:built|compiled|made|build) (?:with|for|using) AVX\b[^\n]{0,160}\b(?:old(?:er)?|my|this) (?P<l2>CPUs?|processors?|machines?|computers?|laptops?)\b|\b(?:old(?:er)?|my|this) (?P<l3>CPUs?|processors?|machines?|computers?|laptops?)\b[^\n]{0,80}\b(?:built|compiled) (?:with|for|using) AVX\b",
        "the processor of that machine has no AVX",
        near="no |without|lack|not |n't |"
        "built with|built for|built using|compiled with|compiled for|compiled using|made with|made for|made using|build with|build for|build using",
    ),
    spoken(
        "capabilities-told",
        ("compute,utility", "utility,compute"),
        r"\b(?:add|had to|need|lack|miss|chang|solv|fix|work|help)\w*\b[^\n]{0,60}(?:compute,utility|utility,compute)\b",
        'I had to add "capabilities=compute,utility" to the gpus flag',
        lambda m, s: (Symptom(s, "capabilities-told"), EnvironmentKind(s, "docker")),
        near="add|had to|need|lack|miss|chang|solv|fix|work|help",
    ),
    spoken(
        "uvm-reloaded",
        ("nvidia_uvm", "nvidia-uvm"),
        r"\b(?:rmmod|modprobe|reload\w*|unload\w*)\b[^\n.]{0,40}\bnvidia[_-]uvm\b",
        "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm",
        near="rmmod|modprobe|reload|unload",
    ),
    spoken(
        "renumbered",
        "visible_devices",
        r"VISIBLE_DEVICES[`'\"]{0,2}\]? ?(?:=|to|as|is) ?[`'\"]?[1-9][^\n]{0,160}\b(?:call|show|sa[iy]|report|label|name|see|number|list|print|log|display|appear)\w*\b[^\n]{0,40}\bGPU[ :#]?0\b",
        "with CUDA_VISIBLE_DEVICES=2,3 the log lists them as GPU:0 and GPU:1",
        near=(
            "gpu:0|gpu 0|gpu0|gpu#0",
            "call|show|say|said|sai|report|label|name|see|number|list|print|log|display|appear",
        ),
    ),
    spoken(
        "renumbered",
        ("gpu 0", "gpu:0", "gpu0", "cuda:0"),
        r"\b(?:call|show|say|said|report|label|name|number|display)\w*\b[^\n.]{0,16}\b(?:GPU[ :]?0|cuda:0)\b[^\n.]{0,40}\b(?:because|since|as)\b[^\n.]{0,50}\b(?:only|visible|starts?|counts?|renumber\w*|first)\b",
        "it is shown as GPU 0 because the process sees only that card",
        near=("because|since|as", "only|visible|start|count|renumber|first"),
    ),
    spoken(
        "nccl-error",
        "nccl",
        r"\bNCCL\b[^\n.]{0,80}\b(?:official\w*|only|all|just|solely)\b[^\n.]{0,24}\bLinux\b|\bNCCL\b[^\n.]{0,60}\bLinux\b[^\n.]{0,24}\b(?:official\w*|only|alone|solely)\b"
        r"|\b(?:unofficial|inofficial|no|non-official|without)\b[^\n.]{0,16}\bNCCL\b[^\n.]{0,16}\b(?:for|on|under|in) Windows\b",
        "NCCL is officially made for Linux only",
        near="windows|linux",
    ),
    spoken(
        "memory-grows",
        "model",
        r"\b(?:keeps?|kept|keeping|holds?|held|holding|remembers?|stor(?:es|ed|ing))\b (?:on to )?(?:\w+ )?(?:all|every|each)?(?: (?:the|my|of the))? ?(?:\b(?:previous|old|older|earlier|former)\b )?models?\b (?:around|before|in (?:the )?memory|alive|that (?:it|came))",
        "it seems to hold every model in memory",
        near="keep|kept|hold|held|remember|stor",
    ),
    spoken(
        "memory-grows",
        "memory",
        r"\bmemory\b[^\n]{0,60}\b(?:creat|mak|build|compil|load|instantiat|defin)(?:es|e|ed|ing) (?:\w+ ){0,3}?(?:models?|graphs?|networks?)\b(?: \w+){0,3}? (?:again and again|repeatedly|over and over|in(?:side)? (?:a|the) (?:for[- ]?)?loop|(?:each|every) (?:time|iteration|pass|episode|step))"
        r"|\b(?:creat|mak|build|compil|load|instantiat|defin)(?:es|e|ed|ing) (?:\w+ ){0,3}?(?:models?|graphs?|networks?)\b(?: \w+){0,3}? (?:again and again|repeatedly|over and over|in(?:side)? (?:a|the) (?:for[- ]?)?loop|(?:each|every) (?:time|iteration|pass|episode|step))\b[^\n]{0,100}\bmemory\b"
        r"|\bmemory\b[^\n.]{0,24}\b(?:climbs?|explod\w+|increas\w+|grow(?:s|ing)|grew)\b[^\n.]{0,40}\b(?:exponential\w*|in(?:side)? (?:a|the) loop|(?:each|every) (?:time|iteration|pass|epoch|fold|model|step|run|episode))\b",
        "memory runs out when creating the model again and again",
        near=(
            "again and again|repeatedly|over and over|loop|each|every|exponential",
            "creat|mak|build|built|compil|load|instantiat|defin|climb|explod|increas|grow|grew",
        ),
    ),
    spoken(
        "missing-attribute",
        "contrib",
        r"\b(?:tf|tensorflow)\.(?P<name>contrib)\b[`'\"]?[^\n.]{0,30}\b(?:missing|gone|nowhere|(?:can ?not|can't|cannot|could ?n[o']t|is not|isn't) (?:be )?(?:found|imported|there|available))\b"
        r"|\b(?:no longer|without|lacks?|removed|removes?|dropped)\b[^\n.]{0,24}\b(?P<n2>contrib)\b (?:module|package|library)|\b(?P<n3>contrib)\b (?:module|package|library)[^\n.]{0,24}\b(?:is gone|(?:was|is|has been) (?:removed|dropped)|no longer|does(?: not|n't) exist)\b",
        "version 2 is without the contrib module",
        lambda m, s: Symptom(s, "missing-attribute", (("name", "contrib"), ("module", "tensorflow"), ("told", "yes"))),
        near="missing|gone|nowhere|found|imported|there|available|no longer|without|lack|removed|remove|dropped|not exist|n't exist",
    ),
    spoken(
        "written-for-one",
        ("tensorflow", "tf"),
        rf"{_TF} ?< ?(?:=? ?1\.\d+|2(?:\.0)*)\b[^\n.]{{0,24}}\b(?:used?|needed|required|wanted|installed|must|should|has to)\b|\b(?:use|needs?|requires?|wants?|install\w*) {_TF} ?< ?2(?:\.0)*\b"
        rf"|\b(?:code|scripts?|repo\w*|project|examples?|notebooks?|implementation|paper)\b[^\n.]{{0,30}}\b(?:is|was|were|are|only|has been)\b[^\n.]{{0,12}}\b(?:written|works?|meant|made|runs?|developed|tested|for)\b(?: (?:in|for|with|on|under|against|only))* {_TF} ?v?1(?:\.\d+|\.x)?\b",
        "this code was written for TF 1",
        near=("<|code|script|repo|project|example|notebook|implementation|paper", "1|2"),
    ),
    spoken(
        "protobuf-conflict",
        ("downgrade the protobuf package", "couldn't find field google.protobuf"),
        r"Downgrade the protobuf package to 3\.20|Couldn't find field google\.protobuf",
        " 1. Downgrade the protobuf package to 3.20.x or lower.",
    ),
    spoken(
        "python-package-conflict",
        ("numpy", "protobuf", "h5py", "typing_extensions", "typing-extensions", "ml_dtypes", "ml-dtypes"),
        rf"\b{_PINNED}\b{_WITHIN}{{0,40}}(?:\b(?:does(?: not|n't)|do(?: not|n't)|is not|isn't|are not|no longer|won't|cannot|can't)(?: \w+)?? (?:go|goes|works?|run|fit|match|get along|compatible|supported)|\bincompatible)\b{_WITHIN}{{0,16}}{_TF}"
        rf"|{_TF}{_WITHIN}{{0,24}}\b(?:breaks?|broken|broke|fails?|failed|crash\w*)\b{_WITHIN}{{0,24}}\b(?:with|by|since|because of|due to|under)\b{_WITHIN}{{0,24}}\b{_PINNED} ?v?\d",
        "numpy 2.0 does not go with tensorflow 2.10",
        near=("tf|tensorflow", "not|n't|no longer|incompat|break|broke|broken|fail|crash"),
    ),
    spoken(
        "cudnn-handle-failed",
        "could not create cudnn handle",
        r"could not create cudnn handle(?!:)",
        "it always says: could not create cudnn handle",
    ),
    spoken(
        "other-gpu-only",
        ("amd", "radeon"),
        r"\b(?:GPUs?|graphics(?: cards?)?|video cards?|cards?|device)\b(?: \w+){0,5}? (?:is|are|was)\b(?: \w+){0,3}? [`'\"]?(?:AMD|Radeon)\b(?! (?:CPU|Ryzen|EPYC|processor))"
        r"|\b(?:have|has|got|own|on|with|using|run|running|my|a|an)\b (?:an? |my |the )?(?:[\w-]+ )?(?:AMD|Radeon)(?: Radeon)?(?: (?:RX|Pro|R9|HD))?(?: ?\w*\d\w*)? (?:GPU|graphics|card)\b",
        "the card in my laptop is an AMD Radeon",
        near="gpu|graphics|card|device",
    ),
    spoken(
        "no-nvidia-told",
        ("nvidia",),
        r"\b(?:machine|computer|laptop|notebook|pc|mac\w*|server|we|I|it)\b[^\n.,;]{0,24}\b(?:no nvidia|(?:do|does)(?: not|n't) have (?:an? |any )?nvidia|without (?:an? |any )?nvidia|not (?:an?|any) nvidia) (?:gpu|card|graphics)",
        "the laptop has no Nvidia GPU",
        near="no nvidia|not have|n't have|without|not a|not any",
    ),
    spoken(
        "card-support-asked",
        "capabilit",
        r"\b(?:only|no more than|just|merely|at most|not more than)\b[^\n.\d]{0,40}\b[1-3]\.\d\b[^\n.]{0,30}\bcapabilit|\bcapabilit\w+\b[^\n.\d]{0,24}\b(?:only|no more than|just|merely)\b[^\n\d]{0,8}[1-3]\.\d\b",
        "my card has just 3.0 as its compute capability",
        near="only|no more than|just|merely|at most|not more than",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        rf"{_TF}{_WITHIN}{{0,40}}[,;] (?:and |which |but )?(?:that(?: one)?|this(?: one)?|it|which)?\b ?\b(?:cannot|can't|can not|does(?: not|n't)|did(?: not|n't)|won't|is(?: not|n't))(?: \w+)?? (?:use|support|work with|run on|run with|go with|compatible with|like|take) {_CUDA}"
        rf"|{_CUDA}\b[^\n]{{0,80}}\b(?:did(?: not|n't)|do(?: not|n't)|not) (?:know|knowing|realis\w+|realiz\w+|notice\w*|aware)\b[^\n]{{0,16}}{_TF}{_WITHIN}{{0,8}} (?:does(?: not|n't)|did(?: not|n't)|cannot|can't)(?: \w+)?? (?:support|work with|use|like)\b",
        "tensorflow 2.16 came in, and that one cannot use cuda11",
        near=("tf|tensorflow", "not|n't|can't"),
    ),
    spoken(
        "other-process",
        ("notebook", "kernel", "jupyter", "session"),
        rf"\b(?:clos|shut|shutt|stop|kill|quit|terminat)\w*(?: down)?(?: of)? (?:\w+ )?(?:the |that |my |all |every )?(?:first|other|others|old|previous|former|another|second|unused|earlier|remaining)\b(?: \w+)? (?:notebooks?|kernels?|sessions?)\b[^\n]{{0,60}}?(?:{HELPED}|\bran\b|\bruns?\b)"
        rf"|(?:{HELPED}|\bran\b)[^\n]{{0,30}}\b(?:after|when|once|by|as soon as|if)\b[^\n.]{{0,16}}\b(?:clos|shut|stop|kill|quit|terminat)\w*(?: down)?\b[^\n.]{{0,24}}\b(?:first|other|old|previous|former|another|second|unused|earlier)\b(?: \w+)? (?:notebooks?|kernels?|sessions?)\b"
        r"|\b(?:first|other|old|previous|another|second|earlier)\b(?: \w+)? (?:notebook|kernel|session)\b[^\n.]{0,40}\b(?:still|had not|hadn't|did not|didn't|never|has not|hasn't)\b[^\n.]{0,24}\b(?:GPU|memory)\b",
        "I closed the other notebook and then it worked",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near=(
            "clos|shut|stop|kill|quit|terminat|still|had not|hadn't|did not|didn't|never|has not|hasn't",
            HELPED_NEAR + "|ran|run|gpu|memory",
        ),
    ),
    spoken(
        "driver-said-old",
        "driver",
        rf"\b(?:updat|upgrad)(?:e|ed|ing) (?:\w+ ){{0,4}}?(?:NVIDIA |graphics |GPU |video |card |display )drivers?\b[^\n]{{0,60}}?{HELPED}|{HELPED}[^\n]{{0,30}}\b(?:after|by|when|once)\b[^\n.]{{0,12}}\b(?:updat|upgrad)(?:e|ed|ing) (?:\w+ ){{0,4}}?(?:NVIDIA |graphics |GPU |video |card |display )drivers?\b",
        "Updated the NVIDIA driver to 535. Everything works",
        near=("updat|upgrad", HELPED_NEAR),
    ),
    spoken(
        "gpu-stopped",
        ("gpu", "cuda", "nvidia-docker", "graphics card"),
        r"\b(?:CUDA|GPUs?|nvidia-docker|graphics card)\b[^\n.]{0,30}\b(?:stops?|stopped) working\b|\b(?:CUDA|GPUs?|graphics card)\b[^\n.]{0,24}\b(?:does(?: not|n't)|did(?: not|n't)|fails? to|no longer)(?: \w+)?? (?:works?|initiali[sz]es?|responds?|answers?|come back)\b"
        r"|\b(?:CUDA|GPUs?)\b[^\n.]{0,16}\b(?:is|becomes|became|was) (?:gone|dead|lost|unavailable|unusable)\b",
        "CUDA does not initialise any more",
        near="stop|not |n't |fail|no longer|gone|dead|lost|unavail|unusab",
    ),
    spoken(
        "driver-said-down",
        "driver",
        r"\b(?:nvidia |graphics )?drivers?\b[^\n.]{0,24}?\b(?:is|are|was|were|does|did|do|will)(?: not|n't| no longer)(?: be)?(?: \w+)? (?:load|loaded|come up|get loaded|being loaded)\b",
        "the driver is no longer loaded at boot",
        near="load|come up",
    ),
    spoken(
        "cudnn-version-told",
        "cudnn",
        rf"(?:{HELPED}|\b(?:able to|could|can) (?:fix|solve|resolve)\b){_WITHIN}{{0,40}}\b(?:by|after|with|when I) {_MOVED} (?:back )?(?:from \S{{1,12}} )?(?:to )?(?:the |my )?cudnn\b{_WITHIN}{{0,16}}?\d"
        rf"|\b{_MOVED} (?:back )?(?:to )?(?:the |my )?cudnn\b{_WITHIN}{{0,24}}?\d(?:\.\d+){{0,2}}[^\n.,;]{{0,60}}?{HELPED}",
        "I could solve it by downgrading cuDNN to 7.0",
        near=("downgrad|upgrad|updat|switch|going|went|roll|revert", HELPED_NEAR + "|able to|could|can "),
    ),
    spoken(
        "tensorflow-not-installed",
        ("module tensorflow", "module 'tensorflow", 'module "tensorflow', "module `tensorflow", "tensorflow module"),
        r"\bmodule ['\"`]?tensorflow['\"`]?(?: was| is|:)? not found\b(?! in)|\btensorflow module(?: was| is|:)? (?:not found|missing)\b",
        "the notebook says that the tensorflow module is not found",
        near="not found|missing",
    ),
    spoken(
        "renumbered",
        "renumber",
        r"\brenumber(?:s|ed|ing)?\b[^\n.]{0,30}\b(?:devices?|GPUs?|cards?)\b|\b(?:devices?|GPUs?|cards?)\b[^\n.]{0,24}\brenumbered\b",
        "CUDA renumbers the cards that it sees",
    ),
    spoken(
        "container-lacks-gpu",
        ("docker-compose", "docker compose"),
        r"\bno GPU\b[^\n]{0,60}\bdocker[- ]compose\b[^\n]{0,60}\bdocker run\b|\b(?:not|n't|cannot|no) (?:\w+ ){0,3}?(?:the |my |any )?GPUs?\b[^\n]{0,40}\bdocker[- ]compose\b[^\n]{0,60}\b(?:works?|fine|sees|finds)\b[^\n]{0,24}\bdocker run\b"
        r"|\bdocker run\b[^\n]{0,40}\b(?:works?|fine|sees|finds)\b[^\n]{0,60}\bdocker[- ]compose\b[^\n]{0,40}\b(?:not|n't|cannot|no|without)\b[^\n]{0,20}\bGPUs?\b",
        "no GPU under docker-compose, and docker run has it",
        near=("docker run", "gpu"),
    ),
)
