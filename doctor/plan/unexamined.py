"""Reports the lines of a file that this tool cannot judge. If it left them out, its "ok" could be wrong."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from doctor import lazy
from doctor.facts import Source
from doctor.findings import Finding, shell
from doctor.plan.conda_pins import conda_builds
from doctor.plan.context import PlanContext
from doctor.plan.requested import CONCERNS, FileContents, Requested, Unread
from doctor.plan.resolution import Solver
from doctor.shell import Path, run

_OTHER_BUILDS = lazy.compile(
    r"tf-nightly.*|tensorflow-(?:rocm|directml|metal|aarch64).*|nvidia-tensorflow|tensorflow-directml-plugin"
)
_OTHER_GPU = lazy.compile(
    r".*-(?:cu|cuda)1\d+x?|tensorrt.*|vllm|xformers|flash-attn|bitsandbytes|deepspeed|mxnet.*|paddlepaddle.*"
    r"|pytorch|"
    r"(?:cu|pylibra)(?:df|ml|graph|spatial)|jax-rocm.*|torch(?:text|data|rec)?|torch-.*|pytorch-triton"
)
_OWN_INDEX = (
    ("pytorch.org", lazy.compile(r"torch.*")),
    ("jax-releases", lazy.compile(r"jax.*")),
    ("nvidia.com", CONCERNS),
    ("nightly", CONCERNS),
)
MOST = 20
"""The maximum number of findings for lines that were not judged."""
SHOWN = 120
"""The maximum number of characters to show from a line that was not judged."""
NAMED = 8
"""The maximum number of other lines that a message lists."""


def unexamined(asked: Sequence[Requested], wanted: FileContents, solver: Solver) -> list[Unread]:
    """Return the lines that affect TensorFlow or its CUDA libraries but cannot be judged."""
    found = list(wanted.unread)
    known_in_tables = {"tensorflow", "tensorflow-gpu", *solver.frameworks}
    for line in asked:
        why = ""
        elsewhere = next(
            (
                index.address
                for index in wanted.indexes
                for host, names in _OWN_INDEX
                if host in index.address and names.fullmatch(line.name)
            ),
            "",
        )
        if line.manager == "conda":
            why = conda_builds(line)
        elif line.address and (line.name in known_in_tables or CONCERNS.search(line.name)):
            why = "the package at this address was not read"
        elif elsewhere:
            why = f"the builds at {elsewhere} are not in the tables"
        elif _OTHER_BUILDS.fullmatch(line.name):
            why = f"the builds of {line.name} are not in the tables"
        elif (
            line.name not in known_in_tables
            and _OTHER_GPU.fullmatch(line.name)
            and not line.name.startswith("nvidia-")
        ):
            why = f"the tables do not contain the CUDA libraries that {line.name} requires"
        elif line.name in solver.frameworks and solver.context.platform != "linux-x86_64":
            why = f"the tables do not contain the requirements of {line.name} on {solver.context.platform}"
        if why:
            found.append(line.unread(why))
    return found


def not_examined(lines: Sequence[Unread], name: str) -> list[Finding]:
    """Return a finding for each line that was not judged, at most MOST. If there are more lines, one further
    finding says how many."""
    found = [_finding(line, name) for line in lines[:MOST]]
    if len(lines) > MOST:
        rest = lines[MOST]
        more = Unread(
            rest.line,
            rest.text,
            f"{len(lines) - MOST} further lines could not be judged; this is the first of them",
            rest.file,
        )
        found.append(_finding(more, name))
    return found


def _finding(line: Unread, name: str) -> Finding:
    shown = line.text if len(line.text) <= SHOWN else f"{line.text[:SHOWN]} ..."
    return Finding(
        "undetermined",
        "warning",
        f"not examined: {shown or line.file or name}",
        f"{line.why[0].upper()}{line.why[1:]}. It is therefore not known whether TensorFlow uses the GPU.",
        (Source(line.file or name, line.line, shown),),
    )


def unchecked_packages(
    asked: Sequence[Requested],
    wanted: FileContents,
    examined: Collection[str],
    context: PlanContext,
    name: str,
) -> list[Finding]:
    """Return the finding that lists the remaining lines, because this tool does not examine conflicts among
    plain Python packages. It is empty if no lines remain."""
    lines = [a for a in asked if a.name not in examined]
    indexes = [a for a in wanted.indexes if not any(host in a.address for host, _ in _OWN_INDEX)]
    if not lines and not indexes:
        return []
    names = list(dict.fromkeys(a.name for a in lines))
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    words = [f"the requirements of {shown}"] if names else []
    words += [f"the builds that {indexes[0].address} may offer instead of PyPI's"] if indexes else []
    first = (*lines, *indexes)[0]
    return [
        Finding(
            "undetermined",
            "info",
            f"not examined: {' and '.join(words)}",
            "The tables contain only the requirements of TensorFlow, the GPU frameworks and NVIDIA's"
            " packages. With --resolve, the installer's own resolver checks every line.",
            (Source(first.file or name, first.line, first.text),),
            (),
            (
                shell(run("tfgpu-doctor", "plan", "-r", Path(name), "--resolve"), "uses the network").on(
                    context.kind
                ),
            ),
        )
    ]
