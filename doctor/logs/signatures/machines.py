"""Signatures of what people say about their machine: whether its driver works, who may use the GPU, what
happened before the failure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Absent, Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, glued, sig, spoken


def closed(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a device file that only its owner and group may use. Return None if everyone
    may."""
    if "rw" in match["others"]:
        return None
    return Symptom(source, "device-node-closed", (("path", match["path"]), ("group", match["group"])))


def bus_without_nvidia(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Create the facts for a PCI bus without an NVIDIA device. A line from `check --script` also proves that
    there is no NVIDIA GPU."""
    yield Symptom(source, "lspci-no-nvidia")
    if source.text.strip() == "lspci | grep -i nvidia shows nothing":
        yield Absent(source, "nvidia gpu")


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "after-suspend",
        "suspend|hibernat|standby|stand-by|sleep|woke up|wakes up|waking up|suspension",
        r"\b(?:after|since|once|when(?:ever)?|until|upon|if|by)\b[^\n.]{0,50}\b(?:suspend(?:s|ed|ing)?"
        r"|suspension|hibernat\w+|stand-?by|(?:goes|went|gone|put|puts|going)"
        r" (?:\w+ ){0,2}to sleep|sleep mode|from sleep|woke up|wak(?:es|ing) up)\b"
        r"|\b(?:suspend(?:s|ed|ing)?|hibernat\w+|sleep|stand-?by)\b[^\n.]{0,30}\b(?:and|then|/)"
        r" ?(?:resum\w+|wak\w+)",
        "it stops working whenever the laptop was suspended",
    ),
    sig(
        "lspci-no-nvidia",
        "lspci",
        r"lspci[^\n]{0,40}grep -\w{0,4}c\w{0,4} [`'\"]?nvidia[`'\"]?[ \t]{0,4}\n[ \t]{0,4}0[ \t]{0,4}$",
        "$ lspci | grep -ic nvidia\n0",
        lines=2,
    ),
    spoken(
        "lspci-no-nvidia",
        "lspci",
        r"lspci[^\n]{0,40}nvidia[`'\"]{0,2}[^\n.]{0,30}\b(?:nothing|no output|no lines?|empty|blank)\b"
        r"|\bnothing\b[^\n.]{0,30}lspci[^\n]{0,30}nvidia",
        "lspci | grep -i nvidia shows nothing",
        bus_without_nvidia,
    ),
    spoken(
        "module-not-listed",
        "lsmod",
        r"lsmod[^\n]{0,40}nvidia[`'\"]{0,2}[^\n.]{0,30}\b(?:nothing|no output|no lines?|empty|blank)\b",
        "lsmod | grep nvidia gives no output",
    ),
    spoken(
        "driver-said-missing",
        " driver",
        r"\b(?:no|without(?: an?| any| the)?) (?:\w+ ){0,2}?(?:NVIDIA|graphics|GPU|video) drivers?"
        r" (?:is|are|was|were|have been|has been)?\s?(?:yet )?install\w*"
        r"|\bno drivers? (?:is |are |was )?(?:yet )?installed|\b(?:NVIDIA|graphics|GPU|video) drivers?"
        r" (?:is|are|was|were)(?: not|n't) (?:yet |even )?installed"
        r"|\b(?:have not|haven't|did not|didn't|never) (?:yet )?install(?:ed)? (?:the |an? |any )?(?:NVIDIA"
        r" |graphics |GPU |video )drivers?"
        r"|\b(?:NVIDIA|graphics|GPU|video) drivers? (?:(?:is|are|was|were|have|has|had|got) )?(?:been"
        r" )?(?:all |suddenly |simply )?(?:gone|vanished|disappeared|uninstalled)\b",
        "the NVIDIA driver was not yet installed",
        near="install|gone|vanished|disappeared",
    ),
    spoken(
        "driver-said-missing",
        "装|安装",
        r"没有?(?:安)?装[^\n，。,]{0,12}驱动"
        r"|驱动[^\n，。,]{0,6}(?:没有?|未)(?:安)?装|未安装[^\n，。,]{0,12}驱动",
        "电脑没有安装显卡驱动",
    ),
    spoken(
        "driver-said-old",
        (" driver", *glued(("driver", "drivers"), (" is", " was", " are", " were", " version"))),
        r"\bdrivers?(?: version)? (?:is|was|were|are) (?:(?:much|far|a bit|quite|simply|just) )?(?:too"
        r" old|too low|outdated|out of date|out-of-date)\b|\b(?:too old|outdated|obsolete)(?: an?| the)?"
        r" (?:\w+ ){0,2}?drivers?\b"
        r"|\b(?:updat|upgrad)(?:e|ed|ing) (?:\w+ ){0,4}?(?:NVIDIA |graphics |GPU |video |card"
        r" )drivers?\b[^\n.]{0,60}\b(?:solved|fixed|helped|cured|resolved|did it|works? now|worked)\b"
        r"|\b(?:solved|fixed|cured|resolved)\b[^\n.]{0,30}\b(?:updat|upgrad)(?:e|ed|ing) (?:\w+"
        r" ){0,4}?(?:NVIDIA |graphics |GPU |video |card )drivers?\b"
        r"|(?:highest|newest|latest|maximum) (?:version of )?CUDA(?: version)? (?:that is )?supported by"
        r" (?:\w+ ){1,2}?drivers? is \d[\d.]*,? (?:whereas|while|but)",
        "the graphics driver was too old",
        near="too old|too low|outdated|out of date|out-of-date|obsolete|updat|upgrad|supported by",
    ),
    spoken(
        "driver-said-old",
        "驱动|ドライバ|драйвер|드라이버",
        r"驱动(?:的|程序)?(?:版本)?(?:号)?(?:太|过|比较)(?:低|旧|老)"
        r"|驱动版本不够|(?:升级|更新)[^\n，。,]{0,8}驱动[^\n。]{0,24}(?:解决|好了|可以了|能用|就能)"
        r"|ドライバ[^\n。]{0,8}(?:が|は)古|драйвер[^\n.]{0,16}(?:устар|стар)|드라이버[^\n.]{0,12}(?:낮|오래)",
        "显卡驱动版本太低",
    ),
    spoken(
        "no-avx",
        "avx",
        r"\b(?:needs?|needed|requires?|required|wants?|expects?|without|lacks?) (?:\w+ ){0,4}?AVX2?\b"
        r"|\bno AVX\b",
        "this wheel needs a CPU with AVX",
        near="need|require|want|expect|without|lack|no avx",
    ),
    sig(
        "core-dumped",
        "core dump|dumps core|dump core|dumped core|dump a core|dumps a core|dumped a core",
        r"\bcore dump(?:ed|s)?\b|\bdump(?:s|ed)? (?:a )?core\b",
        "the import ends in a core dump",
    ),
    sig(
        "illegal-instruction",
        "132",
        r"\b(?:exit(?:s|ed)?|exit code|exitcode|code|status|returned)(?: with)?(?: (?:exit"
        r" )?(?:code|status))?:? ?\(?132\b",
        "the container exited with code 132",
    ),
    spoken(
        "colab-no-backend",
        "gpu backend|connect to a gpu|usage limits|connect to gpu",
        r"cannot (?:currently )?connect to (?:a )?GPU(?: backend)?"
        r"|no GPU backend|GPU backend (?:is |was )?(?:not available|unavailable)",
        "You cannot currently connect to a GPU due to usage limits in Colab.",
    ),
    spoken(
        "renumbered",
        "nvidia-smi",
        r"nvidia-smi\b[^\n.]{0,60}\b(?:order|number(?:s|ing|ed)?|index|indices"
        r"|ids?)\b[^\n.]{0,50}\b(?:differ\w*|other|another|not the same|mismatch\w*|swapped|reversed)\b"
        r"|\b(?:order|numbering|index|indices|ids?)\b[^\n.]{0,50}\b(?:differ\w*"
        r"|other|not the same|swapped|reversed|mismatch\w*)\b[^\n.]{0,50}nvidia-smi",
        "nvidia-smi lists the cards in another order than CUDA: the numbers differ",
    ),
    spoken(
        "gpu-flag-said",
        "--gpus|--nv",
        r"(?:没有?加|忘(?:记|了)?(?:加)?|漏了?|加(?:上)?了?|要加) ?[`'\"]{0,2}--(?:gpus|nv)\b"
        r"|--(?:gpus(?: all)?|nv)[`'\"]{0,2} (?:vergessen|fehlt|oublié|olvid\w+)",
        "启动容器时忘了加 --gpus all",
    ),
    spoken(
        "gpu-flag-said",
        "--gpus|--nv|--runtime=nvidia|--runtime nvidia",
        r"(?:\bforgot(?:ten)?|\bmiss(?:ed|ing)|\bwithout|\blacks?|\blacked|\bleft out|\bhad to add|\badd"
        r"(?:ing|ed)?|\bneeds?|\bneeded|\bsolved (?:it )?(?:by|with)|\bfixed (?:it )?(?:by|with)|\bworks? "
        r"(?:now )?with) (?:\w+ ){0,4}?[`'\"]{0,3}(?:docker run )?--(?:gpus\b|nv\b|runtime[= ]nvidia)",
        "I forgot `--gpus all` when the container was started",
    ),
    spoken(
        "gpu-flag-said",
        "nvidia-docker",
        r"\b(?:use|need|with|run|start(?:ed)?)\b(?: \w+){0,2} [`'\"]{0,2}nvidia-docker[`'\"]{0,2} +(?:instead"
        r" of|rather than|and not) (?:the )?(?:plain |normal |bare )?[`'\"]{0,2}docker\b",
        "you have to use `nvidia-docker` instead of `docker`",
    ),
    spoken(
        "gpu-not-used",
        "gpu",
        r"\b(?:finds?|found|sees?|saw|detects?|detected|shows?|lists?|recogni[sz]es?"
        r"|gets?|registers?|reports?|has|there (?:is|are)) (?:no|zero|0) (?:\w+ )?GPUs?\b(?!:\d)",
        "TensorFlow sees no GPU on the node",
        near=" no | zero | 0 ",
    ),
    spoken(  # a person's statement, without a program's output
        "container-lacks-gpu",
        "container|docker",
        r"\b(?:container|docker)\b[^\n]{0,120}?\b(?:no (?:GPU|graphics? card|video card|CUDA"
        r" device)s?\b[^\n.]{0,30}\b(?:seen|found|detected|recogni[sz]ed|visible|available|listed)"
        r"|(?:GPU|graphics? card|video card)s?(?: devices?)? (?:\w+"
        r" )?(?:(?:is|are|was|were|could|can|does|do) ?(?:not|n't|never)|cannot|can not) (?:\w+"
        r" ){0,2}?(?:seen?|found|detected|recogni[sz]ed|visible|available|listed|usable|work))"
        r"|(?:GPU|graphics? card|video card)s?(?: devices?)? (?:\w+ )?(?:(?:is|are|was|were|could|can)"
        r" ?(?:not|n't|never)|cannot|can not) (?:\w+"
        r" ){0,2}?(?:seen|found|detected|recogni[sz]ed|visible|available|listed|used"
        r"|accessed)\b[^\n.]{0,24}\b(?:in|inside|within|from)"
        r" (?:\w+ ){0,2}(?:container|docker)\b",
        "in the container of the service no GPU is visible",
        near="gpu|card|device",
    ),
    spoken(
        "wsl1",
        "wsl 1|wsl1|version 10.0.1|wsl -l -v",
        r"\[x\] WSL ?1\b|\b(?:I|we) (?:use|run|have|am on|are on|still use) WSL ?1\b(?!\.\d)"
        r"|\bwsl -l -v[^\n]*\n(?:[^\n]*\n)?[^\n]*\s1\s*$"
        r"|Windows \[Version 10\.0\.1[0-8]\d{3}\.[^\n]{0,20}\](?=[^\x00]{0,300}\bWSL\b)",
        "- [x] WSL 1",
        lines=3,
    ),
    sig(
        "device-node-closed",
        "/dev/nvidia",
        r"^\W{0,4}c[r-][w-][\w-](?:[r-][w-][\w-])(?P<others>[r-][w-][\w-])[.+]?\s+\d+\s+\w+\s+"
        r"(?P<group>[\w-]+)\s+\d+,\s*\d+\s[^\n]{0,30}?(?P<path>/dev/nvidia(?:\d+|ctl|-uvm))\b",
        "crw-rw---- 1 root render 195, 0 Mar  3 10:11 /dev/nvidia0",
        closed,
    ),
)
