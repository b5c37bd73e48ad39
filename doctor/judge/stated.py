"""Verdicts from the tables alone, for a report that states an environment and an observation but contains no
message that shows the cause.

In: a `Case`, its compatibility and the findings of rules. Out: the code that best explains the observation,
or None if the tables do not decide. EXPLAINS lists the observations that each code explains; a code hides the
codes after it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import CudaCallFailed, SentenceKind
from doctor.judge.answers import NO_DEVICE_SEEN
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.findings import Finding, Part

OBSERVED = {
    "installation": ("install-fails-said",),
    "import": ("import-fails-said",),
    "crash": ("crash-said",),
    "slow": ("slow-start-said", "slow-first-run", "low-use-said"),
    "wrong numbers": ("nan-results",),
    "no device": NO_DEVICE_SEEN,
}
"""Each kind of observation, and the symptoms that show it."""

EXPLAINS: dict[str, tuple[str, ...]] = {
    "tf-gpu-package-removed": ("installation",),
    "tf-no-wheel": ("installation",),
    "gpu-absent": ("no device",),
    "container-no-gpu": ("no device",),
    "tf-windows-native": ("no device",),
    "tf-cpu-only": ("no device",),
    "tf-import-failed": ("import",),
    "python-dependency-conflict": ("import", "crash"),
    "tf-addon-mismatch": ("import", "crash"),
    "tf-conflicting-packages": ("no device", "import"),
    "driver-too-new": ("no device",),
    "driver-too-old": ("no device", "crash"),
    "gpu-arch-too-old": ("no device", "crash"),
    "library-path": ("no device",),
    "cuda-missing": ("no device", "import"),
    "cuda-version-mismatch": ("no device", "import"),
    "cudnn-missing": ("no device", "crash", "import"),
    "cudnn-version-mismatch": ("crash", "no device", "import"),
    "gpu-arch-too-new": ("slow", "wrong numbers", "crash", "no device"),
}
"""The observations that each cause explains. A cause comes before the causes that it hides."""


OPENED = ("cuda-missing", "cuda-version-mismatch", "cudnn-missing", "cudnn-version-mismatch")
"""Codes of causes that stop the import of TensorFlow only if the build is linked against CUDA's libraries."""


def observed(case: Case) -> list[str]:
    """Return the observations in a case, as keys of OBSERVED."""
    seen = [name for name, kinds in OBSERVED.items() if case.facts.has(*kinds)]
    if "no device" not in seen and any(device.count == 0 for device in case.registered):
        seen.append("no device")
    failed = (symptom.get("reason") for symptom in case.facts.symptoms("dll-load-failed"))
    if "import" not in seen and any(words in reason for reason in failed for words in NOT_FOUND):
        seen.append("import")
    return seen


NOT_FOUND = ("not be found", "nicht gefunden", "introuvable", "puede encontrar", "找不到", "見つかりません")
"""Windows' words for a DLL that lacks one of the DLLs that it needs, in contrast to one that cannot start."""


BY_VERSIONS = (
    "driver-too-old",
    "driver-too-new",
    "cuda-version-mismatch",
    "cudnn-version-mismatch",
    "gpu-arch-too-old",
    "gpu-arch-too-new",
)
"""Codes that rules also find from stated versions."""
HIDES = (
    "gpu-absent",
    "container-no-gpu",
    "tf-windows-native",
    "tf-cpu-only",
    "tf-gpu-package-removed",
    "tf-no-wheel",
)
"""Codes of causes beside which faults of libraries, driver and kernels do not matter."""


def explaining(case: Case, parts: Sequence[Part]) -> list[str]:
    """Return the codes of the misfits that explain an observation in a case, in the order of EXPLAINS."""
    seen = observed(case)
    slow = {"slow", "crash", "wrong numbers"} & set(
        seen
    )  # a compilation at the first start is not a fault by itself
    misfits = {part.code for part in parts if part.code and (part.fits is False or (part.slow and slow))}
    # only builds that are linked against CUDA's libraries cannot be imported without them
    linked = case.build is not None and dotted(case.build.version) < (1, 15)
    fitting = [
        code for code, names in EXPLAINS.items()
        if code in misfits
        and any(name in names and (name != "import" or linked or code not in OPENED) for name in seen)
    ]  # fmt: skip
    if {"slow", "wrong numbers"} & slow:
        fitting.sort(key=lambda code: code != "gpu-arch-too-new")
    return fitting


def decided(case: Case, parts: Sequence[Part], findings: Sequence[Finding] = ()) -> str | None:
    """Return the code of the misfit that best explains the observation, or None if no misfit does. findings:
    those of the rules. A code that a rule also found takes precedence, unless a code of HIDES explains the
    observation."""
    seen, fitting = observed(case), explaining(case, parts)
    misfits = {part.code for part in parts if part.fits is False} | set(fitting)
    found = [f.code for f in findings if f.code in misfits and (f.confidence != "possible" or not seen)]
    if found and not any(code in HIDES for code in fitting):
        return found[0]
    if not fitting and not seen and not case.facts.has("works-said"):
        # if TensorFlow is installed, its Python is not the one that the report states; who only asks has not
        # installed it
        meant = bool(case.gpus) or case.facts.has("mentions-gpu")  # else a CPU build is no fault
        fitting = [
            code
            for code in EXPLAINS
            if code in misfits and (code != "tf-no-wheel" or asked(case)) and (meant or code not in HIDES)
        ]
    return next(iter(fitting), None)


_WORDS = (
    "abort aborts after ages all also always am amd an anaconda and any anybody anything appear appears "
    "apple arch are as at available batch be because before begins behavior behaviour best betriebssystem "
    "binary bit box bug build but by call can cannot card cards cat centos change check clean cluster "
    "code combination computed computer conda config container conv convolution copied correct could "
    "couldn cpu crash crashed crashes crashing cuda cudnn current custom de debian define desktop detect "
    "detected detects device devices did die dies distribution do docker does doesn don driver drivers "
    "during dyld edition empty end ends env environment error even everything exception exceptions exist "
    "exists exit exits expected fail failed fails false fedora find finds fine first fit for forever "
    "found fresh from gb geforce get gets getting gib gives go goes good got gpu gpus grafikkarte graphic "
    "graphics grep gtx had hang hangs hardware has have having hd he header hello help here hey hi home "
    "host hour hours how idea if image import importing imports in include install installation installed "
    "installer installing intel into iris is issue it its jupyter just keras kernel know lab laptop later "
    "layer ld len library like linux list listed lists long lost lts mac machine macos made major make "
    "makes manjaro max may memory message messages method methods microsoft miniconda minor mint minute "
    "minutes missing model monterey my name need needed needs new nightly no node none not notebook "
    "nothing now num number nvcc nvidia of office ok okay on only onto operating or os our output own "
    "package packages patchlevel path pc physical pip place plain platform please point pop powershell "
    "predict present prints private pro problem process program programme prompt py pycharm python quadro "
    "quick quickly radeon raise raises ran recognize recognized recognizes regards release report reports "
    "reproduced return returns right rocky rtx run running runs say says script second seconds see seem "
    "seems seen sees server set setup shell should show shown shows shut since slow smi so some somebody "
    "sonoma soon sorry source start starts startup step still stuck super system ten tensorflow terminal "
    "tesla tf thank thanks that the their then there third this throw throws ti time times titan to "
    "together toolkit traceback train training trains treiber true try trying type ubuntu uhd under "
    "university unset until up use used uses using usr valid ventura venv version versione versionen "
    "versions versión very via video virtualenv visible want wanted wants was we what when where whether "
    "which while whole will win windows with work working works workstation would wrong wsl xe xp yes you "
    "your "
)
_PLAIN = frozenset(
    (
        *_WORDS.split(),
        "array",
        "compatible",
        "incompatible",
        "compatibility",
        "incompatibility",
        "latest",
        "ready",
        "game",
        "pytorch",
        "torch",
        "jax",
    )
)
"""Words of sentences that state an environment or an observation, greet or ask, and mention no cause."""
_STATUS = lazy.compile(r"\b[A-Z]{3,16}_[A-Z]{3,16}_[A-Z_]{2,40}\b")
"""Matches the name of a status or of a variable: CUDA_ERROR_NO_DEVICE, CUDA_VISIBLE_DEVICES."""
_PROMPT = lazy.compile(r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[:~$#]|[$>] |(?:PS )?[A-Z]:\\)")
"""Matches a line that begins with a shell prompt."""
_WORD = lazy.compile(r"[^\W\d_]{2,}")
_OF_CODE = lazy.compile(r"\d|\w_\w|\w\(|[a-z]\.[a-z]")
"""Matches a version, and a name from a program: device_lib.list_local_devices()."""
_TOKEN = lazy.compile(r"\S{1,80}")


def uninstallable(case: Case, parts: Sequence[Part]) -> str | None:
    """Return the code for a failed pip installation, if the tables explain the failure; otherwise None."""
    codes = {part.code for part in parts if part.fits is False}
    seen = "installation" in observed(case) and case.facts.kind == "report"
    return next((code for code in ("tf-gpu-package-removed", "tf-no-wheel") if seen and code in codes), None)


def only_states(sentence: str) -> bool:
    """Whether a sentence only states an environment or an observation: at most one word in six is not in
    _PLAIN. For such a sentence the prose model only guesses from similar reports; the tables are more
    reliable."""
    from doctor.logs.signatures.versions.spelling import of_another

    if of_another(sentence) or _PROMPT.match(sentence):
        return True
    if _STATUS.search(sentence):
        return False
    words = [
        word
        for token in _TOKEN.findall(sentence)
        if not (token.isascii() and _OF_CODE.search(token))
        for word in _WORD.findall(token.lower())
    ]
    more = [word for word in words if word not in _PLAIN]
    return len(more) <= len(words) // 6


OF_KIND = 0.6
"""A sentence is of a kind (crash, cause, works) if the model's probability is higher than this."""

_NO = lazy.compile(
    r"n't\b|\b(?:not?|none|never|nothing|without|cannot|only|cpu|kein\w*|nicht|nie|ohne|nur|ne|pas"
    r"|sans|aucun\w*"
    r"|jamais|sin|ning\w+|nada|nunca|não|sem|nenhum\w*|non|nessun\w*|senza|mai|niet|geen|zonder|inte"
    r"|ingen|inga"
    r"|nie|bez|żadn\w*|yok|değil|hiçbir|не|нет|ни|без|ні|немає|hayır|नहीं|बिना)\b"
    r"|\w(?:mıyor|miyor|muyor|müyor|maz|mez|madı|medi)\b|[不没沒無无未]|ない|ません|ず|안\s|못|없|않"
    r"|لا |لم |ليس|بدون",
    re.IGNORECASE,
)
"""Matches words for "no" and "only" in the languages of the training examples."""


_EXCEPTION = lazy.compile(r"\b[A-Z][A-Za-z]{2,30}(?:Error|Exception)\b|core dumped|\bsegfault", re.ASCII)
"""Matches the name of an exception or a crash, which no sentence about a success contains."""


CALM = ("asks", "states", "works", "elsewhere", "other")
"""The kinds of sentences that state no trouble."""
SUPPOSES = (*CALM, "cause")
"""The same, with the suspicion that two versions do not fit, which is what many questions are about."""


def troubled(case: Case, calm: Collection[str] = CALM) -> bool:
    """Whether a report states an observation or some other trouble. The model does not distinguish a success
    from its negation ("finds a GPU", "finds no GPU"); the words of _NO do. calm: the kinds of sentences that
    state no trouble."""
    return (
        bool(observed(case))
        or any(
            kind.kind not in calm
            or (kind.kind == "works" and _NO.search(kind.source.text))
            for kind in case.facts.of(SentenceKind)
            if kind.probability > OF_KIND
        )
        or any(_EXCEPTION.search(kind.source.text) for kind in case.facts.of(SentenceKind))
    )


_WHY = lazy.compile(
    r"\b(?:why|what(?:'s| is| am| are| did| do| could| might)? (?:I |we |you )?(?:do(?:ing)? |be )?(?:wrong"
    r"|missing|the (?:cause|reason|problem))|how (?:can|do|could) (?:I|we) (?:fix|solve)|any (?:idea|clue)"
    r"|warum|wieso|weshalb|woran|pourquoi|une idée|d'où|por ?qu[eé]|a qué se debe|alguna idea|alguma ideia"
    r"|perch[eé]|come mai|qualche idea|dlaczego|co robię źle|neden|niçin|kenapa|mengapa|waarom|varför|proč)\b"
    r"|почему|в ч[её]м (?:дело|причина|проблема)|чому|为什么|為什麼|为何|原因|怎么回事|怎麼回事|怎么解决"
    r"|なぜ|どうして|왜|원인|tại sao|vì sao|nguyên nhân|لماذا|السبب",
    re.IGNORECASE,
)
"""Matches a question that presupposes trouble: why, what is wrong, any idea."""


def _asks_why(case: Case) -> bool:
    """Whether a question in a report presupposes trouble, even if no sentence states it."""
    questions = (k.source.text for k in case.facts.of(SentenceKind))
    return any(_WHY.search(text) for text in questions if _QUESTION.search(text))


DOUBT = 0.35
"""A sentence that states trouble with a higher probability than this forbids the answer that all is well."""
_QUESTION = lazy.compile(r"[?？؟]\s*$|吗[：:，,。]|でしょうか[。]?\s*$|ですか[。]?\s*$")
"""Matches the end of a question, and Chinese and Japanese questions without a question mark."""


def asked(case: Case) -> Sequence[SentenceKind]:
    """Return the questions in a report that states no trouble."""
    if troubled(case, SUPPOSES):
        return []
    return [
        kind
        for kind in case.facts.of(SentenceKind)
        if (kind.kind == "asks" and kind.probability > 0.5) or _QUESTION.search(kind.source.text)
    ]


def all_fits(case: Case, parts: Sequence[Part]) -> Finding | None:
    """Return the finding for a report that asks whether its versions fit one another, if they do: at least
    two of GPU, driver, CUDA and cuDNN are known to fit, and no part misfits. None for any other report."""
    from doctor.findings import Finding, shell
    from doctor.remedies import commands

    fitting = [part for part in parts if part.fits and part.part in ("gpu", "driver", "cuda", "cudnn")]
    questions = asked(case)
    doubted = any(
        kind.kind not in SUPPOSES and kind.probability > DOUBT
        for kind in case.facts.of(SentenceKind)
    )
    if doubted or _asks_why(case) or not questions or len(fitting) < 2:
        return None
    if any(part.fits is False or part.slow for part in parts):
        return None
    sources = [questions[0].source, *(source for part in fitting for source in part.evidence[:1])]
    lines = {(source.where, source.line): source for source in reversed(sources)}  # one for each line
    names = {"gpu": "the GPU", "driver": "the driver", "cuda": "CUDA", "cudnn": "cuDNN"}
    named = list(dict.fromkeys(names[part.part] for part in fitting))
    fit = f"{', '.join(named[:-1])} and {named[-1]} fit" if len(named) > 1 else f"{named[0]} fits"
    return Finding(
        "healthy",
        "info",
        "The stated versions fit together",
        f"The report asks a question and states no failure. According to the tables, {fit} this TensorFlow,"
        f" and nothing in the report contradicts this.",
        tuple(reversed(lines.values())),
        tuple(dict.fromkeys(row for part in fitting for row in part.tables)),
        (),
        shell(commands.list_gpus(case)),
        "likely",
    )


def observations(case: Case, parts: Sequence[Part]) -> set[str]:
    """Return the codes of findings that only state what was observed, because a version's misfit explains
    it."""
    return {"tf-import-failed"} if set(explaining(case, parts)) & set(BY_VERSIONS) else set()


def open_question(case: Case, findings: Sequence[Finding], parts: Sequence[Part]) -> bool:
    """Whether no program's message and no rule shows the cause: all findings are only possible, or are
    misfits of versions."""
    facts = case.facts
    if (
        facts.kind != "report"
        or any(device.count for device in case.registered)
        or case.not_loaded
        or case.loaded
        or facts.of(CudaCallFailed)
    ):
        return False
    codes = {part.code for part in parts if part.code}
    misfits = {*BY_VERSIONS, *codes, *observations(case, parts)}
    if codes & {"cuda-missing", "cudnn-missing", *HIDES}:
        misfits.add("library-path")  # there is no library that a path could lead to
    if codes & set(OPENED):
        misfits.add("cuda-missing")  # TensorFlow does not say which library it misses, and the tables do
    return all(
        f.code == "undetermined"
        or (f.confidence == "possible" and f.code in EXPLAINS)
        or (f.code in misfits and f.confidence != "certain")
        for f in findings
    )
