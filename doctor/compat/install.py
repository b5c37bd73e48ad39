"""Checks whether a build can be installed, and whether it finds pip's CUDA libraries."""

from __future__ import annotations

from doctor.compat.answer import Answer, worst
from doctor.compat.installed import required
from doctor.compat.situation import Situation, trap_answers
from doctor.compat.software import row_serves_gpu
from doctor.tables import Cudnn, Tables, TensorFlowRelease, dotted
from doctor.tables.ranges import within
from doctor.tables.store import remembered
from doctor.tables.versions import minor
from doctor.values import replace


def installs_on(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Answer:
    """Whether pip has a wheel of this release for the situation's Python and glibc."""
    if situation.platform != build.platform:
        return Answer(
            "no", f"this build is for {build.platform}, but the machine is {situation.platform}", (build,)
        )
    if situation.python is not None:
        python = minor(situation.python)
        if build.pythons and python not in build.pythons:
            return Answer("no", f"{build.requirement} has no wheel for Python {python}, only for "
                          f"{', '.join(build.pythons)}", (build,))  # fmt: skip
    floor = build.glibc_by_python.get(minor(situation.python or ""), build.glibc)
    if situation.glibc is not None and floor is not None and dotted(situation.glibc) < dotted(floor):
        return Answer(
            "no", f"{build.requirement} needs glibc {floor}, but the machine has {situation.glibc}", (build,)
        )
    return worst(
        [
            Answer("yes", f"{build.requirement} has wheels for {build.platform}", (build,)),
            *trap_answers(build, situation, tables, "install"),
        ]
    )


def runs_with_pip_libraries(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Answer:
    """Whether `pip install 'package[and-cuda]==version'` installs a build that finds its libraries and can
    use them.

    This depends on the extra, on the folders in the build's RUNPATH, and on the cuDNN that pip chooses.
    """
    pins = build.extras.get("and-cuda")
    if not pins:
        return Answer(
            "no", f"{build.requirement} has no extra and-cuda (2.14 is the first release with it)", (build,)
        )
    wanted = f"{build.package}[and-cuda]=={build.version}"
    with_pip = replace(situation, route="pip-and-cuda")
    answers = trap_answers(build, with_pip, tables, "extra", "libraries")
    missed = [name for name in build.pip_libraries_missed or () if name in required(build, tables)]
    if missed:
        folders = sorted(
            {row.folder for row in (tables.pip_library(name) for name in missed) if row is not None}
        )
        answers.append(
            Answer(
                "no",
                f"the RUNPATH of {build.requirement} does not contain pip's folder for {', '.join(missed)}:"
                " pip installs these libraries, but the loader does not find them",
                (build,),
                f"put {', '.join(folders)} (under site-packages) on LD_LIBRARY_PATH" if folders else "",
            )
        )
    chosen = pip_cudnn(build, tables)
    if chosen is not None and situation.capabilities:
        fits = row_serves_gpu(chosen, situation.capabilities)
        if fits.verdict == "no":
            older = pip_cudnn(build, tables, situation.capabilities)
            answers.append(
                Answer(
                    "no",
                    f"pip installs cuDNN {chosen.version} for {wanted}; {fits.reason}",
                    (build, *fits.rows),
                    "" if older is None else f"pip install {older.package}=={older.version}",
                )
            )
    answers.append(Answer("yes", f"{wanted} installs its libraries and finds them", (build,)))
    return worst(answers)


def pip_cudnn(build: TensorFlowRelease, tables: Tables, capabilities: tuple[str, ...] = ()) -> Cudnn | None:
    """Return the newest cuDNN wheel that the build's extra and-cuda allows and that has kernels for
    `capabilities`, or None if there is none."""
    for package, specifier in build.extras.get("and-cuda", {}).items():
        if package.startswith("nvidia-cudnn-"):
            row = _newest_allowed(tables, package, specifier.partition(";")[0], capabilities)
            if row is not None:
                return row
    return None


@remembered
def _newest_allowed(
    tables: Tables, package: str, specifier: str, capabilities: tuple[str, ...]
) -> Cudnn | None:
    rows = (row for row in tables.cudnns() if row.package == package)
    for row in sorted(rows, key=lambda row: dotted(row.version), reverse=True):
        if row_serves_gpu(row, capabilities).verdict != "no" and within(row.version, specifier):
            return row
    return None
