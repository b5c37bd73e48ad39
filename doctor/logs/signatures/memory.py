"""Signatures about GPU memory, host memory, and the settings that limit how much TensorFlow uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Fact, GpuMemory, GpuProcess, Source, Symptom
from doctor.logs.signatures.devices import mib
from doctor.logs.signatures.signature import Signature, sig, spoken


def _bytes_mib(text: str) -> int:
    return int(text[:20]) // (1 << 20)


def alloc_failed(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom for an allocation that the driver refused; `mib` is its size."""
    return Symptom(source, "device-alloc-failed", (("mib", str(_bytes_mib(match["bytes"]))),))


def limit_in_use(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom with the allocator's limit and the memory in use, in MiB."""
    return Symptom(
        source,
        "allocator-stats",
        (("limit", str(_bytes_mib(match["limit"]))), ("in_use", str(_bytes_mib(match["used"])))),
    )


SMI_LINE = 200
"""A line of an nvidia-smi table has at most this many characters."""
_SMI_CARD = lazy.compile(r"\|\s{1,4}(\d{1,3}) {1,4}[^\n|]{1,80}\|[^\n]{0,120}\Z")
"""Matches the line of a card's number and name at the end of a text."""


def smi_usage(match: re.Match[str], source: Source) -> Fact:
    """Create the GpuMemory fact for one card in an nvidia-smi table. The card's number is in the line above;
    without that line, the fact is about GPU 0."""
    used, total = int(match["used"]), int(match["total"])
    above = match.string[: match.string.rfind("\n", 0, match.start()) + 1][-SMI_LINE:].rstrip("\n")
    card = _SMI_CARD.search(above)
    return GpuMemory(source, int(card[1]) if card else 0, total, used, max(total - used, 0))


def smi_process(match: re.Match[str], source: Source) -> Fact:
    """Create the GpuProcess fact for one process in an nvidia-smi table."""
    name = match["name"].strip().rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    return GpuProcess(source, int(match["pid"]), name, int(match["mib"]), int(match["index"]))


def held_by_others(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the symptoms that show what uses the GPU's memory: other processes if more than half of it is
    neither free nor used by PyTorch itself, or the program itself if it uses more than half."""
    total, free = mib(match["total"] or match["whole"]), mib(match["free"] or match["left"])
    own = mib(match["reserved"] or match["own"] or match["used"])
    if total is None or own is None or free is None:
        return
    if own + free < total / 2:
        yield Symptom(source, "other-process", (("held", str(total - own - free)),))
        yield Symptom(source, "cuda-out-of-memory")
    elif own > total / 2:
        yield Symptom(source, "tensor-oom")


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "cuda-out-of-memory",
        "total capacity",
        r"\(GPU (?P<index>\d{1,3}); (?P<total>[\d.]{1,8} [GM]iB) total capacity; "
        r"(?P<own>[\d.]{1,8} [GMK]iB) already allocated; (?P<free>[\d.]{1,8} (?:[GMK]iB"
        r"|bytes)) free(?:; (?P<reserved>[\d.]{1,8} [GMK]iB) (?:reserved|cached))?"
        r"|has a total capacity of (?P<whole>[\d.]{1,8} [GM]iB) of which (?P<left>[\d.]{1,8} (?:[GMK]iB"
        r"|bytes)) is free\.[^\n]{0,120}\bthis process has (?P<used>[\d.]{1,8} [GMK]iB) memory in use",
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 31.75 GiB total capacity; 5.22 GiB already"
        " allocated; 44.69 MiB free; 5.30 GiB reserved in total by PyTorch)",
        held_by_others,
        origin="c10/cuda/CUDACachingAllocator.cpp",
    ),
    sig(
        "cuda-out-of-memory",
        "cuda error (failed to allocate",
        r"CUDA error \(failed to allocate",
        "CUDA error (failed to allocate 1024 bytes)",
    ),
    sig(  # from DALI, whose memory is not part of TensorFlow's pool
        "bfc-out-of-memory",
        "bytes on device",
        r"Can't allocate (?P<bytes>\d{1,20}) bytes on device \d",
        "Can't allocate 6383730688 bytes on device 0.",
    ),
    sig(  # the allocator lists its chunks only if an allocation finally failed
        "bfc-out-of-memory",
        "chunks of size |in-use chunks by size",
        r"bfc_allocator\.cc:\d{1,5}\] {0,12}(?:\d{1,8} Chunks of size \d{1,20} totalling|Summary of in-use"
        r" Chunks by size)",
        "bfc_allocator.cc:679] 3 Chunks of size 981504 totalling 2.81MiB",
        origin="tensorflow/core/common_runtime/bfc_allocator.cc",
    ),
    sig(
        "device-alloc-failed",
        "from device: cuda_error_out_of_memory",
        r"failed to allocate \S+ \((?P<bytes>\d+) bytes\) from device: CUDA_ERROR_OUT_OF_MEMORY",
        "cuda_driver.cc:1002] failed to allocate 190.31M (199557120 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY",
        alloc_failed,
    ),
    sig(
        "tensor-oom",
        "oom when allocating tensor|resource exhausted: oom|failed to allocate request for|"
        "failed copying input tensor|out of memory while trying to allocate|failed to allocate memory|"
        "ran out of gpu memory|out of memory allocating|out of memory error on gpu|"
        "is smaller than requested bytes",
        r"OOM when allocating tensor(?: (?:with|of) shape ?\[?(?P<shape>\d[\d,x ]{0,79})(?:\]? and type"
        r" (?P<type>\w{3,9}))?)?(?:[^\n]{0,120}on (?P<device>\S+) by allocator (?P<allocator>\w+))?"
        r"|Out of memory while trying to allocate (?P<bytes>\d+(?= bytes)|[\d.]{1,8}[KMGT]i?B)"
        r"|Out of memory allocating [\d,]{1,20} bytes \(allocated so far"
        r"|Out of memory error on GPU \d{1,3}\. Cannot allocate"
        r"|Failed to allocate memory for requested buffer of"
        r" size|Available memory of \d{1,20} is smaller than requested bytes|failed to allocate request for"
        r"|ran out"
        r" of GPU memory"
        r"|Failed copying input tensor[^\n]{0,200}Dst tensor is not initialized"
        r"|(?:^\W{0,8}|\}\} |Error: )failed to allocate memory(?= ?\[Op:|\s*$)",
        "OOM when allocating tensor with shape[256,1024,1024] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    ),
    sig(
        "resource-exhausted",
        "resourceexhausted|resource_exhausted|resource exhausted",
        r"Resource[ _]?Exhausted(?:Error)?",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor",
    ),
    sig(  # the advice with which every such error ends
        "resource-exhausted",
        "add report_tensor_allocations_upon_oom",
        r"add report_tensor_allocations_upon_oom to RunOptions",
        "Hint: If you want to see a list of allocated tensors when OOM happens, add"
        " report_tensor_allocations_upon_oom to RunOptions for current allocation info.",
        origin="tensorflow/core/common_runtime/executor.cc, direct_session.cc",
    ),
    sig(  # from faceswap, instead of the error that TensorFlow raised
        "resource-exhausted",
        "you do not have enough gpu memory available to",
        r"You do not have enough GPU memory available to (?:train the selected model|run detection|run)",
        "You do not have enough GPU memory available to train the selected model at the selected settings.",
        origin="faceswap, plugins/train/trainer/_base.py, plugins/extract/_base.py (from"
        " ResourceExhaustedError)",
    ),
    sig(  # GPUtil leaves out GPUs with more than half of their memory or load in use
        "other-process",
        "gpu(s) is available, but ask for",
        r"only 0 GPU\(s\) is available, but ask for (?P<held>\d{1,3})",
        "W:[server.py:85]:only 0 GPU(s) is available, but ask for 4",
        origin="bert-serving-server, bert_serving/server/__init__.py",
    ),
    sig(
        "dst-not-initialized",
        "dst tensor is not initialized",
        r"Dst tensor is not initialized",
        "InternalError: Dst tensor is not initialized.",
    ),
    sig(
        "bfc-out-of-memory",
        "ran out of memory trying to allocate",
        r"Allocator \((?P<allocator>\w+)\) ran out of memory trying to allocate"
        r" (?P<size>[\d.]+[a-zA-Z]*)(?![^\n]{0,80}(?:\n[^\n]{0,60}){0,2}?not a failure)",
        "bfc_allocator.cc:267] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB.  Current"
        " allocation summary follows.",
        lines=3,
        origin="tensorflow/core/common_runtime/bfc_allocator.cc",
    ),
    sig(
        "allocator-stats",
        "inuse:",
        r"Limit:\s+(?P<limit>\d+)\s*\n[^\n]{0,60}InUse:\s+(?P<used>\d+)",
        "Limit:                  5093090918\nInUse:                  5070107904",
        limit_in_use,
        lines=2,
    ),
    sig(
        "cpu-oom",
        "by allocator",
        r"OOM when allocating tensor[^\n]{0,160}(?:device:CPU:0|/cpu:0) by allocator \w+"
        r"|by allocator (?:cpu|mklcpu)\b",
        "OOM when allocating tensor with shape[1,2] and type float on"
        " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
    ),
    sig(
        "host-killed",
        "oom-killer|oom_kill|out of memory: kill|oom-kill|exit code 137|exitcode 137|oomkilled|"
        " memory limit|running low on memory|is killed by signal|operating system to kill|exceeded limit|"
        "out-of-memory handler|term_memlimit|oom killed|signal 9|sigkill|code: 137|code 137|status 137|"
        "status (137|status: (137|code (137|code: (137|status: 137|finished with|signal signal 9|"
        "exit code 9|signal exit code|by signal 9",
        r"invoked oom-killer|Out of memory: Kill(?:ed)? process|oom-kill(?:er)?\b|oom_kill event"
        r"|OOM ?Killed|exceeded (?:\w{2,8} ){0,3}memory limit|\bmem \w{1,16} exceeded limit|oom_kill_process"
        r"|killed due to the node running low on memory|worker \(pid \d{1,9}\) is killed by signal: Killed"
        r"|excessive memory usage causing the Operating System to kill"
        r"|killed by the cgroup out-of-memory handler|TERM_MEMLIMIT"
        r"|exit(?:s|ed|ing)?(?: with)? ?(?:code|status):? \(?137\b|terminated by signal 9\b|(?:finished with"
        r"|signal) (?:exit code )?(?:signal )?9(?: ?\(?:?.?SIGKILL|\b:? ?Killed)|interrupted by signal 9",
        "python invoked oom-killer: gfp_mask=0x24280ca, order=0, oom_score_adj=0",
    ),
    sig(
        "host-killed",
        "oom killer|by oom|by the oom|low on resource: memory|zsh: killed",
        r"\bOOM killer\b|low on resource: memory|zsh: killed\b|\b(?:jobs?"
        r"|pods?|containers?|workers?|tasks?|steps?|process(?:es)?)\b[^\n.]{0,40}\bkilled by (?:the )?OOM\b",
        "two jobs were killed by OOM after an hour",
    ),
    sig(
        "host-killed",
        "killed",
        r"^(?:#{1,4} |\$ |.{0,30}\d+ )?\s*Killed(?:\s+python.{0,60}|\s*\[?.{0,12})?$|\]Killed$|Killed: 9$"
        r"|Killed \(core dumped\)",
        "Killed",
    ),
    sig(
        "host-killed",
        "已杀死|getötet|processus arrêté|terminado (killed)",
        r"^(?:\W{0,4}|.{0,60}\d+ )(?:已杀死|Getötet|Processus arrêté)(?:\s+\(?python.{0,60})?$"
        r"|Terminado \(killed\)",
        "已杀死",
    ),
    sig(  # in a sentence; anything other than a lack of memory would say why it kills a program
        "killed-said",
        "killed|被kill|被 kill|kernel kills|system kills|system killed|kernel killed|os kills|os killed|"
        "linux kills|linux killed",
        r"\b(?:just|only|says?|prints?|with|message|gets?|got|shows?|see)(?: a| the| word| message){0,2}"
        r" [`'\"“‘]killed\b"
        r"|\b(?:process|program|script|training|python|job|train\w*\.py)(?: just| always| keeps?| kept|"
        r" gets?| got| getting| is| was| being| be){1,3} killed\b(?! (?:by me|manually|myself|with))"
        r"|\b[\w-]{2,60}\.py(?: is| was| gets?| got| being| getting){0,2} killed\b(?! (?:by"
        r" me|manually|myself|with))|\bprocess killed"
        r" (?:suddenly|abruptly|unexpectedly|randomly|silently|without)\b"
        r"|被 ?kill(?:ed)?|\b(?:system|kernel|OS|linux) (?:kills|killed) (?:my|the|this)"
        r" (?:process|program|script|training|job)\b",
        "my training process gets killed after the first epoch",
    ),
    sig(  # TensorFlow's remark about a large allocation, and what happened next
        "host-killed",
        "10% of",
        r"exceed\w* 10% of (?:free |the )?(?:\w+ )?memory(?:[^\n]*\n){0,2}[^\n]{0,80}(?<!not )\b(?:got |was"
        r" |is |gets |then |and )?[`'\"]?killed\b",
        "Allocation of 1024 exceeds 10% of system memory.\nAnd then it was killed",
        lines=3,
    ),
    sig(  # the memory that filled up before the message
        "host-killed",
        "killed",
        r"\b(?:takes?|took|taking|eats?|ate|eating|uses?|used|using|consum(?:es?|ed|ing)"
        r"|fills?|filled|needs?) (?:up )?all (?:of the |the |my |available )?(?:system |host )?(?:memory"
        r"|RAM)\b[^\n.]{0,48}(?<!not )\b(?:is|was|gets?|got|then|be|being|and|finally) killed\b(?! by me)",
        "it takes all the memory, nearly 40GB, and is killed",
        near="all mem|all ram|all the |all of the |all my |all avail|all system|all host",
    ),
    sig(  # each runtime has its own words; RAPIDS uses the same ones if CUDA refuses an allocation
        "host-alloc-failed",
        "std::bad_alloc|memoryerror|cannot allocate memory|unable to allocate|not enough memory: you tried|"
        "java.lang.outofmemoryerror|outofmemoryexception|cannot allocate vector|heap out of memory|"
        "runtime: out of memory|insufficient memory) failed|c error: out of memory|malloc of size|"
        "out of shared memory|winerror 8]|llvm error: out of memory",
        r"std::bad_alloc(?!\w|: \w)|^\W{0,8}(?:[a-z_]\w{0,30}\.){0,4}_?(?:Array"
        r"|Arrow)?MemoryError(?:\b|(?=Traceback))(?!: (?:std::|cu[A-Z]))"
        r"|Cannot allocate memory(?! in static TLS)"
        r"|Unable to allocate (?:(?P<size>[\d.]+ ?[KMGT]iB) for an )?array"
        r"|not enough memory: you tried to allocate"
        r"|java\.lang\.OutOfMemoryError|System\.OutOfMemoryException|cannot allocate vector of (?:size"
        r"|length)"
        r"|JavaScript heap out of memory|runtime: out of memory|\(-4:Insufficient memory\) Failed to allocate"
        r"|\b(?:C error|LLVM ERROR): out of memory|malloc of size \d{1,20} failed"
        r"|workers are out of shared memory"
        r"|WinError 8\]",
        "numpy.core._exceptions.MemoryError: Unable to allocate 21.6 GiB for an array with shape (60000, 224,"
        " 224, 3)",
    ),
    sig(
        "host-pinned-failed",
        "bytes on host|could not allocate pinned host memory",
        r"failed to alloc(?:ate)? (?P<bytes>\d+) bytes on host: CUDA_ERROR_\w+"
        r"|could not allocate pinned host memory",
        "cuda_driver.cc:1024] failed to alloc 17179869184 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of"
        " memory",
    ),
    spoken(
        "memory-grows",
        "memory|oom|exhaust|内存泄漏|显存泄漏",
        r"memory leak|leaking memory|memory (?:usage )?(?:slowly |constantly |steadily |gradually"
        r" )?(?:grows|keeps|increases|increasing|growing)"
        r"|(?:OOM|(?:out of|no) (?:GPU |CUDA |video |free )?memory|memory error|exhaust\w+)[^\n]{0,60}after"
        r" (?:several|a few|some|many|\d+) (?:epochs|iterations|folds|runs|models|trials|steps)"
        r"|(?:after (?:several|a few|some|many|\d+) (?:epochs|iterations|folds|models|trials)|\b\d+"
        r" (?:epochs|iterations|folds|models|trials) in\b)[^\n]{0,60}(?:OOM|(?:out of|no) (?:GPU |CUDA |video"
        r" |free )?memory|exhaust)"
        r"|memory[^\n]{0,40}(?:not released|not freed|never freed|never released)|内存泄漏|显存泄漏"
        r"|(?:second|2nd|third|next|each|every|\d+(?:th|nd|rd)) (?:fold|model|trial)[^\n]{0,60}(?:OOM|out of"
        r" memory|memory|Exhausted)",
        "There is a memory leak: memory usage keeps growing with every epoch until OOM",
        near="leak|grows|keeps|increas|growing|after |s in|released|freed|fold|model|trial|泄漏",
    ),
    spoken(  # also about RAM
        "memory-grows",
        "more and more ",
        r"\b(?:us|tak|eat|consum|need|allocat|occup|requir|claim)\w*(?: up)? more and more (?:of )?(?:the |my"
        r" |its )?(?:GPU |CPU |system |host |main |video )?(?:RAM|memory|VRAM)\b",
        "each search takes more and more RAM until the machine is stuck",
    ),
    spoken(
        "memory-grows",
        "without releasing|without freeing|without giving|given back",
        r"\b(?:RAM|memory|VRAM)\b[^\n.]{0,60}(?:\bwithout"
        r" (?:releasing|freeing|giving)|(?:\b(?:not|never)|n't) (?:being )?given back)",
        "the RAM that it uses goes up without releasing any",
        near="ram|memory",
    ),
    spoken(
        "memory-grows",
        "every |each |per trial|per epoch|per step|per iteration|per fold|per run|per model|per batch|"
        "per call",
        r"\b(?:eat|tak|us|consum|leak|add|grow|increas|need)\w*(?: up)?(?: by)? (?:about |around "
        r"|roughly |some |another |~)?\d+(?:\.\d+)? ?[MG]i?B\b[^\n.]{0,24}\b(?:(?:every|each) (?:\w+ )?"
        r"|per )(?:trial|epoch|step|iteration|fold|run|model|batch|call)(?:e?s)?\b",
        "it eats 1 GB more every 20 trials",
        near=("mb|gb|mib|gib", "eat|tak|us|consum|leak|add|grow|increas|need"),
    ),
    spoken(
        "memory-grows",
        "ram usage|ram use|ram consumption|ram memory|too fast|too quickly",
        r"\bRAM (?:usage|use|consumption|memory)\b(?: \w+){0,5}?"
        r" (?:grow\w*|ris(?:es|ing)|climb\w*|increas\w*|explod\w*|balloon\w*|spik\w*)\b"
        r"|\b(?:RAM|memory)\)? (?:usage )?-? ?(?:grow\w*|increas\w*|ris(?:es|ing)) (?:far |much |way )?too"
        r" (?:fast|quickly)\b",
        "the RAM usage of the tuner keeps growing",
        near="ram|memory",
    ),
    sig(
        "growth-set",
        "allow_growth|set_memory_growth|force_gpu_allow_growth|experimental.set_memory",
        r"allow_growth\s*=\s*True|set_memory_growth\([^\n)]{0,60},\s*(?:enable\s*=\s*)?True"
        r"|TF_FORCE_GPU_ALLOW_GROWTH['\"\]]*\s*=\s*['\"]?(?:true|1)",
        "config.gpu_options.allow_growth = True",
    ),
    sig(
        "fraction-set",
        "per_process_gpu_memory_fraction",
        r"per_process_gpu_memory_fraction\s*=\s*(?P<fraction>\d*\.?\d+)",
        "gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.333)",
    ),
    sig(
        "limit-set",
        "memory_limit",
        r"memory_limit\s*=\s*\(?(?P<mib>\d{1,8}(?:\s*\*\s*\d{1,5})?)",
        "tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)",
    ),
    sig(
        "smi-memory",
        "mib",
        r"(?P<used>\d{1,7})MiB\s*/\s*(?P<total>\d{2,8})MiB",
        "|  0%   50C    P8     9W / 170W |    152MiB /  5931MiB |      0%      Default |",
        smi_usage,
        near="mib/|mib /",
    ),
    sig(
        "smi-process",
        ("mib |", "mib|"),
        r"\|\s+(?P<index>\d{1,3})\s+(?:N/A\s+N/A\s+)?(?P<pid>\d{1,8})\s+(?P<type>C|G|C\+G"
        r"|M\+C)\s+(?P<name>\S[^|\n]{0,80}?)\s+(?P<mib>\d{1,7})MiB\s*\|",
        "|    0   N/A  N/A      4321      C   ...envs/tf/bin/python            10845MiB |",
        smi_process,
    ),
    spoken(
        "other-process",
        "another |other |zombie process|shared server|shared gpu server|previous |old run|old kernel|"
        "old process|old session|somebody else|someone else",
        r"(?:another|other) (?:python )?(?:process(?:es)?|notebook|kernel|user"
        r"|job|session|program|script|instance)s?\b[^\n.]{0,60}(?:gpu|memory|running|using|open|hold|occup)"
        r"|zombie process|shared (?:gpu )?server|(?:previous|old) (?:run"
        r"|kernel|process|session)[^\n.]{0,40}(?:still|memory|hold|running)|somebody else|someone else",
        "There was another process using the GPU memory on that server",
        near="gpu|memory|running|using|open|hold|occup|zombie|shared|still|somebody|someone",
    ),
    spoken(  # the first of several models, in separate processes or in one
        "other-process",
        "memory|vram|left for|used by |taken by |held by |occupied by |eaten by |hogged by ",
        r"\b(?:used|taken|held|occupied|eaten|hogged) by (?:another|an old|an other|a"
        r" second|somebody|someone|a"
        r" colleague)\b|\b(?:grabs?|grabbed|takes?|took|allocates?|allocated|reserves?|reserved|claims?"
        r"|occup(?:y|ies|ied)|hogs?|eats?)\b(?:"
        r" up)?(?: nearly| almost)? all (?:of )?(?:the |its )?(?:available )?"
        r"(?:GPU |video )?(?:memory|VRAM)\b[^\n.]{0,16} (?:for|in|by|with) (?:the )?first"
        r" (?:model|process|worker|job|instance|session|program|script)\b"
        r"|\b(?:nothing|no (?:GPU |video )?memory|no VRAM)\b[^\n.]{0,16} left for (?:the |any |a |my"
        r" )?(?:second|other|next|another|2nd)\b",
        "the whole of it: TensorFlow takes all the GPU memory for the first model",
        near="first|left for|another|an old|an other|a second|somebody|someone|a colleague",
    ),
    sig(  # Windows: RAM and paging file are full, whatever was being loaded
        "host-alloc-failed",
        "winerror 1455|error code 1455|paging file is too small|页面文件太小|auslagerungsdatei ist zu klein|"
        "ページング ファイルが小さ|페이징 파일이 너무 작|archivo de paginación es|arquivo de paginação é|"
        "fichier de pagination est|файл подкачки слишком мал",
        r"WinError 1455|Error code 1455|paging file is too small"
        r"|页面文件太小|Auslagerungsdatei ist zu klein|ページング ファイルが小さ|페이징 파일이 너무 작"
        r"|archivo de paginación es demasiado pequeño|arquivo de paginação é muito pequeno"
        r"|fichier de pagination est insuffisant|Файл подкачки слишком мал",
        "OSError: [WinError 1455] The paging file is too small for this operation to complete",
    ),
)
