"""The driver, the card and what stands before them: too old, not loaded, closed to the user, hidden, not passed in."""

from __future__ import annotations

import re

from doctor.facts import EnvironmentKind, Fact, Source, Symptom
from doctor.logs.signatures.helped import HELPED, HELPED_NEAR
from doctor.logs.signatures.signature import Signature, spoken


def lower(match: re.Match[str], source: Source) -> Fact | None:
    """A driver branch that is lower than the one that is wanted."""
    have, need = (
        next((v for k, v in match.groupdict().items() if v and k.startswith(key)), "") for key in ("have", "need")
    )
    return Symptom(source, "driver-said-old") if have and need and int(have) < int(need) else None


def newer(match: re.Match[str], source: Source) -> Fact | None:
    """A CUDA that is newer than the one up to which the driver is said to serve."""
    have, need = (tuple(map(int, match[name].split("."))) for name in ("have", "need"))
    return Symptom(source, "driver-said-old") if have < need else None


def short(match: re.Match[str], source: Source) -> Fact | None:
    """A compute capability below the one that is said to be wanted."""
    have, need = match["have"] or match["have2"], match["need"] or match["need2"]
    if tuple(map(int, have.split("."))) >= tuple(map(int, need.split("."))):
        return None
    return Symptom(source, "gpu-ignored-capability", (("cc", have), ("minimum", need), ("told", "yes")))


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "driver-said-old",
        "driver",
        r"\bdrivers?\b[^\n.]{0,16}?\b(?:was|is|are|had|has|version|at)\b\D{0,12}(?P<have>[1-9]\d\d)\b(?:\.\d+)*[^\n]{0,60}?\b(?:needs?|requires?|wants?|at least|minimum|asks? for)\b\D{0,24}(?P<need>[1-9]\d\d)\b"
        r"|\b(?:needs?|requires?|wants?|asks? for)\b\D{0,12}\bdrivers?\b\D{0,16}(?P<need2>[1-9]\d\d)\b(?:\.\d+)*[^\n]{0,30}\b(?:but|while|whereas|and)\b[^\n\d]{0,40}(?P<have2>[1-9]\d\d)\b",
        "the driver was 384, TF 1.13 needs 410 at least",
        lower,
        near="need|require|want|at least|minimum|ask",
    ),
    spoken(
        "driver-said-down",
        ("nvidia-smi", "nvidia smi"),
        r"\bnvidia[- ]smi\b[^\n.]{0,16}\b(?:stopped working|stops working|no longer works?|(?:does|did)(?: not|n't) work (?:any ?more|any longer)|(?:is|was) (?:broken|dead)|fails? since|fail(?:s|ed) after|broke)\b|\b(?:since|after)\b[^\n.]{0,30}\b(?:kernel|driver|system)? ?(?:update|upgrade|reboot)\b[^\n.]{0,30}\bnvidia[- ]smi\b[^\n.]{0,16}\b(?:fails?|failed|(?:does|did)(?: not|n't) work|stopped|not working|error)",
        "nvidia-smi stopped working",
        near="stop|no longer|not work|n't work|broke|dead|fail|not working|error",
    ),
    spoken(
        "smi-not-found",
        "nvidia-smi",
        r"\bnvidia-smi[`'\"]? (?:(?:says|gives|returns|is|was|:|-) )?[`'\"]?(?:command )?not found\b",
        "nvidia-smi command not found",
    ),
    spoken(
        "driver-said-missing",
        "driver",
        r"\b(?:had|have|has)(?: not|n't) (?:yet |even )?installed (?:the |an? |any )?(?:NVIDIA |graphics |GPU |video )drivers?\b|\b(?:forgot|forgotten) (?:to install )?(?:the )?(?:NVIDIA |graphics |GPU |video )drivers?\b",
        "I had not installed the NVIDIA driver",
        lambda m, s: Symptom(s, "driver-said-missing", (("told", "yes"),)),
        near="installed|forgot",
    ),
    spoken(
        "permission-by-escalation",
        ("video", "vglusers", "render"),
        r"\badd\w* (?:(?:my|the|your|a) )?(?:user(?:name)?|account|me|myself|yourself|\$USER|\w+)[^\n.]{0,16}? to (?:the )?[`'\"]?(?:video|vglusers|render)[`'\"]?(?: group|\b[^\n]{0,24}group)|\busermod\b[^\n]{0,24} -?a?G[ ,\w]{0,24}\b(?:video|vglusers|render)\b",
        "I had to add my user to the video group",
        lambda m, s: Symptom(s, "permission-by-escalation", (("group", "yes"),)),
        near="add|usermod",
    ),
    spoken(
        "visible-cure-told",
        "visible_devices",
        rf"VISIBLE_DEVICES\b[^\n]{{0,60}}\b(?:chang|unset|remov|delet|correct|comment)\w*[^\n]{{0,50}}?{HELPED}|\b(?:unset|remov|delet|comment|correct|chang)\w*[^\n]{{0,40}}VISIBLE_DEVICES\b[^\n]{{0,50}}?{HELPED}"
        rf"|{HELPED}[^\n]{{0,30}}\b(?:unset|remov|delet|comment|correct|chang)\w*[^\n]{{0,30}}VISIBLE_DEVICES\b",
        "I removed CUDA_VISIBLE_DEVICES from the script, and it works",
        near=("unset|remov|delet|correct|comment|chang", HELPED_NEAR),
    ),
    spoken(
        "gpu-ignored-capability",
        "capability",
        r"compute capability\b[^\n\d]{0,12}(?P<have>\d\.\d)\b[^\n]{0,50}?\b(?:requires?|needs?|wants?|minimum|at least|supports? only|only supports?)\b[^\n\d]{0,32}(?P<need>\d\.\d)\b"
        r"|\b(?:requires?|needs?|wants?|minimum|at least|supports? only|only supports?)\b[^\n\d]{0,32}compute capability\b[^\n\d]{0,24}(?P<need2>\d\.\d)\b[^\n]{0,40}\b(?:but|while|whereas|and|mine|my)\b[^\n\d]{0,40}(?P<have2>\d\.\d)\b",
        "My card has compute capability 3.0 and TensorFlow requires 3.5",
        short,
        near="require|need|want|minimum|at least|support",
    ),
    spoken(
        "card-support-asked",
        (" supported", " compatible", " support"),
        r"\b(?:is|are) (?:the|my|a|an|this|nvidia)? ?(?:\w+ ){0,3}?\w*\d{2,4}\w*(?: \w+){0,3}? (?:supported|compatible)\b|\b(?:does|will|can|do|did) (?:tensorflow|tf)\b[^\n.?]{0,16} support (?:the |my |an? )?[^\n.?]{0,24}\d",
        "Is the GT 630M supported?",
    ),
    spoken(
        "gpu-code-asked",
        ("sm_100", "sm_120", "sm100", "sm120", "blackwell"),
        r"\b(?:support\w*|kernels?|code|wheels?|builds?|release|compiled|version)\b[^\n.?]{0,24}\b(?:sm_?1[02]0|blackwell)|\b(?:sm_?1[02]0|blackwell)\b[^\n.?]{0,24}\b(?:support\w*|kernels?|code|wheels?|builds?|missing|not)\b",
        "when is there a release with sm_120 support?",
    ),
    spoken(
        "gpu-flag-said",
        ("--gpus", "--runtime=nvidia", "--runtime nvidia"),
        r"\b(?:forgot(?:ten)?|missed|left out)\b(?: \w+){0,3} [`'\"]{0,3}--(?:gpus|runtime[= ]nvidia)\b|--(?:gpus(?:[= ]all)?|runtime[= ]nvidia)[`'\"]{0,3}[^\n.]{0,30}\b(?:missing|forgotten|solved|fixed|helped|was it|did it)",
        "forgot --gpus all, thanks",
        lambda m, s: (Symptom(s, "gpu-flag-said"), EnvironmentKind(s, "docker")),
        near="forgot|missed|left out|missing|solved|fixed|helped|was it|did it",
    ),
    spoken(
        "container-lacks-gpu",
        ("container", "docker"),
        r"\b(?:in|inside|within)\b (?:\w+ ){0,3}?(?:container|docker)\b[^\n]{0,90}(?:\[\]|\bno GPUs?\b|\b0 GPUs?\b|\bFalse\b|\bonly (?:the )?CPU)[^\n]{0,40}\b(?:on|from|at) (?:the |my )?(?:host|outside|machine)\b"
        r"|\b(?:on|from) (?:the |my )?host\b[^\n]{0,90}\b(?:in|inside|within)\b (?:\w+ ){0,3}?(?:container|docker)\b[^\n]{0,50}(?:\[\]|\bno GPUs?\b|\b0 GPUs?\b|\bFalse\b|\bonly (?:the )?CPU|(?:not|n't)\b)",
        "in the container the list is [], on the host it has the GPU",
        near="host|outside|machine",
    ),
    spoken(
        "other-gpu-only",
        ("amd", "radeon", "intel", "nvidia"),
        r"\b(?:have|has|got|having|is|with)(?: only| just| nothing but) (?:an? |the |integrated |onboard )*(?:AMD|Radeon|Intel)\b(?! (?:CPU|Core|Ryzen|Xeon|processor))|\bonly (?:have|has|got) (?:an? |the |integrated )*(?:AMD|Radeon|Intel)\b(?! (?:CPU|Core|Ryzen|Xeon|processor))"
        r"|\b(?:do|does|did)(?: not|n't) (?:even )?have (?:an? |any )?nvidia (?:gpu|card|graphics)",
        "I have only an AMD Radeon",
        near="only|just|nothing but|not|n't",
    ),
    spoken(
        "driver-said-old",
        "nvidia-",
        r"\b(?:uninstall|remov|purg|replac)\w* nvidia-(?:driver-)?(?P<have>[1-9]\d\d)\b[^\n]{0,40}\b(?:install\w*|with|by) nvidia-(?:driver-)?(?P<need>[1-9]\d\d)\b",
        "I uninstalled nvidia-340 and installed nvidia-352",
        lower,
        near="uninstall|remov|purg|replac",
    ),
    spoken(
        "driver-said-old",
        "driver",
        r"\bdrivers?\b[^\n.]{0,16} supports? (?:only |at most )?CUDA ?(?P<have>\d+\.\d)\b[^\n]{0,50}\b(?:installed|have|has|use|using)\b[^\n\d]{0,20}(?P<need>\d+\.\d)\b",
        "Your drivers support CUDA 12.3 at most, and you have installed CUDA 12.8",
        newer,
        near="support",
    ),
    spoken(
        "driver-reinstalled",
        "driver",
        rf"\bre-?install(?:ed|ing)?\b(?: \w+){{0,2}}? (?:nvidia |gpu |graphics |video )drivers?\b[^\n]{{0,60}}?{HELPED}|\bpurg\w*[^\n.]{{0,16}} nvidia drivers?\b[^\n]{{0,50}}?{HELPED}",
        "I just reinstalled the nvidia driver and it works",
        near=HELPED_NEAR,
    ),
    spoken(
        "gpu-flag-said",
        ("default runtime", "default-runtime"),
        r"\b(?:set|make|made|need|chang|config|put|want)\w*[^\n]{0,60}\bdefault[- ]runtime\b[^\n]{0,40}\bnvidia\b|\b(?:set|make|made|need|chang|config|put|want)\w*[^\n]{0,30}\bnvidia\b[^\n]{0,40}\bdefault[- ]runtime\b",
        "You need to set nvidia as the default runtime of docker",
        lambda m, s: (Symptom(s, "gpu-flag-said"), EnvironmentKind(s, "docker")),
        near="nvidia",
    ),
    spoken(
        "other-gpu-only",
        ("intel", "amd", "radeon"),
        r"\b(?:Intel|AMD|Radeon)\b[^\n]{0,80}\b(?:(?:does|do|did)(?: not|n't) (?:seem to )?support|no support for|(?:is|are)(?: not|n't)) CUDA\b",
        "Intel HD graphics does not support CUDA",
        near="cuda",
    ),
    spoken(
        "multi-gpu-hang",
        "iommu",
        r"\b(?:turn|disabl|switch)\w*[^\n.]{0,12} IOMMU\b|\bIOMMU\b (?:is |was )?(?:off|disabled|on|enabled)\b",
        "I turned off IOMMU and it works",
    ),
    spoken(
        "gpu-needs-newer",
        ("30 series", "30-series", "30xx", "40 series", "40-series", "40xx", "ampere"),
        r"\bCUDA ?(?:v|version )?(?:8|9|10)\b[^\n]{0,40}(?:can'?t|cannot|not|n't|too old)\b[^\n.]{0,30}\b(?:30 series|30-series|30xx|40 series|40-series|40xx|ampere)|\b(?:30 series|30-series|30xx|40 series|40-series|40xx|ampere)\b[^\n.]{0,60}\b(?:needs?|requires?|wants?)\b[^\n.]{0,16} CUDA ?1[1-9]",
        "CUDA 10 cannot run on the 30 series",
        lambda m, s: Symptom(s, "gpu-needs-newer", (("cuda", "11"),)),
        near="cuda",
    ),
)
