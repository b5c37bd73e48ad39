"""Whether a GPU is there and used at all, in the words of the reporter or of a program that needs none."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, sig

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "wants-no-gpu",
        (
            "cpu only",
            "cpu-only",
            "no gpu",
            "without a gpu",
            "without gpu",
            "don't have a gpu",
            "do not have a gpu",
            "xnnpack delegate for cpu",
            "running on cpu",
        ),
        r"(?:I|we|machine|computer|laptop|server|instance|host|vm)\b[^\n.]{0,40}\b(?:no|without(?: a| an)?|don't have (?:a|an|any)|do not have (?:a|an|any)|has no) (?:nvidia )?GPU\b|\bCPU[- ]only (?:machine|server|node|instance)|(?:no|without a) GPU (?:on|in) (?:this|my|the) (?:machine|computer|laptop|server)",
        "I don't have a GPU in this machine, is that a problem?",
    ),
    sig(
        "tensorboard-serving",
        ("tensorboard ", "serving tensorboard"),
        r"TensorBoard [\d.]+\S* at http|Serving TensorBoard on",
        "TensorBoard 2.8.0 at http://localhost:6006/ (Press CTRL+C to quit)",
    ),
    sig(
        "uses-cpu",
        (
            "uses cpu",
            "using cpu",
            "on the cpu",
            "gpu is not used",
            "gpu not used",
            "not using gpu",
            "not use gpu",
            "doesn't use",
            "does not use",
            "not detect",
            "not recogni",
            "doesn't see",
            "does not see",
            "can't find gpu",
            "cannot find gpu",
            "no gpu found",
            "gpu not found",
            "not finding",
            "no gpu",
            "doesn't detect",
            "isn't using",
            "gpu usage",
            "gpu utilization",
            "not seeing",
        ),
        r"(?:uses?|using|runs? on|running on) (?:only )?(?:the )?CPU\b|GPU (?:is )?(?:not|n't|never) (?:being )?(?:used|found|detected|recognized|recognised|visible|available)|(?:not|n't|cannot|can't|doesn't|does not|isn't) (?:\w+ )?(?:use|using|detect|find|see|recogni[sz]e)(?:ing)? (?:\w+ ){0,3}GPU|no GPU (?:found|detected|device)",
        "TensorFlow does not use my GPU",
    ),
)
