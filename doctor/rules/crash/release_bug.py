"""known-release-bug: a defect of this very release."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.remedies.fitness import installation, on_driver, usable
from doctor.rules.libraries.cudnn import dropped_gpu
from doctor.rules.registry import found, rule
from doctor.tables import dotted


@rule(
    "known-release-bug",
    "A defect of this very release; versions match",
    needs=("known-defect",),
)
def known_release_bug(picture: Picture) -> Iterator[Finding]:
    """A defect of this very TensorFlow, CUDA or cuDNN release, where the versions match.

    ## What it means
    Nothing on the machine is wrong; the release is. Moving one release cures it.

    ## How it shows
    Messages that are known for one release only (see the table of traps: `tfgpu-doctor tables tensorflow VERSION`).

    ## What to do
    Install the neighbouring release, or the newer cuDNN that the prescription names.
    """
    signs = picture.facts.symptoms("known-defect")
    first = signs[0]
    if "cuDNN" in first.get("cure") and picture.cudnn is not None and dropped_gpu(picture, picture.cudnn) is not None:
        return  # the cuDNN is too new for the GPU, and a newer one would be no cure
    release = first.get("release")
    defective = picture.build or picture.tables.tensorflow(release, None, picture.table_platform)
    steps = [manual(first.get("cure"))] if first.get("cure") else []
    pins = defective.extras.get("and-cuda", {}) if defective is not None else {}
    cudnn = next((name for name in pins if "cudnn" in name), None)
    if cudnn is not None and "cuDNN" in first.get("cure") and picture.platform != "windows":
        major = (defective.cudnn or "").split(".")[0] if defective is not None else ""
        wanted = f"{cudnn}<{int(major) + 1}" if major.isdigit() else cudnn
        steps.append(
            shell(
                commands.pip(picture, "install", "--upgrade", wanted),
                "the newest cuDNN that the release accepts",
            )
        )
    earlier = [
        r
        for r in picture.tables.releases(picture.table_platform, "tensorflow")
        if r.gpu
        and not r.yanked
        and dotted(r.version) < dotted(release)
        and usable(picture, r)
        and on_driver(picture, r)
        and (picture.python is None or ".".join(picture.python.version.split(".")[:2]) in r.pythons)
    ]
    if earlier:
        steps.append(
            shell(
                commands.pip(picture, "install", *installation(picture, earlier[-1], bare=True).requirements),
                f"or the release before {release}",
            )
        )
    yield found(
        "known-release-bug",
        f"TensorFlow {release} is said to have a defect that a later release has not."
        if first.get("told")
        else f"This message is printed by TensorFlow {release} only; nothing on the machine is wrong.",
        signs[:3],
        confidence="possible" if first.get("told") else "likely",
        tables=[defective] if defective is not None else [],
        steps=steps,
        verify=commands.list_gpus(picture),
    )
