"""Signatures for what people and programs say about the circumstances of a run: memory, other processes, how
a program ended, the environment."""

from __future__ import annotations

import re

from doctor.facts import Fact, LibraryNotLoaded, Source, Symptom
from doctor.logs.signatures.signature import Signature, glued, sig, spoken


def ran_out(match: re.Match[str], source: Source) -> Fact | None:
    """Return the symptom for memory that ran out, or None if the words before the match deny that."""
    before = match.string[max(0, match.start() - 48) : match.start()].rpartition("\n")[2]
    denied = (
        r"(?:nothing to do with|(?:not|n't) (?:\w+ )?(?:related|due) to|unrelated to|(?:not|n't) (?:because"
        r" of|a matter of)|(?:is|was|'s) not|(?:is|was)n't)(?: (?:an?|the|any|some))?[ '\"`*]{1,3}(?:\w+ )?"
    )
    return None if re.search(rf"\b{denied}$", before, re.IGNORECASE) else Symptom(source, "oom-said")


def of_host(match: re.Match[str], source: Source) -> Fact | None:
    """Return the symptom for a host whose memory ran out, or None if the line is about the GPU's memory,
    because Chinese uses the same word for both."""
    if "内存" in match[0] and re.search(r"GPU|显存|显卡|batch", source.text, re.IGNORECASE):
        return None
    return Symptom(source, "host-memory-said")


_AFTER_RAM = " \t,):'\"`*-/(!;%>]|"

_RAM = r"\bRAM(?=[ \t,):'\"`*/(!;%>\]|-])"

_FILE = (
    r"(?<![a-z\d])(?P<name>(?:lib)?(?:nvcuda|zlibwapi|nv(?:rtc|jitlink)\w{0,12}"
    r"|cu(?:da|dart|blas|blasLt|fft|rand|solver|sparse|dnn)\w{0,20})"
    r"(?:\.dll|\.so(?:\.\d+){0,3}))"
)
_LOST = (
    r"(?:找不到|丢失|缺失|缺少|不存在|没有找到|not being found|[을를] 찾을 수 없"
    r"|[이가] ?없|[がを]見つ|が無|がな[いく]|がありません|no (?:se )?(?:encuentra|encontr\w+)"
    r"|não (?:foi )?encontr\w+|не найден\S*|отсутствует|fehlt|nicht gefunden"
    r"|introuvable|manquant\w*|bulunamad\w+|non (?:è stato )?trovat\w+|không tìm thấy|nie znaleziono)"
)
_LOST_BEFORE = (
    r"(?:找不到|缺少|没有找到|无法(?:加载|找到|定位)|no se (?:encuentra|encontró|puede encontrar)|falta(?: el"
    r" archivo)?|não encontr\w+(?: o arquivo)?|не (?:найден|находит|удалось найти|удалось загрузить)"
    r"|отсутствует|impossible de (?:trouver|charger)|es fehlt|không tìm thấy)"
)


def asked_for(match: re.Match[str], source: Source) -> Fact:
    """Return the fact for a library that does not load, from a sentence that says which version is installed
    instead."""
    return LibraryNotLoaded(source, match["name"].rstrip("."))


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "host-memory-said",
        (
            *(" ram", "-ram", *glued(("ram",), _AFTER_RAM), "swap", "内存"),
            *glued(("cpu", "host", "system", "main"), (" memory", "-memory", "-ram")),
        ),
        r"(?:CPU|host|system|main)[ -](?:ram|memory)\b[^\n.]{0,60}(?:used up|full|deplet|exhaust|runs?"
        rf" out|ran out|consum|increas|grow|explod|100 ?%)|{_RAM}[^\n.]{{0,40}}(?:used up|is full|fills? up"
        r"|filled up|(?:gets?|got|becomes?|goes|runs?) full|eaten up|all gone|deplet|exhaust|runs? out"
        r"|ran out|overflow|100 ?%)|(?:eats?|eating|fills?|filling|uses?|using|takes?|taking|consum\w+) "
        r"(?:up )?(?:all|every bit|the whole|most) (?:of )?(?:the |my |our |its )?(?:\w+ )?RAM\b"
        r"|\bswap\b[^\n.]{0,30}(?:fills? up|is full|gets? full|used up|runs? out)|(?:out of|runs? out of"
        r"|ran out of|not enough|fills?(?: up)?(?: the| all)?) (?:CPU |system |host )?RAM\b|内存(?:不足"
        r"|溢出|爆)|(?:crash|kill|die)\w*[^\n.]{0,60}using all (?:available|the|your) RAM|(?:consum"
        rf"|us|eat|tak|need)(?:es?|ing|s|ption)? [^\n.]{{0,24}}{_RAM}[^\n.]{{0,40}}\b(?:(?:gets?|is|was"
        r"|got|be|being) killed|crash(?:es|ed)?|dies|died)\b|session crashed after using all available RAM",
        "CPU RAM is used up bit by bit until the process dies",
        of_host,
    ),
    sig(
        "oom-said",
        "out of memory|oom|显存|内存不|메모리|メモリ不足",
        r"\bout of memory\b(?! trying to allocate [^\n]{0,80}(?:The caller indicates|$))"
        r"|\bOOMs?\b|显存不(?:足|够)|(?:GPU|显卡)的?内存不(?:足|够)|爆显存|显存爆|메모리 ?부족|メモリ不足",
        "it crashes (out of memory) after the third model",
        ran_out,
    ),
    sig(
        "shuffle-buffer",
        "filling up shuffle buffer|shuffle buffer filled",
        r"Filling up shuffle buffer|Shuffle buffer filled",
        "shuffle_dataset_op.cc:111] Filling up shuffle buffer (this may take a while): 257 of 2048",
    ),
    spoken(
        "process-died",
        "crash|killed|dies|died|dead|崩|restart|죽",
        r"(?:kernel|process|training|session|it|program|python)\b[^\n.]{0,30}(?:crash(?:es|ed)?"
        r"|(?:is|was|gets|got|be) killed|dies|died|appears to have died|restart(?:s|ed|ing))|崩溃|崩了|죽",
        "The kernel appears to have died. It will restart automatically.",
    ),
    spoken(
        "memory-grows",
        "memory|speicher|显存|memoria",
        r"memory[^\n.]{0,60}(?:rising|rises|goes up|builds up|build up|piles up|accumulat\w*|creeps"
        r" up|climbs|leaks?|is leaking)(?![^\n]{0,20}fragment)"
        r"|(?:release|free|clear|reset)\w* (?:\w+ ){0,4}?(?:GPU |CUDA"
        r" )?memory[^\n.?]{0,60}(?:fold|cross.validation|iteration|trial|each model|loop|between"
        r" models)|显存[^\n]{0,12}(?:越来越|不断|一直)(?:大|增|上升)",
        "The GPU memory is rising through iterations of cross-validation",
        near=(
            "rising|rises|goes up|builds up|build up|piles up|accumulat|creeps|climbs|leak|fold|validation|"
            "iteration|trial|each model|loop|between models|大|增|上升"
        ),
    ),
    spoken(
        "exclusive-mode",
        "exclusive|prohibited|e. process|e. thread",
        r"exclusive[ _-](?:mode|process|thread|use\b)"
        r"|compute[ _-]?mode[^\n]{0,20}(?:exclusive|prohibited)|%\s+(?:E\. (?:Process|Thread)|Prohibited)\b",
        "The nvidia driver is in exclusive mode",
    ),
    sig(
        "segfault",
        "segmentation fault|段错误|speicherzugriffsfehler|sigsegv|bus error|sigbus",
        r"Segmentation fault|段错误|Speicherzugriffsfehler|SIGSEGV|Bus error|SIGBUS",
        "Segmentation fault (core dumped)",
    ),
    sig(
        "traceback",
        "traceback (most recent call last)|fatal python error|aborted (core dumped)|"
        "check failure stack trace",
        r"Traceback \(most recent call last\)"
        r"|Fatal Python error|Aborted \(core dumped\)|Check failure stack trace",
        "Traceback (most recent call last):",
    ),
    spoken(
        "smi-works",
        "nvidia-smi|nvida-smi|nvidia smi|nvida smi",
        r"nvidi?a[- ]smi\W{0,3}(?![^\n.|]{0,24}(?:\bnot\b|n['’]t\b|no longer|never))"
        r"[^\n.|]{0,30}?\b(?:works?|is (?:good|fine|ok)|(?:are |looks?"
        r" )?(?:good|fine|ok)|shows? (?:the|my|both|all|a|2|two)|lists?|saw|sees|normal|正常)\b",
        "what nvidia-smi prints is good",
    ),
    spoken(
        "renumbered",
        "visible_devices|gpu:0|gpu:1",
        r"VISIBLE_DEVICES[`'\"]? ?(?:=|to|as|is)"
        r" ?[`'\"]?\d[^\n]{0,30}\b(?:but|yet|however)\b[^\n.]{0,24}\b(?:uses?|used|using|takes?|runs? on|ran"
        r" on|goes to|allocates? (?:memory )?on|starts? on)\b[^\n.]{0,16}\bGPU[ :#]?\d"
        r"|VISIBLE_DEVICES[^\n]{0,160}(?:\n[^\n]{0,160})?(?:no use|ignored|has no effect|does ?n[o']t"
        r" work|not work\w*|keeps?|kept|always|all the same|none the less|nonetheless|still|but|seems?|in"
        r" vain)\b[^\n]{0,60}\bgpu:?\s?[01]\b"
        r"|(?:why|how)[^\n]{0,40}VISIBLE_DEVICES[^\n]{0,20}(?:no use|not"
        r" work\w*|useless|ignored)|VISIBLE_DEVICES (?:is |does )?not work(?:ing)?"
        r"|(?:starts|shows|uses|reports|takes) (?:with |only )?GPU:0[^\n]{0,40}(?:instead|although|even"
        r" though|none the less|none ?the ?less)",
        "CUDA_VISIBLE_DEVICES=2 is ignored, it still takes gpu:0",
        lines=2,
        near=(
            "but|yet|however|no use|ignored|no effect|work|keep|kept|always|all the same|less|still|seem|"
            "in vain|instead|although|even though"
        ),
    ),
    spoken(
        "renumbered",
        "visible_devices|nvidia-smi",
        r"\bGPU[ :#]?0\b[^\n.]{0,40}\b(?:even (?:if|though|when)?"
        r"|although|despite|while)\b[^\n.]{0,30}VISIBLE_DEVICES[`'\"]? ?(?:=|to|is|as) ?[`'\"]?[1-9]"
        r"|\b(?:devices?|GPUs?|cards?) (?:indexes|indices"
        r"|index|ids?|numbers?|numbering|order(?:ing)?)\b[^\n.]{0,30}\b(?:mismatch\w*|differ\w*|(?:do(?:es)?"
        r"|is|are)(?: not|n't) (?:match|agree|the same)|reversed|swapped)\b[^\n.]{0,24}nvidia-smi"
        r"|nvidia-smi\b[^\n.]{0,40}\b(?:other|different|reversed?|opposite|another) order\b",
        "it runs on GPU 0 although CUDA_VISIBLE_DEVICES=2",
    ),
    spoken(
        "listing-of-users",
        "/dev/nvidia|...m|f..m|f.m|fm",
        r"F\.{0,3}m\.* +(?P<name>python\S*)|/dev/nvidia\d[^\n]{0,60}\s(?P<pid>\d{2,7})\s+F\.{3}m\s+python",
        "/dev/nvidia0:        user     20450 F...m  python",
        near="python",
    ),
    spoken(
        "other-process",
        " process| notebook| kernel|进程| job|kill| training| session|memory stays|memory is still|"
        "memory remains|another notebook",
        r"(?:another|other|second|old|left-?over|zombie|background|two|several) (?:\w+ ){0,2}(?:python "
        r"|tensorflow )?(?:process(?:es)?|notebooks?|kernels?|jobs?|trainings?|sessions?)\b[^\n.]{0,80}"
        r"(?:memory|GPU|running|hold|taken|kill|occup)|(?:in|from) another notebook|kill(?:ed|ing)? (?:the "
        r"|all |that |those )?(?:\w+ )?(?:python )?process(?:es)?|(?:sort|look)[^\n.]{0,40}python process"
        r"|进程[^\n]{0,10}(?:占|杀)|memory (?:stays|is still|remains) (?:taken|allocated|occupied|in use)",
        "I killed the old python processes and the memory was free again",
        near=(
            "memory|gpu|running|hold|taken|kill|occup|another notebook|python process|占|杀|memory stays|"
            "memory is still|memory remains"
        ),
    ),
    sig(
        "gpu-package-removed",
        "tensorflow-gpu-2.12.0.tar|tensorflow_gpu-2.12.0.tar|tensorflow-gpu==2.|tensorflow_gpu==2.",
        r"tensorflow[-_]gpu-2\.12\.0\.tar(?:\.gz)?"
        r"|(?<!conda )(?<!mamba )\binstall\b[^\n]{0,60}(?<!forge::)tensorflow[-_]gpu==2\.(?:1[2-9]|[2-9]\d)",
        "Using cached tensorflow-gpu-2.12.0.tar.gz (2.6 kB)",
    ),
    sig(  # pip takes the newest release, the stub 2.12
        "gpu-package-unpinned",
        "tensorflow-gpu|tensorflow_gpu",
        r"^[\s>*-]{0,12}[\"']?tensorflow[-_]gpu[\"']?,?[ \t]*$"
        r"|\btensorflow[-_]gpu\b[`'\"]? (?:without|with no) (?:an? |any )?(?:version|pin)"
        r"|\binstall tensorflow[-_]gpu\b(?![\w=<>~!\[-])[^\n]{1,80}(?:(?<![\d.])2\.12(?![\d])|metadata)",
        "tensorflow-gpu",
    ),
    sig(
        "gpu-package-removed",
        "python_version>",
        r"python_version>\\?[\"']3\.7\\?[\"']",
        '    python_version>"3.7"',
    ),
    sig(
        "protobuf-conflict",
        "_pb2.py",
        r"File \"[^\"\n]{0,200}tensorflow[/\\](?:core|python|tsl)[/\\][^\"\n]{0,120}_pb2\.py\", line \d+, in"
        r" <module>",
        'File "/usr/lib/python3.8/site-packages/tensorflow/core/framework/function_pb2.py", line 16, in'
        " <module>",
    ),
    sig(
        "docker-no-gpu",
        "[[gpu]]",
        r"capabilities:? (?:with )?\[\[gpu\]\]",
        "no capabilities with [[gpu]], but GPU is available",
    ),
    spoken(
        "one-gpu-said",
        "only|single|one gpu|just |one |1x|1 x",
        r"\b(?:the|my) only (?:GPU|(?:graphics |video )?card)\b(?! (?:that|which|to))"
        r"|\b(?:only|just) (?:have |has |got )?(?:one|a single|1) (?:NVIDIA )?GPU\b"
        r"|\b(?:one|a single) GPU in (?:the|my|this) (?:machine|computer|PC|box)\b"
        r"|\b(?:one|a single|1 ?x) (?:NVIDIA )?(?:GeForce )?(?:RTX|GTX|Tesla|Quadro|TITAN)\b"
        r"(?! [^.;\n]{0,60}\b(?:and|plus)\b [^.;\n]{0,20}(?:RTX|GTX|Tesla|Quadro|TITAN))",
        "GTX 1070 (the only card)",
        near="gpu|card|rtx|gtx|tesla|quadro|titan",
    ),
    sig(
        "login-node",
        "login",
        r"host: \S{0,20}login\S{0,20}|host \(\S{0,20}login\S{0,20}\)"
        r"|^\W{0,3}\w[\w.-]{0,40}@[\w-]{0,20}login[\w.-]{0,40}[: ~]",  # a shell's prompt
        "retrieving CUDA diagnostic information for host: ml-login2",
    ),
    sig(
        "and-cuda-installed",
        "[and-cuda]|[and_cuda]",
        r"tensorflow\[and[-_]cuda\]",
        "python3 -m pip install tensorflow[and-cuda]",
    ),
    sig(
        "smi-cuda-unknown",
        "cuda version: n/a|cuda version: err!",
        r"Driver Version: (?P<driver>[\d.]+)\s+CUDA Version: (?P<value>N/A|ERR!)",
        "| NVIDIA-SMI 460.91.03    Driver Version: 460.91.03    CUDA Version: N/A      |",
    ),
    sig(
        "no-known-devices",
        "no known devices",
        r"Device mapping: no known devices",
        "Device mapping: no known devices.",
    ),
    sig("stub-library", "/stubs", r"lib64/stubs\b", "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs"),
    spoken(
        "slow-first-run",
        "minutes|mins|hours|slow|long|ages|forever|eternity",
        r"(?:takes?|took|needs?|taking) (?:too long|about |around |over |more than |up to"
        r" )?(?:\d+(?:-\d+)?|several|many|ten|some)? ?(?:min(?:ute)?s\b|too"
        r" long)|(?:too|very|extremely|so|really|quite|awfully|terribly|incredibly) (?:long|slow)(?:ly)?\b"
        r"|\b(?:takes?|took|taking|needs?|needed|lasts?)\b[^\n.]{0,24}\b(?:ages|forever|hours|an"
        r" eternity|(?:a )?(?:very |really |quite a )?long (?:time|while))\b|\bslow (?:\w+"
        r" )?(?:start|initiali[sz]ation|loading|first)",
        "the first call takes 35 minutes",
        near="take|took|taking|need|too|very|extremely|so |really|quite|awful|terrib|incredib|last|slow ",
    ),
    spoken(
        "slower-on-gpu",
        "slower",
        r"\bslower\b[^\n.]{0,40}\bGPUs?\b|\bGPUs?\b[^\n.]{0,40}\bslower\b",
        "Training is slower on the GPU than on the CPU",
        near="gpu",
    ),
    sig(
        "rocm-library",
        "libamdhip64|librocblas|libmiopen|librocm",
        r"(?P<name>lib(?:amdhip64|rocblas|MIOpen|rocm\w*)\.so(?:\.\d+)*): cannot open shared object",
        "ImportError: libamdhip64.so.3: cannot open shared object file: No such file or directory",
    ),
    sig(
        "directml-no-adapter",
        "found 0 compatible adapters",
        r"DirectML device enumeration: found 0 compatible adapters",
        "DirectML device enumeration: found 0 compatible adapters.",
    ),
    spoken(  # not in TensorFlow's advice for Windows, "use WSL2 or the TensorFlow-DirectML plugin"
        "directml-named",
        "directml",
        r"(?<!or the )(?<!or the TensorFlow-)(?<!not )(?<!without )\b(?:tensorflow[-_ ])?DirectML\b(?!:)",
        "How do I install the DirectML plugin?",
        once=True,
    ),
    sig(
        "permission-by-escalation",
        "privileged|escalated|as root|sudo|with root|under root",
        r"non-?(?:escalated|privileged)[^\n]{0,80}(?:no GPU|saw no|fail|cuInit)"
        r"|(?:only|works?)[^\n.]{0,20}(?:with|as|under) (?:sudo|root)\b",
        "non-escalated runs saw no GPU",
    ),
    spoken(  # one version of a library is requested, and another one is installed
        "library-not-loaded",
        ".so.|64_",
        r"\b(?:wants?|wanted|needs?|(?:looks?|looking|asks?|asking|search(?:es|ing)?) for|requires?|expects?"
        r"|(?:tries|trying) to (?:open|load|find)) (?:the |for )?(?:library |file )?[`'\"]{0,2}(?P<name>lib"
        r"(?:cu|nv)\w{2,16}\.so\.\d[\d.]*|cu\w{2,10}64_\d{1,3}(?:\.dll)?)[`'\"]{0,2}[^\n.]{0,24}?\b(?:but"
        r"|while|whereas|although|and)\b[^\n]{0,30}\b(?:have|has|got|installed|there is|only|is)\b",
        "it wants libcudart.so.10.0 but I have CUDA 10.1",
        asked_for,
        near=("want|need|for |requir|expect|tries to|trying to", "but|while|whereas|although|and"),
    ),
    spoken(
        "library-not-loaded",
        ".so.|64_",
        r"\bcuda (?:toolkit )?(?:version )?v?\d{1,2}\.\d\b[^\n]{0,60}?\b(?:wants?"
        r"|needs?|(?:looks?|looking|asks?|asking) for|requires?|expects?|tries to (?:open|load)) (?:the "
        r"|for )?[`'\"]{0,2}(?P<name>lib(?:cu|nv)\w{2,16}\.so\.\d[\d.]*|cu\w{2,10}64_\d{1,3}(?:\.dll)?)",
        "CUDA 11.2 is installed and TensorFlow asks for cudart64_101.dll",
        asked_for,
        near=("want|need|for |requir|expect|tries to", "cuda"),
    ),
    spoken(  # loading.py contains the same signature for programs' output
        "library-not-loaded",
        ".dll|.so",
        rf"{_FILE}[`'\"”」]?(?:[^\n\w]{{0,3}}|[^\n]{{0,3}}是){_LOST}"
        rf"|{_LOST_BEFORE}[^\n\w]{{0,4}}{_FILE.replace('name', 'n2', 1)}",
        "No se encuentra cudart64_110.dll",
        lambda m, s: LibraryNotLoaded(s, (m["name"] or m["n2"]).strip()),
        near=(
            "找不到|丢失|缺失|缺少|不存在|没有找到|无法|not being found|찾을 수 없|없|見つ|無|がな|"
            "がありません|encuentr|encontr|удалось|найд|находит|отсутствует|fehlt|nicht gefunden|"
            "introuvable|manquant|bulunamad|trovat|không tìm|znaleziono|falta|impossible de "
        ),
    ),
    spoken(
        "path-suggested",
        "export ld_library_path|ld.so.conf|add ld_library_path|`ld_library_path|set path=|ldconfig|"
        "to the path|to path|환경변수|환경 변수|环境变量|環境変数|add 'ld_library_path=|"
        'add "ld_library_path=|adding \'ld_library_path=|adding "ld_library_path=|adding ld_library_path=',
        r"export LD_LIBRARY_PATH=[^\n]{0,160}(?:cuda|/lib|nvidia)"
        r"|\badd(?:ing)? [`'\"]?LD_LIBRARY_PATH=[^\n]{0,80}"
        r"|/etc/ld\.so\.conf\.d/\S+(?!\S)[^\n]{0,60}(?:\n[^\n]{0,20})?ldconfig"
        r"|>> ?/etc/ld\.so\.conf\.d/\w+|\bset PATH=[^\n]{0,60}(?:cud(?:a|nn)|%PATH%)"
        r"|LD_LIBRARY_PATH[^\n]{0,60}(?:环境变量|環境変数|환경 ?변수)",
        'export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/opt/cuda/lib64"',
        lines=2,
    ),
)
