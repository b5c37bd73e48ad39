"""Checks which driver and GPU fit NVIDIA's own TensorFlow container.

In: a `Case`. Out: `Part` rows, by nvidia_containers.json, the table of drivers and the table of
architectures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from doctor import lazy
from doctor.facts import PROSE, Symptom
from doctor.findings import Part
from doctor.judge.answers import capability_number
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case

_CONSUMER = lazy.compile(r"\b(?:GeForce|GTX|RTX ?[2-5]0|TITAN|MX ?\d{3})", re.IGNORECASE)
"""Matches the names of cards on which cuda-compat does not work: it is only for data center GPUs and a few
professional cards (CUDA Compatibility guide, Forward Compatibility)."""
_DATA_CENTER = lazy.compile(
    r"Tesla|\b(?:A(?:2|10G?|16|30|40|100|800)|[BH](?:100|200|800)|B300|G[BH]200|L(?:4|20|40S?)|T4G?|V100S?"
    r"|P(?:4|6|40|100)|K80|M[46]0)\b"
)
"""Matches the names of data center GPUs, for which NVIDIA's release notes list older driver branches."""


def container_parts(case: Case) -> Iterator[Part]:
    """Yield the parts about the driver and the GPUs under NVIDIA's container; nothing if the table does not
    have its release."""
    image = next(iter(case.facts.symptoms("nvidia-image")), None)
    rows = case.tables.store.all("nvidia_containers") if case.tables.store.has("nvidia_containers") else ()
    row = next((row for row in rows if image is not None and row["release"] == image.get("release")), None)
    if image is None or row is None:
        return
    ref = f"nvidia_containers {row['release']}: CUDA {row['cuda']}, from {row['source']}"
    yield from _driver(case, image, row, ref)
    yield from _gpus(case, image, row, ref)


def _driver(case: Case, image: Symptom, row: Mapping[str, Any], ref: str) -> Iterator[Part]:
    driver = case.driver
    floor = case.tables.driver_floor(row["cuda"], "wsl" if case.platform == "wsl" else "linux")
    if driver is None or floor is None or not re.match(r"\d", driver.version):
        return
    number, lowest = dotted(driver.version), dotted(floor.driver)
    enough: bool | None = number >= lowest
    needs = f"{floor.driver} or newer"
    if not enough and (number == lowest[: len(number)] or _compat_serves(case, number, row)):
        served = case.gpus and all(_DATA_CENTER.search(gpu.name or "") for gpu in case.gpus)
        enough = True if served and number != lowest[: len(number)] else None
        needs += f", or for data center GPUs {', '.join(row['data_center'])}" if enough else ""
    yield Part(
        "driver", driver.version, needs, enough, (driver.source, image.source),
        (ref, floor.ref),
        "" if enough else f"NVIDIA's container {row['release']} has CUDA {row['cuda']}, which needs driver"
        f" {floor.driver} or newer",
        "driver-too-old" if enough is False else "", rank=max(driver.rank, PROSE),
    )  # fmt: skip


def _compat_serves(case: Case, driver: tuple[int, ...], row: Mapping[str, Any]) -> bool:
    """Whether the container's cuda-compat package may run it on this driver: the card is none for consumers,
    and the driver's branch is in the table with this or an older version."""
    if any(_CONSUMER.search(gpu.name or "") for gpu in case.gpus):
        return False
    branches = [dotted(version) for version in row.get("data_center", ())]
    return any(branch[0] == driver[0] and branch <= driver for branch in branches)


def _gpus(case: Case, image: Symptom, row: Mapping[str, Any], ref: str) -> Iterator[Part]:
    for gpu in case.gpus:
        several = [capability_number(capability) for capability in case.capabilities_of(gpu)]
        if not several:
            continue
        lowest = capability_number(row.get("lowest", "0.0"))
        same = [
            architecture
            for architecture in case.tables.architectures()
            if any(capability_number(c)[0] == several[0][0] for c in architecture.capabilities)
        ]  # code for the first architecture of a major number runs on the others
        first = min((a.first_cuda for a in same if a.first_cuda), key=dotted, default="0")
        old = max(several) < lowest
        new = len({number[0] for number in several}) == 1 and dotted(row["cuda"]) < dotted(first)
        code = "gpu-arch-too-old" if old else "gpu-arch-too-new" if new else ""
        # where the card and the container's CUDA came together, NVIDIA's build may lack code for the card
        fits = False if code else None if dotted(row["cuda"])[:2] == dotted(first)[:2] else True
        holds = f"CUDA {row['cuda']}; this GPU needs CUDA {first}" if new else ""
        holds = holds or f"no code for GPUs below compute capability {row.get('lowest')}"
        shown = ".".join(map(str, several[0]))
        yield Part(
            "gpu", f"{gpu.name or 'GPU'} ({shown})", f"compute capability {row['lowest']} or higher"
            if "lowest" in row else "", fits, (gpu.source, image.source), (ref,),
            f"NVIDIA's container {row['release']} has {holds}" if code else "", code,
            rank=max(gpu.rank, PROSE),
        )  # fmt: skip
