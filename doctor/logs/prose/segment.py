"""The sentences of a report, set apart from what programs printed, from code, commands, tables and lists of packages.

In: a `Text`. Out: sentences with the input line in which each begins. A line is prose where most of it is words of
a natural language; lines that an editor or a mail program wrapped are joined again first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from doctor.logs.text import Text
from doctor.logs.windows import PRINTED

LINES = 2_000
"""Lines of a report in which sentences are looked for, half of them at its end: the rest of a long log holds none."""
LONGEST = 1_200
"""Characters of one line that are looked at: a longer line is no sentence, or says enough by then."""
MOST = 60
"""Sentences that are kept: the first and the last ones of a long text."""

_WIDE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_END = re.compile(r"(?<=[.!?])[\"')\]]{0,2}\s+(?=[\"'(\[]?[A-Z0-9\u00c0-\uffff])|(?<=[。！？])")
_FENCE = re.compile(r"\s*(?:```|~~~|<pre>|</pre>|<code>|</code>)")
_MARKUP = re.compile(r"^(?:\s*(?:>+|[-*+•]|\d{1,2}[.)]|#{1,6}|//)\s+)+|^\s*(?:Q:|A:)\s*|\*\*|__|<[^<>\n]{1,80}>")
_WORD = re.compile(rf"[^\W\d_]{{2,}}|[{_WIDE}]")
_FRAME = re.compile(r"[\s>|]{0,40}File \"[^\"]{1,300}\", line \d{1,7}, in [^ ]{1,120}\s{0,9}$")
"""A frame of a traceback: the next line is code."""
_STUFF = re.compile(r"[\\/_=<>{}()\[\]|$%^~;@#]")
_MACHINE = re.compile(
    r"^\s*(?:Traceback \(most|File \"|>>> ?|\.\.\. |\$ |# ?(?:pip|apt|conda|python|sudo)\b|In \[\d|Out\[\d|\(\w[\w.-]{0,40}\) ?(?:\$|[A-Z]:\\)"
    r"|[\w.-]{1,40}@[\w.-]{1,60}[:~ ]|PS [A-Z]:|[A-Z]:\\[^ ]{0,80}>|from [\w.]{1,60} import|import [\w.]{1,60}(?: as \w{1,30})?\s*$"
    r"|(?:Requirement already|Collecting|Downloading|Installing collected|Successfully installed|Using cached|Building wheel)\b"
    r"|(?:WARNING|ERROR|INFO|DEBUG|CRITICAL|Epoch|Step|Get|Hit|Reading package lists)[:\[ ]|\w{1,40}(?:Error|Exception|Warning)\b ?[:(]"
    r"|\[?\d{1,4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|\[ *\d{1,8}\.\d{3,6}\]|[IWEF]\d{4} \d\d:|[IWEF] (?:\./)?(?:tensorflow|external|T:)"
    r"|name: |device_type: |memory_limit|locality|incarnation|physical_device_desc|pciBusID|coreClock|totalMemory|major: |name='|\{\{node|\[\["
    r"|device_identifier: |[×╰│╭] ?|\d+/\d+ - \d)",
    re.IGNORECASE,
)
_PRINTS = re.compile(
    r"tensorflow/(?:core|stream_executor|compiler|lite|python|c)/|\w\.cc:\d|[\w/]\.py\b[\"', :(]|/job:|/device:|0x[0-9a-f]{6}|\[\[|\bat 0x"
    r"|Allocation of \d{5,} exceeds|reported version is: |NCCL (?:INFO|WARN|TRACE) |failed to run:|\b\w{3,60}\.(?:tflite|h5|pb|ckpt)$|Layer \(type\)|\(None, \d"
)
"""Marks of what programs print, within a line."""
_CODE = re.compile(
    r"^(?:return|raise|with|for|if|elif|else|def|class|import|from|print|try|except|while|assert|async|await|yield|del|lambda|@)\b[^?]{0,300}[()=:,\[\]._]"
    r"|^[\w.]{1,80} ?[-+*/]?= ?[\w\"'(\[{.-]|\b(?:self|tf|np|os|keras|torch|config|model|context|sess|ops)\.\w{1,60}[.(]|^\w{1,60}(?:\.\w{1,60}){1,6}\("
    r"|^[\w.]{0,120}(?:Error|Exception|Warning|Interrupt)(?:_\w{1,40})?\b ?:|^\w{1,60}(?:\.\w{1,60}){0,6}\.[A-Z]\w{1,60}: |^(?:\[?\"[^\"]{0,200}\",?\]?)$|^[\w.-]{2,60} +\d{1,4}(?:\.\d{1,6}){1,4}\S{0,20}$"
    r"|^(?:INTERNAL|UNKNOWN|ABORTED|CANCELLED|UNAVAILABLE|UNIMPLEMENTED|UNAUTHENTICATED|OUT_OF_RANGE|DATA_LOSS"
    r"|(?:INVALID|DEADLINE|NOT|ALREADY|PERMISSION|RESOURCE|FAILED)_[A-Z]{5,12}): "
    r"|^(?:Status|Node|Op|Inputs?|Outputs?|Device|Name|Summary|Location): |^#\s{0,4}\w{1,30}[(.=]|;$|\)$(?<=\w\(\))"
)
"""Code, frames of a traceback, the names of exceptions and of statuses (absl/status/status.h), and rows of lists of packages."""
_SAYS = re.compile(
    r"Detected at node|defined at \(most recent|If the cause is memory fragmentation|The error could be from a previous operation"
    r"|Restart your program to reset|Current allocation summary|Set NCCL_DEBUG=|Use `tf\.|^Hint: |original stack trace"
    r"|Collective ops is aborted|This error may be|Original error|For more information,? (?:see|try)|^Note that|^\[Op:"
    r"|^\d{1,6} (?:root error|successful operations|derived errors)|^Executing non-communication op|Lib\w{1,40} is (?:not )?supported"
    r"|^You can choose the search directory|^For most apps, setting the environment variable"
    r"|^NumPy [\d.]+ as it may|^versions of NumPy, modules|^Some module may need|^If you are a user of the module"
    r"|^downgrade to 'numpy<|^We expect that some modules|^A module that was compiled using NumPy"
    r"|^note: This error originates from|cannot open shared object file|^docker: Error response from daemon|OCI runtime create failed"
    r"|^nvidia-(?:docker|container-cli|modprobe|smi) ?[|:] "
)
"""What the loader, containers, TensorFlow, XLA and NumPy print in whole sentences (core/common_runtime, python/eager,
python/framework/errors_impl.py; service/gpu/llvm_gpu_backend; numpy/core/_multiarray_umath)."""
_TEMPLATE = re.compile(
    r"please (?:make sure|fill|see|go to|provide|include|describe|delete|remove)|this form is for|you can (?:also )?(?:collect|obtain)"
    r"|have i written custom code|as opposed to using a stock|os platform and distribution|if the issue happens on mobile"
    r"|tensorflow installed from|bazel version|gcc/compiler version|gpu model and memory|exact command to reproduce"
    r"|(?:describe|tell us|provide|include|share) (?:the |any |a )?(?:current|expected|problem|sequence|reproducible|logs|code|link|other info|bug)"
    r"|standalone code to reproduce|do you want to contribute|willing to contribute|e\.g\.,? linux|git_version, tf\.version"
    r"|to enable (?:them|the following|these)|rebuild tensorflow with|delete the parts|steps to reproduce$|relevant log output",
    re.IGNORECASE,
)
"""What issue forms ask, and what TensorFlow prints at every start: nobody's own words."""
_FORM = re.compile(r"^[^:：.!?]{2,75}[:：]\*{0,2} ?\S{0,60}(?: \S{1,20}){0,3}$")
"""A field of a form with a short answer: what it states is read as a fact, and its question is nobody's sentence."""


class Sentence(NamedTuple):
    """One sentence and the 1-based input line in which it begins."""

    line: int
    text: str


def sentences(text: Text, printed: Collection[int] = ()) -> list[Sentence]:
    """The sentences that people wrote in a report, in their order; of very many the first and the last.

    printed: numbers of lines that a program printed, which are passed over.
    """
    found = [Sentence(number, part) for number, block in _paragraphs(text, printed) for part in _parts(block)]
    return found if len(found) <= MOST else [*found[: MOST // 2], *found[-MOST // 2 :]]


def _parts(paragraph: str) -> Iterator[str]:
    for part in _END.split(paragraph):
        if part and len(_WORD.findall(part)) >= 2:
            yield part.strip()


def _paragraphs(text: Text, printed: Collection[int]) -> Iterator[tuple[int, str]]:
    """Runs of lines of prose, each joined into one line: (number of the first line, text)."""
    lines = list(text.lines())
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], *lines[-LINES // 2 :]]
    begin = last = 0
    parts: list[str] = []
    fenced = framed = False
    for number, line in lines:
        fence = _FENCE.match(line)
        prose = "" if fence or fenced or framed or number in printed else _prose(line[:LONGEST])
        framed = _FRAME.match(line) is not None
        fenced ^= fence is not None and len(fence[0].strip()) == 3
        if parts and (not prose or number != last + 1 or not _goes_on(parts[-1], prose)):
            yield begin, " ".join(parts)
            parts = []
        if prose:
            begin = begin if parts else number
            parts.append(prose)
            last = number
    if parts:
        yield begin, " ".join(parts)


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the wrapped rest of the one before it."""
    return before[-1:] not in ".!?。！？:：" and (line[:1].islower() or len(before) > 55)


_STATUS = re.compile(r"\b(?:CUDA_ERROR|CUDNN_STATUS|CUBLAS_STATUS|CUSOLVER_STATUS|CUFFT)_\w+|\bE?rror \d{3}\b")


def _status_line(line: str) -> bool:
    """Whether a line is a program's message that ends in a status, with few words around it."""
    return _STATUS.search(line) is not None and len(_WORD.findall(_STATUS.sub("", line))) < 9


def _prose(line: str) -> str:
    """The line without its markup, where a person wrote it; else ""."""
    if PRINTED.match(line) or _MACHINE.match(line) or _FORM.match(line.strip()[:200]) or line.count("|") > 2:
        return ""
    if _TEMPLATE.search(line) or _PRINTS.search(line) or _status_line(line):
        return ""
    plain = _MARKUP.sub("", line).strip()
    if _CODE.search(plain) or _SAYS.search(plain):
        return ""
    words = _WORD.findall(plain)
    wide = sum(1 for word in words if len(word) == 1)
    if len(words) < 3 and not (wide >= 2 or (len(words) == 2 and plain[-1:] in ".!?")):
        return ""
    letters = sum(map(len, words))
    if letters < 0.5 * len(plain.replace(" ", "")) or (len(_STUFF.findall(plain)) > 0.12 * len(plain) and not wide):
        return ""
    return plain
