"""Signatures of GPUs in the tables of nvidia-smi, in the lines of lspci, in report forms and in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import FORM, PROSE, Fact, Gpu, OtherGpu, Source, Symptom
from doctor.logs.signatures.devices import mib
from doctor.logs.signatures.signature import DIGITS, Maker, Signature, glued, sig, spoken, words
from doctor.logs.signatures.versions.spelling import elsewhere, given_up, works_there

GPU_NAME = (
    r"(?:NVIDIA\s+)?(?:"
    r"RTX\s?[2-5]0(?:xx|(?=[ -]?(?:series|系|시리즈|シリーズ)))"
    r"|(?:GeForce\s+)?(?:RTX|GTX)\s?[-_]?\s?(?:TITAN(?:\s?X"
    r"|\s?Z|\s?Black)?|[A-Z]?\d{3,4}(?!\d))(?:\s?-?(?:Ti|SUPER|Max-?Q|Mobile|Laptop"
    r" GPU|Laptop|Ada(?: Generation)?|FE|D|M)\b){0,3}"
    r"|(?:GeForce\s+)?GT\s?\d{3,4}M?X?\b|GeForce\s+(?:\w{1,3}\s?)?\d{3,4}\s?(?:MX|M|Ti)?\b"
    r"|(?:GeForce\s+)?MX\s?[1-5][0-9]0\b|9[0-4]0MX\b"
    r"|RTX\s?PRO\s?\d{3,4}D?(?:\s?Blackwell)?|CMP\s?\d{2,3}HX|P10[246]-\d{3}"
    r"|NVIDIA[ -][ABHKLMPTV]\d{1,4}[A-Za-z]{0,2}(?![\w.-])"
    r"|TITAN\s?(?:RTX|Xp|X\s?\(Pascal\)|X|V|Z|Black)\b|Quadro\s+(?:RTX\s+)?(?:[A-Z]{1,2}\d{3,5}[MD]?"
    r"|\d{3,5}M?)\b"
    r"|(?:Quadro\s+)?NVS\s?\d{3,4}M?\b|Tesla\s+[A-Z]\d{1,4}[A-Za-z]{0,2}(?:-[\w-]{2,20})?|GRID\s+[A-Z]\d\w*"
    r"|(?<![A-WYZa-wyz0-9_.])(?:A100|H100|H200|H800|A800|V100S?|P100|L40S?|A6000|A5000|A4000|A30|A40|A10G?"
    r"|B200|B300|GH200|GB200|GB300|GB10|K80|K40[mc]?|K20[mcx]?|P40|M60|M40|P4000|P5000|P6000|M4000|K620|P4|T4"
    r"|L4)"
    r"(?:-(?:SXM\d?|PCI[Ee]|NVL)(?:-?\d{1,3}\s?GB)?|\s+(?:PCIe|SXM\d?)(?:\s+\d+GB)?)?(?=s?(?![\w-]|\.\d))"
    r"|NVIDIA[ -](?:GeForce )?[6-9][1-8]0MX?\b|NVIDIA[ -](?:GeForce"
    r" )?(?:[1-5]0[5-9]0|16[56]0)(?!\d)(?:\s?(?:Ti|SUPER|Laptop|Mobile|M)\b){0,2}"
    r"|T(?:400|550|1000|1200|2000)\b"
    r"|Jetson\s+(?:Nano|TX[12]|Xavier(?:\s+NX)?|AGX\s+\w+|Orin(?:\s+\w+)?)"
    r")(?:\s?\(?(?:\d{1,3})\s?GB\b)?"
)


def _tidy_gpu(text: str) -> tuple[str, int | None]:
    text = re.sub(r"\s+", " ", text.replace("_", " ")).strip(" (")
    size = re.search(r"\b(\d{1,3})\s?GB\b", text, re.I)
    memory = mib(size[0].replace(" ", "")) if size else None
    if size and not re.match(r"(?:.*GTX 1060|.*-(?:SXM|PCI))", text, re.I):
        text = text[: size.start()].rstrip(" (")
    return text, memory


_SERIES = lazy.compile(
    r"(?:NVIDIA )?(?:GeForce )?RTX ?([2-5])(?:0xx|(?:000|0)[ -]?(?:series?|系|시리즈|シリーズ))",
    re.IGNORECASE,
)
_AND_BELOW = lazy.compile(
    r"[ -]?(?:series|系列?)?,? ?(?:及以下|以下|及以上|以上|之前|and (?:below|older|above|newer)"
    r"|or (?:older|newer))"
)
"""Matches the text after the name of a series that is given as a limit ("and below"), not as somebody's
card."""
_OF_SERIES = {"2": "7.5", "3": "8.6", "4": "8.9", "5": "12.0"}
"""The compute capability of all cards in a series (compat_tables/gpus.json), by the first digit of the
series."""
_NEW_CARD = (
    r"(?:(?P<t11>(?:RTX ?)?\b30[5-9]0\b|RTX ?30(?:xx?|\d\d)?(?: ?series)?|RTX"
    r" ?3000|\bA100\b|\bA6000\b|\bAmpere\b|(?:RTX ?)?\b[45]0[5-9]0\b|RTX ?[45]0(?:xx)?(?:"
    r" ?series)|\bH100\b|\bHopper\b|\bBlackwell\b)"
    r"|(?P<t10>(?:RTX ?)\b20[6-8]0\b|\bTuring\b))"
)
_NEW_CARDS = (
    *words("rtx|ampere|turing|hopper|blackwell|a100|a6000|h100"),
    *glued(glued(("3", "4", "5"), ("05", "06", "07", "08", "09")), "0"),
)
_FIELDS = (
    *words("gpu|gpus|gpu model|gpu models|gpu type|gpu name|gpu model and memory|cuda device|显卡"),
    *words("graphic card|graphic cards|graphics card|graphics cards|video card"),
)
"""The names that report forms give to the field for the card."""
_NUMBER = r"(?:10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[6-9]0|50[6-9]0)(?: ?(?:Ti|SUPER))?"
"""Matches a GeForce card that is given only by its number."""
_BESIDE_NUMBER = "|".join(
    (
        *words("显卡|グラボ|그래픽|видеокарт|graphic card|graphics card|video card"),
        *glued(glued(("0", "ti", "super"), ("", " ")), ("gpu", "card", "graphic", "video")),
    )
)
_NEWER = r"(?:higher|newer|later|more recent)"


def needs_newer(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom that a card needs newer software, with the first major version of CUDA whose
    libraries contain code for the card."""
    return Symptom(source, "gpu-needs-newer", (("cuda", "11" if match["t11"] else "10"),))


def gpu_in(rank: int) -> Maker:
    """Return a function that makes a Gpu fact for every card that a match names."""

    def make(match: re.Match[str], source: Source) -> Iterator[Fact]:
        value = match.groupdict().get("value") or match[0]
        start = match.start("value" if match.groupdict().get("value") else 0)
        if rank == PROSE and (elsewhere(match) or given_up(match.string, *match.span())):
            return
        found_names = list(re.finditer(GPU_NAME, value, re.I))[:16]
        if not found_names and rank == FORM:
            found_names = list(
                re.finditer(
                    r"\b(?:[1-5]0[5-9]0|16[56]0)(?:\s?Ti|\s?SUPER|\s?M)?(?:\s(?:RTX|GTX))?\b", value, re.I
                )
            )[:4]
        for found in found_names:
            name, memory = _tidy_gpu(found[0])
            after = start + found.end()
            series = _SERIES.match(name + match.string[after : after + 8].lower())
            if series and _AND_BELOW.match(match.string[after : after + 16]):
                continue
            if series:  # any card of the series, not the Quadro with that number
                yield Gpu(source, f"GeForce RTX {series[1]}0 series", _OF_SERIES[series[1]], rank=rank)
                continue
            before = value[max(0, found.start() - 5) : found.start()]
            times = re.search(r"(\d)\s?[x×*]\s*$", before)
            for _ in range(min(int(times[1]), 16) if times else 1):
                yield Gpu(source, name, memory_mib=memory, rank=rank)

    return make


_FAMILY = lazy.compile(
    r"\b(?:Kepler|Maxwell|Pascal|Volta|Turing|Ampere|Ada|Hopper|Blackwell)\b", re.IGNORECASE
)


def family(match: re.Match[str], source: Source) -> Fact | None:
    """Make a Gpu from the name of an architecture, unless the sentence is about another machine or a run
    that works."""
    name = match["family"].title()
    name = "Ada Lovelace" if name == "Ada" else name
    several = len({found[0].lower() for found in _FAMILY.finditer(source.text)}) > 1  # a comparison
    works = elsewhere(match) or works_there(match.string, *match.span())
    return None if several or works else Gpu(source, name, rank=PROSE)


def by_number(match: re.Match[str], source: Source) -> Fact | None:
    """Make a Gpu from the number of a card, unless somebody replaced that card."""
    group = "value" if match["value"] else "v2"
    replaced = given_up(match.string, *match.span(group))
    return None if replaced else Gpu(source, match[group].strip(), rank=PROSE)


_BOUND = r"(?:minimum|requires?|wants|least|needs?|below|above|under|lowest|than)\W[^\n]{0,40}$"
"""Matches the text before a compute capability that something requires, which is therefore not that of a
card."""


def capability(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Gpu fact for a compute capability that is given without the name of a card. Return None if
    the words before it show that it is a limit."""
    before = match.string[max(0, match.start() - 60) : match.start()].lower()
    return None if re.search(_BOUND, before) else Gpu(source, None, match["cc"], rank=FORM)


def other_gpu(match: re.Match[str], source: Source) -> Fact:
    """Create the OtherGpu fact: the machine has a graphics device from a maker other than NVIDIA."""
    vendor = str(match.lastgroup)
    return OtherGpu(source, match[vendor].strip(), vendor)


def smi_name(match: re.Match[str], source: Source) -> Fact:
    """Create the Gpu fact for one card in an nvidia-smi table."""
    name = match["name"].strip().rstrip(".").strip()
    following = re.search(r"(\d{1,7})MiB\s*/\s*(\d{2,8})MiB", match.string[match.end() : match.end() + 240])
    return Gpu(
        source,
        name,
        memory_mib=int(following[2]) if following else None,
        index=int(match["index"]),
        bus_id=match["bus"],
    )


SIGNATURES: tuple[Signature, ...] = (
    *(
        spoken("gpu-needs-newer", _NEW_CARDS, pattern, example, needs_newer, near=near)
        for pattern, example, near in (
            (
                rf"{_NEW_CARD}[^\n.]{{0,30}}?\b(?:needs?|requires?|wants?|only (?:works?|runs?|supports?)"
                r"|(?:is|are) only supported|(?:is|are) only working)\b(?: the following| at least| with| by"
                rf"| under| in| on| a| {_NEWER}| version| of|[:>= ]){{0,6}}\s?(?:CUDA|tensorflow|\bTF)\b",
                "The RTX 3080 needs CUDA 11.1",
                "need|require|want|only",
            ),
            (
                r"\b(?:tensorflow|TF|CUDA) ?v?(?:\d[\d.x]*|version|\b)[^\n.]{0,16} (?:does(?: not|n't)"
                r"|did(?: not|n't)|cannot|can't|won't|is(?: not|n't)) (?:\w+ )?(?:support|run|work|know|go"
                rf"|made|compatible)\w*[^\n.]{{0,16}} (?:the |an? |my )?(?:NVIDIA |GeForce )?{_NEW_CARD}",
                "TF 1.x does not support the RTX 3000",
                " not|n't|cannot",
            ),
            (
                rf"\b{_NEWER} (?:version )?(?:of )?(?:the )?(?:CUDA|tensorflow|TF)\b[^\n.]{{0,20}} (?:needed"
                r"|required|necessary|wanted) (?:for|by|with) (?:the |an? |my )?(?:NVIDIA |GeForce )?"
                rf"{_NEW_CARD}",
                "a newer version of TensorFlow is needed for an RTX 3070",
                "need|requir|necessary|wanted",
            ),
            (
                rf"{_NEW_CARD}[^\n.]{{0,16}} (?:does(?: not|n't)|did(?: not|n't)|cannot|can't|won't"
                r"|(?:is|are)(?: not|n't)) (?:work|run|supported|compatible)\w* (?:with|by|on|under|in)"
                r" (?:CUDA|tensorflow|TF)\b ?v?[\d.]",
                "RTX 3080 Ti does not work with TF 1.12",
                " not|n't|cannot",
            ),
        )
    ),
    sig(
        "smi-gpu",
        "|",
        r"\|\s+(?P<index>\d{1,3})\s+(?P<name>(?:NVIDIA|GeForce|Tesla"
        r"|Quadro|TITAN|GRID|RTX|GTX|A\d|H\d|T\d|L\d)[\w/().-]{0,24}?(?: [\w/().-]{1,24}?){0,6}?)(?: {2,}"
        r"|\.\.\. *)(?:(?:On|Off|WDDM|TCC|N/A|MCDM) *){0,2}\|\s+(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)",
        "|   0  GeForce RTX 2060    Off  | 00000000:01:00.0  On |                  N/A |",
        smi_name,
    ),
    sig(
        "smi-gpu",
        "(uuid: gpu-",
        r"GPU (?P<index>\d+): (?P<name>[^\n(]{3,60}) \(UUID: (?P<uuid>GPU-[\w-]{8,40})\)",
        "GPU 0: Tesla T4 (UUID: GPU-0a1b2c3d-1234-5678-9abc-def012345678)",
        lambda m, s: Gpu(s, m["name"].strip(), index=int(m["index"]), uuid=m["uuid"]),
    ),
    sig(
        "device-query",
        "cuda driver version / runtime version",
        r'Device (?P<index>\d{1,2}): "(?P<name>[^"\n]{3,60})"\s*\n\s*CUDA Driver Version / Runtime'
        r" Version[^\n]*\n\s*CUDA Capability Major/Minor version number:\s+(?P<cc>\d{1,2}\.\d)"
        r"(?:\s*\n\s*Total amount of global memory:\s+(?P<memory>\d{2,7}) MBytes)?",
        'Device 0: "GeForce GTX 1070"\n  CUDA Driver Version / Runtime Version          10.1 / 10.0\n  CUDA'
        " Capability Major/Minor version number:    6.1\n  Total amount of global memory:                "
        " 8119 MBytes (8513585152 bytes)",
        lambda m, s: Gpu(
            s, m["name"].strip(), m["cc"], int(m["memory"]) if m["memory"] else None, index=int(m["index"])
        ),
        lines=4,
        origin="CUDA samples, 1_Utilities/deviceQuery/deviceQuery.cpp",
    ),
    sig(
        "lspci-gpu",
        "nvidia corporation",
        r"(?:VGA compatible|3D) controller(?: \[\w+\])?: NVIDIA Corporation (?:\w+"
        r" )?\[(?P<name>[^\]\n]{3,60})\](?: \[(?P<pci>10de:[0-9a-f]{4})\])?",
        "01:00.0 VGA compatible controller: NVIDIA Corporation GP104 [GeForce GTX 1080] (rev a1)",
        lambda m, s: Gpu(s, m["name"], pci_id=m["pci"]),
    ),
    sig(  # no kernel driver drives the card
        "gpu-unclaimed",
        " unclaimed",
        r"\*-display(?::\d)? UNCLAIMED\n(?:[^\n]{0,120}\n)?"
        r"\s*\**product: (?:\w{2,12} \[)?(?P<name>[^\]\n]{3,60})\]?\n\s*vendor: NVIDIA",
        "  *-display UNCLAIMED\n       description: 3D controller\n       product: GP108M [GeForce MX150]\n"
        "       vendor: NVIDIA Corporation",
        lambda m, s: (Symptom(s, "gpu-unclaimed"), Gpu(s, m["name"])),
        near="nvidia",
        lines=5,
        origin="lshw -C display",
    ),
    spoken(
        "gpu-form",
        glued(_FIELDS, (*":：=-*`_", *(f" {mark}" for mark in ":：=-*`_("), "is", " is")),
        r"(?<![/:_])(?<!\w-)(?:GPU model and memory|GPU models?|GPU type|GPUs?|graphics? cards?"
        r"|video card|显卡|GPU name|CUDA device)(?: \([^)\n]{0,40}\))?(?: ?[*_`]{1,3})? ?(?:[:：=-]"
        r"|is)[ *_`-]{0,6}(?!\d{1,2}['\"\])])(?P<value>[^\n]{2,120})",
        "- GPU model and memory: GeForce GTX 1060 6GB",
        gpu_in(FORM),
    ),
    sig(
        "gpu-form",
        "gpu model and memory",
        r"GPU model and memory[^\w\n]{0,10}\n\s*(?P<value>[^\s#][^\n#]{1,119})",
        "### GPU model and memory\n\nRTX 2060 6GB",
        gpu_in(FORM),
        lines=3,
        at="value",
    ),
    spoken(
        "gpu-prose",
        (
            *words("rtx|gtx|tesla|quadro|titan|geforce|jetson|grid|nvs|gt |900mx|910mx|920mx|930mx|940mx"),
            *words(
                "a100|h100|h200|h800|a800|v100|p100|l40|a6000|a5000|a4000|a30|a40|a10|b200|b300|gh200|gb10|"
                "k80|k40|k20|p40|m60|m40|p4|p5000|p6000|k620|t4|l4|t400|t550|t1000|t1200|t2000|cmp|p102|p104"
                "|p106"
            ),
            *glued(("mx", "mx "), "12345"),
            *glued(("nvidia ", "nvidia-"), glued("abhklmptv", DIGITS)),
            *glued(("nvidia ", "nvidia-"), DIGITS),
            *glued(("gt",), DIGITS),
        ),
        rf"(?<![A-WYZa-wyz0-9_/.]){GPU_NAME}",
        "my RTX 3080 is not used",
        gpu_in(PROSE),
    ),
    spoken(  # only a number, as the owner calls the card
        "gpu-prose",
        glued(glued((" 1", " 2", " 3", " 4", " 5"), ("05", "06", "07", "08", "09", "65", "66")), "0"),
        r"\b(?:it's|it is|have|has|got|own|bought|using|use|with|my|our|on(?= an? | my )|(?:to|for)(?= an? "
        r"| my )|до)(?: (?:a|an|my|our|one|two|dual|[2-8] ?x))? (?P<value>" + _NUMBER + r")\b"
        r"(?![.,]?\d|[:%/=-]|"
        r" ?(?:[x×*]|px|MB|MiB|GB|ms|s|seconds?|min|steps?|images?|epochs?|samples?|rows?|columns?|frames?"
        r"|classes|features|words|tokens|iterations|files|points|videos|units|neurons|pixels?|people|cases"
        r"|lines|errors?)\b)",
        "Will it use my GPU? It's a 3090.",
        by_number,
    ),
    spoken(  # a series, given by its number
        "gpu-prose",
        ("0系", "0 系", *glued("2345", ("0xx", "0 series", "0-series"))),
        r"(?<![A-Za-z\d.])(?P<series>[2-5])0(?: ?系列?的?(?:显卡|卡|GPU)(?!及|以)"
        r"|(?:xx|[ -]series|xx series)[ -](?:(?:NVIDIA|graphics) )?(?:cards?|GPUs?)\b)",
        "我是40系的显卡",
        lambda m, s: Gpu(s, f"GeForce RTX {m['series']}0 series", _OF_SERIES[m["series"]], rank=PROSE),
    ),
    spoken(  # the name of an architecture
        "gpu-prose",
        "kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell",
        r"(?<![\w/-])(?P<family>Kepler|Maxwell|Pascal|Volta|Turing|Ampere|Ada(?: Lovelace)?|Hopper|Blackwell)"
        r"[ -]?(?:based|class|gen(?:eration)?|series|arch(?:itecture)?|NVIDIA|graphics|[ -]){0,3}"
        r"(?:GPUs?|cards?|arch(?:itecture)?|generation|显卡|卡|架构|アーキテクチャ|아키텍처)"
        r"(?![\w-]| (?:and|or) (?:newer|older|later|above|below))",
        "my card is of the Ampere generation",
        family,
    ),
    spoken(  # only a number, in languages that put no article before it
        "gpu-prose",
        glued(glued(("1", "2", "3", "4", "5"), ("05", "06", "07", "08", "09", "65", "66")), "0"),
        r"(?:用|是|换|换成|换了|卡|张|块|买了|上了?|在)(?:的|了|成)?\s?"
        r"(?P<value>(?:20[678]0|30[5-9]0|40[6-9]0|50[6-9]0)(?: ?(?:Ti|SUPER|D)\b)?)"
        r"(?![\d.:%/]|\s?(?:[x×*]|端口|年|行|个|次|步|元|条|MB|GB|ms))"
        rf"|(?<![\d.,:/-])(?P<v2>{_NUMBER})(?=으로|에서|이랑|을 |를 |쓰|사용)",
        "我用3090训练",
        by_number,
        near="用|是|换|卡|张|块|买|上|在|으로|에서|이랑|을|를|쓰|사용",
    ),
    sig(  # a number next to a word for a card
        "gpu-prose",
        glued(glued(("1", "2", "3", "4", "5"), ("05", "06", "07", "08", "09", "65", "66")), "0"),
        rf"(?<![\w.,:/-])(?P<value>{_NUMBER}) ?(?:显卡|グラボ|그래픽|видеокарт|(?:graphics? |video"
        r" )?cards?\b|GPUs?\b(?! hours?))"
        r"|(?:显卡|グラボ|그래픽 ?카드|видеокарт\S{0,3}|(?:graphics?|video) card)(?:是|は|:|：| is|"
        rf" -)?\s?(?:an? )?(?P<v2>{_NUMBER})(?![\w.,:%/])",
        "那块 3060 显卡",
        by_number,
        near=(_BESIDE_NUMBER,),
    ),
    sig(
        "compute-capability",
        "compute capability|computecapability|compute_capability|cuda capability|算力|계산 능력",
        r"(?:compute[_ ]?capability(?: \(?cc\)?)?|算力|계산 능력)(?!\W{0,3}[<>≥≤])\W{0,4}(?:(?:of|is|version"
        r"|was|has|为|是|only|just|(?:my|the|this) (?:card|GPU)) ?|[:=：] ?){0,4}(?P<cc>[1-9]\d?\.\d)"
        r"(?!\d)(?!\+|[^\n]{0,10}(?:or|and) (?:higher|above|later|newer|greater|better|up\b)"
        r"| (?:is|was|being|as) (?:the |a |its )?(?:minimum|lowest|least|required|needed))",
        "Compute Capability: 5.0",
        capability,
    ),
    sig(
        "other-gpu",
        "firepro|firegl|intel (r)|apple m|apple silicon|m1|m2|m3|m4|radeon|rx4|rx5|rx6|rx7|rx9|intel(r) arc|"
        "intel(r) uhd|intel uhd|intel hd|iris|integrated graphics|amd gpu|rx 4|rx 5|rx 6|rx 7|rx 9|"
        "amd radeon|rocm|intel graphics|intel(r) hd|intel arc",
        r"(?P<apple>\bApple (?:Silicon|M[1-4]\b)|\bM[1-4] (?:Mac|chip|MacBook|(?:Pro|Max|Ultra)\b)|\b(?:Mac"
        r"|MacBook|iMac|mini|Air|MBP) (?:\w+ )?M[1-4]\b)|(?P<amd>\bFire(?:Pro|GL)(?: ?[A-Z]?\d{3,4}\w?)?"
        r"|(?:AMD )?Radeon(?:\(TM\)|™|(?<=n)s\b)?(?:[ -](?:RX|R[579]|HD|VII|Pro|Vega|Instinct|Graphics|XTX?"
        r"|GRE|Mobile|M?W?\d{2,4}[a-z]{0,3})\b)*|\bRX ?(?:[5679]\d{3}\w{0,3}(?: ?XTX?)?|[45][5-9]0X?\b))"
        r"|(?P<intel>Intel(?: ?\(R\))? (?:U?HD|Iris|Arc)[\w ().-]{0,24}"
        r"|intel\s+integrated graphics|integrated graphics)",
        "GPU: AMD Radeon RX 580",
        other_gpu,
    ),
)
