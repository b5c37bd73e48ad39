"""Signatures of what reporters say about how the GPU is used, and of messages from programs that need no
GPU."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, sig, spoken

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "tensorboard-serving",
        "tensorboard |serving tensorboard",
        r"TensorBoard [\d.]+\S* at http|Serving TensorBoard on",
        "TensorBoard 2.8.0 at http://localhost:6006/ (Press CTRL+C to quit)",
    ),
    spoken(
        "uses-cpu",
        "cpu|gpu",
        r"(?:uses?|using|runs? on|running on|(?:keeps?|still|always|only|just) (?:on )?(?:runs?"
        r"|running|trains?|training|works?|working) (?:by|with|in)) (?:only )?(?:the |my )?CPU\b"
        r"|GPU (?:is )?(?:not|n't|never) (?:being )?(?:used|found|detected|recognized"
        r"|recognised|visible|available)|(?:not|n't|cannot|can't|doesn't|does not|isn't) (?:\w+ )?(?:use"
        r"|using|detect|find|see|recogni[sz]e)(?:ing)? (?:\w+ ){0,3}GPU|no GPU (?:found|detected|device)",
        "TensorFlow does not use my GPU",
        near=(
            "use cpu|uses cpu|using cpu|only cpu|my cpu|the cpu|on cpu|by cpu|with cpu|in cpu|not |n't|"
            "never|cannot|no gpu"
        ),
    ),
    spoken(  # about a GPU that may nevertheless be registered
        "gpu-idle",
        "gpu usage|gpu-util|gpu util|利用率|gpu spen|gpu use|gpu load|gpu activity|gpu is |gpus are |"
        "gpu was |gpu remain|gpu stay|gpu sits|gpu ha|gpu does|gpu's ",
        r"\b(?:low|lower|poor|bad|little|minimal|hardly any) GPU (?:usage|utili[sz]ation|use|load|activity)\b"
        r"|\bGPU(?:(?:'s)?"
        r" (?:usage|util(?:i[sz]ation)?|use|load|activity)|-util(?:i[sz]ation)?)\b[^\n.]{0,24}\b(?:low|poor"
        r"|zero|minimal|tiny|(?:under|below|only|around|about|at"
        r" most|up to|than) [1-4]?\d ?%|0 ?%|at 0|[1-4]?\d ?%? ?(?:-|to) ?[1-4]?\d ?%)(?![\w%])"
        r"|\bGPU spen[dt]s?[^\n.]{0,24}\bat 0 ?%|(?<![A-Z])GPU[^\n,.，。]{0,8}利用率[^\n,.，。"
        r"]{0,6}(?:低|不高|不超过 ?[1-4]?\d ?%|只有 ?[1-4]?\d ?%|上不去)"
        r"|\b(?:GPU (?:is|was|remains?|remained|stays?|stayed|sits)|GPUs are) (?:\w+"
        r" )?(?:inactive|idle|under-?utili[sz]ed|bored)\b|\bGPU (?:has|had|does(?: not|n't) (?:get|have))"
        r" (?:nothing|little|hardly anything|not much|anything|much) to do\b",
        "high CPU use and low GPU use while it trains",
        near=(
            "low|poor|bad|little|minimal|hardly|zero|tiny|%|at 0|inactive|idle|under|bored|nothing|not much|"
            "anything|much|below|only|around|about|at most|up to|than|低|不高|不超过|只有|上不去"
        ),
    ),
)
