"""Plans for Linux on Arm: NVIDIA's container, and NVIDIA's wheels for Jetson boards.

The package index has no wheel with CUDA for Arm.
"""

from __future__ import annotations

from doctor.compat import Answer, Judgement, Situation, companions, driver_serves_gpu
from doctor.compat.software import first_driver
from doctor.findings import Finding, Step, shell
from doctor.plan.candidate import Candidate
from doctor.plan.context import PlanContext
from doctor.remedies import code, environments as make
from doctor.shell import Path, Word, run
from doctor.tables import DriverFloor, Row, dotted
from doctor.tables.arm import nvidia_builds, only_with_arm
from doctor.tables.versions import driver_at_least
from doctor.values import replace

CONTAINER = "nvidia-container"
JETSON_WHEEL = "jetson-wheel"
WHERE = {"sbsa": "Arm servers and workstations", "jetson": "Jetson boards"}


def kind_of(context: PlanContext) -> str:
    """Return the kind of NVIDIA build that the machine needs: "jetson", or "sbsa" for an Arm server."""
    rows = [
        only_with_arm(context.tables.store, gpu.name, gpu.compute_capability) for gpu in context.case.gpus
    ]
    kinds = {row["kind"] for row in rows if row is not None}
    return "jetson" if "jetson" in kinds or (not kinds and "jetson" in context.case.environments) else "sbsa"


def arm_candidates(context: PlanContext) -> list[Candidate]:
    """Return NVIDIA's builds for the machine that the request allows, the newest first."""
    kind = kind_of(context)
    found = []
    for row in nvidia_builds(context.tables.store, context.platform, kind, context.capabilities):
        build = context.tables.tensorflow(
            row["tensorflow"], "tensorflow", context.platform
        ) or context.tables.tensorflow(row["tensorflow"], "tensorflow", "linux-x86_64")
        if build is None or not context.version_request.allows(build.version, context.newest):
            continue
        source = Row(f"nvidia_builds {row['name']}: {row['source']}", row["source"], row)
        blackwell = any(c.startswith("12.") for c in context.capabilities) and row.get("blackwell")
        why = (
            f"NVIDIA builds TensorFlow {build.version} with CUDA {row['cuda']} for {WHERE[kind]}"
            f" ({row['name']})"
        )
        answers = [("build", Answer("yes", why, (source,)))]
        if blackwell:
            answers.append(("gpu", Answer("slow", blackwell, (source,))))
        elif not context.capabilities or not row.get("capabilities"):
            answers.append(
                ("gpu", Answer("unknown", "it is not known which GPUs this build has code for", (source,)))
            )
        found.append(
            Candidate(
                build,
                CONTAINER if "image" in row else JETSON_WHEEL,
                row["python"],
                Situation(platform=context.platform, python=row["python"], capabilities=context.capabilities),
                Judgement(build, tuple(answers)),
                pins=() if "image" in row else companions(build, context.tables),
                image=row.get("image"),
                verified=row["verified"],
                nvidia=row,
            )
        )
    return [_with_driver(candidate, context) for candidate in found]


def _with_driver(candidate: Candidate, context: PlanContext) -> Candidate:
    """Return the candidate, with a new driver among its changes if the installed driver is too old for the
    candidate or no longer supports a GPU."""
    floor = arm_driver(candidate, context)
    if context.driver is None or floor is None:
        return candidate
    unfit = [answer for answer in _driver_answers(context, floor) if answer.verdict == "no"]
    if not unfit:
        return candidate
    judged = Judgement(candidate.build, (*candidate.judgement.answers, ("driver", unfit[0])))
    return replace(candidate, judgement=judged, given_up=frozenset({"driver"}), driver=floor)


def _driver_answers(context: PlanContext, floor: DriverFloor) -> list[Answer]:
    """Return whether the installed driver supports each GPU and is new enough for `floor`."""
    assert context.driver is not None
    answers = [
        driver_serves_gpu(capability, context.driver, context.tables) for capability in context.capabilities
    ]
    if not driver_at_least(context.driver, floor.driver):
        why = f"the driver is {context.driver}; CUDA {floor.cuda} needs {floor.driver} or newer"
        answers.append(Answer("no", why, (floor,)))
    return answers


def arm_driver(candidate: Candidate, context: PlanContext) -> DriverFloor | None:
    """Return the oldest driver that works for a candidate and the GPUs, or None for a Jetson, where JetPack
    contains the driver."""
    row = candidate.nvidia
    if row is None or row["kind"] == "jetson":
        return None
    floors = [context.tables.driver_floor(row["cuda"], "linux")]
    floors += [first_driver(capability, context.tables) for capability in context.capabilities]
    return max((floor for floor in floors if floor is not None), key=lambda floor: dotted(floor.driver))


def installing(candidate: Candidate, env: str) -> list[Step]:
    """Return the steps that install a candidate."""
    row = candidate.nvidia
    assert row is not None
    jetson = row["kind"] == "jetson"
    release = f" (L4T {row['l4t']})" if row.get("l4t") else ""
    shows = "shows the board's L4T release"
    board = (
        [
            shell(
                run("cat", "/etc/nv_tegra_release"),
                f"{shows}: this build is for JetPack {row['jetpack']}{release}",
                platform="linux",
            )
        ]
        if jetson
        else []
    )
    if candidate.image is not None:
        note = "; not checked: only public files show that this tag exists in NVIDIA's registry"
        line = code.list_gpus(candidate.build.version)
        return [*board, *make.docker_run(candidate.image, line, note, integrated=jetson)]
    wanted = [row["requirement"], *(pin.requirement for pin in candidate.pins)]
    why = (
        f"NVIDIA's wheel for JetPack {row['jetpack']}; it uses JetPack's CUDA {row['cuda']}"
        f" ({row['documentation']})"
    )
    install = make.pip_install(env, wanted, "linux", why, options=("--extra-index-url", row["index"]))
    return [*board, *make.venv(env, row["python"], "linux"), install]


def interpreter(candidate: Candidate, env: str) -> tuple[Word, ...]:
    """Return the command, as words, that starts the Python interpreter that the steps install."""
    if candidate.image is None:
        return (Path(make.interpreter(env, "linux")),)
    gpus = (
        ("--runtime", "nvidia")
        if candidate.nvidia is not None and candidate.nvidia["kind"] == "jetson"
        else ("--gpus", "all")
    )
    return ("docker", "run", "--rm", *gpus, candidate.image, "python3")


def obstacles_on_arm(
    context: PlanContext, chosen: list[Candidate], steps: tuple[Step, ...]
) -> tuple[Finding, ...]:
    """Make the finding that the package index has no CUDA build for Arm. It names NVIDIA's own builds."""
    trap = next(t for t in context.tables.traps() if t.name == "aarch64-cpu")
    gpus = [
        row["name"]
        for gpu in context.case.gpus
        if (row := only_with_arm(context.tables.store, gpu.name, gpu.compute_capability)) is not None
    ]
    only = (
        f"{' and '.join(dict.fromkeys(gpus))} exist{'s' if len(set(gpus)) == 1 else ''} only in machines with"
        " an Arm CPU. "
        if gpus
        else ""
    )
    has = (
        "NVIDIA provides builds with CUDA: "
        + ", ".join(f"{c.nvidia['name']} ({c.image or c.nvidia['index']})" for c in chosen if c.nvidia)
        + "."
        if chosen
        else "The tables contain no NVIDIA build for this machine: build TensorFlow from source, or compute"
        " on the CPU."
    )
    return (
        Finding(
            "tf-cpu-only",
            "warning" if chosen else "error",
            f"no TensorFlow release on the package index for {context.platform} is built with CUDA",
            f"{only}{trap.reason[0].upper()}{trap.reason[1:]}. {has}",
            (context.evidence("gpu" if gpus else "system"),),
            (trap.ref,),
            steps,
        ),
    )
