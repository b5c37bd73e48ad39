"""Checks whether a build contains code for a GPU: machine code, PTX that the driver compiles, or neither."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.compat.answer import Answer, worst
from doctor.compat.situation import Situation, trap_answers
from doctor.tables import Architecture, Row, Tables, TensorFlowRelease, dotted
from doctor.tables.rows import ComputeCapabilities
from doctor.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Code:
    """The code that a GPU runs. kind: machine (a cubin for `target` runs without compilation) or jit (the
    driver compiles PTX for `target`)."""

    kind: str
    target: str


def code_for(capability: str, compiled: Iterable[str], ptx: Iterable[str]) -> Code | None:
    """Return the code that a GPU of compute capability `capability` runs, or None if the build has none for
    it. compiled, ptx: the targets of the build's machine code and PTX.

    Machine code runs on GPUs with the same major and the same or a higher minor number (CUDA C++ Programming
    Guide, section Binary Compatibility); the driver compiles PTX for its target and everything newer (section
    PTX Compatibility). A target with the suffix a ("9.0a") is for exactly that capability; a target with the
    suffix f is for GPUs with the same major number (section Feature Availability).
    """
    fitting = [c for c in compiled if _cubin_runs(c, _pair(capability))]
    if fitting:
        return Code("machine", max(fitting, key=_pair))
    targets = [p for p in ptx if _ptx_compiles(p, _pair(capability))]
    if targets:
        return Code("jit", max(targets, key=lambda p: (_pair(p), _plain(p))))
    return None


def _cubin_runs(target: str, wanted: tuple[int, int]) -> bool:
    """Whether machine code for `target` runs on GPUs of the compute capability `wanted`."""
    have = _pair(target)
    return have == wanted if target.endswith("a") else have[0] == wanted[0] and have[1] <= wanted[1]


def _ptx_compiles(target: str, wanted: tuple[int, int]) -> bool:
    """Whether the driver can compile PTX for `target` on GPUs of the compute capability `wanted`."""
    have = _pair(target)
    if target.endswith("a"):
        return have == wanted
    return have <= wanted and (not target.endswith("f") or have[0] == wanted[0])


def runs_on_gpu(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Answer:
    """Whether the build's kernels run on every GPU of the situation.

    If the situation has a driver, the answer includes whether that driver can compile the needed PTX;
    otherwise the answer states the CUDA version that the driver must support.
    """
    if build.gpu is False:
        return Answer(
            "no", f"{build.requirement} for {build.platform} is a CPU build, made without CUDA", (build,)
        )
    if not situation.capabilities:
        return Answer("unknown", "the GPU is not known", (build,))
    return worst(_one(build, capability, situation, tables) for capability in situation.capabilities)


def _one(build: TensorFlowRelease, capability: str, situation: Situation, tables: Tables) -> Answer:
    """Whether the build's kernels run on GPUs of one compute capability."""
    kernels = build.compute_capabilities
    if kernels is None or not (kernels.compiled or kernels.ptx):
        return Answer("unknown", f"it is not known which GPUs {build.requirement} has code for", (build,))
    one_gpu = replace(situation, capabilities=(capability,))
    # traps come first: if both verdicts are the same, the trap's reason says more
    return worst(
        [
            *trap_answers(build, one_gpu, tables, "gpu"),
            _by_code(build, capability, kernels, situation, tables),
        ]
    )


def _by_code(
    build: TensorFlowRelease,
    capability: str,
    kernels: ComputeCapabilities,
    situation: Situation,
    tables: Tables,
) -> Answer:
    code = code_for(capability, kernels.compiled, kernels.ptx)
    name = build.requirement
    if code is None:
        return _no_code(build, capability, kernels, tables)
    if code.kind == "machine":
        other = "" if code.target == capability else f", which also runs on {capability}"
        return Answer("yes", f"{name} has machine code for compute capability {code.target}{other}", (build,))
    isas = kernels.ptx_isa.get(code.target, ())
    rows = [row for row in (tables.ptx(isa) for isa in isas) if row is not None]
    needed = max(rows, key=lambda row: dotted(row.cuda), default=None)
    text = (
        f"{name} has no machine code for compute capability {capability}: the driver has to compile the PTX"
        f" for {code.target} at the first start, which takes minutes"
    )
    if needed is None:
        return Answer("slow", text, (build,))
    evidence: tuple[Row, ...] = (build, needed)
    if situation.driver is None:
        return Answer("slow", f"{text} and needs a driver for CUDA {needed.cuda} or newer", evidence)
    offered = tables.driver_cuda(situation.driver, situation.side)
    branch = tables.driver_branch(situation.driver, situation.side)
    if offered is None:
        return Answer(
            "slow", f"{text}; the CUDA version that driver {situation.driver} supports is not known", evidence
        )
    evidence = (build, needed, branch) if branch is not None else evidence
    if dotted(offered) < dotted(needed.cuda):
        why = (
            f"{name} has only PTX ISA {needed.isa} for compute capability {capability}, which needs a driver"
            f" for CUDA {needed.cuda}; driver {situation.driver} supports CUDA {offered}"
        )
        return Answer("no", why, evidence)
    return Answer("slow", text, evidence)


def _no_code(
    build: TensorFlowRelease, capability: str, kernels: ComputeCapabilities, tables: Tables
) -> Answer:
    known = sorted({*kernels.compiled, *(p for p in kernels.ptx if _plain(p))}, key=_pair)
    what = (
        f"the build has machine code for {', '.join(kernels.compiled)}"
        if kernels.compiled
        else "the build has no machine code"
    )
    what += f" and PTX for {', '.join(kernels.ptx)}" if kernels.ptx else " and no PTX"
    age = ""
    if known and _pair(capability) < _pair(known[0]):
        age = "older"
    elif known and _pair(capability) > _pair(known[-1]):
        age = "newer"
    if age:
        why = (
            f"compute capability {capability} is {age} than any that {build.requirement} was built"
            f" for: {what}"
        )
    else:
        why = f"{build.requirement} has no code that compute capability {capability} can run: {what}"
    architecture = tables.architecture(capability)
    return Answer("no", why, (build,) if architecture is None else (build, architecture))


def driver_serves_gpu(capability: str, driver: str, tables: Tables, platform: str = "linux") -> Answer:
    """Whether a driver supports GPUs of this compute capability: it may be too new or too old for them."""
    row = tables.architecture(capability)
    if row is None:
        return Answer("unknown", f"compute capability {capability} is not in the tables")
    try:
        number = dotted(driver)[0]
    except ValueError:
        return Answer("unknown", f"{driver!r} is not a driver version", (row,))
    if row.last_driver is not None and number > _last_number(row, tables, platform):
        return Answer(
            "no",
            f"R{row.last_driver} is the last driver branch for {row.name} (compute capability "
            f"{capability}); driver {driver} is newer",
            (row,),
        )
    offered = tables.driver_cuda(driver, platform)
    if offered is not None and row.first_cuda is not None and dotted(offered) < dotted(row.first_cuda):
        return Answer(
            "no",
            f"support for {row.name} (compute capability {capability}) came with CUDA {row.first_cuda};"
            f" driver {driver} supports CUDA {offered}",
            (row,),
        )
    return Answer("yes", f"driver {driver} supports {row.name} (compute capability {capability})", (row,))


def _last_number(row: Architecture, tables: Tables, platform: str) -> int:
    """Return the highest number with which a driver version can begin on this platform if it belongs to the
    architecture's last driver branch."""
    assert row.last_driver is not None
    last = dotted(row.last_driver)[0]
    if platform == "linux":
        return last
    # Windows drivers have their own numbers: every number below the first driver of the next branch belongs
    # to the last branch
    later = [dotted(b.first_windows)[0] for b in tables.driver_branches()
             if dotted(b.branch)[0] > last and b.first_windows]  # fmt: skip
    return min(later) - 1 if later else last


def _plain(target: str) -> bool:
    """Whether a target has no suffix, so that its PTX runs on all later GPUs."""
    return target[-1:].isdigit()


def _pair(target: str) -> tuple[int, int]:
    """Return the major and minor number of a compute capability: (9, 0) for "9.0a". Raises ValueError if the
    text is not a compute capability."""
    whole, _, part = target.rstrip("af").partition(".")
    return int(whole), int(part or 0)
