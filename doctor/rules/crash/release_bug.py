"""known-release-bug: a defect in this exact release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, shell
from doctor.remedies import commands
from doctor.remedies.fitness import installation, on_driver, situation, usable
from doctor.rules.libraries.cudnn import dropped_gpu
from doctor.rules.registry import found, rule
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "known-release-bug",
    "A release in use has a known defect, although the versions fit together",
    needs=("known-defect", "stated-package"),
)
def known_release_bug(case: Case) -> Iterator[Finding]:
    """This exact TensorFlow, CUDA or cuDNN release has a defect, although the versions match.

    ## What it means
    The release is at fault, not the machine. The next or the previous release works.

    ## What you see
    Messages that only one release prints (`tfgpu-doctor tables tensorflow VERSION` lists the known defects).

    ## What to do
    Install the next or the previous release, or the newer cuDNN that the steps name.
    """
    signs = case.facts.symptoms("known-defect")
    if not signs:
        yield from _extra_that_fails(case)
        return
    first = signs[0]
    if "cuDNN" in first.get("cure") and case.cudnn is not None and dropped_gpu(case, case.cudnn) is not None:
        return  # the cuDNN is too new for the GPU, so a newer one would not help
    release = first.get("release")
    defective = case.build or case.tables.tensorflow(release, None, case.table_platform)
    steps = [manual(first.get("cure"))] if first.get("cure") else []
    pins = defective.extras.get("and-cuda", {}) if defective is not None else {}
    cudnn = next((name for name in pins if "cudnn" in name), None)
    if cudnn is not None and "cuDNN" in first.get("cure") and case.platform != "windows":
        major = (defective.cudnn or "").split(".")[0] if defective is not None else ""
        wanted = f"{cudnn}<{int(major) + 1}" if major.isdigit() else cudnn
        steps.append(
            shell(
                commands.pip(case, "install", "--upgrade", wanted),
                "installs the newest cuDNN that the release accepts",
            )
        )
    earlier = [
        r
        for r in case.tables.releases(case.table_platform, "tensorflow")
        if not r.yanked
        and dotted(r.version) < dotted(release)
        and usable(case, r)
        and on_driver(case, r)
        and (case.python is None or commands.minor(case.python.version) in r.pythons)
    ]
    if earlier:
        steps.append(
            shell(
                commands.pip(case, "install", *installation(case, earlier[-1], bare=True).requirements),
                f"{'or ' if steps else ''}installs the release before {release}",
            )
        )
    yield found(
        "known-release-bug",
        f"Only TensorFlow {release} prints this message; nothing is wrong with the machine.",
        signs[:3],
        confidence="likely",
        tables=[defective],
        steps=steps,
        verify=commands.list_gpus(case),
    )


def _extra_that_fails(case: Case) -> Iterator[Finding]:
    """The finding for a release whose extra and-cuda cannot be installed, if somebody requests it."""
    from doctor.compat.situation import first_obstacle

    for asked in case.facts.symptoms("stated-package"):
        build = case.tables.tensorflow(asked.get("version"), "tensorflow") if asked.get("version") else None
        if asked.get("extra") != "and-cuda" or build is None or case.loaded:
            continue
        here = situation(case, platform=build.platform, route="pip-and-cuda")
        trap = first_obstacle(build, here, case.tables, "extra")
        if trap is None:
            continue
        instead = next((word for word in (trap.cure or "").split() if "==" in word), None)
        yield found(
            "known-release-bug",
            f"pip cannot install tensorflow[and-cuda]=={build.version}: {trap.reason}.",
            [asked],
            title=trap.title,
            confidence="likely",
            tables=[trap, build],
            steps=[
                shell(commands.pip(case, "install", instead), "installs a release without the defect")
                if instead
                else manual(trap.cure or "Install another release")
            ],
            verify=commands.list_gpus(case),
        )
        return
