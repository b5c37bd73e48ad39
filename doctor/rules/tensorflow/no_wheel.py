"""tf-no-wheel: pip has no TensorFlow for this Python, platform or architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import PythonVersion, Requirement
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures, environments, libraries
from doctor.remedies.fitness import usable
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.gpu_package import asked_for_the_stub


@rule(
    "tf-no-wheel",
    "pip has no TensorFlow for this Python, platform or architecture",
    explains=("tf-not-installed", "tf-import-failed"),
    needs=("no-matching-distribution", "wheel-platform", "python-refused", "wheel-address-gone", "python-told"),
)
def tf_no_wheel(picture: Picture) -> Iterator[Finding]:
    """pip has no TensorFlow for this Python, platform or architecture.

    ## What it means
    Each release has wheels for a few Python versions and platforms only, none for 32-bit systems. pip offers what fits the Python that runs it, and
    where nothing does it says "from versions: none".

    ## How it shows
    `Could not find a version that satisfies the requirement tensorflow`, `No matching distribution found`, `is not a supported wheel on this platform`.

    ## What to do
    Use a Python for which there is a wheel (uv or conda make one in a minute), a 64-bit one; or ask for a release that has a wheel for this Python.
    """
    facts = picture.facts
    said = facts.symptoms("no-matching-distribution", "wheel-platform", "python-refused", "wheel-address-gone")
    stub = asked_for_the_stub(picture)
    said = [s for s in said if s not in stub]
    told = [s for s in facts.symptoms("python-told") if re.search(r"tensorflow|텐서플로", s.source.text, re.IGNORECASE)]
    if not said and not told:
        return
    bits = facts.symptoms("python-32bit")
    narrow = [p for p in facts.of(PythonVersion) if p.bits == 32]
    why: str
    platform = picture.table_platform
    python_now = ".".join(picture.python.version.split(".")[:2]) if picture.python else None
    asked = next((r for r in facts.of(Requirement) if r.name.startswith("tensorflow")), None)
    version = re.search(r"\d+\.\d+(?:\.\d+)?", asked.specifier) if asked else None
    row = picture.tables.tensorflow(version[0], None, platform) if version else None
    rows: list[object] = []
    steps: list[Step] = []
    if bits or narrow:
        why = "This is a 32-bit Python or system, and TensorFlow has never had 32-bit wheels for it."
        steps.append(manual("Install a 64-bit Python (on a 64-bit operating system)"))
    elif said and all(s.kind == "wheel-address-gone" for s in said):
        why = "The address that pip was given holds no such wheel: none of that release, Python and platform was put there."
    elif row is not None and python_now and python_now not in row.pythons:
        why = f"TensorFlow {row.version} has wheels for Python {', '.join(row.pythons) or 'none'} on {platform}, and this is Python {python_now}."
        rows.append(row)
    elif python_now:
        have = [r for r in picture.tables.releases(platform, "tensorflow") if python_now in r.pythons]
        if have:
            why = f"For Python {python_now} on {platform} there are wheels of TensorFlow {have[0].version} to {have[-1].version} only."
            rows += [have[0], have[-1]]
        else:
            why = f"No TensorFlow release has a wheel for Python {python_now} on {platform}."
    else:
        why = "pip offers only what fits the Python and platform that it runs on; nothing did. Most often the Python is too new or too old for the release, or 32-bit."
    newest = picture.tables.releases(platform, "tensorflow")
    runs_here = row is not None and bool(row.pythons) and (not row.gpu or usable(picture, row))
    target = row if runs_here else cures.fitting(picture, python=False)
    target = target or cures.fitting(picture, python=False, driver=False)
    target = target or next((r for r in reversed(newest) if r.pythons), None)
    inside = ""
    if target is not None and target.pythons and not (bits or narrow):
        best_python = target.pythons[-1] if target is row else target.pythons[max(0, len(target.pythons) - 2)]
        kind = picture.platform or "linux"
        steps += environments.uv_venv("tf-env", best_python, kind)
        wanted = libraries.requirements(picture, target)
        why_this = f"Python {best_python} has a wheel of TensorFlow {target.version} (with conda: conda create -n tf python={best_python})"
        steps.append(environments.pip_install("tf-env", wanted, kind, why_this, uv=True))
        steps += cures.driver_for(picture, target)
        inside = environments.interpreter("tf-env", kind)
        rows.append(target)
    steps.append(
        shell(
            commands.run_python(
                picture,
                "import sys, struct, platform; print(sys.version, struct.calcsize('P') * 8, platform.machine())",
            ),
            "shows Python, word size and processor",
        )
    )
    yield found(
        "tf-no-wheel",
        why,
        [*said[:3], *told[:2], *bits[:1], *narrow[:1], picture.python],
        tables=rows,
        steps=steps,
        verify=commands.run_python(picture, "import tensorflow as tf; print(tf.__version__)", inside),
    )
